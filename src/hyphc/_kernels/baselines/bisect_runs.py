"""Runs of leaves split in two recursively: a start, then the local search of ``bisect_moves``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records
from ..._runtime.jit import dispatch_on_type, kernel, part
from .bisect import RUN, _partition, split_run
from .bisect_moves import GraphLeaves, MatrixLeaves, Sides, features_moves, leaf_moves

_TURN = 2.399963229728653  # radians, the golden angle: start vectors that favour no point
_MATRIX_STEPS = 5  # power steps towards the first principal direction
_GRAPH_STEPS = 200  # a sparse graph's leading eigenvalues lie close together


class FeatureLeaves(NamedTuple):
    """Leaves of features, in an order in which every cluster is a run: mean rows P (n, d), sizes and numbers.

    w_ij = sizes_i·sizes_j·(offset + scale·⟨P_i, P_j⟩); ``scores`` (n,) is scratch.
    """

    P: npt.NDArray[Any]
    sizes: Floats
    order: Ints
    scores: Floats
    offset: float
    scale: float


@part
def _sides_of(v: Floats) -> Sides:
    """Return the sign of each entry as a side; alternating sides where all have one sign."""
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
    """Scale v to length 1; return False if it vanishes."""
    length = np.sqrt((v * v).sum())
    if length <= 1e-150:
        return False
    v /= length
    return True


@part
def _matrix_start(W: npt.NDArray[Any], run: Ints) -> Sides:
    """Return signs along the first principal direction, with similarities as inner products."""
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
def _graph_start(leaves: GraphLeaves, begin: int, end: int) -> tuple[Sides, bool]:
    """Return the sides of a run, and whether no edge crosses: components if there are several, else signs of an eigenvector.

    It is the second one of D^−½ W D^−½, by power steps.
    """
    m, v = end - begin, np.cos(_TURN * np.arange(end - begin))
    side, reached = _first_components(leaves, begin, end)
    if reached < m:
        return side, True
    starts, ends, weights = _edges_within(leaves, begin, end)
    root, following = np.zeros(m), np.empty(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
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
            for e in range(starts[i], starts[i + 1]):
                total += weights[e] * v[ends[e]] / root[ends[e]]
            following[i] = v[i] + total / root[i]  # plus the identity, so that no negative eigenvalue leads
        v, following = following, v
    return _sides_of(v - (v * trivial).sum() * trivial), False


@part
def _edges_within(leaves: GraphLeaves, begin: int, end: int) -> tuple[Ints, Ints, Floats]:
    """Return the edges within a run as a CSR matrix, by places in the run: every power step reads them."""
    indptr, indices, weights, _, order, position = leaves
    m, count = end - begin, 0
    for i in range(begin, end):
        count += indptr[order[i] + 1] - indptr[order[i]]
    starts, ends, kept = np.empty(m + 1, dtype=np.int64), np.empty(count, dtype=np.int64), np.empty(count)
    found = 0
    for i in range(m):
        starts[i] = found
        for e in range(indptr[order[begin + i]], indptr[order[begin + i] + 1]):
            j = position[indices[e]] - begin
            if 0 <= j < m:
                ends[found], kept[found] = j, weights[e]
                found += 1
    starts[m] = found
    return starts, ends, kept


@part
def _first_components(leaves: GraphLeaves, begin: int, end: int) -> tuple[Sides, int]:
    """Put components on side 0 until they hold half of the run, without the last; return the sides and how many leaves that is.

    The last one stays on side 0 when it is the only one: then the run is connected, or its first component is the largest.
    """
    m = end - begin
    side, queue = np.ones(m, dtype=np.uint8), np.empty(m, dtype=np.int64)
    reached, start = 0, 0
    while 2 * reached < m:
        while side[start] == 0:
            start += 1
        before = reached
        side[start], queue[reached] = 0, start
        head, reached = reached, reached + 1
        while head < reached:
            leaf = leaves.order[begin + queue[head]]
            head += 1
            for e in range(leaves.indptr[leaf], leaves.indptr[leaf + 1]):
                j = leaves.position[leaves.indices[e]] - begin
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
    """Move side 0 of a run to the front, both in their old order; return its length."""
    old, at, middle = run.copy(), 0, 0
    for k in range(2):
        middle = at if k == 1 else 0
        for i in range(run.shape[0]):
            if side[i] == k:
                run[at] = old[i]
                at += 1
    return middle


@dispatch_on_type
def split(leaves: Any, begin: int, end: int, objective: int) -> int:
    """Order a run of three leaves or more so that its two sides come one after the other; return the length of the first."""


@split.of(FeatureLeaves)
def _(leaves: FeatureLeaves, begin: int, end: int, objective: int) -> int:
    P, sizes, order, scores = (
        leaves.P[begin:end],
        leaves.sizes[begin:end],
        leaves.order[begin:end],
        leaves.scores[begin:end],
    )
    middle = split_run(P, sizes, order, scores)
    side = np.zeros(end - begin, dtype=np.uint8)
    for i in range(middle, end - begin):
        side[i] = 1
    if features_moves(P, sizes, leaves.offset, leaves.scale, side, objective) > 0:
        for i in range(end - begin):
            scores[i] = 1.0 - side[i]
        middle = _partition(P, sizes, order, scores)
    return middle


@split.of(MatrixLeaves)
def _(leaves: MatrixLeaves, begin: int, end: int, objective: int) -> int:
    run = leaves.order[begin:end]
    side = _matrix_start(leaves.W, run)
    leaf_moves(leaves, begin, side, objective)
    return _order_by_side(run, side)


@split.of(GraphLeaves)
def _(leaves: GraphLeaves, begin: int, end: int, objective: int) -> int:
    side, separate = _graph_start(leaves, begin, end)
    if not separate:
        leaf_moves(leaves, begin, side, objective)
    middle = _order_by_side(leaves.order[begin:end], side)
    for i in range(begin, end):
        leaves.position[leaves.order[i]] = i
    return middle


@kernel
def split_runs(leaves: Any, begin: int, end: int, longest: int, objective: int, splits: Records) -> int:
    """Split a run of two leaves or more, and its parts while they have more than ``longest``; return where it was split.

    A split of begin … end − 1 at m is stored as splits[m − 1], which no other split uses.
    """
    stack, top, found = np.empty(end - begin, dtype=RUN), 1, -1
    stack[0].begin, stack[0].end = begin, end
    while top > 0:
        top -= 1
        b, e = stack[top].begin, stack[top].end
        middle = b + (split(leaves, b, e, objective) if e - b > 2 else 1)
        splits[middle - 1].begin, splits[middle - 1].end = b, e
        found = middle if found < 0 else found
        for low, high in ((b, middle), (middle, e)):
            if high - low > longest:
                stack[top].begin, stack[top].end = low, high
                top += 1
    return found
