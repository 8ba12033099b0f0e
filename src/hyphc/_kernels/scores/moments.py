"""Kernels of moments: number, mean and scatter of the values on either side of every branch.

Two sets are joined by the update of Chan, Golub and LeVeque, which subtracts no large numbers from each other.
"""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

# weight: points counted; centre: their mean; scatter: sum of squared distances to it
MOMENTS = record_dtype(("weight", np.float64), ("centre", np.float64), ("scatter", np.float64))


@part
def _join(one: Records, other: Records, both: Records) -> None:
    weight = one.weight + other.weight
    if weight > 0.0:
        away = other.centre - one.centre
        both.centre = one.centre + away * other.weight / weight
        both.scatter = one.scatter + other.scatter + away * away * one.weight * other.weight / weight
    both.weight = weight


@kernel
def moments_below(children: Ints, below: Records) -> None:
    """Fill in the merges of ``below``, (2n − 1,), whose leaves are given."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        _join(below[children[t, 0]], below[children[t, 1]], below[n + t])


@kernel
def moments_outside(children: Ints, below: Records, outside: Records) -> None:
    """Fill in ``outside``, (2n − 1,), of all leaves that are not below each node; the root's is given as zeros."""
    n = children.shape[0] + 1
    for t in range(n - 2, -1, -1):
        for side in range(2):
            _join(outside[n + t], below[children[t, 1 - side]], outside[children[t, side]])
