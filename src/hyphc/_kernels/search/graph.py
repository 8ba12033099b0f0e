"""Graphs: the weights of A's neighbours, pushed up along the union of their paths once; then w(A, v) in O(1)."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Records
from ..._runtime.jit import part
from .dispatch import clear_weights, finish_move, prepare_weights, update_sums, weight
from .state import BlendState, GraphState, Scratch


@part
def prepare_edge_weights(state: GraphState | BlendState, scratch: Scratch, A: int, region_parent: int) -> float:
    """Set ``flow`` to w(A, ·) by edges; return an upper bound on w(A, l) / |l| over leaves l."""
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
    scratch.counts.reached = _push_up(nodes, work, np.int64(n_found), region_parent)
    return largest


@part
def _mark_leaves(nodes: Records, work: Records, A: int) -> int:
    """Mark the leaves below A as seen and write them to ``start``; return their number."""
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
def _push_up(nodes: Records, work: Records, n_neighbours: int | np.int64, region_parent: int) -> int:
    """Sum the flow of the neighbours upwards; return the number of nodes reached.

    A path is followed from each neighbour up to the first node of an earlier path. Then flow is added along the paths, last
    first: only later paths end in a given one, so each node is complete before it is added to its parent. Linear in the union.
    """
    length = 0
    for k in range(n_neighbours):
        work[k].start = length
        u = work[k].node
        while u != region_parent and work[u].seen == 0:
            work[u].seen = 1
            work[length].path = u
            length += 1
            u = nodes[u].parent
    end = length
    for k in range(n_neighbours - 1, -1, -1):
        for m in range(work[k].start, end):
            u = work[m].path
            if nodes[u].parent != region_parent:
                work[nodes[u].parent].flow += work[u].flow
        end = work[k].start
    return length


@prepare_weights.of(GraphState)
def _(state: GraphState, scratch: Scratch, A: int, region_parent: int) -> tuple[float, float]:
    return prepare_edge_weights(state, scratch, A, region_parent), np.inf


@weight.of(GraphState)
def _(state: GraphState, work: Records, A: int, v: int) -> float:
    return work[v].flow  # type: ignore[no-any-return]


@clear_weights.of(GraphState, BlendState)
def _(state: GraphState | BlendState, scratch: Scratch) -> None:
    for k in range(scratch.counts.reached):
        v = scratch.work[k].path
        scratch.work[v].flow = 0.0
        scratch.work[v].seen = 0
    scratch.counts.reached = 0


@update_sums.of(GraphState)
def _(state: GraphState, u: int) -> None:
    pass


@finish_move.of(GraphState)
def _(state: GraphState, work: Records, top: int, begin: int, region_parent: int) -> None:
    pass
