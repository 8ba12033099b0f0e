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
from .._runtime.duplicate_rows import group_equal_rows
from .._runtime.shard_store import Arrays
from ..fit.new_points import joined_clusters
from ..tree import Tree
from .job import Problem
from .npy_source import Rows
from .sample import NEAR, placed, sample_of

GROWTH = 1.25  # times part_size: what a part may hold after rows have moved


def assign(problem: Problem, number: int) -> Arrays:
    """The cell of each row of a block, the cells near it where there are neighbours, and how many rows each cell got."""
    sample = sample_of(problem)
    raw, _ = problem.block(number)
    rows = placed(raw, sample.columns)
    near, distances = sample.nearest(rows, problem.recipe.n_neighbors) if problem.has_edges else (None, None)
    cell = joined_clusters(sample.tree, sample.cells, sample.beside(rows, near, distances), 1)
    told: Arrays = {"cell": cell.astype(np.int32), "counts": np.bincount(cell, minlength=int(sample.cells.max()) + 1)}
    if near is not None:
        told["near"] = sample.near_cells(rows, NEAR)
    return told


def divide(problem: Problem, _: int = 0) -> Arrays:
    """The part of each cell, −1 of those without rows, and how many rows each part has."""
    piece = problem.store.read("sample", 0, "children", "cells")
    blocks = [piece["counts"] for piece in problem.pieces("assignment", problem.n_blocks, "counts")]
    counts: Ints = np.sum(blocks, axis=0)
    part = parts_of_cells(Tree(np.array(piece["children"])), np.array(piece["cells"]), counts, problem.recipe.part_size)
    return {"of_cell": part, "counts": np.bincount(part[part >= 0], weights=counts[part >= 0]).astype(np.int64)}


def parts_of_cells(tree: Tree, cells: Ints, counts: Ints, part_size: int) -> Ints:
    """The part of each cell: the largest subtrees of at most ``part_size`` rows, numbered from left to right; −1 if empty.

    Examples
    --------
    >>> tree = Tree([[0, 1], [2, 3], [4, 5]])
    >>> parts_of_cells(tree, np.arange(4), np.array([5, 5, 1, 0]), 6)
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


def distribute(problem: Problem, number: int, turn: int) -> Arrays:
    """A block's rows in the order of their parts, where each part begins, and which rows look for neighbours in which parts.

    ``hosts`` are the parts that rows of each part visit, once each; those of a part begin where ``hosted`` says.
    """
    raw, start = problem.block(number)
    rows = placed(raw, sample_of(problem).columns)
    part, near = _at_first(problem, number) if turn == 0 else _moved(problem, number, turn)
    order = np.argsort(part, kind="stable")
    bounds = np.arange(problem.n_parts(turn) + 1)
    found = {"rows": rows[order], "ids": start + order, "starts": np.searchsorted(part[order], bounds)}
    if near is None:
        return found
    near, home = near[order], part[order]
    visitor, visited = visits(home, near)
    pairs = np.unique(np.column_stack([home[visitor], visited]), axis=0)
    hosts = {"hosts": pairs[:, 1], "hosted": np.searchsorted(pairs[:, 0], bounds)}
    return {**found, **hosts, "near": near, "visitor": visitor, "visited": np.searchsorted(visited, bounds)}


def _at_first(problem: Problem, number: int) -> tuple[Ints, Ints | None]:
    """The part of each row of a block, and the parts near it."""
    of_cell = problem.store.one(problem.stage("parts", 0), 0, "of_cell")
    told = problem.store.read("assignment", number)
    return of_cell[told["cell"]], of_cell[told["near"]].astype(np.int32) if problem.has_edges else None


def _moved(problem: Problem, number: int, turn: int) -> tuple[Ints, Ints]:
    """The same after a turn: each row is where most of its neighbours are, and near all parts that have some."""
    last = problem.store.read(problem.stage("shuffle", turn - 1), number, "ids", "starts", "near")
    moves = problem.store.read(problem.stage("parts", turn), 0, "renumbered", "denied")
    renumbered = np.append(moves["renumbered"], -1)
    before = rows_before(problem, turn - 1)[number]
    pieces = []
    for part, (b, e) in enumerate(pairwise(last["starts"].tolist())):
        told = problem.store.read(problem.stage("lists", turn - 1), part, "home", "around") if b < e else None
        own = slice(before[part], before[part] + e - b)
        pieces += [] if told is None else [(_admitted(told["home"][own], part, moves["denied"]), told["around"][own])]
    home, around = (np.concatenate(values) for values in zip(*pieces, strict=True))
    back = np.argsort(last["ids"])
    return renumbered[home][back], renumbered[np.hstack([around, last["near"][:, :NEAR]])][back].astype(np.int32)


def _admitted(home: Ints, part: int, denied: Ints) -> Ints:
    """Where rows of a part are after a turn: they stay if the part that they belong to has no room for them."""
    return np.where(np.isin(home, denied[denied[:, 0] == part, 1]), part, home)


def count_moved(problem: Problem, _: int, turn: int) -> Arrays:
    """How many rows each part has after a turn, and the new numbers of the old parts; −1 for those that all rows left.

    ``denied`` are pairs of parts between which no row may move, since the second has no room.
    """
    n_parts = problem.n_parts(turn - 1)
    flows = []
    for part, piece in enumerate(problem.pieces(problem.stage("lists", turn - 1), n_parts, "home")):
        home, rows = np.unique(piece["home"], return_counts=True)
        flows.append(np.column_stack([np.full(len(home), part), home, rows]))
    moves = np.concatenate(flows)
    before = np.bincount(moves[:, 0], moves[:, 2], minlength=n_parts)
    room = np.maximum(GROWTH * problem.recipe.part_size - before, 0.0)
    is_denied = without_room(moves, room)
    end = np.where(is_denied, moves[:, 0], moves[:, 1])
    counts = np.bincount(end, moves[:, 2], minlength=n_parts).astype(np.int64)
    kept = counts > 0
    told = {"counts": counts[kept], "renumbered": np.where(kept, np.cumsum(kept) - 1, -1)}
    return {**told, "denied": moves[is_denied, :2]}


def without_room(moves: Ints, room: Floats) -> npt.NDArray[np.bool_]:
    """Which moves (from, to, rows) a part has no room for; the largest are admitted first. None is within a part.

    Examples
    --------
    >>> without_room(np.array([[0, 1, 5], [1, 1, 90], [2, 1, 7], [3, 1, 4]]), np.array([0.0, 11.0, 0.0, 0.0]))
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


def visits(home: Ints, near: Ints) -> tuple[Ints, Ints]:
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


def gather(problem: Problem, part: int, turn: int) -> Arrays:
    """The leaves of a part: its distinct rows and how often each is there; its rows, in ascending order, and their leaves."""
    slices = [_slice(problem, number, part, turn) for number in range(problem.n_blocks)]
    rows, ids = (np.concatenate(pieces) for pieces in zip(*slices, strict=True))
    group = group_equal_rows(lambda index: rows[index], len(rows))
    if group is None:
        return {"rows": rows, "ids": ids, "sizes": np.ones(len(rows)), "leaf": np.arange(len(rows))}
    first = np.unique(group, return_index=True)[1]
    return {"rows": rows[first], "ids": ids, "sizes": np.bincount(group).astype(np.float64), "leaf": group}


def _slice(problem: Problem, number: int, part: int, turn: int) -> tuple[Rows, Ints]:
    piece = problem.store.read(problem.stage("shuffle", turn), number, "rows", "ids", "starts")
    own = slice(piece["starts"][part], piece["starts"][part + 1])
    return np.array(piece["rows"][own]), np.array(piece["ids"][own])


def rows_before(problem: Problem, turn: int) -> Ints:
    """How many rows of a part are in the blocks before each, (blocks, parts)."""
    pieces = problem.pieces(problem.stage("shuffle", turn), problem.n_blocks, "starts")
    counts = np.diff(np.stack([piece["starts"] for piece in pieces]), axis=1)
    return np.asarray(np.cumsum(counts, axis=0) - counts)


def sums_of_leaves(rows: Rows, sizes: Floats) -> tuple[Floats, Floats]:
    """Σ x of the points of each leaf, and Σ ‖x‖²."""
    wide = rows.astype(np.float64)
    return wide * sizes[:, None], np.einsum("ij,ij->i", wide, wide) * sizes
