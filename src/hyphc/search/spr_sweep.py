"""Stage 1 of the search, subtree prune and regraft (SPR): each subtree moves where the cost is least, until none gains."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from .._kernels.search import local_search, tree_passes
from .._kernels.search.state import Agenda, Scratch, State
from .._runtime.arrays import Ints
from ..similarity import Similarity
from ..tree import Tree
from .search_context import ScratchPool, SearchContext, batches, is_large
from .state import build_state, cost_scale, new_agenda, renumber_depth_first, restore_state, state_cost, tree_from_state

# Rounds over all subtrees before other stages gain more in the same time.
FIRST_ROUNDS = 2
MIN_GAIN = 3e-5  # a round that gains a smaller fraction of the cost is the last
CHUNK = 8_192  # maximum subtrees tried on one version of the tree
SLICE = 256  # subtrees of one task; neither depends on the number of threads


@dataclass
class _SweepProgress:
    """Progress of the sweeps of a tree."""

    cost: float
    left: float  # rounds to go
    sweeps: int = 0
    last: float = np.inf  # cost before the last sweep
    before: float = np.inf  # cost before the round
    tried: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # subtrees to try next

    def start_round(self, scale: float, n_nodes: int) -> bool:
        """Return whether subtrees are left to try; begin another round over all of them if the last one gained enough."""
        # in float32, moves of negligible gain could repeat for ever
        if len(self.tried) and self.cost < self.last:
            return True
        if self.left <= 0 or not self.before - self.cost > MIN_GAIN * scale:
            return False
        self.before, self.left = self.cost, self.left - 1
        self.tried, self.last = np.arange(n_nodes), np.inf
        return True


def sweep_tree(
    tree: Tree, similarity: Similarity, context: SearchContext, max_sweeps: int | None = None, rounds: int | None = None
) -> Tree:
    """Return the tree after sweeps: all subtrees, then the re-queued ones until none is left, and again from all.

    Ends when such a round gains less than ``MIN_GAIN``, or after ``max_sweeps`` or ``rounds``. Large trees get multilevel sweeps.
    """
    if is_large(similarity):
        from .multilevel import sweep_multilevel  # here, since that module imports this one

        return sweep_multilevel(tree, similarity, context, partial(sweep_tree, rounds=1), max_sweeps)
    ordered, permuted, leaves = renumber_depth_first(tree, similarity)
    state = build_state(ordered, permuted)
    pool = ScratchPool(state, context.n_jobs, context.stop)
    highest, most = similarity.maximum(), np.inf if max_sweeps is None else max_sweeps
    with context.checkpoints.scope("sweeps") as scope:
        course = _SweepProgress(state_cost(state), np.inf if rounds is None else rounds)
        restore_state(state, scope.saved)
        context.restore(scope.saved)
        scope.restore(course)
        while (
            not context.should_stop()
            and course.sweeps < most
            and course.start_round(cost_scale(state), 2 * similarity.n - 1)
        ):
            course.tried = sweep_once(state, pool, course.tried, 0.0, context)
            course.sweeps, course.cost, course.last = course.sweeps + 1, state_cost(state), course.cost
            context.report_sweep(course.sweeps, lambda: tree_from_state(state, leaves, highest, tree.names), similarity)
            context.save(scope, state, **vars(course))
    return tree_from_state(state, leaves, highest, tree.names)


def sweep_once(state: State, pool: ScratchPool, tried: Ints, enough: float, context: SearchContext) -> Ints:
    """Try the subtrees, largest first, in parallel on the same tree, and apply improving moves one by one.

    Returns the re-queued subtrees: those near a move. Ends, with none re-queued, once the remaining subtrees are expected to gain
    less than ``enough`` at the rate of the last full chunk: large subtrees gain most, so that the rate falls.
    """
    tried = _largest_first(state, tried)
    requeued = np.zeros(len(state.nodes), dtype=bool)
    agenda = new_agenda(np.arange(len(state.nodes) // 2), 0)
    begin, length = 0, SLICE  # short chunks first, so that moves come early where trials are slow
    while begin < len(tried) and not context.should_stop():
        chunk = tried[begin : begin + length]
        gains = np.zeros(len(chunk))
        slices = [slice(k, k + SLICE) for k in range(0, len(chunk), SLICE)]
        pool.map(lambda s, scratch: _propose(state, scratch, chunk[s], gains[s], context), slices)  # noqa: B023
        if gains.sum() / len(chunk) * (len(tried) - begin) < enough and length == CHUNK:
            return tried[:0]
        improving = chunk[gains > 0]
        begin, length = begin + length, min(2 * length, CHUNK)
        agenda.plan["ring"][: len(improving)] = improving
        state.nodes["waiting"][improving] = 1
        agenda.now.head, agenda.now.waiting = 0, len(improving)
        pool.map(lambda effort, scratch: _drain(state, scratch, agenda, effort, context), [len(improving)])
        left = (agenda.now.head + np.arange(agenda.now.waiting)) % len(agenda.plan)
        again = agenda.plan["ring"][left]
        requeued[again] = True
        state.nodes["waiting"][again] = 0
    return np.flatnonzero(requeued)


def _largest_first(state: State, subtrees: Ints) -> Ints:
    """Return the subtrees by decreasing size: in this order sweeps are fewer and reach a lower cost."""
    return subtrees[np.argsort(-state.nodes["points"][subtrees], kind="stable")]


def _propose(
    state: State, scratch: Scratch, tried: Ints, gains: npt.NDArray[np.float64], context: SearchContext
) -> None:
    if not context.should_stop():
        tree_passes.best_gains(state, scratch, tried, gains)


def _drain(state: State, scratch: Scratch, agenda: Agenda, effort: int, context: SearchContext) -> None:
    """Try the first ``effort`` queued subtrees."""
    for batch in batches(effort, context):
        local_search.search_region(state, scratch, agenda, len(state.nodes) - 1, np.inf, batch.stop - batch.start)
