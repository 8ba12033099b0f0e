"""The continuous solver against PyTorch, and how it grows.

    python benchmarks/continuous.py [speed|warm|growth ...]

Needs torch and geoopt for ``speed``, the UCI files in HYPHC_DATA for ``speed`` and ``warm``. Costs are in the paper's units
(ordered pairs).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from _measure import best_seconds, in_own_process, peak_bytes
from hyphc import HypHC, as_similarity, baselines, dasgupta_cost, datasets, embed
from hyphc.continuous.objective import circle_block_objective

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
if "HYPHC_DATA" not in os.environ and DATA.is_dir():
    os.environ["HYPHC_DATA"] = str(DATA)

ZOO_TARGET = 2.81e5


def speed() -> None:
    import torch
    from torch_loop import seconds_to_reach, triplet_loss, triplet_similarities

    similarity = datasets.paper_similarity("segmentation")
    rng = np.random.default_rng(0)
    block = rng.choice(similarity.n, 256, replace=False)
    weights, angles = similarity.block(block), rng.uniform(-np.pi, np.pi, 256)
    one = best_seconds(lambda: circle_block_objective(angles, 5.0, weights, 0.5), 20)
    whole = max(embed_pass(similarity) for _ in range(3))
    ours = 256 * 255 * 254 / 6 / one
    triplets = np.sort(np.argsort(rng.random((200_000, 60)), axis=1)[:, :3] * 4, axis=1)
    sims = triplet_similarities(similarity, triplets)
    z = torch.randn(similarity.n, 2, requires_grad=True)
    scale, index = torch.tensor(0.9, requires_grad=True), torch.tensor(triplets)
    theirs = len(triplets) / best_seconds(lambda: triplet_loss(z, scale, index, sims, 0.5).backward(), 5)
    A = rng.standard_normal((1500, 1500))
    peak = 2 * 1500**3 / best_seconds(lambda: A @ A, 5)
    print(f"block of 256 on one core: {ours:.3g} distinct triplets/s with gradient; PyTorch, all cores: {theirs:.3g}")
    print(f"ratio: {ours / theirs:.0f}x")
    print(f"a pass over segmentation on all cores: {whole:.3g} triplets/s, {whole / theirs:.0f}x")
    # each triplet is visited three times, at 12 additions and multiplications and a division counted as one
    print(f"arithmetic: {3 * 13 * ours / 1e9:.1f} GFlop/s on one core; BLAS in float64 on all cores: {peak / 1e9:.1f}")
    zoo = datasets.paper_similarity("zoo")
    fit_to(zoo)  # compiles
    mine = float(np.median([fit_to(zoo, seed) for seed in range(5)]))
    runs = [
        seconds_to_reach(zoo, ZOO_TARGET, learning_rate=1e-3, temperature=0.01, epochs=200, seed=seed)
        for seed in range(3)
    ]
    yardstick = min(seconds for seconds, _ in runs)
    print(
        f"zoo to {ZOO_TARGET:.3g}: HypHC {mine:.3f} s (median of 5 seeds), PyTorch {yardstick:.1f} s (best of 3 seeds)"
    )
    print(f"ratio: {yardstick / mine:.0f}x")


def embed_pass(similarity) -> float:
    """Triplets a second of ten passes, everything included."""
    begin = time.perf_counter()
    result = embed(similarity, max_iter=10, random_state=0, n_jobs=-1)
    return result.n_triplets / (time.perf_counter() - begin)


def fit_to(similarity, seed: int = 0) -> float:
    """Seconds until the best decoded tree of a default fit is at the target."""
    begin = time.perf_counter()
    reached = []

    def stop(progress) -> bool:
        if 2 * progress.best_cost <= ZOO_TARGET:
            reached.append(time.perf_counter() - begin)
        return bool(reached)

    HypHC(refine=False, random_state=seed, callback=stop).fit(similarity)
    return reached[0] if reached else np.inf


def warm() -> None:
    print(f"{'set':<14} {'average linkage':>16} {'after the gradient':>19} {'gain':>8}")
    for name in ("zoo", "iris", "glass", "segmentation"):
        similarity = datasets.paper_similarity(name)
        start = baselines.average_linkage(similarity)
        before = dasgupta_cost(start, similarity, units="ordered")
        after = 2 * embed(similarity, init=start, random_state=0, n_jobs=-1).cost
        print(f"{name:<14} {before:>16.6g} {after:>19.6g} {1 - after / before:>8.3%}", flush=True)


def growth() -> None:
    print(f"{'n':>9} {'s a pass':>9} {'s / n (us)':>11} {'triplets/s':>11} {'peak / X':>9}")
    for n in (2_310, 20_000, 100_000, 1_000_000):
        seconds, rate, memory = in_own_process(_growth, n)
        print(f"{n:>9} {seconds:>9.3f} {1e6 * seconds / n:>11.2f} {rate:>11.3g} {memory:>9.1f}", flush=True)


def _growth(n: int) -> tuple[float, float, float]:
    X = datasets.planted(n, 32, random_state=0).data
    similarity = as_similarity(X)
    embed(as_similarity(X[:600]), max_iter=2, random_state=0, n_jobs=-1)
    begin = time.perf_counter()
    result = embed(similarity, max_iter=5, block_size=64, max_triplets=10**12, random_state=0, n_jobs=-1)
    seconds = time.perf_counter() - begin
    return seconds / result.n_iter, result.n_triplets / seconds, peak_bytes() / X.nbytes


PARTS = {
    "speed": speed,
    "warm": warm,
    "growth": growth,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"\n## {part}")
        PARTS[part]()
