"""Lowest common ancestors in the Poincaré ball, differentiable: `hyphc.geometry` in PyTorch.

Points have shape (..., dim), norm below 1, and float32 or float64 (half precision is computed in float32); leading axes
broadcast. Distances, exponential maps and the like are in geoopt.

Points on or beyond the boundary are never clamped. On the CPU they raise a ValueError that names the first of them and its
norm. On other devices, under ``torch.compile`` and in ``torch.vmap`` a look at the values would stall the device or break the
graph: there values and gradients that such a point enters are NaN.

As in the NumPy reference, a point enters through α = 1 − |x|² summed in twofold precision: rounded, it would lose a
factor 1/α, all digits at ρ = 16 in float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Veltkamp's 2^s + 1 cuts a number of the dtype into two halves whose products are exact.
_SPLITTER = {torch.float32: 4097.0, torch.float64: 134217729.0}


def lca_depth(x: Tensor, y: Tensor) -> Tensor:
    """Return the depth of the lowest common ancestor: the distance from the origin to the geodesic segment from x to y.

    With δ = |x − y|, G = √(δ² + αβ) and perp(y, x) the part of y orthogonal to x,

        sinh d = 2 |x| |perp(y, x)| / (δG)

    where the foot of the perpendicular lies on the segment; elsewhere d is the smaller radius.

    Parameters
    ----------
    x, y : tensor (..., dim)
        Points of the open unit ball, any dim ≥ 1.

    Returns
    -------
    tensor (...)

    Notes
    -----
    The gradient is the closed form of `hyphc.geometry.lca_depth_and_grad`: finite everywhere, of norm at most 2/α.
    Where there is no derivative it is an element of the generalised gradient: 0 where the segment meets the origin,
    and at x = y half the gradient of the radius to each. Differentiable once. O(dim) a pair.

    Examples
    --------
    >>> lca_depth(torch.tensor([0.5, 0.0]), torch.tensor([0.9, 0.0]))  # x is an ancestor of y: its radius, log 3
    tensor(1.0986)
    """
    x, y = _check_pair(x, y)
    require_in_ball("x", x)
    require_in_ball("y", y)
    return lca_depth_of_checked(x, y)


def lca_depth_of_checked(x: Tensor, y: Tensor) -> Tensor:
    """Return `lca_depth` of points that have been checked; NaN where one is not in the ball."""
    depth: Tensor = _LCADepth.apply(*_check_pair(x, y))  # type: ignore[no-untyped-call]
    return depth


def require_in_ball(name: str, z: Tensor) -> None:
    """Raise for the first point of norm 1 or more, or NaN, where values can be looked at at no cost: on the CPU, not compiled."""
    if z.device.type != "cpu" or torch.compiler.is_compiling():
        return
    try:
        outside = (~(_exact_gap(in_working_dtype(z.detach()))[..., 0] > 0)).nonzero().tolist()
    except RuntimeError:  # torch.vmap has no values to look at
        return
    if outside:
        place = f"{name}{outside[0]}" if outside[0] else name
        norm = float(torch.linalg.vector_norm(z.detach()[tuple(outside[0])].double()))
        raise ValueError(
            f"{place} has norm {norm:.9g} and lies outside the open unit ball; rescale it, or map vectors into it with ToBall."
        )


def lca_point(x: Tensor, y: Tensor) -> Tensor:
    """Return the lowest common ancestor: the point of the geodesic segment from x to y nearest the origin, shape (..., dim).

    Inside the segment it is 2(κ_y x + κ_x y)/(δ²G² cosh d (1 + cosh d)) with κ_x = |x|²δ² + α⟨x, x − y⟩; where κ_x ≤ 0
    it is x itself, where κ_y ≤ 0 it is y.

    Examples
    --------
    >>> x, y = torch.tensor([0.5, 0.5]), torch.tensor([0.5, -0.5])
    >>> [round(value, 4) for value in lca_point(x, y).tolist()]
    [0.382, 0.0]
    """
    x, y = _check_pair(x, y)
    require_in_ball("x", x)
    require_in_ball("y", y)
    x, y = torch.broadcast_tensors(x, y)  # type: ignore[no-untyped-call]
    alpha, beta = gap_to_boundary(x), gap_to_boundary(y)
    chord = x - y
    square = (chord * chord).sum(-1, keepdim=True)
    by_x = (x * x).sum(-1, keepdim=True) * square + alpha * (x * chord).sum(-1, keepdim=True)
    by_y = (y * y).sum(-1, keepdim=True) * square - beta * (y * chord).sum(-1, keepdim=True)
    inside = (by_x > 0) & (by_y > 0)
    scale = torch.where(inside, square * (square + alpha * beta), 1.0)
    sinh_square = 4.0 * (x * x).sum(-1, keepdim=True) * _perp(-chord, x).square().sum(-1, keepdim=True) / scale
    cosh = torch.sqrt(1.0 + torch.where(inside, sinh_square, 0.0))
    foot = 2.0 * (by_y * x + by_x * y) / (scale * cosh * (1.0 + cosh))
    nearest = torch.where(inside, foot, torch.where(by_x <= 0, x, y))
    return nearest + 0.0 * (alpha + beta)  # NaN where a point is not in the ball


def gap_to_boundary(z: Tensor) -> Tensor:
    """Return α = 1 − |z|², shape (..., 1), to all digits, with its gradient −2z; NaN for points that are not in the ball."""
    rounded = 1.0 - (z * z).sum(-1, keepdim=True)
    return rounded + (_gap_in_ball(z.detach()) - rounded.detach())


def _gap_in_ball(z: Tensor) -> Tensor:
    gap = _exact_gap(z)
    return torch.where(gap > 0, gap, torch.nan)


class _LCADepth(torch.autograd.Function):
    """Depth with its gradients in closed form: differentiating the formula would cancel where x and y are close."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        depth, by_x, by_y = _depth_and_grad(x, y)
        ctx.save_for_backward(by_x, by_y)
        ctx.shapes = x.shape, y.shape
        return depth

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        by_x, by_y = (
            (grad * by).movedim(0, -1).sum_to_size(shape)
            for by, shape in zip(ctx.saved_tensors, ctx.shapes, strict=True)
        )
        return by_x, by_y


def _depth_and_grad(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the depth (...) and its gradients (dim, ...); the formulas are derived in `hyphc.geometry.lca_depth_and_grad`.

    Coordinates come first, since sums over a short last axis are slow; what belongs to one point is computed before
    points are paired.
    """
    alpha, beta = _gap_in_ball(x)[..., 0], _gap_in_ball(y)[..., 0]
    x, y = _pad(x, y).movedim(-1, 0).contiguous(), _pad(y, x).movedim(-1, 0).contiguous()
    norm_x, norm_y = _size(x), _size(y)
    unit_x, unit_y = x / _nonzero(norm_x), y / _nonzero(norm_y)
    chord = x - y
    square = (chord * chord).sum(0)
    delta, root = torch.sqrt(square), torch.sqrt(square + alpha * beta)
    scale = _nonzero(delta * root)
    along_x, along_y = (unit_x * chord).sum(0), (unit_y * chord).sum(0)
    cos_x, cos_y = (norm_x * square + alpha * along_x) / scale, (norm_y * square - beta * along_y) / scale
    perp_x, perp_y = along_x * unit_x - chord, chord - along_y * unit_y
    size_x, size_y = _size(perp_x), _size(perp_y)
    sinh = 2.0 * norm_x * size_x / scale
    slope = 2.0 / (scale * torch.sqrt(1.0 + sinh * sinh))
    inside = (cos_x > 0) & (cos_y > 0)  # at x = y, and at the origin, the cosines are 0
    x_nearest = cos_x <= 0
    radius_x, radius_y = 2.0 * torch.asinh(norm_x / alpha.sqrt()), 2.0 * torch.asinh(norm_y / beta.sqrt())
    depth = torch.where(inside, torch.asinh(sinh), torch.where(x_nearest, radius_x, radius_y))
    share = torch.where(delta > 0, 2.0, 1.0).to(depth.dtype)
    pull_x, pull_y = norm_y * cos_y * slope, norm_x * cos_x * slope
    # along the point's own direction, and along the part of the chord orthogonal to it
    own_x = torch.where(inside, pull_x * alpha * size_x / scale, torch.where(x_nearest, share / alpha, 0.0))
    own_y = torch.where(inside, pull_y * beta * size_y / scale, torch.where(cos_y <= 0, share / beta, 0.0))
    side_x = torch.where(inside, pull_x * cos_x / _nonzero(size_x), 0.0)
    side_y = torch.where(inside, pull_y * cos_y / _nonzero(size_y), 0.0)
    poison = 0.0 * (alpha + beta)  # NaN where a point is not in the ball
    return depth + poison, own_x * unit_x + side_x * perp_x + poison, own_y * unit_y + side_y * perp_y + poison


def _size(v: Tensor) -> Tensor:
    """Return the norm along the first axis; vector_norm is a hundred times slower there."""
    return torch.sqrt((v * v).sum(0))


def _pad(x: Tensor, y: Tensor) -> Tensor:
    """Return x with leading axes of length one, as many as y has more."""
    return x.reshape((1,) * max(0, y.ndim - x.ndim) + x.shape)


def _check_pair(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    if x.shape[-1:] != y.shape[-1:] or x.ndim == 0:
        raise ValueError(f"x {tuple(x.shape)} and y {tuple(y.shape)} must be points (..., dim) of one dimension.")
    dtype = torch.promote_types(x.dtype, y.dtype)
    return in_working_dtype(x.to(dtype)), in_working_dtype(y.to(dtype))


def in_working_dtype(z: Tensor) -> Tensor:
    """Return z itself, or half precision as float32."""
    if not z.is_floating_point():
        raise TypeError(f"Points must be floating-point tensors; got {z.dtype}.")
    return z if z.dtype in _SPLITTER else z.float()


def _exact_gap(z: Tensor) -> Tensor:
    """Return 1 − |z|² in twofold precision (Ogita, Rump, Oishi), shape (..., 1)."""
    total, error = torch.ones_like(z[..., 0]), torch.zeros_like(z[..., 0])
    splitter = _SPLITTER[z.dtype]
    for k in range(z.shape[-1]):
        a = z[..., k]
        product = a * a
        high = splitter * a - (splitter * a - a)
        low = a - high
        lost = ((high * high - product) + 2.0 * high * low) + low * low
        rest = total - product
        part = rest - total
        error = error + ((total - (rest - part)) - (product + part)) - lost
        total = rest
    return (total + error)[..., None]


def _perp(chord: Tensor, x: Tensor) -> Tensor:
    """Return the part of the chord orthogonal to x; the second pass removes what rounding the first coefficient left along x."""
    unit = x / _nonzero(_norm(x))
    for _ in range(2):
        chord = chord - (chord * unit).sum(-1, keepdim=True) * unit
    return chord


def _norm(v: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    return norm


def _nonzero(value: Tensor) -> Tensor:
    """Return the denominators, with 1 for 0 where the numerator is 0 as well or the quotient is not used."""
    return torch.where(value == 0, 1.0, value)
