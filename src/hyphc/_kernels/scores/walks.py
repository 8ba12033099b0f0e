"""Weight that random walks inside a node carry from one of its sides to the other.

Points are numbered in the order of the tree's leaves, so that each node is a run of them.
"""

from __future__ import annotations

import numpy as np

from ..._shared.arrays import Floats, Ints
from ..._shared.compiled import kernel, part


@kernel
def walk_crossings(
    indptr: Ints,
    indices: Ints,
    data: Floats,
    degrees: Floats,
    first: Ints,
    sizes: Ints,
    children: Ints,
    merges: Ints,
    half: int,
    crossings: Floats,
) -> None:
    """Write for each of ``merges`` Σ_i d_i·f_i·g_i, f and g the chance to stand on either side after ``half`` steps from i.

    The walk moves along edges in proportion to their weights and ends when it leaves the node. By symmetry the sum is the weight
    of all walks of 2·half steps from one side to the other.
    """
    n = len(indptr) - 1
    left, right, spare = np.empty(n), np.empty(n), np.empty(n)
    for t in merges:
        begin, end = first[n + t], first[n + t] + sizes[n + t]
        low = first[children[t, 0]]
        high = low + sizes[children[t, 0]]
        for i in range(begin, end):
            left[i] = 1.0 if low <= i < high else 0.0
            right[i] = 1.0 - left[i]
        for _ in range(half):
            _step(indptr, indices, data, degrees, begin, end, left, spare)
            _step(indptr, indices, data, degrees, begin, end, right, spare)
        total = 0.0
        for i in range(begin, end):
            total += degrees[i] * left[i] * right[i]
        crossings[t] = total


@part
def _step(
    indptr: Ints, indices: Ints, data: Floats, degrees: Floats, begin: int, end: int, values: Floats, spare: Floats
) -> None:
    """Replace the values from begin to end by their means over neighbours, those outside counting as 0."""
    for i in range(begin, end):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if begin <= j < end:
                total += data[e] * values[j]
        spare[i] = total / degrees[i] if degrees[i] > 0.0 else 0.0
    for i in range(begin, end):
        values[i] = spare[i]
