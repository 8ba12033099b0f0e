"""Kernels of branch and bound for optimal trees: bounds of all subsets, and splits only where the bounds allow them.

Subsets are bit masks, and f(S) is the least cost of a tree on S. ``bounds`` hold what f is at least. A pass considers all
trees of at most a budget: downwards, ``pass_budgets_down`` gives each subset the budget that the rest of such a tree leaves it;
upwards, ``tighten`` makes the bound of each subset that was reached the least over its splits. A bound within the budget
is exact, by induction.

Where similarities are not negative, some best tree has connected clusters only: if a part of a split is disconnected, splitting
off one component after the other costs no more. So other splits are left out, and a disconnected subset is split between its
components, at no cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

Flags = npt.NDArray[np.int8]
EXACT, SCATTERED = 1, 2  # the bound is f; the leaves are not connected by similarities above 0

PASS = record_dtype(
    ("subset", np.int64),  # the current one
    ("work", np.float64),  # splits looked at so far
    ("pause", np.float64),  # work after which a pass returns
    ("rounding", np.float64),  # by which sums in different orders may differ
)


class Tables(NamedTuple):
    """Tables over all subsets: similarity within, cost of the pairs alone, bound, budget in this pass, and flags."""

    within: Floats
    pairs: Floats
    bounds: Floats
    budgets: Floats
    flags: Flags


class SubsetLeaves(NamedTuple):
    """Sizes of the leaves, and for each a mask of the leaves that it is similar to."""

    sizes: Floats
    neighbours: Ints


@part
def _count(subset: int) -> int:
    count = 0
    while subset:
        subset &= subset - 1
        count += 1
    return count


@part
def _points(subset: int, sizes: Floats) -> float:
    points, leaf = 0.0, 0
    while subset:
        if subset & 1:
            points += sizes[leaf]
        subset >>= 1
        leaf += 1
    return points


@part
def _component(subset: int, neighbours: Ints) -> int:
    """Return the leaves of a subset that its lowest one is connected with."""
    found = subset & -subset
    fresh = found
    while fresh:
        around, leaf = 0, 0
        while fresh:
            if fresh & 1:
                around |= neighbours[leaf]
            fresh >>= 1
            leaf += 1
        fresh = around & subset & ~found
        found |= fresh
    return found


@part
def _least_split(subset: int, leaves: SubsetLeaves, tables: Tables) -> tuple[float, int]:
    """Return the least cost of a split with the bounds of its parts, and the part without the lowest leaf; 0 for a leaf."""
    within, bounds = tables.within, tables.bounds
    rest = subset & (subset - 1)  # the lowest leaf stays on the other side: each split comes once
    points, best, part, B = _points(subset, leaves.sizes), np.inf, 0, rest
    while B:
        A = subset ^ B
        cost = bounds[A] + bounds[B] - points * (within[A] + within[B])
        if cost < best and not (tables.flags[A] | tables.flags[B]) & SCATTERED:
            best, part = cost, B
        B = (B - 1) & rest
    return best + points * within[subset], part


@part
def _mean_bound(subset: int, count: int, tables: Tables) -> float:
    """Return a bound from those of the subsets with one leaf less.

    A tree's cost beyond that of its pairs is a sum over triplets, and each of them lies in count − 3 of these subsets.
    """
    total, left = 0.0, subset
    while left:
        leaf = left & -left
        total += tables.bounds[subset ^ leaf]
        left ^= leaf
    mean: float = (total - tables.pairs[subset]) / (count - 3)
    return mean


@kernel
def first_bounds(few: int, leaves: SubsetLeaves, tables: Tables, run: Records) -> None:
    """Fill in the bounds of all subsets in turn, exact for those of at most ``few`` leaves."""
    while run.subset < tables.bounds.shape[0] and run.work < run.pause:
        subset = run.subset
        count = _count(subset)
        tables.flags[subset] = EXACT if count <= few else 0
        tables.budgets[subset] = -np.inf
        component = _component(subset, leaves.neighbours)
        if count < 2:
            tables.bounds[subset] = 0.0
        elif component != subset:
            both = tables.flags[component] & tables.flags[subset ^ component] & EXACT
            tables.flags[subset] = SCATTERED | both
            tables.bounds[subset] = tables.bounds[component] + tables.bounds[subset ^ component]
        elif count <= few:
            tables.bounds[subset] = _least_split(subset, leaves, tables)[0]
            run.work += 1 << (count - 1)
        else:
            tables.bounds[subset] = _mean_bound(subset, count, tables)
            run.work += count
        run.subset += 1


@kernel
def pass_budgets_down(leaves: SubsetLeaves, tables: Tables, run: Records) -> None:
    """Raise, from all leaves downwards, the budget of each part of each split that the budget of the whole allows."""
    bounds, budgets = tables.bounds, tables.budgets
    while run.subset > 0 and run.work < run.pause:
        subset = run.subset
        run.subset -= 1
        if tables.flags[subset] & EXACT or budgets[subset] < bounds[subset] - run.rounding:
            continue
        if tables.flags[subset] & SCATTERED:
            A = _component(subset, leaves.neighbours)
            _raise_budget(A, subset ^ A, budgets[subset] - bounds[A] - bounds[subset ^ A], tables)
        else:
            _reach_parts(subset, leaves, tables, run)


@part
def _reach_parts(subset: int, leaves: SubsetLeaves, tables: Tables, run: Records) -> None:
    bounds, within = tables.bounds, tables.within
    rest = subset & (subset - 1)
    points = _points(subset, leaves.sizes)
    left, B = tables.budgets[subset] - points * within[subset], rest
    while B:
        A = subset ^ B
        slack = left + points * (within[A] + within[B]) - bounds[A] - bounds[B]
        if slack >= -run.rounding and not (tables.flags[A] | tables.flags[B]) & SCATTERED:
            _raise_budget(A, B, slack, tables)
        B = (B - 1) & rest
    run.work += 1 << (_count(subset) - 1)


@part
def _raise_budget(A: int, B: int, slack: float, tables: Tables) -> None:
    tables.budgets[A] = max(tables.budgets[A], tables.bounds[A] + slack)
    tables.budgets[B] = max(tables.budgets[B], tables.bounds[B] + slack)


@kernel
def tighten(leaves: SubsetLeaves, tables: Tables, run: Records) -> None:
    """Update, upwards, the bounds of all subsets that were reached, and reset their budgets."""
    bounds, budgets, flags = tables.bounds, tables.budgets, tables.flags
    while run.subset < bounds.shape[0] and run.work < run.pause:
        subset = run.subset
        run.subset += 1
        if budgets[subset] == -np.inf:
            continue
        if not flags[subset] & EXACT and budgets[subset] >= bounds[subset] - run.rounding:
            if flags[subset] & SCATTERED:
                A = _component(subset, leaves.neighbours)
                bounds[subset] = bounds[A] + bounds[subset ^ A]
            else:
                bounds[subset] = _least_split(subset, leaves, tables)[0]
                run.work += 1 << (_count(subset) - 1)
            if bounds[subset] <= budgets[subset] + run.rounding:
                flags[subset] |= EXACT
        budgets[subset] = -np.inf


@kernel
def best_split(subset: int, leaves: SubsetLeaves, tables: Tables) -> int:
    """Return the part without the lowest leaf of the split that costs least by the bounds; 0 for a leaf."""
    if tables.flags[subset] & SCATTERED:
        return subset ^ _component(subset, leaves.neighbours)
    return _least_split(subset, leaves, tables)[1]
