"""Coarsen a tree: contract small subtrees to leaves, and expand a tree of the coarse problem again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints
from ..similarity import Similarity
from ..tree import Tree


@dataclass(frozen=True)
class CoarseLevel:
    """The coarse problem: the upper part of a tree.

    Attributes
    ----------
    tree : Tree
        Its leaves are the largest subtrees of at most ``limit`` leaves of the fine tree, from left to right.
    similarity : Similarity
        Between those subtrees: sums over all pairs. The costs of a coarse tree and of its expansion differ by a constant that
        is the same for every tree.
    """

    tree: Tree
    similarity: Similarity
    _inside: Ints  # merges within the subtrees, renumbered
    _tops: Ints  # the node of each subtree

    def expand(self, tree: Tree) -> Tree:
        """Return the tree of all leaves that corresponds to a coarse tree."""
        n_nodes = len(self._inside) + len(self._inside) + tree.n_leaves  # leaves of the fine tree, and merges inside
        number = np.concatenate([self._tops, n_nodes + np.arange(tree.n_leaves - 1)])
        return Tree(np.concatenate([self._inside, number[tree.children]]))


def coarsen(tree: Tree, similarity: Similarity, limit: int) -> CoarseLevel:
    """Return the coarse problem whose leaves are subtrees of at most ``limit`` leaves; O(n) and the sums of similarities.

    Examples
    --------
    >>> from hyphc import as_similarity
    >>> W = as_similarity([[0, 9, 1, 0], [9, 0, 1, 0], [1, 1, 0, 9], [0, 0, 9, 0]], "precomputed")
    >>> level = coarsen(Tree([[0, 1], [4, 2], [5, 3]]), W, 2)
    >>> level.tree.n_leaves, level.similarity.sizes
    (3, array([2., 1., 1.]))
    >>> level.expand(level.tree).children
    array([[0, 1],
           [4, 2],
           [5, 3]])
    """
    n, sizes = tree.n_leaves, np.asarray(tree.sizes)
    is_inside = sizes[n:] <= limit
    inside, above = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    number = np.arange(2 * n - 1)
    number[n + inside] = n + np.arange(len(inside))
    ends = tree.children[above].ravel()  # children of merges above: the subtrees, and further merges above
    roots = ends[sizes[ends] <= limit] if len(above) else np.array([2 * n - 2])
    roots = roots[np.argsort(tree._first[roots])]
    coarse = np.empty(2 * n - 1, dtype=np.int64)
    coarse[roots] = np.arange(len(roots))
    coarse[n + above] = len(roots) + np.arange(len(above))
    ends_of_runs = np.append(0, np.cumsum(sizes[roots]))
    mix = sp.csr_array((np.ones(n), tree.leaf_order(), ends_of_runs), shape=(len(roots), n))
    return CoarseLevel(
        Tree(coarse[tree.children[above]]),
        similarity.combined(mix, mix @ similarity.sizes),
        number[tree.children[inside]],
        number[roots],
    )
