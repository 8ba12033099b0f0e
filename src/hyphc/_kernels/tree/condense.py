"""Passes over a tree some of whose merges are undone: the flat cluster of each leaf, and where it leaves the condensed tree.

A merge counts as a split or not. Where it does not, its smaller side falls out, and contains no split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part

Bools = npt.NDArray[np.bool_]


def close_splits(children: Ints, points: Floats, splits: Bools) -> Bools:
    """Return the splits, and every merge whose smaller side contains one: (n − 1,)."""
    closed, contains = splits.copy(), np.zeros(len(points), dtype=np.bool_)
    _close(children, points, closed, contains)
    return closed


def assign_leaves(children: Ints, points: Floats, undone: Bools) -> tuple[Ints, Bools]:
    """Return the node that is the core of each leaf's cluster, (n,), and whether the leaf fell out above that core, (n,)."""
    n = len(children) + 1
    core = np.arange(2 * n - 1)
    contains, fell = np.zeros(2 * n - 1, dtype=np.bool_), np.zeros(2 * n - 1, dtype=np.bool_)
    _find_cores(children, points, undone, contains, core)
    _assign_down(children, points, undone, contains, core, fell)
    return core[:n].copy(), fell[:n].copy()


def leaving_heights(
    children: Ints, points: Floats, heights: Floats, splits: Bools, least: float, tops: Bools
) -> tuple[Ints, Floats]:
    """Return for each node the condensed cluster that it belongs to, and for each leaf the height at which it leaves its own.

    A cluster is the node at its top: the root, a side of a split, or one of ``tops``. It ends, and all of its points fall out,
    where no side of a merge has ``least`` points or a split below it.
    """
    n = len(children) + 1
    cluster, height = np.full(2 * n - 1, -1), np.zeros(2 * n - 1)
    alive, contains = np.zeros(2 * n - 1, dtype=np.bool_), np.zeros(2 * n - 1, dtype=np.bool_)
    _close(children, points, splits.copy(), contains)
    lasts = contains | (points >= least)
    _fall_out(children, points, heights, splits, lasts, tops, cluster, height, alive)
    return cluster, height[:n].copy()


def monotone_heights(children: Ints, heights: Floats, splits: Bools) -> Floats:
    """Return heights that never fall towards the root: splits are raised to splits only, others stay below the next split."""
    n = len(children) + 1
    levels, highest = np.full(2 * n - 1, -np.inf), np.full(2 * n - 1, -np.inf)
    _raise_and_cap(children, heights, splits, levels, highest)
    return levels[n:].copy()


@part
def _by_size(children: Ints, points: Floats, t: int) -> tuple[int, int]:
    """The children of merge t, the one with more points first; of equal ones the first."""
    a, b = children[t, 0], children[t, 1]
    return (a, b) if points[a] >= points[b] else (b, a)


@kernel
def _close(children: Ints, points: Floats, splits: Bools, contains: Bools) -> None:
    n = children.shape[0] + 1
    for t in range(n - 1):
        large, small = _by_size(children, points, t)
        splits[t] |= contains[small]
        contains[n + t] = splits[t] or contains[large]


@kernel
def _find_cores(children: Ints, points: Floats, undone: Bools, contains: Bools, core: Ints) -> None:
    """Below a node that contains an undone merge, its core is that of the larger side, again and again."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        large, _ = _by_size(children, points, t)
        contains[n + t] = undone[t] or contains[large]
        if contains[n + t]:
            core[n + t] = core[large]


@kernel
def _assign_down(children: Ints, points: Floats, undone: Bools, contains: Bools, core: Ints, fell: Bools) -> None:
    """A part that falls out joins the core of its sibling; whatever has no undone merge below it is one cluster."""
    n = children.shape[0] + 1
    for t in range(n - 2, -1, -1):
        large, small = _by_size(children, points, t)
        if not contains[n + t]:
            core[large] = core[small] = core[n + t]
            fell[large] = fell[small] = fell[n + t]
        elif not undone[t]:
            core[small], fell[small] = core[large], True


@kernel
def _fall_out(
    children: Ints,
    points: Floats,
    heights: Floats,
    splits: Bools,
    lasts: Bools,
    tops: Bools,
    cluster: Ints,
    height: Floats,
    alive: Bools,
) -> None:
    """``lasts`` says of each node whether a cluster goes on where it is the larger side."""
    n = children.shape[0] + 1
    root = 2 * n - 2
    cluster[root], alive[root] = root, True
    for t in range(n - 2, -1, -1):
        v = n + t
        large, small = _by_size(children, points, t)
        for child in (large, small):
            cluster[child], height[child] = cluster[v], height[v]
            if alive[v] or tops[child]:
                height[child] = heights[t]
        if alive[v] and splits[t]:
            cluster[large], cluster[small] = large, small
            alive[large], alive[small] = True, True
        elif alive[v]:
            alive[large] = lasts[large]
        for child in (large, small):
            if tops[child]:
                cluster[child], alive[child] = child, True


@kernel
def _raise_and_cap(children: Ints, heights: Floats, splits: Bools, levels: Floats, highest: Floats) -> None:
    """``highest`` is the height of the highest split at or below a node."""
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
