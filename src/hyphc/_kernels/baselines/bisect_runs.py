"""Runs of leaves split in two, again and again: a start, then the local search of ``bisect_moves``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records
from ..._runtime.jit import kernel, part
from .bisect import RUN, _partition, split_run
from .bisect_moves import Edges, features_moves, graph_moves, matrix_moves

Sides = npt.NDArray[np.uint8]

_TURN = 2.399963229728653  # radians, the golden angle: start vectors that lean to no point
_MATRIX_STEPS = 5  # power steps towards the first principal direction
_GRAPH_STEPS = 200  # a sparse graph's leading eigenvalues lie close together


@kernel
def features_split(
    P: npt.NDArray[Any], sizes: Floats, order: Ints, offset: float, scale: float, objective: int, scores: Floats
) -> int:
    """Order a run of points so that the two sides come one after the other; the length of the first."""
    m = order.shape[0]
    if m == 2:
        return 1
    middle = split_run(P, sizes, order, scores)
    side = np.zeros(m, dtype=np.uint8)
    for i in range(middle, m):
        side[i] = 1
    if features_moves(P, sizes, offset, scale, side, objective) > 0:
        for i in range(m):
            scores[i] = 1.0 - side[i]
        middle = _partition(P, sizes, order, scores)
    return middle


@part
def _sides_of(v: Floats) -> Sides:
    """The sign of each entry as a side; alternating where all have one sign."""
    m = v.shape[0]
    side, n_first = np.ones(m, dtype=np.uint8), 0
    for i in range(m):
        if v[i] > 0.0:
            side[i] = 0
            n_first += 1
    if n_first in (0, m):
        for i in range(m):
            side[i] = i % 2
    return side


@part
def _normalise(v: Floats) -> bool:
    """Scale v to length 1; False if it vanishes."""
    length = np.sqrt((v * v).sum())
    if length <= 1e-150:
        return False
    v /= length
    return True


@part
def _matrix_start(W: npt.NDArray[Any], run: Ints) -> Sides:
    """Signs along the first principal direction, similarities read as inner products."""
    m = run.shape[0]
    v, product = np.cos(_TURN * np.arange(m)), np.empty(m)
    for _ in range(_MATRIX_STEPS):
        v -= v.mean()
        if not _normalise(v):
            break
        largest = 0.0
        for i in range(m):
            row, total = W[run[i]], 0.0
            for j in range(m):
                if j != i:
                    total += row[run[j]] * v[j]
                    largest = max(largest, float(row[run[j]]))
            product[i] = total
        # the diagonal as if a point were most similar to itself: otherwise negative eigenvalues may lead
        for i in range(m):
            v[i] = product[i] + largest * v[i]
    return _sides_of(v - v.mean())


@part
def _graph_start(edges: Edges, run: Ints, position: Ints) -> tuple[Sides, bool]:
    """Sides of a run, and whether no edge crosses: whole components if there are several, else signs of an eigenvector.

    It is the second one of D^−½ W D^−½, by power steps.
    """
    indptr, indices, weights = edges
    m, begin = run.shape[0], position[run[0]]
    side, reached = _first_components(indptr, indices, run, position)
    if reached < m:
        return side, True
    root, v, following = np.zeros(m), np.cos(_TURN * np.arange(m)), np.empty(m)
    for i in range(m):
        for e in range(indptr[run[i]], indptr[run[i] + 1]):
            if 0 <= position[indices[e]] - begin < m:
                root[i] += weights[e]
        root[i] = np.sqrt(root[i])
    trivial = root.copy()
    _normalise(trivial)
    for _ in range(_GRAPH_STEPS):
        v -= (v * trivial).sum() * trivial
        if not _normalise(v):
            break
        for i in range(m):
            total = 0.0
            for e in range(indptr[run[i]], indptr[run[i] + 1]):
                j = position[indices[e]] - begin
                if 0 <= j < m:
                    total += weights[e] * v[j] / root[j]
            following[i] = v[i] + total / root[i]  # the identity added: no negative eigenvalue leads
        v, following = following, v
    return _sides_of(v - (v * trivial).sum() * trivial), False


@part
def _first_components(indptr: Ints, indices: npt.NDArray[np.int32], run: Ints, position: Ints) -> tuple[Sides, int]:
    """Components one after the other on side 0 until they hold half of the run, without the last; how many leaves they hold.

    That last one stays on side 0 when it is the only one: then the run is connected, or its first component is the largest.
    """
    m, begin = run.shape[0], position[run[0]]
    side, queue = np.ones(m, dtype=np.uint8), np.empty(m, dtype=np.int64)
    reached, start = 0, 0
    while 2 * reached < m:
        while side[start] == 0:
            start += 1
        before = reached
        side[start], queue[reached] = 0, start
        head, reached = reached, reached + 1
        while head < reached:
            i = queue[head]
            head += 1
            for e in range(indptr[run[i]], indptr[run[i] + 1]):
                j = position[indices[e]] - begin
                if 0 <= j < m and side[j] == 1:
                    side[j], queue[reached] = 0, j
                    reached += 1
        if reached == m and before > 0:  # the last component is more than half: it is the other side
            for q in range(before, m):
                side[queue[q]] = 1
            return side, before
    return side, reached


@part
def _order_by_side(run: Ints, side: Sides) -> int:
    """Bring side 0 of a run to the front, both in their old order; its length."""
    old, middle = run.copy(), 0
    for i in range(run.shape[0]):
        if side[i] == 0:
            run[middle] = old[i]
            middle += 1
    at = middle
    for i in range(run.shape[0]):
        if side[i] == 1:
            run[at] = old[i]
            at += 1
    return middle


@kernel
def matrix_split(W: npt.NDArray[Any], sizes: Floats, run: Ints, objective: int) -> int:
    """Order a run of leaves so that the two sides come one after the other; the length of the first."""
    if run.shape[0] == 2:
        return 1
    side = _matrix_start(W, run)
    matrix_moves(W, sizes[run], run, side, objective)
    return _order_by_side(run, side)


@kernel
def graph_split(edges: Edges, sizes: Floats, run: Ints, position: Ints, objective: int) -> int:
    """As ``matrix_split``, for a graph; ``position`` is kept up to date."""
    if run.shape[0] == 2:
        return 1
    begin = position[run[0]]
    side, separate = _graph_start(edges, run, position)
    if not separate:
        graph_moves(edges, sizes[run], run, position, side, objective)
    middle = _order_by_side(run, side)
    for i in range(run.shape[0]):
        position[run[i]] = begin + i
    return middle


# --- down to single leaves: a split at m notes its run in splits[m − 1], the place is unique to it ------------------------------


@part
def _push(stack: Records, top: int, begin: int, middle: int, end: int, splits: Records) -> int:
    """Note a split and put both parts that can be split again on the stack; its new top."""
    _note(splits, middle - 1, begin, end)
    if middle - begin > 1:
        _note(stack, top, begin, middle)
        top += 1
    if end - middle > 1:
        _note(stack, top, middle, end)
        top += 1
    return top


@part
def _note(runs: Records, at: int, begin: int, end: int) -> None:
    runs[at].begin = begin
    runs[at].end = end


@part
def _stack_of(n: int) -> Records:
    stack = np.empty(n + 1, dtype=RUN)
    _note(stack, 0, 0, n)
    return stack


@kernel
def features_split_all(
    P: npt.NDArray[Any], sizes: Floats, order: Ints, offset: float, scale: float, objective: int, splits: Records
) -> None:
    """Split a run of points down to single ones."""
    n = order.shape[0]
    scores, stack, top = np.empty(n), _stack_of(n), 1
    while top > 0:
        top -= 1
        b, e = stack[top].begin, stack[top].end
        length = features_split(P[b:e], sizes[b:e], order[b:e], offset, scale, objective, scores)
        top = _push(stack, top, b, b + length, e, splits)


@kernel
def matrix_split_all(W: npt.NDArray[Any], sizes: Floats, run: Ints, objective: int, splits: Records) -> None:
    """Split a run of leaves of a matrix down to single ones."""
    stack, top = _stack_of(run.shape[0]), 1
    while top > 0:
        top -= 1
        b, e = stack[top].begin, stack[top].end
        top = _push(stack, top, b, b + matrix_split(W, sizes, run[b:e], objective), e, splits)


@kernel
def graph_split_all(edges: Edges, sizes: Floats, run: Ints, position: Ints, objective: int, splits: Records) -> None:
    """Split a run of leaves of a graph down to single ones."""
    stack, top = _stack_of(run.shape[0]), 1
    while top > 0:
        top -= 1
        b, e = stack[top].begin, stack[top].end
        length = graph_split(edges, sizes, run[b:e], position, objective)
        top = _push(stack, top, b, b + length, e, splits)
