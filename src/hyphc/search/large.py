"""Sweeps of large trees: first within subtrees that fit into a cache, then small subtrees, then large ones on a coarser level.

A trial waits for memory more than it computes, so the nodes stand in depth-first order, laid out anew for every pass. With edges
it takes as long as the subtree has edges: to try all subtrees takes the depth of the tree times as long as to try the leaves.
On a coarser level, with small subtrees for leaves, most edges are one. There a large subtree is tried for a fraction, and finds
nearly the same places.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._kernels.search import local, passes
from .._kernels.search.state import Scratch, State
from ..scores.metrics import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from .levels import coarser
from .regions import Region, close_regions, open_regions
from .run import Run, ScratchPool, pieces
from .state import cost_of, depth_first, scale_of, state_of, tree_of
from .sweep import sweep

REGION = 1_024  # leaves of a subtree swept on its own
EVERY = np.inf
SMALL = 32  # leaves of a subtree that is tried among all leaves; larger ones are tried on a coarser level
ROUNDS = (
    2  # sweeps of small subtrees before large ones are tried again: of all, and of those near which something changed
)
# A trial opens at most so many nodes below one node, and climbs at most so many levels. Few would open more. Good trees of a
# million leaves are hundreds of levels deep, but most is gained near by.
OPENED, CLIMBED = 100.0, 100.0
NEGLIGIBLE = 1e-5  # a sweep ends when all that is left to try promises less than this share of the cost
SETTLED = 5e-4  # passes over all levels end when one gains a smaller share; for effort 1


Swept = Callable[[Tree, Similarity, Run], Tree]


def swept_by_levels(tree: Tree, similarity: Similarity, run: Run, swept: Swept, max_sweeps: int | None = None) -> Tree:
    """Sweep small subtrees, then large ones, and again until both together gain little; without edges all alike, once.

    ``swept`` sweeps the tree of a coarser level.
    """
    sweeper = _Sweeper(tree, similarity, run, np.inf if max_sweeps is None else max_sweeps)
    if not similarity.has_edges:
        sweeper.sweep(EVERY, rounds=np.inf, regions=True)
        return sweeper.tree
    gained = sweeper.sweep(SMALL, ROUNDS, regions=True) + sweeper.sweep_above(SMALL, swept)
    while gained > SETTLED / run.effort * sweeper.scale and not sweeper.over():
        gained = sweeper.sweep(SMALL, ROUNDS) + sweeper.sweep_above(SMALL, swept)
    return sweeper.tree


class _Sweeper:
    """A tree, and the sweeps that it has had."""

    def __init__(self, tree: Tree, similarity: Similarity, run: Run, max_sweeps: float) -> None:
        self.tree, self.similarity, self.run = tree, similarity, run
        self.sweeps, self.max_sweeps = 0, max_sweeps
        self.scale = 0.0  # what a share of the cost is a share of

    def over(self) -> bool:
        """Whether there may be no further sweep."""
        return self.run.late() or self.sweeps >= self.max_sweeps

    def sweep(self, up_to: float, rounds: float, regions: bool = False) -> float:
        """Try all subtrees of up to so many leaves, then those near which something changed; what it gains."""
        ordered, permuted, leaves = depth_first(self.tree, self.similarity)
        state = state_of(ordered, permuted)
        state = state._replace(terms=state.terms._replace(opened=OPENED, climbed=CLIMBED))
        pool = ScratchPool(state, self.run.n_jobs, self.run.stop)
        names, highest = self.tree.names, self.similarity.maximum()
        before, self.scale = cost_of(state), scale_of(state)
        if regions:
            _sweep_regions(state, pool, self.run)
        tried, cost, last = np.arange(len(state.nodes) - 1), cost_of(state), np.inf
        # in float32 moves that gain next to nothing could go on for ever
        while rounds > 0 and len(tried) and cost < last and not self.over():
            tried = tried[passes.count_leaves(state.nodes)[tried] <= up_to]
            tried = sweep(state, pool, tried, NEGLIGIBLE * self.scale, self.run)
            rounds, self.sweeps, cost, last = rounds - 1, self.sweeps + 1, cost_of(state), cost
            self.run.swept(self.sweeps, lambda: tree_of(state, leaves, highest, names), self.similarity)
        self.tree = tree_of(state, leaves, highest, names)
        return before - cost

    def sweep_above(self, up_to: int, swept: Swept) -> float:
        """Try the larger subtrees, with those of up to so many leaves for leaves; what it gains."""
        level = coarser(self.tree, self.similarity, up_to)
        if self.over():
            return 0.0
        if level.tree.n_leaves > self.similarity.n / 2:  # a tree that peels off leaf by leaf has no such level
            return self.sweep(EVERY, 1)
        found = swept(level.tree, level.similarity, self.run.unheard())
        self.tree = level.whole(found).with_names(self.tree.names)
        return dasgupta_cost(level.tree, level.similarity) - dasgupta_cost(found, level.similarity)


def _sweep_regions(state: State, pool: ScratchPool, run: Run) -> None:
    """Sweep within subtrees that fit into a core's cache, many at once: most moves of a large tree are short ones."""

    def work(region: Region, scratch: Scratch) -> None:
        passes.wake_all(state.nodes, scratch, region.agenda, region.root)
        for piece in pieces(2 * region.n_leaves, run):
            local.search(state, scratch, region.agenda, region.ceiling, np.inf, piece.stop - piece.start)

    pool.map(work, open_regions(state, REGION, run))
    close_regions(state)
