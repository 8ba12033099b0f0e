"""Prune a subtree, graft it elsewhere: the surgery, and what it changes."""

from __future__ import annotations

from ..._runtime.arrays import Records
from ..._runtime.jit import part
from .dispatch import finish_move, position, recut, settle
from .state import Agenda, State, push, sibling

# A move changes points and cuts on two paths. Subtrees hanging within this many steps of either end are tried again.
NEARBY = 6


@part
def meet(nodes: Records, x: int, y: int) -> int:
    """Lowest common ancestor: points grow upwards, so the smaller of two different nodes is never above the other."""
    while x != y:
        if nodes[x].points <= nodes[y].points:
            x = nodes[x].parent
        else:
            y = nodes[y].parent
    return x


@part
def replace_child(nodes: Records, p: int, old: int, new: int) -> None:
    """Let ``new`` hang from p where ``old`` did."""
    if nodes[p].left == old:
        nodes[p].left = new
    else:
        nodes[p].right = new
    nodes[new].parent = p


@part
def adjust_path(state: State, work: Records, A: int, v: int, above: int, sign: float) -> float:
    """Add A to (sign 1) or take it from (sign −1) all proper ancestors of v below ``above``; the change of their cost."""
    nodes = state.nodes
    change = 0.0
    u = nodes[v].parent
    while u != above:
        change -= nodes[u].points * nodes[u].cut
        nodes[u].points += sign * nodes[A].points
        recut(state, work, A, u, sibling(nodes, v), 1.0, sign)
        settle(state, u)
        change += nodes[u].points * nodes[u].cut
        v = u
        u = nodes[u].parent
    return change


@part
def graft(state: State, work: Records, A: int, p: int, v: int, above: int) -> float:
    """Join A and v by the free inner node p, in v's place; the change of the cost of p and its ancestors below ``above``."""
    nodes = state.nodes
    replace_child(nodes, nodes[v].parent, v, p)
    nodes[p].left = A
    nodes[p].right = v
    nodes[A].parent = p
    nodes[v].parent = p
    nodes[p].points = nodes[A].points + nodes[v].points
    recut(state, work, A, p, v, 0.0, 1.0)
    settle(state, p)
    return nodes[p].points * nodes[p].cut + adjust_path(state, work, A, p, above, 1.0)  # type: ignore[no-any-return]


@part
def move(state: State, work: Records, A: int, v: int, ceiling: int) -> float:
    """Prune A and graft it above v; the change of the cost. ``aim`` at A must have been called.

    v lies neither in A nor is it A's parent or sibling. A's parent travels with A. Only the nodes on the two paths below the
    lowest common ancestor of both places, and that ancestor, change; those above it may learn of a looser split.
    """
    nodes = state.nodes
    p = nodes[A].parent
    s = sibling(nodes, A)
    common = meet(nodes, A, v)
    above, begin = nodes[common].parent, position(state, common)
    change = -nodes[p].points * nodes[p].cut
    replace_child(nodes, nodes[p].parent, p, s)
    if common != p:
        change += adjust_path(state, work, A, s, above, -1.0)
    change += graft(state, work, A, p, v, above)
    top = p if v == common else s if common == p else common
    finish_move(state, work, top, begin, ceiling)
    return change  # type: ignore[no-any-return]


@part
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
