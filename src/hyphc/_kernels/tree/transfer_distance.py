"""How many leaves must move so that a cluster of one tree becomes one of another: for all clusters, in near-linear time."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel, part
from .heavy_paths import heavy_paths

# Where a node stands in the segment tree over its heavy path, and the node above that path.
SPOT = record_dtype(("begin", np.int64), ("slot", np.int64), ("above", np.int64))
# A node of a segment tree: the sum of its entries, and the least sum of the entries from one of them to its end.
SEGMENT = record_dtype(("total", np.int64), ("least", np.int64))
NOTHING = np.iinfo(np.int64).max // 4  # more than any sum: where a path has no node


def transfer_distances(children: Ints, sizes: Ints, first: Ints, others: Ints, other_sizes: Ints) -> Ints:
    """min over clusters B of another tree of |A △ B|, for each merge's cluster A: (n − 1,).

    |A △ B| = |A| + |B| − 2|A ∩ B|. While A grows leaf by leaf, from the end of a heavy path of its tree up, |B| − 2|A ∩ B|
    falls by 2 on the way from that leaf to the other tree's root, so its minimum only falls. That way is a prefix of each of at
    most log2(n) + 1 heavy paths; with the differences of neighbours as entries a prefix changes one of them, and the least value
    on a path is the least sum of a suffix. Each leaf is put in at most log2(n) + 1 times: O(n log³ n) for any two trees.
    """
    n = len(children) + 1
    spots, segments = _segment_trees(others, other_sizes)
    own, order = heavy_paths(children, sizes), np.empty(n, dtype=np.int64)
    order[first[:n]] = np.arange(n)
    tops = np.flatnonzero((own["top"] == np.arange(2 * n - 1)) & (sizes > 1))
    distances = np.zeros(n - 1, dtype=np.int64)
    _measure(tops, own["leaf"][tops], _parents(children), sizes, first, order, spots, segments, distances)
    return distances


def _parents(children: Ints) -> Ints:
    parents = np.full(2 * len(children) + 1, -1)
    parents[children] = np.arange(len(children) + 1, 2 * len(children) + 1)[:, None]
    return parents


def _segment_trees(children: Ints, sizes: Ints) -> tuple[Records, Records]:
    """A segment tree for each heavy path, all in one array, whose entries are |B| − |the next B below|."""
    n, places = len(children) + 1, heavy_paths(children, sizes)
    tops = np.flatnonzero(places["top"] == np.arange(2 * n - 1))
    widths = 1 << np.ceil(np.log2(1 + places["step"][places["leaf"][tops]])).astype(np.int64)
    bases = np.cumsum(2 * widths) - 2 * widths
    number = np.empty(2 * n - 1, dtype=np.int64)
    number[tops] = np.arange(len(tops))
    number = number[places["top"]]
    spots = np.zeros(2 * n - 1, dtype=SPOT)
    spots["begin"], spots["slot"] = bases[number], widths[number] + places["step"]
    spots["above"] = _parents(children)[places["top"]]
    segments = np.zeros(int(2 * widths.sum()), dtype=SEGMENT)
    segments["least"] = NOTHING
    entries = spots["begin"] + spots["slot"]
    segments["total"][entries] = np.append(np.ones(n, dtype=np.int64), sizes[children].min(axis=1))
    segments["least"][entries] = segments["total"][entries]
    _sum_up(bases, widths, segments)
    return spots, segments


@kernel
def _sum_up(bases: Ints, widths: Ints, segments: Records) -> None:
    for path in range(bases.shape[0]):
        for slot in range(widths[path] - 1, 0, -1):
            _combine(segments, bases[path], slot)


@part
def _combine(segments: Records, base: int, slot: int) -> None:
    left, right = segments[base + 2 * slot], segments[base + 2 * slot + 1]
    through = left.least + right.total
    segments[base + slot].total = left.total + right.total
    segments[base + slot].least = through if through < right.least else right.least


@part
def _shift(leaf: int, change: int, spots: Records, segments: Records) -> int:
    """Change the values of all nodes above the leaf; the least value on the paths that were touched."""
    least = NOTHING
    v = leaf
    while v >= 0:
        base, slot = spots[v].begin, spots[v].slot
        segments[base + slot].total += change
        segments[base + slot].least += change
        slot >>= 1
        while slot > 0:
            _combine(segments, base, slot)
            slot >>= 1
        if segments[base + 1].least < least:
            least = segments[base + 1].least
        v = spots[v].above
    return least


@kernel
def _measure(
    tops: Ints,
    bottoms: Ints,
    parents: Ints,
    sizes: Ints,
    first: Ints,
    order: Ints,
    spots: Records,
    segments: Records,
    distances: Ints,
) -> None:
    n = order.shape[0]
    for path in range(tops.shape[0]):
        top, v = tops[path], bottoms[path]
        least = _shift(v, -2, spots, segments)
        while v != top:
            u = parents[v]
            begin = first[v] + sizes[v] if first[v] == first[u] else first[u]
            for place in range(begin, begin + sizes[u] - sizes[v]):
                found = _shift(order[place], -2, spots, segments)
                least = found if found < least else least
            distances[u - n] = sizes[u] + least
            v = u
        for place in range(first[top], first[top] + sizes[top]):
            _shift(order[place], 2, spots, segments)
