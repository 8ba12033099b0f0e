"""Flat clusters that respect what is known: what must be together is in one of them, what must be apart in different ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import largest_below, sums_of_merges
from .._shared.arrays import Floats, Ints
from ..tree import Tree
from ..tree.cut import labels_of, node_scores
from .constraints import Known


class ConstrainedCut:
    """Which nodes of a tree may be flat clusters, and how many there can be: from ``fewest`` to ``most``."""

    def __init__(self, tree: Tree, known: Known) -> None:
        n = tree.n_leaves
        self._tree = tree
        mixed, split = _holds_what_is_apart(tree, known), _lies_inside(tree, known)
        self._wrong = mixed.astype(np.int64) + split
        parents = np.maximum(tree.parents, 0)
        self.fewest = int((~mixed & (mixed[parents] | (tree.parents < 0))).sum())
        self.most = n - int(split[:n].sum()) + sum(int(split[group].any()) for group in known.together)

    def labels(self, n_clusters: int, criterion: str, min_size: float) -> Ints:
        """The best of all allowed cuts into so many clusters."""
        if not self.fewest <= n_clusters <= self.most:
            raise ValueError(
                f"n_clusters={n_clusters} contradicts the constraints, which allow {self.fewest} to {self.most} clusters of "
                "this tree; choose one of these."
            )
        nodes = self._tree.clusters(n_clusters, criterion=lambda tree: self._scores(tree, criterion), min_size=min_size)
        if self._wrong[nodes].any():
            raise ValueError(
                f"No cut into {n_clusters} clusters of at least {min_size:g} points respects the constraints; choose another "
                "number, or a smaller min_size."
            )
        return labels_of(self._tree, nodes)

    def _scores(self, tree: Tree, criterion: str) -> Floats:
        """The criterion's scores, less for a node that may be no cluster than all clusters together can make good."""
        scores = node_scores(tree, criterion)
        return np.asarray(scores - self._wrong * (1.0 + 2.0 * tree.n_leaves * np.abs(scores).max()))


def _holds_what_is_apart(tree: Tree, known: Known) -> npt.NDArray[np.bool_]:
    """For each node: are two of its points to be apart, as a pair or by their classes?"""
    n = tree.n_leaves
    joins = np.asarray(tree.lca(known.apart[:, 0], known.apart[:, 1])) - n
    pairs = sums_of_merges(np.array(tree.children), np.bincount(joins, minlength=n - 1).astype(np.float64))
    codes, is_known = known.classes.astype(np.float64), known.classes >= 0
    highest = largest_below(np.array(tree.children), np.where(is_known, codes, -np.inf))
    lowest = -largest_below(np.array(tree.children), np.where(is_known, -codes, -np.inf))
    return np.asarray((pairs > 0) | (highest > lowest))


def _lies_inside(tree: Tree, known: Known) -> npt.NDArray[np.bool_]:
    """For each node: is it a part of a group that must be together?"""
    inside = np.zeros(2 * tree.n_leaves - 1, dtype=bool)
    first, ends = tree._first, tree._first + tree.sizes
    for group in known.together:
        if len(group) > 1:
            order = group[np.argsort(first[group])]
            top = tree.lca(int(order[0]), int(order[-1]))
            inside |= (first >= first[top]) & (ends <= ends[top]) & (tree.sizes < tree.sizes[top])
    return inside
