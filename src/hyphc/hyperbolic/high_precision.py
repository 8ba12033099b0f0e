"""The Poincaré disk in the precision of mpmath: points are complex numbers, the origin is the base point."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

try:
    import mpmath as mp
except ImportError:
    raise ImportError(
        "hyphc.theory computes in high precision with mpmath, which is not installed; pip install 'hyphc[dev]'."
    ) from None

__all__ = ["mp"]  # imported here, with the error above, and used by ``theory``

Real = Any  # mpmath.mpf, or any number that mpmath takes
Point = Any  # mpmath.mpc
Matrix = Sequence[Sequence[Real]]


def distance(x: Point, y: Point) -> Real:
    """Return the hyperbolic distance, 2·asinh(|x − y| / √((1 − |x|²)(1 − |y|²)))."""
    x, y = mp.mpmathify(x), mp.mpmathify(y)
    return 2 * mp.asinh(abs(x - y) / mp.sqrt((1 - abs(x) ** 2) * (1 - abs(y) ** 2)))


def gromov_product(x: Point, y: Point, base: Point = 0) -> Real:
    """Return ⟨x, y⟩ at the base point, (d(x, base) + d(base, y) − d(x, y)) / 2."""
    return (distance(x, base) + distance(base, y) - distance(x, y)) / 2


def lca_depth(x: Point, y: Point) -> Real:
    """Return the distance from the origin to the geodesic segment from x to y, in the Klein model, where segments are straight.

    With k = 2z / (1 + |z|²) the foot of the perpendicular is inside when neither angle at k_x, k_y is obtuse, and then lies at
    tanh d = |k_x × k_y| / |k_x − k_y|; otherwise the nearer end is the LCA.
    """
    x, y = mp.mpmathify(x), mp.mpmathify(y)
    k, m = 2 * x / (1 + abs(x) ** 2), 2 * y / (1 + abs(y) ** 2)
    if _dot(k, k - m) > 0 and _dot(m, m - k) > 0:
        return mp.atanh(abs(mp.im(mp.conj(k) * m)) / abs(k - m))
    return min(distance(0, x), distance(0, y))


def lca_depth_of_line(x: Point, y: Point) -> Real:
    """Return Lemma 4.1 as printed, by α and R: the distance from the origin to the whole geodesic *line* through x and y.

    Equal to `lca_depth` when 0 ≤ α ≤ θ, smaller otherwise. Domain: x and y not on one diameter.
    """
    r, s = abs(mp.mpmathify(x)), abs(mp.mpmathify(y))
    cos, sin = _dot(x, y) / (r * s), abs(mp.im(mp.conj(x) * y)) / (r * s)
    alpha = mp.atan((r * (s**2 + 1) / (s * (r**2 + 1)) - cos) / sin)
    R = mp.sqrt(((r**2 + 1) / (2 * r * mp.cos(alpha))) ** 2 - 1)
    return 2 * mp.atanh(mp.sqrt(R**2 + 1) - R)


def _dot(x: Point, y: Point) -> Real:
    return mp.re(mp.conj(mp.mpmathify(x)) * y)


def delta() -> Real:
    """Return the paper's δ = log 3, for the four-point condition and Lemma A.1. The least sufficient value is log 2."""
    return mp.log(3)


def four_point_delta(distances: Matrix) -> Real:
    """Return the least δ ≥ 0 with ⟨x, y⟩_z ≥ min(⟨x, w⟩_z, ⟨w, y⟩_z) − δ for all points of a finite metric space; O(n⁴)."""

    def product(x: int, y: int, z: int) -> Real:
        return mp.mpf(distances[x][z] + distances[z][y] - distances[x][y]) / 2

    orders = permutations(range(len(distances)), 4)
    violations = (min(product(x, w, z), product(w, y, z)) - product(x, y, z) for w, x, y, z in orders)
    return max(violations, default=mp.mpf(0))


def point_distances(points: Sequence[Point]) -> list[list[Real]]:
    """Return the distances of the origin (row 0) and the points."""
    everything = [mp.mpf(0), *points]
    return [[distance(x, y) for y in everything] for x in everything]


def point_depths(points: Sequence[Point]) -> list[list[Real]]:
    """Return the LCA depths of all pairs of points; the diagonal is the points' own depth."""
    return [[lca_depth(x, y) for y in points] for x in points]
