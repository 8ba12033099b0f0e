"""Which child goes first: by similarity to the neighbours on both sides, or by the positions of leaves in another tree.

The first three kernels undo merges from the root down. The clusters that stand at any moment form a row, a doubly linked list;
a cluster v between L and R makes way for its children, and the child more like L, or less like R, goes to the left. Which is
which is decided by mean similarities m between clusters: the children (a, b) swap when

    m(a, L) − m(b, L) − m(a, R) + m(b, R) < 0,        terms of a missing neighbour left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

Bools = npt.NDArray[np.bool_]

# A cluster's neighbours in the row, −1 at its ends, and the weight between the cluster and the one after it.
PLACE = record_dtype(("before", np.int64), ("after", np.int64), ("to_next", np.float64))
# What the smaller child of a merge is compared with: the cluster before, the larger child, the cluster after.
BEFORE, LARGER, AFTER = range(3)


@part
def _empty_row(n: int) -> Records:
    """No cluster of a tree of n leaves has a neighbour."""
    row = np.zeros(2 * n - 1, dtype=PLACE)
    for v in range(2 * n - 1):
        row[v].before = -1
        row[v].after = -1
    return row


@part
def _insert_children(row: Records, v: int, first: int, second: int) -> None:
    """Put first and second where v stands in the row."""
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
    """⟨mean of the rows below u, mean of the rows below v⟩; 0 for a missing neighbour v = −1."""
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
    """Whether to swap the children of each merge, for m = offset + scale·⟨mean, mean⟩; O(n d), sums in the dtype of X.

    ``points`` counts the points below each node. The offset cancels.
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
def _split(t: int, children: Ints, sizes: Ints, points: Floats, row: Records, sums: Floats, swaps: Bools) -> None:
    """Undo merge t, given the weights between its smaller child and the cluster before, the larger child, the cluster after.

    The weights of the merge itself are known, so the larger child's are what remains.
    """
    v, a, b = children.shape[0] + 1 + t, children[t, 0], children[t, 1]
    left, right = row[v].before, row[v].after
    a_is_small = sizes[a] <= sizes[b]
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
def swaps_by_edges(
    children: Ints, sizes: Ints, points: Floats, first: Ints, indptr: Ints, indices: npt.NDArray[Any], data: Floats
) -> Bools:
    """The same for a graph; ``indices`` are positions in leaf order, and node v holds first[v] … first[v] + sizes[v] − 1.

    Rows are in leaf order too. A split reads the edges of the smaller child only, so an edge is read once for each of
    the at most log₂ n smaller children above each of its ends: O(n + m log n).
    """
    n = children.shape[0] + 1
    row, swaps = _empty_row(n), np.zeros(n - 1, dtype=np.bool_)
    sums, group = np.zeros(3), np.zeros(3, dtype=np.int64)
    for t in range(n - 2, -1, -1):
        a, b = children[t, 0], children[t, 1]
        small, large = (a, b) if sizes[a] <= sizes[b] else (b, a)
        group[BEFORE], group[LARGER], group[AFTER] = row[n + t].before, large, row[n + t].after
        sums[:] = 0.0
        for p in range(first[small], first[small] + sizes[small]):
            for e in range(indptr[p], indptr[p + 1]):
                for g in range(3):
                    v = group[g]
                    if v >= 0 and first[v] <= indices[e] < first[v] + sizes[v]:
                        sums[g] += data[e]
        _split(t, children, sizes, points, row, sums, swaps)
    return swaps


@kernel
def swaps_by_matrix(
    children: Ints, sizes: Ints, points: Floats, first: Ints, order: Ints, W: npt.NDArray[Any]
) -> Bools:
    """The same for a full matrix; ``order`` are the leaves by position. At most O(n² log n), about n² for most trees."""
    n = children.shape[0] + 1
    row, swaps = _empty_row(n), np.zeros(n - 1, dtype=np.bool_)
    sums, group = np.zeros(3), np.zeros(3, dtype=np.int64)
    for t in range(n - 2, -1, -1):
        a, b = children[t, 0], children[t, 1]
        small, large = (a, b) if sizes[a] <= sizes[b] else (b, a)
        group[BEFORE], group[LARGER], group[AFTER] = row[n + t].before, large, row[n + t].after
        for g in range(3):
            v, total = group[g], 0.0
            if v >= 0:
                for p in range(first[small], first[small] + sizes[small]):
                    for q in range(first[v], first[v] + sizes[v]):
                        total += W[order[p], order[q]]
            sums[g] = total
        _split(t, children, sizes, points, row, sums, swaps)
    return swaps


@part
def _add(counts: Ints, position: int, amount: int) -> None:
    """Fenwick tree: add to the count at a position."""
    k = position + 1
    while k < counts.shape[0]:
        counts[k] += amount
        k += k & -k


@part
def _count_below(counts: Ints, position: int) -> int:
    """Sum of the counts at positions < position."""
    total, k = 0, position
    while k > 0:
        total += counts[k]
        k -= k & -k
    return total


@kernel
def crossings(children: Ints, sizes: Ints, first: Ints, order: Ints, place: Ints) -> Ints:
    """For each merge, how many pairs (i, j), i below its first child and j below its second, have place[i] > place[j].

    ``place`` is a permutation of 0 … n − 1. Along a heavy path, from its leaf up, the leaves of each lighter sibling are
    first counted against those already seen, then added to them; a leaf joins one such count for each lighter subtree that
    holds it, so O(n log² n) for any tree.
    """
    n = children.shape[0] + 1
    result, counts = np.zeros(n - 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    on_path = np.zeros(2 * n - 1, dtype=np.bool_)  # whether the node continues its parent's heavy path
    path = np.empty(n, dtype=np.int64)
    for t in range(n - 1):
        a, b = children[t, 0], children[t, 1]
        on_path[a if sizes[a] >= sizes[b] else b] = True
    for top in range(2 * n - 2, n - 1, -1):
        if on_path[top]:
            continue
        length, v = 0, top
        while v >= n:
            path[length] = v - n
            length += 1
            a, b = children[v - n, 0], children[v - n, 1]
            v = a if on_path[a] else b
        _add(counts, place[v], 1)
        for step in range(length - 1, -1, -1):
            a, b = children[path[step], 0], children[path[step], 1]
            heavy, light = (a, b) if on_path[a] else (b, a)
            begin, end = first[light], first[light] + sizes[light]
            for p in range(begin, end):
                below = _count_below(counts, place[order[p]])
                result[path[step]] += sizes[heavy] - below if light == b else below
            for p in range(begin, end):
                _add(counts, place[order[p]], 1)
        for p in range(first[top], first[top] + sizes[top]):
            _add(counts, place[order[p]], -1)
    return result
