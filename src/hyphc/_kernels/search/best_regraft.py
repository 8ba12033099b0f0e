"""The cheapest position of a subtree: branch and bound over all positions of a region.

Let A be pruned, a = |A|, and let points and cuts be those of the tree without A. Grafting A above v costs, beyond the rest,

    f(v) = acc(v) + (|v| + a)·w(A, v),      acc(c) = acc(u) + a·x_u + (|u| + a)·w(A, o)    for the children c, o of u.

First bound. A place strictly below v pays a·x_v, and for the weight to each leaf l below v at least a plus the points passed on
the way up from A to l, l included: t_l. No leaf carries more than w(A, l) ≤ cap·|l|, so the weight W = w(A, v) needs leaves of
K = W / cap points together. Whatever the tree, it costs least when the leaves passed first are full: then it pays, beyond a·W,
Σ cap·|l|·(|l| + points passed before) = cap·(K² + Σ|l|²)/2 ≥ W·(K + least)/2, with the smallest leaf in place of each. Hence

    f(v') ≥ acc(v) + a·x_v + (a + max(least, (K + least)/2))·W      for every v' strictly below v.

Second bound, for features. If all similarities were equal, so would be the costs of all places: a·|l|·|r| summed over the splits
(l, r) on the way from v to v', plus Σ a·|l|·(a + t_l) over leaves, is a·|v|·(|v| + a). So only what is uneven matters. Let
w̄ = W/(a·|v|). With w(A, l) = a·|l|·w̄ + δ_l and each split's x = w̄·|l|·|r| + (x − w̄·|l|·|r|),

    f(v') = acc(v) + w̄·a·|v|·(|v| + a) + a·Σ (x − w̄·|l|·|r|) + Σ δ_l·t_l      exactly.

The split of v is known; those below it have x ≥ loosest·|l|·|r|, and Σ|l|·|r| over them is at most |c|²/2, c the larger child.
The δ_l sum to 0, so by Cauchy-Schwarz the last sum is at least −√(Σ δ_l²/|l|)·√|v|·(standard deviation of t), with points as
weights. The k-th point passed has k ≤ t ≤ |v|: t deviates most when it is k up to a share p of the points and |v| from there
on, with variance (p³/3 + 1 − p − (1 − p + p²/2)²)·|v|² < (0.4·|v|)². And Σ δ_l²/|l| ≤ reach²·scatter(v), the spread of v's rows
about their mean. Where v is narrow, or all of it is about as similar to A, this bound is nearly tight.

A blend's f is the sum of its graph's and its background's. The first bound serves the graph, the second the background, whose
similarities may be negative: it does not depend on their sign. There w(A, l)/|l| deviates from its mean over v by
scale·⟨s_A, x̄_l − x̄_v⟩ and by tilt·a·(mean squares of l and v), so two standard deviations are added.

acc is measured from A's present place upwards: places near by are compared through small numbers, however large the tree.
"""

from __future__ import annotations

import numpy as np

from ..._runtime.jit import part
from .dispatch import lower_bound_below, prepare_weights, weight
from .state import Scratch, State, sibling

_TINY = 1e-300  # a cap of 0 means that A has no weight at all; any positive number then gives the right bound


@part
def search_below(
    state: State, scratch: Scratch, A: int, cap: float, reach: float, best: float, place: int
) -> tuple[float, int]:
    """Search strictly below the node at the bottom of the stack; return the best f and its position, as given if none is better.

    One ``weight`` serves both children of each expanded node; the child of the lower bound is expanded first. Ends early, with
    the best so far, once ``terms.opened`` nodes are expanded.
    """
    nodes, work, left = state.nodes, scratch.work, state.terms.opened
    a = nodes[A].points
    top, expanded = 1, np.int64(0)
    while top > 0 and left > 0.0:
        left -= 1.0
        top -= 1
        v, acc, w = work[top].node, work[top].acc, work[top].weight
        if lower_bound_below(state, scratch, v, a, acc, w, cap, reach) >= best:
            continue
        one, two = nodes[v].left, nodes[v].right
        expanded += 1
        w_one = weight(state, scratch, A, one)
        if w_one > w and state.terms.tilt == 0.0:
            w_one = w  # no similarity of a pure kind is below 0, whatever rounding says
        w_two = w - w_one
        base, points = acc + a * nodes[v].cut, nodes[v].points + a
        acc_one, acc_two = base + points * w_two, base + points * w_one
        f_one = acc_one + (nodes[one].points + a) * w_one
        f_two = acc_two + (nodes[two].points + a) * w_two
        if f_one < best:
            best, place = f_one, one
        if f_two < best:
            best, place = f_two, two
        low_one = lower_bound_below(state, scratch, one, a, acc_one, w_one, cap, reach)
        low_two = lower_bound_below(state, scratch, two, a, acc_two, w_two, cap, reach)
        if low_one < low_two:
            one, two = two, one
            low_one, low_two = low_two, low_one
            acc_one, acc_two = acc_two, acc_one
            w_one, w_two = w_two, w_one
        if low_one < best:
            work[top].node, work[top].acc, work[top].weight = one, acc_one, w_one
            top += 1
        if low_two < best:
            work[top].node, work[top].acc, work[top].weight = two, acc_two, w_two
            top += 1
    scratch.counts.visits += np.int64(2) * expanded
    return best, place


@part
def best_regraft(state: State, scratch: Scratch, A: int, region_parent: int) -> tuple[int, float]:
    """Return the cheapest node to graft A above, and the gain of the move; (−1, 0) if no gain exceeds rounding.

    Does not change the tree. Ancestors of A count as if A were pruned.
    """
    nodes, work = state.nodes, scratch.work
    cap, reach = prepare_weights(state, scratch, A, region_parent)
    cap = max(cap, _TINY)
    scratch.counts.trials += 1
    a = nodes[A].points
    best, place, terms, present = np.inf, -1, 0.0, 0.0
    acc = inner = 0.0  # inner: w(A, everything below u but A)
    below = A
    levels = state.terms.climbed
    while nodes[below].parent != region_parent and levels > 0.0:
        levels -= 1.0
        u, o = nodes[below].parent, sibling(nodes, below)
        points = nodes[u].points  # those of u without A, and a
        w = weight(state, scratch, A, o)
        before = best
        acc_o = acc + points * (inner - w)
        if below == A:  # where A is now
            acc_o = 0.0
            best = present = points * w
        else:
            acc -= a * (nodes[u].cut - w) + points * w
            f_o, f_u = acc_o + (nodes[o].points + a) * w, acc + points * (inner + w)
            if f_o < best:
                best, place = f_o, o
            if f_u < best:
                best, place = f_u, u
        inner += w
        work[0].node, work[0].acc, work[0].weight = o, acc_o, w
        best, place = search_below(state, scratch, A, cap, reach, best, place)
        if best < before:
            # a blend's parts may cancel; rounding is of their sizes
            terms = points * (abs(inner) + state.terms.hidden * a * points)
        below = u
        scratch.counts.visits += 2
    if present - best > state.terms.tolerance * terms:
        return place, present - best
    return -1, 0.0


@part
def cheapest_insertion(state: State, scratch: Scratch, A: int) -> int:
    """Return the cheapest node to graft A above, A not being part of the tree."""
    nodes, work = state.nodes, scratch.work
    region_parent = nodes.shape[0] - 1
    root = nodes[region_parent].left
    cap, reach = prepare_weights(state, scratch, A, region_parent)
    cap = max(cap, _TINY)
    w = weight(state, scratch, A, root)
    work[0].node, work[0].acc, work[0].weight = root, 0.0, w
    here = (nodes[root].points + nodes[A].points) * w
    _, place = search_below(state, scratch, A, cap, reach, here, root)
    return place
