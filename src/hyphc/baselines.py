"""Trees to compare with and to start from: linkages, bisecting k-means, random; each a function of a similarity."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy
from sklearn.utils import check_random_state

from ._checks import require_memory
from ._kernels import bisect as bisect_kernels
from ._parallel import thread_map
from .similarity import Features, Similarity, SimilarityLike, check_similarity
from .tree import Tree

_SPLIT_TOGETHER = 16  # runs shorter than n / 16 are split to the end by one thread each


def single_linkage(similarity: SimilarityLike) -> Tree:
    """Single linkage on the distances 1 − w, by SciPy: O(n²) time and memory."""
    return _linkage(similarity, "single")


def average_linkage(similarity: SimilarityLike) -> Tree:
    """Average linkage on the distances 1 − w, by SciPy: O(n²) time and memory.

    Examples
    --------
    >>> average_linkage([[0, 0.9, 0.1], [0.9, 0, 0.3], [0.1, 0.3, 0]]).heights
    array([0.1, 0.8])
    """
    return _linkage(similarity, "average")


def complete_linkage(similarity: SimilarityLike) -> Tree:
    """Complete linkage on the distances 1 − w, by SciPy: O(n²) time and memory."""
    return _linkage(similarity, "complete")


def ward_linkage(similarity: SimilarityLike) -> Tree:
    """Ward's recurrence on the distances 1 − w, by SciPy, as the HypHC paper uses it: O(n²) time and memory.

    Ward's criterion is a sum of squares only for Euclidean distances; on 1 − w it is the same recurrence without that meaning.
    """
    return _linkage(similarity, "ward")


def bisecting_kmeans(similarity: Similarity, *, n_jobs: int | None = -1) -> Tree:
    """Split the points in two by 2-means, each half again, down to single points: O(n d log n) for balanced splits.

    Each split starts from the first principal direction (a few power steps) and takes a few Lloyd steps; equal points are split
    evenly. There is nothing random, and the tree does not depend on ``n_jobs``.

    Parameters
    ----------
    similarity : Features
    n_jobs : int or None
        Threads (None is 1, −1 is all cores).
    """
    if not isinstance(similarity, Features):
        raise ValueError(
            f"bisecting_kmeans splits rows of features; got {similarity!r}: pass as_similarity(X, 'cosine')."
        )
    n = similarity.n
    points, sizes = similarity.X.copy(), similarity.sizes.copy()
    points /= sizes[:, None].astype(points.dtype)
    order, splits, scores = np.arange(n), np.zeros((max(n - 1, 0), 2), dtype=np.int64), np.empty(n)
    small: list[tuple[int, int]] = []
    large = [(0, n)]
    while large:
        begin, end = large.pop()
        if end - begin <= max(n // _SPLIT_TOGETHER, 2):
            small.append((begin, end))
            continue
        middle = begin + bisect_kernels.split_run(points[begin:end], sizes[begin:end], order[begin:end], scores)
        splits[middle - 1] = begin, end
        large += [(begin, middle), (middle, end)]
    thread_map(lambda run: bisect_kernels.split_all(points, sizes, order, *run, splits), small, n_jobs)
    lengths = splits[:, 1] - splits[:, 0]
    return Tree(bisect_kernels.split_merges(order, splits, np.argsort(lengths, kind="stable")))


def random_tree(similarity: SimilarityLike | int, *, random_state: int | np.random.RandomState | None = None) -> Tree:
    """Merge two random subtrees until one is left; takes a similarity, or just the number of leaves.

    Every history of merges is equally likely (the Yule distribution): depths are about 2·ln n. O(n) time.
    """
    n = similarity if isinstance(similarity, int) else check_similarity(similarity).n
    if n < 1:
        raise ValueError(f"A tree needs at least one leaf; got {n}.")
    rng = check_random_state(random_state)
    alive = np.arange(n)
    children = np.empty((n - 1, 2), dtype=np.int64)
    # draws for step t are uniform below n − t and n − t − 1; a removed entry is overwritten by the last
    left = rng.randint(0, np.arange(n, 1, -1)) if n > 1 else np.empty(0, dtype=np.int64)
    right = rng.randint(0, np.arange(n - 1, 0, -1)) if n > 1 else left
    for t, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        last = n - 1 - t
        children[t, 0] = alive[i]
        alive[i] = alive[last]
        children[t, 1] = alive[j]
        alive[j] = n + t
    return Tree(children)


def _linkage(similarity: SimilarityLike, method: Literal["single", "average", "complete", "ward"]) -> Tree:
    similarity = check_similarity(similarity)
    if similarity.n == 1:
        return Tree(np.empty((0, 2)))
    return Tree.from_linkage(hierarchy.linkage(_condensed_distances(similarity, method), method))


def _condensed_distances(similarity: Similarity, method: str) -> npt.NDArray[np.float64]:
    """1 − w, or w_max − w where similarities exceed 1, in SciPy's condensed form."""
    n = similarity.n
    # the condensed distances, the copy that SciPy works on, and a chunk of rows
    require_memory(
        8 * n * (n - 1), f"{method} linkage of {n} points", "take a sample, or use a method that needs no n x n matrix"
    )
    largest = max(1.0, similarity.maximum()) if (similarity.sizes == 1).all() else similarity.maximum()
    distances = np.empty(n * (n - 1) // 2)
    filled = 0
    for rows, weights in similarity.row_chunks():
        for offset, i in enumerate(range(rows.start, rows.stop)):
            distances[filled : filled + n - 1 - i] = largest - weights[offset, i + 1 :]
            filled += n - 1 - i
    return np.maximum(distances, 0.0, out=distances)
