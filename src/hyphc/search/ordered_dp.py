"""The optimal tree among those whose clusters are intervals of a given order (times, strata, genome positions)."""

from __future__ import annotations

import numpy as np

from .._kernels.search import ordered_dp as kernels
from .._runtime.validation import require_memory
from ..similarity import SimilarityLike, check_similarity
from ..tree import Tree

MOST = 4_000  # points: the time grows with the cube, to some ten seconds here


def best_in_order(similarity: SimilarityLike) -> Tree:
    """Return the tree of least cost among those whose clusters are intervals i, i + 1, …, j of the points as numbered.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix of n points
        n at most 4 000.

    Returns
    -------
    Tree
        ``leaf_order()`` is 0 … n − 1.

    Notes
    -----
    Exact dynamic programming over all intervals: O(n³) time, O(n²) memory.

    Examples
    --------
    >>> best_in_order([[0, 1, 9, 0], [1, 0, 1, 0], [9, 1, 0, 1], [0, 0, 1, 0]]).to_newick(branch_lengths=False)
    '((0,(1,2)),3);'
    """
    points = check_similarity(similarity)
    n = points.n
    if n > MOST:
        raise ValueError(
            f"The best tree in a given order takes O(n^3) time, and {n} points are too many for it; join neighbours into at most "
            f"{MOST} groups with must_link, or leave the order out."
        )
    require_memory(8.0 * 3 * n * n, f"The best tree of {n} points in order", "join neighbours with must_link")
    merges = np.empty((n - 1, 2), dtype=np.int64)
    if n > 1:
        inside, sizes = (
            np.array(points.to_dense(), dtype=np.float64, order="C"),
            np.array(points.sizes, dtype=np.float64),
        )
        kernels.sum_runs(inside)
        costs = np.zeros((n, n))
        kernels.cost_runs(inside, sizes, costs)
        kernels.runs_to_merges(inside, sizes, costs, merges)
    return Tree(merges)
