"""Bisecting k-means of every kind of similarity: one driver, three ways to split a run of leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._kernels.baselines import bisect as bisect_kernels
from .._kernels.baselines import bisect_moves, bisect_runs
from .._runtime.arrays import Ints, Records
from .._runtime.parallel import thread_map
from .._runtime.validation import require_choice
from ..similarity import Background, Blend, Dense, Features, Graph, Similarity, SimilarityLike, check_similarity
from ..similarity.base import by_kind
from ..tree import Tree

Objective = Literal["means", "reward", "cut"]

OBJECTIVES = {"means": bisect_moves.MEANS, "reward": bisect_moves.REWARD, "cut": bisect_moves.CUT}
_SPLIT_TOGETHER = 16  # runs shorter than n / 16 are split to the end by one thread each


def bisecting_kmeans(
    similarity: SimilarityLike, *, objective: Objective | None = None, n_jobs: int | None = -1
) -> Tree:
    """Split the points in two, each half again, down to single points; a local search improves every split.

    A split starts from the first principal direction (features: followed by a few Lloyd steps) or, for a graph, from the
    second eigenvector of D^−½ W D^−½, components apart. Then points change sides, one at a time, while the objective grows.
    There is nothing random, and the tree does not depend on ``n_jobs``.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix
    objective : {"means", "reward", "cut"}, optional
        What a split into A and B maximises, w(A) the similarity of all pairs within A.

        - ``"means"``: w(A) / |A| + w(B) / |B|, kernel two-means. The default for features and matrices.
        - ``"reward"``: (|B| − 1)·w(A) + (|A| − 1)·w(B), the local search of Moseley & Wang (2017), which prefers even splits.
          This is the BKM of the HypHC paper.
        - ``"cut"``: −w(A, B) / (|A|·|B|), the sparsest cut. The default for graphs.
    n_jobs : int or None
        Threads (None is 1, −1 is all cores).

    Notes
    -----
    O(n d log n) time for features, O(n²) for a matrix and O(edges·log n) for a graph where splits are about even.

    Examples
    --------
    >>> W = [[0, 9, 1, 1], [9, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0]]
    >>> bisecting_kmeans(W).cut(n_clusters=2)
    array([0, 0, 1, 1])
    """
    similarity = check_similarity(similarity)
    if objective is None:
        objective = "cut" if similarity.is_sparse else "means"
    require_choice("objective", objective, OBJECTIVES)
    return Tree(bisection_merges(similarity, objective, n_jobs))


def bisection_merges(similarity: Similarity, objective: Objective, n_jobs: int | None) -> Ints:
    """Return the merges (n − 1, 2) of the tree that splits the leaves in two, each side again, and so on."""
    splitter = make_splitter(similarity, OBJECTIVES[objective])
    n = similarity.n
    # a split of the run [begin, end) at m is noted at m − 1: the position is unique to it
    splits = np.zeros(n - 1, dtype=bisect_kernels.RUN)
    small: list[tuple[int, int]] = []
    large = [(0, n)]
    while large:
        begin, end = large.pop()
        if end - begin > max(n // _SPLIT_TOGETHER, 2):
            middle = begin + splitter.split(begin, end)
            splits[middle - 1] = begin, end
            large += [(begin, middle), (middle, end)]
        elif end - begin > 1:
            small.append((begin, end))

    def split_down(run: tuple[int, int]) -> None:
        begin, end = run
        own = splits[begin : end - 1]
        splitter.split_all(begin, end, own)
        own["begin"] += begin
        own["end"] += begin

    thread_map(split_down, small, n_jobs)
    lengths = splits["end"] - splits["begin"]
    return bisect_kernels.split_merges(splitter.order, splits, np.argsort(lengths, kind="stable"))


@dataclass(frozen=True)
class _Splitter:
    """Leaves in an order in which every run is one cluster; runs that do not overlap may be split at the same time.

    Attributes
    ----------
    order : array (n,)
        The kernels reorder it: the two sides of a split come one after the other.
    arguments : callable
        Arguments of both kernels for the run [begin, end).
    split_kernel : callable
        Splits a run, and returns the length of the first side.
    split_all_kernel : callable
        Splits a run down to single leaves; its last argument receives the splits, with positions counted from ``begin``.
    """

    order: Ints
    arguments: Callable[[int, int], tuple[Any, ...]]
    split_kernel: Callable[..., int]
    split_all_kernel: Callable[..., None]

    def split(self, begin: int, end: int) -> int:
        """Reorder the run so that its two sides come one after the other; return the length of the first."""
        return int(self.split_kernel(*self.arguments(begin, end)))

    def split_all(self, begin: int, end: int, splits: Records) -> None:
        """Split the run down to single leaves and note the splits, positions counted from ``begin``."""
        self.split_all_kernel(*self.arguments(begin, end), splits)


@by_kind
def make_splitter(similarity: Similarity, objective: int) -> _Splitter:
    """Return the splitter of the leaves of a similarity."""
    raise TypeError(f"There is no bisection of {similarity!r}.")


@make_splitter.register
def _(similarity: Features, objective: int) -> _Splitter:
    order, sizes, settings = np.arange(similarity.n), similarity.sizes.copy(), (similarity.offset, similarity.scale)
    points = similarity.X / sizes[:, None].astype(similarity.X.dtype)

    def arguments(begin: int, end: int) -> tuple[Any, ...]:
        return points[begin:end], sizes[begin:end], order[begin:end], *settings, objective

    def split(*run: Any) -> int:
        with_scores: Any = *run, np.empty(len(run[0]))
        return int(bisect_runs.features_split(*with_scores))

    return _Splitter(order, arguments, split, bisect_runs.features_split_all)


@make_splitter.register
def _(similarity: Background, objective: int) -> _Splitter:
    # two-means of squared distances and of inner products have the same splits, but for points that are their own cluster;
    # the largest squared length of a leaf's mean row, added to inner products, leaves none negative
    longest = float((np.einsum("ij,ij->i", similarity.X, similarity.X) / similarity.sizes**2).max())
    return make_splitter(Features(similarity.X, offset=longest, scale=1.0, sizes=similarity.sizes), objective)


@make_splitter.register
def _(similarity: Blend, objective: int) -> _Splitter:
    # the graph was made of the rows: they lead to the same halves, without its n log n eigenvectors
    return make_splitter(similarity.background, objective)


@make_splitter.register
def _(similarity: Dense, objective: int) -> _Splitter:
    order, sizes, matrix = np.arange(similarity.n), similarity.sizes.copy(), np.ascontiguousarray(similarity.W)

    def arguments(begin: int, end: int) -> tuple[Any, ...]:
        return matrix, sizes, order[begin:end], objective

    return _Splitter(order, arguments, bisect_runs.matrix_split, bisect_runs.matrix_split_all)


@make_splitter.register
def _(similarity: Graph, objective: int) -> _Splitter:
    order, sizes, position = np.arange(similarity.n), similarity.sizes.copy(), np.arange(similarity.n)
    edges = similarity.indptr, similarity.indices, similarity.data

    def arguments(begin: int, end: int) -> tuple[Any, ...]:
        return edges, sizes, order[begin:end], position, objective

    return _Splitter(order, arguments, bisect_runs.graph_split, bisect_runs.graph_split_all)
