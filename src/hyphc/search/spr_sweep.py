"""Stage 1 of the search: each subtree is pruned and regrafted where the cost is least, many tried at once, until none gains."""

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
from .search_context import Run, ScratchPool, is_large, pieces
from .state import agenda_of, cost_of, depth_first, scale_of, state_of, take_up, tree_of

# A tree is tried as a whole so often before other stages gain more in the time.
FIRST_ROUNDS = 2
SETTLED = 3e-5  # a round of sweeps that gains a smaller share of the cost is the last: elsewhere the time gains more
CHUNK = 8_192  # at most so many subtrees are tried on one version of the tree
SLICE = 256  # and so many by one thread at a time: neither depends on the number of threads


@dataclass
class _Course:
    """How far the sweeps of a tree have come."""

    cost: float
    left: float  # rounds
    sweeps: int = 0
    last: float = np.inf  # the cost before the last sweep
    before: float = np.inf  # and before the round
    tried: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # subtrees to try next

    def goes_on(self, scale: float, n_nodes: int) -> bool:
        """Whether there is something to try: what is left of a round, or all in another round."""
        # in float32 moves that gain next to nothing could go on for ever
        if len(self.tried) and self.cost < self.last:
            return True
        if self.left <= 0 or not self.before - self.cost > SETTLED * scale:
            return False
        self.before, self.left = self.cost, self.left - 1
        self.tried, self.last = np.arange(n_nodes), np.inf
        return True


def swept(
    tree: Tree, similarity: Similarity, run: Run, max_sweeps: int | None = None, rounds: int | None = None
) -> Tree:
    """Try all subtrees, then again those near which something changed, until nothing does; and all again.

    Ends when a round of this has gained next to nothing, or after so many sweeps or rounds. Large trees are swept level by level.
    """
    if is_large(similarity):
        from .multilevel import swept_by_levels  # here: its levels are swept by this module

        return swept_by_levels(tree, similarity, run, partial(swept, rounds=1), max_sweeps)
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = ScratchPool(state, run.n_jobs, run.stop)
    highest, most = similarity.maximum(), np.inf if max_sweeps is None else max_sweeps
    with run.trail.level("sweeps") as level:
        course = _Course(cost_of(state), np.inf if rounds is None else rounds)
        take_up(state, level.found)
        run.take_up(level.found)
        level.take_up(course)
        while not run.late() and course.sweeps < most and course.goes_on(scale_of(state), 2 * similarity.n - 1):
            course.tried = sweep(state, pool, course.tried, 0.0, run)
            course.sweeps, course.cost, course.last = course.sweeps + 1, cost_of(state), course.cost
            run.swept(course.sweeps, lambda: tree_of(state, leaves, highest, tree.names), similarity)
            run.keep(level, state, **vars(course))
    return tree_of(state, leaves, highest, tree.names)


def sweep(state: State, pool: ScratchPool, tried: Ints, enough: float, run: Run) -> Ints:
    """Try the subtrees, the largest first, many at once on the same tree, and make the moves one by one.

    Returns the subtrees to try next: those near which something changed. Ends, with none to try next, once what is left
    promises to gain less than ``enough`` at the rate of the last full chunk: large subtrees gain most, so that the rate falls.
    """
    tried = _largest_first(state, tried)
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
    return np.flatnonzero(woken)


def _largest_first(state: State, subtrees: Ints) -> Ints:
    """What large subtrees do decides where small ones belong: in this order sweeps end lower, and there are fewer of them."""
    return subtrees[np.argsort(-state.nodes["points"][subtrees], kind="stable")]


def _propose(state: State, scratch: Scratch, tried: Ints, gains: npt.NDArray[np.float64], run: Run) -> None:
    if not run.late():
        tree_passes.propose(state, scratch, tried, gains)


def _drain(state: State, scratch: Scratch, agenda: Agenda, effort: int, run: Run) -> None:
    """Try the first ``effort`` subtrees that wait."""
    for piece in pieces(effort, run):
        local_search.search(state, scratch, agenda, len(state.nodes) - 1, np.inf, piece.stop - piece.start)
