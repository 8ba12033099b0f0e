"""What a fit of ``HypHC`` does after the similarity is known: start, continuous stage, search, all within one time budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import baselines
from .._shared.arrays import Floats, Ints
from ..baselines.agglomerate import graph_agglomeration
from ..continuous.solver import EmbedProgress
from ..hyperbolic.encode import encode_by_height
from ..scores.metrics import dasgupta_cost
from ..search import Progress
from ..similarity import Similarity
from ..tree import Tree
from .grouping import expanded, grouped

AnyProgress = EmbedProgress | Progress
Callback = Callable[[AnyProgress], Any]

# Up to this many points average linkage takes a moment, and the result is never worse than it.
LINKAGE_UP_TO = 2_000


class Distinct:
    """The problem with duplicates as one weighted leaf each, and the way back to all points."""

    def __init__(self, similarity: Similarity, groups: Ints | None) -> None:
        self._groups, self._constant, self.similarity = groups, 0.0, similarity
        if groups is not None:
            self.similarity = grouped(similarity, groups)
            # what lies inside the groups costs the same in every tree
            some = baselines.random_tree(self.similarity, random_state=0)
            self._constant = dasgupta_cost(expanded(some, groups), similarity) - dasgupta_cost(some, self.similarity)

    def tree(self, tree: Tree) -> Tree:
        """The tree of all points."""
        return tree if self._groups is None else expanded(tree, self._groups)

    def curve(self, losses: Floats) -> Floats:
        """Losses as of all points."""
        return losses + self._constant

    def news(self, progress: AnyProgress) -> AnyProgress:
        """What a listener is told, as of all points."""
        if self._groups is None:
            return progress
        if isinstance(progress, Progress):
            return replace(progress, cost=progress.cost + self._constant)
        costs = {name: getattr(progress, name) + self._constant for name in ("loss", "cost", "best_cost")}
        return replace(progress, embedding=progress.embedding[self._groups], **costs)


def large_start(similarity: Similarity) -> Tree:
    """A good tree in near-linear time: agglomeration along the edges of a graph, bisecting k-means otherwise."""
    return graph_agglomeration(similarity) if similarity.is_sparse else baselines.bisecting_kmeans(similarity)


def cheapest_start(tree: Tree, similarity: Similarity) -> Tree:
    """The tree, or average linkage where that takes a moment and costs less."""
    if similarity.n > LINKAGE_UP_TO:
        return tree
    other = baselines.average_linkage(similarity)
    return min((tree, other), key=lambda candidate: dasgupta_cost(candidate, similarity))


def placed(tree: Tree, n_components: int) -> Floats:
    """Positions that decode to the tree; coordinates beyond the disk's two are 0."""
    return np.pad(encode_by_height(tree), ((0, 0), (0, max(0, n_components - 2))))


class Clock:
    """How much of the time budget is left, and whether the caller's callback has said that it is enough."""

    def __init__(self, time_budget: float | None, callback: Callback | None) -> None:
        if time_budget is not None and not time_budget > 0:
            raise ValueError(f"time_budget={time_budget} must be a positive number of seconds.")
        self._budget, self._begin, self._callback = time_budget, time.monotonic(), callback
        self.stopped = False

    def left(self) -> float | None:
        """Seconds left, at least 0; None without a budget."""
        return None if self._budget is None else max(0.0, self._begin + self._budget - time.monotonic())

    def tell(self, progress: AnyProgress) -> bool:
        """Pass the news on; True once the caller wants to stop."""
        if self._callback is not None:
            self.stopped |= self._callback(progress) is True
        return self.stopped

    def at_share(self, share: float, problem: Distinct) -> Callable[[EmbedProgress], bool] | None:
        """A callback for a stage that may spend this share of the budget."""
        if self._budget is None and self._callback is None:
            return None
        deadline = np.inf if self._budget is None else self._begin + share * self._budget
        return lambda progress: self.tell(problem.news(progress)) or time.monotonic() >= deadline
