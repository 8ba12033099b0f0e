"""Graphs: keys of leaves in tree order, and the weights of A's neighbours summed along them; then w(A, v) by binary search.

Each leaf has a key, and each node the interval of its leaves' keys, so w(A, v) is the weight of A's neighbours whose keys lie in
v's interval: a difference of two sums over the sorted neighbours. A moved subtree gets keys between those of its sibling and of
the leaf that follows. Where no keys are free, the smallest subtree around with room is numbered again (order maintenance; Dietz
& Sleator 1987). Intervals are not shrunk when a subtree leaves: keys that were free stay free of other subtrees' leaves.
"""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records
from ..._runtime.jit import part
from .dispatch import finish_move, prepare_weights, update_cut, weight
from .state import BlendState, GraphState, Scratch, sibling

ROOM = (
    1 << 32
)  # keys that a leaf gets at least when a subtree is numbered again: room for some twenty moves to one place
GAPS = np.array([701, 301, 132, 57, 23, 10, 4, 1])  # of Shell sort (Ciura 2001)


@part
def sort_by_key(nodes: Records, leaves: Ints, keys: Ints, count: int) -> None:
    """Write the keys of the first ``count`` leaves, sort both by key; in nearly sorted order, as in a tree, O(count)."""
    for k in range(count):
        keys[k] = nodes[leaves[k]].first
    for gap in GAPS:
        for i in range(gap, count):
            key, leaf = keys[i], leaves[i]
            k = i
            while k >= gap and keys[k - gap] > key:
                keys[k], leaves[k] = keys[k - gap], leaves[k - gap]
                k -= gap
            keys[k], leaves[k] = key, leaf


@part
def gather_neighbours(state: GraphState | BlendState, scratch: Scratch, A: int) -> int:
    """Add the weights from A to ``flows`` and list the leaves of the region that they reach; return how many there are."""
    nodes, work, counts, flows = state.nodes, scratch.work, scratch.counts, scratch.flows
    first, last, low, high = nodes[A].first, nodes[A].last, counts.low, counts.high
    found = np.int64(0)
    work[0].node = A
    top = 1
    while top > 0:
        top -= 1
        i = work[top].node
        if nodes[i].left >= 0:
            work[top].node, work[top + 1].node = nodes[i].right, nodes[i].left
            top += 2
            continue
        counts.visits += state.indptr[i + 1] - state.indptr[i]
        for e in range(state.indptr[i], state.indptr[i + 1]):
            j = np.int64(state.indices[e])
            if flows[j] == 0.0:
                key = nodes[j].first
                if first <= key <= last or key < low or key >= high:
                    continue
                scratch.leaves[found] = j
                found += 1
            flows[j] += state.weights[e]
    return found  # type: ignore[return-value]


@part
def prepare_edge_weights(state: GraphState | BlendState, scratch: Scratch, A: int) -> float:
    """Prepare ``edge_weight`` for A; return an upper bound on w(A, l) / |l| over leaves l."""
    leaves, flows = scratch.leaves, scratch.flows
    found = gather_neighbours(state, scratch, A)
    sort_by_key(state.nodes, leaves, scratch.keys, found)
    largest = total = 0.0
    for k in range(found):
        leaf = leaves[k]
        scratch.sums[k] = total
        total += flows[leaf]
        largest = max(largest, flows[leaf] / state.nodes[leaf].points)
        flows[leaf] = 0.0
    scratch.sums[found] = total
    scratch.counts.neighbours = found
    return largest


@part
def edge_weight(scratch: Scratch, first: int, last: int) -> float:
    """Return the weight of the prepared neighbours with keys from ``first`` to ``last``."""
    keys, end = scratch.keys, scratch.counts.neighbours
    low, high = np.int64(0), end
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < first:
            low = middle + 1
        else:
            high = middle
    begin, high = low, end
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] <= last:
            low = middle + 1
        else:
            high = middle
    return scratch.sums[low] - scratch.sums[begin]  # type: ignore[no-any-return]


@part
def number_leaves(nodes: Records, work: Records, top: int, key: int, step: int) -> None:
    """Give the leaves below ``top``, from left to right, the keys key, key + step, …, and all nodes there their intervals."""
    work[0].node = top
    height = 1
    while height > 0:
        u = work[height - 1].node
        if u < 0:  # its children are done
            u = -u - 1
            nodes[u].first, nodes[u].last = nodes[nodes[u].left].first, nodes[nodes[u].right].last
            height -= 1
        elif nodes[u].left < 0:
            nodes[u].first = nodes[u].last = key
            key += step
            height -= 1
        else:
            work[height - 1].node = -u - 1
            work[height].node, work[height + 1].node = nodes[u].right, nodes[u].left
            height += 2


@part
def next_key(nodes: Records, v: int, region_parent: int, high: int) -> int:
    """Return the first key to the right of v that is not free."""
    while nodes[v].parent != region_parent:
        p = nodes[v].parent
        if nodes[p].left == v:
            return nodes[nodes[p].right].first  # type: ignore[no-any-return]
        v = p
    return high


@part
def key_step(state: GraphState | BlendState, v: int, low: int, high: int) -> int:
    """Return the largest distance of keys with which the leaves of v find room between ``low`` and ``high``."""
    return (high - low) // (np.int64(state.nodes[v].points / state.terms.least) + 2)  # type: ignore[return-value]


@part
def assign_keys(state: GraphState | BlendState, scratch: Scratch, A: int, region_parent: int) -> None:
    """Give A, just grafted, keys behind its sibling's; extend the intervals above."""
    nodes, work, high = state.nodes, scratch.work, scratch.counts.high
    u = nodes[A].parent
    low = nodes[sibling(nodes, A)].last
    step = key_step(state, A, low, next_key(nodes, u, region_parent, high))
    nodes[u].first = nodes[nodes[u].left].first
    if step > 0:
        number_leaves(nodes, work, A, low + step, step)
        nodes[u].last = nodes[A].last
    else:
        while True:
            is_root = nodes[u].parent == region_parent
            low = scratch.counts.low if is_root else nodes[u].first
            step = key_step(state, u, low, next_key(nodes, u, region_parent, high))
            if is_root or step >= ROOM:
                break
            u = nodes[u].parent
        number_leaves(nodes, work, u, low, step)
    last = nodes[u].last
    while nodes[u].parent != region_parent and nodes[nodes[u].parent].last < last:
        u = nodes[u].parent
        nodes[u].last = last


@prepare_weights.of(GraphState)
def _(state: GraphState, scratch: Scratch, A: int, region_parent: int) -> tuple[float, float]:
    return prepare_edge_weights(state, scratch, A), np.inf


@weight.of(GraphState)
def _(state: GraphState, scratch: Scratch, A: int, v: int) -> float:
    return edge_weight(scratch, state.nodes[v].first, state.nodes[v].last)


@update_cut.of(GraphState)
def _(state: GraphState, scratch: Scratch, A: int, u: int, v: int, keep: float, sign: float) -> None:
    state.nodes[u].cut = keep * state.nodes[u].cut + sign * weight(state, scratch, A, v)


@finish_move.of(GraphState)
def _(state: GraphState, scratch: Scratch, A: int, top: int, begin: int, region_parent: int) -> None:
    assign_keys(state, scratch, A, region_parent)
