"""Trees to compare with and to start from: linkages, bisecting k-means, random; each a function of a similarity."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy
from sklearn.utils import check_random_state

from ._bisect_similarity import OBJECTIVES, Objective, bisection_merges
from ._checks import require_memory
from .agglomerate import graph_agglomeration
from .similarity import Graph, Similarity, SimilarityLike, check_similarity
from .tree import Tree

__all__ = [
    "average_linkage",
    "bisecting_kmeans",
    "complete_linkage",
    "graph_agglomeration",
    "random_tree",
    "single_linkage",
    "ward_linkage",
]


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
        objective = "cut" if isinstance(similarity, Graph) else "means"
    if objective not in OBJECTIVES:
        raise ValueError(f"objective={objective!r} is unknown; choose one of {', '.join(map(repr, OBJECTIVES))}.")
    return Tree(bisection_merges(similarity, objective, n_jobs))


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
