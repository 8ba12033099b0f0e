"""Kernel of the paper's protocol: batches of triplets and, after each, a step of Riemannian Adam for leaves and scale.

Leaves are free points z of the disk of which only the directions count. A step moves all of them after a batch of a few hundred
triplets, so on thousands of leaves it takes most of the time. All loops but those that gather and scatter are vector
instructions. Nothing is reordered: every process computes the same digits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part
from .adam import BETA1, REST
from .objective import spread_terms
from .powers import powers

TINY = float(np.finfo(np.float64).tiny)

# The learned scale, whose value within bounds is |z| of the normalised leaves, and Adam's moments of it.
NORM = record_dtype(("length", np.float64), ("first", np.float64), ("second", np.float64))


class Bounds(NamedTuple):
    """Least and largest |z| of normalised leaves, largest of free ones."""

    low: float
    high: float
    free: float


# Leaves lie in tiles of TILE, a row of each number for all leaves of a tile: z, Adam's first moment of it and the second, the
# direction z/|z|, 1/|z|², the slope of a batch along the angle, and 1/(1 − |z|²). Distances between rows are known when
# the loops are compiled, which makes vector instructions of them.
TILE = 64
X, Y, FIRST_X, FIRST_Y, SECOND, UNIT_X, UNIT_Y, INVERSE_SQUARE, BY_ANGLE, CONFORMAL = (TILE * row for row in range(10))
TILE_NUMBERS = 10 * TILE


class Rule(NamedTuple):
    """Triplets of a batch and how many each batch stands for, temperature, and what Adam needs.

    ``eps`` is added to the root of the second moment, in units of the whole loss. ``counted`` is by how much the counter of the
    bias corrections advances in a step. ``is_point`` says whether the scale is a point of the one-dimensional Poincaré ball.
    """

    batch: int
    multiplicity: float
    tau: float
    rate: float
    beta2: float
    eps: float
    counted: int
    is_point: bool


@part(inline="always")
def _slopes_of_pairs(across: Any, along: Any, turned: Any, count: Any, rho: Any) -> Any:
    """Replace the input by exp(2·depth) of pairs of leaves and the slopes of the depth along the angle and the radius.

    Given are |u − v|² and |u + v|² of their directions, and whether u is clockwise of v. Sine and cosine of half the angle
    are half the lengths of difference and sum.
    """
    tanh, square = math.tanh(rho), 1.0 / math.cosh(rho) ** 2
    for t in range(count):
        cosine, sine = 0.5 * math.sqrt(along[t]), 0.5 * math.sqrt(across[t])
        inverse = 1.0 / (square + 0.25 * tanh * tanh * across[t])
        grown = 1.0 + tanh * cosine
        across[t] = grown * grown * inverse
        along[t] = -0.5 * tanh * (sine if turned[t] > 0.0 else -sine) * inverse
        turned[t] = square * cosine * inverse


@part(inline="always")
def _place(leaf: Any) -> Any:
    """Return where the numbers of a leaf begin."""
    return (leaf // TILE) * TILE_NUMBERS + leaf % TILE


@part(inline="always")
def _gather(tiles: Any, triplets: Any, start: Any, count: Any, width: Any, across: Any, along: Any, turned: Any) -> Any:
    """Fill in the input of `_slopes_of_pairs` for the pairs ij, ik, jk of some triplets, ``width`` places apart."""
    for t in range(count):
        for pair in range(3):
            one = _place(triplets[start + t, pair // 2])
            other = _place(triplets[start + t, 1 if pair == 0 else 2])
            a, b = tiles[one + UNIT_X], tiles[one + UNIT_Y]
            c, d = tiles[other + UNIT_X], tiles[other + UNIT_Y]
            at = pair * width + t
            across[at] = (a - c) * (a - c) + (b - d) * (b - d)
            along[at] = (a + c) * (a + c) + (b + d) * (b + d)
            turned[at] = b * c - a * d


@part(inline="always")
def _shares(
    e_ik: Any, e_jk: Any, weights: Any, start: Any, count: Any, width: Any, tau: Any, values: Any, by_depth: Any
) -> Any:
    """Fill in the loss of each triplet, Σ w − ⟨w, p⟩, and its slopes along the three depths, from e_ik/e_ij and e_jk/e_ij."""
    for t in range(count):
        p0 = 1.0 / (1.0 + e_ik[t] + e_jk[t])
        p1, p2 = e_ik[t] * p0, e_jk[t] * p0
        w0, w1, w2 = weights[start + t, 0], weights[start + t, 1], weights[start + t, 2]
        values[t] = w0 * (p1 + p2) + w1 * (p0 + p2) + w2 * (p0 + p1)
        by_depth[t] = -p0 * ((w0 - w1) * p1 + (w0 - w2) * p2) / tau
        by_depth[width + t] = -p1 * ((w1 - w0) * p0 + (w1 - w2) * p2) / tau
        by_depth[2 * width + t] = -p2 * ((w2 - w0) * p0 + (w2 - w1) * p1) / tau


@part(inline="always")
def _add_spread(
    x: Any, penalties: Any, start: Any, count: Any, width: Any, tau: Any, values: Any, by_depth: Any
) -> Any:
    """Add the spread penalty of each triplet and its slopes; x holds exp(2·depth)."""
    for t in range(count):
        d0, d1, d2 = 0.5 * math.log(x[t]), 0.5 * math.log(x[width + t]), 0.5 * math.log(x[2 * width + t])
        hinge, g0, g1, g2 = spread_terms(d0, d1, d2, tau)
        values[t] += penalties[start + t] * hinge
        by_depth[t] += penalties[start + t] * g0
        by_depth[width + t] += penalties[start + t] * g1
        by_depth[2 * width + t] += penalties[start + t] * g2


@part(inline="always")
def _take_moments(tiles: Any, scale: Any, beta2: Any) -> Any:
    """Update Adam's moments of the Riemannian gradient, and reset slopes to 0; return the largest second moment.

    ∂angle/∂z = (−y, x)/|z|², and the metric is λ = 2/(1 − |z|²).
    """
    # numbers above 0 stand in the order of their bits, and the largest integer needs no thought of NaN
    largest = np.zeros(1, np.int64)
    for start in range(0, tiles.shape[0], TILE_NUMBERS):
        tile = tiles[start : start + TILE_NUMBERS]
        for i in range(TILE):
            x, y, grad = tile[X + i], tile[Y + i], scale * tile[BY_ANGLE + i]
            inverse = 0.5 * (1.0 - x * x - y * y)
            turn = grad * tile[INVERSE_SQUARE + i] * (inverse * inverse)
            tile[FIRST_X + i] = BETA1 * tile[FIRST_X + i] - (1.0 - BETA1) * turn * y
            tile[FIRST_Y + i] = BETA1 * tile[FIRST_Y + i] + (1.0 - BETA1) * turn * x
            tile[SECOND + i] = beta2 * tile[SECOND + i] + (1.0 - beta2) * turn * grad
            tile[BY_ANGLE + i] = 0.0
        bits, highest = tile.view(np.int64), largest[0]
        for i in range(TILE):
            highest = max(highest, bits[SECOND + i])
        largest[0] = highest
    return largest.view(np.float64)[0]


@part(inline="always")
def _move_leaves(tiles: Any, floor: Any, count: Any, rule: Any, max_norm: Any) -> Any:
    """Take a step of Riemannian Adam in the Poincaré disk, as ``RiemannianAdam(Ball())`` up to β₂ and eps.

    Three short loops a tile: in one long loop every number would wait for the one before.
    """
    unbias1, unbias2 = 1.0 / (1.0 - BETA1**count), 1.0 / (1.0 - rule.beta2**count)
    rate, eps = rule.rate, rule.eps
    for start in range(0, tiles.shape[0], TILE_NUMBERS):
        tile = tiles[start : start + TILE_NUMBERS]
        for i in range(TILE):
            inside = 1.0 - tile[X + i] * tile[X + i] - tile[Y + i] * tile[Y + i]
            usual = math.sqrt(max(tile[SECOND + i] * unbias2, floor)) + eps
            both = 1.0 / (usual * inside)
            factor = -rate * unbias1 * inside * both
            tile[UNIT_X + i], tile[UNIT_Y + i] = factor * tile[FIRST_X + i], factor * tile[FIRST_Y + i]
            tile[CONFORMAL + i] = usual * both
        for i in range(TILE):
            x, y, v_x, v_y = tile[X + i], tile[Y + i], tile[UNIT_X + i], tile[UNIT_Y + i]
            square, conformal = x * x + y * y, tile[CONFORMAL + i]
            # tanh(h)/h of half the step's hyperbolic length. Adam's steps are at most √((1 − β₁)² / (1 − β₂) / (1 − β₁²/β₂))
            # rates long, 7.3 for β₂ = 0.999, for which the series is exact in float64.
            h2 = (v_x * v_x + v_y * v_y) * conformal * conformal
            tanh = 1.0 - h2 * (1.0 / 3.0 - h2 * (2.0 / 15.0 - h2 * (17.0 / 315.0 - h2 * (62.0 / 2835.0))))
            reach = max_norm * conformal * tanh
            v_x, v_y = reach * v_x, reach * v_y
            dot, length2 = x * v_x + y * v_y, v_x * v_x + v_y * v_y
            grow, below = 1.0 + 2.0 * dot + length2, 1.0 / (1.0 + 2.0 * dot + square * length2)
            tile[X + i] = (grow * x + (1.0 - square) * v_x) * below
            tile[Y + i] = (grow * y + (1.0 - square) * v_y) * below
        for i in range(TILE):
            x, y = tile[X + i], tile[Y + i]
            shorter = 1.0 / math.sqrt(x * x + y * y)
            kept = min(1.0, max_norm * shorter)
            tile[UNIT_X + i], tile[UNIT_Y + i] = x * shorter, y * shorter
            # where kept < 1, |z| is max_norm
            tile[INVERSE_SQUARE + i] = max(1.0 / (max_norm * max_norm), shorter * shorter)
            x, y = x * kept, y * kept
            carried = (1.0 - x * x - y * y) * tile[CONFORMAL + i]
            tile[X + i], tile[Y + i] = x, y
            tile[FIRST_X + i] *= carried
            tile[FIRST_Y + i] *= carried


@part(inline="always")
def _move_scale(norm: Any, count: Any, by_radius: Any, rule: Any, bounds: Any) -> Any:
    """Take a step of Adam on the scale s, ρ = 2 artanh(s): plain and kept within bounds, or Riemannian in (−1, 1).

    In the Poincaré ball of one dimension λ = 2/(1 − s²), the exponential map adds to artanh s, and a tangent vector carried from
    s to s' keeps its length λ|v|. The normalised leaves have the value within bounds, so that outside the slope is 0.
    """
    inside = 1.0 - norm.length * norm.length
    grad = by_radius * 2.0 / inside
    if rule.is_point and not bounds.low <= norm.length <= bounds.high:
        grad = 0.0
    tangent = 0.25 * inside * inside * grad if rule.is_point else grad
    norm.first = BETA1 * norm.first + (1.0 - BETA1) * tangent
    norm.second = rule.beta2 * norm.second + (1.0 - rule.beta2) * tangent * grad
    usual = math.sqrt(max(norm.second / (1.0 - rule.beta2**count), TINY)) + rule.eps
    step = -rule.rate * norm.first / (1.0 - BETA1**count) / usual
    if rule.is_point:
        moved = math.tanh(math.atanh(norm.length) + step / inside)
        norm.length = min(max(moved, -bounds.free), bounds.free)
        norm.first *= (1.0 - norm.length * norm.length) / inside
    else:
        norm.length = min(max(norm.length + step, bounds.low), bounds.high)


@kernel
def paper_steps(
    tiles: Floats,
    norm: Records,
    n_steps: int,
    triplets: Ints,
    weights: Floats,
    penalties: Floats,
    rule: Rule,
    bounds: Bounds,
) -> float:
    """Take a step for each batch of triplets, in place; return Σ over batches of the whole loss that each estimates.

    ``tiles`` are leaves after ``n_steps`` steps, ``norm`` is one of NORM; no penalties are an empty array.
    """
    width, tau = rule.batch, rule.tau
    across, along, turned = np.empty(3 * width), np.empty(3 * width), np.empty(3 * width)
    e, whole, values, by_depth = np.empty(2 * width), np.empty(2 * width), np.empty(width), np.empty(3 * width)
    total = 0.0
    for start in range(0, triplets.shape[0], width):
        count = min(width, triplets.shape[0] - start)
        scale = rule.multiplicity / count
        rho = 2.0 * math.atanh(min(max(norm.length, bounds.low), bounds.high))
        _gather(tiles, triplets, start, count, width, across, along, turned)
        for pair in range(3):
            part = slice(pair * width, pair * width + count)
            _slopes_of_pairs(across[part], along[part], turned[part], count, rho)
        for t in range(count):
            e[t], e[count + t] = across[width + t] / across[t], across[2 * width + t] / across[t]
        powers(e, e.view(np.uint64), whole, whole.view(np.uint64), 0.5 / tau, 2 * count)
        _shares(e[:count], e[count:], weights, start, count, width, tau, values, by_depth)
        if penalties.shape[0]:
            _add_spread(across, penalties, start, count, width, tau, values, by_depth)
        value = by_radius = 0.0
        for t in range(count):
            one, two, three = along[t] * by_depth[t], along[width + t] * by_depth[width + t], along[2 * width + t]
            three *= by_depth[2 * width + t]
            tiles[_place(triplets[start + t, 0]) + BY_ANGLE] += one + two
            tiles[_place(triplets[start + t, 1]) + BY_ANGLE] += three - one
            tiles[_place(triplets[start + t, 2]) + BY_ANGLE] -= two + three
            value += values[t]
            for pair in range(3):
                by_radius += by_depth[pair * width + t] * turned[pair * width + t]
        total += scale * value
        n_steps += 1
        counter = rule.counted * n_steps
        floor = REST * _take_moments(tiles, scale, rule.beta2) / (1.0 - rule.beta2**counter) + TINY
        _move_leaves(tiles, floor, counter, rule, bounds.free)
        _move_scale(norm, counter, scale * by_radius, rule, bounds)
    return total
