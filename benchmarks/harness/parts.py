"""What a child process measures: a generator of records for each part of the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from hyphc import HypHC, Tree, baselines, cost_bounds, dasgupta_cost, decode, dendrogram_purity, embed, refine
from hyphc.similarity import Similarity
from sklearn.metrics import adjusted_rand_score

from .cases import GRAPHS, Case
from .classify import accuracies
from .methods import METHODS, Method
from .plans import Task

Record = dict[str, Any]

WARM_UP = 60  # points of the run that compiles
REPEAT_FOR, REPEATS = 3.0, 3  # what is not random is timed again while it takes less than so many seconds together
BOUND_SEEDS, EXACT_BOUNDS = 10, 1_000  # the paper's: above a thousand points from samples, ten seeds
CURVE_POINTS = 80
BUDGETS = np.geomspace(0.3, 300, 9)  # triplets / n²
SNAPSHOTS = (0.0, 0.1, 0.3, 0.6, 1.0)  # shares of a run


def units_of(case: str) -> str:
    return "mean" if case in GRAPHS else "ordered"


def records(task: Task) -> Iterator[Record]:
    """Measure a task, record by record."""
    case = Case(task.case)
    similarity = case.similarity(task.kind)
    yield {"n": similarity.n}  # sent with the memory that the data alone takes
    if task.suite in ("tables", "graphs", "study") and task.method != "bounds":
        yield from _trees(case, similarity, METHODS[task.method])
    else:
        yield from PARTS[task.suite](task, similarity)


def _trees(case: Case, similarity: Similarity, method: Method) -> Iterator[Record]:
    few = np.random.default_rng(0).choice(similarity.n, min(WARM_UP, similarity.n), replace=False)
    method.fit(similarity.subset(np.sort(few)), 0)
    spent = 0.0
    for seed in range(method.seeds if method.seeds > 1 else REPEATS):
        begin = time.perf_counter()
        tree = method.fit(similarity, seed)
        seconds = time.perf_counter() - begin
        yield {"seed": seed, "seconds": seconds, **_scores(case, similarity, tree)}
        spent += seconds
        if method.seeds == 1 and spent > REPEAT_FOR:
            return


def _scores(case: Case, similarity: Similarity, tree: Tree) -> Record:
    scores: Record = {"cost": dasgupta_cost(tree, similarity, units=units_of(case.name))}
    if case.labels is not None:
        n_classes = len(np.unique(case.labels))
        scores["purity"] = dendrogram_purity(tree, case.labels)
        scores["ari"] = float(adjusted_rand_score(case.labels, tree.cut(n_clusters=n_classes)))
    return scores


def _bounds(task: Task, similarity: Similarity) -> Iterator[Record]:
    exact = similarity.n <= EXACT_BOUNDS
    for seed in range(1 if exact else BOUND_SEEDS):
        settings = {} if exact else {"n_triplets": 1_000_000, "random_state": seed}
        bounds = cost_bounds(similarity, units=units_of(task.case), **settings)
        yield {"seed": seed, "lower": bounds.lower, "upper": bounds.upper, "exact": exact}


def _decoding(task: Task, similarity: Similarity) -> Iterator[Record]:
    points = HypHC(refine=False, random_state=0).fit(similarity).embedding_
    for method in ("exact", "greedy"):
        seconds = [_seconds(partial(decode, points, method)) for _ in range(11)][1:]
        cost = dasgupta_cost(decode(points, method), similarity, units="ordered")
        yield {"decoding": method, "cost": cost, "seconds": float(np.mean(seconds))}


def _seconds(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def _curve(task: Task, similarity: Similarity) -> Iterator[Record]:
    """Best cost against time, from one way to begin, for three seeds."""
    few = similarity.subset(np.arange(min(WARM_UP, similarity.n)))
    _follow(task.method, few, 0)
    for seed in range(3):
        yield {"seed": seed, "curve": _thinned(_follow(task.method, similarity, seed))}


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


def _thinned(points: list[tuple[float, float]]) -> list[list[float]]:
    """At most so many points, evenly spread, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), CURVE_POINTS)).astype(int))
    return [[round(points[k][0], 4), float(f"{points[k][1]:.9g}")] for k in chosen]


def _triplets(task: Task, similarity: Similarity) -> Iterator[Record]:
    for share in BUDGETS:
        budget = int(share * similarity.n**2)
        for seed in range(3):
            result = embed(similarity, max_triplets=budget, random_state=seed, n_jobs=-1)
            yield {"budget": budget, "seed": seed, "triplets": result.n_triplets, "cost": 2 * result.cost}


def _snapshots(task: Task, similarity: Similarity) -> Iterator[Record]:
    """Embeddings during training."""
    kept: list[Record] = []

    def keep(progress: Any) -> None:
        if len(kept) < len(SNAPSHOTS) and progress.iteration >= SNAPSHOTS[len(kept)] * (progress.max_iter - 1):
            points = np.round(progress.embedding, 5).tolist()
            cost = 2 * progress.decoded_cost
            kept.append({"iteration": progress.iteration, "of": progress.max_iter, "cost": cost, "points": points})

    embed(similarity, random_state=0, n_jobs=-1, callback=keep)
    labels = np.unique(Case(task.case).labels, return_inverse=True)[1].tolist()
    yield from ({**record, "labels": labels} for record in kept)


PARTS: dict[str, Callable[[Task, Similarity], Iterator[Record]]] = {
    "tables": _bounds,
    "decoding": _decoding,
    "curves": _curve,
    "triplets": _triplets,
    "snapshots": _snapshots,
    "classification": accuracies,
}
