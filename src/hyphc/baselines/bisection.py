"""Bisection of every kind of similarity: one driver, three ways to split a run of leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import numpy.typing as npt

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
    """Merges (n − 1, 2) of the tree that halves the leaves, each half again, and so on."""
    splitter = make_splitter(similarity, OBJECTIVES[objective])
    n = similarity.n
    # a split of the run [begin, end) at m is noted at m − 1: the place is unique to it
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


class _Splitter(ABC):
    """Leaves in an order in which every run is one cluster; runs that do not overlap may be split at the same time."""

    def __init__(self, similarity: Similarity, objective: int) -> None:
        self.order = np.arange(similarity.n)
        self._sizes = similarity.sizes.copy()
        self._objective = objective

    @abstractmethod
    def split(self, begin: int, end: int) -> int:
        """Reorder the run so that its two sides come one after the other; the length of the first."""

    @abstractmethod
    def split_all(self, begin: int, end: int, splits: Records) -> None:
        """Split the run down to single leaves and note the splits, places counted from ``begin``."""


class _FeaturesSplitter(_Splitter):
    def __init__(self, similarity: Features, objective: int) -> None:
        super().__init__(similarity, objective)
        self._points = similarity.X / self._sizes[:, None].astype(similarity.X.dtype)
        self._settings = similarity.offset, similarity.scale, objective

    def split(self, begin: int, end: int) -> int:
        return int(bisect_runs.features_split(*self._run(begin, end), *self._settings, np.empty(end - begin)))

    def split_all(self, begin: int, end: int, splits: Records) -> None:
        bisect_runs.features_split_all(*self._run(begin, end), *self._settings, splits)

    def _run(self, begin: int, end: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Ints]:
        return self._points[begin:end], self._sizes[begin:end], self.order[begin:end]


class _MatrixSplitter(_Splitter):
    def __init__(self, similarity: Dense, objective: int) -> None:
        super().__init__(similarity, objective)
        self._matrix = np.ascontiguousarray(similarity.W)

    def split(self, begin: int, end: int) -> int:
        return int(bisect_runs.matrix_split(self._matrix, self._sizes, self.order[begin:end], self._objective))

    def split_all(self, begin: int, end: int, splits: Records) -> None:
        bisect_runs.matrix_split_all(self._matrix, self._sizes, self.order[begin:end], self._objective, splits)


class _GraphSplitter(_Splitter):
    def __init__(self, similarity: Graph, objective: int) -> None:
        super().__init__(similarity, objective)
        self._edges = similarity.indptr, similarity.indices, similarity.data
        self._position = self.order.copy()

    def split(self, begin: int, end: int) -> int:
        run = self.order[begin:end]
        return int(bisect_runs.graph_split(self._edges, self._sizes, run, self._position, self._objective))

    def split_all(self, begin: int, end: int, splits: Records) -> None:
        run = self.order[begin:end]
        bisect_runs.graph_split_all(self._edges, self._sizes, run, self._position, self._objective, splits)


@by_kind
def make_splitter(similarity: Similarity, objective: int) -> _Splitter:
    """Splits runs of the leaves of a similarity."""
    raise TypeError(f"There is no bisection of {similarity!r}.")


make_splitter.register(Features, _FeaturesSplitter)


@make_splitter.register
def _(similarity: Background, objective: int) -> _Splitter:
    # two-means of squared distances and of inner products have the same splits, but for points that are their own cluster
    rows = Features(similarity.X, offset=_longest(similarity), scale=1.0, sizes=similarity.sizes)
    return _FeaturesSplitter(rows, objective)


@make_splitter.register
def _(similarity: Blend, objective: int) -> _Splitter:
    # the graph was made of the rows: they lead to the same halves, without its n log n eigenvectors
    return make_splitter(similarity.background, objective)


def _longest(similarity: Background) -> float:
    """The largest squared length of a leaf's mean row: added to inner products, it leaves none negative."""
    return float((np.einsum("ij,ij->i", similarity.X, similarity.X) / similarity.sizes**2).max())


make_splitter.register(Dense, _MatrixSplitter)
make_splitter.register(Graph, _GraphSplitter)
