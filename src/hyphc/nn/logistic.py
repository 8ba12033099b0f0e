"""Hyperbolic logistic regression: class scores from signed distances to hyperplanes of the Poincaré ball."""

from __future__ import annotations

import geoopt
import torch
from torch import Tensor, nn

from .geometry import gap_to_boundary, in_working_dtype, require_in_ball


class HyperbolicLogisticRegression(nn.Module):
    """Multinomial logistic regression on the Poincaré ball (Ganea, Bécigneul, Hofmann 2018).

    Class k has a hyperplane through p_k with normal a_k (a tangent vector at the origin, transported to p_k), and
    the score

        s_k(x) = 2|a_k| asinh( 2⟨−p_k ⊕ x, a_k⟩ / ((1 − |−p_k ⊕ x|²)|a_k|) )

    The Möbius sum is never formed: with α = 1 − |x|² and π = 1 − |p|² the fraction is

        2 [π⟨x − p, a⟩ − |x − p|²⟨p, a⟩] / (απ|a|)

    in which nothing cancels as x and p tend to the boundary.

    Parameters
    ----------
    dim, n_classes : int
    dtype, device
        Of the parameters.
    generator : torch.Generator, optional
        Source of the random start.

    Notes
    -----
    ``points`` (n_classes, dim) live on geoopt's ``PoincareBall``: use a Riemannian optimiser. O(n_classes·dim) a point.

    Examples
    --------
    >>> head = HyperbolicLogisticRegression(2, 3)
    >>> head(torch.zeros(5, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(
        self,
        dim: int,
        n_classes: int,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if dim < 1 or n_classes < 1:
            raise ValueError(f"dim={dim} and n_classes={n_classes} must be at least 1.")
        source = generator.device if generator is not None else device
        normals = torch.randn(n_classes, dim, generator=generator, dtype=dtype, device=source).to(device)
        self.manifold = geoopt.PoincareBall().to(dtype=dtype, device=device)
        # hyperplanes start through the origin, halving the ball in random directions
        self.points = geoopt.ManifoldParameter(torch.zeros_like(normals), manifold=self.manifold)
        self.normals = nn.Parameter(normals / dim**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores (..., n_classes) of points (..., dim): the logits of a softmax."""
        return hyperbolic_scores(x, self.points, self.normals)


def hyperbolic_scores(x: Tensor, points: Tensor, normals: Tensor) -> Tensor:
    """Return the scores (..., K) of x (..., dim) against hyperplanes through points (K, dim) with normals (K, dim), as above."""
    if x.shape[-1:] != points.shape[-1:]:
        raise ValueError(f"x {tuple(x.shape)} must have the {points.shape[-1]} coordinates of the hyperplanes.")
    x = in_working_dtype(x)
    require_in_ball("x", x)
    require_in_ball("points", points)
    points, normals = points.to(x.dtype), normals.to(x.dtype)
    alpha, pi = gap_to_boundary(x), gap_to_boundary(points)[:, 0]
    # a class without a normal has no hyperplane: its score is 0, its gradient finite
    size = torch.linalg.vector_norm(normals, dim=1).clamp_min(torch.finfo(x.dtype).tiny ** 0.5)
    chord = x[..., None, :] - points  # (..., K, dim)
    numerator = pi * (chord * normals).sum(-1) - chord.square().sum(-1) * (points * normals).sum(-1)
    scores: Tensor = 2.0 * size * torch.asinh(2.0 * numerator / (alpha * pi * size))
    return scores
