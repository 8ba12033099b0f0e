"""Kernels of condensed trees: the flat cluster of each leaf, and where it leaves the condensed tree.

A merge counts as a split or not. Where it does not, its smaller side falls out, and contains no split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel
from .passes import larger_first

Bools = npt.NDArray[np.bool_]

# A node: the top of its cluster, the height at which it leaves its cluster, and whether the cluster continues through it.
NODE = record_dtype(("cluster", np.int64), ("height", np.float64), ("alive", np.bool_))


def leaving_heights(
    children: Ints, points: Floats, heights: Floats, splits: Bools, least: float, tops: Bools
) -> tuple[Ints, Floats]:
    """Return the condensed cluster of each node, (2n − 1,), and the height at which each leaf leaves its own, (n,).

    A cluster is the node at its top: the root, a side of a split, or one of ``tops``. It ends, and all of its points fall out,
    where no side of a merge has ``least`` points or a split below it.
    """
    nodes, contains = np.zeros(len(points), dtype=NODE), np.zeros(len(points), dtype=np.bool_)
    close_splits(children, points, splits.copy(), contains)
    _fall_out(children, points, heights, splits, contains | (points >= least), tops, nodes)
    return nodes["cluster"].copy(), nodes["height"][: len(children) + 1].copy()


@kernel
def close_splits(children: Ints, points: Floats, splits: Bools, contains: Bools) -> None:
    """Make every merge whose smaller side contains a split one; fill in which nodes contain a split, given as False."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        large, small = larger_first(children, points, t)
        splits[t] |= contains[small]
        contains[n + t] = splits[t] or contains[large]


@kernel
def assign_leaves(children: Ints, points: Floats, undone: Bools, contains: Bools, core: Ints, fell: Bools) -> None:
    """Fill in the node that is the core of each node's cluster, and whether the node fell out above that core.

    Given are core = 0 … 2n − 2 and False. The core of a node that contains an undone merge is that of its larger side, down to
    the last undone merge. A part that falls out joins the core of its sibling; a node without an undone merge is one cluster.
    """
    n = children.shape[0] + 1
    for t in range(n - 1):
        large, _ = larger_first(children, points, t)
        contains[n + t] = undone[t] or contains[large]
        if contains[n + t]:
            core[n + t] = core[large]
    for t in range(n - 2, -1, -1):
        large, small = larger_first(children, points, t)
        if not contains[n + t]:
            core[large] = core[small] = core[n + t]
            fell[large] = fell[small] = fell[n + t]
        elif not undone[t]:
            core[small], fell[small] = core[large], True


@kernel
def _fall_out(
    children: Ints, points: Floats, heights: Floats, splits: Bools, lasts: Bools, tops: Bools, nodes: Records
) -> None:
    """Fill in the nodes from the root down; ``lasts`` says whether a cluster continues where a node is the larger side."""
    n = children.shape[0] + 1
    nodes[2 * n - 2].cluster, nodes[2 * n - 2].alive = 2 * n - 2, True
    for t in range(n - 2, -1, -1):
        node = nodes[n + t]
        large, small = larger_first(children, points, t)
        for child in (large, small):
            is_top = tops[child] or (node.alive and splits[t])
            nodes[child].cluster = child if is_top else node.cluster
            nodes[child].height = heights[t] if node.alive or tops[child] else node.height
            nodes[child].alive = is_top or (node.alive and child == large and lasts[large])


@kernel
def raise_and_cap(children: Ints, heights: Floats, splits: Bools, levels: Floats, highest: Floats) -> None:
    """Fill in monotone heights, given as −inf for leaves; ``highest`` is that of the highest split at or below a node."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        a, b = children[t, 0], children[t, 1]
        highest[n + t] = max(highest[a], highest[b])
        if splits[t]:
            highest[n + t] = max(highest[n + t], heights[t])
            levels[n + t] = highest[n + t]
        else:
            levels[n + t] = max(heights[t], max(levels[a], levels[b]))
    for t in range(n - 2, -1, -1):
        for c in children[t]:
            levels[c] = min(levels[c], levels[n + t])
