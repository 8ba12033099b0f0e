"""Kernel that builds a tree from clusters, one at a time: a cluster that contradicts earlier ones is left out."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

# A node of the growing tree: its parent, its leaves, and how many of them lie below children that the current cluster fills.
NODE = record_dtype(("parent", np.int64), ("n_leaves", np.int64), ("n_filled", np.int64))


def grow_tree(n: int, members: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the parents of the nodes, and the clusters that were inserted, in order; the tree has n ≥ 2 leaves.

    Cluster k is members[starts[k]] …, sizes[k] leaves. Nodes 0 … n − 1 are the leaves, n is the root, and each cluster that is
    inserted makes the next. A cluster fits iff it is a union of children of one node: that is tested from its leaves up,
    through the nodes that it fills, in O(its leaves).
    """
    nodes = np.zeros(2 * n, dtype=NODE)
    nodes["parent"][:n], nodes["n_leaves"][:n] = n, 1
    nodes["parent"][n], nodes["n_leaves"][n] = -1, n
    taken, queue = np.zeros(len(starts), dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    count = _grow(n, members, starts, sizes, nodes, queue, taken)
    return nodes["parent"][:count].copy(), np.flatnonzero(taken)


@kernel
def _grow(n: int, members: Ints, starts: Ints, sizes: Ints, nodes: Records, queue: Ints, taken: Ints) -> int:
    count = n + 1
    for k in range(starts.shape[0]):
        if count == 2 * n - 1:  # the tree is binary
            break
        for place in range(sizes[k]):
            queue[place] = members[starts[k] + place]
        length = _fill(nodes, queue, sizes[k])
        parent = _common_parent(nodes, queue, length)
        for place in range(length):
            v = queue[place]
            nodes[nodes[v].parent].n_filled = 0
            if nodes[v].parent == parent:
                nodes[v].parent = count
        if parent >= 0:
            nodes[count].parent = parent
            nodes[count].n_leaves = sizes[k]
            count += 1
            taken[k] = 1
    return count


@part
def _fill(nodes: Records, queue: Ints, size: int) -> int:
    """Append to the leaves of a cluster the nodes that it fills; return the length of both together."""
    length, place = size, 0
    while place < length:
        node = nodes[queue[place]]
        parent = nodes[node.parent]
        parent.n_filled += node.n_leaves
        if parent.n_filled == parent.n_leaves:
            queue[length] = node.parent
            length += 1
        place += 1
    return length


@part
def _common_parent(nodes: Records, queue: Ints, length: int) -> int:
    """Return the node of whose children the cluster is a union; −1 if there is none, or if it is a node already."""
    found, tops = -1, 0
    for place in range(length):
        p = nodes[queue[place]].parent
        if nodes[p].n_filled < nodes[p].n_leaves:
            if tops > 0 and p != found:
                return -1
            found = p
            tops += 1
    return found if tops > 1 else -1
