"""Clusters that two trees on the same leaves have in common, and one tree made of both."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel


def match_clusters(children: Ints, first: Ints, sizes: Ints, others: Ints) -> Ints:
    """For each node of another tree the node of this one with the same leaves, −1 if there is none. Exact, O(n).

    ``first`` and ``sizes`` are this tree's: node v holds positions first[v] … first[v] + sizes[v] − 1. A set of leaves is a
    cluster of it iff it fills the run of some node. Of all nodes whose runs end at one position only one is a left child, and of
    those that begin at one only one is a right child: so two tables hold them all.
    """
    n = len(children) + 1
    ending, starting = np.full(n, -1), np.full(n, -1)
    left, right = children.T
    ending[first[left] + sizes[left] - 1] = left
    starting[first[right]] = right
    low = np.concatenate([first[:n], np.zeros(n - 1, dtype=np.int64)])
    twin = np.concatenate([np.arange(n), np.full(n - 1, -1)])
    _match_clusters(first, sizes, others, ending, starting, low, low.copy(), np.ones(2 * n - 1, dtype=np.int64), twin)
    twin[-1] = 2 * n - 2
    return twin


@kernel
def _match_clusters(
    first: Ints,
    sizes: Ints,
    others: Ints,
    ending: Ints,
    starting: Ints,
    low: Ints,
    high: Ints,
    count: Ints,
    twin: Ints,
) -> None:
    n = others.shape[0] + 1
    for t in range(n - 1):
        one, two, v = others[t, 0], others[t, 1], n + t
        low[v] = low[one] if low[one] < low[two] else low[two]
        high[v] = high[one] if high[one] > high[two] else high[two]
        count[v] = count[one] + count[two]
        if high[v] - low[v] + 1 == count[v]:
            for u in (ending[high[v]], starting[low[v]]):
                if u >= 0 and first[u] == low[v] and sizes[u] == count[v]:
                    twin[v] = u


def arrangement_costs(children: Ints, costs: Floats, shared: Ints) -> Floats:
    """Return for each node v with shared[v] ≥ 0 the cost of the merges at and below it, down to the next such nodes."""
    total = np.concatenate([np.zeros(len(costs) + 1), costs])
    _add_unshared(children, shared, total)
    return total


@kernel
def _add_unshared(children: Ints, shared: Ints, total: Floats) -> None:
    n = children.shape[0] + 1
    for t in range(n - 1):
        for side in range(2):
            c = children[t, side]
            if shared[c] < 0:
                total[n + t] += total[c]


def assemble_fused(one: Ints, two: Ints, twin_of_one: Ints, twin_of_two: Ints, second: Ints) -> Ints:
    """Return the merges of a tree that arranges each common cluster v of ``one`` as ``two`` does where second[v] is 1.

    ``twin_of_one[v]`` is v's twin in ``two`` and the other way round.
    """
    merges, stack = np.empty_like(one), np.empty((2, 2 * len(one) + 2), dtype=np.int64)
    _assemble(one, two, twin_of_one, twin_of_two, second, merges, *stack)
    return merges


@kernel
def _assemble(
    one: Ints, two: Ints, twin_of_one: Ints, twin_of_two: Ints, second: Ints, merges: Ints, node: Ints, above: Ints
) -> None:
    n = one.shape[0] + 1
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
