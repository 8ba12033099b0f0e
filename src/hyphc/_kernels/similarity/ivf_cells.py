"""Cells of near points: halved again and again along differences of two sampled means, then drawn to their nearest centre."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part

Rows = npt.NDArray[Any]  # (n, d) float32 or float64
Order = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]

_SAMPLE = 64  # points of a run whose two means give the direction of its cut
_LLOYD_STEPS = 3
_FINE = {"reassoc", "contract"}

LANES = 32  # blocks are padded to multiples of so many columns: a remainder that does not fill a vector takes as long as all


@part
def _draw(state: Ints, n: int) -> int:
    """A number below n, and the state of the generator moved on (Lehmer's, modulo 2³¹ − 1)."""
    state[0] = state[0] * 48271 % 2147483647
    return state[0] % n  # type: ignore[no-any-return]


@part(fastmath=_FINE)
def _direction(sample: Floats, normal: Floats) -> None:
    """The difference of two means of the sample, which starts from its first two points."""
    m, d = sample.shape
    centres, sums, counts = sample[:2].copy(), np.empty((2, d)), np.zeros(2)
    for _ in range(_LLOYD_STEPS):
        shift = 0.0
        for c in range(d):
            normal[c] = centres[1, c] - centres[0, c]
            shift += 0.5 * normal[c] * (centres[1, c] + centres[0, c])
        sums[:] = 0.0
        counts[:] = 0.0
        for i in range(m):
            score = 0.0
            for c in range(d):
                score += sample[i, c] * normal[c]
            side = 1 if score > shift else 0
            counts[side] += 1.0
            for c in range(d):
                sums[side, c] += sample[i, c]
        if counts[0] == 0.0 or counts[1] == 0.0:
            break
        for c in range(d):
            centres[0, c], centres[1, c] = sums[0, c] / counts[0], sums[1, c] / counts[1]
    for c in range(d):
        normal[c] = centres[1, c] - centres[0, c]


@part(fastmath=_FINE)
def _project(X: Rows, order: Order, origin: Rows, normal: Rows, scores: Singles) -> None:
    """scores[t] = ⟨x_t − origin, normal⟩: far from 0 the difference keeps the digits that a product would lose."""
    for t in range(order.shape[0]):
        row = X[order[t]]
        total = normal[0] * (row[0] - origin[0])
        for c in range(1, normal.shape[0]):
            total += normal[c] * (row[c] - origin[c])
        scores[t] = total


@part
def partition_lowest(scores: Singles, order: Order, m: int) -> None:
    """Permute both alike until the m lowest scores come first."""
    low, high = 0, scores.shape[0] - 1
    while low < high:
        pivot = scores[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while scores[i] < pivot:
                i += 1
            while scores[j] > pivot:
                j -= 1
            if i <= j:
                scores[i], scores[j] = scores[j], scores[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if m <= j:
            high = j
        elif m >= i:
            low = i
        else:
            break


@kernel
def halve(X: Rows, order: Order, seed: int, smallest: int, scores: Singles) -> None:
    """Halve the run ``order``, its halves again, and so on down to runs of at most ``smallest``; places are (b + e) // 2.

    A cut is at the median, so equal points never end in a run of their own size, and no run is short.
    """
    d = X.shape[1]
    sample, normal, narrow = np.empty((_SAMPLE, d)), np.empty(d), np.empty(d, X.dtype)
    stack = [(0, order.shape[0])]
    state = np.empty(1, dtype=np.int64)
    while len(stack) > 0:
        b, e = stack.pop()
        if e - b <= smallest:
            continue
        state[0] = (seed + 7919 * b + 104729 * e) % 2147483646 + 1
        origin = X[order[b + _draw(state, e - b)]]
        for i in range(_SAMPLE):
            row = X[order[b + _draw(state, e - b)]]
            for c in range(d):
                sample[i, c] = row[c] - origin[c]
        _direction(sample, normal)
        for c in range(d):
            narrow[c] = normal[c]
        _project(X, order[b:e], origin, narrow, scores[b:e])
        middle = (b + e) // 2
        partition_lowest(scores[b:e], order[b:e], middle - b)
        stack.append((b, middle))
        stack.append((middle, e))


@kernel(fastmath=_FINE)
def means(X: Rows, order: Order, starts: Ints, centres: Floats) -> None:
    """The mean of each cell; an empty one keeps the centre it has."""
    for cell in range(centres.shape[0]):
        b, e = starts[cell], starts[cell + 1]
        if b == e:
            continue
        centre = centres[cell]
        origin = X[order[b]]
        centre[:] = 0.0
        for t in range(b, e):
            row = X[order[t]]
            for c in range(centre.shape[0]):
                centre[c] += row[c] - origin[c]
        for c in range(centre.shape[0]):
            centre[c] = centre[c] / (e - b) + origin[c]


@kernel(fastmath={"contract"})
def products(x: Singles, y: Singles, found: Singles) -> None:
    """x @ y for x (q, d) and y (d, m), q and d multiples of 4, m of ``LANES``.

    Four rows by four columns of x at a time: each load of y serves four sums, and all factors stay in registers. Unlike a
    library's product it has but one order of summation, whatever threads there are.
    """
    q, d = x.shape
    m = y.shape[1]
    for i in range(0, q, 4):
        f0, f1, f2, f3 = found[i], found[i + 1], found[i + 2], found[i + 3]
        for j in range(m):
            f0[j] = f1[j] = f2[j] = f3[j] = np.float32(0.0)
        for c in range(0, d, 4):
            y0, y1, y2, y3 = y[c], y[c + 1], y[c + 2], y[c + 3]
            a0, a1, a2, a3 = x[i, c], x[i, c + 1], x[i, c + 2], x[i, c + 3]
            b0, b1, b2, b3 = x[i + 1, c], x[i + 1, c + 1], x[i + 1, c + 2], x[i + 1, c + 3]
            p0, p1, p2, p3 = x[i + 2, c], x[i + 2, c + 1], x[i + 2, c + 2], x[i + 2, c + 3]
            q0, q1, q2, q3 = x[i + 3, c], x[i + 3, c + 1], x[i + 3, c + 2], x[i + 3, c + 3]
            for j in range(m):
                v0, v1, v2, v3 = (
                    y0[j],
                    y1[j],
                    y2[j],
                    y3[j],
                )  # before anything is stored: loads cannot move across stores
                f0[j] = f0[j] + a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
                f1[j] = f1[j] + b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3
                f2[j] = f2[j] + p0 * v0 + p1 * v1 + p2 * v2 + p3 * v3
                f3[j] = f3[j] + q0 * v0 + q1 * v1 + q2 * v2 + q3 * v3


@part(fastmath=_FINE)
def shift_rows(row: Rows, origin: Floats, out: Singles) -> float:
    """out = row − origin, rounded; half its squared length."""
    total = np.float32(0.0)
    for c in range(origin.shape[0]):
        step = np.float32(row[c] - origin[c])
        out[c] = step
        total += step * step
    return np.float32(0.5) * total  # type: ignore[return-value]


@kernel
def nearness(rows: Rows, order: Order, origin: Floats, cells: Order, centres: Floats) -> Singles:
    """½‖x_t − centre‖² of the rows ``order`` and the centres of ``cells``, less what is the same for all cells of a row.

    ½‖y‖² − ⟨x, y⟩, both seen from ``origin``, near to which they lie: single precision is enough for what is left.
    """
    q, m, d = order.shape[0], cells.shape[0], centres.shape[1]
    x, y = np.zeros((q + -q % 4, d + -d % 4), np.float32), np.zeros((d + -d % 4, m + -m % LANES), np.float32)
    found, half = np.empty((x.shape[0], y.shape[1]), np.float32), np.empty(m, np.float32)
    column = np.empty(d, np.float32)
    for t in range(q):
        shift_rows(rows[order[t]], origin, x[t])
    for j in range(m):
        half[j] = shift_rows(centres[cells[j]], origin, column)
        for c in range(d):
            y[c, j] = column[c]
    products(x, y, found)
    for t in range(q):
        for j in range(m):
            found[t, j] = half[j] - found[t, j]
    return found[:q, :m]


@kernel(fastmath=_FINE)
def squared_distances(rows: Rows, centres: Floats) -> Singles:
    """‖x_i − centre_j‖² from differences: exact also for cells that are near to each other relative to the whole."""
    found = np.empty((rows.shape[0], centres.shape[0]), np.float32)
    for i in range(rows.shape[0]):
        for j in range(centres.shape[0]):
            total = 0.0
            for c in range(centres.shape[1]):
                step = rows[i, c] - centres[j, c]
                total += step * step
            found[i, j] = total
    return found


@kernel
def assign_nearest(X: Rows, order: Order, centres: Floats, cell: int, near: Order, nearest: Order) -> None:
    """nearest[t] = that of the cells ``near`` whose centre is nearest to point order[t]; the first of equals."""
    found = nearness(X, order, centres[cell], near, centres)
    for t in range(order.shape[0]):
        best = 0
        for j in range(1, near.shape[0]):
            if found[t, j] < found[t, best]:
                best = j
        nearest[t] = near[best]


@kernel
def reassign(labels: Order, wanted: Order, counts: Ints, most: int) -> None:
    """Move points in order to their nearest cell unless it is full, so that equal points do not all fill one cell."""
    for i in range(labels.shape[0]):
        goal = wanted[i]
        if goal != labels[i] and counts[goal] < most:
            counts[labels[i]] -= 1
            counts[goal] += 1
            labels[i] = goal
