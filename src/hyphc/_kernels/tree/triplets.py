"""Kernel that counts the triplets that two trees resolve alike."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel, part
from .lca import Merges, largest_between
from .passes import Shape

# A subtree of the second tree, open on the stack: the merge that closes it, and its leaves from either side of the split.
OPEN = record_dtype(("bound", np.int64), ("ones", np.int64), ("others", np.int64))


@kernel
def shared_triplets(tree: Shape, positions: Ints, merges: Merges, table: Merges) -> tuple[int, float]:
    """Return twice the number of triplets that a tree and a second one, (merges, table), resolve alike: modulo 2⁶⁴, and about.

    Ten million leaves have 10²⁰ triplets, more than 64 bits hold; both numbers together are exact (``exact_count``).
    ``positions`` holds, in the first tree's leaf order, each leaf's position in the second; it is sorted in place within each
    subtree from the bottom up. O(Σ sizes) time: n log n for balanced first trees, n² for chains.
    """
    n = positions.shape[0]
    merged, sides, stack = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=OPEN)
    shared, about = 0, 0.0
    for t in range(n - 1):
        b = tree.children[t, 1]
        low, middle, high = tree.first[n + t], tree.first[b], tree.first[b] + tree.sizes[b]
        p, q = low, middle
        for m in range(high - low):
            sides[m] = 0 if q == high or (p < middle and positions[p] < positions[q]) else 1
            merged[m] = positions[q if sides[m] else p]
            p, q = p + 1 - sides[m], q + sides[m]
        for m in range(high - low):
            positions[low + m] = merged[m]
        low_bits, size = _alike_at_split(merged[: high - low], sides, stack, merges, table)
        shared += low_bits
        about += size
    return shared, about


@part
def _alike_at_split(positions: Ints, sides: Ints, stack: Records, merges: Merges, table: Merges) -> tuple[int, float]:
    """Return twice the triplets with two leaves on one side of a split that the second tree joins the same way.

    The second tree restricted to ``positions`` is the Cartesian tree of the merges between them; it is folded on a stack.
    """
    shared, about = 0, 0.0
    top = -1
    for m in range(positions.shape[0] + 1):
        bound = 1 << 62  # past the end: fold everything
        if 0 < m < positions.shape[0]:
            bound = largest_between(merges, table, positions[m - 1], positions[m])
        while top > 0 and stack[top].bound < bound:
            l0, l1 = stack[top - 1].ones, stack[top - 1].others
            r0, r1 = stack[top].ones, stack[top].others
            ones, others = l0 * (l0 - 1), l1 * (l1 - 1)
            ones_right, others_right = r0 * (r0 - 1), r1 * (r1 - 1)
            shared += ones * r1 + ones_right * l1 + others * r0 + others_right * l0
            about += float(ones) * r1 + float(ones_right) * l1 + float(others) * r0 + float(others_right) * l0
            stack[top - 1].ones += r0
            stack[top - 1].others += r1
            top -= 1
        if m < positions.shape[0]:
            top += 1
            stack[top].bound = bound
            stack[top].ones = 1 - sides[m]
            stack[top].others = sides[m]
    return shared, about
