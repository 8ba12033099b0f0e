"""Leaf orders: children swapped so that similar leaves are adjacent, or so that two trees have few crossings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.tree import ordering as kernels
from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from ..similarity import Background, Blend, Dense, Features, Graph, Similarity, SimilarityLike, check_similarity
from ..similarity.base import by_kind
from . import Tree, TreeLike, as_tree
from .distances import check_trees

__all__ = ["order_leaves", "untangle"]

Bools = npt.NDArray[np.bool_]

# Turning one tree and then the other never adds a crossing and soon removes none; this only bounds the time.
MAX_ROUNDS = 20


def order_leaves(
    tree: TreeLike, similarity: SimilarityLike | None = None, *, order: npt.ArrayLike | None = None
) -> Tree:
    """Return the tree with children swapped so that similar leaves are adjacent in ``leaf_order()``, or leaves follow an order.

    By similarity, merges are undone from the root down, in order of their heights. At every moment the clusters that stand form
    a row, and the children of the one that is split are ordered so that the mean similarity to its neighbours in the row is
    largest. By a given order, as few pairs of leaves as the tree allows stand the wrong way round. Give one of the two.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    similarity : Similarity, dense matrix or sparse matrix of n points
    order : array (n,)
        A number for each leaf, such as a time or a place; small ones go to the left. To have only clusters that are runs of an
        order, see ``Constraints``.

    Returns
    -------
    Tree
        Equal to ``tree``, with its heights, names and weights; the order of children is the only change.

    Notes
    -----
    O(n d) for features, O(n + m log n) for a graph of m edges, at most O(n² log n) for a matrix. Beyond the similarity the
    memory is O(n d), O(n + m) and O(n). By an order O(n log² n), O(n) memory.

    Examples
    --------
    >>> W = [[0, 9, 0, 8], [9, 0, 0, 1], [0, 0, 0, 9], [8, 1, 9, 0]]
    >>> order_leaves(Tree([[0, 1], [2, 3], [4, 5]]), W).leaf_order()  # 0 and 3 are similar
    array([1, 0, 3, 2])
    >>> order_leaves(Tree([[0, 1], [2, 3], [4, 5]]), order=[4, 3, 2, 1]).leaf_order()
    array([3, 2, 1, 0])
    """
    tree = as_tree(tree)
    if (similarity is None) == (order is None):
        raise ValueError("Leaves are ordered by a similarity or by an order; give one of the two.")
    if similarity is None:
        return _following(tree, np.asarray(order))
    points = check_similarity(similarity)
    if points.n != tree.n_leaves:
        raise ValueError(f"The tree has {tree.n_leaves} leaves and the similarity {points.n} points; they must match.")
    return _swapped(tree, swaps(points, tree, subtree_sums(tree._children, points.sizes)))


@by_kind
def swaps(similarity: Similarity, tree: Tree, counts: Floats) -> Bools:
    """Return the merges whose children change places, for nodes of ``counts`` points."""
    raise TypeError(f"There is no leaf order for {similarity!r}.")


@swaps.register
def _(similarity: Features, tree: Tree, counts: Floats) -> Bools:
    return kernels.swaps_by_features(tree._children, counts, similarity.X, similarity.scale)


@swaps.register
def _(similarity: Background, tree: Tree, counts: Floats) -> Bools:
    # lengths are left out: they would only tell which of two children lies further from the centre
    return kernels.swaps_by_features(tree._children, counts, similarity.X, 2.0 * similarity.slope)


@swaps.register
def _(similarity: Blend, tree: Tree, counts: Floats) -> Bools:
    return swaps(similarity.graph, tree, counts)


@swaps.register
def _(similarity: Dense, tree: Tree, counts: Floats) -> Bools:
    return kernels.swaps_by_matrix(tree._shape, counts, similarity.W)


@swaps.register
def _(similarity: Graph, tree: Tree, counts: Floats) -> Bools:
    rows = similarity.to_csr()[tree.leaf_order()]
    edges = rows.indptr.astype(np.int64), tree._first[rows.indices], rows.data
    return kernels.swaps_by_edges(tree._shape, counts, *edges)


def untangle(tree: TreeLike, other: TreeLike) -> tuple[Tree, Tree, int]:
    """Swap children of both trees so that few lines cross when equal leaves are joined; return the trees and the crossings.

    With one tree fixed, the crossings between the leaves below the two children of a node depend on the order of these two
    alone, so the best order of the other tree is found exactly, node by node. The trees take turns until nothing is gained.

    Parameters
    ----------
    tree, other : Tree or linkage matrix, both with n leaves; leaf i is the same thing in both

    Returns
    -------
    tree, other : Tree
        Equal to those given.
    n_crossings : int
        Pairs of leaves whose order differs.

    Notes
    -----
    O(n log² n) a turn, O(n) memory.

    Examples
    --------
    >>> _, turned, n_crossings = untangle(Tree([[0, 1], [2, 3], [4, 5]]), Tree([[3, 2], [4, 1], [5, 0]]))
    >>> turned.leaf_order(), n_crossings
    (array([0, 1, 2, 3]), 0)
    """
    tree, other = check_trees(tree, other)
    n = tree.n_leaves
    other, fewest = _turned(other, tree._first[:n])
    for _ in range(MAX_ROUNDS):
        tree, _ = _turned(tree, other._first[:n])
        other, n_crossings = _turned(other, tree._first[:n])
        if n_crossings == fewest:
            break
        fewest = n_crossings
    return tree, other, fewest


def _following(tree: Tree, order: npt.NDArray[np.generic]) -> Tree:
    """Return the tree with children swapped where fewer pairs of leaves are then out of order; ties never are."""
    n, first = tree.n_leaves, tree._first[: tree.n_leaves]
    if order.shape != (n,) or order.dtype.kind not in "iufM" or np.isnan(order.astype(np.float64)).any():
        raise ValueError(f"order must have shape ({n},), a number for each leaf, none missing; got {order.shape}.")
    as_they_stand, reversed_ = (
        kernels.crossings(tree._shape, np.argsort(np.lexsort((ties, order)))) for ties in (first, -first)
    )
    return _swapped(tree, as_they_stand > _pairs(tree) - reversed_)


def _turned(tree: Tree, place: Ints) -> tuple[Tree, int]:
    """Return the tree in its best order beside leaves at fixed places, and the crossings that remain."""
    crossed, pairs = kernels.crossings(tree._shape, place), _pairs(tree)
    return _swapped(tree, 2 * crossed > pairs), int(np.minimum(crossed, pairs - crossed).sum())


def _pairs(tree: Tree) -> Ints:
    return np.asarray(tree.sizes[tree.children].prod(axis=1))


def _swapped(tree: Tree, swaps: Bools) -> Tree:
    return tree._with(children=np.where(swaps[:, None], tree.children[:, ::-1], tree.children))
