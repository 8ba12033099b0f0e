"""Local search on a split in two: points change sides, one at a time, while that improves an objective.

With A and B the sides, |A| and |B| their numbers of points and w(A) the similarity of the pairs within A:

| objective | to be maximised |
|---|---|
| ``MEANS`` | w(A) / |A| + w(B) / |B|, kernel two-means without the diagonal |
| ``REWARD`` | (|B| − 1)·w(A) + (|A| − 1)·w(B), of Moseley & Wang |
| ``CUT`` | −w(A, B) / (|A|·|B|), the sparsest cut |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from ..._shared.arrays import Floats, Ints

Sides = npt.NDArray[np.uint8]
Edges = tuple[Ints, npt.NDArray[np.int32], Floats]  # of a graph in rows: where each begins, neighbours, weights

MEANS, REWARD, CUT = 0, 1, 2

_SWEEPS = 10  # most splits settle in four or five
_TOLERANCE = 1e-10  # relative: what rounding of sums can feign, so that no point goes to and fro


@njit(cache=True, nogil=True)
def _improves(
    objective: int, total: float, w: Floats, n: Floats, k: int, to_own: float, to_other: float, size: float
) -> bool:
    """Whether the objective grows when a point leaves side k; ``total`` is the similarity of all pairs of the run."""
    o = 1 - k
    if objective == MEANS:
        old = w[k] / n[k] + w[o] / n[o]
        new = (w[k] - to_own) / (n[k] - size) + (w[o] + to_other) / (n[o] + size)
    elif objective == REWARD:
        old = (n[o] - 1.0) * w[k] + (n[k] - 1.0) * w[o]
        new = (n[o] + size - 1.0) * (w[k] - to_own) + (n[k] - size - 1.0) * (w[o] + to_other)
    else:
        across = total - w[k] - w[o]
        old = -across / (n[k] * n[o])
        new = -(across + to_own - to_other) / ((n[k] - size) * (n[o] + size))
    return bool(new - old > _TOLERANCE * abs(old))


@njit(cache=True, nogil=True)
def _move(w: Floats, n: Floats, counts: Ints, k: int, to_own: float, to_other: float, size: float) -> None:
    """Book a point's change from side k to the other."""
    o = 1 - k
    w[k] -= to_own
    w[o] += to_other
    n[k] -= size
    n[o] += size
    counts[k] -= 1
    counts[o] += 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(x: npt.NDArray[Any], y: Floats) -> float:
    total = 0.0
    for c in range(y.shape[0]):
        total += x[c] * y[c]
    return total


@njit(cache=True, nogil=True)
def _count_sides(sizes: Floats, side: Sides) -> tuple[Floats, Ints]:
    """Points and leaves on each side."""
    n, counts = np.zeros(2), np.zeros(2, dtype=np.int64)
    for i in range(side.shape[0]):
        n[side[i]] += sizes[i]
        counts[side[i]] += 1
    return n, counts


@njit(cache=True, nogil=True)
def features_moves(P: npt.NDArray[Any], sizes: Floats, offset: float, scale: float, side: Sides, objective: int) -> int:
    """Moves between the sides of a run of points P; how many there were. O(m d) a sweep.

    Leaf i stands for sizes[i] points at P[i]: w_ij = sizes_i·sizes_j·(offset + scale·⟨P_i, P_j⟩).
    """
    m, d = P.shape
    n, counts = _count_sides(sizes, side)
    sums, own, to_all = np.zeros((2, d)), np.empty(m), np.empty(m)
    for i in range(m):
        square = 0.0
        for c in range(d):
            sums[side[i], c] += sizes[i] * P[i, c]
            square += float(P[i, c]) * P[i, c]
        own[i] = sizes[i] * sizes[i] * (offset + scale * square)
    everything, w = sums[0] + sums[1], np.zeros(2)
    for i in range(m):
        to_all[i] = sizes[i] * (offset * (n[0] + n[1]) + scale * _dot(P[i], everything)) - own[i]
        w[side[i]] -= 0.5 * own[i]
    for k in range(2):
        w[k] += 0.5 * (offset * n[k] * n[k] + scale * _dot(sums[k], sums[k]))
    total, n_moves = 0.5 * to_all.sum(), 0
    for _ in range(_SWEEPS):
        before = n_moves
        for i in range(m):
            k = side[i]
            if counts[k] == 1:
                continue
            to_own = sizes[i] * (offset * n[k] + scale * _dot(P[i], sums[k])) - own[i]
            to_other = to_all[i] - to_own
            if _improves(objective, total, w, n, k, to_own, to_other, sizes[i]):
                _move(w, n, counts, k, to_own, to_other, sizes[i])
                side[i] = 1 - k
                for c in range(d):
                    sums[k, c] -= sizes[i] * P[i, c]
                    sums[1 - k, c] += sizes[i] * P[i, c]
                n_moves += 1
        if n_moves == before:
            break
    return n_moves


@njit(cache=True, nogil=True)
def _changes_sides(
    i: int,
    objective: int,
    total: float,
    to_first: Floats,
    to_all: Floats,
    sizes: Floats,
    w: Floats,
    n: Floats,
    counts: Ints,
    side: Sides,
) -> bool:
    """Let leaf i change sides if that improves the objective, given its similarities to the first side and to all."""
    k = side[i]
    to_own = to_first[i] if k == 0 else to_all[i] - to_first[i]
    to_other = to_all[i] - to_own
    if counts[k] == 1 or not _improves(objective, total, w, n, k, to_own, to_other, sizes[i]):
        return False
    _move(w, n, counts, k, to_own, to_other, sizes[i])
    side[i] = 1 - k
    return True


@njit(cache=True, nogil=True)
def matrix_moves(W: npt.NDArray[Any], sizes: Floats, run: Ints, side: Sides, objective: int) -> None:
    """Moves between the sides of the leaves ``run`` of a matrix; ``sizes`` are theirs. O(m²), and O(m) a move."""
    m = run.shape[0]
    n, counts = _count_sides(sizes, side)
    to_first, to_all, w = np.zeros(m), np.zeros(m), np.zeros(2)
    for i in range(m):
        row = W[run[i]]
        for j in range(m):
            if j != i:
                to_all[i] += row[run[j]]
                if side[j] == 0:
                    to_first[i] += row[run[j]]
        w[side[i]] += 0.5 * (to_first[i] if side[i] == 0 else to_all[i] - to_first[i])
    total = 0.5 * to_all.sum()
    for _ in range(_SWEEPS):
        moved = False
        for i in range(m):
            if _changes_sides(i, objective, total, to_first, to_all, sizes, w, n, counts, side):
                moved = True
                row, sign = W[run[i]], 1.0 - 2.0 * side[i]
                for j in range(m):
                    if j != i:
                        to_first[j] += sign * row[run[j]]
        if not moved:
            break


@njit(cache=True, nogil=True)
def graph_moves(edges: Edges, sizes: Floats, run: Ints, position: Ints, side: Sides, objective: int) -> None:
    """Moves between the sides of the leaves ``run`` of a graph; ``sizes`` are theirs. O(edges of the run) a sweep.

    ``position`` tells where in the order of all leaves one lies; those of the run are neighbours there.
    """
    indptr, indices, weights = edges
    m, begin = run.shape[0], position[run[0]]
    n, counts = _count_sides(sizes, side)
    to_first, to_all, w = np.zeros(m), np.zeros(m), np.zeros(2)
    for i in range(m):
        for e in range(indptr[run[i]], indptr[run[i] + 1]):
            j = position[indices[e]] - begin
            if 0 <= j < m:
                to_all[i] += weights[e]
                if side[j] == 0:
                    to_first[i] += weights[e]
        w[side[i]] += 0.5 * (to_first[i] if side[i] == 0 else to_all[i] - to_first[i])
    total = 0.5 * to_all.sum()
    for _ in range(_SWEEPS):
        moved = False
        for i in range(m):
            if _changes_sides(i, objective, total, to_first, to_all, sizes, w, n, counts, side):
                moved = True
                sign = 1.0 - 2.0 * side[i]
                for e in range(indptr[run[i]], indptr[run[i] + 1]):
                    j = position[indices[e]] - begin
                    if 0 <= j < m:
                        to_first[j] += sign * weights[e]
        if not moved:
            break
