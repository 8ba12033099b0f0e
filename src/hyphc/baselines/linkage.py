"""Single, average, complete and Ward linkage of a similarity, by SciPy."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy

from .._runtime.validation import require_memory
from ..similarity import Similarity, SimilarityLike, check_similarity
from ..tree import Tree

# Columns of a table that are put in order by their correlations, which takes all pairs of them.
MOST_COLUMNS = 1000


def single_linkage(similarity: SimilarityLike) -> Tree:
    """Return the tree of single linkage on the distances 1 − w, by SciPy: O(n²) time and memory."""
    return _linkage(similarity, "single")


def average_linkage(similarity: SimilarityLike) -> Tree:
    """Return the tree of average linkage on the distances 1 − w, by SciPy: O(n²) time and memory.

    Examples
    --------
    >>> average_linkage([[0, 0.9, 0.1], [0.9, 0, 0.3], [0.1, 0.3, 0]]).heights
    array([0.1, 0.8])
    """
    return _linkage(similarity, "average")


def complete_linkage(similarity: SimilarityLike) -> Tree:
    """Return the tree of complete linkage on the distances 1 − w, by SciPy: O(n²) time and memory."""
    return _linkage(similarity, "complete")


def ward_linkage(similarity: SimilarityLike) -> Tree:
    """Return the tree of Ward's recurrence on the distances 1 − w, as in the HypHC paper, by SciPy: O(n²) time and memory.

    Ward's criterion is a sum of squares only for Euclidean distances; on 1 − w it is the same recurrence without that meaning.
    """
    return _linkage(similarity, "ward")


def correlation_linkage(values: npt.NDArray[np.floating]) -> Tree | None:
    """Return the average-linkage tree of the columns of a table, (n, d), by correlation; None for few or very many columns.

    Missing values count as the mean of their column.
    """
    if not 3 <= values.shape[1] <= MOST_COLUMNS:
        return None
    known = np.isfinite(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    away = np.where(known, values - means, 0.0)
    length = np.sqrt((away**2).sum(axis=0))
    unit = away / np.where(length > 0, length, 1.0)
    alike = (1.0 + np.clip(unit.T @ unit, -1.0, 1.0)) / 2.0
    return average_linkage((alike + alike.T) / 2.0)


def _linkage(similarity: SimilarityLike, method: Literal["single", "average", "complete", "ward"]) -> Tree:
    similarity = check_similarity(similarity)
    if similarity.n == 1:
        return Tree(np.empty((0, 2)))
    return Tree.from_linkage(hierarchy.linkage(_condensed_distances(similarity, method), method))


def _condensed_distances(similarity: Similarity, method: str) -> npt.NDArray[np.float64]:
    """Return 1 − w, or w_max − w where similarities exceed 1, in SciPy's condensed form; weighted leaves have means."""
    n = similarity.n
    # the condensed distances, the copy that SciPy works on, and a chunk of rows
    require_memory(
        8 * n * (n - 1), f"{method} linkage of {n} points", "take a sample, or use a method that needs no n x n matrix"
    )
    alike = np.empty(n * (n - 1) // 2)
    filled = 0
    for rows, weights in similarity.row_chunks():
        for offset, i in enumerate(range(rows.start, rows.stop)):
            pairs = similarity.sizes[i] * similarity.sizes[i + 1 :]
            alike[filled : filled + n - 1 - i] = weights[offset, i + 1 :] / pairs
            filled += n - 1 - i
    return np.subtract(max(1.0, alike.max()), alike, out=alike)
