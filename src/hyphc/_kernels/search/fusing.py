"""Clusters that two trees on the same leaves have in common, and one tree made of both."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..._shared.arrays import Floats, Ints


@njit(cache=True, nogil=True)
def twins(children: Ints, first: Ints, sizes: Ints, others: Ints) -> Ints:
    """For each node of another tree the node of this one with the same leaves, −1 if there is none. Exact, O(n).

    ``first`` and ``sizes`` are this tree's: node v holds positions first[v] … first[v] + sizes[v] − 1. A set of leaves is a
    cluster of it iff it fills the run of some node. Of all nodes whose runs end at one position only one is a left child, and of
    those that begin at one only one is a right child: so two tables hold them all.
    """
    n = children.shape[0] + 1
    ending, starting = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for t in range(n - 1):
        left, right = children[t, 0], children[t, 1]
        ending[first[left] + sizes[left] - 1] = left
        starting[first[right]] = right
    low, high = np.empty(2 * n - 1, dtype=np.int64), np.empty(2 * n - 1, dtype=np.int64)
    count, twin = np.ones(2 * n - 1, dtype=np.int64), np.full(2 * n - 1, -1, dtype=np.int64)
    for leaf in range(n):
        low[leaf] = high[leaf] = first[leaf]
        twin[leaf] = leaf
    for t in range(n - 1):
        one, two, v = others[t, 0], others[t, 1], n + t
        low[v], high[v] = min(low[one], low[two]), max(high[one], high[two])
        count[v] = count[one] + count[two]
        if high[v] - low[v] + 1 == count[v]:
            for u in (ending[high[v]], starting[low[v]]):
                if u >= 0 and first[u] == low[v] and sizes[u] == count[v]:
                    twin[v] = u
    twin[2 * n - 2] = 2 * n - 2
    return twin


@njit(cache=True, nogil=True)
def arrangement_costs(children: Ints, costs: Floats, shared: Ints) -> Floats:
    """For each node v with shared[v] ≥ 0: the cost of the merges at and below it, down to the next such nodes."""
    n = children.shape[0] + 1
    total = np.zeros(2 * n - 1)
    for t in range(n - 1):
        total[n + t] = costs[t]
        for side in range(2):
            c = children[t, side]
            if shared[c] < 0:
                total[n + t] += total[c]
    return total


@njit(cache=True, nogil=True)
def assemble(one: Ints, two: Ints, twin_of_one: Ints, twin_of_two: Ints, second: Ints) -> Ints:
    """The merges of a tree that arranges each common cluster v of ``one`` as ``two`` does where second[v] is 1.

    ``twin_of_one[v]`` is v's twin in ``two`` and the other way round.
    """
    n = one.shape[0] + 1
    merges = np.empty((n - 1, 2), dtype=np.int64)
    node, above = np.empty(2 * n, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    node[0], above[0] = 2 * n - 2, -1  # nodes of the second tree stand as −1 − v; above: 2·merge + side
    top, left = 1, n - 1
    while top > 0:
        top -= 1
        v, place = node[top], above[top]
        if v >= 0 and twin_of_one[v] >= 0 and second[v] == 1:
            v = -1 - twin_of_one[v]
        elif v < 0 and twin_of_two[-1 - v] >= 0 and second[twin_of_two[-1 - v]] == 0:
            v = twin_of_two[-1 - v]
        u = v if v >= 0 else -1 - v
        if u < n:
            merges[place >> 1, place & 1] = u
            continue
        left -= 1
        if place >= 0:
            merges[place >> 1, place & 1] = n + left
        for side in range(2):
            node[top] = one[u - n, side] if v >= 0 else -1 - two[u - n, side]
            above[top] = 2 * left + side
            top += 1
    return merges
