"""Single linkage from a spanning tree: its edges, shortest first, are the merges of the tree."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints
from ..._runtime.jit import kernel


@kernel
def spanning_tree_merges(heads: Ints, tails: Ints) -> Ints:
    """Return the merges made by adding the edges of a spanning tree one after the other; union-find, near O(n)."""
    n = heads.shape[0] + 1
    merges = np.empty((n - 1, 2), np.int64)
    parent = np.arange(2 * n - 1)
    for t in range(n - 1):
        for side in range(2):
            node = heads[t] if side == 0 else tails[t]
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            merges[t, side] = node
            parent[node] = n + t
    return merges
