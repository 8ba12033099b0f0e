"""Kernels of optimal trees on a few leaves by dynamic programming over subsets, and of the cost of a given tree on them.

Subsets are bit masks. With s(S) the points in S and w(S) the similarity within S, the cheapest tree on S costs

    f(S) = s(S)·w(S) + min over splits A ∪ B = S of [f(A) − s(S)·w(A)] + [f(B) − s(S)·w(B)],

because w(S) − w(A) − w(B) is the similarity across the split. Each unordered split is visited once: 3^k / 2 steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part
from ..tree.lca import largest_between

Merges = npt.NDArray[np.int32]

ROUNDING = 1e-12  # relative, float64: differences between the costs of equal trees, summed in different orders


@kernel
def within_sums(W: Floats, sizes: Floats, within: Floats, points: Floats) -> None:
    """Fill within[S] with Σ_{i<j in S} w_ij and points[S] with Σ_{i in S} sizes_i, for every mask S below 2**k."""
    within[0] = points[0] = 0.0
    for i in range(W.shape[0]):
        bit = 1 << i
        for rest in range(bit):
            total, j, left = 0.0, 0, rest
            while left:
                if left & 1:
                    total += W[i, j]
                left >>= 1
                j += 1
            within[bit | rest] = within[rest] + total
            points[bit | rest] = points[rest] + sizes[i]


@part
def _optimal_costs(within: Floats, points: Floats, costs: Floats) -> None:
    """Fill costs[S] with the least cost of a tree on S."""
    costs[0] = 0.0
    for S in range(1, within.shape[0]):
        rest = S & (S - 1)  # the lowest leaf stays on the other side: each split comes once
        if rest == 0:
            costs[S] = 0.0
            continue
        s, best, B = points[S], np.inf, rest
        while B:
            A = S ^ B
            best = min(best, costs[A] + costs[B] - s * (within[A] + within[B]))
            B = (B - 1) & rest
        costs[S] = best + s * within[S]


@part
def _restricted_cost(separators: Merges, W: Floats, sizes: Floats) -> float:
    """Return the cost of the tree on leaves 0 … k − 1 whose neighbours p, p + 1 are first joined by merge separators[p]."""
    k = W.shape[0]
    # Merges in order, each joining the two runs of leaves that meet at its separator: first[end of a run], last[its begin].
    first, last = np.arange(k), np.arange(k)
    cost, done = 0.0, -1
    for _ in range(k - 1):
        p = -1
        for q in range(k - 1):  # all distinct, since the tree is binary
            if separators[q] > done and (p < 0 or separators[q] < separators[p]):
                p = q
        done = separators[p]
        low, high = first[p], last[p + 1]
        across, n_points = 0.0, 0.0
        for i in range(low, high + 1):
            n_points += sizes[i]
        for i in range(low, p + 1):
            for j in range(p + 1, high + 1):
                across += W[i, j]
        cost += n_points * across
        last[low], first[high] = high, low
    return cost


@kernel
def restricted_costs(
    weights: Floats, sizes: Floats, positions: Ints, merges: Merges, table: Merges, costs: Floats
) -> None:
    """Fill in the cost of the tree restricted to each subset, (m,).

    weights (m, k, k), sizes (m, k), positions (m, k): similarities, sizes and positions of the subsets' leaves, in leaf
    order; merges and table are the tree's tables for lowest common ancestors.
    """
    m, k = positions.shape
    separators = np.empty(k - 1, dtype=np.int32)
    for q in range(m):
        for p in range(k - 1):
            separators[p] = largest_between(merges, table, positions[q, p], positions[q, p + 1])
        costs[q] = _restricted_cost(separators, weights[q], sizes[q])


@kernel
def least_costs(weights: Floats, sizes: Floats, least: Floats) -> None:
    """Fill in the least cost of a tree on each subset, (m,), given weights (m, k, k) and sizes (m, k)."""
    m, k = sizes.shape
    within, points, costs = np.empty(1 << k), np.empty(1 << k), np.empty(1 << k)
    for q in range(m):
        within_sums(weights[q], sizes[q], within, points)
        _optimal_costs(within, points, costs)
        least[q] = costs[-1]
