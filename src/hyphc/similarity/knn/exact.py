"""Exact nearest neighbours: candidates by a k-d tree or by brute force, then ranked by distances from differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.parallel import thread_map
from ..._runtime.validation import row_chunks
from .row_preparation import Points, row_sums

# A k-d tree takes about n·log n steps up to six dimensions; in more, it searches most of its boxes.
TREE_DIMENSIONS = 6
TREE_LEAVES, TREE_QUERIES = 30, 1_024  # points of a leaf, and queries of a thread at a time
# Candidates beyond k, so that of points at the k-th distance those with the smallest indices are taken. Without them rounding
# errors, which differ between machines, would decide.
TIES = 8


class ExactIndex:
    """Points prepared for exact queries: a k-d tree in up to six columns, otherwise brute force."""

    def __init__(self, points: Points, n_jobs: int | None) -> None:
        from sklearn.neighbors import KDTree, NearestNeighbors

        self._points, self._n_jobs = points, n_jobs
        self._has_tree = isinstance(points, np.ndarray) and points.shape[1] <= TREE_DIMENSIONS
        self._search = (
            KDTree(points, leaf_size=TREE_LEAVES)
            if self._has_tree
            else NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(points)
        )

    def candidates(self, queries: Points, k: int) -> Ints:
        """Return the k nearest points of each query, or all if there are fewer, in any order where distances round alike."""
        k = min(k, self._points.shape[0])
        if not self._has_tree:
            return np.asarray(self._search.kneighbors(queries, k, return_distance=False), dtype=np.int64)
        # On our own threads: scikit-learn's sets the filters of warnings aside, which are those of all threads, and several
        # fits may run at once.
        chunks = [queries[begin : begin + TREE_QUERIES] for begin in range(0, queries.shape[0], TREE_QUERIES)]
        found = thread_map(lambda chunk: self._search.query(chunk, k, return_distance=False), chunks, self._n_jobs)
        return np.concatenate(found).astype(np.int64)

    def query(self, queries: Points, k: int) -> tuple[Ints, Floats]:
        """Return the k nearest points of each query, and their distances: both (m, k), nearest first."""
        return _rank(queries, self._points, self.candidates(queries, k + TIES), k)


def exact_candidates(points: Points, rows: Ints, k: int, n_jobs: int | None) -> Ints:
    """Return the nearest points of each of these rows, usually with itself: at least k + 1, and `TIES` more if there are."""
    queries = points if len(rows) == points.shape[0] else points[rows]
    return ExactIndex(points, n_jobs).candidates(queries, k + 1 + TIES)


def rank_candidates(points: Points, rows: Ints, candidates: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k nearest candidates of each row and their distances, without the row itself; inf where there are fewer."""
    # By index, not by position: with duplicates, a point is not always the first of its own neighbours.
    return _rank(points[rows], points, candidates, k, (candidates == rows[:, None]) | (candidates < 0))


def _rank(queries: Points, points: Points, candidates: Ints, k: int, left_out: Any = None) -> tuple[Ints, Floats]:
    """Return the k nearest candidates of each query, by distances computed from differences."""
    distances = np.empty(candidates.shape)
    width = points.shape[1] if isinstance(points, np.ndarray) else 4 * points.nnz / points.shape[0] + 4
    for chunk in row_chunks(len(candidates), 8 * width * candidates.shape[1]):
        distances[chunk] = _distances(queries[chunk], points, candidates[chunk])
    if left_out is not None:
        distances[left_out] = np.inf
    order = np.lexsort((candidates, distances), axis=-1)[:, :k]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _distances(queries: Points, points: Points, candidates: Ints) -> Floats:
    """Return distances computed from differences: exactly 0 for duplicates."""
    if isinstance(points, np.ndarray):
        difference = np.asarray(queries)[:, None, :] - points[candidates]
        return np.asarray(np.sqrt(np.einsum("rcd,rcd->rc", difference, difference)))
    own = np.repeat(np.arange(len(candidates)), candidates.shape[1])
    squares = row_sums((queries[own] - points[candidates.ravel()]).power(2))  # type: ignore[union-attr]
    return np.asarray(np.sqrt(squares)).reshape(candidates.shape)
