"""Kernels of the continuous cost: all triplets of a block, and explicit triplets.

Everything is float64. Three habits let the compiler vectorise the loop over all triplets: divisions that may not raise
(``error_model="numpy"``), sums that may be reordered, and no branch: a padded entry is so large that its triplets vanish.

A kernel whose sums may be reordered is called from Python, or copied into its one caller (``inline="always"``), but never called
by another kernel: such a callee would exist twice, compiled into its caller and by itself, with two orders of its sums, and which
of them is called differs between the process that compiles and those that load from the cache.
"""

from __future__ import annotations

import math

import numpy as np

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

# Rows are padded to whole vectors, so that the loop over k has no remainder.
LANES = 16
# Logits are centred, and those of a block may span this much: then e is within e^±250 = 1e±109 of 1, and PAD beats the
# largest e by 1e41 while its square still fits float64.
MAX_SPAN = 500.0
PAD = 1e150
REORDERED = {"reassoc", "contract", "arcp", "nsz"}
# Depth by which the deepest LCA of a triplet should exceed the shallowest, for the spread penalty.
SPREAD_MARGIN = 1.0

# Loss of a triplet ijk, its slopes along the angles of i, j, k and along the radius.
TERM = record_dtype(("value", np.float64), ("by_angle", np.float64, (3,)), ("by_radius", np.float64))


@kernel(inline="always")
def circle_depths(angles: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return the LCA depths of points at one radius, and their slopes.

    depth[i, j] for i < j, 0 elsewhere; slope[i, j] = ∂d/∂θ_i = −∂d/∂θ_j and slope[j, i] = ∂d/∂ρ, both for i < j.
    """
    m = angles.shape[0]
    depth, slope = np.zeros((m, m)), np.zeros((m, m))
    tanh, square = math.tanh(rho), 1.0 / math.cosh(rho) ** 2
    cosines, sines = np.empty(m), np.empty(m)
    for i in range(m):
        cosines[i], sines[i] = math.cos(0.5 * angles[i]), math.sin(0.5 * angles[i])
    for i in range(m):
        for j in range(i + 1, m):
            # the sine from the difference: a difference of products would lose the digits of close angles
            s = math.sin(0.5 * (angles[i] - angles[j]))
            c = cosines[i] * cosines[j] + sines[i] * sines[j]
            if c < 0.0:
                s, c = -s, -c
            rest = square + tanh * tanh * s * s  # 1 − tanh²d, a sum where 1 − x² would cancel
            depth[i, j] = 0.5 * math.log((1.0 + tanh * c) * (1.0 + tanh * c) / rest)
            slope[i, j] = -0.5 * tanh * s / rest
            slope[j, i] = square * c / rest
    return depth, slope


@kernel(inline="always")
def exponentials(depth: Floats, centre: float, tau: float, weights: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return e = exp((d − centre)/τ) and u = e·v, symmetric, with PAD and 0 on the diagonal and in the padding.

    v_ij = w_ij/(s_i s_j) is the mean similarity between the points of two leaves.
    """
    m = depth.shape[0]
    width = (m + LANES - 1) // LANES * LANES
    e, u = np.empty((m, width)), np.empty((m, width))
    for i in range(m):
        for j in range(width):
            e[i, j], u[i, j] = PAD, 0.0
    for i in range(m):
        for j in range(i + 1, m):
            e[i, j] = math.exp((depth[i, j] - centre) / tau)
            u[i, j] = e[i, j] * (weights[i, j] / (sizes[i] * sizes[j]))
            e[j, i], u[j, i] = e[i, j], u[i, j]
    return e, u


@kernel(fastmath=REORDERED, inline="always")
def block_rows(
    e: Floats, u: Floats, sizes: Floats, tau: float, first: int, step: int, grad: Floats, values: Floats
) -> None:
    """Fill in rows first, first + step, … of the block's loss: values[i] and ∂L/∂d_ij for j > i.

    With s the sizes and p_ij^k = e_ij/(e_ij + e_ik + e_jk) the loss is
    Σ_{i<j} s_i s_j v_ij Σ_k s_k (1 − p_ij^k). Its constant part is left out: values[i] = Σ_{j>i} s_i s_j v_ij Σ_k s_k p_ij^k
    is to be subtracted from it. And

        ∂L/∂d_ij = −(s_i s_j e_ij/τ) Σ_k s_k [v_ij (e_ik + e_jk) − (u_ik + u_jk)] / (e_ij + e_ik + e_jk)²

    Each pair takes every k, so a triplet is visited three times, but rows are independent: no sums in memory, no conflicts.
    """
    m, width = e.shape
    padded = np.zeros(width)
    for k in range(m):
        padded[k] = sizes[k]
    for i in range(first, m, step):
        e_i, u_i = e[i], u[i]
        value = 0.0
        for j in range(i + 1, m):
            e_j, u_j = e[j], u[j]
            e_ij = e_i[j]
            v_ij = u_i[j] / e_ij
            loss, slope = 0.0, 0.0
            for k in range(width):
                others = e_i[k] + e_j[k]
                r = 1.0 / (e_ij + others)
                share = padded[k] * r
                loss += share
                slope += share * (r * (v_ij * others - (u_i[k] + u_j[k])))
            size = sizes[i] * sizes[j]
            value += size * v_ij * e_ij * loss
            grad[i, j] = -size * e_ij * slope / tau
        values[i] = value


@kernel
def block_rows_in_logs(
    depth: Floats, means: Floats, sizes: Floats, tau: float, first: int, step: int, grad: Floats, values: Floats
) -> None:
    """Do as `block_rows` for any span of d/τ, by three exponentials relative to the triplet's own maximum."""
    m = depth.shape[0]
    for i in range(first, m, step):
        values[i] = 0.0
        for j in range(i + 1, m):
            share, slope = 0.0, 0.0
            for k in range(m):
                if k in (i, j):
                    continue
                a, b = min(i, k), max(i, k)
                c, d = min(j, k), max(j, k)
                top = max(depth[i, j], depth[a, b], depth[c, d])
                e_ij = math.exp((depth[i, j] - top) / tau)
                e_ik, e_jk = math.exp((depth[a, b] - top) / tau), math.exp((depth[c, d] - top) / tau)
                r = 1.0 / (e_ij + e_ik + e_jk)
                share += sizes[k] * r * e_ij
                excess = (means[i, j] - means[a, b]) * e_ik + (means[i, j] - means[c, d]) * e_jk
                slope += sizes[k] * r * r * e_ij * excess
            size = sizes[i] * sizes[j]
            values[i] += size * means[i, j] * share
            grad[i, j] = -size * slope / tau


@part
def spread_terms(d0: float, d1: float, d2: float, tau: float) -> tuple[float, float, float, float]:
    """Return the hinge of the spread penalty on one triplet, max(0, SPREAD_MARGIN − (max d − min d)), and its three slopes.

    max and min are relaxed to Σ d·softmax(d/τ) and Σ d·softmax(−d/τ).
    """
    top, bottom = max(d0, d1, d2), min(d0, d1, d2)
    a0, a1, a2 = math.exp((d0 - top) / tau), math.exp((d1 - top) / tau), math.exp((d2 - top) / tau)
    b0, b1, b2 = math.exp((bottom - d0) / tau), math.exp((bottom - d1) / tau), math.exp((bottom - d2) / tau)
    a, b = a0 + a1 + a2, b0 + b1 + b2
    high, low = (a0 * d0 + a1 * d1 + a2 * d2) / a, (b0 * d0 + b1 * d1 + b2 * d2) / b
    hinge = SPREAD_MARGIN - (high - low)
    if hinge <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    g0 = b0 / b * (1.0 - (d0 - low) / tau) - a0 / a * (1.0 + (d0 - high) / tau)
    g1 = b1 / b * (1.0 - (d1 - low) / tau) - a1 / a * (1.0 + (d1 - high) / tau)
    g2 = b2 / b * (1.0 - (d2 - low) / tau) - a2 / a * (1.0 + (d2 - high) / tau)
    return hinge, g0, g1, g2


@kernel
def block_spread(depth: Floats, sizes: Floats, tau: float, penalty: float, grad: Floats) -> float:
    """Return penalty·Σ_{i<j<k} s_i s_j s_k·hinge of a block; add ∂/∂d_ij to grad above the diagonal."""
    m = depth.shape[0]
    total = 0.0
    for i in range(m):
        for j in range(i + 1, m):
            for k in range(j + 1, m):
                hinge, g_ij, g_ik, g_jk = spread_terms(depth[i, j], depth[i, k], depth[j, k], tau)
                size = penalty * sizes[i] * sizes[j] * sizes[k]
                total += size * hinge
                grad[i, j] += size * g_ij
                grad[i, k] += size * g_ik
                grad[j, k] += size * g_jk
    return total


@kernel(inline="always")
def circle_chain_rule(slope: Floats, grad: Floats) -> tuple[Floats, float]:
    """Return ∂L/∂θ, (m,), and ∂L/∂ρ from grad = ∂L/∂d above the diagonal and the slopes of `circle_depths`."""
    m = slope.shape[0]
    by_angle, by_radius = np.zeros(m), 0.0
    for i in range(m):
        for j in range(i + 1, m):
            pull = grad[i, j] * slope[i, j]
            by_angle[i] += pull
            by_angle[j] -= pull
            by_radius += grad[i, j] * slope[j, i]
    return by_angle, by_radius


@kernel(fastmath=REORDERED)
def circle_blocks(
    angles: Floats, rho: float, weights: Floats, sizes: Floats, tau: float, grad: Floats
) -> tuple[float, float]:
    """Return loss and ∂/∂ρ of blocks of one size, angles and sizes (b, m), weights (b, m, m); fill grad with ∂/∂angles.

    Depths lie between 0 and ρ: with ρ/τ up to MAX_SPAN.
    """
    n_blocks, m = angles.shape
    total = total_by_radius = 0.0
    for block in range(n_blocks):
        w, s = weights[block], sizes[block]
        depth, slope = circle_depths(angles[block], rho)
        by_depth, rows = np.zeros((m, m)), np.empty(m)
        e, u = exponentials(depth, 0.5 * rho, tau, w, s)
        block_rows(e, u, s, tau, 0, 1, by_depth, rows)
        by_angle, by_radius = circle_chain_rule(slope, by_depth)
        total_by_radius += by_radius
        everyone = 0.0
        for i in range(m):
            everyone += s[i]
            grad[block, i] = by_angle[i]
        for i in range(m):
            total -= rows[i]
            for j in range(i + 1, m):
                total += w[i, j] * (everyone - s[i] - s[j])
    return total, total_by_radius


@part
def half_angle_depth(s: float, c: float, tanh: float, square: float) -> tuple[float, float, float]:
    """Return the depth of two points at one radius, and its slopes along the angle between them and the radius.

    s and c >= 0 are sine and cosine of half the angle; tanh ρ and 1/cosh² ρ stand for the radius.
    """
    rest = square + tanh * tanh * s * s
    return 0.5 * math.log((1.0 + tanh * c) * (1.0 + tanh * c) / rest), -0.5 * tanh * s / rest, square * c / rest


@part
def _circle_pair(angle: float, tanh: float, square: float) -> tuple[float, float, float]:
    """Return `half_angle_depth` of any angle."""
    s, c = math.sin(0.5 * angle), math.cos(0.5 * angle)
    return half_angle_depth(-s, -c, tanh, square) if c < 0.0 else half_angle_depth(s, c, tanh, square)


@part
def triplet_loss(
    depths: tuple[float, float, float], weights: Floats, penalty: float, tau: float
) -> tuple[float, float, float, float]:
    """Return Σ w − ⟨w, softmax(d/τ)⟩ + penalty·hinge of one triplet, and its slopes along the three depths."""
    d0, d1, d2 = depths
    top = max(d0, d1, d2)
    p0, p1, p2 = math.exp((d0 - top) / tau), math.exp((d1 - top) / tau), math.exp((d2 - top) / tau)
    scale = 1.0 / (p0 + p1 + p2)
    p0, p1, p2 = p0 * scale, p1 * scale, p2 * scale
    w0, w1, w2 = weights[0], weights[1], weights[2]
    value = w0 * (p1 + p2) + w1 * (p0 + p2) + w2 * (p0 + p1)
    g0 = -p0 * ((w0 - w1) * p1 + (w0 - w2) * p2) / tau
    g1 = -p1 * ((w1 - w0) * p0 + (w1 - w2) * p2) / tau
    g2 = -p2 * ((w2 - w0) * p0 + (w2 - w1) * p1) / tau
    if penalty > 0.0:
        hinge, h0, h1, h2 = spread_terms(d0, d1, d2, tau)
        value += penalty * hinge
        g0, g1, g2 = g0 + penalty * h0, g1 + penalty * h1, g2 + penalty * h2
    return value, g0, g1, g2


@kernel
def circle_triplets(
    angles: Floats, rho: float, tau: float, triplets: Ints, weights: Floats, penalties: Floats, terms: Records
) -> None:
    """Fill terms (T,) with the loss of each triplet (i, j, k) with weights (w_ij, w_ik, w_jk), and its slopes."""
    tanh, square = math.tanh(rho), 1.0 / math.cosh(rho) ** 2
    for t in range(triplets.shape[0]):
        i, j, k = triplets[t, 0], triplets[t, 1], triplets[t, 2]
        d0, s0, r0 = _circle_pair(angles[i] - angles[j], tanh, square)
        d1, s1, r1 = _circle_pair(angles[i] - angles[k], tanh, square)
        d2, s2, r2 = _circle_pair(angles[j] - angles[k], tanh, square)
        value, g0, g1, g2 = triplet_loss((d0, d1, d2), weights[t], penalties[t], tau)
        by_angle = terms[t].by_angle
        by_angle[0], by_angle[1], by_angle[2] = g0 * s0 + g1 * s1, g2 * s2 - g0 * s0, -g1 * s1 - g2 * s2
        terms[t].value = value
        terms[t].by_radius = g0 * r0 + g1 * r1 + g2 * r2
