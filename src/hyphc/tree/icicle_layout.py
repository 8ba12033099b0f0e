"""Layout of the groups of a condensed tree in a picture: one icicle each, whose width is the number of its points.

An icicle hangs from the height at which its group splits off and ends where the group splits or its last points fall out. Points
that fall out narrow it on both sides alike. Below a split the two groups stand side by side, in leaf order, with a gap between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import smallest_leaves
from .._runtime.arrays import Floats, Ints
from .condense import CondensedTree, condense_at, is_split
from .core import Tree
from .prunings import count_below

# Groups below this share of all points are too narrow to see; they fall out, unless they are wanted.
LEAST_SHARE = 1 / 2000
# Where more heights than this narrow the icicles, they are rounded down to as many levels.
MOST_STEPS = 1000
# Gaps between siblings, as shares of all points: each one at most, and all of them together.
LARGEST_GAP, ALL_GAPS = 0.02, 0.25

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Icicles:
    """One icicle a group, from the top down: the root first, then both groups of each split, the highest split first.

    Attributes
    ----------
    nodes : array (m,)
        The node at the top of each group.
    parents : array (m,)
        The place of the parent's group among ``nodes``, −1 for the root.
    points : array (m,)
        Points of each group at its top, which is the width of its icicle there.
    middles : array (m,)
        Where the middle of each icicle stands; the picture begins at 0 and ends at ``width``.
    tops, ends : array (m,)
        Heights at which each group begins and ends; a group of one leaf ends at 0.
    corners : list of arrays (corners, 2)
        The outline of each icicle, (x, height).
    width : float
    """

    nodes: Ints
    parents: Ints
    points: Floats
    middles: Floats
    tops: Floats
    ends: Floats
    corners: list[Floats]
    width: float


def visible_condensed(tree: Tree, min_size: float | None, wanted: Bools) -> CondensedTree:
    """Return the condensed tree without splits too small to see, but with all ``wanted`` merges, (n − 1,), as splits."""
    smaller = tree._points[tree._children].min(axis=1, initial=np.inf)
    seen = is_split(tree, min_size) & (smaller >= LEAST_SHARE * tree._points[-1])
    return condense_at(tree, min_size, seen | wanted)


def cluster_cores(tree: Tree, labels: Ints) -> Ints:
    """Return for each label 0, 1, … the node with the most points of those whose leaves all have that label."""
    lowest = smallest_leaves(tree._children, labels)
    uniform = np.flatnonzero(lowest == -smallest_leaves(tree._children, -labels))
    order = uniform[np.lexsort((-uniform, -tree._points[uniform], lowest[uniform]))]
    return np.asarray(order[np.unique(lowest[order], return_index=True)[1]])


def merges_between(tree: Tree, nodes: Ints) -> Bools:
    """Return for each merge whether both of its sides contain one of the nodes, of which none contains another: (n − 1,)."""
    return np.asarray((count_below(tree, nodes)[tree._children] > 0).all(axis=1))


def enclosing(tree: Tree, nodes: Ints, cores: Ints) -> Ints:
    """Return for each node the place among ``cores``, of which none contains another, of the one at or above it; −1: none."""
    order = np.argsort(tree._first[cores])
    at = np.searchsorted(tree._first[cores[order]], tree._first[nodes], side="right") - 1
    found = order[np.maximum(at, 0)]
    ends = tree._first + tree.sizes
    return np.where((at >= 0) & (ends[nodes] <= ends[cores[found]]), found, -1)


def icicles(condensed: CondensedTree) -> Icicles:
    """Return where the groups of a condensed tree stand: O(n log n) time, without recursion."""
    tree = condensed.tree
    child, parent, height = condensed.groups()
    root = 2 * tree.n_leaves - 2
    nodes = np.append(root, child).astype(np.int64)
    place = np.full(root + 1, -1)
    place[nodes] = np.arange(len(nodes))
    parents = np.append(-1, place[parent]).astype(np.int64)
    points = tree._points[nodes]
    tops = np.append(tree._heights[-1:] if len(tree._heights) else 0.0, height)
    group, leaving = place[condensed.cluster[: tree.n_leaves]], _leaving_heights(condensed)
    ends = tops.copy()
    np.minimum.at(ends, group, leaving)
    ends[parents[1:]] = tops[1:]
    middles, width = _stand_side_by_side(points, parents)
    steps = _steps(group, _rounded(leaving, tops[group], ends[group]), tree._points[: tree.n_leaves], points)
    corners = [_outline(*at) for at in zip(*steps, middles, points, tops, ends, strict=True)]
    return Icicles(nodes, parents, points, middles, tops, ends, corners, width)


def _leaving_heights(condensed: CondensedTree) -> Floats:
    """Return the heights at which leaves leave their groups, (n,); 0 for a leaf that is a group."""
    n = condensed.tree.n_leaves
    return np.where(condensed.cluster[:n] == np.arange(n), 0.0, condensed.leaving_height)


def _rounded(heights: Floats, highest: Floats, lowest: Floats) -> Floats:
    """Return the heights rounded down to ``MOST_STEPS`` levels where there are more, each kept between its bounds."""
    bottom, top = float(heights.min()), float(heights.max())
    if len(heights) <= MOST_STEPS or top <= bottom:
        return heights
    step = (top - bottom) / MOST_STEPS
    return np.clip(bottom + np.floor((heights - bottom) / step) * step, lowest, highest)


def _stand_side_by_side(points: Floats, parents: Ints) -> tuple[Floats, float]:
    """Return the middles of the groups, and the width of all: a group has room for itself and for all groups below it."""
    gap = float(points[0]) * min(LARGEST_GAP, ALL_GAPS / max(len(points) // 2, 1))
    room, owner = points.tolist(), parents.tolist()
    firsts = range(1, len(room), 2)  # of the two groups of each split; those of higher splits come first
    for k in reversed(firsts):
        room[owner[k]] = max(room[owner[k]], room[k] + gap + room[k + 1])
    middles = [room[0] / 2] * len(room)
    for k in firsts:
        left = middles[owner[k]] - (room[k] + gap + room[k + 1]) / 2
        middles[k] = left + room[k] / 2
        middles[k + 1] = left + room[k] + gap + room[k + 1] / 2
    return np.array(middles), room[0]


def _steps(group: Ints, heights: Floats, lost: Floats, points: Floats) -> tuple[list[Floats], list[Floats]]:
    """Return for each group the heights at which it loses points, falling, and the points left below each of them."""
    order = np.lexsort((-heights, group))
    group, heights = group[order], heights[order]
    at = np.flatnonzero(np.append(True, (np.diff(group) != 0) | (np.diff(heights) != 0)))
    total = np.cumsum(np.add.reduceat(lost[order], at))
    starts = np.searchsorted(group[at], np.arange(len(points)))
    left = (points + np.append(0.0, total)[starts])[group[at]] - total
    return np.split(heights[at], starts[1:]), np.split(np.maximum(left, 0.0), starts[1:])


def _outline(heights: Floats, left: Floats, middle: float, points: float, top: float, end: float) -> Floats:
    """Return the corners of an icicle: down its right side step by step, and up its left side."""
    levels = np.concatenate([[top], np.repeat(heights, 2), [end]])
    half = np.repeat(np.append(points, left), 2) / 2
    right = np.column_stack([middle + half, levels])
    return np.concatenate([right, np.column_stack([middle - half, levels])[::-1]])
