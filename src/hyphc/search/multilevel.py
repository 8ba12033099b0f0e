"""Sweeps of large trees: first within subtrees that fit into a cache, then small subtrees, then large ones on a coarser level.

A trial waits for memory more than it computes, so the nodes stand in depth-first order, laid out anew for every pass. With edges
it takes as long as the subtree has edges: to try all subtrees takes the depth of the tree times as long as to try the leaves.
On a coarser level, with small subtrees for leaves, most edges are one. There a large subtree is tried for a fraction, and finds
nearly the same places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._kernels.search import local_search, tree_passes
from .._kernels.search.state import Scratch, State
from .._runtime.arrays import Ints
from .._runtime.checkpointing import Level
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .coarsening import coarser
from .regions import Region, close_regions, open_regions
from .search_context import Run, ScratchPool, pieces
from .spr_sweep import sweep
from .state import cost_of, depth_first, scale_of, state_of, take_up, tree_of

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
    with run.trail.level("levels") as level:
        number, gained = sweeper.take_up(level)
        while number == 0 or number % 2 or (gained > SETTLED / run.effort * sweeper.scale and not sweeper.over()):
            if number % 2:
                gained += sweeper.sweep_above(SMALL, swept)
            else:
                gained = sweeper.sweep(SMALL, ROUNDS, regions=number == 0)
            number += 1
            sweeper.keep(level, number, gained)
    return sweeper.tree


@dataclass
class _Pass:
    """How far a pass of sweeps has come."""

    cost: float
    before: float  # the cost when it began
    rounds: float  # left
    tried: Ints  # subtrees to try next
    last: float = np.inf  # the cost before the last sweep


class _Sweeper:
    """A tree, and the sweeps that it has had."""

    def __init__(self, tree: Tree, similarity: Similarity, run: Run, max_sweeps: float) -> None:
        self.tree, self.similarity, self.run = tree, similarity, run
        self.sweeps, self.max_sweeps = 0, max_sweeps
        self.scale = 0.0  # what a share of the cost is a share of

    def take_up(self, level: Level) -> tuple[int, float]:
        """The number of the next sweep, and what was gained in this pass over the levels; the tree that was kept, if any."""
        if not level.found:
            return 0, 0.0
        self.tree = tree_from(level.found, self.tree.names)
        self.sweeps, self.scale = int(level.found["sweeps"]), float(level.found["scale"])
        self.run.take_up(level.found)
        return int(level.found["number"]), float(level.found["gained"])

    def keep(self, level: Level, number: int, gained: float) -> None:
        """Keep the tree between two sweeps over a level."""
        if not self.run.late():
            told = {"number": number, "gained": gained, "sweeps": self.sweeps, "scale": self.scale}
            level.keep(**arrays_of(self.tree), **told, **self.run.marks())

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
        self.scale = scale_of(state)
        with self.run.trail.level("pass") as level:
            done = self._begun(state, pool, rounds, regions, level)
            # in float32 moves that gain next to nothing could go on for ever
            while done.rounds > 0 and len(done.tried) and done.cost < done.last and not self.over():
                small = done.tried[tree_passes.count_leaves(state.nodes)[done.tried] <= up_to]
                done.tried = sweep(state, pool, small, NEGLIGIBLE * self.scale, self.run)
                done.rounds, done.cost, done.last = done.rounds - 1, cost_of(state), done.cost
                self.sweeps += 1
                self.run.swept(self.sweeps, lambda: tree_of(state, leaves, highest, names), self.similarity)
                self.run.keep(level, state, sweeps=self.sweeps, **vars(done))
        self.tree = tree_of(state, leaves, highest, names)
        return done.before - done.cost

    def _begun(self, state: State, pool: ScratchPool, rounds: float, regions: bool, level: Level) -> _Pass:
        """A pass before its first sweep, or where an earlier process left it."""
        everyone, cost = np.arange(len(state.nodes) - 1), cost_of(state)
        done = _Pass(cost, cost, rounds, everyone)
        if level.found:
            take_up(state, level.found)
            self.run.take_up(level.found)
            level.take_up(done)
            self.sweeps = int(level.found["sweeps"])
        elif regions:
            _sweep_regions(state, pool, self.run)
            done.cost = cost_of(state)
            self.run.keep(level, state, sweeps=self.sweeps, **vars(done))
        return done

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
        tree_passes.wake_all(state.nodes, scratch, region.agenda, region.root)
        for piece in pieces(2 * region.n_leaves, run):
            local_search.search(state, scratch, region.agenda, region.ceiling, np.inf, piece.stop - piece.start)

    pool.map(work, open_regions(state, REGION, run))
    close_regions(state)
