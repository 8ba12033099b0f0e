"""The tree of a page: of a tree that is too large, low subtrees become leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Ints
from ..tree import Tree
from ..tree.prunings import by_smallest_leaf, labels_of, tops


@dataclass(frozen=True)
class PageTree:
    """``tree`` over groups of points; ``of`` is the group of each point, ``first`` a member of each, ``sizes`` their sizes.

    Where ``is_whole``, each point is a group of its own.
    """

    tree: Tree
    of: Ints
    first: Ints
    sizes: Ints

    @property
    def is_whole(self) -> bool:
        return len(self.sizes) == len(self.of)

    def chosen(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the rows of ``values`` that the page shows: those of the groups' first members."""
        array = np.asarray(values)
        return array if self.is_whole or len(array) != len(self.of) else array[self.first]

    def most_frequent(self, codes: Ints) -> Ints:
        """Return the most frequent code in each group; ties go to the first member's, else the smallest."""
        if self.is_whole:
            return codes
        pairs, counts = np.unique(np.column_stack([self.of, codes]), axis=0, return_counts=True)
        foreign = pairs[:, 1] != codes[self.first][pairs[:, 0]]
        order = np.lexsort((pairs[:, 1], foreign, -counts, pairs[:, 0]))
        begins = np.searchsorted(pairs[order, 0], np.arange(len(self.sizes)))
        return np.asarray(pairs[order, 1][begins])

    def means(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the mean of each column in each group, missing values left out; NaN where a group has none."""
        if self.is_whole:
            return values
        k, means = len(self.sizes), np.full((len(self.sizes), values.shape[1]), np.nan)
        for mean, column in zip(means.T, values.T, strict=True):
            known = np.isfinite(column)
            counts = np.bincount(self.of[known], minlength=k)
            np.divide(np.bincount(self.of[known], column[known], k), counts, out=mean, where=counts > 0)
        return means

    def names(self, names: tuple[str, ...] | None, rows_from: int = 0) -> tuple[str, ...] | None:
        """Return for each group the name of its first member, or its row number, and how many more there are."""
        if self.is_whole:
            return names
        called = [names[i] if names else str(i + rows_from) for i in self.first.tolist()]
        return tuple(
            name if size == 1 else f"{name} and {size - 1} more"
            for name, size in zip(called, self.sizes.tolist(), strict=True)
        )


def collapse(tree: Tree, k: int) -> PageTree:
    """Collapse the lowest n − k merges of the tree to k groups, and return the tree that joins them."""
    n = tree.n_leaves
    if n <= k:
        return PageTree(tree, np.arange(n), np.arange(n), np.ones(n, dtype=np.int64))
    of = labels_of(tree, by_smallest_leaf(tree, tops(tree, np.arange(n - 1) < n - k)))
    _, first, sizes = np.unique(of, return_index=True, return_counts=True)
    some_leaf = tree.leaf_order()[tree._first]  # of each node
    node = np.where(np.arange(2 * n - 1) < 2 * n - k, of[some_leaf], np.arange(2 * n - 1) - 2 * (n - k))
    return PageTree(Tree(node[tree.children[n - k :]], tree.heights[n - k :]), of, first, sizes)
