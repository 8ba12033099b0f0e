"""Forward and backward loops over a tree in merge order, in which children precede their parent.

Few loops serve many passes, and NumPy allocates their arrays: each kernel, and each array made inside one, must be compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part


class Shape(NamedTuple):
    """Arrays that describe a tree: merges (n − 1, 2), and parents, numbers of leaves and first positions, all (2n − 1,).

    ``order`` (n,) are the leaves in depth-first order; node v holds its positions first[v] … first[v] + sizes[v] − 1.
    """

    children: Ints
    parents: Ints
    sizes: Ints
    first: Ints
    order: Ints


def subtree_sums(children: Ints, leaf_values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sum of ``leaf_values`` below each node, leaves first: (2n − 1,)."""
    total = np.concatenate([leaf_values, np.zeros(len(children))])
    _add_up(children, total)
    return total.astype(leaf_values.dtype, copy=False)


def sums_of_merges(children: Ints, values: Floats) -> Floats:
    """Return the sum of the merges' ``values`` at and below each node, 0 for leaves: (2n − 1,)."""
    total = np.concatenate([np.zeros(len(children) + 1), values])
    _add_up(children, total)
    return total


def largest_below(children: Ints, leaf_values: Floats) -> Floats:
    """Return the largest of ``leaf_values`` below each node, leaves first: (2n − 1,)."""
    largest = np.concatenate([leaf_values, np.full(len(children), -np.inf)])
    _raise_up(children, largest)
    return largest


def smallest_leaves(children: Ints, leaf_ids: Ints) -> Ints:
    """Return the smallest of ``leaf_ids`` below each node: (2n − 1,)."""
    return -largest_below(children, -leaf_ids.astype(np.float64)).astype(np.int64)


def lifted_heights(children: Ints, heights: Floats) -> Floats:
    """Return the heights, each raised to the larger of its children's where it lies below them: (n − 1,)."""
    lifted = np.concatenate([np.full(len(heights) + 1, -np.inf), heights])
    _raise_up(children, lifted)
    return lifted[len(heights) + 1 :]


def first_positions(children: Ints, sizes: Ints) -> Ints:
    """Return the first position of each node's leaves in depth-first order: (2n − 1,)."""
    first = np.zeros(len(sizes), dtype=np.int64)
    _lay_out(children, sizes, first)
    return first


def parents_of(children: Ints) -> Ints:
    """Return the parent of each node, −1 for the root: (2n − 1,)."""
    n = len(children) + 1
    parents = np.full(2 * n - 1, -1)
    parents[children] = np.arange(n, 2 * n - 1)[:, None]
    return parents


@part
def larger_first(children: Ints, sizes: npt.NDArray[Any], t: int) -> tuple[int, int]:
    """Return the children of merge t, the one with the larger size first; of equal ones the first."""
    a, b = children[t, 0], children[t, 1]
    return (a, b) if sizes[a] >= sizes[b] else (b, a)


@part
def light_sibling(tree: Shape, v: int) -> int:
    """Return the sibling of v if v has more leaves, or as many and the smaller number; else, and at the root, −1.

    Where it is not −1, v continues the heavy path of its parent. The path from a node to the root leaves a heavy path at most
    log2(n) times, so a loop over the leaves of all light siblings takes O(n log n).
    """
    if tree.parents[v] < 0:
        return -1
    t = tree.parents[v] - tree.order.shape[0]
    light, sizes = tree.children[t, 0] + tree.children[t, 1] - v, tree.sizes
    return light if sizes[light] < sizes[v] or (sizes[light] == sizes[v] and v < light) else -1


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
