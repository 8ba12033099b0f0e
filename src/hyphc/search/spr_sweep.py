"""Subtree prune and regraft (SPR): sweeps in which each subtree moves where the cost is least, until none gains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.search import local_search, tree_passes
from .._kernels.search.state import Agenda, Scratch, State
from .._runtime.arrays import Ints
from ..similarity import Similarity
from ..tree import Tree
from .regions import Region, close_regions, open_regions
from .search_context import ScratchPool, SearchContext, batches, is_large
from .state import build_state, cost_scale, new_agenda, renumber_depth_first, state_cost, tree_from_state

MIN_GAIN = 3e-5  # a round over all subtrees that gains a smaller fraction of the cost is the last
CHUNK = 8_192  # maximum subtrees tried on one version of the tree
SLICE = 256  # subtrees of one task; neither depends on the number of threads
REGION = 1_024  # leaves of a subtree that is searched as a region: it fits into a core's cache
# Maximum nodes that a trial expands below one node, and levels it climbs, in large problems. Few trials would expand more. Good
# trees of a million leaves are hundreds of levels deep, but most gains are local.
OPENED, CLIMBED = 100.0, 100.0
NEGLIGIBLE = (
    1e-5  # there, a sweep ends when the expected gain of the remaining trials is below this fraction of the cost
)


def sweep_all_sizes(
    tree: Tree, similarity: Similarity, context: SearchContext, rounds: float = np.inf, max_sweeps: float = np.inf
) -> Tree:
    """Return the tree after sweeps: all subtrees, then the re-queued ones until none is left, and again from all.

    Ends when such a round gains less than ``MIN_GAIN``, or after so many rounds or sweeps. Large problems get one round.
    """
    ordered, permuted, leaves = renumber_depth_first(tree, similarity)
    state = build_state(ordered, permuted)
    large = is_large(similarity)
    if large:
        state, rounds = limit_trials(state), 1
    pool = ScratchPool(state, context.n_jobs, context.stop)
    if large:
        sweep_regions(state, pool, context)
    highest, enough = similarity.maximum(), NEGLIGIBLE * cost_scale(state) if large else 0.0
    cost, before, last, sweeps = state_cost(state), np.inf, np.inf, 0
    tried = np.empty(0, dtype=np.int64)
    while sweeps < max_sweeps and not context.should_stop():
        if len(tried) == 0 or cost >= last:  # in float32, moves of negligible gain could repeat for ever
            if rounds <= 0 or before - cost <= MIN_GAIN * cost_scale(state):
                break
            tried, before, last, rounds = np.arange(2 * similarity.n - 1), cost, np.inf, rounds - 1
        tried = sweep_once(state, pool, tried, enough, context)
        sweeps, cost, last = sweeps + 1, state_cost(state), cost
        context.report_sweep(lambda: tree_from_state(state, leaves, highest, tree.names), similarity)
    context.visits += pool.visits()
    return tree_from_state(state, leaves, highest, tree.names)


def limit_trials(state: State) -> State:
    """Return the state with limits on the nodes that a trial expands and the levels that it climbs."""
    return state._replace(terms=state.terms._replace(opened=OPENED, climbed=CLIMBED))


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


def sweep_regions(state: State, pool: ScratchPool, context: SearchContext) -> None:
    """Search subtrees that fit into a core's cache, in parallel: most moves in a large tree are local."""

    def work(region: Region, scratch: Scratch) -> None:
        tree_passes.queue_all(state.nodes, scratch, region.agenda, region.root)
        for batch in batches(2 * region.n_leaves, context):
            local_search.search_region(
                state, scratch, region.agenda, region.region_parent, np.inf, batch.stop - batch.start
            )

    pool.map(work, open_regions(state, REGION, context))
    close_regions(state)


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
