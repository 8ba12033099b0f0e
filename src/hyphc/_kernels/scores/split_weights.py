"""Kernels of split weights x(v) = Σ w_ij over i in one child of v and j in the other, for features, matrices and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats
from ..._runtime.jit import kernel
from ..tree.passes import Shape
from ..tree.schedule import Steps

MAX_OPEN = 66  # log2(n) + 2 subtrees for any n that has an index


def inner_products_across(X: npt.NDArray[Any], begin: int, end: int, leaves: Steps, n_closing: Steps) -> Floats:
    """Return ⟨s_l, s_r⟩ over columns begin … end − 1, s the sum of a subtree's rows, in the order of the schedule, (n − 1,).

    In float64; O(n d) time, O(d log n) memory. A leaf that closes a merge is added from X without a copy.
    """
    across = np.empty(len(X) - 1)
    _multiply_across(X, begin, end, leaves, n_closing, np.empty((MAX_OPEN, end - begin)), across)
    return across


@kernel(fastmath={"reassoc", "contract"})
def _multiply_across(
    X: npt.NDArray[Any], begin: int, end: int, leaves: Steps, n_closing: Steps, open_sums: Floats, across: Floats
) -> None:
    n, d = X.shape[0], end - begin
    top = -1
    done = 0
    for p in range(n):
        row = X[leaves[p], begin:end]
        if n_closing[p] == 0:
            top += 1
            for c in range(d):
                open_sums[top, c] = row[c]
            continue
        left = open_sums[top]
        product = 0.0
        for c in range(d):
            entry = np.float64(row[c])
            product += left[c] * entry
            left[c] += entry
        across[done] = product
        done += 1
        for _ in range(n_closing[p] - 1):
            left, right = open_sums[top - 1], open_sums[top]
            product = 0.0
            for c in range(d):
                product += left[c] * right[c]
                left[c] += right[c]
            across[done] = product
            done += 1
            top -= 1


@kernel(fastmath={"reassoc", "contract"})
def matrix_split_weights(tree: Shape, W: npt.NDArray[Any], across: Floats) -> None:
    """Add x(v) from a full matrix; each leaf reads its row once, right siblings of its ancestors from the bottom up. O(n²)."""
    n, order = tree.order.shape[0], tree.order
    for p in range(n):
        row = W[order[p]]
        node = order[p]
        end = p + 1  # the subtree of `node` ends before this position
        while end < n:
            parent = tree.parents[node]
            if tree.children[parent - n, 0] == node:
                stop = tree.first[parent] + tree.sizes[parent]
                total = 0.0
                for q in range(end, stop):
                    total += row[order[q]]
                across[parent - n] += total
                end = stop
            node = parent


@kernel
def sum_of_edges(merges: npt.NDArray[np.int32], weights: Floats, across: Floats) -> None:
    """Add the weight of each edge to the merge that joins its ends; −1 is no merge."""
    for e in range(merges.shape[0]):
        if merges[e] >= 0:
            across[merges[e]] += weights[e]
