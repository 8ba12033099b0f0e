"""Partition of the rows: rows to cells, cells to parts, and the rows of each part gathered.

A cell is a small subtree of the sample's tree; each row is assigned to the cell that it would join at its cheapest position.
Parts are the largest subtrees whose cells hold at most ``part_size`` rows, counted exactly, so that no part is split again. In
later rounds rows move to the part of most of their neighbours while it has room.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import group_equal_rows
from ..fit.new_points import assign_clusters
from ..tree import Tree
from .array_sources import Rows
from .job import Job
from .records import Assignment, Leaves, Neighbors, Partition, SampleTree, ShuffledRows
from .sample import NEARBY, load_sample, scale_rows

GROWTH = 1.25  # times part_size: what a part may hold after rows have moved


def assign_cells(job: Job, number: int) -> Assignment:
    """Return the cell of each row of a block, the number of rows of each cell, and with a graph the cells near each row."""
    sample = load_sample(job)
    raw, _ = job.block(number)
    rows = scale_rows(raw, sample.columns)
    neighbors, distances = sample.find_neighbors(rows, job.settings.n_neighbors) if job.has_edges else (None, None)
    cell = assign_clusters(sample.tree, sample.cells, sample.extend(rows, neighbors, distances), 1)
    return Assignment(
        cell=cell.astype(np.int32),
        counts=np.bincount(cell, minlength=int(sample.cells.max()) + 1),
        nearby_cells=sample.find_nearby_cells(rows, NEARBY) if job.has_edges else None,
    )


def form_parts(job: Job, _: int, round_number: int) -> Partition:
    """Return the number of rows of each part: of the sample's cells in round 0, after moves of rows in later rounds."""
    if round_number:
        return _count_moves(job, round_number)
    sample = job.shard(SampleTree)
    counts: Ints = np.sum([shard.counts for shard in job.shards(Assignment, job.n_blocks)], axis=0)
    tree, cells = Tree(np.array(sample.children)), np.array(sample.cells)
    part = assign_cells_to_parts(tree, cells, counts, job.settings.part_size)
    rows = np.bincount(part[part >= 0], weights=counts[part >= 0]).astype(np.int64)
    return Partition(counts=rows, part_of_cell=part)


def assign_cells_to_parts(tree: Tree, cells: Ints, counts: Ints, part_size: int) -> Ints:
    """Return the part of each cell: the largest subtrees of at most ``part_size`` rows, from left to right; −1 if empty.

    Examples
    --------
    >>> tree = Tree([[0, 1], [2, 3], [4, 5]])
    >>> assign_cells_to_parts(tree, np.arange(4), np.array([5, 5, 1, 0]), 6)
    array([0, 1, 2, 2])
    """
    n = tree.n_leaves
    held, inside = np.zeros(n), np.bincount(cells)
    first = np.unique(cells, return_index=True)[1]
    held[first] = counts
    rows = subtree_sums(np.array(tree.children), held)
    in_one_cell = tree.sizes <= inside[cells[tree.leaf_order()[tree._first]]]
    kept = (rows <= part_size) | in_one_cell
    top = kept & ~np.append(kept[tree.parents[:-1]], False)
    runs = np.flatnonzero(top & (rows > 0))
    runs = runs[np.argsort(tree._first[runs])]
    part = np.full(n, -1)
    order = tree.leaf_order()
    for k, node in enumerate(runs):
        part[order[tree._first[node] : tree._first[node] + tree.sizes[node]]] = k
    return part[first]


def shuffle_rows(job: Job, number: int, round_number: int) -> ShuffledRows:
    """Return a block's rows sorted by part, and which of them search for neighbours in which other parts."""
    raw, start = job.block(number)
    rows = scale_rows(raw, load_sample(job).columns)
    part, nearby = _initial_parts(job, number) if round_number == 0 else _parts_after_moves(job, number, round_number)
    order = np.argsort(part, kind="stable")
    bounds = np.arange(job.n_parts(round_number) + 1)
    own = part[order]
    shuffled = ShuffledRows(rows=rows[order], ids=start + order, starts=np.searchsorted(own, bounds))
    if nearby is not None:
        nearby = nearby[order]
        queries, searched = find_queries(own, nearby)
        pairs = np.unique(np.column_stack([own[queries], searched]), axis=0)
        shuffled.nearby_parts, shuffled.queries = nearby, queries
        shuffled.query_starts = np.searchsorted(searched, bounds)
        shuffled.targets, shuffled.target_starts = pairs[:, 1], np.searchsorted(pairs[:, 0], bounds)
    return shuffled


def _initial_parts(job: Job, number: int) -> tuple[Ints, Ints | None]:
    """Return the part of each row of a block, and with a graph the parts near it."""
    part_of_cell, assignment = job.shard(Partition, 0, 0).part_of_cell, job.shard(Assignment, number)
    nearby = part_of_cell[assignment.nearby_cells].astype(np.int32) if job.has_edges else None
    return part_of_cell[assignment.cell], nearby


def _parts_after_moves(job: Job, number: int, round_number: int) -> tuple[Ints, Ints]:
    """Return the part of each row of a block, that of most of its neighbours, and all parts that have some."""
    last, moves = job.shard(ShuffledRows, number, round_number - 1), job.shard(Partition, 0, round_number)
    new_number = np.append(moves.new_number, -1)
    before = count_rows_before(job, round_number - 1)[number]
    parts, nearby = [], []
    for part, (b, e) in enumerate(pairwise(last.starts.tolist())):
        if b < e:
            lists, own = job.shard(Neighbors, part, round_number - 1), slice(before[part], before[part] + e - b)
            parts.append(_apply_denials(lists.best_part[own], part, moves.denied))
            nearby.append(lists.row_neighbor_parts[own])
    back = np.argsort(last.ids)
    every = np.hstack([np.concatenate(nearby), last.nearby_parts[:, :NEARBY]])
    return new_number[np.concatenate(parts)][back], new_number[every][back].astype(np.int32)


def _apply_denials(best_part: Ints, part: int, denied: Ints) -> Ints:
    """Return the parts of the rows of a part after a round: a row stays if its best part has no room."""
    return np.where(np.isin(best_part, denied[denied[:, 0] == part, 1]), part, best_part)


def _count_moves(job: Job, round_number: int) -> Partition:
    """Return the number of rows of each part after moves, the new numbers of parts, and the moves denied for lack of room."""
    n_parts = job.n_parts(round_number - 1)
    flows = []
    for part, shard in enumerate(job.shards(Neighbors, n_parts, round_number - 1)):
        best_part, rows = np.unique(shard.best_part, return_counts=True)
        flows.append(np.column_stack([np.full(len(best_part), part), best_part, rows]))
    moves = np.concatenate(flows)
    before = np.bincount(moves[:, 0], moves[:, 2], minlength=n_parts)
    room = np.maximum(GROWTH * job.settings.part_size - before, 0.0)
    is_denied = deny_moves(moves, room)
    end = np.where(is_denied, moves[:, 0], moves[:, 1])
    counts = np.bincount(end, moves[:, 2], minlength=n_parts).astype(np.int64)
    kept = counts > 0
    return Partition(
        counts=counts[kept], new_number=np.where(kept, np.cumsum(kept) - 1, -1), denied=moves[is_denied, :2]
    )


def deny_moves(moves: Ints, room: Floats) -> npt.NDArray[np.bool_]:
    """Return which moves (from, to, rows) lack room; the largest are admitted first, those within a part always.

    Examples
    --------
    >>> deny_moves(np.array([[0, 1, 5], [1, 1, 90], [2, 1, 7], [3, 1, 4]]), np.array([0.0, 11.0, 0.0, 0.0]))
    array([ True, False, False, False])
    """
    leaves = moves[:, 0] != moves[:, 1]
    order = np.lexsort((moves[:, 0], -moves[:, 2], moves[:, 1]))
    rows, to = np.where(leaves, moves[:, 2], 0)[order], moves[order, 1]
    denied, left = np.zeros(len(moves), dtype=bool), room.copy()
    for move, part, count in zip(order.tolist(), to.tolist(), rows.tolist(), strict=True):
        denied[move] = count > left[part]
        left[part] -= 0 if denied[move] else count
    return denied


def find_queries(own: Ints, nearby: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs of a row and another part near it, sorted by that part.

    Examples
    --------
    >>> find_queries(np.array([0, 0, 1]), np.array([[0, 1], [0, 0], [1, 0]]))
    (array([2, 0]), array([0, 1]))
    """
    nearby = np.sort(nearby, axis=1)
    is_new = np.column_stack([np.ones(len(nearby), dtype=bool), nearby[:, 1:] != nearby[:, :-1]])
    row, column = np.nonzero(is_new & (nearby != own[:, None]) & (nearby >= 0))
    part = nearby[row, column]
    order = np.argsort(part, kind="stable")
    return row[order], part[order]


def gather_leaves(job: Job, part: int, round_number: int) -> Leaves:
    """Return the rows of a part in ascending order, its distinct rows, and how often each occurs."""
    slices = [_read_slice(job, number, part, round_number) for number in range(job.n_blocks)]
    rows, ids = (np.concatenate(arrays) for arrays in zip(*slices, strict=True))
    group = group_equal_rows(lambda index: rows[index], len(rows))
    if group is None:
        return Leaves(rows=rows, ids=ids, sizes=np.ones(len(rows)), leaf=np.arange(len(rows)))
    first = np.unique(group, return_index=True)[1]
    return Leaves(rows=rows[first], ids=ids, sizes=np.bincount(group).astype(np.float64), leaf=group)


def _read_slice(job: Job, number: int, part: int, round_number: int) -> tuple[Rows, Ints]:
    """Return the rows of a part in a block, and their numbers."""
    shard = job.shard(ShuffledRows, number, round_number)
    own = slice(shard.starts[part], shard.starts[part + 1])
    return np.array(shard.rows[own]), np.array(shard.ids[own])


def count_rows_before(job: Job, round_number: int) -> Ints:
    """Return the number of rows of each part in the blocks before each block: (blocks, parts)."""
    starts = [shard.starts for shard in job.shards(ShuffledRows, job.n_blocks, round_number)]
    counts = np.diff(np.stack(starts), axis=1)
    return np.asarray(np.cumsum(counts, axis=0) - counts)


def sum_leaves(rows: Rows, sizes: Floats) -> tuple[Floats, Floats]:
    """Return Σ x and Σ ‖x‖² over the points of each leaf: (m, d) and (m,)."""
    wide = rows.astype(np.float64)
    return wide * sizes[:, None], np.einsum("ij,ij->i", wide, wide) * sizes
