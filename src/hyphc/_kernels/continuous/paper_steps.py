"""The paper's loop: batches of triplets and, after each, a step of Riemannian Adam for every leaf and for the common norm.

Leaves are free points z of the disk of which only the directions count. Coordinates lie in rows (2, n), for vector registers:
on 2 000 leaves the step of Adam would otherwise take ten times as long as its batch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ..._shared.arrays import Floats, Ints, Records, record
from .adam import BETA1, BETA2, REST
from .objective import half_angle_depth, triplet_loss

TINY = float(np.finfo(np.float64).tiny)

# |z| of the normalised leaves, and Adam's moments of it.
NORM = record(("length", np.float64), ("first", np.float64), ("second", np.float64))


class Bounds(NamedTuple):
    """Least and largest |z| of normalised leaves, largest of free ones."""

    low: float
    high: float
    free: float


@njit(cache=True, nogil=True, error_model="numpy")
def paper_steps(
    z: Floats,
    first: Floats,
    second: Floats,
    norm: Records,
    n_steps: int,
    triplets: Ints,
    weights: Floats,
    penalties: Floats,
    batch: int,
    multiplicity: float,
    tau: float,
    rate: float,
    bounds: Bounds,
) -> float:
    """A step for each batch of triplets, in place; Σ over batches of the whole loss that each estimates.

    ``first`` (2, n) and ``second`` (n,) are Adam's moments after ``n_steps`` steps, ``norm`` is one of NORM. A batch of b
    triplets stands for ``multiplicity`` of them.
    """
    n = z.shape[1]
    unit, by_angle = np.empty((2, n)), np.empty(n)
    total = 0.0
    for start in range(0, triplets.shape[0], batch):
        stop = min(start + batch, triplets.shape[0])
        scale = multiplicity / (stop - start)
        _directions(z, unit)
        rho = 2.0 * math.atanh(norm.length)
        batch_slice = slice(start, stop)
        value, by_radius = _batch(
            unit, rho, tau, triplets[batch_slice], weights[batch_slice], penalties[batch_slice], by_angle
        )
        total += scale * value
        n_steps += 1
        _move_leaves(z, first, second, n_steps, scale, by_angle, rate, bounds.free)
        _move_norm(norm, n_steps, scale * by_radius, rate, bounds)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _directions(z: Floats, unit: Floats) -> None:
    x, y = z[0], z[1]
    for i in range(z.shape[1]):
        length = math.sqrt(x[i] * x[i] + y[i] * y[i])
        unit[0, i] = x[i] / length
        unit[1, i] = y[i] / length


@njit(cache=True, nogil=True, error_model="numpy")
def _batch(
    unit: Floats, rho: float, tau: float, triplets: Ints, weights: Floats, penalties: Floats, by_angle: Floats
) -> tuple[float, float]:
    """Loss of the triplets and ∂/∂ρ; ∂/∂angle of every leaf into ``by_angle``."""
    tanh, square = math.tanh(rho), 1.0 / math.cosh(rho) ** 2
    by_angle[:] = 0.0
    total = by_radius = 0.0
    for t in range(triplets.shape[0]):
        i, j, k = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        d0, s0, r0 = _pair(unit, i, j, tanh, square)
        d1, s1, r1 = _pair(unit, i, k, tanh, square)
        d2, s2, r2 = _pair(unit, j, k, tanh, square)
        value, g0, g1, g2 = triplet_loss((d0, d1, d2), weights[t], penalties[t], tau)
        total += value
        by_angle[i] += g0 * s0 + g1 * s1
        by_angle[j] += g2 * s2 - g0 * s0
        by_angle[k] -= g1 * s1 + g2 * s2
        by_radius += g0 * r0 + g1 * r1 + g2 * r2
    return total, by_radius


@njit(cache=True, nogil=True, error_model="numpy")
def _pair(unit: Floats, i: int, j: int, tanh: float, square: float) -> tuple[float, float, float]:
    """Depth and slopes of two leaves. Cosine and sine of half an angle are as long as half the sum and half the difference."""
    a, b, c, d = unit[0, i], unit[1, i], unit[0, j], unit[1, j]
    sine = 0.5 * math.sqrt((a - c) * (a - c) + (b - d) * (b - d))
    cosine = 0.5 * math.sqrt((a + c) * (a + c) + (b + d) * (b + d))
    return half_angle_depth(math.copysign(sine, b * c - a * d), cosine, tanh, square)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "nnan", "reassoc"})
def _move_leaves(
    z: Floats,
    first: Floats,
    second: Floats,
    n_steps: int,
    scale: float,
    by_angle: Floats,
    rate: float,
    max_norm: float,
) -> None:
    """Riemannian Adam in the Poincaré disk, as ``RiemannianAdam(Ball())`` does it.

    ∂angle/∂z = (−y, x)/|z|², and the metric is λ = 2/(1 − |z|²).
    """
    x, y, m_x, m_y = z[0], z[1], first[0], first[1]
    largest = 0.0
    for i in range(z.shape[1]):
        square = x[i] * x[i] + y[i] * y[i]
        inverse = 0.5 * (1.0 - square)
        turn = scale * by_angle[i] / square * (inverse * inverse)
        m_x[i] = BETA1 * m_x[i] - (1.0 - BETA1) * turn * y[i]
        m_y[i] = BETA1 * m_y[i] + (1.0 - BETA1) * turn * x[i]
        second[i] = BETA2 * second[i] + (1.0 - BETA2) * turn * turn * square / (inverse * inverse)
        largest = max(largest, second[i])
    unbias1, unbias2 = 1.0 / (1.0 - BETA1**n_steps), 1.0 / (1.0 - BETA2**n_steps)
    floor = REST * largest * unbias2 + TINY
    for i in range(z.shape[1]):
        square = x[i] * x[i] + y[i] * y[i]
        factor = -rate * unbias1 / math.sqrt(max(second[i] * unbias2, floor))
        v_x, v_y = factor * m_x[i], factor * m_y[i]
        # tanh(h)/h of half the step's hyperbolic length. Adam's steps are at most some three rates long, for which this
        # fraction is exact in float64, and unlike tanh itself it leaves the loop to vector registers.
        h2 = (v_x * v_x + v_y * v_y) / ((1.0 - square) * (1.0 - square))
        reach = max_norm / (1.0 - square) * ((945.0 + h2 * (105.0 + h2)) / (945.0 + h2 * (420.0 + 15.0 * h2)))
        v_x, v_y = reach * v_x, reach * v_y
        dot, length2 = x[i] * v_x + y[i] * v_y, v_x * v_x + v_y * v_y
        grow, below = 1.0 + 2.0 * dot + length2, 1.0 / (1.0 + 2.0 * dot + square * length2)
        new_x = (grow * x[i] + (1.0 - square) * v_x) * below
        new_y = (grow * y[i] + (1.0 - square) * v_y) * below
        inside = min(1.0, max_norm / math.sqrt(new_x * new_x + new_y * new_y))
        x[i], y[i] = new_x * inside, new_y * inside
        carried = (1.0 - x[i] * x[i] - y[i] * y[i]) / (1.0 - square)
        m_x[i] *= carried
        m_y[i] *= carried


@njit(cache=True, nogil=True, error_model="numpy")
def _move_norm(norm: Records, n_steps: int, by_radius: float, rate: float, bounds: Bounds) -> None:
    """Adam on |z| = tanh(ρ/2) of the normalised leaves."""
    grad = by_radius * 2.0 / (1.0 - norm.length * norm.length)
    norm.first = BETA1 * norm.first + (1.0 - BETA1) * grad
    norm.second = BETA2 * norm.second + (1.0 - BETA2) * grad * grad
    usual = math.sqrt(max(norm.second / (1.0 - BETA2**n_steps), TINY))
    length = norm.length - rate * norm.first / (1.0 - BETA1**n_steps) / usual
    norm.length = min(max(length, bounds.low), bounds.high)
