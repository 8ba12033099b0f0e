"""How many clusters a tree has: which of its splits are more than chance would make of one cluster.

A split is *real* when the density falls between its sides and few edges cross it, both measured against what neighbour graphs
of one cloud of points show. With f the logarithm of the density at each point, d the dimension of the neighbourhoods, m the
points of the smaller side and all weights those of the graph,

    depth      δ = min(highest f of either side) − (highest level of f at which an edge crosses)
    crossing   ρ = φ / (0.37·m^(−1/d)·h),  φ = x / (2·min(W_in of the sides) + x),  h = 2·W_in(v) / vol(v)
    evidence   E = δ − (1 − 1/d)·log ρ,    real if m ≥ 10 and E > 0.9 + (0.1 + 5/m)·log(n/m)

0.37·m^(−1/d)·h is the share of edges that the best split of one Gaussian or uniform cloud leaves to cross: a law fitted to
simulations of n = 100 … 20 000 points in 1 … 30 dimensions, as were the constants of the threshold. The clusters are the
largest nodes with no real split at or below them; docs/which_similarity.md says how often that is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._kernels.tree import passes as kernels
from .._shared.arrays import Floats
from ..similarity import Blend, Graph, Similarity
from ..similarity.base import by_kind
from ..tree import Tree
from ..tree.cut import best_prunings, widest_gap
from .metrics import merges_of_edges, splits

CROSSING = 0.37  # of the law for one cloud
# Depths beyond this, and parts that no edge joins, are all alike: two clusters for sure.
DEEPEST = 20.0
SMALLEST = 10  # points: fewer are no cluster of their own, whatever their density
BASE, CHANCES, SMALL_SIDES = 0.9, 0.1, 5.0  # of the threshold
LARGEST_K = 50  # for graphs without densities


@dataclass(frozen=True, eq=False)
class ClusterNumber:
    """How many clusters there are, by which rule, and how clear that is.

    Attributes
    ----------
    n_clusters : int
    why : str
        The rule, and what spoke for this number.
    runners_up : tuple of (int, float)
        Other numbers, the nearest first, each with how much the threshold would have to move for it; empty if unknown.
    excess : array (n − 1,) or None
        Of each merge: evidence beyond the threshold, −inf for those with a side too small.
    """

    n_clusters: int
    why: str
    runners_up: tuple[tuple[int, float], ...] = ()
    excess: Floats | None = field(default=None, repr=False)  # hundreds of numbers


@by_kind
def number_of_clusters(similarity: Similarity, tree: Tree) -> ClusterNumber:
    """The number of clusters of a tree whose heights and weights are those of the similarity."""
    return ClusterNumber(widest_gap(tree), "the widest gap between successive heights")


@number_of_clusters.register
def _(similarity: Blend, tree: Tree) -> ClusterNumber:
    return number_of_clusters(similarity.graph, tree)


@number_of_clusters.register
def _(graph: Graph, tree: Tree) -> ClusterNumber:
    if tree.n_leaves < 2:
        return ClusterNumber(1, "there is one point")
    if graph.crowding is None:
        return _most_modular(tree)
    excess = excess_of_evidence(tree, graph)
    found = clusters_beyond(tree, excess, 0.0)
    return ClusterNumber(found, _words(excess, found), _runners_up(tree, excess, found), excess)


def _most_modular(tree: Tree) -> ClusterNumber:
    """A graph alone has no density; what speaks for clusters are edges beyond what degrees explain."""
    scores = best_prunings(tree, min(LARGEST_K, tree.n_leaves), "modularity", 1).scores
    return ClusterNumber(int(np.argmax(scores)) + 1, f"the largest modularity of a cut, {scores.max():.3g}")


def excess_of_evidence(tree: Tree, graph: Graph) -> Floats:
    """E of each merge beyond its threshold; −inf where a side is too small."""
    assert graph.crowding is not None
    dimension, children, n = graph.crowding.dimension, tree._children, tree.n_leaves
    left, right = children.T
    points = kernels.subtree_sums(children, graph.sizes)
    smaller = np.minimum(points[left], points[right])
    across = splits(graph, tree)
    copies = graph.sizes * np.maximum(graph.sizes - 1, 0)  # of a row are joined by 1; a fraction of a point has none
    inside = kernels.sums_of_merges(children, across) + kernels.subtree_sums(children, copies / 2)
    volume = kernels.subtree_sums(children, graph.degrees() + copies)
    tiny = np.finfo(np.float64).tiny
    crossing = across / np.maximum(2 * np.minimum(inside[left], inside[right]) + across, tiny)
    within = 2 * inside[n:] / np.maximum(volume[n:], tiny)
    expected = np.maximum(CROSSING * smaller ** (-1 / dimension) * within, tiny)
    surprise = np.log(np.clip(crossing / expected, 1e-9, 1e9))
    evidence = _depths(tree, graph) - (1 - 1 / dimension) * surprise
    threshold = BASE + (CHANCES + SMALL_SIDES / smaller) * np.log(points[-1] / smaller)
    return np.where(smaller >= SMALLEST, evidence - threshold, -np.inf)


def _depths(tree: Tree, graph: Graph) -> Floats:
    """How far the density falls between the sides of each merge."""
    density, children = _smooth_density(graph), tree._children
    i, j, _ = graph.edges()
    merges = merges_of_edges(graph, tree)
    passes = np.full(tree.n_leaves - 1, -np.inf)
    np.maximum.at(passes, merges[merges >= 0], np.minimum(density[i], density[j]))
    peaks = kernels.largest_below(children, density)
    lower = np.minimum(peaks[children[:, 0]], peaks[children[:, 1]])
    return np.asarray(np.clip(lower - passes, 0.0, DEEPEST))


def _smooth_density(graph: Graph) -> Floats:
    """The logarithm of the density, averaged over each point and its neighbours, copies of it included."""
    assert graph.crowding is not None
    density, sizes = graph.crowding.density, graph.sizes
    return np.asarray((graph.product(density) / sizes + sizes * density) / (graph.degrees() / sizes + sizes))


def clusters_beyond(tree: Tree, excess: Floats, threshold: float) -> int:
    """How many nodes are largest without a split of more than this excess at or below them."""
    n = tree.n_leaves
    split = kernels.sums_of_merges(tree._children, (excess > threshold).astype(np.float64)) > 0
    return int((~split[tree._children]).sum(axis=1)[split[n:]].sum()) if split[-1] else 1


def _runners_up(tree: Tree, excess: Floats, found: int) -> tuple[tuple[int, float], ...]:
    """The next smaller and the next larger number, and how far the threshold is from each."""
    others = []
    for side in (np.sort(excess[excess > 0]), -np.sort(-excess[(excess <= 0) & np.isfinite(excess)])):
        for level in side:
            threshold = level if level > 0 else np.nextafter(level, -np.inf)
            k = clusters_beyond(tree, excess, threshold)
            if k != found:
                others.append((k, float(level)))
                break
    return tuple(sorted(others, key=lambda other: abs(other[1])))


def _words(excess: Floats, found: int) -> str:
    if found == 1:
        return "no split is more than one cloud of points would show"
    weakest = float(excess[excess > 0].min())
    return f"splits whose density falls and which few edges cross; the weakest stands {weakest:.2g} above the threshold"
