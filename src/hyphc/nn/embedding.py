"""Trainable points of the Poincaré ball: free leaves, or the output of a network."""

from __future__ import annotations

from typing import Any, Literal

import geoopt
import torch
from torch import Tensor, nn

from .._runtime.validation import require_choice
from ..hyperbolic.decode import decode
from ..tree import Tree

Mode = Literal["normalised", "learned", "free"]
MODES = ("normalised", "learned", "free")

# Largest hyperbolic radius by dtype: 1 − |z| is about 1500 spacings of the dtype, so that rounding a point keeps it
# in the ball and moves its radius by 1e-3 at most. Half precision stays in float32's range, since it is computed in
# float32.
MAX_RADIUS = {torch.float64: 30.0, torch.float32: 10.0}
# |z| of a learned radius: where it starts, depths are nearly linear and leaves can pass each other. It does not fall
# below half of that.
LEARNED_START = 0.01
# Free leaves of `LeafEmbedding` start within this Euclidean distance of the origin, as in the paper.
INIT_SPREAD = 1e-3


def _require_radius(radius: float) -> None:
    if not 0.0 < float(radius) <= MAX_RADIUS[torch.float64]:
        raise ValueError(f"radius={radius} must lie in (0, {MAX_RADIUS[torch.float64]:g}].")


class ToBall(nn.Module):
    """Map vectors to the open unit ball: the last layer of an encoder.

    Parameters
    ----------
    mode : {"normalised", "learned", "free"}
        "normalised"
            tanh(ρ/2)·v/|v|: all points at the hyperbolic radius ρ = ``radius``, which may be assigned while training.
        "learned"
            The same with the norm |z| = tanh(ρ/2) a parameter, which starts at 0.01: the paper's model. The norm
            used is the parameter clamped to ρ ≤ ``radius``; the gradient passes the clamp, so that it can come back.
        "free"
            The exponential map at the origin, tanh(r/2)·v/|v| with r = ρ tanh(2|v|/ρ): each point has its own radius
            below ρ = ``radius``.
    radius : float
        ρ, at most 30; single precision uses at most 10, see `MAX_RADIUS`.

    Notes
    -----
    Shapes (..., dim) → (..., dim). A zero vector has no direction; it goes to the origin, with gradient 0.

    Examples
    --------
    >>> z = ToBall(radius=2.0)(torch.tensor([[3.0, 4.0]]))
    >>> round(2 * torch.atanh(z.norm()).item(), 4)
    2.0
    """

    radius: Tensor

    def __init__(self, mode: Mode = "normalised", radius: float = 6.0) -> None:
        super().__init__()
        require_choice("mode", mode, MODES)
        _require_radius(radius)
        self.mode = mode
        self.register_buffer("radius", torch.tensor(float(radius)))
        if mode == "learned":
            self.norm = nn.Parameter(torch.tensor(LEARNED_START))

    def current_norm(self) -> Tensor:
        """Return |z| of all points as a tensor (), within what the dtype of the module allows; for "free" its bound."""
        limit = MAX_RADIUS.get(self.radius.dtype, MAX_RADIUS[torch.float32])
        bound = torch.tanh(0.5 * self.radius.clamp(max=limit))
        if self.mode != "learned":
            return bound
        clamped = torch.minimum(self.norm.detach().clamp(min=0.5 * LEARNED_START), bound)
        return self.norm + (clamped - self.norm).detach()

    def set_radius(self, radius: float) -> None:
        """Assign ρ (its bound, where it is learned), for a schedule."""
        _require_radius(radius)
        self.radius.fill_(radius)

    def forward(self, v: Tensor) -> Tensor:
        """Return the points of the ball in the directions of v, (..., dim) → (..., dim)."""
        norm = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
        direction = v / torch.where(norm == 0, 1.0, norm)
        length = self.current_norm().to(v.dtype)
        if self.mode == "free":
            rho = 2.0 * torch.atanh(length)
            length = torch.tanh(0.5 * rho * torch.tanh(2.0 * norm / rho))
        return length * direction

    def extra_repr(self) -> str:
        return f"mode={self.mode!r}, radius={float(self.radius):g}"


class LeafEmbedding(nn.Module):
    """n trainable leaves in the Poincaré ball, on a geoopt manifold: optimise with ``geoopt.optim.RiemannianAdam``.

    Parameters
    ----------
    n : int
        Leaves.
    dim : int
        Dimension of the ball, at least 2 when the leaves share a radius.
    mode : {"normalised", "learned", "free"}
        "normalised"
            Directions on geoopt's ``Sphere`` at the radius ρ = ``radius``; a step of length s turns a leaf by the
            angle s.
        "learned"
            The paper's model: points of geoopt's ``PoincareBall`` that start near the origin, pushed out to one
            learned radius (as in `ToBall`). Steps turn a leaf the more the nearer it is to the origin.
        "free"
            Points of the ``PoincareBall`` as they are; geoopt keeps |z| ≤ 1 − 4e-3 (ρ = 6.2) in float32, 1 − 1e-5
            (12.2) in float64.
    radius : float
        ρ or its bound; unused when free.
    dtype, device
        Of the parameters.
    generator : torch.Generator, optional
        Source of the random start.

    Examples
    --------
    >>> leaves = LeafEmbedding(5, generator=torch.Generator().manual_seed(0))
    >>> leaves().shape, leaves.decode().n_leaves
    (torch.Size([5, 2]), 5)
    """

    def __init__(
        self,
        n: int,
        dim: int = 2,
        *,
        mode: Mode = "normalised",
        radius: float = 6.0,
        dtype: torch.dtype | None = None,
        device: Any = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if n < 1 or dim < (1 if mode == "free" else 2):
            raise ValueError(
                f"n={n} leaves in dim={dim}: at least one leaf and, unless free, two dimensions are needed."
            )
        self.to_ball = ToBall("normalised" if mode == "free" else mode, radius).to(dtype=dtype, device=device)
        self.mode = mode
        source = generator.device if generator is not None else device
        start = torch.randn(n, dim, generator=generator, dtype=dtype, device=source).to(device)
        if mode == "normalised":
            self.manifold: geoopt.Manifold = geoopt.Sphere()
            start = start / torch.linalg.vector_norm(start, dim=1, keepdim=True)
        else:
            self.manifold = geoopt.PoincareBall()
            start = INIT_SPREAD * torch.tanh(start)
        self.manifold.to(dtype=dtype, device=device)
        self.leaves = geoopt.ManifoldParameter(start, manifold=self.manifold)

    def forward(self, index: Tensor | None = None) -> Tensor:
        """Return the positions in the ball: of all leaves, (n, dim), or of those in ``index``, any shape (...), → (..., dim)."""
        rows = self.leaves if index is None else self.leaves[index]
        points: Tensor = rows * 1.0 if self.mode == "free" else self.to_ball(rows)
        return points

    @torch.no_grad()
    def decode(self) -> Tree:
        """Return the tree that `hyphc.decode` finds for the current positions in float64."""
        return decode(self.positions())

    @torch.no_grad()
    def positions(self) -> Any:
        """Return the positions as a float64 NumPy array (n, dim), normalised in float64 so that leaves of one radius have one."""
        rows = self.leaves.detach().double().cpu()
        if self.mode != "free":
            norm = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
            rows = self.to_ball.current_norm().double().cpu() * rows / torch.where(norm == 0, 1.0, norm)
        return rows.numpy()


class BallEncoder(nn.Module):
    """A network with `ToBall` on top: points, also unseen ones, are embedded by a forward pass.

    Parameters
    ----------
    network : nn.Module
        Maps features (batch, …) to vectors (batch, dim).
    mode, radius
        As in `ToBall`.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> encoder = BallEncoder(nn.Linear(4, 2), radius=3.0)
    >>> tree = encoder.decode(torch.randn(6, 4))
    >>> tree.n_leaves
    6
    """

    def __init__(self, network: nn.Module, *, mode: Mode = "normalised", radius: float = 6.0) -> None:
        super().__init__()
        self.network, self.to_ball = network, ToBall(mode, radius)

    def forward(self, features: Tensor) -> Tensor:
        """Return points of the ball, (..., dim), from the network's output for the features."""
        points: Tensor = self.to_ball(self.network(features))
        return points

    @torch.no_grad()
    def decode(self, features: Tensor) -> Tree:
        """Return the tree of these points, in evaluation mode; the module's mode is restored."""
        training = self.training
        try:
            vectors = self.eval().network(features).double()
        finally:
            self.train(training)
        return decode(self.to_ball(vectors).cpu().numpy())
