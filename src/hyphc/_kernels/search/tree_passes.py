"""Passes over the whole tree around the local search: sums, gains of many subtrees, insertion, traversals."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats, Ints, Records
from ..._runtime.jit import kernel
from .best_regraft import best_regraft, cheapest_insertion
from .dispatch import append_leaf, finish_move, position, update_sums, weight
from .graph import next_key, number_leaves
from .spr import graft
from .state import KEY_SPACE, Agenda, Scratch, State, push


@kernel
def update_all_sums(state: State, inner: Ints) -> None:
    """Update sums (and the cuts of features) of the given inner nodes, children before parents."""
    for k in range(inner.shape[0]):
        update_sums(state, inner[k])


@kernel
def queue_all(nodes: Records, scratch: Scratch, agenda: Agenda, root: int) -> None:
    """Queue every node strictly below ``root`` in depth-first order."""
    work = scratch.work
    work[0].node = root
    top = 1
    while top > 0:
        top -= 1
        v = work[top].node
        if v != root:
            push(nodes, agenda, v)
        if nodes[v].left >= 0:
            work[top].node, work[top + 1].node = nodes[v].right, nodes[v].left
            top += 2


@kernel
def renumber_leaves(nodes: Records, scratch: Scratch) -> None:
    """Spread the keys of all leaves evenly."""
    n = nodes.shape[0] // 2
    number_leaves(nodes, scratch.work, nodes[2 * n - 1].left, 0, KEY_SPACE // (n + 1))


@kernel
def key_after(nodes: Records, v: int) -> int:
    """Return the key of the leaf to the right of v, ``KEY_SPACE`` if there is none."""
    return next_key(nodes, v, nodes.shape[0] - 1, KEY_SPACE)


@kernel
def best_gains(state: State, scratch: Scratch, tried: Ints, gains: Floats) -> None:
    """Set gains[k] to the gain of the best move of subtree tried[k], without changing the tree."""
    region_parent = state.nodes.shape[0] - 1
    scratch.counts.low, scratch.counts.high = 0, KEY_SPACE
    for k in range(tried.shape[0]):
        gains[k] = 0.0
        if state.nodes[tried[k]].parent != region_parent:
            _, gains[k] = best_regraft(state, scratch, tried[k], region_parent)


@kernel
def insert_leaves(state: State, scratch: Scratch, new: Ints, spare: Ints) -> None:
    """Insert the leaves ``new`` one by one at their cheapest positions; inner node spare[k] joins new[k] to the tree."""
    nodes = state.nodes
    region_parent = nodes.shape[0] - 1
    scratch.counts.low, scratch.counts.high = 0, KEY_SPACE
    for k in range(new.shape[0]):
        A, root = new[k], nodes[region_parent].left
        nodes[A].parent = root  # so that `prepare_weights` finds the region
        append_leaf(state, A)
        graft(state, scratch, A, spare[k], cheapest_insertion(state, scratch, A), region_parent)
        finish_move(state, scratch, A, nodes[region_parent].left, position(state, root), region_parent)


@kernel
def find_clusters(state: State, scratch: Scratch, new: Ints, cluster: Ints, joined: Ints) -> None:
    """Set joined[k] to the cluster of the cheapest position of the unconnected leaf new[k]. Changes no other node.

    cluster[v] is the cluster that contains all of v, −1 above clusters. Of several clusters below a position, the most similar.
    """
    nodes, work = state.nodes, scratch.work
    root = nodes[nodes.shape[0] - 1].left
    scratch.counts.low, scratch.counts.high = 0, KEY_SPACE
    for k in range(new.shape[0]):
        A = new[k]
        nodes[A].parent = root  # so that `prepare_weights` finds the region
        append_leaf(state, A)
        work[0].node = cheapest_insertion(state, scratch, A)
        top, highest = 1, -np.inf
        while top > 0:
            top -= 1
            v = work[top].node
            if cluster[v] < 0:
                work[top].node, work[top + 1].node = nodes[v].right, nodes[v].left
                top += 2
            elif weight(state, scratch, A, v) / nodes[v].points > highest:
                joined[k], highest = cluster[v], weight(state, scratch, A, v) / nodes[v].points


@kernel
def count_leaves(nodes: Records) -> Ints:
    """Return the number of leaves below each node."""
    n = nodes.shape[0] // 2
    leaves = np.zeros(2 * n, dtype=np.int64)
    leaves[:n] = 1
    for leaf in range(n):
        v = leaf
        while True:  # pass the count up; continue only when both children are counted
            p = nodes[v].parent
            complete = leaves[p] != 0
            leaves[p] += leaves[v]
            if not complete:
                break
            v = p
    return leaves


@kernel
def largest_subtrees(nodes: Records, scratch: Scratch, leaves: Ints, limit: int) -> Ints:
    """Return the largest subtrees of at most ``limit`` leaves, from left to right; ``leaves`` is from ``count_leaves``."""
    work = scratch.work
    found = np.empty(nodes.shape[0] // 2, dtype=np.int64)
    work[0].node = nodes[nodes.shape[0] - 1].left
    top, n_found = 1, 0
    while top > 0:
        top -= 1
        v = work[top].node
        if leaves[v] <= limit:
            found[n_found] = v
            n_found += 1
        else:
            work[top].node, work[top + 1].node = nodes[v].right, nodes[v].left
            top += 2
    return found[:n_found]


@kernel
def leaves_below(nodes: Records, scratch: Scratch, v: int, n_leaves: int) -> Ints:
    """Return the leaves below v from left to right."""
    work = scratch.work
    found = np.empty(n_leaves, dtype=np.int64)
    work[0].node = v
    top, n_found = 1, 0
    while top > 0:
        top -= 1
        u = work[top].node
        if nodes[u].left < 0:
            found[n_found] = u
            n_found += 1
        else:
            work[top].node, work[top + 1].node = nodes[u].right, nodes[u].left
            top += 2
    return found


@kernel
def merge_order(nodes: Records, scratch: Scratch) -> Ints:
    """Return the inner nodes in depth-first order, children before parents."""
    work = scratch.work
    n = nodes.shape[0] // 2
    order = np.empty(n - 1, dtype=np.int64)
    work[0].node = nodes[2 * n - 1].left
    top, left = 1, n - 1
    while top > 0:
        top -= 1
        v = work[top].node
        if nodes[v].left >= 0:
            left -= 1
            order[left] = v
            work[top].node, work[top + 1].node = nodes[v].left, nodes[v].right
            top += 2
    return order
