"""Kernels of sums over triplets of the smallest and the largest of three similarities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel


@kernel(fastmath={"reassoc", "contract", "nsz", "nnan"})
def matrix_extremes(W: Floats, start: int, stop: int) -> tuple[float, float]:
    """Return Σ min and Σ max of (w_ij, w_ik, w_jk) over triplets k < j < i with i in [start, stop)."""
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


@kernel
def triangle_minima(indptr: Ints, indices: npt.NDArray[np.int32], data: Floats) -> float:
    """Return Σ of the smallest weight over the triangles of a graph whose rows list only later neighbours in a fixed order."""
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
