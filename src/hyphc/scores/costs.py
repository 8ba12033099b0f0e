"""Exact scores of a tree: those that concern similarities follow from the split weights."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._kernels.scores import purity as purity_kernels
from .._kernels.scores import split_weights as kernels
from .._kernels.tree import lca as lca_kernels
from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats
from .._runtime.parallel import thread_map
from ..similarity import Background, Blend, Dense, Features, Graph, Similarity, SimilarityLike, check_similarity
from ..similarity.base import by_kind
from ..tree import Tree, TreeLike, as_tree

Units = Literal["pairs", "ordered", "mean"]

COLUMN_BLOCK = (
    32  # columns that one thread sums: two cache lines of float32, and the same sums for any number of threads
)
ROWS = 1 << 15  # whose edges one thread looks up at a time


def split_weights(tree: TreeLike, similarity: SimilarityLike) -> Floats:
    """Return the similarity across each split: x(v) = Σ w_ij over i in one child of v and j in the other.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    similarity : Similarity, dense matrix or sparse matrix of n points

    Returns
    -------
    x : array of float64, shape (n − 1,), one for each merge

    Notes
    -----
    O(n d) time and O(n + d log n) memory beyond X for features, O(n²) time for a matrix, about O(n + edges) for a graph.

    Examples
    --------
    >>> split_weights([[0, 1, 1.0, 2], [2, 3, 2.0, 3]], [[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    array([3., 3.])
    """
    tree, similarity = check_pair(tree, similarity)
    return np.asarray(splits(similarity, tree))


@by_kind
def splits(similarity: Similarity, tree: Tree) -> Floats:
    """Return x(v) of each merge, for a tree and a similarity that have been checked."""
    raise TypeError(f"There are no split weights of {similarity!r}.")


@splits.register
def _(similarity: Features, tree: Tree) -> Floats:
    """Return offset·|l|·|r| + scale·⟨s_l, s_r⟩."""
    points = subtree_sums(tree._children, similarity.sizes)
    left, right = tree._children.T
    across = similarity.offset * (points[left] * points[right])
    for product in _products(tree, similarity.X):
        across += similarity.scale * product
    return np.asarray(across)


@splits.register
def _(similarity: Background, tree: Tree) -> Floats:
    """Return slope·(level·|l|·|r| − |r|·q_l − |l|·q_r + 2⟨s_l, s_r⟩), q the sum of squared lengths."""
    products = sum(_products(tree, similarity.X), np.zeros(tree.n_leaves - 1))
    points, squares = (subtree_sums(tree._children, values) for values in (similarity.sizes, similarity.squares))
    left, right = tree._children.T
    crossed = points[right] * squares[left] + points[left] * squares[right]
    across = similarity.level * points[left] * points[right] - crossed + 2.0 * products
    return np.asarray(similarity.slope * across)


@splits.register
def _(similarity: Blend, tree: Tree) -> Floats:
    return sum((splits(part, tree) for part in similarity.parts), np.zeros(tree.n_leaves - 1))


@splits.register
def _(similarity: Dense, tree: Tree) -> Floats:
    across = np.zeros(tree.n_leaves - 1)
    kernels.matrix_split_weights(tree._shape, similarity.W, across)
    return across


@splits.register
def _(similarity: Graph, tree: Tree) -> Floats:
    across = np.zeros(tree.n_leaves - 1)
    kernels.sum_of_edges(merges_of_edges(similarity, tree), similarity.data, across)
    return across


def merges_of_edges(graph: Graph, tree: Tree) -> npt.NDArray[np.int32]:
    """Return the merge that joins the ends of each stored edge (i, j), i < j; −1 for edges with i > j."""
    found = np.empty(len(graph.data), dtype=np.int32)
    tables = *tree._lca_tables, tree._first, graph.indptr, graph.indices

    def find(begin: int) -> None:
        lca_kernels.edge_merges(*tables, begin, min(begin + ROWS, graph.n), found)

    thread_map(find, range(0, graph.n, ROWS), n_jobs=-1)
    return found


def _products(tree: Tree, X: npt.NDArray[Any]) -> list[Floats]:
    """Return ⟨s_l, s_r⟩ of each merge, s the sums of rows, for blocks of columns."""
    leaves, merges, n_closing = tree._heavy_first_schedule

    def product(begin: int) -> Floats:
        end = min(begin + COLUMN_BLOCK, X.shape[1])
        across = np.empty(tree.n_leaves - 1)
        across[merges] = kernels.inner_products_across(X, begin, end, leaves, n_closing)
        return across

    return thread_map(product, range(0, X.shape[1], COLUMN_BLOCK), n_jobs=-1)


def dasgupta_cost(tree: TreeLike, similarity: SimilarityLike, units: Units = "pairs") -> float:
    """Return Dasgupta's cost C(T) = Σ_{i<j} w_ij·|leaves of the smallest cluster with i and j| = Σ_v |v|·x(v), exact.

    Parameters
    ----------
    tree : Tree or linkage matrix
    similarity : Similarity, dense matrix or sparse matrix
    units : {"pairs", "ordered", "mean"}
        ``"pairs"`` counts each pair once, as Dasgupta does. ``"ordered"`` counts it twice, as the HypHC paper's tables do.
        ``"mean"`` divides by Σ_{i<j} w_ij, as scikit-network does: the mean size of the smallest cluster that holds an edge.

    Examples
    --------
    On a clique of unit weights every tree costs (n³ − n) / 3:

    >>> dasgupta_cost([[0, 1, 1.0, 2], [2, 3, 2.0, 3]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    8.0
    """
    tree, similarity = check_pair(tree, similarity)
    return in_units(cost_of(similarity, tree), similarity, units)


def cost_of(similarity: Similarity, tree: Tree) -> float:
    """Return Σ_v |v|·x(v), for a tree and a similarity that have been checked."""
    return float(subtree_sums(tree._children, similarity.sizes)[tree.n_leaves :] @ splits(similarity, tree))


def in_units(cost: float, similarity: Similarity, units: Units) -> float:
    """Return a cost counted over unordered pairs, expressed in ``units``."""
    if units == "pairs":
        return cost
    if units == "ordered":
        return 2 * cost
    if units == "mean":
        total = similarity.total()
        if total == 0:
            raise ValueError("units='mean' divides by the total similarity, which is 0; use units='pairs'.")
        return cost / total
    raise ValueError(f"units={units!r} is unknown; choose 'pairs', 'ordered' or 'mean'.")


def moseley_wang_reward(tree: TreeLike, similarity: SimilarityLike) -> float:
    """Return the reward of Moseley and Wang, Σ_{i<j} w_ij·(n − |smallest cluster with i and j|) = n·Σ w − C(T)."""
    tree, similarity = check_pair(tree, similarity)
    return float(similarity.sizes.sum() * similarity.total() - dasgupta_cost(tree, similarity))


def dendrogram_purity(tree: TreeLike, labels: npt.ArrayLike) -> float:
    """Return the mean over pairs of leaves of one label of its share in the smallest cluster with both; in (0, 1].

    Exact in O(n log n) time and O(n) memory, whatever the number of labels.

    Examples
    --------
    >>> dendrogram_purity([[0, 1, 1.0, 2], [2, 3, 2.0, 3]], ["a", "a", "b"])
    1.0
    """
    tree = as_tree(tree)
    _, classes = np.unique(np.asarray(labels), return_inverse=True)
    if np.shape(labels) != (tree.n_leaves,):
        raise ValueError(f"labels must have shape ({tree.n_leaves},), one for each leaf; got {np.shape(labels)}.")
    counts = np.bincount(classes)
    n_pairs = float((counts * (counts - 1.0)).sum() / 2)
    if n_pairs == 0:
        raise ValueError("Dendrogram purity is a mean over pairs with one label, and no two leaves share a label.")
    total = purity_kernels.purity_sum(tree._shape, classes[tree.leaf_order()].astype(np.int64), len(counts))
    return float(total / n_pairs)


def tree_sampling_divergence(tree: TreeLike, similarity: SimilarityLike, *, normalized: bool = True) -> float:
    """Return the tree sampling divergence of Charpentier and Bonald: the information of the graph that the tree keeps.

    D = Σ_v p(v)·log(p(v) / q(v)), where p(v) is the probability that a pair drawn in proportion to w has v as its
    smallest cluster, and q(v) the same for two points drawn independently in proportion to their degrees (a point drawn
    twice counts for its first merge, as in scikit-network). ``normalized`` divides by the mutual information of the
    pairs: then 1 is all of it. That takes O(n²·d) time for features, in chunks; without it, the time of ``split_weights``. A
    blend has that of its graph.
    """
    tree, similarity = check_pair(tree, similarity)
    similarity = similarity.local_part  # probabilities are not negative
    degrees = similarity.degrees()
    volume = float(degrees.sum())
    if volume == 0:
        raise ValueError("Tree sampling divergence needs a positive similarity; all are 0.")
    p = 2 * split_weights(tree, similarity) / volume
    q = _independent_sampling(tree, degrees / volume)
    divergence = float(np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0])))
    if not normalized:
        return divergence
    information = _mutual_information(similarity, degrees / volume)
    return divergence / information if information > 0 else divergence


def _independent_sampling(tree: Tree, probability: Floats) -> Floats:
    below = subtree_sums(tree._children, probability)
    left, right = below[tree._children[:, 0]], below[tree._children[:, 1]]
    repeats = np.where(tree._children < tree.n_leaves, below[tree._children] ** 2, 0.0).sum(axis=1)
    return np.asarray(2 * left * right + repeats)


def _mutual_information(similarity: Similarity, probability: Floats) -> float:
    """Return Σ_ij p_ij·log(p_ij / (p_i p_j)) over ordered pairs."""
    volume = 2 * similarity.total()
    information = 0.0
    for i, j, weights in similarity.weighted_pairs():
        p = weights / volume
        information += float(np.sum(p * np.log(p / (probability[i] * probability[j]))))
    return information


def check_pair(tree: TreeLike, similarity: SimilarityLike) -> tuple[Tree, Similarity]:
    """Return a tree and the similarity of its leaves, if there are as many of both."""
    tree, similarity = as_tree(tree), check_similarity(similarity)
    if tree.n_leaves != similarity.n:
        raise ValueError(
            f"The tree has {tree.n_leaves} leaves but the similarity {similarity.n} points; they must be the same."
        )
    return tree, similarity
