"""Flat clusters under constraints: which merges every cut must undo, and which it must keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import largest_below, sums_of_merges
from .._runtime.arrays import Ints
from ..tree import Tree
from .constraints import ResolvedConstraints

Bools = npt.NDArray[np.bool_]


def forced_splits(tree: Tree, constraints: ResolvedConstraints) -> Ints:
    """Return for each merge, (n − 1,): 1 if it joins what must be apart, −1 if it lies in a must-link group, 0 otherwise.

    Cannot-link has priority where both hold, as when new points have joined a group.
    """
    return np.where(
        _violates_cannot_link(tree, constraints), 1, -_lies_in_must_link(tree, constraints).astype(np.int64)
    )


def _violates_cannot_link(tree: Tree, constraints: ResolvedConstraints) -> Bools:
    """Return for each merge whether two of its points must be apart, by a group or by their classes."""
    n = tree.n_leaves
    # a cluster is a run of leaves: if it has two points of a group, it has two that follow each other
    runs = [_in_leaf_order(tree, group) for group in constraints.apart]
    before, after = _concatenate([run[:-1] for run in runs]), _concatenate([run[1:] for run in runs])
    joins = np.asarray(tree.lca(before, after)) - n
    pairs = sums_of_merges(np.array(tree.children), np.bincount(joins, minlength=n - 1).astype(np.float64))
    codes, is_given = constraints.classes.astype(np.float64), constraints.classes >= 0
    highest = largest_below(np.array(tree.children), np.where(is_given, codes, -np.inf))
    lowest = -largest_below(np.array(tree.children), np.where(is_given, -codes, -np.inf))
    return np.asarray((pairs > 0) | (highest > lowest))[n:]


def _lies_in_must_link(tree: Tree, constraints: ResolvedConstraints) -> Bools:
    """Return for each merge whether it lies in the smallest cluster that holds a must-link group.

    It does if such a cluster holds the leaves to both sides of the boundary between its children.
    """
    n, first = tree.n_leaves, tree._first
    runs = [_in_leaf_order(tree, group) for group in constraints.together if len(group) > 1]
    tops = np.asarray(tree.lca(_concatenate([run[:1] for run in runs]), _concatenate([run[-1:] for run in runs])))
    begins = np.bincount(first[tops] + 1, minlength=n + 1)
    ends = np.bincount(first[tops] + tree.sizes[tops], minlength=n + 1)
    covered = np.cumsum(begins - ends) > 0
    return np.asarray(covered[first[tree.children[:, 1]]])


def _in_leaf_order(tree: Tree, points: Ints) -> Ints:
    """Return the points sorted by their position among the leaves."""
    return points[np.argsort(tree._first[points])]


def _concatenate(runs: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *runs])
