"""The loop behind `HypHCClassifier`: leaves and a hyperbolic regression, trained together or one after the other.

Leaves are smoothed over the similarity graph: z = ToBall(S·A), with A (n, dim) free vectors and S the similarities
to a power, in rows that sum to 1. What a labelled leaf learns thus reaches its unlabelled neighbours. S is the
identity where smoothing is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import geoopt
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .._runtime.arrays import Floats, Ints
from ..similarity import Similarity
from .embedding import MAX_RADIUS, ToBall
from .logistic import HyperbolicLogisticRegression
from .loss import block_loss, require_positive_temperature
from .sampling import BlockSampler

Range = float | tuple[float, float]


# A run is judged by the mean of this many last losses: those of random blocks vary from step to step.
LAST = 10
# Blocks of a step, at most: they estimate the mean over all triplets, and a step on many points costs little more.
N_BLOCKS = 8


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a run, under the names of `HypHCClassifier`'s parameters in short; checked when made."""

    joint: bool
    dim: int
    weight: float
    label_smoothing: float
    temperature: Range
    radius: Range
    rate: Range
    n_steps: int
    head_rate: float
    n_head_steps: int
    block_size: int
    device: torch.device

    def __post_init__(self) -> None:
        for tau in _ends(self.temperature):
            require_positive_temperature(tau)
        bound = MAX_RADIUS[torch.float64]
        if not all(0.0 < rho <= bound for rho in _ends(self.radius)):
            raise ValueError(f"radius={self.radius} must lie in (0, {bound:g}].")
        if not all(0.0 < rate < np.inf for rate in (*_ends(self.rate), self.head_rate)):
            raise ValueError(f"learning_rate={self.rate} and head_learning_rate={self.head_rate} must be positive.")
        if not 0.0 <= self.weight < np.inf:
            raise ValueError(f"classification_weight={self.weight} must be a finite number of at least 0.")
        if not 0.0 <= self.label_smoothing < 1.0:
            raise ValueError(f"label_smoothing={self.label_smoothing} must lie in [0, 1).")
        if self.dim < 1 or self.n_steps < 0 or self.n_head_steps < 0:
            raise ValueError(
                f"n_components={self.dim} must be at least 1, max_iter={self.n_steps} and head_iter={self.n_head_steps} "
                "at least 0."
            )


@dataclass(frozen=True)
class TrainedRun:
    """Vectors A (n, dim), the regression and the loss of each step."""

    vectors: Tensor
    head: HyperbolicLogisticRegression
    to_ball: ToBall
    losses: Floats

    @property
    def final_loss(self) -> float:
        return float(self.losses[-LAST:].mean()) if len(self.losses) else 0.0

    @torch.no_grad()
    def place(self, smoother: Tensor | None) -> Tensor:
        """Points in the ball for rows of a smoother (m, n); None is the identity."""
        points: Tensor = self.to_ball(_smooth(smoother, self.vectors))
        return points

    @torch.no_grad()
    def probabilities(self, points: Tensor) -> Floats:
        return np.asarray(torch.softmax(self.head(points), dim=1).cpu().numpy(), dtype=np.float64)


def fit_leaves_and_head(
    similarity: Similarity,
    smoother: Tensor | None,
    labelled: Ints,
    codes: Ints,
    n_classes: int,
    plan: TrainingSettings,
    seed: int,
) -> TrainedRun:
    """Train leaves and regression by the plan; only the labels of ``labelled`` (codes 0 … n_classes − 1) are seen."""
    generator = torch.Generator().manual_seed(seed)
    settings: dict[str, Any] = {"dtype": torch.float64, "device": plan.device}
    vectors = torch.randn(similarity.n, plan.dim, generator=generator, dtype=torch.float64).to(plan.device)
    head = HyperbolicLogisticRegression(plan.dim, n_classes, generator=generator, **settings)
    to_ball = ToBall(radius=_ends(plan.radius)[0]).to(**settings)
    index, target = torch.from_numpy(labelled).to(plan.device), torch.from_numpy(codes).to(plan.device)

    def misfit(z: Tensor) -> Tensor:
        return cross_entropy(head(z[index]), target, label_smoothing=plan.label_smoothing)

    vectors.requires_grad_()
    groups = [{"params": [vectors]}, {"params": list(head.parameters()), "lr": plan.head_rate}]
    optimiser = geoopt.optim.RiemannianAdam(groups if plan.joint else groups[:1], lr=1.0)
    sampler = BlockSampler(similarity, plan.block_size, random_state=seed, **settings)
    # in units of the mean similarity, so that a weight means the same for all data
    unit = similarity.n * (similarity.n - 1) / 2 / max(similarity.total(), np.finfo(np.float64).tiny)
    losses = np.empty(plan.n_steps)
    for t in range(plan.n_steps):
        done = t / max(1, plan.n_steps - 1)
        first, last = _ends(plan.radius)
        to_ball.set_radius(first + (last - first) * done)
        optimiser.param_groups[0]["lr"] = _interpolate(plan.rate, done)
        z = to_ball(_smooth(smoother, vectors))
        members, weights = (part[:N_BLOCKS] for part in sampler())
        loss = unit * block_loss(z[members], weights, _interpolate(plan.temperature, done))
        losses[t] = _step(optimiser, loss + plan.weight * misfit(z) if plan.joint else loss)
    to_ball.set_radius(_ends(plan.radius)[1])
    fit = TrainedRun(vectors.detach(), head, to_ball, losses)
    z = fit.place(smoother)
    optimiser = geoopt.optim.RiemannianAdam(head.parameters(), lr=plan.head_rate)
    for _ in range(plan.n_head_steps):
        _step(optimiser, misfit(z))
    return fit


def _smooth(smoother: Tensor | None, vectors: Tensor) -> Tensor:
    # the transposed product: forward and backward take a third of the time of smoother @ vectors
    return vectors if smoother is None else (vectors.T @ smoother.T).T


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> float:
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return float(loss.detach())


def _ends(value: Range) -> tuple[float, float]:
    first, last = (value, value) if np.ndim(value) == 0 else tuple(value)  # type: ignore[arg-type]
    return float(first), float(last)  # type: ignore[arg-type]


def _interpolate(value: Range, share: float) -> float:
    """From first to last geometrically."""
    first, last = _ends(value)
    return float(first * (last / first) ** share)
