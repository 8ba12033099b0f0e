"""Lowest common ancestors as range maxima.

Write the leaves in depth-first order and, between neighbours p and p + 1, the merge that first joins them. A parent's merge comes
after its children's, so the LCA of two positions is the largest merge written between them. A sparse table over blocks of
2**BLOCK_BITS entries answers that in O(1) with O(n) memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ..._shared.arrays import Ints

Merges = npt.NDArray[np.int32]

BLOCK_BITS = 5  # 32 merges of 4 bytes: a query scans at most two pairs of cache lines


@njit(cache=True, nogil=True)
def block_table(merges: Merges) -> Merges:
    """table[k, b] is the largest merge in blocks b … b + 2**k − 1."""
    n_blocks = (merges.shape[0] >> BLOCK_BITS) + 1
    n_levels = 1
    while (1 << n_levels) <= n_blocks:
        n_levels += 1
    table = np.full((n_levels, n_blocks), -1, dtype=np.int32)
    for p in range(merges.shape[0]):
        block = p >> BLOCK_BITS
        table[0, block] = max(table[0, block], merges[p])
    for k in range(1, n_levels):
        half = 1 << (k - 1)
        for b in range(n_blocks - 2 * half + 1):
            table[k, b] = max(table[k - 1, b], table[k - 1, b + half])
    return table


@njit(cache=True, nogil=True, inline="always")
def largest_between(merges: Merges, table: Merges, left: int, right: int) -> int:
    """The largest of merges[left : right]; the range is not empty."""
    best = -1
    left_block, right_block = left >> BLOCK_BITS, (right - 1) >> BLOCK_BITS
    if left_block == right_block:
        for p in range(left, right):
            best = max(best, merges[p])
        return best
    for p in range(left, (left_block + 1) << BLOCK_BITS):
        best = max(best, merges[p])
    for p in range(right_block << BLOCK_BITS, right):
        best = max(best, merges[p])
    n_inner = right_block - left_block - 1
    if n_inner > 0:
        k = 0
        while (2 << k) <= n_inner:
            k += 1
        best = max(best, table[k, left_block + 1], table[k, right_block - (1 << k)])
    return best


@njit(cache=True, nogil=True)
def lca_merges(merges: Merges, table: Merges, left: Ints, right: Ints) -> Ints:
    """For each half-open range of positions [left, right) the merge that joins it all; −1 for a single leaf."""
    found = np.empty(left.shape[0], dtype=np.int64)
    for q in range(left.shape[0]):
        if right[q] - left[q] < 2:
            found[q] = -1
        else:
            found[q] = largest_between(merges, table, left[q], right[q] - 1)
    return found
