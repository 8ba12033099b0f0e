"""Features: w(A, v) is a dot product of subtree sums, O(d), whatever A and v."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Records
from ..._runtime.jit import part
from .dispatch import aim, append_leaf, finish_move, floor_below, position, recut, release, settle, weight
from .state import BlendState, FeatureState, GraphState, Scratch, State

DEVIATION = 0.4  # of the points met on the way up, at most, as a share of |v|


@part(fastmath={"reassoc", "contract"})
def dot(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> float:
    """⟨x, y⟩."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@part(fastmath={"reassoc", "contract"})
def gap(x: npt.NDArray[Any], a: float, y: npt.NDArray[Any], b: float) -> float:
    """‖x/a − y/b‖²."""
    total = 0.0
    for k in range(x.shape[0]):
        difference = x[k] / a - y[k] / b
        total += difference * difference
    return total


@part
def evenly(nodes: Records, v: int, a: float, w: float) -> float:
    """What a place below v costs, beyond a·(x_v + w), at least, if all leaves below v were equally similar to A."""
    points = nodes[v].points
    larger = points - nodes[v].smaller
    even = w * (points - nodes[v].smaller * larger / points)
    return even - max(0.0, w / points - a * nodes[v].loosest) * 0.5 * larger * larger  # type: ignore[no-any-return]


@part
def sum_up(state: State, u: int) -> None:
    """Sums of rows and scatter of u from its children's."""
    nodes, sums = state.nodes, state.sums  # type: ignore[union-attr]
    left, right = nodes[u].left, nodes[u].right
    one, two = nodes[left].points, nodes[right].points
    for k in range(sums.shape[1]):
        sums[u, k] = sums[left, k] + sums[right, k]
    nodes[u].smaller = min(one, two)
    apart = gap(sums[left], one, sums[right], two) * one * two / (one + two)
    nodes[u].scatter = nodes[left].scatter + nodes[right].scatter + apart


@part
def loosest_split(nodes: Records, v: int, cut: float) -> float:
    """At most the lowest mean similarity across a split at or below v, if that across v itself is ``cut``; inf for leaves."""
    if nodes[v].left < 0:
        return np.inf
    return min(nodes[v].loosest, cut / (nodes[v].smaller * (nodes[v].points - nodes[v].smaller)))  # type: ignore[no-any-return]


@part
def tell_above(nodes: Records, top: int, lowest: float, ceiling: int) -> None:
    """Let the nodes above ``top`` know of a split as loose as ``lowest``."""
    above = nodes[top].parent
    while above != ceiling and nodes[above].loosest > lowest:
        nodes[above].loosest = lowest
        above = nodes[above].parent


@aim.of(FeatureState)
def _(state: FeatureState, scratch: Scratch, A: int, ceiling: int) -> tuple[float, float]:
    reach = abs(state.terms.scale) * np.sqrt(dot(state.sums[A], state.sums[A]))
    return state.terms.offset * state.nodes[A].points + reach * state.terms.longest, reach


@weight.of(FeatureState)
def _(state: FeatureState, work: Records, A: int, v: int) -> float:
    counts = state.nodes[A].points * state.nodes[v].points
    return state.terms.offset * counts + state.terms.scale * dot(state.sums[A], state.sums[v])  # type: ignore[no-any-return]


@release.of(FeatureState)
def _(state: FeatureState, scratch: Scratch) -> None:
    pass


@floor_below.of(FeatureState)
def _(state: FeatureState, work: Records, v: int, a: float, acc: float, w: float, cap: float, reach: float) -> float:
    nodes, least = state.nodes, state.terms.least
    if nodes[v].left < 0:
        return np.inf
    points = nodes[v].points
    full = 0.5 * (w / cap + least) if w > cap * least else least
    even = evenly(nodes, v, a, w) - DEVIATION * reach * points * np.sqrt(points * nodes[v].scatter)
    return acc + a * (nodes[v].cut + w) + max(full * w, even)  # type: ignore[no-any-return]


@recut.of(FeatureState)
def _(state: FeatureState, work: Records, A: int, u: int, v: int, keep: float, sign: float) -> None:
    pass


@settle.of(FeatureState)
def _(state: FeatureState, u: int) -> None:
    nodes, sums = state.nodes, state.sums
    left, right = nodes[u].left, nodes[u].right
    sum_up(state, u)
    counts = nodes[left].points * nodes[right].points
    nodes[u].cut = state.terms.offset * counts + state.terms.scale * dot(sums[left], sums[right])
    loosest = loosest_split(nodes, left, nodes[left].cut)
    nodes[u].loosest = min(loosest, loosest_split(nodes, right, nodes[right].cut))


@position.of(FeatureState, GraphState, BlendState)
def _(state: State, v: int) -> int:
    return 0


@finish_move.of(FeatureState)
def _(state: FeatureState, work: Records, top: int, begin: int, ceiling: int) -> None:
    tell_above(state.nodes, top, loosest_split(state.nodes, top, state.nodes[top].cut), ceiling)


@append_leaf.of(FeatureState, GraphState, BlendState)
def _(state: State, A: int) -> None:
    pass
