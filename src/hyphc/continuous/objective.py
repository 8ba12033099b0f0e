"""The continuous cost of HypHC: value and gradient, for explicit triplets and for all triplets of a block.

    C_HypHC(Z) = Σ_{i<j<k} (w_ij + w_ik + w_jk − ⟨(w_ij, w_ik, w_jk), softmax(d_ij/τ, d_ik/τ, d_jk/τ)⟩) + 2 Σ_{i<j} w_ij

d_ij is the depth of the LCA of z_i and z_j. As τ → 0 the softmax picks the pair that the decoded tree joins first, and the
cost becomes Dasgupta's. The functions here leave out the constant 2 Σ w. Where leaves stand for s_i points, triplet ijk counts
s_i s_j s_k times with the mean similarities w_ij/(s_i s_j).

`triplet_objective` is the readable reference; everything else agrees with it to rounding (tests/continuous/test_objective.py).
All compute in float64 whatever comes in. The spread penalty adds, for each triplet, λ·max(0, 1 − (max d − min d)), with max and
min relaxed to Σ d·softmax(±d/τ): the paper's theory requires that the LCA depths of every triplet differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .._kernels.continuous import objective as kernels
from .._runtime.arrays import Floats, Ints
from ..hyperbolic import geometry

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # `map`, or that of a pool of threads

# float64: below this the squares of the softmax's slopes, which grow as 1/τ, drown in rounding.
MIN_TEMPERATURE = 1e-4
# Rows of one block are shared out among so many tasks, from this many points on: below, starting a task costs more.
ROW_TASKS = 4
MIN_SHARED_BLOCK = 160
# Explicit triplets of one task: about a millisecond.
TASK_TRIPLETS = 8192


def triplet_objective(
    Z: npt.ArrayLike,
    triplets: npt.ArrayLike,
    weights: npt.ArrayLike,
    temperature: float,
    *,
    spread_penalty: npt.ArrayLike = 0.0,
) -> tuple[float, Floats]:
    """Return the loss of explicit triplets for points of the ball, and its Euclidean gradient: plain NumPy, as in the paper.

    Parameters
    ----------
    Z : array (n, dim)
        Points in the open unit ball, any dimension, of any radii.
    triplets : array of int (T, 3)
        Rows (i, j, k) of three different points.
    weights : array (T, 3)
        w_ij, w_ik, w_jk. An edge of a graph with a third point that is joined to neither end is (w_ij, 0, 0).
    temperature : float
        τ.
    spread_penalty : float or array (T,)
        λ, for all triplets or for each.

    Returns
    -------
    value : float
        Σ_t (Σ w − ⟨w, softmax(d/τ)⟩ + λ·hinge).
    grad : array (n, dim)

    Examples
    --------
    Of three equal similarities any tree keeps one together first, and two pay for the third point:

    >>> value, grad = triplet_objective([[0.5, 0.0], [0.5, 0.1], [-0.5, 0.0]], [[0, 1, 2]], [[1.0, 1.0, 1.0]], 0.1)
    >>> round(value, 12), grad.shape
    (2.0, (3, 2))
    """
    points = np.asarray(Z, dtype=np.float64)
    ijk, w = check_triplets(triplets, weights, len(points))
    tau = check_temperature(temperature)
    ends = ((0, 1), (0, 2), (1, 2))
    depths, by_first, by_second = zip(
        *(geometry.lca_depth_and_grad(points[ijk[:, a]], points[ijk[:, b]]) for a, b in ends), strict=True
    )
    values, slopes = triplet_terms(np.stack(depths, axis=-1), w, tau, _for_each(spread_penalty, len(ijk)))
    grad = np.zeros_like(points)
    for pair, (a, b) in enumerate(ends):
        np.add.at(grad, ijk[:, a], slopes[:, pair, None] * by_first[pair])
        np.add.at(grad, ijk[:, b], slopes[:, pair, None] * by_second[pair])
    return float(values.sum()), grad


def triplet_terms(depths: Floats, weights: Floats, tau: float, penalties: Floats) -> tuple[Floats, Floats]:
    """Return the loss of each triplet from its three depths, and ∂/∂depths: shapes (T, 3), (T, 3), (T,) → (T,), (T, 3).

    With p = softmax(d/τ) and w̄ = ⟨w, p⟩ the loss is Σ w − w̄, its slope −p·(w − w̄)/τ; penalties times hinges are added.
    """
    p = _softmax(depths / tau)
    mean = np.sum(weights * p, axis=-1, keepdims=True)
    values = weights.sum(axis=-1) - mean[:, 0]
    slopes = -p * (weights - mean) / tau
    q = _softmax(-depths / tau)
    high, low = np.sum(depths * p, axis=-1, keepdims=True), np.sum(depths * q, axis=-1, keepdims=True)
    hinge = np.maximum(0.0, kernels.SPREAD_MARGIN - (high - low))
    pull = q * (1.0 - (depths - low) / tau) - p * (1.0 + (depths - high) / tau)
    return values + penalties * hinge[:, 0], slopes + penalties[:, None] * np.where(hinge > 0.0, pull, 0.0)


def circle_triplet_objective(
    angles: npt.ArrayLike,
    radius: float,
    triplets: npt.ArrayLike,
    weights: npt.ArrayLike,
    temperature: float,
    *,
    spread_penalty: npt.ArrayLike = 0.0,
    mapping: Map = map,
) -> tuple[float, Floats, float]:
    """Return `triplet_objective` for points of one hyperbolic radius in the disk, compiled: value, ∂/∂angles (n,), ∂/∂radius.

    About 10⁷ triplets a second and core; ``mapping`` may run slices on several threads, with the same result.
    """
    theta = check_angles(angles)
    ijk, w = check_triplets(triplets, weights, len(theta))
    rho, tau = check_radius(radius), check_temperature(temperature)
    penalties = _for_each(spread_penalty, len(ijk))
    terms = np.empty(len(ijk), dtype=kernels.TERM)

    def run(rows: slice) -> None:
        kernels.circle_triplets(theta, rho, tau, ijk[rows], w[rows], penalties[rows], terms[rows])

    list(mapping(run, [slice(start, start + TASK_TRIPLETS) for start in range(0, len(ijk), TASK_TRIPLETS)]))
    grad = np.bincount(ijk.ravel(), weights=terms["by_angle"].ravel(), minlength=len(theta)).astype(
        np.float64, copy=False
    )
    return float(terms["value"].sum()), grad, float(terms["by_radius"].sum())


def block_objective(
    depths: npt.ArrayLike,
    weights: npt.ArrayLike,
    temperature: float,
    *,
    sizes: npt.ArrayLike | None = None,
    spread_penalty: float = 0.0,
    mapping: Map = map,
) -> tuple[float, Floats]:
    """Return the loss of all triplets of m points from the depths of their LCAs, and its gradient with respect to these.

    Each pair costs one exponential; a triplet costs a handful of multiply-adds and one division, about 10⁹ triplets a
    second and core. Exact for any temperature: when d/τ spans more than float64's exponents do, a slower path takes over.

    Parameters
    ----------
    depths, weights : arrays (m, m)
        d_ij and w_ij; only entries above the diagonal are read.
    temperature, spread_penalty : float
    sizes : array (m,), optional
        How many points each leaf stands for.
    mapping : callable
        `map`, or that of a pool of threads to share the rows among; the result is the same.

    Returns
    -------
    value : float
    grad : array (m, m)
        ∂/∂d_ij above the diagonal, 0 elsewhere.
    """
    d, tau = np.ascontiguousarray(depths, dtype=np.float64), check_temperature(temperature)
    m = len(d)
    if d.shape != (m, m):
        raise ValueError(f"depths of shape {d.shape} must be (m, m).")
    w, s = _check_block(m, weights, sizes)
    grad, rows = np.zeros((m, m)), np.zeros(m)
    if m < 3:
        return 0.0, grad
    upper = np.triu(d, 1)
    low, high = float(upper.min()), float(upper.max())
    n_tasks = ROW_TASKS if m >= MIN_SHARED_BLOCK else 1
    if (high - low) / tau <= kernels.MAX_SPAN:
        e, u = kernels.exponentials(d, 0.5 * (low + high), tau, w, s)
        rows_of = partial(kernels.block_rows, e, u, s, tau)
    else:
        rows_of = partial(kernels.block_rows_in_logs, d, w / np.outer(s, s), s, tau)
    list(mapping(lambda first: rows_of(first, n_tasks, grad, rows), range(n_tasks)))
    # Σ_k s_k w_ij over all triplets, less the similarity that stays together
    value = _third_party_total(w, s) - float(rows.sum())
    if spread_penalty > 0.0:
        value += kernels.block_spread(d, s, tau, float(spread_penalty), grad)
    return value, grad


def circle_block_objective(
    angles: npt.ArrayLike,
    radius: float,
    weights: npt.ArrayLike,
    temperature: float,
    *,
    sizes: npt.ArrayLike | None = None,
    spread_penalty: float = 0.0,
    mapping: Map = map,
) -> tuple[float, Floats, float]:
    """Return `block_objective` for points of one hyperbolic radius in the disk: value, ∂/∂angles (m,), ∂/∂radius.

    Examples
    --------
    >>> value, grad, _ = circle_block_objective([0.0, 0.1, 3.0], 2.0, np.ones((3, 3)), 0.5)
    >>> round(value, 12), float(abs(grad).max()) < 1e-12  # on a clique every tree costs the same
    (2.0, True)
    """
    theta, rho, tau = check_angles(angles), check_radius(radius), check_temperature(temperature)
    m = len(theta)
    if 3 <= m < MIN_SHARED_BLOCK and in_one_kernel(rho, tau, spread_penalty):
        w, s = _check_block(m, weights, sizes)
        by_angles = np.empty((1, m))
        value, by_radius = kernels.circle_blocks(theta[None], rho, w[None], s[None], tau, by_angles)
        return float(value), by_angles[0], float(by_radius)
    depth, slope = kernels.circle_depths(theta, rho)
    value, grad = block_objective(depth, weights, tau, sizes=sizes, spread_penalty=spread_penalty, mapping=mapping)
    by_angle, by_radius = kernels.circle_chain_rule(slope, grad)
    return value, by_angle, float(by_radius)


def ball_block_objective(
    Z: npt.ArrayLike,
    weights: npt.ArrayLike,
    temperature: float,
    *,
    sizes: npt.ArrayLike | None = None,
    spread_penalty: float = 0.0,
    mapping: Map = map,
) -> tuple[float, Floats]:
    """Return `block_objective` for any points of the ball, of any radii and dimension: value and ∂/∂Z (m, dim).

    Depths and their gradients come from `geometry`, O(m² dim) of NumPy: slower than the circle, by about ten times.
    """
    points = np.asarray(Z, dtype=np.float64)
    m = len(points)
    i, j = np.triu_indices(m, 1)
    depths = np.zeros((m, m))
    depths[i, j], by_i, by_j = geometry.lca_depth_and_grad(points[i], points[j])
    value, slopes = block_objective(
        depths, weights, temperature, sizes=sizes, spread_penalty=spread_penalty, mapping=mapping
    )
    grad = np.zeros_like(points)
    for axis in range(points.shape[1]):
        grad[:, axis] = np.bincount(i, slopes[i, j] * by_i[:, axis], m) + np.bincount(
            j, slopes[i, j] * by_j[:, axis], m
        )
    return value, grad


def in_one_kernel(radius: float, tau: float, spread_penalty: float) -> bool:
    """Return whether `kernels.circle_blocks` applies: depths up to the radius are within its range, and no penalty."""
    return spread_penalty == 0.0 and radius / tau <= kernels.MAX_SPAN


def check_temperature(temperature: float) -> float:
    """Return the temperature; raise if float64 is too coarse for it."""
    if not MIN_TEMPERATURE <= temperature < np.inf:
        raise ValueError(f"temperature={temperature} must be a finite number of at least {MIN_TEMPERATURE:g}.")
    return float(temperature)


def check_radius(radius: float) -> float:
    """Return the hyperbolic radius of a circle; raise unless it is positive and sech(radius) fits float64."""
    if not 0.0 < radius <= geometry.MAX_RHO:
        raise ValueError(f"radius={radius} must be a hyperbolic radius in (0, {geometry.MAX_RHO:g}].")
    return float(radius)


def check_angles(angles: npt.ArrayLike) -> Floats:
    """Return angles as a contiguous float64 vector."""
    theta = np.ascontiguousarray(angles, dtype=np.float64)
    if theta.ndim != 1 or not np.isfinite(theta).all():
        raise ValueError(f"angles must be finite numbers of shape (n,); got shape {theta.shape}.")
    return theta


def check_triplets(triplets: npt.ArrayLike, weights: npt.ArrayLike, n: int) -> tuple[Ints, Floats]:
    """Return triplets (T, 3) of three different points below n, and their weights (T, 3)."""
    ijk = np.ascontiguousarray(triplets, dtype=np.int64).reshape(-1, 3)
    w = np.ascontiguousarray(weights, dtype=np.float64).reshape(-1, 3)
    if len(ijk) != len(w):
        raise ValueError(f"{len(ijk)} triplets came with weights for {len(w)}; pass one row of three for each.")
    if len(ijk) and (ijk.min() < 0 or ijk.max() >= n):
        raise ValueError(f"triplets must name points 0 to {n - 1}; got {ijk.min()} to {ijk.max()}.")
    repeated = (ijk[:, 0] == ijk[:, 1]) | (ijk[:, 0] == ijk[:, 2]) | (ijk[:, 1] == ijk[:, 2])
    if repeated.any():
        raise ValueError(f"Triplet {ijk[np.argmax(repeated)].tolist()} repeats a point; its three must differ.")
    return ijk, w


def _check_block(m: int, weights: npt.ArrayLike, sizes: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Return weights (m, m) and sizes (m,) of a block, contiguous float64."""
    w = np.ascontiguousarray(weights, dtype=np.float64)
    s = np.ones(m) if sizes is None else np.ascontiguousarray(sizes, dtype=np.float64)
    if w.shape != (m, m) or s.shape != (m,):
        raise ValueError(f"weights {w.shape} and sizes {s.shape} of {m} points must be ({m}, {m}) and ({m},).")
    return w, s


def _for_each(value: npt.ArrayLike, n: int) -> Floats:
    return np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)))


def _softmax(logits: Floats) -> Floats:
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def _third_party_total(weights: Floats, sizes: Floats) -> float:
    """Return Σ_{i<j} w_ij Σ_{k≠i,j} s_k."""
    upper = np.triu(weights, 1)
    others = sizes.sum() - sizes
    return float(others @ upper.sum(axis=1) - upper.sum(axis=0) @ sizes)
