"""Rows to cells, cells to parts, and the rows of each part together.

A cell is a small subtree of the sample's tree; each row goes to the cell that it would join at its cheapest place. Parts are the
largest subtrees whose cells hold at most ``part_size`` rows, counted exactly: where the sample misjudged how many rows there
are, parts are finer, and none need be split again. Rows that move to their neighbours' part later do so while it has room.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import equal_rows
from .._runtime.shard_store import Arrays
from ..fit.new_points import joined_clusters
from ..tree import Tree
from .job import Job
from .npy_source import Rows
from .sample import NEAR, load_sample, scale_rows

GROWTH = 1.25  # times part_size: what a part may hold after rows have moved


def assign_cells(job: Job, number: int) -> Arrays:
    """The cell of each row of a block, the cells near it where there are neighbours, and how many rows each cell got."""
    sample = load_sample(job)
    raw, _ = job.block(number)
    rows = scale_rows(raw, sample.columns)
    near, distances = sample.nearest(rows, job.settings.n_neighbors) if job.has_edges else (None, None)
    cell = joined_clusters(sample.tree, sample.cells, sample.beside(rows, near, distances), 1)
    told: Arrays = {"cell": cell.astype(np.int32), "counts": np.bincount(cell, minlength=int(sample.cells.max()) + 1)}
    if near is not None:
        told["near"] = sample.near_cells(rows, NEAR)
    return told


def form_parts(job: Job, _: int = 0) -> Arrays:
    """The part of each cell, −1 of those without rows, and how many rows each part has."""
    shard = job.store.read("sample", 0, "children", "cells")
    blocks = [shard["counts"] for shard in job.shards("assignment", job.n_blocks, "counts")]
    counts: Ints = np.sum(blocks, axis=0)
    part = assign_cells_to_parts(
        Tree(np.array(shard["children"])), np.array(shard["cells"]), counts, job.settings.part_size
    )
    return {"of_cell": part, "counts": np.bincount(part[part >= 0], weights=counts[part >= 0]).astype(np.int64)}


def assign_cells_to_parts(tree: Tree, cells: Ints, counts: Ints, part_size: int) -> Ints:
    """The part of each cell: the largest subtrees of at most ``part_size`` rows, numbered from left to right; −1 if empty.

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


def shuffle_rows(job: Job, number: int, round_number: int) -> Arrays:
    """A block's rows in the order of their parts, where each part begins, and which rows look for neighbours in which parts.

    ``hosts`` are the parts that rows of each part visit, once each; those of a part begin where ``hosted`` says.
    """
    raw, start = job.block(number)
    rows = scale_rows(raw, load_sample(job).columns)
    part, near = _initial_parts(job, number) if round_number == 0 else _parts_after_moves(job, number, round_number)
    order = np.argsort(part, kind="stable")
    bounds = np.arange(job.n_parts(round_number) + 1)
    found = {"rows": rows[order], "ids": start + order, "starts": np.searchsorted(part[order], bounds)}
    if near is None:
        return found
    near, home = near[order], part[order]
    visitor, visited = find_queries(home, near)
    pairs = np.unique(np.column_stack([home[visitor], visited]), axis=0)
    find_target_parts = {"hosts": pairs[:, 1], "hosted": np.searchsorted(pairs[:, 0], bounds)}
    return {**found, **find_target_parts, "near": near, "visitor": visitor, "visited": np.searchsorted(visited, bounds)}


def _initial_parts(job: Job, number: int) -> tuple[Ints, Ints | None]:
    """The part of each row of a block, and the parts near it."""
    of_cell = job.store.one(job.stage("parts", 0), 0, "of_cell")
    told = job.store.read("assignment", number)
    return of_cell[told["cell"]], of_cell[told["near"]].astype(np.int32) if job.has_edges else None


def _parts_after_moves(job: Job, number: int, round_number: int) -> tuple[Ints, Ints]:
    """The same after a turn: each row is where most of its neighbours are, and near all parts that have some."""
    last = job.store.read(job.stage("shuffle", round_number - 1), number, "ids", "starts", "near")
    moves = job.store.read(job.stage("parts", round_number), 0, "renumbered", "denied")
    renumbered = np.append(moves["renumbered"], -1)
    before = count_rows_before(job, round_number - 1)[number]
    shards = []
    for part, (b, e) in enumerate(pairwise(last["starts"].tolist())):
        told = job.store.read(job.stage("lists", round_number - 1), part, "home", "around") if b < e else None
        own = slice(before[part], before[part] + e - b)
        shards += (
            [] if told is None else [(_apply_denials(told["home"][own], part, moves["denied"]), told["around"][own])]
        )
    home, around = (np.concatenate(values) for values in zip(*shards, strict=True))
    back = np.argsort(last["ids"])
    return renumbered[home][back], renumbered[np.hstack([around, last["near"][:, :NEAR]])][back].astype(np.int32)


def _apply_denials(home: Ints, part: int, denied: Ints) -> Ints:
    """Where rows of a part are after a turn: they stay if the part that they belong to has no room for them."""
    return np.where(np.isin(home, denied[denied[:, 0] == part, 1]), part, home)


def count_moves(job: Job, _: int, round_number: int) -> Arrays:
    """How many rows each part has after a turn, and the new numbers of the old parts; −1 for those that all rows left.

    ``denied`` are pairs of parts between which no row may move, since the second has no room.
    """
    n_parts = job.n_parts(round_number - 1)
    flows = []
    for part, shard in enumerate(job.shards(job.stage("lists", round_number - 1), n_parts, "home")):
        home, rows = np.unique(shard["home"], return_counts=True)
        flows.append(np.column_stack([np.full(len(home), part), home, rows]))
    moves = np.concatenate(flows)
    before = np.bincount(moves[:, 0], moves[:, 2], minlength=n_parts)
    room = np.maximum(GROWTH * job.settings.part_size - before, 0.0)
    is_denied = deny_moves(moves, room)
    end = np.where(is_denied, moves[:, 0], moves[:, 1])
    counts = np.bincount(end, moves[:, 2], minlength=n_parts).astype(np.int64)
    kept = counts > 0
    told = {"counts": counts[kept], "renumbered": np.where(kept, np.cumsum(kept) - 1, -1)}
    return {**told, "denied": moves[is_denied, :2]}


def deny_moves(moves: Ints, room: Floats) -> npt.NDArray[np.bool_]:
    """Which moves (from, to, rows) a part has no room for; the largest are admitted first. None is within a part.

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


def find_queries(home: Ints, near: Ints) -> tuple[Ints, Ints]:
    """Pairs of a row and a part that is not its own but near it, each once, in the order of these parts.

    Examples
    --------
    >>> visits(np.array([0, 0, 1]), np.array([[0, 1], [0, 0], [1, 0]]))
    (array([2, 0]), array([0, 1]))
    """
    near = np.sort(near, axis=1)
    fresh = np.column_stack([np.ones(len(near), dtype=bool), near[:, 1:] != near[:, :-1]])
    row, column = np.nonzero(fresh & (near != home[:, None]) & (near >= 0))
    part = near[row, column]
    order = np.argsort(part, kind="stable")
    return row[order], part[order]


def gather_leaves(job: Job, part: int, round_number: int) -> Arrays:
    """The leaves of a part: its distinct rows and how often each is there; its rows, in ascending order, and their leaves."""
    slices = [_read_slice(job, number, part, round_number) for number in range(job.n_blocks)]
    rows, ids = (np.concatenate(shards) for shards in zip(*slices, strict=True))
    group = equal_rows(lambda index: rows[index], len(rows))
    if group is None:
        return {"rows": rows, "ids": ids, "sizes": np.ones(len(rows)), "leaf": np.arange(len(rows))}
    first = np.unique(group, return_index=True)[1]
    return {"rows": rows[first], "ids": ids, "sizes": np.bincount(group).astype(np.float64), "leaf": group}


def _read_slice(job: Job, number: int, part: int, round_number: int) -> tuple[Rows, Ints]:
    shard = job.store.read(job.stage("shuffle", round_number), number, "rows", "ids", "starts")
    own = slice(shard["starts"][part], shard["starts"][part + 1])
    return np.array(shard["rows"][own]), np.array(shard["ids"][own])


def count_rows_before(job: Job, round_number: int) -> Ints:
    """How many rows of a part are in the blocks before each, (blocks, parts)."""
    shards = job.shards(job.stage("shuffle", round_number), job.n_blocks, "starts")
    counts = np.diff(np.stack([shard["starts"] for shard in shards]), axis=1)
    return np.asarray(np.cumsum(counts, axis=0) - counts)


def sum_leaves(rows: Rows, sizes: Floats) -> tuple[Floats, Floats]:
    """Σ x of the points of each leaf, and Σ ‖x‖²."""
    wide = rows.astype(np.float64)
    return wide * sizes[:, None], np.einsum("ij,ij->i", wide, wide) * sizes
