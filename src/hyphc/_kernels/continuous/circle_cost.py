"""Kernel of Dasgupta's cost of the tree that a circle decodes to, for features, without building the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel


@kernel(fastmath={"reassoc", "contract"})
def features_cost_of_gaps(
    X: npt.NDArray[Any], sizes: Floats, leaves: Ints, gaps: Floats, offset: float, scale: float
) -> float:
    """Return Σ_v |v|·x(v) over the Cartesian tree of the gaps between neighbouring leaves (see `merges_of_gaps`).

    x(v) = offset·n_l·n_r + scale·⟨s_l, s_r⟩, with the number of points and the sum of the rows below each child.
    O(n d) time; the open subtrees, of which there are about log n in a balanced tree and n in a chain, are on a stack.
    """
    n, d = X.shape
    sums, counts, right_gap = np.empty((64, d)), np.empty(n), np.empty(n)
    cost = 0.0
    top = -1
    for p in range(n):
        top += 1
        if top == sums.shape[0]:
            wider = np.empty((2 * top, d))
            for r in range(top):
                for c in range(d):
                    wider[r, c] = sums[r, c]
            sums = wider
        row = X[leaves[p]]
        for c in range(d):
            sums[top, c] = row[c]
        counts[top] = sizes[leaves[p]]
        gap = gaps[p] if p < n - 1 else np.inf
        while top > 0 and right_gap[top - 1] <= gap:
            left, right = sums[top - 1], sums[top]
            product = 0.0
            for c in range(d):
                product += left[c] * right[c]
                left[c] += right[c]
            together = counts[top - 1] + counts[top]
            cost += together * (offset * counts[top - 1] * counts[top] + scale * product)
            counts[top - 1] = together
            top -= 1
        right_gap[top] = gap
    return cost
