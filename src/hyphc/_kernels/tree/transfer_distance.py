"""Transfer distances of all clusters of a tree to another tree, in near-linear time by heavy paths and segment trees."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel, part
from .passes import Shape, larger_first, light_sibling

# Place of a node: highest node of its heavy path, steps below that node, last node of the path.
PLACE = record_dtype(("top", np.int64), ("step", np.int64), ("leaf", np.int64))
# Slot of a node in the segment tree over its heavy path, and the node above that path.
SLOT = record_dtype(("begin", np.int64), ("slot", np.int64), ("above", np.int64))
# A node of a segment tree: the sum of its entries, and the least sum of the entries from one of them to its end.
SEGMENT = record_dtype(("total", np.int64), ("least", np.int64))
NOTHING = np.iinfo(np.int64).max // 4  # more than any sum: the value of empty slots


def transfer_distances(tree: Shape, other: Shape) -> Ints:
    """Return min over clusters B of another tree of |A △ B|, for each merge's cluster A: (n − 1,).

    |A △ B| = |A| + |B| − 2|A ∩ B|. While A grows leaf by leaf, from the end of a heavy path of its tree up, |B| − 2|A ∩ B|
    falls by 2 on the path from that leaf to the other tree's root, so its minimum only falls. That path is a prefix of each of
    at most log2(n) + 1 heavy paths; with the differences of neighbours as entries a prefix changes one of them, and the least
    value on a path is the least sum of a suffix. Each leaf is added at most log2(n) + 1 times: O(n log³ n) for any two trees.
    """
    distances = np.zeros(len(tree.children), dtype=np.int64)
    _measure(tree, *_segment_trees(other), distances)
    return distances


def _segment_trees(tree: Shape) -> tuple[Records, Records]:
    """Return the slots of the nodes, and a segment tree for each heavy path, with entries |B| − |the next B below|."""
    n = len(tree.order)
    places = np.zeros(2 * n - 1, dtype=PLACE)
    places["leaf"][:n], places["top"] = np.arange(n), np.arange(2 * n - 1)
    _place_nodes(tree.children, tree.sizes, places)
    tops = np.flatnonzero(places["top"] == np.arange(2 * n - 1))
    widths = 1 << np.ceil(np.log2(1 + places["step"][places["leaf"][tops]])).astype(np.int64)
    bases = np.cumsum(2 * widths) - 2 * widths
    number = np.searchsorted(tops, places["top"])
    slots = np.zeros(2 * n - 1, dtype=SLOT)
    slots["begin"], slots["slot"] = bases[number], widths[number] + places["step"]
    slots["above"] = tree.parents[places["top"]]
    segments = np.zeros(int(2 * widths.sum()), dtype=SEGMENT)
    segments["least"] = NOTHING
    entries = slots["begin"] + slots["slot"]
    segments["total"][entries] = np.append(np.ones(n, dtype=np.int64), tree.sizes[tree.children].min(axis=1))
    segments["least"][entries] = segments["total"][entries]
    _sum_up(bases, widths, segments)
    return slots, segments


@kernel
def _place_nodes(children: Ints, sizes: Ints, places: Records) -> None:
    """Fill in the leaf of each path from the leaves up, and the top and the steps from the root down."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        heavy, _ = larger_first(children, sizes, t)
        places[n + t].leaf = places[heavy].leaf
    for t in range(n - 2, -1, -1):
        heavy, _ = larger_first(children, sizes, t)
        places[heavy].top = places[n + t].top
        places[heavy].step = places[n + t].step + 1


@kernel
def _sum_up(bases: Ints, widths: Ints, segments: Records) -> None:
    for path in range(bases.shape[0]):
        for slot in range(widths[path] - 1, 0, -1):
            _combine(segments, bases[path], slot)


@part
def _combine(segments: Records, base: int, slot: int) -> None:
    left, right = segments[base + 2 * slot], segments[base + 2 * slot + 1]
    segments[base + slot].total = left.total + right.total
    segments[base + slot].least = min(left.least + right.total, right.least)


@part
def _shift(leaf: int, change: int, slots: Records, segments: Records) -> int:
    """Add ``change`` to the values of all nodes above the leaf; return the least value on the paths concerned."""
    least = NOTHING
    v = leaf
    while v >= 0:
        base, slot = slots[v].begin, slots[v].slot
        segments[base + slot].total += change
        segments[base + slot].least += change
        slot >>= 1
        while slot > 0:
            _combine(segments, base, slot)
            slot >>= 1
        least = min(least, segments[base + 1].least)
        v = slots[v].above
    return least


@kernel
def _measure(tree: Shape, slots: Records, segments: Records, distances: Ints) -> None:
    n, first, sizes = tree.order.shape[0], tree.first, tree.sizes
    for leaf in range(n):
        v, light = leaf, light_sibling(tree, leaf)
        if light < 0:
            continue
        least = _shift(leaf, -2, slots, segments)
        while light >= 0:
            for place in range(first[light], first[light] + sizes[light]):
                least = min(least, _shift(tree.order[place], -2, slots, segments))
            v = tree.parents[v]
            distances[v - n] = sizes[v] + least
            light = light_sibling(tree, v)
        for place in range(first[v], first[v] + sizes[v]):
            _shift(tree.order[place], 2, slots, segments)
