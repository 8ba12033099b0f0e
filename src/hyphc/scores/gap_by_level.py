"""Levels at which a tree may be far from the best one: its clusters leave more weight between them than they must."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._kernels.tree.passes import subtree_sums, sums_of_merges
from .._runtime.arrays import Floats
from ..similarity import Graph
from ..tree import Tree
from .costs import splits
from .path_packing import sums_above
from .spreading_metrics import SpreadingBound

N_LEVELS, N_CLUSTERS = 3, 5
APART = 2.0  # levels nearer to each other than this factor are one


@dataclass(frozen=True)
class LooseLevel:
    """A level at which a tree may be far from the best.

    Attributes
    ----------
    t : float
        The level: the tree's clusters of at most t points that lie in no larger such cluster.
    cut : float
        The weight of the edges between them.
    bound : float
        What every tree leaves between such clusters at least.
    clusters : tuple of int
        Up to five of them, nodes of the tree, that most weight leaves.
    """

    t: float
    cut: float
    bound: float
    clusters: tuple[int, ...]


def cuts_of(tree: Tree, graph: Graph, t: Floats) -> Floats:
    """Return cut(P_t), the weight of the edges between the maximal clusters of at most t points, for an array of t."""
    return sums_above(subtree_sums(tree._children, graph.sizes)[tree.n_leaves :], splits(graph, tree), t)


def loosest_levels(tree: Tree, graph: Graph, bound: SpreadingBound) -> tuple[LooseLevel, ...]:
    """Return the levels with most room, t·(cut(P_t) − bound), their share of the cost at sizes about t, widest first."""
    t = bound.levels[:-1]
    cuts = cuts_of(tree, graph, t)
    room = t * (cuts - bound.cuts)
    found: list[LooseLevel] = []
    while len(found) < N_LEVELS and room.max(initial=0.0) > 0:
        k = int(room.argmax())
        found.append(LooseLevel(float(t[k]), float(cuts[k]), float(bound.cuts[k]), _leaking(tree, graph, float(t[k]))))
        room[(t > t[k] / APART) & (t < t[k] * APART)] = 0.0
    return tuple(found)


def _leaking(tree: Tree, graph: Graph, t: float) -> tuple[int, ...]:
    """Return the maximal clusters of at most t points that most weight leaves."""
    points = subtree_sums(tree._children, graph.sizes)
    small = points <= t
    small[: tree.n_leaves] = True
    inside = sums_of_merges(tree._children, splits(graph, tree))
    leaving = subtree_sums(tree._children, graph.degrees()) - 2 * inside
    maximal = np.flatnonzero(small & ~np.append(small[tree.parents[:-1]], False))
    return tuple(maximal[np.argsort(-leaving[maximal], kind="stable")][:N_CLUSTERS].tolist())
