"""Kernels of descent on the edges of a graph, many steps in one call: third points, gradient, Adam and noise.

Nothing here may be reordered by the compiler, so a step is the same whether it runs in one call or as chunks on threads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part
from .adam import BETA1, BETA2, REST
from .powers import powers

TINY = float(np.finfo(np.float64).tiny)
# Edges whose powers are taken at once.
BATCH = 128
# Each step is blurred by this share of the learning rate. Exact gradients otherwise lead every seed along one path into one
# basin, on zoo a bad one for most lengths of the run; with it all seeds find the better one.
NOISE = 0.1

# SplitMix64 of Steele, Lea and Flood: a generator whose t-th number is a function of t.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_TWO, _16, _27, _30, _31, _32, _48 = (np.uint64(b) for b in (2, 16, 27, 30, 31, 32, 48))


class EdgeArrays(NamedTuple):
    """Edges ij with their weights, how many a step takes, and the points that each leaf stands for.

    With fewer than all, edges are drawn in proportion to weight: ``cumulative`` are the running sums of the weights.
    """

    i: Ints
    j: Ints
    weights: Floats
    cumulative: Floats
    sizes: Floats
    n_drawn: int


class Circular(NamedTuple):
    """Points in some circular order, rank[order] = 0 … n − 1.

    ``chances`` are those of the near one of `third_points` to stand d places from an end, d = 0 … n/2, ``n_scales`` scales of it.
    """

    order: Ints
    rank: Ints
    chances: Floats
    n_scales: int


class LeafArrays(NamedTuple):
    """Angles, Adam's first and second moments of them, cosine and sine of half of them, all (n,)."""

    angles: Floats
    first: Floats
    second: Floats
    cosines: Floats
    sines: Floats


class Step(NamedTuple):
    """Number of a step in its run, from 0, the seed of the run, and where the schedules are."""

    number: int
    seed: int
    rho: float
    tau: float
    rate: float


@kernel(inline="always")
def scramble(seed: Any, number: Any) -> Any:
    """Return the number-th integer of 64 random bits."""
    z = np.uint64(seed) + np.uint64(number) * _GOLDEN
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@part(inline="always")
def _below(z: Any, bound: Any) -> Any:
    """Return an integer in [0, bound), bound < 2³², from the upper half of 64 random bits."""
    return np.int64(((z >> _32) * np.uint64(bound)) >> _32)


@part(inline="always")
def _nearly_normal(z: Any) -> Any:
    """Return a number of mean 0 and variance 1, the sum of four uniform numbers of 16 bits each."""
    last = np.uint64(0xFFFF)
    total = np.int64((z & last) + ((z >> _16) & last) + ((z >> _32) & last) + (z >> _48))
    return (np.float64(total) - 131070.0) * (math.sqrt(3.0) / 65536.0)


@kernel(inline="always")
def third_points(i: Any, j: Any, far_bits: Any, near_bits: Any, circular: Any) -> Any:
    """Return two third points for the edge ij, from 64 random bits each: one far, one near.

    The far one is any of the n points. The near one stands to either side of one end of the edge in the circular order of the
    points, 2^s to 2^(s+1) − 1 places from it, for a random s. Most triplets of a sparse graph are decided
    once the radius has grown; the others have a third point close by. Either may be an end of the
    edge, which forms no triplet.
    """
    order, rank, _, n_scales = circular
    n = order.shape[0]
    step = np.int64(1) << _below(near_bits, n_scales)
    step += np.int64(near_bits >> _TWO) & (step - 1)
    from_rank = rank[i] if near_bits & np.uint64(1) else rank[j]
    place = from_rank + (step if near_bits & np.uint64(2) else -step)
    place += n if place < 0 else 0
    place -= n if place >= n else 0
    return _below(far_bits, n), order[place]


@kernel(inline="always")
def triplet_weight(i: Any, j: Any, k: Any, rank: Any, chances: Any) -> Any:
    """Return 1 / (expected number of draws of k as a third point of the edge ij); 0 where k is an end of it."""
    n = rank.shape[0]
    from_i, from_j = abs(rank[k] - rank[i]), abs(rank[k] - rank[j])
    often = 1.0 / n + chances[min(from_i, n - from_i)] + chances[min(from_j, n - from_j)]
    return 0.0 if from_i == 0 or from_j == 0 else 1.0 / often


@kernel
def weighted_third_points(i: Ints, j: Ints, circular: Circular, seed: int) -> tuple[Ints, Floats]:
    """Return two third points for each edge and their `triplet_weight`, both (T, 2)."""
    thirds, weights = np.empty((i.shape[0], 2), np.int64), np.empty((i.shape[0], 2))
    for t in range(i.shape[0]):
        far_bits, near_bits = scramble(seed, 2 * t), scramble(seed, 2 * t + 1)
        thirds[t, 0], thirds[t, 1] = third_points(i[t], j[t], far_bits, near_bits, circular)
        for draw in range(2):
            weights[t, draw] = triplet_weight(i[t], j[t], thirds[t, draw], circular.rank, circular.chances)
    return thirds, weights


@part(inline="always")
def _pair(cosines: Any, sines: Any, i: Any, j: Any, tanh: Any, square: Any) -> Any:
    """Return exp(2·depth) of two leaves, and the slope of the depth along the angle of the first.

    The sine is a difference of products, with an error of 1e-16: small against sech ρ, which it is compared with.
    """
    sine = sines[i] * cosines[j] - cosines[i] * sines[j]
    cosine = cosines[i] * cosines[j] + sines[i] * sines[j]
    sine = -sine if cosine < 0.0 else sine
    inverse = 1.0 / (square + tanh * tanh * sine * sine)
    grown = 1.0 + tanh * abs(cosine)
    return grown * grown * inverse, -0.5 * tanh * sine * inverse


@kernel
def edge_slopes(
    edges: EdgeArrays, chunk: int, n_chunks: int, leaves: LeafArrays, circular: Circular, step: Step, by_angle: Floats
) -> float:
    """Return the loss of one chunk's share of a step's triplets, w (1 − p) each; fill by_angle[chunk] with ∂/∂angles.

    Shares p are softmax(d/τ) of three depths: with x = exp(2d) their ratios are powers of ratios of x.
    """
    rank, chances, cosines, sines = circular.rank, circular.chances, leaves.cosines, leaves.sines
    tanh, square = math.tanh(step.rho), 1.0 / math.cosh(step.rho) ** 2
    n_drawn, n_edges = edges.n_drawn, edges.i.shape[0]
    drawn, third = np.empty(BATCH, np.int64), np.empty((BATCH, 2), np.int64)
    slope, weight = np.empty((BATCH, 5)), np.empty(BATCH)
    ratio, whole = np.empty(4 * BATCH), np.empty(4 * BATCH)
    slopes = by_angle[chunk]
    for i in range(slopes.shape[0]):
        slopes[i] = 0.0
    total, at = 0.0, 0
    part = edges.cumulative[n_edges - 1] / n_drawn
    shift = np.float64(_below(scramble(step.seed, step.number), 1 << 30)) / (1 << 30)
    last = (chunk + 1) * n_drawn // n_chunks
    for start in range(chunk * n_drawn // n_chunks, last, BATCH):
        count = min(BATCH, last - start)
        for b in range(count):
            t = start + b
            if n_drawn == n_edges:
                at, weight[b] = t, edges.weights[t]
            else:
                # one edge for each of n_drawn equal parts of the whole weight, at the same place in all of them
                weight[b] = part
                while at < n_edges - 1 and edges.cumulative[at] <= (t + shift) * part:
                    at += 1
            drawn[b] = at
            i, j = edges.i[at], edges.j[at]
            number = 2 * (step.number * n_drawn + t)
            far_bits, near_bits = scramble(step.seed + 1, number), scramble(step.seed + 1, number + 1)
            third[b, 0], third[b, 1] = third_points(i, j, far_bits, near_bits, circular)
            x_ij, slope[b, 0] = _pair(cosines, sines, i, j, tanh, square)
            for draw in range(2):
                k = third[b, draw]
                x_ik, slope[b, 1 + 2 * draw] = _pair(cosines, sines, i, k, tanh, square)
                x_jk, slope[b, 2 + 2 * draw] = _pair(cosines, sines, j, k, tanh, square)
                ratio[4 * b + 2 * draw], ratio[4 * b + 2 * draw + 1] = x_ik / x_ij, x_jk / x_ij
        powers(ratio, ratio.view(np.uint64), whole, whole.view(np.uint64), 0.5 / step.tau, 4 * count)
        for b in range(count):
            i, j = edges.i[drawn[b]], edges.j[drawn[b]]
            for draw in range(2):
                k = third[b, draw]
                e_ik, e_jk = ratio[4 * b + 2 * draw], ratio[4 * b + 2 * draw + 1]
                p = 1.0 / (1.0 + e_ik + e_jk)
                scale = weight[b] * edges.sizes[k] * triplet_weight(i, j, k, rank, chances)
                total += scale * (e_ik + e_jk) * p
                pull = scale * p * p / step.tau
                by_ik, by_jk = pull * e_ik * slope[b, 1 + 2 * draw], pull * e_jk * slope[b, 2 + 2 * draw]
                by_ij = -pull * (e_ik + e_jk) * slope[b, 0]
                slopes[i] += by_ij + by_ik
                slopes[j] += by_jk - by_ij
                slopes[k] -= by_ik + by_jk
    return total


@kernel
def move_leaves(leaves: LeafArrays, by_angle: Floats, step: Step) -> None:
    """Take a step of Adam on the angles, as ``RiemannianAdam(Circle())``, with noise; by_angle (chunks, n) is summed."""
    angles, first, second = leaves.angles, leaves.first, leaves.second
    n = angles.shape[0]
    largest = 0.0
    for c in range(1, by_angle.shape[0]):
        for i in range(n):
            by_angle[0, i] += by_angle[c, i]
    for i in range(n):
        grad = by_angle[0, i]
        first[i] = BETA1 * first[i] + (1.0 - BETA1) * grad
        second[i] = BETA2 * second[i] + (1.0 - BETA2) * grad * grad
        largest = max(largest, second[i])
    unbias1, unbias2 = 1.0 / (1.0 - BETA1 ** (step.number + 1)), 1.0 / (1.0 - BETA2 ** (step.number + 1))
    floor = REST * largest * unbias2 + TINY
    for i in range(n):
        direction = first[i] * unbias1 / math.sqrt(max(second[i] * unbias2, floor))
        noise = NOISE * _nearly_normal(scramble(step.seed + 2, step.number * n + i))
        angles[i] += step.rate * (noise - direction)
        leaves.cosines[i], leaves.sines[i] = math.cos(0.5 * angles[i]), math.sin(0.5 * angles[i])


@kernel
def edge_steps(
    edges: EdgeArrays, leaves: LeafArrays, circular: Circular, first: int, seed: int, schedule: Floats, by_angle: Floats
) -> Floats:
    """Take steps first, first + 1, … for the rows (ρ, τ, rate) of ``schedule``; return the loss that each estimates."""
    losses = np.zeros(schedule.shape[0])
    for t in range(schedule.shape[0]):
        step = Step(first + t, seed, schedule[t, 0], schedule[t, 1], schedule[t, 2])
        for chunk in range(by_angle.shape[0]):
            losses[t] += edge_slopes(edges, chunk, by_angle.shape[0], leaves, circular, step, by_angle)
        move_leaves(leaves, by_angle, step)
    return losses
