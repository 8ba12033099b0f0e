"""Multilevel sweeps of large trees: within subtrees that fit into a cache, then small subtrees, then large ones on a coarse tree.

A trial is bound by memory access, so nodes are stored in depth-first order, renumbered before every pass. With a graph a trial
takes time in proportion to the edges of the subtree, so that trying all subtrees takes the depth of the tree times as long as
trying the leaves. In the coarse problem, whose leaves are small subtrees, most edges are merged: large subtrees are tried at a
fraction of the time, and find nearly the same positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._kernels.search import local_search, tree_passes
from .._kernels.search.state import Scratch, State
from .._runtime.arrays import Ints
from .._runtime.checkpointing import Scope
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .coarsening import coarsen
from .regions import Region, close_regions, open_regions
from .search_context import ScratchPool, SearchContext, batches
from .spr_sweep import sweep_once
from .state import build_state, cost_scale, renumber_depth_first, restore_state, state_cost, tree_from_state

REGION = 1_024  # leaves of a subtree that is searched as a region
ALL_SIZES = np.inf
SMALL = 32  # maximum leaves of a subtree tried in the full tree; larger ones are tried in the coarse problem
# Sweeps of small subtrees before large ones are tried again: one of all, one of those re-queued.
ROUNDS = 2
# Maximum nodes that a trial expands below one node, and levels it climbs. Few trials would expand more. Good trees of a million
# leaves are hundreds of levels deep, but most gains are local.
OPENED, CLIMBED = 100.0, 100.0
NEGLIGIBLE = 1e-5  # a sweep ends when the expected gain of the remaining trials is below this fraction of the cost
MIN_GAIN = 5e-4  # passes end when one gains a smaller fraction of the cost; for effort 1


SweepTree = Callable[[Tree, Similarity, SearchContext], Tree]


def sweep_multilevel(
    tree: Tree, similarity: Similarity, context: SearchContext, sweep_coarse: SweepTree, max_sweeps: int | None = None
) -> Tree:
    """Return the tree after alternating sweeps of small and large subtrees until both gain little; without edges, one pass.

    ``sweep_coarse`` sweeps the tree of the coarse problem.
    """
    sweeper = _Sweeper(tree, similarity, context, np.inf if max_sweeps is None else max_sweeps)
    if not similarity.has_edges:
        sweeper.sweep(ALL_SIZES, rounds=np.inf, regions=True)
        return sweeper.tree
    with context.checkpoints.scope("levels") as scope:
        number, gained = sweeper.restore(scope)
        while (
            number == 0 or number % 2 or (gained > MIN_GAIN / context.effort * sweeper.scale and not sweeper.is_done())
        ):
            if number % 2:
                gained += sweeper.sweep_above(SMALL, sweep_coarse)
            else:
                gained = sweeper.sweep(SMALL, ROUNDS, regions=number == 0)
            number += 1
            sweeper.save(scope, number, gained)
    return sweeper.tree


@dataclass
class _Pass:
    """Progress of a pass of sweeps."""

    cost: float
    before: float  # the cost when it began
    rounds: float  # left
    tried: Ints  # subtrees to try next
    last: float = np.inf  # the cost before the last sweep


class _Sweeper:
    """A tree, and the number of sweeps so far."""

    def __init__(self, tree: Tree, similarity: Similarity, context: SearchContext, max_sweeps: float) -> None:
        self.tree, self.similarity, self.context = tree, similarity, context
        self.sweeps, self.max_sweeps = 0, max_sweeps
        self.scale = 0.0  # normaliser for relative gains

    def restore(self, scope: Scope) -> tuple[int, float]:
        """Restore the saved tree, if any; return the number of the next sweep, and the gain of the current pass."""
        if not scope.saved:
            return 0, 0.0
        self.tree = tree_from(scope.saved, self.tree.names)
        self.sweeps, self.scale = int(scope.saved["sweeps"]), float(scope.saved["scale"])
        self.context.restore(scope.saved)
        return int(scope.saved["number"]), float(scope.saved["gained"])

    def save(self, scope: Scope, number: int, gained: float) -> None:
        """Save the tree between two sweeps."""
        if not self.context.should_stop():
            values = {"number": number, "gained": gained, "sweeps": self.sweeps, "scale": self.scale}
            scope.save(**arrays_of(self.tree), **values, **self.context.rng_state())

    def is_done(self) -> bool:
        """Return whether no further sweep may begin."""
        return self.context.should_stop() or self.sweeps >= self.max_sweeps

    def sweep(self, up_to: float, rounds: float, regions: bool = False) -> float:
        """Try all subtrees of up to ``up_to`` leaves, then those re-queued; return the gain."""
        ordered, permuted, leaves = renumber_depth_first(self.tree, self.similarity)
        state = build_state(ordered, permuted)
        state = state._replace(terms=state.terms._replace(opened=OPENED, climbed=CLIMBED))
        pool = ScratchPool(state, self.context.n_jobs, self.context.stop)
        names, highest = self.tree.names, self.similarity.maximum()
        self.scale = cost_scale(state)
        with self.context.checkpoints.scope("pass") as scope:
            done = self._begin_pass(state, pool, rounds, regions, scope)
            # in float32, moves of negligible gain could repeat for ever
            while done.rounds > 0 and len(done.tried) and done.cost < done.last and not self.is_done():
                small = done.tried[tree_passes.count_leaves(state.nodes)[done.tried] <= up_to]
                done.tried = sweep_once(state, pool, small, NEGLIGIBLE * self.scale, self.context)
                done.rounds, done.cost, done.last = done.rounds - 1, state_cost(state), done.cost
                self.sweeps += 1
                self.context.report_sweep(
                    self.sweeps, lambda: tree_from_state(state, leaves, highest, names), self.similarity
                )
                self.context.save(scope, state, sweeps=self.sweeps, **vars(done))
        self.tree = tree_from_state(state, leaves, highest, names)
        return done.before - done.cost

    def _begin_pass(self, state: State, pool: ScratchPool, rounds: float, regions: bool, scope: Scope) -> _Pass:
        """Return a new pass, or the one restored from a checkpoint."""
        all_nodes, cost = np.arange(len(state.nodes) - 1), state_cost(state)
        done = _Pass(cost, cost, rounds, all_nodes)
        if scope.saved:
            restore_state(state, scope.saved)
            self.context.restore(scope.saved)
            scope.restore(done)
            self.sweeps = int(scope.saved["sweeps"])
        elif regions:
            _sweep_regions(state, pool, self.context)
            done.cost = state_cost(state)
            self.context.save(scope, state, sweeps=self.sweeps, **vars(done))
        return done

    def sweep_above(self, up_to: int, sweep_coarse: SweepTree) -> float:
        """Try the larger subtrees in the coarse problem, whose leaves have up to ``up_to`` leaves; return the gain."""
        level = coarsen(self.tree, self.similarity, up_to)
        if self.is_done():
            return 0.0
        if level.tree.n_leaves > self.similarity.n / 2:  # a caterpillar tree cannot be coarsened
            return self.sweep(ALL_SIZES, 1)
        found = sweep_coarse(level.tree, level.similarity, self.context.without_callbacks())
        self.tree = level.expand(found).with_names(self.tree.names)
        return dasgupta_cost(level.tree, level.similarity) - dasgupta_cost(found, level.similarity)


def _sweep_regions(state: State, pool: ScratchPool, context: SearchContext) -> None:
    """Search subtrees that fit into a core's cache, in parallel: most moves in a large tree are local."""

    def work(region: Region, scratch: Scratch) -> None:
        tree_passes.queue_all(state.nodes, scratch, region.agenda, region.root)
        for batch in batches(2 * region.n_leaves, context):
            local_search.search_region(
                state, scratch, region.agenda, region.region_parent, np.inf, batch.stop - batch.start
            )

    pool.map(work, open_regions(state, REGION, context))
    close_regions(state)
