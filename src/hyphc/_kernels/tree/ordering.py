"""Kernels of leaf orders: children swapped by similarity to the neighbours on both sides, or by positions in another tree.

The first three kernels undo merges from the root down. The current clusters form a row, a doubly linked list. A cluster v
between L and R is replaced by its children; the child more similar to L, or less to R, goes to the left. With mean similarities
m between clusters, the children (a, b) swap when

    m(a, L) − m(b, L) − m(a, R) + m(b, R) < 0,        terms of a missing neighbour left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part
from .passes import Shape, light_sibling

Bools = npt.NDArray[np.bool_]

# A cluster's neighbours in the row, −1 at its ends, and the weight between the cluster and the one after it.
PLACE = record_dtype(("before", np.int64), ("after", np.int64), ("to_next", np.float64))
# Clusters that the smaller child of a merge is compared with: the one before, the larger child, the one after.
BEFORE, LARGER, AFTER = range(3)


@part
def _empty_row(n: int) -> Records:
    """Return a row for the nodes of a tree of n leaves, all without neighbours."""
    row = np.zeros(2 * n - 1, dtype=PLACE)
    for v in range(2 * n - 1):
        row[v].before = -1
        row[v].after = -1
    return row


@part
def _insert_children(row: Records, v: int, first: int, second: int) -> None:
    """Replace v in the row by first and second."""
    left, right = row[v].before, row[v].after
    row[first].before = left
    row[first].after = second
    row[second].before = first
    row[second].after = right
    if left >= 0:
        row[left].after = first
    if right >= 0:
        row[right].before = second


@part
def _mean_dot(X: npt.NDArray[Any], sums: npt.NDArray[Any], points: Floats, u: int, v: int) -> float:
    """Return ⟨mean of the rows below u, mean of the rows below v⟩; 0 for a missing neighbour v = −1."""
    if v < 0:
        return 0.0
    n = X.shape[0]
    rows_u, rows_v = (X[u] if u < n else sums[u - n]), (X[v] if v < n else sums[v - n])
    total = 0.0
    for k in range(X.shape[1]):
        total += rows_u[k] * rows_v[k]
    return float(total / (points[u] * points[v]))


@kernel
def swaps_by_features(children: Ints, points: Floats, X: npt.NDArray[Any], scale: float) -> Bools:
    """Return whether to swap the children of each merge, (n − 1,), for m = offset + scale·⟨mean, mean⟩.

    ``points`` counts the points below each node. The offset cancels. O(n d), sums in the dtype of X.
    """
    n, d = X.shape
    sums = np.empty((max(n - 1, 0), d), dtype=X.dtype)
    for t in range(n - 1):
        a, b = children[t, 0], children[t, 1]
        rows_a, rows_b = (X[a] if a < n else sums[a - n]), (X[b] if b < n else sums[b - n])
        for k in range(d):
            sums[t, k] = rows_a[k] + rows_b[k]
    row, swaps = _empty_row(n), np.zeros(n - 1, dtype=np.bool_)
    for t in range(n - 2, -1, -1):
        a, b = children[t, 0], children[t, 1]
        left, right = row[n + t].before, row[n + t].after
        towards_left = _mean_dot(X, sums, points, a, left) - _mean_dot(X, sums, points, b, left)
        towards_right = _mean_dot(X, sums, points, a, right) - _mean_dot(X, sums, points, b, right)
        swaps[t] = scale * (towards_left - towards_right) < 0.0
        _insert_children(row, n + t, b if swaps[t] else a, a if swaps[t] else b)
    return swaps


@part
def _choose_groups(t: int, tree: Shape, row: Records, groups: Ints) -> int:
    """Fill in the clusters that the smaller child of merge t is compared with, −1 for none; return that child."""
    a, b, v = tree.children[t, 0], tree.children[t, 1], tree.order.shape[0] + t
    large: int = b if tree.sizes[a] <= tree.sizes[b] else a
    groups[BEFORE], groups[LARGER], groups[AFTER] = row[v].before, large, row[v].after
    small: int = a + b - large
    return small


@part
def _split(t: int, tree: Shape, points: Floats, row: Records, sums: Floats, swaps: Bools) -> None:
    """Undo merge t, given the weights ``sums`` between its smaller child and the three groups it is compared with.

    The weights of the merge itself are known, so the larger child's are the differences.
    """
    v, a, b = tree.order.shape[0] + t, tree.children[t, 0], tree.children[t, 1]
    left, right = row[v].before, row[v].after
    a_is_small = tree.sizes[a] <= tree.sizes[b]
    rest_left = (row[left].to_next if left >= 0 else 0.0) - sums[BEFORE]
    rest_right = row[v].to_next - sums[AFTER]
    a_left, b_left = (sums[BEFORE], rest_left) if a_is_small else (rest_left, sums[BEFORE])
    a_right, b_right = (sums[AFTER], rest_right) if a_is_small else (rest_right, sums[AFTER])
    gain = 0.0
    if left >= 0:
        gain += (b_left / points[b] - a_left / points[a]) / points[left]
    if right >= 0:
        gain += (a_right / points[a] - b_right / points[b]) / points[right]
    swaps[t] = gain > 0.0
    one, two = (b, a) if swaps[t] else (a, b)
    _insert_children(row, v, one, two)
    if left >= 0:
        row[left].to_next = b_left if swaps[t] else a_left
    row[one].to_next = sums[LARGER]
    row[two].to_next = a_right if swaps[t] else b_right


@kernel
def swaps_by_edges(tree: Shape, points: Floats, indptr: Ints, indices: npt.NDArray[Any], data: Floats) -> Bools:
    """Return the swaps for a graph whose rows and ``indices`` are in leaf order.

    A split reads the edges of the smaller child only, so an edge is read once for each of the at most log₂ n smaller children
    above each of its ends: O(n + m log n).
    """
    n, first, sizes = tree.order.shape[0], tree.first, tree.sizes
    row, swaps = _empty_row(n), np.zeros(n - 1, dtype=np.bool_)
    sums, groups = np.zeros(3), np.zeros(3, dtype=np.int64)
    for t in range(n - 2, -1, -1):
        small = _choose_groups(t, tree, row, groups)
        sums[:] = 0.0
        for p in range(first[small], first[small] + sizes[small]):
            for e in range(indptr[p], indptr[p + 1]):
                for g in range(3):
                    v = groups[g]
                    if v >= 0 and first[v] <= indices[e] < first[v] + sizes[v]:
                        sums[g] += data[e]
        _split(t, tree, points, row, sums, swaps)
    return swaps


@kernel
def swaps_by_matrix(tree: Shape, points: Floats, W: npt.NDArray[Any]) -> Bools:
    """Return the swaps for a full matrix. At most O(n² log n), about n² for most trees."""
    n, first, sizes, order = tree.order.shape[0], tree.first, tree.sizes, tree.order
    row, swaps = _empty_row(n), np.zeros(n - 1, dtype=np.bool_)
    sums, groups = np.zeros(3), np.zeros(3, dtype=np.int64)
    for t in range(n - 2, -1, -1):
        small = _choose_groups(t, tree, row, groups)
        for g in range(3):
            v, total = groups[g], 0.0
            if v >= 0:
                for p in range(first[small], first[small] + sizes[small]):
                    for q in range(first[v], first[v] + sizes[v]):
                        total += W[order[p], order[q]]
            sums[g] = total
        _split(t, tree, points, row, sums, swaps)
    return swaps


@part
def _add(counts: Ints, position: int, amount: int) -> None:
    """Add to the count at a position of a Fenwick tree."""
    k = position + 1
    while k < counts.shape[0]:
        counts[k] += amount
        k += k & -k


@part
def _count_below(counts: Ints, position: int) -> int:
    """Return the sum of the counts at positions < position of a Fenwick tree."""
    total, k = 0, position
    while k > 0:
        total += counts[k]
        k -= k & -k
    return total


@kernel
def crossings(tree: Shape, place: Ints) -> Ints:
    """Return for each merge how many pairs (i, j), i below its first child and j below its second, have place[i] > place[j].

    ``place`` is a permutation of 0 … n − 1. Along a heavy path, from its leaf up, the leaves of each lighter sibling are first
    counted against those already seen, then added to them: O(n log² n) for any tree.
    """
    n, first, sizes, order = tree.order.shape[0], tree.first, tree.sizes, tree.order
    result, counts = np.zeros(n - 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    for leaf in range(n):
        _add(counts, place[leaf], 1)
        v, light = leaf, light_sibling(tree, leaf)
        while light >= 0:
            n_seen, v = sizes[v], tree.parents[v]
            for p in range(first[light], first[light] + sizes[light]):
                below = _count_below(counts, place[order[p]])
                result[v - n] += n_seen - below if light == tree.children[v - n, 1] else below
            for p in range(first[light], first[light] + sizes[light]):
                _add(counts, place[order[p]], 1)
            light = light_sibling(tree, v)
        for p in range(first[v], first[v] + sizes[v]):
            _add(counts, place[order[p]], -1)
    return result
