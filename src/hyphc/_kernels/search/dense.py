"""Matrices: prefix sums of A's row sums along the leaf order, O(n) once, then w(A, v) in O(1)."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats, Records
from ..._runtime.jit import part
from .dispatch import (
    append_leaf,
    finish_move,
    lower_bound_below,
    position,
    prepare_weights,
    update_cut,
    update_sums,
    weight,
)
from .state import DenseState, GraphState, Scratch


@part
def subtree_row(state: DenseState, v: int) -> Floats:
    """Return w(v, j) for each leaf j."""
    n = state.matrix.shape[0]
    return state.matrix[v] if v < n else state.sums[v - n]  # type: ignore[no-any-return]


@part
def renumber(nodes: Records, work: Records, top: int, begin: int) -> None:
    """Renumber the leaf positions below ``top`` from ``begin`` on, and update first and last of all nodes there."""
    work[0].node = top
    height, place = 1, begin
    while height > 0:
        u = work[height - 1].node
        if u < 0:  # its children are done
            nodes[-u - 1].last = place
            height -= 1
            continue
        nodes[u].first = place
        if nodes[u].left < 0:
            nodes[place].order = u
            place += 1
            nodes[u].last = place
            height -= 1
        else:
            work[height - 1].node = -u - 1
            work[height].node = nodes[u].right
            work[height + 1].node = nodes[u].left
            height += 2


@prepare_weights.of(DenseState)
def _(state: DenseState, scratch: Scratch, A: int, region_parent: int) -> tuple[float, float]:
    nodes, sums, row = state.nodes, scratch.sums, subtree_row(state, A)
    root = A
    while nodes[root].parent != region_parent:
        root = nodes[root].parent
    begin, end = nodes[root].first, nodes[root].last
    inside, outside = nodes[A].first, nodes[A].last
    largest = total = 0.0
    sums[begin] = 0.0
    for k in range(begin, end):
        if k < inside or k >= outside:
            j = nodes[k].order
            largest = max(largest, row[j] / nodes[j].points)
            total += row[j]
        sums[k + 1] = total
    return largest, np.inf


@weight.of(DenseState)
def _(state: DenseState, scratch: Scratch, A: int, v: int) -> float:
    return scratch.sums[state.nodes[v].last] - scratch.sums[state.nodes[v].first]  # type: ignore[no-any-return]


@lower_bound_below.of(DenseState, GraphState)
def _(
    state: DenseState | GraphState, scratch: Scratch, v: int, a: float, acc: float, w: float, cap: float, reach: float
) -> float:
    nodes, least = state.nodes, state.terms.least
    if nodes[v].left < 0:
        return np.inf
    full = 0.5 * (w / cap + least) if w > cap * least else least
    return acc + a * (nodes[v].cut + w) + full * w  # type: ignore[no-any-return]


@update_cut.of(DenseState)
def _(state: DenseState, scratch: Scratch, A: int, u: int, v: int, keep: float, sign: float) -> None:
    state.nodes[u].cut = keep * state.nodes[u].cut + sign * weight(state, scratch, A, v)


@update_sums.of(DenseState)
def _(state: DenseState, u: int) -> None:
    left, right = state.nodes[u].left, state.nodes[u].right
    one, two, out = subtree_row(state, left), subtree_row(state, right), subtree_row(state, u)
    for k in range(out.shape[0]):
        out[k] = one[k] + two[k]


@position.of(DenseState)
def _(state: DenseState, v: int) -> int:
    return state.nodes[v].first  # type: ignore[no-any-return]


@finish_move.of(DenseState)
def _(state: DenseState, scratch: Scratch, A: int, top: int, begin: int, region_parent: int) -> None:
    renumber(state.nodes, scratch.work, top, begin)


@append_leaf.of(DenseState)
def _(state: DenseState, A: int) -> None:
    nodes = state.nodes
    end = nodes[nodes[nodes.shape[0] - 1].left].last
    nodes[end].order = A
    nodes[A].first = end
    nodes[A].last = end + 1
