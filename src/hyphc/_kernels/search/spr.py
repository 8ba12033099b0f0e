"""Subtree prune and regraft (SPR): the move, its change of the cost, and the subtrees to re-queue."""

from __future__ import annotations

from ..._runtime.arrays import Records
from ..._runtime.jit import part
from .dispatch import finish_move, position, update_cut, update_sums
from .state import Agenda, Scratch, State, push, sibling

# A move changes points and cuts on two paths. Subtrees within this many steps of either end are re-queued.
REQUEUE_STEPS = 6


@part
def lowest_common_ancestor(nodes: Records, x: int, y: int) -> int:
    """Return the lowest common ancestor; points increase upwards, so the smaller of two nodes is never above the other."""
    while x != y:
        if nodes[x].points <= nodes[y].points:
            x = nodes[x].parent
        else:
            y = nodes[y].parent
    return x


@part
def replace_child(nodes: Records, p: int, old: int, new: int) -> None:
    """Make ``new`` the child of p in place of ``old``."""
    if nodes[p].left == old:
        nodes[p].left = new
    else:
        nodes[p].right = new
    nodes[new].parent = p


@part
def adjust_path(state: State, scratch: Scratch, A: int, v: int, above: int, sign: float) -> float:
    """Add A to (sign 1) or remove it from (sign −1) the proper ancestors of v below ``above``; return the change of the cost."""
    nodes = state.nodes
    change = 0.0
    u = nodes[v].parent
    while u != above:
        change -= nodes[u].points * nodes[u].cut
        nodes[u].points += sign * nodes[A].points
        update_cut(state, scratch, A, u, sibling(nodes, v), 1.0, sign)
        update_sums(state, u)
        change += nodes[u].points * nodes[u].cut
        v = u
        u = nodes[u].parent
    return change


@part
def graft(state: State, scratch: Scratch, A: int, p: int, v: int, above: int) -> float:
    """Join A and v by the free inner node p at v's position; return the change of the cost below ``above``."""
    nodes = state.nodes
    replace_child(nodes, nodes[v].parent, v, p)
    nodes[p].left = v
    nodes[p].right = A
    nodes[A].parent = p
    nodes[v].parent = p
    nodes[p].points = nodes[A].points + nodes[v].points
    update_cut(state, scratch, A, p, v, 0.0, 1.0)
    update_sums(state, p)
    return nodes[p].points * nodes[p].cut + adjust_path(state, scratch, A, p, above, 1.0)  # type: ignore[no-any-return]


@part
def regraft(state: State, scratch: Scratch, A: int, v: int, region_parent: int) -> float:
    """Prune A and graft it above v; return the change of the cost. ``prepare_weights`` for A must have been called.

    v lies neither in A nor is it A's parent or sibling. A's parent moves with A. Only the nodes on the two paths below
    the lowest common ancestor of both positions, and that ancestor, change; above it only ``loosest`` may.
    """
    nodes = state.nodes
    p = nodes[A].parent
    s = sibling(nodes, A)
    common = lowest_common_ancestor(nodes, A, v)
    above, begin = nodes[common].parent, position(state, common)
    change = -nodes[p].points * nodes[p].cut
    replace_child(nodes, nodes[p].parent, p, s)
    if common != p:
        change += adjust_path(state, scratch, A, s, above, -1.0)
    change += graft(state, scratch, A, p, v, above)
    top = p if v == common else s if common == p else common
    finish_move(state, scratch, A, top, begin, region_parent)
    return change  # type: ignore[no-any-return]


@part
def requeue_nearby(nodes: Records, agenda: Agenda, v: int, region_parent: int) -> None:
    """Queue v, and the children of its ``REQUEUE_STEPS`` nearest ancestors."""
    push(nodes, agenda, v)
    u = nodes[v].parent
    for _ in range(REQUEUE_STEPS):
        if u == region_parent:
            break
        push(nodes, agenda, nodes[u].left)
        push(nodes, agenda, nodes[u].right)
        u = nodes[u].parent
