"""The Poincaré ball of curvature −1, in any dimension: a readable NumPy reference.

Points are arrays of shape (..., dim), of Euclidean norm below 1; the leading axes of two arguments broadcast.
Whatever real dtype comes in, everything is computed and returned in float64 (float32 converts exactly).

Accuracy is stated for the coordinates as given, read as exact numbers; e is 2^-53. A point at radius ρ
has 1 − |z|² = sech²(ρ/2), so rounding its coordinates moves it by about e·exp(ρ)/2: 2e-10 at ρ = 15, and near
ρ = 37 neighbouring floats are a unit apart. No formula can undo that; these add nothing of the kind, because
they use only the following numbers, each known to all its digits, and never subtract nearly equal ones.

    α = 1 − |x|²      summed in twofold precision, since rounding |x| would cost a factor 1/α (β belongs to y)
    δ = |x − y|       from differences of coordinates, each rounded once
    perp(y, x)        part of y orthogonal to x, by two projections in twofold precision, of norm |y| sin θ
    cos A, cos B      of the angles at x and y in the triangle (origin, x, y), see `_triangle`
    G = √(δ² + αβ)    so that sinh(D/2) = δ/√(αβ), cosh(D/2) = G/√(αβ) for the distance D of x and y
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._runtime.validation import require_finite

__all__ = [
    "MAX_RHO",
    "depth_at_radius",
    "distance",
    "distance_and_grad",
    "distance_to_origin",
    "exp_origin",
    "geodesic",
    "gromov_product",
    "lca_depth",
    "lca_depth_and_grad",
    "lca_point",
    "log_origin",
    "mobius_add",
]

Array = npt.NDArray[np.float64]

# float64: 1/cosh ρ, the smallest number in `depth_at_radius`, turns subnormal near ρ = 708.
MAX_RHO = 700.0
# float64: Veltkamp's 2^27 + 1 cuts a 53-bit number into two halves whose products are exact.
_SPLITTER = 134217729.0


def distance(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Return the hyperbolic distance D = 2 asinh(δ/√(αβ)).

    Domain: all pairs in the open ball, shapes (..., dim). Returns float64, the broadcast leading shape.
    Accuracy: relative error of a few e for every pair: near, far, equal, at the boundary. O(dim) a pair.

    >>> float(distance([0.0, 0.0], [0.5, 0.0]))  # log 3
    1.0986122886681098
    """
    x, y, alpha, beta = _check_pair(x, y)
    return _flat(2.0 * np.arcsinh(_norm(x - y) / np.sqrt(alpha * beta)))


def distance_to_origin(x: npt.ArrayLike) -> Array:
    """Return the hyperbolic radius ρ = 2 artanh|x|, computed as 2 asinh(|x|/√α).

    Domain: the open ball, (..., dim). Returns float64 (...). Accuracy: relative error of a few e.
    """
    x, alpha = check_ball("x", x)
    return _flat(2.0 * np.arcsinh(_norm(x) / np.sqrt(alpha)))


def distance_and_grad(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Return `distance` and its Euclidean gradients: value (...), grad_x and grad_y (..., dim), float64.

    ∂D/∂x = 2((x − y)/δ + δx/α)/G, of norm 2/α everywhere.
    Domain: the open ball. At x = y the distance has the tip of a cone; both gradients are 0 there, the
    centre of the subdifferential. Accuracy: a few e relative to the norm.
    """
    x, y, alpha, beta = _check_pair(x, y)
    delta, away = _norm(x - y), _unit(x - y)
    root = np.hypot(delta, np.sqrt(alpha * beta))
    value = 2.0 * np.arcsinh(delta / np.sqrt(alpha * beta))
    return _flat(value), 2.0 * (away + delta * x / alpha) / root, 2.0 * (delta * y / beta - away) / root


def geodesic(x: npt.ArrayLike, y: npt.ArrayLike, t: npt.ArrayLike) -> Array:
    """Return the point of the geodesic segment at the fraction t of the way from x to y.

    On the hyperboloid it is (sinh((1 − t)D) X + sinh(tD) Y)/sinh D, with X = (2 − α, 2x)/α.
    Domain: x, y in the open ball (..., dim); 0 <= t <= 1, broadcast with the leading axes. Returns (..., dim)
    float64. Accuracy: each coordinate to a few (1 + D)e in absolute terms.
    """
    x, y, alpha, beta = _check_pair(x, y)
    fraction = np.asarray(t, dtype=np.float64)[..., None]
    if not np.all((fraction >= 0.0) & (fraction <= 1.0)):
        raise ValueError("t must lie between 0 and 1; geodesic returns points of the segment from x to y.")
    length = 2.0 * np.arcsinh(_norm(x - y) / np.sqrt(alpha * beta))
    scale = np.sinh(_nonzero(length))
    a = np.where(length > 0.0, np.sinh((1.0 - fraction) * length) / scale, 1.0 - fraction) * beta
    b = np.where(length > 0.0, np.sinh(fraction * length) / scale, fraction) * alpha
    point = 2.0 * (a * x + b * y) / (alpha * beta + a * (2.0 - alpha) + b * (2.0 - beta))
    return check_ball("result of geodesic", point)[0]


def lca_depth(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Return the depth of the lowest common ancestor: the distance from the origin to the geodesic segment from x to y.

    When neither angle A nor B is obtuse the foot of the perpendicular lies on the segment, and
    sinh d = 2 |x| |perp(y, x)| / (δG). Otherwise the endpoint with the obtuse angle is nearest, and d is its
    radius. (The Lemma of the paper gives the foot on the whole line, so it covers the first case only.)

    Domain: the open ball, x = y and the origin included. Returns float64 (...). Accuracy: relative error of a
    few e, plus e² in absolute terms for a segment that all but meets the origin. O(dim) a pair.

    >>> bool(lca_depth([0.5, 0.0], [0.9, 0.0]) == distance_to_origin([0.5, 0.0]))  # x is an ancestor of y
    True
    """
    return _flat(_depth(_triangle(x, y)))


def lca_point(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Return the lowest common ancestor: the point of the geodesic segment from x to y nearest the origin.

    Inside the segment it is 2(|y| cos B x + |x| cos A y)/(δG cosh d (1 + cosh d)), with positive weights;
    otherwise it is x or y itself, to the bit, and at x = y it is x.
    Domain: the open ball. Returns (..., dim) float64. Accuracy: a few e in absolute terms.
    """
    t = _triangle(x, y)
    cosh = np.hypot(1.0, t.sinh)
    scale = _nonzero(t.delta * t.root) * cosh * (1.0 + cosh)
    foot = 2.0 * (t.y.norm * t.y.cos * t.x.z + t.x.norm * t.x.cos * t.y.z) / scale
    return np.where(t.x.nearest, t.x.z, np.where(t.y.nearest, t.y.z, foot))


def lca_depth_and_grad(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Return `lca_depth` and its Euclidean gradients: value (...), grad_x and grad_y (..., dim), float64.

    A step of x along the normal of the segment moves the foot by the fraction sinh(s)/sinh(D) of it, s the
    distance from the foot to y (the Jacobi field that vanishes at y); a step along the segment, not at all.
    In terms of the above the fraction is α|y| cos B/(δG cosh d), and the normal has the coordinates
    (α|perp(y, x)|/(δG), cos A) along x and perp(y, x). Where an endpoint is nearest, its gradient is that of
    its radius, 2/α in its own direction, and the other's is 0.

    Domain: the open ball. In two places there is no derivative, and an element of the generalised gradient is
    returned: 0 where the segment meets the origin; at x = y, half the gradient of the radius to each point.
    Accuracy: a few e relative to 2/α.
    """
    t = _triangle(x, y)
    scale = _nonzero(t.delta * t.root)
    share = np.where(t.delta > 0.0, 2.0, 1.0)

    def grad(own: _Corner, other: _Corner) -> Array:
        perp, unit = _perp(other.z, own.z), _unit(own.z)
        fraction = 2.0 * other.norm * other.cos / (scale * np.hypot(1.0, t.sinh))
        inside = fraction * (own.alpha * _norm(perp) / scale * unit + own.cos * _unit(perp))
        return np.where(own.nearest, share / own.alpha * unit, np.where(other.nearest, 0.0, inside))

    return _flat(_depth(t)), grad(t.x, t.y), grad(t.y, t.x)


def depth_at_radius(angle: npt.ArrayLike, rho: npt.ArrayLike) -> Array:
    """Return the LCA depth of two points at one radius ρ, an angle θ apart: tanh d = tanh ρ cos(θ/2).

    Computed as sinh d = tanh d/√(1 − tanh²d) with 1 − tanh²d = sech²ρ + tanh²ρ sin²(θ/2), a sum of positive
    terms where the difference would cancel.

    Domain: 0 <= angle <= π, 0 <= rho <= `MAX_RHO` = 700; they broadcast. Returns float64.
    Accuracy: relative error of a few e, as angle -> 0 and as angle -> π too.

    >>> float(depth_at_radius(0.0, 15.0)), bool(0.0 < depth_at_radius(np.pi, 15.0) < 1e-16)
    (15.0, True)
    """
    angle, rho = np.asarray(angle, dtype=np.float64), np.asarray(rho, dtype=np.float64)
    if not np.all((angle >= 0.0) & (angle <= np.pi)):
        raise ValueError("angle must lie between 0 and pi; pass the angle between the two directions.")
    if not np.all((rho >= 0.0) & (rho <= MAX_RHO)):
        raise ValueError(f"rho must lie between 0 and {MAX_RHO:g}; beyond it sech(rho) leaves float64.")
    sech, tanh = 1.0 / np.cosh(rho), np.tanh(rho)
    return np.asarray(np.arcsinh(tanh * np.cos(0.5 * angle) / np.hypot(sech, tanh * np.sin(0.5 * angle))))


def gromov_product(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Return the Gromov product with the origin as base, g = (ρ_x + ρ_y − D)/2.

    By the law of cosines sinh g = 2 |x| |y| (1 + cos θ)/(αβ sinh((ρ_x + ρ_y + D)/2)); for an obtuse angle
    1 + cos θ is sin²θ/(1 − cos θ), so that g keeps its digits as it tends to 0.

    Domain: the open ball. Returns float64 (...). Always g <= `lca_depth` <= g + log 2 (the paper has log 3).
    Accuracy: relative error of a few (1 + ρ_x + ρ_y)e, plus e² in absolute terms.
    """
    t = _triangle(x, y)
    half = 0.5 * (_radius(t.x) + _radius(t.y)) + np.arcsinh(t.delta / np.sqrt(t.x.alpha * t.y.alpha))
    cos = np.sum(_unit(t.x.z) * _unit(t.y.z), axis=-1, keepdims=True)
    sin = _norm(_perp(t.y.z, t.x.z)) / _nonzero(t.y.norm)
    one_plus_cos = np.where(cos >= 0.0, 1.0 + cos, sin * sin / (1.0 + np.abs(cos)))
    ratio = t.x.norm * (t.y.norm / np.sinh(_nonzero(half))) / (t.x.alpha * t.y.alpha)
    return _flat(np.arcsinh(2.0 * one_plus_cos * ratio))


def mobius_add(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Return the Möbius sum: the translation that takes the origin to x, applied to y.

    With s = x + y the usual quotient is (|s|²x + αs)/(|s|² + αβ), whose terms do not cancel.
    Domain: the open ball; an error says when the result rounds to its boundary (radii may add up to more than
    the 37 or so of float64). Returns (..., dim) float64. Accuracy: a few e relative to the result's norm.
    """
    x, y, alpha, beta = _check_pair(x, y)
    total = x + y
    square = np.sum(total * total, axis=-1, keepdims=True)
    point = (square * x + alpha * total) / (square + alpha * beta)
    return check_ball("result of mobius_add", point)[0]


def exp_origin(v: npt.ArrayLike) -> Array:
    """Return the exponential map at the origin, tanh|v| v/|v|. The metric is 4|dv|² there, so the radius is 2|v|.

    Domain: finite v (..., dim); an error says when tanh|v| rounds to 1, from |v| = 18 or so on.
    Returns (..., dim) float64. Accuracy: a few e relative to the result's norm.
    """
    v = np.asarray(v, dtype=np.float64)
    if v.ndim == 0 or v.shape[-1] == 0:
        raise ValueError(f"v has shape {v.shape}; pass tangent vectors of shape (..., dim), dim >= 1.")
    require_finite(v, "v")
    return check_ball("result of exp_origin", np.tanh(_norm(v)) * _unit(v))[0]


def log_origin(x: npt.ArrayLike) -> Array:
    """Return the logarithmic map at the origin, (ρ/2) x/|x|, the inverse of `exp_origin`.

    Domain: the open ball. Returns (..., dim) float64. Accuracy: relative error of a few e.
    """
    x, alpha = check_ball("x", x)
    return np.asarray(np.arcsinh(_norm(x) / np.sqrt(alpha)) * _unit(x))


class _Corner(NamedTuple):
    """A corner z of the triangle (origin, x, y); every number has a trailing axis of length one."""

    z: Array
    alpha: Array  # 1 − |z|²
    norm: Array
    cos: Array  # of the angle between the ways to the origin and to the other corner
    nearest: npt.NDArray[np.bool_]  # no point of the segment is nearer the origin


class _Triangle(NamedTuple):
    x: _Corner
    y: _Corner
    delta: Array
    root: Array  # G
    sinh: Array  # of the distance from the origin to the whole line through x and y


def _triangle(x: npt.ArrayLike, y: npt.ArrayLike) -> _Triangle:
    """Check x and y and measure their triangle with the origin.

    The translation of x to the origin takes the origin to −x, and y to a multiple of α(y − x) − δ²x, a vector
    of norm δG. Hence cos A = (|x|δ + α⟨x, x − y⟩/(|x|δ))/G.
    """
    x, y, alpha, beta = _check_pair(x, y)
    chord, lost = _two_sum(x, -y)
    delta = _norm(chord)
    root = np.hypot(delta, np.sqrt(alpha * beta))
    unit_chord, exponent = _scaled(chord)
    unit_lost = np.ldexp(lost, -exponent)

    def corner(z: Array, weight: Array, sign: float) -> _Corner:
        unit, norm = _scaled(z)[0], _norm(z)
        inner = _dot(unit, unit_chord) + np.sum(unit * unit_lost, axis=-1, keepdims=True)
        slope = sign * inner / _nonzero(_norm(unit) * _norm(unit_chord))
        cos = (norm * delta + weight * slope) / root
        return _Corner(z, weight, norm, cos, cos <= 0.0)  # 0 at the origin, and for both corners at x = y

    sinh = 2.0 * _norm(x) * (_norm(_perp(y, x)) / _nonzero(delta)) / root
    return _Triangle(corner(x, alpha, 1.0), corner(y, beta, -1.0), delta, root, sinh)


def _depth(t: _Triangle) -> Array:
    return np.where(t.x.nearest, _radius(t.x), np.where(t.y.nearest, _radius(t.y), np.arcsinh(t.sinh)))


def _radius(corner: _Corner) -> Array:
    return np.asarray(2.0 * np.arcsinh(corner.norm / np.sqrt(corner.alpha)))


def check_ball(name: str, points: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the points as float64 (..., dim) and their 1 − |z|² (..., 1), all known to lie in the open ball."""
    z = np.asarray(points, dtype=np.float64)
    if z.ndim == 0 or z.shape[-1] == 0:
        raise ValueError(f"{name} has shape {z.shape}; pass points of shape (..., dim), dim >= 1.")
    # Clipping brings no point into the ball, NaN goes to its boundary, and the sum cannot overflow.
    bounded = np.clip(np.nan_to_num(z, nan=1.0), -1.0, 1.0)
    alpha = _dot(bounded, -bounded, start=1.0)
    if not np.all(alpha > 0.0):
        first = np.argwhere(alpha[..., 0] <= 0.0)[0].tolist()
        place = f"{name}{first}" if first else name
        raise ValueError(f"{place} = {z[tuple(first)]} is not a finite point of norm below 1; rescale it.")
    return z, alpha


def _check_pair(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Return x and y, broadcast to (..., dim), with their 1 − |z|²."""
    (x, alpha), (y, beta) = check_ball("x", x), check_ball("y", y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"x has {x.shape[-1]} coordinates and y {y.shape[-1]}; they must have the same.")
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.broadcast_to(x, shape), np.broadcast_to(y, shape), alpha, beta


def _flat(value: Array) -> Array:
    return np.asarray(value[..., 0])


def _norm(v: Array) -> Array:
    """Return the Euclidean norm along the last axis, kept; hypot neither overflows nor underflows."""
    return np.asarray(np.hypot.reduce(v, axis=-1, keepdims=True))


def _nonzero(value: Array) -> Array:
    """Return the denominators, with 1 for 0 where the numerator is 0 as well or the quotient is not used."""
    return np.where(value == 0.0, 1.0, value)


def _scaled(v: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return the vectors times the powers of two that bring their largest coordinates into [1/2, 1); the exponents."""
    exponent = np.frexp(np.max(np.abs(v), axis=-1, keepdims=True))[1]
    return np.ldexp(v, -exponent), exponent


def _unit(v: Array) -> Array:
    """Return v/|v|, and 0 at 0."""
    scaled = _scaled(v)[0]
    return np.asarray(scaled / _nonzero(_norm(scaled)))


def _perp(y: Array, x: Array) -> Array:
    """Return the part of y orthogonal to x; the second pass removes what rounding the first coefficient left along x."""
    (rest, exponent), (unit, _) = _scaled(y), _scaled(x)
    square = _nonzero(_dot(unit, unit))
    for _ in range(2):
        high, low = _two_product(_dot(unit, rest) / square, unit)
        total, lost = _two_sum(rest, -high)
        rest = total + (lost - low)
    return np.asarray(np.ldexp(rest, exponent))


def _dot(a: Array, b: Array, start: float = 0.0) -> Array:
    """Return start + ⟨a, b⟩ along the last axis, kept: summed in twofold precision (Ogita, Rump, Oishi)."""
    total, error = np.full(a.shape[:-1], start), np.zeros(a.shape[:-1])
    for k in range(a.shape[-1]):
        product, lost = _two_product(a[..., k], b[..., k])
        total, carried = _two_sum(total, product)
        error = error + (lost + carried)
    return np.asarray(total + error)[..., None]


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded product and its error (Dekker), exactly unless it underflows."""
    product = a * b
    a_high, b_high = (_SPLITTER * v - (_SPLITTER * v - v) for v in (a, b))
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
