"""One sweep: subtrees are pruned and regrafted where the cost is least, many tried at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.search import local, passes
from .._kernels.search.state import Agenda, Scratch, State
from .._runtime.arrays import Ints
from .run import Run, ScratchPool, pieces
from .state import agenda_of

CHUNK = 8_192  # at most so many subtrees are tried on one version of the tree
SLICE = 256  # and so many by one thread at a time: neither depends on the number of threads


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
        passes.propose(state, scratch, tried, gains)


def _drain(state: State, scratch: Scratch, agenda: Agenda, effort: int, run: Run) -> None:
    """Try the first ``effort`` subtrees that wait."""
    for piece in pieces(effort, run):
        local.search(state, scratch, agenda, len(state.nodes) - 1, np.inf, piece.stop - piece.start)
