"""Single, average, complete and Ward linkage of a similarity, by SciPy."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy

from .._runtime.validation import require_memory
from ..similarity import Similarity, SimilarityLike, check_similarity
from ..tree import Tree


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
