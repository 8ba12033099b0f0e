"""Continuous solver: against PyTorch, from a tree, and growth with n."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hyphc import HypHC, as_similarity, baselines, dasgupta_cost, datasets, embed
from hyphc.continuous.objective import circle_block_objective
from hyphc.similarity import Similarity

from ..harness.cases import DECODED, Case
from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task
from ..harness.timing import best_seconds, timed

SOURCES = METHOD
ZOO_TARGET = 2.81e5  # ordered pairs
GROWTH = (2_310, 20_000, 100_000, 1_000_000)
COLUMNS = 32


def tasks() -> list[Task]:
    warm = [Task("continuous", case, "warm", "average") for case in DECODED]
    growth = [Task("continuous", str(n), "growth", "passes", 15 * MINUTE) for n in GROWTH]
    rates = [Task("continuous", "segmentation", "speed", method) for method in RATES]
    return [*warm, *rates, Task("continuous", "zoo", "speed", "target", 15 * MINUTE), *growth]


def records(task: Task) -> Iterator[Record]:
    if task.kind == "growth":
        yield from _growth(int(task.case))
        return
    similarity = Case(task.case).similarity("cosine")
    yield {"n": similarity.n}
    if task.kind == "warm":
        yield _warm(similarity)
    elif task.method == "target":
        yield from _target(similarity)
    else:
        yield RATES[task.method](similarity)


def _warm(similarity: Similarity) -> Record:
    start = baselines.average_linkage(similarity)
    before = dasgupta_cost(start, similarity, units="ordered")
    return {"before": before, "after": 2 * embed(similarity, init=start, random_state=0, n_jobs=-1).cost}


def _block(similarity: Similarity) -> Record:
    """Distinct triplets a second, with gradient, of one block on one core."""
    rng = np.random.default_rng(0)
    weights = similarity.block(rng.choice(similarity.n, 256, replace=False))
    angles = rng.uniform(-np.pi, np.pi, 256)
    seconds = best_seconds(lambda: circle_block_objective(angles, 5.0, weights, 0.5), 20)
    return {"triplets_per_second": 256 * 255 * 254 / 6 / seconds}


def _pass(similarity: Similarity) -> Record:
    """The same of ten passes over the set on all cores, everything included; best of three."""
    runs = [timed(lambda: embed(similarity, max_iter=10, random_state=0, n_jobs=-1)) for _ in range(3)]
    return {"triplets_per_second": max(result.n_triplets / seconds for result, seconds in runs)}


def _torch(similarity: Similarity) -> Record:
    """The same of a vectorised loss in PyTorch with autograd, on all cores."""
    import torch

    from ..peers.torch_loop import triplet_loss, triplet_similarities

    rng = np.random.default_rng(0)
    triplets = np.sort(np.argsort(rng.random((200_000, 60)), axis=1)[:, :3] * 4, axis=1)
    weights, index = triplet_similarities(similarity, triplets), torch.tensor(triplets)
    z, scale = torch.randn(similarity.n, 2, requires_grad=True), torch.tensor(0.9, requires_grad=True)
    seconds = best_seconds(lambda: triplet_loss(z, scale, index, weights, 0.5).backward(), 5)
    return {"triplets_per_second": len(triplets) / seconds}


RATES: dict[str, Callable[[Similarity], Record]] = {"block": _block, "pass": _pass, "torch": _torch}


def _target(similarity: Similarity) -> Iterator[Record]:
    """Seconds until a decoded tree is at the target: ours, and a PyTorch loop with the paper's settings."""
    from ..peers.torch_loop import seconds_to_reach

    _seconds_to_target(similarity, 0)  # compiles
    for seed in range(5):
        yield {"seed": seed, "who": "hyphc", "seconds": _seconds_to_target(similarity, seed)}
    for seed in range(3):
        settings = {"learning_rate": 1e-3, "temperature": 0.01, "epochs": 200, "seed": seed}
        seconds = seconds_to_reach(similarity, ZOO_TARGET, **settings)[0]
        yield {"seed": seed, "who": "torch", "seconds": seconds if np.isfinite(seconds) else None}


def _seconds_to_target(similarity: Similarity, seed: int) -> float | None:
    begin, reached = time.perf_counter(), []

    def stop(progress: Any) -> bool:
        if 2 * progress.best_cost <= ZOO_TARGET:
            reached.append(time.perf_counter() - begin)
        return bool(reached)

    HypHC(refine=False, random_state=seed, callback=stop).fit(similarity)
    return reached[0] if reached else None


def _growth(n: int) -> Iterator[Record]:
    X = datasets.planted(n, COLUMNS, random_state=0).data
    similarity = as_similarity(X, "cosine")
    yield {"n": n}
    embed(as_similarity(X[:600], "cosine"), max_iter=2, random_state=0, n_jobs=-1)
    settings = {"max_iter": 5, "block_size": 64, "max_triplets": 10**12, "random_state": 0, "n_jobs": -1}
    result, seconds = timed(lambda: embed(similarity, **settings))
    rate = result.n_triplets / seconds
    yield {"seconds_a_pass": seconds / result.n_iter, "triplets_per_second": rate, "data_mb": X.nbytes / 2**20}


def warm_table(store: Store) -> str:
    rows = []
    for case in DECODED:
        result = store.get("continuous", case, "warm", "average")
        for record in (result or {}).get("records", []):
            gain = 100 * (1 - record["after"] / record["before"])
            rows.append([case, f"{record['before']:.6g}", f"{record['after']:.6g}", f"{gain:.2f} %"])
    return table(["set", "average linkage", "after the gradient", "gain"], rows, "continuous warm")


def speed_table(store: Store) -> str:
    labels = {"block": "a block of 256, one core", "pass": "whole passes, all cores", "torch": "PyTorch, all cores"}
    found = {method: store.get("continuous", "segmentation", "speed", method) for method in labels}
    rates = {m: r["records"][0]["triplets_per_second"] for m, r in found.items() if r and r["records"]}
    rows = [
        [labels[m], f"{rate:.2g}", f"{rate / rates['torch']:.0f}" if "torch" in rates else "–"]
        for m, rate in rates.items()
    ]
    return table(["on segmentation", "triplets a second, with gradient", "times PyTorch's"], rows, "continuous speed")


def target_table(store: Store) -> str:
    """Median of the seeds for both; a seed that never reached the target counts as the longest."""
    result = store.get("continuous", "zoo", "speed", "target")
    rows = []
    for who, label in (("hyphc", "HypHC(refine=False)"), ("torch", "PyTorch loop with the paper's settings")):
        records = [record for record in (result or {}).get("records", []) if record["who"] == who]
        seconds = sorted(np.inf if record["seconds"] is None else record["seconds"] for record in records)
        if seconds:
            rows.append([label, f"{seconds[len(seconds) // 2]:.2g}", str(len(seconds))])
    return table([f"zoo to {ZOO_TARGET:.3g}", "seconds, median", "seeds"], rows, "continuous target")


def growth_table(store: Store) -> str:
    rows = []
    for n in GROWTH:
        result = store.get("continuous", str(n), "growth", "passes")
        for record in (result or {}).get("records", []):
            seconds = record["seconds_a_pass"]
            memory = f"{record['data_mb']:.1f}, {result['peak_mb']:.0f}"
            rows.append([spaced(n), f"{seconds:.2g}", f"{1e6 * seconds / n:.1f}", memory])
    return table(
        ["points", "seconds a pass", "µs a point", "MB of X, and of the process at its peak"], rows, "continuous growth"
    )


TABLES: dict[str, Callable[[Store], str]] = {
    "warm": warm_table,
    "speed": speed_table,
    "target": target_table,
    "growth": growth_table,
}
