"""Local search on a split in two: points change sides, one at a time, while that improves an objective.

With A and B the sides, |A| and |B| their numbers of points and w(A) the similarity of the pairs within A:

| objective | maximised |
|---|---|
| ``MEANS`` | w(A) / |A| + w(B) / |B|, kernel two-means without the diagonal |
| ``REWARD`` | (|B| − 1)·w(A) + (|A| − 1)·w(B), of Moseley & Wang |
| ``CUT`` | −w(A, B) / (|A|·|B|), the sparsest cut |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import dispatch_on_type, kernel, part

Sides = npt.NDArray[np.uint8]

MEANS, REWARD, CUT = 0, 1, 2

# One of the two sides A and B.
HALF = record_dtype(
    ("within", np.float64),  # w(A)
    ("points", np.float64),  # |A|
    ("leaves", np.int64),
)

_SWEEPS = 10  # most splits converge in four or five
_TOLERANCE = 1e-10  # relative: the rounding of sums, so that no point changes sides back and forth


class MatrixLeaves(NamedTuple):
    """Leaves of a similarity matrix: W (n, n), their sizes, and an order in which every cluster is a run."""

    W: npt.NDArray[Any]
    sizes: Floats
    order: Ints


class GraphLeaves(NamedTuple):
    """Leaves of a graph in compressed rows: the rows, their sizes, an order as above, and the position of each leaf in it."""

    indptr: Ints
    indices: npt.NDArray[np.int32]
    weights: Floats
    sizes: Floats
    order: Ints
    position: Ints


@part
def _improves(
    objective: int, total: float, halves: Records, k: int, to_own: float, to_other: float, size: float
) -> bool:
    """Return whether the objective grows when a point leaves side k; ``total`` is the similarity of all pairs of the run."""
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
    """Update both sides for a point that moves from side k to the other."""
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
    """Return both sides with their points and leaves, and 0 within them."""
    halves = np.zeros(2, dtype=HALF)
    for i in range(side.shape[0]):
        halves[side[i]].points += sizes[i]
        halves[side[i]].leaves += 1
    return halves


@kernel
def features_moves(P: npt.NDArray[Any], sizes: Floats, offset: float, scale: float, side: Sides, objective: int) -> int:
    """Move points P of a run between its sides; return the number of moves. O(m d) a sweep.

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


@dispatch_on_type
def row_sums(leaves: Any, begin: int, i: int, side: Sides) -> tuple[float, float]:
    """Return the similarity of leaf i of the run that starts at ``begin`` to its first side, and to all of it."""


@row_sums.of(MatrixLeaves)
def _(leaves: MatrixLeaves, begin: int, i: int, side: Sides) -> tuple[float, float]:
    row, to_first, to_all = leaves.W[leaves.order[begin + i]], 0.0, 0.0
    for j in range(side.shape[0]):
        if j != i:
            weight = row[leaves.order[begin + j]]
            to_all += weight
            if side[j] == 0:
                to_first += weight
    return to_first, to_all


@row_sums.of(GraphLeaves)
def _(leaves: GraphLeaves, begin: int, i: int, side: Sides) -> tuple[float, float]:
    leaf, to_first, to_all = leaves.order[begin + i], 0.0, 0.0
    for e in range(leaves.indptr[leaf], leaves.indptr[leaf + 1]):
        j = leaves.position[leaves.indices[e]] - begin
        if 0 <= j < side.shape[0]:
            to_all += leaves.weights[e]
            if side[j] == 0:
                to_first += leaves.weights[e]
    return to_first, to_all


@dispatch_on_type
def add_row(leaves: Any, begin: int, i: int, factor: float, sums: Floats) -> None:
    """Add to the sums of all leaves of the run that starts at ``begin`` their similarity to its leaf i times a factor."""


@add_row.of(MatrixLeaves)
def _(leaves: MatrixLeaves, begin: int, i: int, factor: float, sums: Floats) -> None:
    row = leaves.W[leaves.order[begin + i]]
    for j in range(sums.shape[0]):
        if j != i:
            sums[j] += factor * row[leaves.order[begin + j]]


@add_row.of(GraphLeaves)
def _(leaves: GraphLeaves, begin: int, i: int, factor: float, sums: Floats) -> None:
    leaf = leaves.order[begin + i]
    for e in range(leaves.indptr[leaf], leaves.indptr[leaf + 1]):
        j = leaves.position[leaves.indices[e]] - begin
        if 0 <= j < sums.shape[0]:
            sums[j] += factor * leaves.weights[e]


@kernel
def leaf_moves(leaves: Any, begin: int, side: Sides, objective: int) -> None:
    """Move leaves of a matrix or graph between the sides of the run that starts at ``begin``.

    O(m²) for a matrix, and O(m) a move; O(edges of the run) a sweep for a graph.
    """
    m = side.shape[0]
    sizes = leaves.sizes[leaves.order[begin : begin + m]]
    halves, to_first, to_all = _count_sides(sizes, side), np.zeros(m), np.zeros(m)
    for i in range(m):
        to_first[i], to_all[i] = row_sums(leaves, begin, i, side)
        halves[side[i]].within += 0.5 * (to_first[i] if side[i] == 0 else to_all[i] - to_first[i])
    total = 0.5 * to_all.sum()
    for _ in range(_SWEEPS):
        moved = False
        for i in range(m):
            k = side[i]
            to_own = to_first[i] if k == 0 else to_all[i] - to_first[i]
            to_other = to_all[i] - to_own
            if halves[k].leaves > 1 and _improves(objective, total, halves, k, to_own, to_other, sizes[i]):
                _move(halves, k, to_own, to_other, sizes[i])
                side[i] = 1 - k
                add_row(leaves, begin, i, 1.0 - 2.0 * side[i], to_first)
                moved = True
        if not moved:
            break
