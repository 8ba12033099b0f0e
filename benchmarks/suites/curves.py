"""Cost against time for five ways to start."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from hyphc import HypHC, baselines, dasgupta_cost, refine
from hyphc.similarity import Similarity

from ..harness.cases import Case
from ..harness.markdown import markdown, missing
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import Record, Task
from ..harness.trees import WARM_UP

SOURCES = METHOD
CURVES = ("zoo", "glass", "segmentation", "digits", "letter")
STARTS = ("continuous", "random", "average", "bisecting", "both")
CURVE_POINTS = 80
LABELS = {
    "continuous": "continuous only",
    "random": "search from a random tree",
    "average": "search from average linkage",
    "bisecting": "search from bisecting k-means",
    "both": "both (the default)",
}
Curve = list[list[float]]  # (seconds, cost), the cost falling


def tasks() -> list[Task]:
    return [Task("curves", case, "cosine", start) for case in CURVES for start in STARTS]


def records(task: Task) -> Iterator[Record]:
    """Best cost against time, from one way to begin, for three seeds."""
    similarity = Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    few = similarity.subset(np.arange(min(WARM_UP, similarity.n)))
    _follow(task.method, few, 0)
    for seed in range(3):
        yield {"seed": seed, "curve": thinned(_follow(task.method, similarity, seed))}


def _follow(start: str, similarity: Similarity, seed: int) -> list[tuple[float, float]]:
    begin = time.perf_counter()
    points: list[tuple[float, float]] = []

    def note(progress: Any) -> None:
        cost = 2 * progress.best_cost
        if not points or cost < points[-1][1]:
            points.append((time.perf_counter() - begin, cost))

    if start in ("continuous", "both"):
        HypHC(refine=start == "both", random_state=seed, callback=note).fit(similarity)
        return points
    trees = {
        "random": partial(baselines.random_tree, random_state=seed),
        "average": baselines.average_linkage,
        "bisecting": baselines.bisecting_kmeans,
    }
    tree = trees[start](similarity)
    points.append((time.perf_counter() - begin, dasgupta_cost(tree, similarity, units="ordered")))
    refine(tree, similarity, random_state=seed, n_jobs=-1, callback=note)
    return points


def thinned(points: list[tuple[float, float]]) -> Curve:
    """At most so many points, evenly spread, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), CURVE_POINTS)).astype(int))
    return [[round(points[k][0], 4), float(f"{points[k][1]:.9g}")] for k in chosen]


def middle_curve(result: Result) -> Curve:
    """The curve of the seed whose last cost is the median."""
    curves = sorted((record["curve"] for record in result["records"]), key=lambda curve: curve[-1][1])
    return curves[len(curves) // 2]


def lowest_cost(results: list[Result]) -> float:
    """The lowest cost that any of these found in any seed."""
    return min(record["curve"][-1][1] for result in results for record in result["records"])


def curves_of(store: Store, name: str) -> dict[str, Result]:
    """The stored results of a set that hold a curve, by the way to begin."""
    found = {start: store.get("curves", name, "cosine", start) for start in STARTS}
    return {start: result for start, result in found.items() if result and result["records"]}


def ablation_table(store: Store) -> str:
    """Cost above the lowest in per cent, and when that cost was reached."""
    rows = []
    for start in STARTS:
        cells = []
        for name in CURVES:
            found = curves_of(store, name)
            if start not in found:
                cells.append(missing(store.get("curves", name, "cosine", start)))
                continue
            seconds, cost = middle_curve(found[start])[-1]
            excess = 100 * (cost / lowest_cost(list(found.values())) - 1)
            cells.append(f"{excess:.4f} % at {seconds:.2g} s")
        rows.append([LABELS[start], *cells])
    return markdown(["", *CURVES], rows)


TABLES: dict[str, Callable[[Store], str]] = {"ablation": ablation_table}
