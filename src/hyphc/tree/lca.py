"""Lowest common ancestors of nodes, and the clusters that two trees share."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from .._kernels.tree import lca as lca_kernels
from .._kernels.tree import passes as kernels
from .._runtime.arrays import Ints
from .validation import check_nodes

if TYPE_CHECKING:
    from .core import Tree

Tables = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


def lca_tables(tree: Tree) -> Tables:
    """Return the merge between each leaf and the next in leaf order, (n − 1,), and a table for range maxima of them."""
    between = np.empty(tree.n_leaves - 1, dtype=np.int32)
    between[tree._first[tree._children[:, 1]] - 1] = np.arange(tree.n_leaves - 1)
    return between, lca_kernels.block_table(between)


@overload
def lca(tree: Tree, i: int, j: int) -> int: ...
@overload
def lca(tree: Tree, i: npt.ArrayLike, j: npt.ArrayLike) -> Ints: ...
def lca(tree: Tree, i: npt.ArrayLike, j: npt.ArrayLike) -> int | Ints:
    """Return the lowest common ancestor of nodes i and j (leaves or inner nodes; arrays broadcast), O(1) a pair.

    Examples
    --------
    >>> from hyphc import Tree
    >>> Tree([[0, 1], [3, 2]]).lca([0, 0], [1, 2])
    array([3, 4])
    """
    i, j = np.broadcast_arrays(check_nodes(i, tree.n_leaves), check_nodes(j, tree.n_leaves))
    first, end = tree._first, tree._first + tree.sizes
    left = np.minimum(first[i], first[j]).ravel()
    right = np.maximum(end[i], end[j]).ravel()
    merges = lca_kernels.lca_merges(*tree._lca_tables, left, right).reshape(i.shape)
    found = np.where(merges < 0, i, merges + tree.n_leaves)
    return int(found) if found.ndim == 0 else found


def is_cluster_of(tree: Tree, children: Ints) -> npt.NDArray[np.bool_]:
    """Return for each merge of another tree on the same leaves whether its leaf set is a cluster of this tree: (n − 1,)."""
    n, position = tree.n_leaves, tree._first[: tree.n_leaves]
    low = kernels.smallest_leaves(children, position)
    high = -kernels.smallest_leaves(children, -position)
    sizes = kernels.subtree_sums(children, np.ones(n, dtype=np.int64))
    merges = lca_kernels.lca_merges(*tree._lca_tables, low, high + 1)[n:]
    # A set within [low, high] is a cluster iff it fills the range and the range is all of the node that joins it.
    return np.asarray((high - low + 1 == sizes)[n:] & (tree.sizes[n + merges] == sizes[n:]))
