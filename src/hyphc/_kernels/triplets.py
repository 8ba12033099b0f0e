"""Sums over triplets: the smallest and largest of three similarities, and triplets that two trees resolve alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from .lca import largest_between

Ints = npt.NDArray[np.int64]
Merges = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def matrix_extremes(W: Floats, start: int, stop: int) -> tuple[float, float]:
    """Σ min and Σ max of (w_ij, w_ik, w_jk) over triplets k < j < i with i in [start, stop)."""
    smallest = largest = 0.0
    for i in range(start, stop):
        row_i = W[i]
        for j in range(i):
            row_j = W[j]
            w = row_i[j]
            low = high = 0.0
            for k in range(j):
                a, b = row_i[k], row_j[k]
                low += min(min(a, b), w)
                high += max(max(a, b), w)
            smallest += low
            largest += high
    return smallest, largest


@njit(cache=True, nogil=True)
def triangle_minima(indptr: Ints, indices: npt.NDArray[np.int32], data: Floats) -> float:
    """Σ of the smallest weight over the triangles of a graph whose rows list only later neighbours in a fixed order."""
    n = indptr.shape[0] - 1
    weight_to = np.zeros(n, dtype=np.float64)  # weights are positive: 0 means no edge
    total = 0.0
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            weight_to[indices[e]] = data[e]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for f in range(indptr[j], indptr[j + 1]):
                w = weight_to[indices[f]]
                if w > 0.0:
                    total += min(w, data[e], data[f])
        for e in range(indptr[i], indptr[i + 1]):
            weight_to[indices[e]] = 0.0
    return total


@njit(cache=True, nogil=True)
def shared_triplets(children: Ints, first: Ints, sizes: Ints, positions: Ints, merges: Merges, table: Merges) -> int:
    """Number of triplets that a first tree (children, first, sizes) and a second one (merges, table) resolve alike.

    ``positions`` holds, in the first tree's leaf order, each leaf's position in the second; it is sorted in place within each
    subtree from the bottom up. O(Σ sizes) time: n log n for balanced first trees, n² for chains.
    """
    n = positions.shape[0]
    merged = np.empty(n, dtype=np.int64)
    sides = np.empty(n, dtype=np.int64)
    counts = np.empty((n, 2), dtype=np.int64)
    bounds = np.empty(n, dtype=np.int64)
    shared = 0
    for t in range(n - 1):
        a, b = children[t, 0], children[t, 1]
        low, middle, high = first[a], first[b], first[b] + sizes[b]
        p, q = low, middle
        for m in range(high - low):
            side = 0 if q == high or (p < middle and positions[p] < positions[q]) else 1
            sides[m] = side
            if side == 0:
                merged[m] = positions[p]
                p += 1
            else:
                merged[m] = positions[q]
                q += 1
        for m in range(high - low):
            positions[low + m] = merged[m]
        shared += _alike_at_split(merged[: high - low], sides, counts, bounds, merges, table)
    return shared


@njit(cache=True, nogil=True)
def _alike_at_split(positions: Ints, sides: Ints, counts: Ints, bounds: Ints, merges: Merges, table: Merges) -> int:
    """Triplets with two leaves on one side of a split and one on the other that the second tree joins the same way.

    The second tree restricted to ``positions`` is the Cartesian tree of the merges between them; it is folded on a stack.
    """
    shared = 0
    top = -1
    for m in range(positions.shape[0] + 1):
        bound = 1 << 62  # past the end: fold everything
        if 0 < m < positions.shape[0]:
            bound = largest_between(merges, table, positions[m - 1], positions[m])
        while top > 0 and bounds[top] < bound:
            l0, l1 = counts[top - 1]
            r0, r1 = counts[top]
            shared += (l0 * (l0 - 1) * r1 + r0 * (r0 - 1) * l1 + l1 * (l1 - 1) * r0 + r1 * (r1 - 1) * l0) // 2
            counts[top - 1, 0] += r0
            counts[top - 1, 1] += r1
            top -= 1
        if m < positions.shape[0]:
            top += 1
            bounds[top] = bound
            counts[top, 0] = 1 - sides[m]
            counts[top, 1] = sides[m]
    return shared
