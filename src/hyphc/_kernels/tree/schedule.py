"""Kernel of a post-order of a tree in which at most log2(n) + 2 partial sums are needed at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel

Steps = npt.NDArray[np.int32]  # half the memory traffic of int64, and enough for 2³¹ nodes

# Size, first leaf and first merge side by side: access is random, and one cache line holds all three.
NODE = record_dtype(("n_leaves", np.int32), ("leaf", np.int32), ("merge", np.int32), ("padding", np.int32))


def heavy_first_schedule(children: Ints) -> tuple[Steps, Steps, Steps]:
    """Return the leaves (n,) and the merges (n − 1,) in post-order, larger child first, and the merges after each leaf (n,).

    At most log2(n) + 2 subtrees are open at any time, for every shape of tree.
    """
    n = len(children) + 1
    nodes = np.zeros(2 * n - 1, dtype=NODE)
    nodes["n_leaves"][:n] = 1
    leaves, merges, n_closing = np.empty(n, np.int32), np.empty(n - 1, np.int32), np.zeros(n, np.int32)
    _schedule(children, nodes, merges, n_closing)
    leaves[nodes["leaf"][:n]] = np.arange(n)
    return leaves, merges, n_closing


@kernel
def _schedule(children: Ints, nodes: Records, merges: Steps, n_closing: Steps) -> None:
    n = children.shape[0] + 1
    for t in range(n - 1):
        nodes[n + t].n_leaves = nodes[children[t, 0]].n_leaves + nodes[children[t, 1]].n_leaves
    for t in range(n - 2, -1, -1):
        size, leaf, merge = nodes[n + t].n_leaves, nodes[n + t].leaf, nodes[n + t].merge
        heavy, light = children[t, 0], children[t, 1]
        if 2 * nodes[heavy].n_leaves < size:
            heavy, light = light, heavy
        n_heavy = nodes[heavy].n_leaves
        nodes[heavy].leaf = leaf
        nodes[heavy].merge = merge
        nodes[light].leaf = leaf + n_heavy
        nodes[light].merge = merge + n_heavy - 1
        merges[merge + size - 2] = t
        n_closing[leaf + size - 1] += 1
