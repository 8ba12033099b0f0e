"""Bisecting k-means: trees by recursive splits of features, matrices and graphs."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._kernels.baselines import bisect as bisect_kernels
from .._kernels.baselines import bisect_moves
from .._kernels.baselines.bisect_moves import GraphLeaves, MatrixLeaves
from .._kernels.baselines.bisect_runs import FeatureLeaves, split_runs
from .._runtime.arrays import Ints
from .._runtime.parallel import thread_map
from .._runtime.validation import require_choice
from ..similarity import Background, Blend, Dense, Features, Graph, Similarity, SimilarityLike, check_similarity
from ..similarity.base import by_kind
from ..tree import Tree

Objective = Literal["means", "reward", "cut"]
Leaves = FeatureLeaves | MatrixLeaves | GraphLeaves

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
    """Return the merges (n − 1, 2) of the tree that halves the leaves, each half again, and so on."""
    leaves, n = bisection_state(similarity), similarity.n
    splits = np.zeros(n - 1, dtype=bisect_kernels.RUN)
    small: list[tuple[int, int]] = []
    runs = [(0, n)]
    while runs:  # all runs of a level at once
        large = [run for run in runs if run[1] - run[0] > max(n // _SPLIT_TOGETHER, 2)]
        small += [run for run in runs if 1 < run[1] - run[0] <= max(n // _SPLIT_TOGETHER, 2)]
        middles = thread_map(
            lambda run: split_runs(leaves, *run, run[1] - run[0], OBJECTIVES[objective], splits), large, n_jobs
        )
        runs = [half for (b, e), middle in zip(large, middles, strict=True) for half in ((b, middle), (middle, e))]
    thread_map(lambda run: split_runs(leaves, *run, 1, OBJECTIVES[objective], splits), small, n_jobs)
    lengths = splits["end"] - splits["begin"]
    return bisect_kernels.split_merges(leaves.order, splits, np.argsort(lengths, kind="stable"))


@by_kind
def bisection_state(similarity: Similarity) -> Leaves:
    """Return the arrays that the kernels reorder; runs that do not overlap may be split at the same time."""
    raise TypeError(f"There is no bisection of {similarity!r}.")


@bisection_state.register
def _(similarity: Features) -> FeatureLeaves:
    sizes = similarity.sizes.copy()
    points = similarity.X / sizes[:, None].astype(similarity.X.dtype)
    order, scores = np.arange(similarity.n), np.empty(similarity.n)
    return FeatureLeaves(points, sizes, order, scores, similarity.offset, similarity.scale)


@bisection_state.register
def _(similarity: Background) -> Leaves:
    # two-means of squared distances and of inner products have the same splits, but for points that are their own cluster;
    # the largest squared length of a leaf's mean row leaves no inner product negative
    longest = float((np.einsum("ij,ij->i", similarity.X, similarity.X) / similarity.sizes**2).max())
    return bisection_state(Features(similarity.X, offset=longest, scale=1.0, sizes=similarity.sizes))


@bisection_state.register
def _(similarity: Blend) -> Leaves:
    # the graph was made of the rows: they lead to the same halves, without its n log n eigenvectors
    return bisection_state(similarity.background)


@bisection_state.register
def _(similarity: Dense) -> MatrixLeaves:
    return MatrixLeaves(np.ascontiguousarray(similarity.W), similarity.sizes.copy(), np.arange(similarity.n))


@bisection_state.register
def _(similarity: Graph) -> GraphLeaves:
    rows = similarity.indptr, similarity.indices, similarity.data
    return GraphLeaves(*rows, similarity.sizes.copy(), np.arange(similarity.n), np.arange(similarity.n))
