"""Kernels of lowest common ancestors, found as range maxima.

List the leaves in depth-first order and, between neighbours p and p + 1, the merge that first joins them. A parent's merge comes
after its children's, so the LCA of two positions is the largest merge listed between them. A sparse table over blocks of
2**BLOCK_BITS entries finds it in O(1) with O(n) memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Ints
from ..._runtime.jit import kernel, part

Merges = npt.NDArray[np.int32]

BLOCK_BITS = 5  # 32 merges of 4 bytes: a query scans at most two pairs of cache lines


def block_table(merges: Merges) -> Merges:
    """Return table[k, b], the largest merge in blocks b … b + 2**k − 1."""
    n_blocks = (len(merges) >> BLOCK_BITS) + 1
    padded = np.full(n_blocks << BLOCK_BITS, -1, dtype=np.int32)
    padded[: len(merges)] = merges
    table = np.full((n_blocks.bit_length(), n_blocks), -1, dtype=np.int32)
    table[0] = padded.reshape(n_blocks, -1).max(axis=1)
    for k in range(1, len(table)):
        half = 1 << (k - 1)
        whole = n_blocks - 2 * half + 1
        np.maximum(table[k - 1, :whole], table[k - 1, half : half + whole], out=table[k, :whole])
    return table


@part(inline="always")
def largest_between(merges: Merges, table: Merges, left: int, right: int) -> int:
    """Return the largest of merges[left : right]; the range is not empty."""
    best = -1
    left_block, right_block = left >> BLOCK_BITS, (right - 1) >> BLOCK_BITS
    end = right if left_block == right_block else (left_block + 1) << BLOCK_BITS
    for p in range(left, end):
        if merges[p] > best:
            best = merges[p]
    if left_block == right_block:
        return best
    for p in range(right_block << BLOCK_BITS, right):
        if merges[p] > best:
            best = merges[p]
    n_inner = right_block - left_block - 1
    if n_inner > 0:
        k = 0
        while (2 << k) <= n_inner:
            k += 1
        for b in (left_block + 1, right_block - (1 << k)):
            if table[k, b] > best:
                best = table[k, b]
    return best


def lca_merges(merges: Merges, table: Merges, left: Ints, right: Ints) -> Ints:
    """Return the merge that joins each half-open range of positions [left, right); −1 for a single leaf."""
    found = np.empty(len(left), dtype=np.int64)
    _find_merges(merges, table, left, right, found)
    return found


@kernel
def _find_merges(merges: Merges, table: Merges, left: Ints, right: Ints, found: Ints) -> None:
    for q in range(left.shape[0]):
        found[q] = largest_between(merges, table, left[q], right[q] - 1) if right[q] - left[q] > 1 else -1


@kernel
def edge_merges(
    merges: Merges, table: Merges, first: Ints, indptr: Ints, indices: Merges, begin: int, end: int, found: Merges
) -> None:
    """Fill in the merge that joins the ends of each edge i < j in rows begin … end − 1 of a graph, −1 for edges j < i.

    ``first`` are the positions of the leaves.
    """
    for i in range(begin, end):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if i < j:
                left, right = min(first[i], first[j]), max(first[i], first[j])
                found[e] = largest_between(merges, table, left, right)
            else:
                found[e] = -1
