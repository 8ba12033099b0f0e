"""Prune a subtree, graft it elsewhere: the surgery, and what it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from ..._shared.arrays import Records
from .state import DENSE, FEATURES, Agenda, State, push, sibling
from .weights import dot, row_sums, weight

# A move changes points and cuts on two paths. Subtrees hanging within this many steps of either end are tried again.
NEARBY = 6


@njit(cache=True, nogil=True)
def meet(nodes: Records, x: int, y: int) -> int:
    """Lowest common ancestor: points grow upwards, so the smaller of two different nodes is never above the other."""
    while x != y:
        if nodes[x].points <= nodes[y].points:
            x = nodes[x].parent
        else:
            y = nodes[y].parent
    return x


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def gap(x: npt.NDArray[Any], a: float, y: npt.NDArray[Any], b: float) -> float:
    """‖x/a − y/b‖²."""
    total = 0.0
    for k in range(x.shape[0]):
        difference = x[k] / a - y[k] / b
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def loosest_split(nodes: Records, v: int) -> float:
    """At most the lowest mean similarity across a split at or below v; infinite for leaves."""
    if nodes[v].left < 0:
        return np.inf
    pairs = nodes[v].smaller * (nodes[v].points - nodes[v].smaller)
    return min(nodes[v].loosest, nodes[v].cut / pairs)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def settle(state: State, u: int) -> None:
    """Recompute the sums of u from its children's, so that no rounding accumulates over moves."""
    nodes, sums = state.nodes, state.sums
    left, right = nodes[u].left, nodes[u].right
    if state.kind == FEATURES:
        for k in range(sums.shape[1]):
            sums[u, k] = sums[left, k] + sums[right, k]
        one, two = nodes[left].points, nodes[right].points
        nodes[u].cut = state.terms.offset * one * two + state.terms.scale * dot(sums[left], sums[right])
        nodes[u].smaller = min(one, two)
        apart = gap(sums[left], one, sums[right], two) * one * two / (one + two)
        nodes[u].scatter = nodes[left].scatter + nodes[right].scatter + apart
        nodes[u].loosest = min(loosest_split(nodes, left), loosest_split(nodes, right))
    elif state.kind == DENSE:
        a, b, out = row_sums(state, left), row_sums(state, right), row_sums(state, u)
        for k in range(out.shape[0]):
            out[k] = a[k] + b[k]


@njit(cache=True, nogil=True)
def replace_child(nodes: Records, p: int, old: int, new: int) -> None:
    """Let ``new`` hang from p where ``old`` did."""
    if nodes[p].left == old:
        nodes[p].left = new
    else:
        nodes[p].right = new
    nodes[new].parent = p


@njit(cache=True, nogil=True)
def adjust_path(state: State, work: Records, A: int, v: int, above: int, sign: float) -> float:
    """Add A to (sign 1) or take it from (sign −1) all proper ancestors of v below ``above``; the change of their cost."""
    nodes = state.nodes
    change = 0.0
    u = nodes[v].parent
    while u != above:
        change -= nodes[u].points * nodes[u].cut
        nodes[u].points += sign * nodes[A].points
        if state.kind != FEATURES:
            nodes[u].cut += sign * weight(state, work, A, sibling(nodes, v))
        settle(state, u)
        change += nodes[u].points * nodes[u].cut
        v = u
        u = nodes[u].parent
    return change


@njit(cache=True, nogil=True)
def graft(state: State, work: Records, A: int, p: int, v: int, above: int) -> float:
    """Join A and v by the free inner node p, in v's place; the change of the cost of p and its ancestors below ``above``."""
    nodes = state.nodes
    replace_child(nodes, nodes[v].parent, v, p)
    nodes[p].left = A
    nodes[p].right = v
    nodes[A].parent = p
    nodes[v].parent = p
    nodes[p].points = nodes[A].points + nodes[v].points
    nodes[p].cut = weight(state, work, A, v)
    settle(state, p)
    return nodes[p].points * nodes[p].cut + adjust_path(state, work, A, p, above, 1.0)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def move(state: State, work: Records, A: int, v: int, ceiling: int) -> float:
    """Prune A and graft it above v; the change of the cost. ``aim`` at A must have been called.

    v lies neither in A nor is it A's parent or sibling. A's parent travels with A. Only the nodes on the two paths below the
    lowest common ancestor of both places, and that ancestor, change; those above it may learn of a looser split.
    """
    nodes = state.nodes
    p = nodes[A].parent
    s = sibling(nodes, A)
    common = meet(nodes, A, v)
    above, begin = nodes[common].parent, nodes[common].first
    change = -nodes[p].points * nodes[p].cut
    replace_child(nodes, nodes[p].parent, p, s)
    if common != p:
        change += adjust_path(state, work, A, s, above, -1.0)
    change += graft(state, work, A, p, v, above)
    top = p if v == common else s if common == p else common
    if state.kind == DENSE:
        renumber(nodes, work, top, begin)
    if state.kind == FEATURES:
        lowest = loosest_split(nodes, top)
        while above != ceiling and nodes[above].loosest > lowest:
            nodes[above].loosest = lowest
            above = nodes[above].parent
    return change  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def renumber(nodes: Records, work: Records, top: int, begin: int) -> None:
    """Lay the leaves below ``top`` out again from position ``begin``, and update the runs of all nodes there."""
    work[0].node = top
    height, position = 1, begin
    while height > 0:
        u = work[height - 1].node
        if u < 0:  # its children are done
            nodes[-u - 1].last = position
            height -= 1
            continue
        nodes[u].first = position
        if nodes[u].left < 0:
            nodes[position].order = u
            position += 1
            nodes[u].last = position
            height -= 1
        else:
            work[height - 1].node = -u - 1
            work[height].node = nodes[u].right
            work[height + 1].node = nodes[u].left
            height += 2


@njit(cache=True, nogil=True)
def wake(nodes: Records, agenda: Agenda, v: int, ceiling: int) -> None:
    """Queue v, and the subtrees that hang from its nearest ancestors."""
    push(nodes, agenda, v)
    u = nodes[v].parent
    for _ in range(NEARBY):
        if u == ceiling:
            break
        push(nodes, agenda, nodes[u].left)
        push(nodes, agenda, nodes[u].right)
        u = nodes[u].parent
