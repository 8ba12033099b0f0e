"""Features: w(A, v) is a dot product of subtree sums, O(d), whatever A and v."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Records
from ..._runtime.jit import part
from .dispatch import (
    finish_move,
    lower_bound_below,
    prepare_weights,
    update_sums,
    weight,
)
from .state import FeatureState, Scratch, State

DEVIATION = 0.4  # bound on the standard deviation of t, as a fraction of |v|; see best_regraft


@part(fastmath={"reassoc", "contract"})
def dot(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> float:
    """Return ⟨x, y⟩."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@part(fastmath={"reassoc", "contract"})
def mean_distance(x: npt.NDArray[Any], a: float, y: npt.NDArray[Any], b: float) -> float:
    """Return ‖x/a − y/b‖²."""
    total = 0.0
    for k in range(x.shape[0]):
        difference = x[k] / a - y[k] / b
        total += difference * difference
    return total


@part
def uniform_cost(nodes: Records, v: int, a: float, w: float) -> float:
    """Return the least cost of a position below v, beyond a·(x_v + w), if all leaves below v were equally similar to A."""
    points = nodes[v].points
    larger = points - nodes[v].smaller
    even = w * (points - nodes[v].smaller * larger / points)
    return even - max(0.0, w / points - a * nodes[v].loosest) * 0.5 * larger * larger  # type: ignore[no-any-return]


@part
def add_children(state: State, u: int) -> None:
    """Set the sum of rows and the scatter of u from its children's."""
    nodes, sums = state.nodes, state.sums  # type: ignore[union-attr]
    left, right = nodes[u].left, nodes[u].right
    one, two = nodes[left].points, nodes[right].points
    for k in range(sums.shape[1]):
        sums[u, k] = sums[left, k] + sums[right, k]
    nodes[u].smaller = min(one, two)
    apart = mean_distance(sums[left], one, sums[right], two) * one * two / (one + two)
    nodes[u].scatter = nodes[left].scatter + nodes[right].scatter + apart


@part
def loosest_split(nodes: Records, v: int, cut: float) -> float:
    """Return a lower bound on the mean similarity across splits at or below v, whose own cut is ``cut``; inf for leaves."""
    if nodes[v].left < 0:
        return np.inf
    return min(nodes[v].loosest, cut / (nodes[v].smaller * (nodes[v].points - nodes[v].smaller)))  # type: ignore[no-any-return]


@part
def propagate_loosest(nodes: Records, top: int, lowest: float, region_parent: int) -> None:
    """Lower ``loosest`` of the nodes above ``top`` to ``lowest``."""
    above = nodes[top].parent
    while above != region_parent and nodes[above].loosest > lowest:
        nodes[above].loosest = lowest
        above = nodes[above].parent


@prepare_weights.of(FeatureState)
def _(state: FeatureState, scratch: Scratch, A: int, region_parent: int) -> tuple[float, float]:
    reach = abs(state.terms.scale) * np.sqrt(dot(state.sums[A], state.sums[A]))
    return state.terms.offset * state.nodes[A].points + reach * state.terms.longest, reach


@weight.of(FeatureState)
def _(state: FeatureState, scratch: Scratch, A: int, v: int) -> float:
    counts = state.nodes[A].points * state.nodes[v].points
    return state.terms.offset * counts + state.terms.scale * dot(state.sums[A], state.sums[v])  # type: ignore[no-any-return]


@lower_bound_below.of(FeatureState)
def _(state: FeatureState, scratch: Scratch, v: int, a: float, acc: float, w: float, cap: float, reach: float) -> float:
    nodes, least = state.nodes, state.terms.least
    if nodes[v].left < 0:
        return np.inf
    points = nodes[v].points
    full = 0.5 * (w / cap + least) if w > cap * least else least
    even = uniform_cost(nodes, v, a, w) - DEVIATION * reach * points * np.sqrt(points * nodes[v].scatter)
    return acc + a * (nodes[v].cut + w) + max(full * w, even)  # type: ignore[no-any-return]


@update_sums.of(FeatureState)
def _(state: FeatureState, u: int) -> None:
    nodes, sums = state.nodes, state.sums
    left, right = nodes[u].left, nodes[u].right
    add_children(state, u)
    counts = nodes[left].points * nodes[right].points
    nodes[u].cut = state.terms.offset * counts + state.terms.scale * dot(sums[left], sums[right])
    loosest = loosest_split(nodes, left, nodes[left].cut)
    nodes[u].loosest = min(loosest, loosest_split(nodes, right, nodes[right].cut))


@finish_move.of(FeatureState)
def _(state: FeatureState, scratch: Scratch, A: int, top: int, begin: int, region_parent: int) -> None:
    propagate_loosest(state.nodes, top, loosest_split(state.nodes, top, state.nodes[top].cut), region_parent)
