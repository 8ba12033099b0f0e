"""Triplets a second, value and gradient: the block loss in torch against the triplet loss in torch, in one run.

    python benchmarks/nn_speed.py

Both losses get the same points and similarities, one thread, float32. The compiled kernel of `hyphc.continuous.objective` is
there for comparison.
"""

from __future__ import annotations

from math import comb

import numpy as np
import torch
from _measure import best_seconds
from hyphc import nn
from hyphc.continuous import objective

TAU, RADIUS = 0.5, 5.0
TRIPLETS = 100_000


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    print(
        f"{'points':>7} {'triplet loss':>13} {'block loss':>13} {'ratio':>7} {'numba':>13}   triplets/s with gradient"
    )
    for m in (64, 128, 256):
        angles = rng.uniform(-np.pi, np.pi, m)
        W = rng.random((m, m))
        W = 0.5 * (W + W.T)
        z = np.tanh(RADIUS / 2) * np.column_stack([np.cos(angles), np.sin(angles)])
        points = torch.tensor(z, dtype=torch.float32, requires_grad=True)
        weights = torch.tensor(W, dtype=torch.float32)
        size = min(TRIPLETS, comb(m, 3))
        triplets, similarities = nn.TripletSampler(W, random_state=0)(size)
        loss = nn.HypHCLoss(TAU)

        def by_triplets(points=points, triplets=triplets, similarities=similarities, loss=loss) -> None:
            loss(points, triplets, similarities).backward()

        def by_block(points=points, weights=weights, loss=loss) -> None:
            loss.block(points, weights).backward()

        def by_kernel(angles=angles, W=W) -> None:
            objective.circle_block_objective(angles, RADIUS, W, TAU)

        explicit = size / best_seconds(by_triplets, 10)
        block = comb(m, 3) / best_seconds(by_block, 10)
        kernel = comb(m, 3) / best_seconds(by_kernel, 10)
        print(f"{m:>7} {explicit:>13.3g} {block:>13.3g} {block / explicit:>6.0f}x {kernel:>13.3g}", flush=True)


if __name__ == "__main__":
    main()
