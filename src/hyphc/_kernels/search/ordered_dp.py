"""Dynamic programme over intervals: the optimal tree whose clusters are intervals of the order of the points.

For the run i … j of S points, T the similarity inside a run,

    C(i, j) = S·T(i, j) + min over i ≤ k < j of [C(i, k) − S·T(i, k)] + [C(k + 1, j) − S·T(k + 1, j)].

Both tables are kept on both sides of the diagonal, so that the two runs of a split are read along rows.
"""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part


@kernel
def sum_runs(W: Floats) -> None:
    """Replace similarities by sums within intervals: W[i, j] = W[j, i] = T(i, j). O(n²)."""
    n = W.shape[0]
    for j in range(n):
        W[j, j] = 0.0
        column = 0.0
        for i in range(j - 1, -1, -1):
            column += W[i, j]
            W[i, j] = column + (W[i, j - 1] if i < j - 1 else 0.0)
    for j in range(n):
        for i in range(j):
            W[j, i] = W[i, j]


@kernel
def cost_runs(T: Floats, sizes: Floats, C: Floats) -> None:
    """Fill in the least costs of all intervals, C[i, j] = C[j, i]; single leaves cost 0. O(n³)."""
    n = T.shape[0]
    for length in range(2, n + 1):
        points = 0.0
        for i in range(length - 1):
            points += sizes[i]
        for i in range(n - length + 1):
            j = i + length - 1
            points += sizes[j]
            C[i, j] = points * T[i, j] + _least(C[i], C[j], T[i], T[j], points, i, j)
            C[j, i] = C[i, j]
            points -= sizes[i]


@part
def _least(C_i: Floats, C_j: Floats, T_i: Floats, T_j: Floats, points: float, i: int, j: int) -> float:
    best = np.inf
    for k in range(i, j):
        value = C_i[k] - points * T_i[k] + C_j[k + 1] - points * T_j[k + 1]
        best = min(best, value)
    return best


@kernel
def runs_to_merges(T: Floats, sizes: Floats, C: Floats, merges: Ints) -> None:
    """Write the merges of the tree of least cost: each interval, top down, is split at its first minimum."""
    n = T.shape[0]
    stack = np.empty((n, 3), dtype=np.int64)  # first leaf, last leaf, merge that the run is
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n - 1, n - 2
    waiting, free = 1, n - 3  # parents get the last numbers
    while waiting > 0:
        waiting -= 1
        i, j, t = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        points = 0.0
        for p in range(i, j + 1):
            points += sizes[p]
        best, at = np.inf, i
        for k in range(i, j):
            value = C[i, k] - points * T[i, k] + C[j, k + 1] - points * T[j, k + 1]
            if value < best:
                best, at = value, k
        for side in range(2):
            begin, end = (i, at) if side == 0 else (at + 1, j)
            if begin == end:
                merges[t, side] = begin
                continue
            merges[t, side] = n + free
            stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = begin, end, free
            waiting, free = waiting + 1, free - 1
