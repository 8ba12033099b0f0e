"""Graphs: the weights of A's neighbours, pushed up along the union of their paths once; then w(A, v) in O(1)."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Records
from ..._runtime.jit import part
from .dispatch import aim, finish_move, release, settle, weight
from .state import BlendState, GraphState, Scratch


@part
def aim_along_edges(state: GraphState | BlendState, scratch: Scratch, A: int, ceiling: int) -> float:
    """Let ``flow`` be w(A, ·) by edges; an upper bound on w(A, l) / |l| over leaves l."""
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
                work[j].flow += state.weights[e]
    largest = 0.0
    for k in range(n_inside):
        work[work[k].start].seen = 0
    for k in range(n_found):
        j = work[k].node
        largest = max(largest, work[j].flow / nodes[j].points)
    scratch.counts.reached = _push_up(nodes, work, np.int64(n_found), ceiling)
    return largest


@part
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


@part
def _push_up(nodes: Records, work: Records, n_neighbours: int | np.int64, ceiling: int) -> int:
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


@aim.of(GraphState)
def _(state: GraphState, scratch: Scratch, A: int, ceiling: int) -> tuple[float, float]:
    return aim_along_edges(state, scratch, A, ceiling), np.inf


@weight.of(GraphState)
def _(state: GraphState, work: Records, A: int, v: int) -> float:
    return work[v].flow  # type: ignore[no-any-return]


@release.of(GraphState, BlendState)
def _(state: GraphState | BlendState, scratch: Scratch) -> None:
    for k in range(scratch.counts.reached):
        v = scratch.work[k].path
        scratch.work[v].flow = 0.0
        scratch.work[v].seen = 0
    scratch.counts.reached = 0


@settle.of(GraphState)
def _(state: GraphState, u: int) -> None:
    pass


@finish_move.of(GraphState)
def _(state: GraphState, work: Records, top: int, begin: int, ceiling: int) -> None:
    pass
