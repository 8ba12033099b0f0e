"""Approximate nearest neighbours of many points: cells of near points, a search of the few cells nearest to each, and then of the
neighbours' neighbours."""

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
from .nn_descent import LISTS_A_TASK, Lists, Singles, empty_lists, nearer_lists

LOOK_AT = 16  # times as many near cells are looked at as are searched
SAMPLE = 500  # rows whose true neighbours say how many cells must be searched, and what was found
# Of a sample's true neighbours so many must lie in the cells searched, or all near cells are. The points themselves then ask each
# other, which finds most of the rest; a new row cannot.
SHARE_FIRST, SHARE_ALONE = 0.95, 0.96
# Few cells take little time: up to so many are searched for nearly all neighbours. Of a point without any true neighbour every
# edge is a wrong one, and may cross the whole tree.
FEW_FIRST, FEW_ALONE, ALMOST_ALL = 8, 16, 0.9999
# Points ask each other until so many of the sample's true neighbours are found, so many times at most.
FOUND, ROUNDS = 0.99, 2
LOST = 64  # one of so many points, those that seem furthest from where they belong, looks at all cells
_QUERIES_A_TASK = 128


class InvertedFile:
    """Points in the order of their cells, searched for neighbours of their own or of new points.

    Everything follows from points and seed: no block depends on the number of threads, and products are summed in one order,
    so that the neighbours found are the same for any ``n_jobs``.

    Parameters
    ----------
    points : array (n, d), float32 or float64
        Of a size whose squares neither overflow nor vanish in single precision.
    k : int
        Neighbours that a search will ask for.
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
        self._centres, self._near = self._cells.centres, self._cells.near
        self._points = points[self._order]
        self._wide = points.shape[1] + -points.shape[1] % 4
        sizes = np.diff(self._starts)
        self._lanes = np.append(0, np.cumsum(sizes + -sizes % cell_kernels.LANES))
        self._panels = np.empty(self._lanes[-1] * self._wide, np.float32)
        self._squares = np.empty(self._lanes[-1], np.float32)
        thread_map(self._fill_panels, tasks(len(self._centres), CELLS_A_TASK), n_jobs)
        self._calibrate(seed)

    def neighbours(self) -> tuple[Ints, Floats]:
        """The k nearest others of each point, and their distances: both (n, k), nearest first."""
        lists = self._around_own_cells()
        self._find_lost(*lists)
        for _ in range(ROUNDS):
            lists = nearer_lists(self._points, lists, len(self._points), self._n_jobs)
            if self._share(lists[0]) >= FOUND:
                break
        numbers, distances = self._ranked(self._points, lists[0])
        back = np.argsort(self._order)
        return numbers[back], distances[back]

    def _around_own_cells(self) -> Lists:
        """The nearest in the cells near a point's own; of points that find too few there, in all."""
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
        """Points in a cell that is nowhere near to them seek again, around the nearest of all cells.

        They are far from the centre of their cell, or from those they take for neighbours, which have nearer ones. Their first
        neighbours may be true: a few points that lie together are lost together.
        """
        n, last, n_lost = len(places), self.k - 1, len(places) // LOST
        sizes = np.diff(self._starts)
        outlying = self._squares[np.arange(n) + np.repeat(self._lanes[:-1] - self._starts[:-1], sizes)]
        beside = far[:, last].astype(np.float64) / np.maximum(far[places[:, last], last], np.finfo(np.float32).tiny)
        lost = np.union1d(*(np.argpartition(-apart, n_lost)[:n_lost] for apart in (outlying, beside))).astype(np.int32)
        again = self._around_nearest(self._points[lost], lost, self.n_probes_alone)
        nearer = again[1][:, last] < far[lost, last]
        places[lost[nearer]], far[lost[nearer]] = again[0][nearer], again[1][nearer]

    def closest(self, new: Rows) -> tuple[Ints, Floats]:
        """The k points nearest to each new row, and their distances: both (m, k), nearest first."""
        new = np.ascontiguousarray(new, dtype=self._points.dtype)
        places, _ = self._around_nearest(new, np.full(len(new), -1, np.int32), self.n_probes_alone)
        return self._ranked(new, places)

    def recall(self, distances: Floats) -> float:
        """The share of the sample's true neighbours that are among those found: by distance, since equals may be swapped."""
        return float((distances[self._order[self._sample]] <= self._reach[:, None]).mean())

    def _share(self, places: Places) -> float:
        """``recall`` of lists of places."""
        distances = self._ranked(self._points[self._sample], places[self._sample])[1]
        return float((distances <= self._reach[:, None]).mean())

    def _fill_panels(self, cells: range) -> None:
        for cell in cells:
            b, e = self._lanes[cell], self._lanes[cell + 1]
            panel = self._panels[b * self._wide : e * self._wide].reshape(self._wide, e - b)
            own = self._points[self._starts[cell] : self._starts[cell + 1]]
            nearest_kernels.fill_panel(own, self._centres[cell], panel, self._squares[b:e])

    def _calibrate(self, seed: int) -> None:
        n, width = len(self._points), self._near.shape[1]
        sample = np.random.default_rng(seed).choice(n, min(SAMPLE, n), replace=False)
        self._sample = np.sort(sample).astype(np.int32)
        places, _ = self._everywhere(self._sample)
        self._reach = self._ranked(self._points[self._sample], places)[1][:, -1]
        homes = self._cell_of(places[:, : self.k])
        ranks = np.concatenate([self._ranks(i, cells) for i, cells in zip(self._sample, homes, strict=True)])
        found = np.cumsum(np.bincount(ranks, minlength=width + 1)[:width]) / len(ranks)
        first, alone, all_but_few = (np.searchsorted(found, (SHARE_FIRST, SHARE_ALONE, ALMOST_ALL)) + 1).tolist()
        self.n_probes = min(max(first, min(all_but_few, FEW_FIRST)), width)
        self.n_probes_alone = min(max(alone, min(all_but_few, FEW_ALONE)), width)

    def _cell_of(self, places: npt.NDArray[Any]) -> Ints:
        return np.searchsorted(self._starts, places, side="right") - 1

    def _ranks(self, place: int, cells: Ints) -> Ints:
        """How many of the near cells are nearer to a point than each of ``cells``; all of them where it is not near."""
        own = int(self._cell_of(np.array(place)))
        near = self._near[own]
        scores = cell_kernels.nearness(
            self._points, np.array([place], np.int32), self._centres[own], near, self._centres
        )[0]
        rank = np.full(len(self._centres), len(near))
        rank[near[np.argsort(scores, kind="stable")]] = np.arange(len(near))
        return rank[cells]

    def _around(self, cells: list[int], groups: list[slice], queries: Rows, selves: Places, n_probes: int) -> Lists:
        """The nearest of the queries, of which each group belongs to a cell.

        Cells one after another lie close together: one read of a cell that is near to several serves the queries of all.
        """
        near = self._near[cells, : LOOK_AT * n_probes]
        union, place = np.unique(near, return_inverse=True)
        rank = np.full(len(union), near.shape[1])
        np.minimum.at(rank, place.ravel(), np.tile(np.arange(near.shape[1]), len(cells)))
        order = np.argsort(rank, kind="stable")  # nearest first: later ones then have little to add to the lists
        column = np.empty(len(union), np.int64)
        column[order] = np.arange(len(union))
        probed = np.zeros((len(union), len(queries)), np.bool_)
        for cell, group, own, around in zip(cells, groups, column[place.reshape(near.shape)], near, strict=True):
            probed[own, group] = nearest_kernels.choose_probes(queries[group], cell, around, self._centres, n_probes)
        return self._searched(queries, selves, union[order], probed)

    def _around_nearest(self, queries: Rows, selves: Places, n_probes: int) -> Lists:
        """The nearest of queries that may lie anywhere."""
        lists = empty_lists(len(queries), self.k)
        blocks = row_blocks(queries, len(self._centres))
        cell_of = np.concatenate([np.empty(0, np.int64), *thread_map(self._cells.nearest, blocks, self._n_jobs)])
        groups = np.split(np.argsort(cell_of, kind="stable"), np.cumsum(np.bincount(cell_of))[:-1])

        def fill(cell: int) -> None:
            rows = groups[cell]
            if len(rows):
                found = self._around([cell], [slice(None)], queries[rows], selves[rows], n_probes)
                lists[0][rows], lists[1][rows] = found

        thread_map(fill, range(len(groups)), self._n_jobs)
        return lists

    def _everywhere(self, places: Places) -> Lists:
        """The nearest others of the points at these places in all cells."""
        every = np.arange(len(self._centres), dtype=np.int32)

        def search(rows: range) -> Lists:
            some = places[rows.start : rows.stop]
            probed = np.ones((len(every), len(some)), np.bool_)
            return self._searched(self._points[some], some, every, probed)

        parts = thread_map(search, tasks(len(places), _QUERIES_A_TASK), self._n_jobs)
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _searched(self, queries: Rows, selves: Places, cells: Places, probed: npt.NDArray[np.bool_]) -> Lists:
        """The nearest of the queries in the cells that each probes."""
        lists = empty_lists(len(queries), self.k)
        blocks = self._starts, self._lanes, self._centres, self._panels, self._squares
        nearest_kernels.search_cells(queries, selves, cells, probed, *blocks, *lists)
        return lists

    def _ranked(self, queries: Rows, places: Places) -> tuple[Ints, Floats]:
        """The numbers of the k nearest, and their distances, computed anew."""
        numbers, distances = np.empty((len(queries), self.k), np.int64), np.empty((len(queries), self.k))

        def rank(block: range) -> None:
            own = slice(block.start, block.stop)
            told = numbers[own], distances[own]
            nearest_kernels.rank(queries[own], self._points, self._order, places[own], *told)

        thread_map(rank, tasks(len(queries), LISTS_A_TASK), self._n_jobs)
        return numbers, distances
