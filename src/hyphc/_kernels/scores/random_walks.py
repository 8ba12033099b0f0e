"""Weight that random walks inside a node carry from a part of it to the rest.

Points are numbered in the order of the tree's leaves, so that each node is a run of them.
"""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part


@kernel
def walk_crossings(
    indptr: Ints,
    indices: Ints,
    data: Floats,
    degrees: Floats,
    first: Ints,
    sizes: Ints,
    nodes: Ints,
    parts: Ints,
    half: int,
) -> Floats:
    """Return for each node Σ_i d_i·f_i·g_i, f and g the chance to stand in a part of it, or outside, ``half`` steps after i.

    A part is a node below. The walk moves along edges in proportion to their weights and ends when it leaves the node. By
    symmetry the sum is the weight of all walks of 2·half steps from the part to the rest of the node.
    """
    n = len(indptr) - 1
    left, right, spare = np.empty(n), np.empty(n), np.empty(n)
    crossings = np.empty(len(nodes))
    for q in range(len(nodes)):
        begin, end = first[nodes[q]], first[nodes[q]] + sizes[nodes[q]]
        low, high = first[parts[q]], first[parts[q]] + sizes[parts[q]]
        for i in range(begin, end):
            left[i] = 1.0 if low <= i < high else 0.0
            right[i] = 1.0 - left[i]
        for _ in range(half):
            _step(indptr, indices, data, degrees, begin, end, left, spare)
            _step(indptr, indices, data, degrees, begin, end, right, spare)
        total = 0.0
        for i in range(begin, end):
            total += degrees[i] * left[i] * right[i]
        crossings[q] = total
    return crossings


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
