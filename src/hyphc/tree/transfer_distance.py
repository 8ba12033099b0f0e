"""Transfer distances (Lemoine et al. 2018): how many leaves must move to make a cluster of one tree one of another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.tree import restriction as restriction_kernels
from .._kernels.tree import transfer_distance as kernels
from .._runtime.arrays import Floats, Ints
from .core import Tree, TreeLike, as_tree
from .distances import check_trees
from .lca import is_cluster_of


def transfer_distances(tree: TreeLike, other: TreeLike) -> Ints:
    """Return how many leaves must be added to or removed from each cluster to make it one of another tree: (n − 1,).

    For each merge, whose leaves are A,

        δ(A) = min |A △ B|    over all clusters B of the other tree, single leaves and the root among them.

    Trees are rooted: a cluster and its complement say different things, so complements are not looked at. A leaf of A is
    |A| − 1 moves away and the root n − |A|, so δ(A) is never more than the smaller of these.

    Notes
    -----
    O(n log³ n) for trees of any shape, O(n) memory: a few milliseconds for 2 000 leaves, a second for 200 000.

    Examples
    --------
    >>> transfer_distances(Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 1], [2, 3], [4, 5]]))
    array([0, 1, 0])
    """
    tree, other = check_trees(tree, other)
    if tree.n_leaves == 1:
        return np.empty(0, dtype=np.int64)
    return kernels.transfer_distances(tree._shape, other._shape)


def transfer_agreement(tree: TreeLike, other: TreeLike) -> Floats:
    """Return how nearly each cluster of a tree is one of another tree, from 0 to 1: (n − 1,).

    1 − δ(A) / min(|A| − 1, n − |A|), with δ as of ``transfer_distances``: 1 where the other tree has the cluster, 0 where it has
    nothing nearer than one leaf or all leaves. The root agrees always.

    Examples
    --------
    >>> transfer_agreement(Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 1], [2, 3], [4, 5]]))
    array([1., 0., 1.])
    """
    tree = as_tree(tree)
    return 1.0 - transfer_distances(tree, other) / largest_transfers(tree)


def largest_transfers(tree: Tree) -> Floats:
    """Return min(|A| − 1, n − |A|) of each merge, what no transfer distance exceeds; 1 for the root, whose distance is 0."""
    sizes = tree.sizes[tree.n_leaves :]
    return np.maximum(np.minimum(sizes - 1, tree.n_leaves - sizes), 1).astype(np.float64)


def in_other(tree: TreeLike, other: TreeLike) -> npt.NDArray[np.bool_]:
    """Return whether each cluster of a tree is one of another tree: (n − 1,). O(n).

    Examples
    --------
    >>> in_other(Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 1], [2, 3], [4, 5]]))
    array([ True, False,  True])
    """
    tree, other = check_trees(tree, other)
    return is_cluster_of(other, tree._children)


def restricted(tree: TreeLike, leaves: npt.ArrayLike) -> tuple[Tree, Ints]:
    """Return the tree restricted to some leaves, numbered as they are listed, and the new number of each node.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    leaves : array (m,) of int, m ≥ 1
        Each at most once.

    Returns
    -------
    Tree
        Of m leaves; merges keep their order.
    nodes : array (2n − 1,)
        The node of that tree that holds what is left of each node, −1 where nothing is. O(n).

    Examples
    --------
    >>> few, nodes = restricted(Tree([[0, 1], [2, 3], [4, 5]]), [0, 2, 3])
    >>> few.children, nodes
    (array([[1, 2],
           [0, 3]]), array([ 0, -1,  1,  2,  0,  3,  4]))
    """
    tree, kept = as_tree(tree), np.asarray(leaves)
    n = tree.n_leaves
    whole = kept.ndim == 1 and len(kept) > 0 and kept.dtype.kind in "iu"
    if not whole or kept.min() < 0 or kept.max() >= n or len(np.unique(kept)) < len(kept):
        raise ValueError(f"leaves must be different numbers from 0 to {n - 1}, at least one; got {leaves!r}.")
    number = np.full(n, -1)
    number[kept] = np.arange(len(kept))
    merges, nodes = restriction_kernels.restrict(tree._children, number, len(kept))
    return Tree(merges), nodes
