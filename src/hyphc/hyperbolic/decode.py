"""Decoding of embeddings: single linkage on the depth of lowest common ancestors, in O(n log n) on a circle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._kernels.hyperbolic import decoding as kernels
from .._kernels.tree.passes import lifted_heights
from .._kernels.tree.spanning_tree import spanning_tree_merges
from .._runtime.arrays import Floats, Ints
from ..tree import Tree
from . import geometry

METHODS = ("auto", "exact", "circle", "greedy")

# Radii that differ by at most this many rounding units of the coordinates' dtype (2.2e-16 of the radius in
# float64, 1.2e-7 in float32) count as one: normalising, scaling and measuring a point round about so often.
RADIUS_ULPS = 8.0

_TURN = 2.0 * np.pi


def decode(Z: npt.ArrayLike, method: str = "auto") -> Tree:
    """Return the tree of points in the Poincaré ball: the deeper the LCA of two points, the earlier they merge.

    Parameters
    ----------
    Z : array of shape (n, dim)
        Points strictly inside the unit ball, n ≥ 1. Points may coincide.
    method : {"auto", "exact", "circle", "greedy"}
        "exact"
            Algorithm 1 of the paper for any points: go through all pairs from the deepest LCA on, join
            what is not yet joined. That is single linkage on LCA depth, found through a maximum spanning tree in
            O(n² dim) time and O(n dim) memory. Equally deep pairs (i, j), i < j, go in lexicographic order.
        "circle"
            The same tree for points of one radius in the disk (dim = 2), in O(n log n): the Cartesian tree of
            the angular gaps between neighbours, the widest gap left out.
        "greedy"
            The top-down decoding of the paper for any points of the disk but the origin: push them out to one
            radius, cut the circle at its widest gap, and go on splitting every arc at its widest gap. It is
            computed as the Cartesian tree, which it is, in O(n log n) whatever the shape of the tree.
        "auto"
            "circle" for points of one radius in the disk (up to `RADIUS_ULPS`), otherwise "exact".

    Returns
    -------
    Tree
        With n leaves; a merge has the height ρ_max − depth ≥ 0, ρ_max the largest distance to the origin and
        depth that of the LCA (for "greedy": of the points pushed out to ρ_max).

    Notes
    -----
    Equal depths can be merged in several orders. All give the same heights; which tree is returned is fixed
    by the rule above and, on the circle, by these: leaves at one angle go by number; of the widest gaps the
    last one counter-clockwise from angle −π is left out; counter-clockwise from there, the first of equal
    gaps merges first. Angles are resolved to about 4e-16. Proofs are in docs/decoding.md.

    Examples
    --------
    >>> decode([[0.9, 0.0], [0.9, 0.1], [-0.5, 0.0]]).children
    array([[0, 1],
           [3, 2]])
    """
    points, alpha = _check_points(Z)
    is_exact = _choose_method(points, np.asarray(Z).dtype, method) == "exact"
    return (_decode_exact if is_exact else _decode_by_angle)(points, alpha)


def decode_angles(angles: npt.ArrayLike) -> Tree:
    """Return the tree of points of one radius in the disk, given by their angles; the height of a merge is its gap.

    Parameters
    ----------
    angles : array of shape (n,)
        Angles in radians, finite, n ≥ 1. They are used as they are if they span no more than a turn, and
        otherwise reduced to [0, 2π) first, which moves them by about 1e-15 for every turn removed.

    Returns
    -------
    Tree
        That of ``decode(Z, "circle")``, whatever the radius, up to the rounding of coordinates. Equal gaps
        are treated as there, counter-clockwise from the smallest angle.

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> decode_angles([0.0, 0.1, 2.0, 2.5]).children
    array([[0, 1],
           [2, 3],
           [4, 5]])
    """
    turns = np.asarray(angles, dtype=np.float64)
    if turns.ndim != 1 or turns.size == 0:
        raise ValueError(f"angles must have shape (n,) with n >= 1; got {turns.shape}.")
    if not np.all(np.isfinite(turns)):
        first = int(np.argmin(np.isfinite(turns)))
        raise ValueError(f"angles[{first}] = {turns[first]} is not finite; pass angles in radians.")
    return _tree(*kernels.merges_of_gaps(*circle_order(turns)))


def _check_points(Z: npt.ArrayLike) -> tuple[Floats, Floats]:
    shape = np.shape(Z)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"Z must have shape (n, dim) with n >= 1 and dim >= 1; got {shape}.")
    points, alpha = geometry.check_ball("Z", Z)
    # Read-only arrays are another type to numba: copying them is cheaper than compiling once more.
    return np.require(points, np.float64, ["C", "W"]), np.ascontiguousarray(alpha[:, 0])


def _choose_method(points: Floats, dtype: np.dtype[Any], method: str) -> str:
    """Return the method that "auto" selects for these points, or the given one if it is defined for them."""
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known; choose one of {', '.join(map(repr, METHODS))}.")
    dim = points.shape[1]
    if method == "auto":
        return "circle" if dim == 2 and _spread_in_ulps(points, dtype) <= RADIUS_ULPS else "exact"
    if method != "exact" and dim != 2:
        raise ValueError(f"method={method!r} needs points of the disk; Z has {dim} columns: use method='exact'.")
    if method == "circle" and (spread := _spread_in_ulps(points, dtype)) > RADIUS_ULPS:
        raise ValueError(
            f"method='circle' needs points of one radius, and |z| varies by {spread:.3g} rounding units; "
            "use method='exact', or 'greedy' to go by angles alone."
        )
    if method == "greedy" and not (directed := points.any(axis=1)).all():
        raise ValueError(f"Z[{np.argmin(directed)}] is the origin and has no angle; use method='exact'.")
    return method


def _spread_in_ulps(points: Floats, dtype: np.dtype[Any]) -> float:
    """Return the range of the radii, in rounding units of the largest one in the dtype of the input."""
    radii = np.hypot(points[:, 0], points[:, 1])
    widest = float(radii.max())
    unit = float(np.finfo(np.float32 if dtype == np.float32 else np.float64).eps) * widest
    return (widest - float(radii.min())) / unit if widest > 0.0 else 0.0


def _decode_exact(points: Floats, alpha: Floats) -> Tree:
    heads, tails, weights = kernels.deepest_spanning_tree(points, alpha)
    order = np.lexsort((tails, heads, -weights))
    rho = geometry.distance_to_origin(points[np.argmin(alpha)])
    return _tree(spanning_tree_merges(heads[order], tails[order]), rho - np.arcsinh(np.sqrt(weights[order])))


def _decode_by_angle(points: Floats, alpha: Floats) -> Tree:
    # Adding 0 turns −0 into 0, so that arctan2 gives a direction one angle, and the origin the angle 0.
    merges, gaps = kernels.merges_of_gaps(*circle_order(np.arctan2(points[:, 1] + 0.0, points[:, 0] + 0.0)))
    rho = geometry.distance_to_origin(points[np.argmin(alpha)])
    # The widest gap is left out, so no other exceeds a half-turn except by rounding.
    return _tree(merges, rho - geometry.depth_at_radius(np.minimum(gaps, np.pi), rho))


def circle_order(angles: Floats) -> tuple[Ints, Floats]:
    """Return the leaves counter-clockwise from the widest gap, (n,), and the n − 1 gaps between neighbours; O(n log n).

    Angles that span more than a turn are reduced to [0, 2π) first.
    """
    if np.ptp(angles) > _TURN:
        angles = np.remainder(angles, _TURN)
    order = np.argsort(angles)
    gaps = np.append(np.diff(angles[order]), 0.0)
    if not gaps[:-1].all():  # the default sort is faster, but leaves equal angles in no particular order
        order = np.argsort(angles, kind="stable")
    gaps[-1] = _TURN - (angles[order[-1]] - angles[order[0]])
    start = len(gaps) - int(np.argmax(gaps[::-1]))  # just after the last of the widest gaps
    return np.roll(order, -start), np.roll(gaps, -start)[:-1]


def _tree(merges: Ints, heights: Floats) -> Tree:
    """Return the tree, with heights raised that rounding put below 0 or below a child's by an ulp of ρ."""
    return Tree(merges, lifted_heights(merges, np.maximum(heights, 0.0)))
