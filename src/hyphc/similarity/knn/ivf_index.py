"""Inverted-file (IVF) index for approximate nearest neighbours: a search of the cells nearest to each point, then NN-descent."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._kernels.similarity import ivf_cells as cell_kernels
from ..._kernels.similarity import nearest as nearest_kernels
from ..._runtime.arrays import Floats, Ints
from ..._runtime.parallel import thread_map
from .ivf_cells import CELLS_A_TASK, Cells, Places, Rows, row_blocks, tasks
from .nn_descent import LISTS_A_TASK, Lists, Singles, empty_lists, nn_descent_step

LOOK_AT = 16  # candidate cells for each cell probed
SAMPLE = 500  # rows with exact neighbours, for calibrating the number of probes and estimating recall
# Recall on the sample that the probed cells must reach, or all neighbouring cells are probed. The first is for the points of the
# index, whose lists NN-descent improves; the second for new rows.
SHARE_FIRST, SHARE_ALONE = 0.95, 0.96
# Up to so many probes are cheap and go for nearly full recall: a point without any true neighbour has only wrong edges, which
# may cross the whole tree.
FEW_FIRST, FEW_ALONE, ALMOST_ALL = 8, 16, 0.9999
# NN-descent passes stop at this recall on the sample, and after so many passes.
FOUND, ROUNDS = 0.99, 2
LOST = 64  # one point in so many, those furthest from their cell's centre or neighbours, compares all cells
_QUERIES_A_TASK = 128


class InvertedFile:
    """Inverted file (IVF) over points sorted by cell, searched for neighbours of its own points or of new ones.

    Everything follows from points and seed: no block depends on the number of threads, and products are summed in one order,
    so that the neighbours found are the same for any ``n_jobs``.

    Parameters
    ----------
    points : array (n, d), float32 or float64
        Of a size whose squares neither overflow nor vanish in single precision.
    k : int
        Neighbours that a search returns.
    seed : int
    n_jobs : int, optional

    Attributes
    ----------
    n_probes : int
        Cells searched for each point: as many as hold ``SHARE_FIRST`` of the true neighbours of a sample, and more while few.
    n_probes_alone : int
        The same for each new row, with ``SHARE_ALONE``.

    Notes
    -----
    O(n·d·log n) for the cells, O((n / 128)²·d) for which are near each other, O(n·d·points searched) for the neighbours and
    O(n·d·k²) a round for theirs; memory O(n·(d + k)).
    """

    def __init__(self, points: Rows, k: int, seed: int, n_jobs: int | None) -> None:
        self.k, self._n_jobs = k, n_jobs
        self._cells = Cells(points, seed, n_jobs)
        self._order, self._starts = self._cells.order, self._cells.starts
        self._centres, self._neighbor_cells = self._cells.centres, self._cells.neighbor_cells
        self._points = points[self._order]
        self._wide = points.shape[1] + -points.shape[1] % 4
        sizes = np.diff(self._starts)
        self._lanes = np.append(0, np.cumsum(sizes + -sizes % cell_kernels.LANES))
        self._panels = np.empty(self._lanes[-1] * self._wide, np.float32)
        self._squares = np.empty(self._lanes[-1], np.float32)
        thread_map(self._fill_panels, tasks(len(self._centres), CELLS_A_TASK), n_jobs)
        self._calibrate(seed)

    def neighbours(self) -> tuple[Ints, Floats]:
        """Return the k nearest other points of each point, and their distances: both (n, k), nearest first."""
        lists = self._around_own_cells()
        self._find_lost(*lists)
        for _ in range(ROUNDS):
            lists = nn_descent_step(self._points, lists, len(self._points), self._n_jobs)
            if self._share(lists[0]) >= FOUND:
                break
        numbers, distances = self._rank(self._points, lists[0])
        back = np.argsort(self._order)
        return numbers[back], distances[back]

    def _around_own_cells(self) -> Lists:
        """Search the cells around each point's own; points that find too few neighbours search all cells."""
        lists = empty_lists(len(self._points), self.k)

        def fill(cells: range) -> None:
            bounds = self._starts[cells.start : cells.stop + 1]
            own = np.arange(bounds[0], bounds[-1], dtype=np.int32)
            groups = [slice(b, e) for b, e in pairwise(bounds - bounds[0])]
            run = slice(bounds[0], bounds[-1])
            lists[0][run], lists[1][run] = self._around(list(cells), groups, self._points[run], own, self.n_probes)

        thread_map(fill, tasks(len(self._centres), CELLS_A_TASK), self._n_jobs)
        short = np.flatnonzero(lists[0][:, self.k - 1] < 0).astype(np.int32)  # so few points in the cells searched
        if len(short):
            lists[0][short], lists[1][short] = self._everywhere(short)
        return lists

    def _find_lost(self, places: Places, far: Singles) -> None:
        """Search again, around the nearest of all cells, for points whose own cell is far from them.

        These are far from the centre of their cell, or from neighbours that have nearer ones. Their first neighbours may be true:
        a small cluster can be assigned to the wrong cell together.
        """
        n, last, n_lost = len(places), self.k - 1, len(places) // LOST
        sizes = np.diff(self._starts)
        outlying = self._squares[np.arange(n) + np.repeat(self._lanes[:-1] - self._starts[:-1], sizes)]
        beside = far[:, last].astype(np.float64) / np.maximum(far[places[:, last], last], np.finfo(np.float32).tiny)
        lost = np.union1d(*(np.argpartition(-apart, n_lost)[:n_lost] for apart in (outlying, beside))).astype(np.int32)
        again = self._around_nearest(self._points[lost], lost, self.n_probes_alone)
        nearer = again[1][:, last] < far[lost, last]
        places[lost[nearer]], far[lost[nearer]] = again[0][nearer], again[1][nearer]

    def query(self, new: Rows) -> tuple[Ints, Floats]:
        """Return the k points nearest to each new row, and their distances: both (m, k), nearest first."""
        new = np.ascontiguousarray(new, dtype=self._points.dtype)
        places, _ = self._around_nearest(new, np.full(len(new), -1, np.int32), self.n_probes_alone)
        return self._rank(new, places)

    def recall(self, distances: Floats) -> float:
        """Return the recall on the sample: compared by distance, since points at equal distance may be swapped."""
        return float((distances[self._order[self._sample]] <= self._reach[:, None]).mean())

    def _share(self, places: Places) -> float:
        """Return ``recall`` of lists of positions."""
        distances = self._rank(self._points[self._sample], places[self._sample])[1]
        return float((distances <= self._reach[:, None]).mean())

    def _fill_panels(self, cells: range) -> None:
        for cell in cells:
            b, e = self._lanes[cell], self._lanes[cell + 1]
            panel = self._panels[b * self._wide : e * self._wide].reshape(self._wide, e - b)
            own = self._points[self._starts[cell] : self._starts[cell + 1]]
            nearest_kernels.fill_panel(own, self._centres[cell], panel, self._squares[b:e])

    def _calibrate(self, seed: int) -> None:
        n, width = len(self._points), self._neighbor_cells.shape[1]
        sample = np.random.default_rng(seed).choice(n, min(SAMPLE, n), replace=False)
        self._sample = np.sort(sample).astype(np.int32)
        places, _ = self._everywhere(self._sample)
        self._reach = self._rank(self._points[self._sample], places)[1][:, -1]
        homes = self._find_cell(places[:, : self.k])
        ranks = np.concatenate([self._ranks(i, cells) for i, cells in zip(self._sample, homes, strict=True)])
        found = np.cumsum(np.bincount(ranks, minlength=width + 1)[:width]) / len(ranks)
        first, alone, all_but_few = (np.searchsorted(found, (SHARE_FIRST, SHARE_ALONE, ALMOST_ALL)) + 1).tolist()
        self.n_probes = min(max(first, min(all_but_few, FEW_FIRST)), width)
        self.n_probes_alone = min(max(alone, min(all_but_few, FEW_ALONE)), width)

    def _find_cell(self, places: npt.NDArray[Any]) -> Ints:
        return np.searchsorted(self._starts, places, side="right") - 1

    def _ranks(self, place: int, cells: Ints) -> Ints:
        """Return how many neighbouring cells are nearer to a point than each of ``cells``; all of them where it is not a
        neighbour."""
        own = int(self._find_cell(np.array(place)))
        near = self._neighbor_cells[own]
        scores = cell_kernels.nearness(
            self._points, np.array([place], np.int32), self._centres[own], near, self._centres
        )[0]
        rank = np.full(len(self._centres), len(near))
        rank[near[np.argsort(scores, kind="stable")]] = np.arange(len(near))
        return rank[cells]

    def _around(self, cells: list[int], groups: list[slice], queries: Rows, selves: Places, n_probes: int) -> Lists:
        """Return the nearest points of queries that are grouped by cell.

        Consecutive cells are close in space, so one read of a cell serves the queries of several.
        """
        near = self._neighbor_cells[cells, : LOOK_AT * n_probes]
        union, place = np.unique(near, return_inverse=True)
        rank = np.full(len(union), near.shape[1])
        np.minimum.at(rank, place.ravel(), np.tile(np.arange(near.shape[1]), len(cells)))
        order = np.argsort(rank, kind="stable")  # nearest first: later ones then have little to add to the lists
        column = np.empty(len(union), np.int64)
        column[order] = np.arange(len(union))
        probed = np.zeros((len(union), len(queries)), np.bool_)
        for cell, group, own, around in zip(cells, groups, column[place.reshape(near.shape)], near, strict=True):
            probed[own, group] = nearest_kernels.choose_probes(queries[group], cell, around, self._centres, n_probes)
        return self._search(queries, selves, union[order], probed)

    def _around_nearest(self, queries: Rows, selves: Places, n_probes: int) -> Lists:
        """Return the nearest points of queries anywhere in space."""
        lists = empty_lists(len(queries), self.k)
        blocks = row_blocks(queries, len(self._centres))
        cell_of = np.concatenate([np.empty(0, np.int64), *thread_map(self._cells.nearest, blocks, self._n_jobs)])
        cells, counts = np.unique(cell_of, return_counts=True)
        groups = np.split(np.argsort(cell_of, kind="stable"), np.cumsum(counts)[:-1])

        def fill(group: tuple[int, Ints]) -> None:
            cell, rows = group
            lists[0][rows], lists[1][rows] = self._around([cell], [slice(None)], queries[rows], selves[rows], n_probes)

        thread_map(fill, zip(cells.tolist(), groups, strict=True) if len(cells) else [], self._n_jobs)
        return lists

    def _everywhere(self, places: Places) -> Lists:
        """Return the nearest other points of the points at these positions, by a search of all cells."""
        every = np.arange(len(self._centres), dtype=np.int32)

        def search(rows: range) -> Lists:
            some = places[rows.start : rows.stop]
            probed = np.ones((len(every), len(some)), np.bool_)
            return self._search(self._points[some], some, every, probed)

        parts = thread_map(search, tasks(len(places), _QUERIES_A_TASK), self._n_jobs)
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _search(self, queries: Rows, selves: Places, cells: Places, probed: npt.NDArray[np.bool_]) -> Lists:
        """Return the nearest points of each query in the cells that it probes."""
        lists = empty_lists(len(queries), self.k)
        blocks = self._starts, self._lanes, self._centres, self._panels, self._squares
        nearest_kernels.search_cells(queries, selves, cells, probed, *blocks, *lists)
        return lists

    def _rank(self, queries: Rows, places: Places) -> tuple[Ints, Floats]:
        """Return the numbers of the k nearest points, and their distances recomputed from differences."""
        numbers, distances = np.empty((len(queries), self.k), np.int64), np.empty((len(queries), self.k))

        def rank(block: range) -> None:
            own = slice(block.start, block.stop)
            target = numbers[own], distances[own]
            nearest_kernels.rank(queries[own], self._points, self._order, places[own], *target)

        thread_map(rank, tasks(len(queries), LISTS_A_TASK), self._n_jobs)
        return numbers, distances
