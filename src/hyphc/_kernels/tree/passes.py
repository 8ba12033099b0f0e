"""Passes over a tree in merge order: children precede their parent, so one forward or backward loop does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from ..._shared.arrays import Floats, Ints


@njit(cache=True, nogil=True)
def subtree_sums(children: Ints, leaf_values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sum of ``leaf_values`` below each node, leaves first: (2n − 1,)."""
    n = leaf_values.shape[0]
    total = np.empty(2 * n - 1, dtype=leaf_values.dtype)
    for leaf in range(n):  # not total[:n] = …: numba compiles the words of its error message for five seconds
        total[leaf] = leaf_values[leaf]
    for t in range(n - 1):
        total[n + t] = total[children[t, 0]] + total[children[t, 1]]
    return total


@njit(cache=True, nogil=True)
def first_positions(children: Ints, sizes: Ints) -> Ints:
    """Where each node's leaves begin in depth-first order: node v holds positions first[v] … first[v] + sizes[v] − 1."""
    n = children.shape[0] + 1
    first = np.zeros(2 * n - 1, dtype=np.int64)
    for t in range(n - 2, -1, -1):
        a, b = children[t, 0], children[t, 1]
        first[a] = first[n + t]
        first[b] = first[n + t] + sizes[a]
    return first


@njit(cache=True, nogil=True)
def lifted_heights(children: Ints, heights: Floats) -> Floats:
    """The heights, each raised to the larger of its children's where it lies below them."""
    n = heights.shape[0] + 1
    lifted = heights.copy()
    for t in range(n - 1):
        for side in range(2):
            child = children[t, side] - n
            if child >= 0 and lifted[child] > lifted[t]:
                lifted[t] = lifted[child]
    return lifted


@njit(cache=True, nogil=True)
def largest_below(children: Ints, leaf_values: Floats) -> Floats:
    """Largest of ``leaf_values`` below each node, leaves first: (2n − 1,)."""
    n = leaf_values.shape[0]
    largest = np.empty(2 * n - 1, dtype=np.float64)
    for leaf in range(n):
        largest[leaf] = leaf_values[leaf]
    for t in range(n - 1):
        largest[n + t] = max(largest[children[t, 0]], largest[children[t, 1]])
    return largest


@njit(cache=True, nogil=True)
def sums_of_merges(children: Ints, values: Floats) -> Floats:
    """Sum of the merges' ``values`` at and below each node, 0 for leaves: (2n − 1,)."""
    n = values.shape[0] + 1
    total = np.zeros(2 * n - 1, dtype=np.float64)
    for t in range(n - 1):
        total[n + t] = total[children[t, 0]] + total[children[t, 1]] + values[t]
    return total


@njit(cache=True, nogil=True)
def labels_below(children: Ints, nodes: Ints) -> Ints:
    """For each leaf the place in ``nodes`` of its ancestor there; every leaf has one."""
    n = children.shape[0] + 1
    label = np.full(2 * n - 1, -1)
    for c in range(nodes.shape[0]):
        label[nodes[c]] = c
    for t in range(n - 2, -1, -1):
        if label[n + t] >= 0:
            label[children[t, 0]] = label[n + t]
            label[children[t, 1]] = label[n + t]
    return label[:n]


@njit(cache=True, nogil=True)
def smallest_leaves(children: Ints, leaf_ids: Ints) -> Ints:
    """The smallest of ``leaf_ids`` below each node: (2n − 1,)."""
    n = leaf_ids.shape[0]
    smallest = np.empty(2 * n - 1, dtype=np.int64)
    for leaf in range(n):
        smallest[leaf] = leaf_ids[leaf]
    for t in range(n - 1):
        smallest[n + t] = min(smallest[children[t, 0]], smallest[children[t, 1]])
    return smallest
