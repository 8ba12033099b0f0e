"""Insertion of new points into a tree, each where the cost increases least."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.search import tree_passes
from ..similarity import SimilarityLike, check_similarity
from ..tree import Tree, TreeLike, as_tree
from .state import build_state, new_scratch, tree_from_state


def insert(tree: TreeLike, similarity: SimilarityLike, new: npt.ArrayLike | None = None) -> Tree:
    """Insert points one by one, each at the position where the cost increases least, and return the new tree.

    Parameters
    ----------
    tree : Tree or linkage matrix of the first m points
    similarity : Similarity, dense matrix or sparse matrix of all n points
    new : array of int, optional
        The points m … n − 1 in the order to insert them. Default: ascending.

    Notes
    -----
    Each position is optimal, found by the same branch and bound as in ``refine``, in milliseconds in a tree of 100 000 leaves.
    The order matters when points are many: call ``refine`` afterwards. The new tree has no names.

    Examples
    --------
    >>> W = [[0, 1, 5, 0], [1, 0, 0, 5], [5, 0, 0, 1], [0, 5, 1, 0]]
    >>> insert(Tree([[0, 1]]), W).cut(n_clusters=2)
    array([0, 1, 0, 1])
    """
    tree, similarity = as_tree(tree), check_similarity(similarity)
    m, n = tree.n_leaves, similarity.n
    if m > n:
        raise ValueError(f"The tree has {m} leaves but the similarity only {n} points; it must hold old and new ones.")
    order = np.arange(m, n) if new is None else np.asarray(new)
    if order.shape != (n - m,) or not np.array_equal(np.sort(order), np.arange(m, n)):
        raise ValueError(f"new must hold each of the points {m} to {n - 1} once, in the order to insert them.")
    if m == n:
        return tree
    state = build_state(tree, similarity)
    tree_passes.insert_leaves(state, new_scratch(state), order.astype(np.int64), np.arange(n + m - 1, 2 * n - 1))
    return tree_from_state(state, np.arange(n), similarity.maximum(), None)
