"""Blends: the weights along edges and the background's, added. The background's may be below 0."""

from __future__ import annotations

import numpy as np

from ..._runtime.jit import part
from .dispatch import finish_move, lower_bound_below, prepare_weights, update_cut, update_sums, weight
from .features import DEVIATION, add_children, dot, loosest_split, propagate_loosest, uniform_cost
from .graph import assign_keys, edge_weight, prepare_edge_weights
from .state import BlendState, Scratch


@part
def background_weight(state: BlendState, u: int, v: int) -> float:
    """Return the background's part of w(u, v)."""
    one, two, terms = state.nodes[u], state.nodes[v], state.terms
    linear = terms.offset * one.points * two.points + terms.scale * dot(state.sums[u], state.sums[v])
    return linear - terms.tilt * (one.points * two.square + two.points * one.square)  # type: ignore[no-any-return]


@prepare_weights.of(BlendState)
def _(state: BlendState, scratch: Scratch, A: int, region_parent: int) -> tuple[float, float]:
    reach = state.terms.scale * np.sqrt(dot(state.sums[A], state.sums[A]))
    return prepare_edge_weights(state, scratch, A), reach


@weight.of(BlendState)
def _(state: BlendState, scratch: Scratch, A: int, v: int) -> float:
    return edge_weight(scratch, state.nodes[v].first, state.nodes[v].last) + background_weight(state, A, v)


@lower_bound_below.of(BlendState)
def _(state: BlendState, scratch: Scratch, v: int, a: float, acc: float, w: float, cap: float, reach: float) -> float:
    nodes, least = state.nodes, state.terms.least
    if nodes[v].left < 0:
        return np.inf
    points, near = nodes[v].points, edge_weight(scratch, nodes[v].first, nodes[v].last)
    full = 0.5 * (near / cap + least) if near > cap * least else least
    unlike = reach * np.sqrt(points * nodes[v].scatter) + state.terms.tilt * a * np.sqrt(points * nodes[v].disparity)
    even = uniform_cost(nodes, v, a, w - near) - DEVIATION * points * unlike
    return acc + a * (nodes[v].cut + w) + full * near + even  # type: ignore[no-any-return]


@update_cut.of(BlendState)
def _(state: BlendState, scratch: Scratch, A: int, u: int, v: int, keep: float, sign: float) -> None:
    near = edge_weight(scratch, state.nodes[v].first, state.nodes[v].last)
    state.nodes[u].edges = keep * state.nodes[u].edges + sign * near


@update_sums.of(BlendState)
def _(state: BlendState, u: int) -> None:
    nodes = state.nodes
    left, right = nodes[u].left, nodes[u].right
    add_children(state, u)
    nodes[u].cut = nodes[u].edges + background_weight(state, left, right)
    nodes[u].square = nodes[left].square + nodes[right].square
    one, two = nodes[left].points, nodes[right].points
    uneven = nodes[left].square / one - nodes[right].square / two
    uneven *= uneven * one * two / (one + two)
    nodes[u].disparity = nodes[left].disparity + nodes[right].disparity + uneven
    loosest = loosest_split(nodes, left, nodes[left].cut - nodes[left].edges)
    nodes[u].loosest = min(loosest, loosest_split(nodes, right, nodes[right].cut - nodes[right].edges))


@finish_move.of(BlendState)
def _(state: BlendState, scratch: Scratch, A: int, top: int, begin: int, region_parent: int) -> None:
    nodes = state.nodes
    assign_keys(state, scratch, A, region_parent)
    propagate_loosest(nodes, top, loosest_split(nodes, top, nodes[top].cut - nodes[top].edges), region_parent)
