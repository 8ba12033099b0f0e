"""Nearest neighbours of rows with many columns: candidates by leading principal components, ranked by exact distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._kernels.similarity import nearest as kernels
from ..._runtime.arrays import Floats, Ints
from ..._runtime.parallel import single_blas_thread, thread_map
from ..principal_axes import principal_axes
from .ivf_cells import tasks
from .ivf_index import InvertedFile
from .nn_descent import SPARE

# Numbers of components that are tried, each if there are so many times more columns.
N_COMPONENTS, SHARE_OF_COLUMNS = (64, 128), 4
LEAST_COLUMNS = N_COMPONENTS[0] * SHARE_OF_COLUMNS
N_SAMPLED = 5_000  # rows whose directions are taken
# So many times k candidates are ranked. Of the true neighbours of so many rows, they must hold this share.
CANDIDATES, N_TESTED, ENOUGH = 2, 128, 0.995
ROWS_A_TASK = 4_096


class Truth(NamedTuple):
    """Rows of a sample, their true nearest neighbours (sample, k), and the distance of the last of these."""

    rows: Ints
    neighbours: Ints
    reach: Floats


def find_by_components(
    points: npt.NDArray[Any], k: int, seed: int, n_jobs: int | None
) -> tuple[Ints, Floats, float] | None:
    """Return the k nearest other points of each, their distances, and the recall; None where few components do not suffice.

    They suffice if, for a sample of rows, nearly all true neighbours are among the ``CANDIDATES``·k nearest in the space of
    the leading principal components. Nothing depends on the number of threads.
    """
    numbers = [number for number in N_COMPONENTS if number * SHARE_OF_COLUMNS <= points.shape[1]]
    if not numbers:
        return None
    with single_blas_thread():
        reduced = _project(points, principal_axes(points, max(numbers), N_SAMPLED), n_jobs)
        truth = _true_neighbours(points, k, seed, n_jobs)
        chosen = next((number for number in numbers if _share(reduced[:, -number:], truth, n_jobs) >= ENOUGH), None)
    if chosen is None:
        return None
    index = InvertedFile(np.ascontiguousarray(reduced[:, -chosen:]), min(CANDIDATES * k, len(points) - 1), seed, n_jobs)
    neighbours, distances = _rank(points, np.arange(len(points)), index.neighbours()[0], k, n_jobs)
    return neighbours, distances, float((distances[truth.rows] <= truth.reach[:, None]).mean())


def _project(points: npt.NDArray[Any], axes: Floats, n_jobs: int | None) -> npt.NDArray[np.float32]:
    """Return the components of all points, in single precision."""
    centre, axes = points[:N_SAMPLED].mean(axis=0), axes.astype(np.float32)
    reduced = np.empty((len(points), axes.shape[1]), np.float32)

    def fill(rows: range) -> None:
        own = slice(rows.start, rows.stop)
        reduced[own] = (points[own] - centre).astype(np.float32) @ axes

    thread_map(fill, tasks(len(points), ROWS_A_TASK), n_jobs)
    return reduced


def _true_neighbours(points: npt.NDArray[Any], k: int, seed: int, n_jobs: int | None) -> Truth:
    n = len(points)
    rows = np.sort(np.random.default_rng(seed).choice(n, min(N_TESTED, n), replace=False))
    near = _nearest(points, rows, k + 1 + SPARE, n_jobs)
    others = np.argsort(near == rows[:, None], axis=1, kind="stable")[:, :-1]  # all but the row itself
    neighbours, distances = _rank(points, rows, np.take_along_axis(near, others, axis=1), k, n_jobs)
    return Truth(rows, neighbours, distances[:, -1])


def _share(reduced: npt.NDArray[np.float32], truth: Truth, n_jobs: int | None) -> float:
    """Return the share of the true neighbours that are among the nearest candidates in the reduced space."""
    k = truth.neighbours.shape[1]
    found = _nearest(reduced, truth.rows, CANDIDATES * k + 1, n_jobs)
    return float((truth.neighbours[:, :, None] == found[:, None, :]).any(axis=2).mean())


def _nearest(points: npt.NDArray[Any], rows: Ints, count: int, n_jobs: int | None) -> Ints:
    """Return the nearest points of some rows, these included, up to rounding in single precision: (rows, count)."""
    centre = points[rows].mean(axis=0)
    queries = (points[rows] - centre).astype(np.float32)

    def nearest(block: range) -> tuple[Ints, npt.NDArray[np.float32]]:
        own = (points[block.start : block.stop] - centre).astype(np.float32)
        scores = np.einsum("ij,ij->i", own, own) - 2 * (queries @ own.T)
        near = np.argpartition(scores, min(count, len(block)) - 1, axis=1)[:, :count]
        return block.start + near, np.take_along_axis(scores, near, axis=1)

    found = thread_map(nearest, tasks(len(points), ROWS_A_TASK), n_jobs)
    numbers, scores = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    return np.take_along_axis(numbers, np.argsort(scores, axis=1, kind="stable")[:, :count], axis=1)


def _rank(points: npt.NDArray[Any], rows: Ints, candidates: Ints, k: int, n_jobs: int | None) -> tuple[Ints, Floats]:
    """Return the k nearest candidates of each of these rows, and their distances."""
    numbers, distances = np.empty((len(rows), k), np.int64), np.empty((len(rows), k))
    order = np.arange(len(points), dtype=np.int32)

    def rank(block: range) -> None:
        own = slice(block.start, block.stop)
        some = candidates[own].astype(np.int32)
        kernels.rank(points[rows[own]], points, order, some, numbers[own], distances[own])

    thread_map(rank, tasks(len(rows), ROWS_A_TASK), n_jobs)
    return numbers, distances
