"""Partition of points into balanced cells, the coarse quantizer of the inverted file."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._kernels.similarity import ivf_cells as kernels
from ..._runtime.arrays import Floats, Ints
from ..._runtime.parallel import thread_map
from ..._runtime.validation import CHUNK_BYTES

Rows = npt.NDArray[Any]  # float32 or float64
Places = npt.NDArray[np.int32]

CELL_SIZE = 256  # at most, before points move to the nearest centre: halves hold between 128 and 256
FULL = 2 * CELL_SIZE  # no cell takes more points than this
MOVES = 3  # times that points move to the nearest centre, and centres to the mean of their points
NEAR_CELLS = 256  # cells near each
MOVE_WITHIN = 128  # near cells that a point may move to
_SPLIT_TOGETHER = 16  # runs longer than n / 16 are halved one after the other
CELLS_A_TASK = 8


class Cells:
    """Balanced cells of points: an order in which each cell is a contiguous run, run starts, centres, and neighbouring cells."""

    def __init__(self, points: Rows, seed: int, n_jobs: int | None) -> None:
        self.order, self.starts = _halves(points, seed, n_jobs)
        self.centres = np.empty((len(self.starts) - 1, points.shape[1]))
        kernels.means(points, self.order, self.starts, self.centres)
        self.neighbor_cells = _near_cells(self.centres, n_jobs)
        for _ in range(MOVES):
            self._move(points, n_jobs)
            self.neighbor_cells = _near_cells(self.centres, n_jobs)

    def _move(self, points: Rows, n_jobs: int | None) -> None:
        """Move each point to the nearest neighbouring cell that is not full, and each centre to the mean of its points."""
        wanted = self._nearest_cells(points, n_jobs)
        sizes = np.diff(self.starts)
        labels = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        kernels.reassign(labels, wanted, sizes, FULL)
        self.order = self.order[np.argsort(labels, kind="stable")]
        self.starts = np.append(0, np.cumsum(sizes))
        kernels.means(points, self.order, self.starts, self.centres)

    def nearest(self, rows: Rows) -> Ints:
        """Return the cell nearest to each row."""
        return np.asarray(np.argmin(kernels.squared_distances(rows, self.centres), axis=1))

    def _nearest_cells(self, points: Rows, n_jobs: int | None) -> Places:
        """Return the nearest cell of each point in the order, among those that neighbour its own."""
        wanted = np.empty(len(self.order), np.int32)

        def assign(cells: range) -> None:
            for cell in cells:
                own = slice(self.starts[cell], self.starts[cell + 1])
                near = self.neighbor_cells[cell, :MOVE_WITHIN]
                kernels.assign_nearest(points, self.order[own], self.centres, cell, near, wanted[own])

        thread_map(assign, tasks(len(self.centres), CELLS_A_TASK), n_jobs)
        return wanted


def _halves(points: Rows, seed: int, n_jobs: int | None) -> tuple[Places, Ints]:
    """Return an order of the points, bisected recursively into runs of at most ``CELL_SIZE``, and the run starts."""
    n = len(points)
    order, scores = np.arange(n, dtype=np.int32), np.empty(n, np.float32)

    def halve(run: tuple[int, int], smallest: int) -> None:
        own = slice(*run)
        kernels.halve(points, order[own], seed, smallest, scores[own])

    together = max(CELL_SIZE, n // _SPLIT_TOGETHER)
    halve((0, n), together)
    runs = _runs(n, together)
    thread_map(lambda run: halve(run, CELL_SIZE), runs, n_jobs)
    return order, np.array([b + s for b, e in runs for s, _ in _runs(e - b, CELL_SIZE)] + [n])


def _runs(n: int, smallest: int) -> list[tuple[int, int]]:
    """Return the runs that bisection leaves, in order."""
    done, open_runs = [], [(0, n)]
    while open_runs:
        b, e = open_runs.pop()
        if e - b <= smallest:
            done.append((b, e))
        else:
            open_runs += [((b + e) // 2, e), (b, (b + e) // 2)]
    return done


def _near_cells(centres: Floats, n_jobs: int | None) -> Places:
    """Return the ``NEAR_CELLS`` cells whose centres are nearest to each, itself included: (cells, near)."""
    n = len(centres)
    width = min(NEAR_CELLS, n)

    def nearest(rows: Floats) -> Places:
        scores = kernels.squared_distances(rows, centres)
        near = np.argpartition(scores, width - 1, axis=1)[:, :width]
        nearer = np.argsort(np.take_along_axis(scores, near, axis=1), axis=1, kind="stable")
        return np.take_along_axis(near, nearer, axis=1).astype(np.int32)

    return np.concatenate(thread_map(nearest, row_blocks(centres, n), n_jobs))


def row_blocks(rows: Rows, width: int) -> list[Rows]:
    """Return rows in blocks whose products with ``width`` others fit in memory."""
    step = max(1, min(256, CHUNK_BYTES // (16 * width)))
    return [rows[b : b + step] for b in range(0, len(rows), step)]


def tasks(n: int, step: int) -> list[range]:
    """Return the integers below n in ranges of ``step``."""
    return [range(b, min(b + step, n)) for b in range(0, n, step)]
