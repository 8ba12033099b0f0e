"""Default fits: budgets, starts, linkages, large data, new points."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from hyphc import HypHC, Tree, as_similarity, baselines, dasgupta_cost, datasets, insert, refine
from hyphc.baselines.agglomerate import graph_agglomeration
from hyphc.search import Progress
from hyphc.similarity import Similarity
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from ..harness.cases import GRAPHS, Case
from ..harness.sources import METHOD
from ..harness.task import MINUTE, Record, Task
from ..harness.timing import timed
from .search_tables import TABLES

__all__ = ["SOURCES", "TABLES", "records", "tasks"]

SOURCES = METHOD
LONG = 30 * MINUTE
COLUMNS = 32
STARTS: dict[str, Callable[[Similarity], Tree]] = {
    "random": partial(baselines.random_tree, random_state=0),
    "bisecting": baselines.bisecting_kmeans,
    "continuous": lambda similarity: (
        HypHC(refine=False, max_triplets=200_000_000, random_state=0).fit(similarity).tree_
    ),
    "average": baselines.average_linkage,
}
ABLATION = ("segmentation", "spambase", "letter", "citeseer", "cora_ml", "polblogs")
ABLATION_STAGES = ("start", "sweeps", "other", "ratchet", "iterated")
EFFORTS = ("0.5", "1", "2", "4")
BUDGETS = {
    "segmentation": (10, 20),
    "polblogs": (10, 20),
    "letter": (10, 30, 120),
    "planted-100000": (10, 60),
    "planted-1000000": (60, 120),
}


def tasks() -> list[Task]:
    large = ("segmentation", "spambase", "letter")
    planted = [f"planted-{n}" for n in (100_000, 1_000_000)]
    kinds = ("features-0.6", "features-0.95")
    found = [Task("search", case, "starts", start, LONG) for case in large for start in STARTS]
    found += [Task("search", case, "ablation", effort, LONG) for case in ABLATION for effort in EFFORTS]
    found += [Task("search", case, "budget", str(s), LONG) for case, budgets in BUDGETS.items() for s in budgets]
    found += [
        Task("search", case, "linkages", who, LONG) for case in large for who in ("hyphc", "scipy", "fastcluster")
    ]
    found += [Task("search", case, kind, who, LONG) for kind in kinds for case in planted for who in FEATURE_METHODS]
    found += [Task("search", "planted-graph", "graph", who, LONG) for who in ("hyphc", "paris")]
    return [*found, Task("search", "planted-100000", "insertion", "insert", LONG)]


def records(task: Task) -> Iterator[Record]:
    part = task.kind.split("-")[0]
    yield from PARTS[part](task)


def similarity_of(case: str, decay: float = 0.6) -> Similarity:
    """A set of the paper or a graph, or planted points: ``planted-<n>``."""
    if case == "planted-graph":
        return as_similarity(datasets.planted_graph(300_000, 7.0, random_state=0).data, "precomputed")
    if case.startswith("planted-"):
        planted = datasets.planted(int(case.split("-")[1]), COLUMNS, decay=decay, random_state=0)
        return as_similarity(planted.data, "cosine")
    return Case(case).similarity("edges" if case in GRAPHS else "cosine")


def _default_fit(similarity: Similarity) -> tuple[Tree, float]:
    """Tree and seconds of a default fit, after one that compiles what this kind and size needs."""
    HypHC(time_budget=1.0).fit(similarity)
    return timed(lambda: HypHC(random_state=0).fit(similarity).tree_)


def _budget(task: Task) -> Iterator[Record]:
    """How well a time budget is kept."""
    similarity, budget = similarity_of(task.case), float(task.method)
    yield {"n": similarity.n}
    HypHC(time_budget=1.0).fit(similarity)
    model, seconds = timed(HypHC(time_budget=budget, random_state=0).fit, similarity)
    yield {"budget": budget, "seconds": seconds, "cost": 2 * model.cost_}


def _linkages(task: Task) -> Iterator[Record]:
    """Average linkage of SciPy and fastcluster, distances included, or the default fit, on unit rows."""
    similarity = similarity_of(task.case)
    yield {"n": similarity.n}
    tree, seconds = _default_fit(similarity) if task.method == "hyphc" else timed(_average, task.method, similarity)
    yield {"seconds": seconds, "cost": dasgupta_cost(tree, similarity, units="ordered")}


def _average(who: str, similarity: Any) -> Tree:
    link = hierarchy.linkage
    if who == "fastcluster":
        from fastcluster import linkage as link
    # 1 − (1 + cos)/2 is a quarter of the squared distance of unit rows
    return Tree.from_linkage(link(pdist(similarity.X, "sqeuclidean") / 4, "average"))


def _features(task: Task) -> Iterator[Record]:
    """Planted points, an easy set and a hard one: bisecting k-means, ours and scikit-learn's, Genie, and the default fit."""
    similarity = similarity_of(task.case, float(task.kind.split("-")[1]))
    yield {"n": similarity.n}
    tree, seconds = FEATURE_METHODS[task.method](similarity)
    yield {"seconds": seconds, "cost": dasgupta_cost(tree, similarity)}


def _bisecting(similarity: Similarity) -> tuple[Tree, float]:
    baselines.bisecting_kmeans(similarity.subset(np.arange(100)))
    return timed(baselines.bisecting_kmeans, similarity)


def _scikit_learn(similarity: Any) -> tuple[Tree, float]:
    from ..peers.large import thousand_clusters

    return thousand_clusters(similarity)


def _genie(similarity: Any) -> tuple[Tree, float]:
    from ..peers.large import genie

    return timed(genie, similarity.X)


FEATURE_METHODS: dict[str, Callable[[Any], tuple[Tree, float]]] = {
    "hyphc": _default_fit,
    "bisecting": _bisecting,
    "scikit-learn": _scikit_learn,
    "genie": _genie,
}


def _graph(task: Task) -> Iterator[Record]:
    """A planted graph of 300 000 nodes and 1 000 000 edges: Paris or the default fit."""
    similarity = similarity_of(task.case)
    yield {"n": similarity.n}
    if task.method == "hyphc":
        tree, seconds = _default_fit(similarity)
    else:
        from ..peers.communities import paris

        tree, seconds = timed(paris, similarity)
    yield {"seconds": seconds, "cost": dasgupta_cost(tree, similarity, units="mean")}


def _insertion(task: Task) -> Iterator[Record]:
    """One point, and a thousand, into a tree of 100 000, beside the similarities of one point to all others."""
    n = 100_000
    similarity = similarity_of(f"planted-{n + 1_000}")
    yield {"n": n}
    first = similarity.subset(np.arange(n))
    tree = refine(baselines.bisecting_kmeans(first), first, max_sweeps=1)
    one = similarity.subset(np.arange(n + 1))
    insert(tree, one)  # compiles
    single = timed(insert, tree, one)[1]
    each = (timed(insert, tree, similarity)[1] - single) / 999
    product = timed(lambda: similarity.X[:n] @ similarity.X[n])[1]
    yield {"call": single, "each": each, "similarities": product}


def _starts(task: Task) -> Iterator[Record]:
    """Cost of a start, after sweeps alone, and after all stages."""
    similarity = similarity_of(task.case)
    yield {"n": similarity.n}
    start, seconds = timed(STARTS[task.method], similarity)
    yield {"stage": "start", "seconds": seconds, "cost": dasgupta_cost(start, similarity, units="ordered")}
    for stage, settings in (("sweeps", {"max_sweeps": 100}), ("all", {"random_state": 0})):
        tree, seconds = timed(lambda settings=settings: refine(start, similarity, n_jobs=-1, **settings))
        yield {"stage": stage, "seconds": seconds, "cost": dasgupta_cost(tree, similarity, units="ordered")}


def _ablation(task: Task) -> Iterator[Record]:
    """Best cost and CPU seconds at the end of each stage of the search, from its usual start, for five seeds."""
    similarity = similarity_of(task.case)
    yield {"n": similarity.n}
    make = graph_agglomeration if similarity.has_edges else baselines.bisecting_kmeans
    refine(make(similarity), similarity, time_budget=1.0, n_jobs=-1)
    for seed in range(5):
        begin, reached = time.process_time(), {}

        def note(progress: Progress, begin: float = begin, reached: dict[str, Any] = reached) -> None:
            reached[progress.stage.split(" ")[0]] = progress.best_cost, time.process_time() - begin

        settings = {"effort": float(task.method), "random_state": seed, "n_jobs": -1, "callback": note}
        refine(make(similarity), similarity, **settings)
        unit = 1 / similarity.local_part.data.sum() if similarity.has_edges else 1.0
        for stage in ABLATION_STAGES:
            if stage in reached:
                cost, seconds = reached[stage]
                yield {"seed": seed, "stage": stage, "cost": 2 * cost * unit, "cpu": seconds}


PARTS: dict[str, Callable[[Task], Iterator[Record]]] = {
    "ablation": _ablation,
    "budget": _budget,
    "linkages": _linkages,
    "features": _features,
    "graph": _graph,
    "insertion": _insertion,
    "starts": _starts,
}
