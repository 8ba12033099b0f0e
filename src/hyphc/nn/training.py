"""Training loop of `HypHCClassifier`: leaves and a hyperbolic regression, trained together or one after the other.

Leaves are smoothed over the similarity graph: z = ToBall(S·A), with A (n, dim) free vectors and S the similarities
to a power, in rows that sum to 1. So labels spread to unlabelled neighbours. S is the identity where smoothing is 0.
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


# Runs are compared by the mean of this many last losses: those of random blocks vary from step to step.
LAST = 10
# Blocks of a step, at most: they estimate the mean over all triplets, and a step on many points costs little more.
N_BLOCKS = 8


@dataclass(frozen=True)
class TrainingSettings:
    """Parameters of `HypHCClassifier` that a run uses, checked when made; see there."""

    joint: bool
    n_components: int
    classification_weight: float
    label_smoothing: float
    temperature: Range
    radius: Range
    learning_rate: Range
    max_iter: int
    head_learning_rate: float
    head_iter: int
    block_size: int
    device: Any

    def __post_init__(self) -> None:
        for tau in _ends(self.temperature):
            require_positive_temperature(tau)
        bound = MAX_RADIUS[torch.float64]
        if not all(0.0 < rho <= bound for rho in _ends(self.radius)):
            raise ValueError(f"radius={self.radius} must lie in (0, {bound:g}].")
        rate, head_rate = self.learning_rate, self.head_learning_rate
        if not all(0.0 < value < np.inf for value in (*_ends(rate), head_rate)):
            raise ValueError(f"learning_rate={rate} and head_learning_rate={head_rate} must be positive.")
        if not 0.0 <= self.classification_weight < np.inf:
            raise ValueError(
                f"classification_weight={self.classification_weight} must be a finite number of at least 0."
            )
        if not 0.0 <= self.label_smoothing < 1.0:
            raise ValueError(f"label_smoothing={self.label_smoothing} must lie in [0, 1).")
        if self.n_components < 1 or self.max_iter < 0 or self.head_iter < 0:
            raise ValueError(
                f"n_components={self.n_components} must be at least 1, max_iter={self.max_iter} and "
                f"head_iter={self.head_iter} at least 0."
            )


@dataclass(frozen=True)
class TrainedRun:
    """Result of a run: vectors A (n, dim), the regression, the map to the ball, and the loss of each step."""

    vectors: Tensor
    head: HyperbolicLogisticRegression
    to_ball: ToBall
    losses: Floats

    @property
    def final_loss(self) -> float:
        return float(self.losses[-LAST:].mean()) if len(self.losses) else 0.0

    @torch.no_grad()
    def place(self, smoother: Tensor | None) -> Tensor:
        """Return points in the ball (m, dim) for rows of a smoother (m, n); None is the identity."""
        points: Tensor = self.to_ball(_smooth(smoother, self.vectors))
        return points

    @torch.no_grad()
    def probabilities(self, points: Tensor) -> Floats:
        return np.asarray(torch.softmax(self.head(points), dim=1).cpu().numpy(), dtype=np.float64)


def fit_leaves_and_head(
    similarity: Similarity, smoother: Tensor | None, labelled: Ints, codes: Ints, plan: TrainingSettings, seed: int
) -> TrainedRun:
    """Train leaves and regression by the plan; ``codes`` 0, 1, … are the classes of the leaves ``labelled``."""
    generator = torch.Generator().manual_seed(seed)
    settings: dict[str, Any] = {"dtype": torch.float64, "device": plan.device}
    vectors = torch.randn(similarity.n, plan.n_components, generator=generator, dtype=torch.float64).to(plan.device)
    head = HyperbolicLogisticRegression(plan.n_components, int(codes.max()) + 1, generator=generator, **settings)
    first, last = _ends(plan.radius)
    to_ball = ToBall(radius=first).to(**settings)
    index, target = torch.from_numpy(labelled).to(plan.device), torch.from_numpy(codes).to(plan.device)

    def misfit(z: Tensor) -> Tensor:
        return cross_entropy(head(z[index]), target, label_smoothing=plan.label_smoothing)

    vectors.requires_grad_()
    groups = [{"params": [vectors]}, {"params": list(head.parameters()), "lr": plan.head_learning_rate}]
    optimiser = geoopt.optim.RiemannianAdam(groups if plan.joint else groups[:1], lr=1.0)
    sampler = BlockSampler(similarity, plan.block_size, random_state=seed, **settings)
    # in units of the mean similarity, so that a weight means the same for all data
    unit = similarity.n * (similarity.n - 1) / 2 / max(similarity.total(), np.finfo(np.float64).tiny)
    losses = np.empty(plan.max_iter)
    for t in range(plan.max_iter):
        done = t / max(1, plan.max_iter - 1)
        to_ball.set_radius(first + (last - first) * done)
        optimiser.param_groups[0]["lr"] = _interpolate(plan.learning_rate, done)
        z = to_ball(_smooth(smoother, vectors))
        members, weights = (part[:N_BLOCKS] for part in sampler())
        loss = unit * block_loss(z[members], weights, _interpolate(plan.temperature, done))
        losses[t] = _step(optimiser, loss + plan.classification_weight * misfit(z) if plan.joint else loss)
    to_ball.set_radius(last)
    fit = TrainedRun(vectors.detach(), head, to_ball, losses)
    z = fit.place(smoother)
    optimiser = geoopt.optim.RiemannianAdam(head.parameters(), lr=plan.head_learning_rate)
    for _ in range(plan.head_iter):
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
    """Return the value at a share of the way from first to last, geometrically."""
    first, last = _ends(value)
    return float(first * (last / first) ** share)
