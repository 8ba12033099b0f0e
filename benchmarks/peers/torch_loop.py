"""The continuous cost as one would write it in PyTorch: explicit triplets, vectorised, autograd. A yardstick only."""

from __future__ import annotations

import time

import geoopt
import numpy as np
import torch
from hyphc import Tree, dasgupta_cost, decode
from hyphc.similarity import Similarity

MIN_NORM, MAX_NORM = 1e-2, 1 - 1e-3  # of the learned radius: up to ρ = 7.6


def triplet_loss(
    z: torch.Tensor, scale: torch.Tensor, triplets: torch.Tensor, similarities: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Mean over triplets of Σ w − ⟨w, softmax(d/τ)⟩, for points pushed out to one radius.

    The depth at one radius, tanh d = tanh ρ·cos(θ/2), is cheaper than the general one: the yardstick gets the better formula.
    """
    unit = torch.nn.functional.normalize(z, dim=1)[triplets]
    tanh_rho = 2 * scale / (1 + scale**2)
    depths = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        half_cosine = torch.linalg.vector_norm(unit[:, a] + unit[:, b], dim=1) / 2
        depths.append(torch.atanh(torch.clamp(tanh_rho * half_cosine, max=1 - 1e-6)))
    share = torch.softmax(torch.stack(depths, dim=1) / temperature, dim=1)
    return (similarities.sum(dim=1) - (similarities * share).sum(dim=1)).mean()


def with_random_thirds(pairs: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Each pair with a third point that is neither of the two."""
    third = rng.integers(n - 2, size=len(pairs))
    third += third >= pairs[:, 0]
    third += third >= pairs[:, 1]
    return np.column_stack([pairs, third])


def triplet_similarities(similarity: Similarity, triplets: np.ndarray) -> torch.Tensor:
    i, j, k = triplets.T
    weights = [similarity.pairs(a, b) for a, b in ((i, j), (i, k), (j, k))]
    return torch.tensor(np.stack(weights, axis=1), dtype=torch.float32)


def seconds_to_reach(
    similarity: Similarity,
    target: float,
    *,
    learning_rate: float,
    temperature: float,
    epochs: int,
    seed: int,
    batch: int = 256,
) -> tuple[float, float]:
    """Train as the paper does; seconds until a decoded tree costs at most ``target``, and the best cost seen (inf if never)."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    n = similarity.n
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    ball = geoopt.PoincareBall()
    z = geoopt.ManifoldParameter(ball.expmap0(1e-3 * (2 * torch.rand(n, 2) - 1)), manifold=ball)
    scale = torch.nn.Parameter(torch.tensor(MIN_NORM))
    optimiser = geoopt.optim.RiemannianAdam([z, scale], lr=learning_rate)
    best, spent, begin = np.inf, 0.0, time.perf_counter()
    for _ in range(epochs):
        triplets = with_random_thirds(pairs[rng.permutation(len(pairs))], n, rng)
        weights = triplet_similarities(similarity, triplets)
        index = torch.tensor(triplets)
        for start in range(0, len(index), batch):
            rows = slice(start, start + batch)
            optimiser.zero_grad()
            triplet_loss(z, scale, index[rows], weights[rows], temperature).backward()
            optimiser.step()
            scale.data.clamp_(MIN_NORM, MAX_NORM)
        spent = time.perf_counter() - begin
        best = min(best, dasgupta_cost(_decoded(z), similarity, units="ordered"))
        if best <= target:
            return spent, best
    return np.inf, best


def _decoded(z: torch.Tensor) -> Tree:
    points = torch.nn.functional.normalize(z.detach().double(), dim=1) * MAX_NORM
    return decode(points.numpy(), method="greedy")
