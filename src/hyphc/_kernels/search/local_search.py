"""Local search in a region: try queued subtrees; perturb, repair, keep what is no worse."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Records
from ..._runtime.jit import kernel, part
from .best_regraft import best_place
from .dispatch import aim, release
from .spr import move, wake
from .state import Agenda, Scratch, State, child, draw, pop, sibling

_LARGEST_KICK = 6  # up to 2⁶ random moves at once
_STOP = 200_000  # chance, in a million, to stop at each step of a random descent


@part
def random_descent(nodes: Records, agenda: Agenda, v: int) -> int:
    """A node at or below v: at each step stop by chance or take either child."""
    while nodes[v].left >= 0 and draw(agenda, np.int64(1_000_000)) >= _STOP:
        v = child(nodes, v, draw(agenda, np.int64(2)))
    return v


@part
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


@part
def random_move(nodes: Records, agenda: Agenda, hook: int, side: int) -> tuple[int, int]:
    """A subtree and a place for it, both below the child of ``hook`` on that side; −1 if that is no move."""
    centre = child(nodes, hook, side)
    A = random_descent(nodes, agenda, child(nodes, centre, draw(agenda, np.int64(2))))
    v = random_descent(nodes, agenda, child(nodes, centre, draw(agenda, np.int64(2))))
    u = v
    while u not in (A, hook):
        u = nodes[u].parent
    if u == A or v == nodes[A].parent or v == sibling(nodes, A):
        return -1, -1
    return A, v


@kernel
def search(state: State, scratch: Scratch, agenda: Agenda, ceiling: int, smallest: float, effort: int) -> float:
    """Try the queued subtrees; then kick, repair, undo if the cost rose, again and again. Returns the change of the cost.

    A kick is a few random moves below one random node of at least ``smallest`` points; infinity: no kicks. Ends after about
    ``effort`` trials: a queue left over from earlier is tried as far as the effort goes, but after a kick to its end. One loop
    makes the moves of all three, because each place where a move is made is compiled again.
    """
    nodes, plan, now, counts = state.nodes, agenda.plan, agenda.now, scratch.counts
    stop = counts.trials + effort
    total = 0.0
    while counts.trials < stop:
        kicking = now.waiting == 0
        n_random = hook = side = 0
        if kicking:
            if smallest == np.inf or agenda.n_leaves <= 2:
                break
            counts.trials += 1  # so that kicks without effect end too
            centre = random_centre(nodes, agenda, ceiling, smallest)
            hook = nodes[centre].parent
            side = 0 if nodes[hook].left == centre else 1
            n_random = 1 << draw(agenda, np.int64(_LARGEST_KICK + 1))
        now.logged = 0
        change, undoing = 0.0, False
        while True:
            if undoing:
                if now.logged == 0:
                    break
                now.logged -= 1
                A, v = plan[now.logged].moved, plan[now.logged].beside
                aim(state, scratch, A, ceiling)
            elif n_random > 0:
                n_random -= 1
                A, v = random_move(nodes, agenda, hook, side)
                if A < 0 or now.logged == plan.shape[0]:
                    continue
                aim(state, scratch, A, ceiling)
            elif now.waiting > 0 and now.logged < plan.shape[0] and (kicking or counts.trials < stop):
                A = pop(nodes, agenda)
                v = -1
                if nodes[A].parent != ceiling:
                    v, _ = best_place(state, scratch, A, ceiling)
                if v < 0:
                    release(state, scratch)
                    continue
            elif kicking and (change > 0.0 or now.waiting > 0):
                undoing = True
                continue
            else:
                break
            beside = sibling(nodes, A)
            change += move(state, scratch.work, A, v, ceiling)
            release(state, scratch)
            if not undoing:
                plan[now.logged].moved, plan[now.logged].beside = A, beside
                now.logged += 1
                wake(nodes, agenda, A, ceiling)
                wake(nodes, agenda, beside, ceiling)
        if undoing:
            while now.waiting > 0:
                pop(nodes, agenda)
        else:
            total += change
    return total
