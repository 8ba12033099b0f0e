"""w(A, v) = Σ w_ij, i below A and j below v, for the subtree A under trial and any node v beside it.

``aim`` prepares what one subtree needs, ``weight`` answers, ``release`` tidies up. Features: a dot product of subtree sums, O(d).
Matrices: prefix sums of A's row sums along the leaf order, O(n) once, then O(1). Graphs: the weights of A's neighbours, pushed up
along the union of their paths, then O(1). Blends: the sum of a graph's and a background's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from ..._shared.arrays import Records
from .state import BLEND, DENSE, FEATURES, GRAPH, Scratch, State


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> float:
    """⟨x, y⟩."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@njit(cache=True, nogil=True)
def weight(state: State, work: Records, A: int, v: int) -> float:
    """w(A, v), after ``aim`` at A."""
    if state.kind == BLEND:
        return work[v].flow + ground(state, A, v)  # type: ignore[no-any-return]
    return unblended_weight(state, work, A, v)


@njit(cache=True, nogil=True)
def unblended_weight(state: State, work: Records, A: int, v: int) -> float:
    """``weight`` of the pure kinds: short enough to become part of the loop that calls it most."""
    if state.kind == FEATURES:
        counts = state.nodes[A].points * state.nodes[v].points
        return state.terms.offset * counts + state.terms.scale * dot(state.sums[A], state.sums[v])  # type: ignore[no-any-return]
    if state.kind == DENSE:
        return work[state.nodes[v].last].flow - work[state.nodes[v].first].flow  # type: ignore[no-any-return]
    return work[v].flow  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def ground(state: State, u: int, v: int) -> float:
    """The background's part of w(u, v) in a blend."""
    one, two, terms = state.nodes[u], state.nodes[v], state.terms
    linear = terms.offset * one.points * two.points + terms.scale * dot(state.sums[u], state.sums[v])
    return linear - terms.tilt * (one.points * two.square + two.points * one.square)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def aim(state: State, scratch: Scratch, A: int, ceiling: int) -> tuple[float, float]:
    """Prepare ``weight`` for subtree A in its region; an upper bound on w(A, l) / |l| over leaves l, and A's reach.

    In a blend the first is the graph's, the second the background's.

    The reach r is such that Σ_l (w(A, l) − |l|·w(A, v)/|v|)²/|l| ≤ r²·scatter(v); infinite where no scatter is known.
    """
    if state.kind == FEATURES:
        reach = abs(state.terms.scale) * np.sqrt(dot(state.sums[A], state.sums[A]))
        return state.terms.offset * state.nodes[A].points + reach * state.terms.longest, reach
    if state.kind == DENSE:
        return _aim_dense(state, scratch.work, A, ceiling), np.inf
    if state.kind == BLEND:
        reach = state.terms.scale * np.sqrt(dot(state.sums[A], state.sums[A]))
        return _aim_graph(state, scratch, A, ceiling), reach
    return _aim_graph(state, scratch, A, ceiling), np.inf


@njit(cache=True, nogil=True)
def release(state: State, scratch: Scratch) -> None:
    """Forget the subtree aimed at."""
    if state.kind in (GRAPH, BLEND):
        for k in range(scratch.counts.reached):
            v = scratch.work[k].path
            scratch.work[v].flow = 0.0
            scratch.work[v].seen = 0
        scratch.counts.reached = 0


@njit(cache=True, nogil=True)
def row_sums(state: State, v: int) -> npt.NDArray[Any]:
    """w(v, j) for each leaf j of a matrix."""
    n = state.matrix.shape[0]
    return state.matrix[v] if v < n else state.sums[v - n]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _aim_dense(state: State, work: Records, A: int, ceiling: int) -> float:
    nodes, row = state.nodes, row_sums(state, A)
    root = A
    while nodes[root].parent != ceiling:
        root = nodes[root].parent
    begin, end = nodes[root].first, nodes[root].last
    inside, outside = nodes[A].first, nodes[A].last
    largest = total = 0.0
    work[begin].flow = 0.0
    for k in range(begin, end):
        if k < inside or k >= outside:
            j = nodes[k].order
            largest = max(largest, row[j] / nodes[j].points)
            total += row[j]
        work[k + 1].flow = total
    return largest


@njit(cache=True, nogil=True)
def _aim_graph(state: State, scratch: Scratch, A: int, ceiling: int) -> float:
    nodes, work = state.nodes, scratch.work
    n_inside = _mark_leaves(nodes, work, A)
    n_found = 0
    for k in range(n_inside):
        i = work[k].start
        for e in range(state.indptr[i], state.indptr[i + 1]):
            j = np.int64(state.indices[e])
            if work[j].seen == 0 and nodes[j].region == nodes[i].region:
                if work[j].flow == 0.0:
                    work[n_found].node = j
                    n_found += 1
                work[j].flow += state.matrix[0, e]
    largest = 0.0
    for k in range(n_inside):
        work[work[k].start].seen = 0
    for k in range(n_found):
        j = work[k].node
        largest = max(largest, work[j].flow / nodes[j].points)
    scratch.counts.reached = _push_up(nodes, work, n_found, ceiling)
    return largest


@njit(cache=True, nogil=True)
def _mark_leaves(nodes: Records, work: Records, A: int) -> int:
    """Mark the leaves below A as seen and write them to ``start``; how many."""
    work[0].node = A
    top, found = 1, 0
    while top > 0:
        top -= 1
        v = work[top].node
        if nodes[v].left < 0:
            work[v].seen = 1
            work[found].start = v
            found += 1
        else:
            work[top].node = nodes[v].right
            work[top + 1].node = nodes[v].left
            top += 2
    return found


@njit(cache=True, nogil=True)
def _push_up(nodes: Records, work: Records, n_neighbours: int, ceiling: int) -> int:
    """Sum the flow of the neighbours upwards; the number of nodes reached.

    Each neighbour walks up until it meets an earlier walk. Then the walks, last first, hand their flow on: a walk is only
    ever joined by later ones, so each node is complete before its parent receives it. Linear in the union of the paths.
    """
    length = 0
    for k in range(n_neighbours):
        work[k].start = length
        u = work[k].node
        while u != ceiling and work[u].seen == 0:
            work[u].seen = 1
            work[length].path = u
            length += 1
            u = nodes[u].parent
    end = length
    for k in range(n_neighbours - 1, -1, -1):
        for m in range(work[k].start, end):
            u = work[m].path
            if nodes[u].parent != ceiling:
                work[nodes[u].parent].flow += work[u].flow
        end = work[k].start
    return length
