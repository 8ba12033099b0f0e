"""Stage 1 of the search: each subtree is pruned and regrafted where the cost is least, until none gains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.search import local, passes
from .._kernels.search.state import Agenda, Scratch, State
from .._shared.arrays import Ints
from ..similarity import Similarity
from ..tree import Tree
from .regions import Region, close_regions, open_regions
from .run import Run, ScratchPool, is_large, pieces
from .state import agenda_of, cost_of, depth_first, scale_of, state_of, tree_of

CHUNK = 8_192  # at most so many subtrees are tried on one version of the tree
SLICE = 256  # and so many by one thread at a time: neither depends on the number of threads
REGION = 1_024  # leaves of a subtree swept on its own
# In large trees a trial opens at most so many nodes below one node, and climbs at most so many levels. Few would open more. Good
# trees of a million leaves are hundreds of levels deep, but most is gained near by.
OPENED, CLIMBED = 100.0, 100.0
# A tree is tried as a whole so often before other stages gain more in the time.
FIRST_ROUNDS = 2
SETTLED = 3e-5  # a round of sweeps that gains a smaller share of the cost is the last: elsewhere the time gains more
NEGLIGIBLE = 1e-5  # in large trees sweeps end when all that is left to try promises less than this share of the cost


def swept(
    tree: Tree, similarity: Similarity, run: Run, max_sweeps: int | None = None, rounds: int | None = None
) -> Tree:
    """Try all subtrees, then again those near which something changed, until nothing does; and all again.

    Ends when a round of this has gained next to nothing, or after so many sweeps or rounds. Large trees get one round.
    """
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = ScratchPool(state, run.n_jobs, run.stop)
    large = is_large(similarity)
    if large:
        state = state._replace(terms=state.terms._replace(opened=OPENED, climbed=CLIMBED))
        _sweep_regions(state, pool, run)
    left = 1 if large else np.inf if rounds is None else rounds
    sweeps, cost, before = 0, cost_of(state), np.inf
    while left > 0 and before - cost > SETTLED * scale_of(state) and not run.late():
        before, left = cost, left - 1
        tried, last = _largest_first(state, np.arange(2 * similarity.n - 1)), np.inf
        # in float32 moves that gain next to nothing could go on for ever
        while len(tried) and cost < last and not run.late() and (max_sweeps is None or sweeps < max_sweeps):
            tried = _sweep(state, pool, tried, NEGLIGIBLE * scale_of(state) if large else 0.0, run)
            sweeps, cost, last = sweeps + 1, cost_of(state), cost
            run.swept(sweeps, lambda: tree_of(state, leaves, similarity.maximum(), tree.names), similarity)
    return tree_of(state, leaves, similarity.maximum(), tree.names)


def _sweep_regions(state: State, pool: ScratchPool, run: Run) -> None:
    """Sweep within subtrees that fit into a core's cache, many at once: most moves of a large tree are short ones."""

    def work(region: Region, scratch: Scratch) -> None:
        passes.wake_all(state.nodes, scratch, region.agenda, region.root)
        for piece in pieces(2 * region.n_leaves, run):
            local.search(state, scratch, region.agenda, region.ceiling, np.inf, piece.stop - piece.start)

    pool.map(work, open_regions(state, REGION, run))
    close_regions(state)


def _sweep(state: State, pool: ScratchPool, tried: Ints, enough: float, run: Run) -> Ints:
    """Try the subtrees, many at once on the same tree, and make the moves one by one; the subtrees to try next.

    Ends, with none to try next, once what is left promises to gain less than ``enough`` at the rate of the last full chunk:
    large subtrees come first and gain most, so that the rate falls.
    """
    woken = np.zeros(len(state.nodes), dtype=bool)
    agenda = agenda_of(np.arange(len(state.nodes) // 2), 0)
    begin, length = 0, SLICE  # short chunks first: where trials are slow, moves come early
    while begin < len(tried) and not run.late():
        chunk = tried[begin : begin + length]
        gains = np.zeros(len(chunk))
        slices = [slice(k, k + SLICE) for k in range(0, len(chunk), SLICE)]
        pool.map(lambda s, scratch: _propose(state, scratch, chunk[s], gains[s], run), slices)  # noqa: B023
        if gains.sum() / len(chunk) * (len(tried) - begin) < enough and length == CHUNK:
            return tried[:0]
        hopeful = chunk[gains > 0]
        begin, length = begin + length, min(2 * length, CHUNK)
        agenda.plan["ring"][: len(hopeful)] = hopeful
        state.nodes["waiting"][hopeful] = 1
        agenda.now.head, agenda.now.waiting = 0, len(hopeful)
        pool.map(lambda effort, scratch: _drain(state, scratch, agenda, effort, run), [len(hopeful)])
        left = (agenda.now.head + np.arange(agenda.now.waiting)) % len(agenda.plan)
        again = agenda.plan["ring"][left]
        woken[again] = True
        state.nodes["waiting"][again] = 0
    return _largest_first(state, np.flatnonzero(woken))


def _largest_first(state: State, subtrees: Ints) -> Ints:
    """What large subtrees do decides where small ones belong: in this order sweeps end lower, and there are fewer of them."""
    return subtrees[np.argsort(-state.nodes["points"][subtrees], kind="stable")]


def _propose(state: State, scratch: Scratch, tried: Ints, gains: npt.NDArray[np.float64], run: Run) -> None:
    if not run.late():
        passes.propose(state, scratch, tried, gains)


def _drain(state: State, scratch: Scratch, agenda: Agenda, effort: int, run: Run) -> None:
    """Try the first ``effort`` subtrees that wait."""
    for piece in pieces(effort, run):
        local.search(state, scratch, agenda, len(state.nodes) - 1, np.inf, piece.stop - piece.start)
