"""How many clusters a tree has: which of its splits are more than chance would make of one cluster.

A split is *real* when the density falls between its sides and few edges cross it, both measured against what neighbour graphs
of one cloud of points show. With f the logarithm of the density at each point, d the dimension of the neighbourhoods, m the
points of the smaller side and all weights those of the graph,

    depth      δ = min(highest f of either side) − (highest level of f at which an edge crosses)
    crossing   ρ = φ / (0.37·m^(−1/d)·h),  φ = x / (2·min(W_in of the sides) + x),  h = 2·W_in(v) / vol(v)
    evidence   E = δ − (1 − 1/d)·log ρ,    real if m ≥ 10 and E > 0.9 + (0.1 + 5/m)·log(n/m)

0.37·m^(−1/d)·h is the share of edges that the best split of one Gaussian or uniform cloud leaves to cross: a law fitted to
simulations of n = 100 … 20 000 points in 1 … 30 dimensions, as were the constants of the threshold. The clusters are those
below the splits of the condensed tree that are real or lie above a real one; docs/which_similarity.md says how often that is
right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .._kernels.tree import passes as kernels
from .._shared.arrays import Floats, Ints
from ..similarity import Blend, Graph, Similarity
from ..similarity.base import by_kind
from ..tree import Tree
from ..tree.condense import is_split
from ..tree.cut import best_prunings, fewest_clusters, widest_gap
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
    splits : array of int or None
        The merges that are undone to get the clusters; None where the rule only gives their number.
    """

    n_clusters: int
    why: str
    runners_up: tuple[tuple[int, float], ...] = ()
    excess: Floats | None = field(default=None, repr=False)  # hundreds of numbers
    splits: Ints | None = field(default=None, repr=False)


@by_kind
def number_of_clusters(similarity: Similarity, tree: Tree, min_size: float | None = None) -> ClusterNumber:
    """Return the number of clusters of a tree whose heights and weights are those of the similarity.

    Splits that are found have at least ``min_size`` points on both sides, as in ``Tree.condense``.
    """
    return ClusterNumber(widest_gap(tree), "the widest gap between successive heights")


@number_of_clusters.register
def _(similarity: Blend, tree: Tree, min_size: float | None = None) -> ClusterNumber:
    return number_of_clusters(similarity.graph, tree, min_size)


@number_of_clusters.register
def _(graph: Graph, tree: Tree, min_size: float | None = None) -> ClusterNumber:
    if tree.n_leaves < 2:
        return ClusterNumber(1, "there is one point", splits=np.empty(0, dtype=np.int64))
    if graph.crowding is None:
        return _most_modular(tree)
    excess = excess_of_evidence(tree, graph)
    splits = found_splits(tree, excess > 0, min_size)
    found, counted = len(splits) + 1, np.where(is_split(tree, min_size), excess, -np.inf)
    why = _words(counted) + ("" if tree._forced_splits is None else ", within what is known")
    return ClusterNumber(found, why, _runners_up(tree, counted, found, min_size), excess, splits)


def found_splits(tree: Tree, real: npt.NDArray[np.bool_], min_size: float | None) -> Ints:
    """Return the merges to undo: splits of the condensed tree that are real, and those above them.

    Merges that constraints forbid to undo are left out, and those that they demand are added.
    """
    forced = np.zeros(tree.n_leaves - 1, dtype=np.int64) if tree._forced_splits is None else tree._forced_splits
    possible = is_split(tree, min_size) & (forced >= 0)
    real_below = kernels.sums_of_merges(tree._children, (possible & real).astype(np.float64))[tree.n_leaves :]
    return np.flatnonzero((possible & (real_below > 0)) | (forced > 0))


def _most_modular(tree: Tree) -> ClusterNumber:
    """A graph alone has no density; what speaks for clusters are edges beyond what degrees explain."""
    largest = min(max(LARGEST_K, fewest_clusters(tree)), tree.n_leaves)
    scores = best_prunings(tree, largest, "modularity", 1).scores
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


def clusters_beyond(tree: Tree, excess: Floats, threshold: float, min_size: float | None = None) -> int:
    """Return the number of clusters if splits of more than this excess are real."""
    return len(found_splits(tree, excess > threshold, min_size)) + 1


def _runners_up(tree: Tree, excess: Floats, found: int, min_size: float | None) -> tuple[tuple[int, float], ...]:
    """The next smaller and the next larger number, and how far the threshold is from each."""
    others = []
    for side in (np.sort(excess[excess > 0]), -np.sort(-excess[(excess <= 0) & np.isfinite(excess)])):
        for level in side:
            threshold = level if level > 0 else np.nextafter(level, -np.inf)
            k = clusters_beyond(tree, excess, threshold, min_size)
            if k != found:
                others.append((k, float(level)))
                break
    return tuple(sorted(others, key=lambda other: abs(other[1])))


def _words(excess: Floats) -> str:
    if not (excess > 0).any():
        return "no split is more than one cloud of points would show"
    weakest = float(excess[excess > 0].min())
    return f"splits whose density falls and which few edges cross; the weakest stands {weakest:.2g} above the threshold"
