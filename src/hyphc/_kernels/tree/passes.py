"""Passes over a tree in merge order: children precede their parent, so one forward or backward loop does.

Few loops serve many passes, and NumPy prepares their arrays: each kernel, and each array made inside one, must be compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel


def subtree_sums(children: Ints, leaf_values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sum of ``leaf_values`` below each node, leaves first: (2n − 1,)."""
    total = np.concatenate([leaf_values, np.zeros(len(children))])
    _add_up(children, total)
    return total.astype(leaf_values.dtype, copy=False)


def sums_of_merges(children: Ints, values: Floats) -> Floats:
    """Sum of the merges' ``values`` at and below each node, 0 for leaves: (2n − 1,)."""
    total = np.concatenate([np.zeros(len(children) + 1), values])
    _add_up(children, total)
    return total


def largest_below(children: Ints, leaf_values: Floats) -> Floats:
    """Largest of ``leaf_values`` below each node, leaves first: (2n − 1,)."""
    largest = np.concatenate([leaf_values, np.full(len(children), -np.inf)])
    _raise_up(children, largest)
    return largest


def smallest_leaves(children: Ints, leaf_ids: Ints) -> Ints:
    """The smallest of ``leaf_ids`` below each node: (2n − 1,)."""
    return -largest_below(children, -leaf_ids.astype(np.float64)).astype(np.int64)


def lifted_heights(children: Ints, heights: Floats) -> Floats:
    """The heights, each raised to the larger of its children's where it lies below them."""
    lifted = np.concatenate([np.full(len(heights) + 1, -np.inf), heights])
    _raise_up(children, lifted)
    return lifted[len(heights) + 1 :]


def first_positions(children: Ints, sizes: Ints) -> Ints:
    """Where each node's leaves begin in depth-first order: node v holds positions first[v] … first[v] + sizes[v] − 1."""
    first = np.zeros(len(sizes), dtype=np.int64)
    _lay_out(children, sizes, first)
    return first


@kernel
def _add_up(children: Ints, total: Floats) -> None:
    """Add to each merge's value those of its children."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        total[n + t] += total[children[t, 0]] + total[children[t, 1]]


@kernel
def _raise_up(children: Ints, values: Floats) -> None:
    """Raise each merge's value to the larger of its children's where it lies below them."""
    n = children.shape[0] + 1
    for t in range(n - 1):
        for side in range(2):
            below = values[children[t, side]]
            if below > values[n + t]:
                values[n + t] = below


@kernel
def _lay_out(children: Ints, sizes: Ints, first: Ints) -> None:
    n = children.shape[0] + 1
    for t in range(n - 2, -1, -1):
        first[children[t, 0]] = first[n + t]
        first[children[t, 1]] = first[n + t] + sizes[children[t, 0]]
