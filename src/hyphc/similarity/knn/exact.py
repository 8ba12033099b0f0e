"""Exact nearest neighbours: candidates by a k-d tree or by brute force, then ranked by distances from differences."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.parallel import thread_map
from ..._runtime.validation import row_chunks
from .row_preparation import Points, row_sums

# A k-d tree takes about n·log n steps up to six dimensions; in more, it searches most of its boxes.
TREE_DIMENSIONS = 6
TREE_LEAVES, TREE_QUERIES = 30, 1_024  # points of a leaf, and queries of a thread at a time


def exact_candidates(points: Points, rows: Ints, k: int, n_jobs: int | None, among: int | None = None) -> Ints:
    """Return the k + 1 nearest points of each row, usually with itself, or the k nearest of the first ``among`` points."""
    wanted = k + 1 if among is None else k
    queries = points if len(rows) == points.shape[0] else points[rows]
    if isinstance(points, np.ndarray) and points.shape[1] <= TREE_DIMENSIONS:
        return _query_tree(points[:among], np.asarray(queries), wanted, n_jobs)
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=wanted, algorithm="brute", n_jobs=n_jobs).fit(points[:among])
    return np.asarray(search.kneighbors(queries, return_distance=False), dtype=np.int64)


def _query_tree(points: Floats, queries: Floats, k: int, n_jobs: int | None) -> Ints:
    """Return the k nearest points of each query, by a k-d tree.

    On our own threads: scikit-learn's sets the filters of warnings aside, which are those of all threads, and several fits may
    run at once.
    """
    from sklearn.neighbors import KDTree

    tree = KDTree(points, leaf_size=TREE_LEAVES)
    chunks = [queries[begin : begin + TREE_QUERIES] for begin in range(0, len(queries), TREE_QUERIES)]
    found = thread_map(lambda chunk: tree.query(chunk, k, return_distance=False), chunks, n_jobs)
    return np.concatenate(found).astype(np.int64)


def rank_candidates(points: Points, rows: Ints, candidates: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k nearest candidates of each row and their distances, without the row itself; inf where there are fewer."""
    distances = np.empty(candidates.shape)
    width = points.shape[1] if isinstance(points, np.ndarray) else 4 * points.nnz / points.shape[0] + 4
    for chunk in row_chunks(len(rows), 8 * width * candidates.shape[1]):
        distances[chunk] = _distances(points, rows[chunk], candidates[chunk])
    # By index, not by position: with duplicates, a point is not always the first of its own neighbours.
    distances[(candidates == rows[:, None]) | (candidates < 0)] = np.inf
    order = np.lexsort((candidates, distances), axis=-1)[:, :k]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _distances(points: Points, rows: Ints, candidates: Ints) -> Floats:
    """Return distances computed from differences: exactly 0 for duplicates."""
    if isinstance(points, np.ndarray):
        difference = points[rows, None, :] - points[candidates]
        return np.asarray(np.sqrt(np.einsum("rcd,rcd->rc", difference, difference)))
    left, right = points[np.repeat(rows, candidates.shape[1])], points[candidates.ravel()]
    return np.asarray(np.sqrt(row_sums((left - right).power(2)))).reshape(candidates.shape)
