"""Collapse duplicates to one weighted leaf each, and expand results to all points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import group_equal_rows
from .._runtime.progress import Progress
from .._runtime.user_warnings import warn
from ..baselines import random_tree
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from .weighted_leaves import expanded, grouped, twins


class DistinctPoints:
    """The similarity of distinct points, each a weighted leaf, and how results are expanded to all points.

    Parameters
    ----------
    similarity : Similarity
        Of all points.
    groups : array (n,), optional
        The leaf of each point, as ``weighted_leaves.twins`` finds them; None keeps every point.
    """

    def __init__(self, similarity: Similarity, groups: Ints | None) -> None:
        self._groups, self._constant, self.similarity = groups, 0.0, similarity
        if groups is not None:
            self.similarity = grouped(similarity, groups)
            # what lies inside the groups costs the same in every tree
            some = random_tree(self.similarity, random_state=0)
            self._constant = dasgupta_cost(expanded(some, groups), similarity) - dasgupta_cost(some, self.similarity)

    def expand_tree(self, tree: Tree) -> Tree:
        """Return the tree of all points."""
        return tree if self._groups is None else expanded(tree, self._groups)

    def shift_losses(self, losses: Floats) -> Floats:
        """Return the losses of all points: those of the leaves plus the cost inside groups."""
        return losses + self._constant

    def translate_progress(self, progress: Progress) -> Progress:
        """Return progress with costs, tree and positions of all points."""
        if self._groups is None:
            return progress
        of_all: dict[str, Any] = {"tree": lambda: self.expand_tree(progress.tree())}
        for name in ("cost", "loss", "decoded_cost"):
            value = getattr(progress, name)
            of_all[name] = None if value is None else value + self._constant
        if progress.embedding is not None:
            of_all["embedding"] = progress.embedding[self._groups]
        return replace(progress, **of_all)


def count_distinct(similarity: Similarity, labels: Ints) -> int:
    """Return the number of distinct points; only a lower bound if that is at least the number of clusters."""
    firsts = np.unique(labels, return_index=True)[1]
    signatures = similarity.signatures()
    # all points are compared only where two clusters begin with equal ones
    if group_equal_rows(lambda some: signatures(firsts[some]), len(firsts)) is None:
        return len(firsts)
    groups = twins(similarity)
    return similarity.n if groups is None else int(groups.max()) + 1


def warn_of_few_distinct(n_distinct: int, n_clusters: int) -> None:
    """Warn if there are more clusters than distinct points."""
    if n_distinct < n_clusters:
        message = (
            f"The number of distinct points ({n_distinct}) is smaller than n_clusters ({n_clusters}): equal points were put into "
            f"different clusters by chance. Choose at most {n_distinct}."
        )
        warn(message, ConvergenceWarning, stacklevel=4)
