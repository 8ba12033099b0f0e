"""Local search in a region: try queued subtrees; perturb, repair, keep what is no worse."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Records
from ..._runtime.jit import kernel, part
from .best_regraft import best_regraft
from .dispatch import prepare_weights
from .spr import regraft, requeue_nearby
from .state import Agenda, Scratch, State, child, draw_below, pop, sibling

_MAX_PERTURBATION = 6  # up to 2⁶ random moves at once
_STOP = 200_000  # probability, in millionths, to stop at each step of a random descent


@part
def random_descent(nodes: Records, agenda: Agenda, v: int) -> int:
    """Return a random node at or below v: each step stops with a fixed probability or descends to either child."""
    while nodes[v].left >= 0 and draw_below(agenda, np.int64(1_000_000)) >= _STOP:
        v = child(nodes, v, draw_below(agenda, np.int64(2)))
    return v


@part
def random_centre(nodes: Records, agenda: Agenda, region_parent: int, smallest: float) -> int:
    """Return a uniformly random ancestor, of at least ``smallest`` points, of a random leaf of the region."""
    v = nodes[agenda.plan[draw_below(agenda, agenda.n_leaves)].leaf].parent
    while nodes[v].points < smallest and nodes[v].parent != region_parent:
        v = nodes[v].parent
    height = 0
    u = v
    while u != region_parent:
        u = nodes[u].parent
        height += 1
    for _ in range(draw_below(agenda, height)):
        v = nodes[v].parent
    return v  # type: ignore[no-any-return]


@part
def random_move(nodes: Records, agenda: Agenda, parent: int, side: int) -> tuple[int, int]:
    """Return a random subtree and a target below the child of ``parent`` on that side; −1 if that is no valid move."""
    centre = child(nodes, parent, side)
    A = random_descent(nodes, agenda, child(nodes, centre, draw_below(agenda, np.int64(2))))
    v = random_descent(nodes, agenda, child(nodes, centre, draw_below(agenda, np.int64(2))))
    u = v
    while u not in (A, parent):
        u = nodes[u].parent
    if u == A or v == nodes[A].parent or v == sibling(nodes, A):
        return -1, -1
    return A, v


@kernel
def search_region(
    state: State, scratch: Scratch, agenda: Agenda, region_parent: int, smallest: float, effort: int
) -> float:
    """Try the queued subtrees; then repeatedly perturb, repair, and undo if the cost rose. Returns the change of the cost.

    A perturbation is a few random moves below one random node of at least ``smallest`` points; infinity means none. Ends after
    about ``effort`` trials: a queue from an earlier call is processed within the effort, the queue of a perturbation to its end.
    One loop makes all moves, because each call of ``regraft`` in the source is compiled again.
    """
    nodes, plan, now, counts = state.nodes, agenda.plan, agenda.now, scratch.counts
    stop = counts.trials + effort
    counts.low, counts.high = now.low, now.high
    total = 0.0
    while counts.trials < stop:
        perturbing = now.waiting == 0
        n_random = parent = side = 0
        if perturbing:
            if smallest == np.inf or agenda.n_leaves <= 2:
                break
            counts.trials += 1  # so that perturbations without effect end too
            centre = random_centre(nodes, agenda, region_parent, smallest)
            parent = nodes[centre].parent
            side = 0 if nodes[parent].left == centre else 1
            n_random = 1 << draw_below(agenda, np.int64(_MAX_PERTURBATION + 1))
        now.logged = 0
        change, undoing = 0.0, False
        while True:
            if undoing:
                if now.logged == 0:
                    break
                now.logged -= 1
                A, v = plan[now.logged].moved, plan[now.logged].beside
                prepare_weights(state, scratch, A, region_parent)
            elif n_random > 0:
                n_random -= 1
                A, v = random_move(nodes, agenda, parent, side)
                if A < 0 or now.logged == plan.shape[0]:
                    continue
                prepare_weights(state, scratch, A, region_parent)
            elif now.waiting > 0 and now.logged < plan.shape[0] and (perturbing or counts.trials < stop):
                A = pop(nodes, agenda)
                v = -1
                if nodes[A].parent != region_parent:
                    v, _ = best_regraft(state, scratch, A, region_parent)
                if v < 0:
                    continue
            elif perturbing and (change > 0.0 or now.waiting > 0):
                undoing = True
                continue
            else:
                break
            beside = sibling(nodes, A)
            change += regraft(state, scratch, A, v, region_parent)
            if not undoing:
                plan[now.logged].moved, plan[now.logged].beside = A, beside
                now.logged += 1
                requeue_nearby(nodes, agenda, A, region_parent)
                requeue_nearby(nodes, agenda, beside, region_parent)
        if undoing:
            while now.waiting > 0:
                pop(nodes, agenda)
        else:
            total += change
    return total
