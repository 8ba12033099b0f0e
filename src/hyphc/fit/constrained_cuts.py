"""Flat clusters that respect what is known: which merges every cut must undo, and which it must keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import largest_below, sums_of_merges
from .._runtime.arrays import Ints
from ..tree import Tree
from .constraints import Known

Bools = npt.NDArray[np.bool_]


def forced_splits(tree: Tree, known: Known) -> Ints:
    """1 for each merge that joins what must be apart, −1 for those inside a group that must be together, 0 for others: (n − 1,).

    Where both are asked of a merge, as when new points have joined a group, what must be apart is.
    """
    return np.where(_joins_what_is_apart(tree, known), 1, -_lies_inside(tree, known).astype(np.int64))


def _joins_what_is_apart(tree: Tree, known: Known) -> Bools:
    """For each merge: are two of its points to be apart, in a group or by their classes?"""
    n = tree.n_leaves
    # a cluster is a run of leaves: if it has two points of a group, it has two that follow each other
    runs = [_from_left(tree, group) for group in known.apart]
    before, after = _joined([run[:-1] for run in runs]), _joined([run[1:] for run in runs])
    joins = np.asarray(tree.lca(before, after)) - n
    pairs = sums_of_merges(np.array(tree.children), np.bincount(joins, minlength=n - 1).astype(np.float64))
    codes, is_known = known.classes.astype(np.float64), known.classes >= 0
    highest = largest_below(np.array(tree.children), np.where(is_known, codes, -np.inf))
    lowest = -largest_below(np.array(tree.children), np.where(is_known, -codes, -np.inf))
    return np.asarray((pairs > 0) | (highest > lowest))[n:]


def _lies_inside(tree: Tree, known: Known) -> Bools:
    """For each merge: is it the smallest cluster that holds a group that must be together, or a part of it?

    It is if such a cluster holds the leaves to both sides of the place where its children meet.
    """
    n, first = tree.n_leaves, tree._first
    runs = [_from_left(tree, group) for group in known.together if len(group) > 1]
    tops = np.asarray(tree.lca(_joined([run[:1] for run in runs]), _joined([run[-1:] for run in runs])))
    begins = np.bincount(first[tops] + 1, minlength=n + 1)
    ends = np.bincount(first[tops] + tree.sizes[tops], minlength=n + 1)
    covered = np.cumsum(begins - ends) > 0
    return np.asarray(covered[first[tree.children[:, 1]]])


def _from_left(tree: Tree, points: Ints) -> Ints:
    """The points in the order of the leaves."""
    return points[np.argsort(tree._first[points])]


def _joined(runs: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *runs])
