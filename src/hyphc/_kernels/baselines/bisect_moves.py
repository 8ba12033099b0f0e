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

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

Sides = npt.NDArray[np.uint8]
Edges = tuple[Ints, npt.NDArray[np.int32], Floats]  # of a graph in rows: where each begins, neighbours, weights

MEANS, REWARD, CUT = 0, 1, 2

# One of the two sides A and B.
HALF = record_dtype(
    ("within", np.float64),  # w(A)
    ("points", np.float64),  # |A|
    ("leaves", np.int64),
)

_SWEEPS = 10  # most splits settle in four or five
_TOLERANCE = 1e-10  # relative: what rounding of sums can feign, so that no point goes to and fro


@part
def _improves(
    objective: int, total: float, halves: Records, k: int, to_own: float, to_other: float, size: float
) -> bool:
    """Whether the objective grows when a point leaves side k; ``total`` is the similarity of all pairs of the run."""
    w_own, w_other = halves[k].within, halves[1 - k].within
    n_own, n_other = halves[k].points, halves[1 - k].points
    if objective == MEANS:
        old = w_own / n_own + w_other / n_other
        new = (w_own - to_own) / (n_own - size) + (w_other + to_other) / (n_other + size)
    elif objective == REWARD:
        old = (n_other - 1.0) * w_own + (n_own - 1.0) * w_other
        new = (n_other + size - 1.0) * (w_own - to_own) + (n_own - size - 1.0) * (w_other + to_other)
    else:
        across = total - w_own - w_other
        old = -across / (n_own * n_other)
        new = -(across + to_own - to_other) / ((n_own - size) * (n_other + size))
    return bool(new - old > _TOLERANCE * abs(old))


@part
def _move(halves: Records, k: int, to_own: float, to_other: float, size: float) -> None:
    """Book a point's change from side k to the other."""
    own, other = halves[k], halves[1 - k]
    own.within -= to_own
    own.points -= size
    own.leaves -= 1
    other.within += to_other
    other.points += size
    other.leaves += 1


@part(fastmath={"reassoc", "contract"})
def _dot(x: npt.NDArray[Any], y: Floats) -> float:
    total = 0.0
    for c in range(y.shape[0]):
        total += x[c] * y[c]
    return total


@part
def _count_sides(sizes: Floats, side: Sides) -> Records:
    """Points and leaves on each side; nothing within them yet."""
    halves = np.zeros(2, dtype=HALF)
    for i in range(side.shape[0]):
        halves[side[i]].points += sizes[i]
        halves[side[i]].leaves += 1
    return halves


@kernel
def features_moves(P: npt.NDArray[Any], sizes: Floats, offset: float, scale: float, side: Sides, objective: int) -> int:
    """Moves between the sides of a run of points P; how many there were. O(m d) a sweep.

    Leaf i stands for sizes[i] points at P[i]: w_ij = sizes_i·sizes_j·(offset + scale·⟨P_i, P_j⟩).
    """
    m, d = P.shape
    halves = _count_sides(sizes, side)
    sums, own, to_all = np.zeros((2, d)), np.empty(m), np.empty(m)
    for i in range(m):
        square = 0.0
        for c in range(d):
            sums[side[i], c] += sizes[i] * P[i, c]
            square += float(P[i, c]) * P[i, c]
        own[i] = sizes[i] * sizes[i] * (offset + scale * square)
    everything, n_points = sums[0] + sums[1], halves[0].points + halves[1].points
    for i in range(m):
        to_all[i] = sizes[i] * (offset * n_points + scale * _dot(P[i], everything)) - own[i]
        halves[side[i]].within -= 0.5 * own[i]
    for k in range(2):
        points = halves[k].points
        halves[k].within += 0.5 * (offset * points * points + scale * _dot(sums[k], sums[k]))
    total, n_moves = 0.5 * to_all.sum(), 0
    for _ in range(_SWEEPS):
        before = n_moves
        for i in range(m):
            k = side[i]
            if halves[k].leaves == 1:
                continue
            to_own = sizes[i] * (offset * halves[k].points + scale * _dot(P[i], sums[k])) - own[i]
            to_other = to_all[i] - to_own
            if _improves(objective, total, halves, k, to_own, to_other, sizes[i]):
                _move(halves, k, to_own, to_other, sizes[i])
                side[i] = 1 - k
                for c in range(d):
                    sums[k, c] -= sizes[i] * P[i, c]
                    sums[1 - k, c] += sizes[i] * P[i, c]
                n_moves += 1
        if n_moves == before:
            break
    return n_moves


@part
def _changes_sides(
    i: int,
    objective: int,
    total: float,
    to_first: Floats,
    to_all: Floats,
    sizes: Floats,
    halves: Records,
    side: Sides,
) -> bool:
    """Let leaf i change sides if that improves the objective, given its similarities to the first side and to all."""
    k = side[i]
    to_own = to_first[i] if k == 0 else to_all[i] - to_first[i]
    to_other = to_all[i] - to_own
    if halves[k].leaves == 1 or not _improves(objective, total, halves, k, to_own, to_other, sizes[i]):
        return False
    _move(halves, k, to_own, to_other, sizes[i])
    side[i] = 1 - k
    return True


@kernel
def matrix_moves(W: npt.NDArray[Any], sizes: Floats, run: Ints, side: Sides, objective: int) -> None:
    """Moves between the sides of the leaves ``run`` of a matrix; ``sizes`` are theirs. O(m²), and O(m) a move."""
    m = run.shape[0]
    halves = _count_sides(sizes, side)
    to_first, to_all = np.zeros(m), np.zeros(m)
    for i in range(m):
        row = W[run[i]]
        for j in range(m):
            if j != i:
                to_all[i] += row[run[j]]
                if side[j] == 0:
                    to_first[i] += row[run[j]]
        halves[side[i]].within += 0.5 * (to_first[i] if side[i] == 0 else to_all[i] - to_first[i])
    total = 0.5 * to_all.sum()
    for _ in range(_SWEEPS):
        moved = False
        for i in range(m):
            if _changes_sides(i, objective, total, to_first, to_all, sizes, halves, side):
                moved = True
                row, sign = W[run[i]], 1.0 - 2.0 * side[i]
                for j in range(m):
                    if j != i:
                        to_first[j] += sign * row[run[j]]
        if not moved:
            break


@kernel
def graph_moves(edges: Edges, sizes: Floats, run: Ints, position: Ints, side: Sides, objective: int) -> None:
    """Moves between the sides of the leaves ``run`` of a graph; ``sizes`` are theirs. O(edges of the run) a sweep.

    ``position`` tells where in the order of all leaves one lies; those of the run are neighbours there.
    """
    indptr, indices, weights = edges
    m, begin = run.shape[0], position[run[0]]
    halves = _count_sides(sizes, side)
    to_first, to_all = np.zeros(m), np.zeros(m)
    for i in range(m):
        for e in range(indptr[run[i]], indptr[run[i] + 1]):
            j = position[indices[e]] - begin
            if 0 <= j < m:
                to_all[i] += weights[e]
                if side[j] == 0:
                    to_first[i] += weights[e]
        halves[side[i]].within += 0.5 * (to_first[i] if side[i] == 0 else to_all[i] - to_first[i])
    total = 0.5 * to_all.sum()
    for _ in range(_SWEEPS):
        moved = False
        for i in range(m):
            if _changes_sides(i, objective, total, to_first, to_all, sizes, halves, side):
                moved = True
                sign = 1.0 - 2.0 * side[i]
                for e in range(indptr[run[i]], indptr[run[i] + 1]):
                    j = position[indices[e]] - begin
                    if 0 <= j < m:
                        to_first[j] += sign * weights[e]
        if not moved:
            break
