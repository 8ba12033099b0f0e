"""Local search in a region: try queued subtrees; perturb, repair, keep what is no worse."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..._shared.arrays import Records
from .moves import move, wake
from .places import best_place
from .state import Agenda, Scratch, State, child, draw, pop, sibling
from .weights import aim, release

_LARGEST_KICK = 6  # up to 2⁶ random moves at once
_STOP = 200_000  # chance, in a million, to stop at each step of a random descent
_NO_LIMIT = 1 << 62


@njit(cache=True, nogil=True)
def apply_move(state: State, scratch: Scratch, agenda: Agenda, A: int, v: int, ceiling: int) -> float:
    """Move A above v, note it in the log and wake the neighbourhoods of both places; the change of the cost."""
    s = sibling(state.nodes, A)
    change = move(state, scratch.work, A, v, ceiling)
    agenda.plan[agenda.now.logged].moved = A
    agenda.plan[agenda.now.logged].beside = s
    agenda.now.logged += 1
    wake(state.nodes, agenda, A, ceiling)
    wake(state.nodes, agenda, s, ceiling)
    return change


@njit(cache=True, nogil=True)
def drain(state: State, scratch: Scratch, agenda: Agenda, ceiling: int, effort: int) -> float:
    """Try queued subtrees, oldest first, until none is left, ``effort`` trials are made or the log is full.

    Returns the change of the cost.
    """
    change = 0.0
    stop = scratch.counts.trials + effort
    while agenda.now.waiting > 0 and agenda.now.logged < agenda.plan.shape[0] and scratch.counts.trials < stop:
        A = pop(state.nodes, agenda)
        if state.nodes[A].parent != ceiling:
            place, _ = best_place(state, scratch, A, ceiling)
            if place >= 0:
                change += apply_move(state, scratch, agenda, A, place, ceiling)
            release(state, scratch)
    return change


@njit(cache=True, nogil=True)
def undo(state: State, scratch: Scratch, agenda: Agenda, ceiling: int) -> None:
    """Take back all moves of the log, last first, and empty the queue."""
    while agenda.now.logged > 0:
        agenda.now.logged -= 1
        A, s = agenda.plan[agenda.now.logged].moved, agenda.plan[agenda.now.logged].beside
        aim(state, scratch, A, ceiling)
        move(state, scratch.work, A, s, ceiling)
        release(state, scratch)
    while agenda.now.waiting > 0:
        pop(state.nodes, agenda)


@njit(cache=True, nogil=True)
def random_descent(nodes: Records, agenda: Agenda, v: int) -> int:
    """A node at or below v: at each step stop by chance or take either child."""
    while nodes[v].left >= 0 and draw(agenda, 1_000_000) >= _STOP:
        v = child(nodes, v, draw(agenda, 2))
    return v


@njit(cache=True, nogil=True)
def random_centre(nodes: Records, agenda: Agenda, ceiling: int, smallest: float) -> int:
    """Any ancestor, equally likely, of a random leaf of the region, among those with at least ``smallest`` points."""
    v = nodes[agenda.plan[draw(agenda, agenda.n_leaves)].leaf].parent
    while nodes[v].points < smallest and nodes[v].parent != ceiling:
        v = nodes[v].parent
    height = 0
    u = v
    while u != ceiling:
        u = nodes[u].parent
        height += 1
    for _ in range(draw(agenda, height)):
        v = nodes[v].parent
    return v  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def kick(state: State, scratch: Scratch, agenda: Agenda, ceiling: int, smallest: float) -> float:
    """A few random moves below one random node; the change of the cost."""
    nodes = state.nodes
    centre = random_centre(nodes, agenda, ceiling, smallest)
    hook = nodes[centre].parent
    hook_side = 0 if nodes[hook].left == centre else 1
    change = 0.0
    for _ in range(1 << draw(agenda, _LARGEST_KICK + 1)):
        centre = child(nodes, hook, hook_side)
        A = random_descent(nodes, agenda, child(nodes, centre, draw(agenda, 2)))
        v = random_descent(nodes, agenda, child(nodes, centre, draw(agenda, 2)))
        u = v
        while u not in (A, hook):
            u = nodes[u].parent
        if u == A or v == nodes[A].parent or v == sibling(nodes, A) or agenda.now.logged == agenda.plan.shape[0]:
            continue
        aim(state, scratch, A, ceiling)
        change += apply_move(state, scratch, agenda, A, v, ceiling)
        release(state, scratch)
    return change


@njit(cache=True, nogil=True)
def search(state: State, scratch: Scratch, agenda: Agenda, ceiling: int, smallest: float, effort: int) -> float:
    """Try the queued subtrees; then kick, repair, undo if the cost rose, again and again. Returns the change of the cost.

    Ends after about ``effort`` trials. Each kick centres on a node with at least ``smallest`` points; infinity: no kicks.
    """
    stop = scratch.counts.trials + effort
    total = 0.0
    while True:
        agenda.now.logged = 0
        limit = stop - scratch.counts.trials
        change = 0.0
        # a queue left over from earlier is drained as far as the effort goes; after a kick it is drained to the end
        if agenda.now.waiting == 0:
            if limit <= 0 or smallest == np.inf or agenda.n_leaves <= 2:
                break
            scratch.counts.trials += 1  # so that kicks without effect end too
            change = kick(state, scratch, agenda, ceiling, smallest)
            limit = _NO_LIMIT
        elif limit <= 0:
            break
        change += drain(state, scratch, agenda, ceiling, limit)
        if limit == _NO_LIMIT and (change > 0.0 or agenda.now.waiting > 0):
            undo(state, scratch, agenda, ceiling)
        else:
            total += change
    return total
