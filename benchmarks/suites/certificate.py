"""Certified optimality gap of default fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hyphc import HypHC, as_similarity, baselines, datasets, optimality_gap

from ..harness.cases import GRAPHS, PAPER, Case
from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task
from ..harness.timing import timed

SOURCES = METHOD
SUBSETS_OF = 13
MILLION = (1_000_000, 32)


def tasks() -> list[Task]:
    kinds = {**dict.fromkeys(PAPER, "cosine"), **dict.fromkeys(GRAPHS, "edges")}
    fits = [Task("certificate", case, kind, "hyphc") for case, kind in kinds.items()]
    return [*fits, Task("certificate", "planted-1000000", "cosine", "bisecting")]


def records(task: Task) -> Iterator[Record]:
    """The gap of one tree, its limit with 99 % confidence, what decided, and the seconds of the certificate."""
    million = task.method == "bisecting"
    data = datasets.planted(*MILLION, random_state=0).data if million else None
    similarity = as_similarity(data, "cosine") if million else Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    tree = baselines.bisecting_kmeans(similarity) if million else HypHC(random_state=0).fit(similarity).tree_
    few = as_similarity(datasets.planted(100, 8, random_state=0).data, "cosine")
    optimality_gap(baselines.average_linkage(few), few)  # compiles
    found, seconds = timed(lambda: optimality_gap(tree, similarity, k=SUBSETS_OF, random_state=0, n_jobs=-1))
    yield {"gap": found.gap, "limit": found.confidence_interval[1], "method": found.method, "seconds": seconds}


def certificate_table(store: Store) -> str:
    """Estimate and limit in per cent."""
    rows = []
    for result in map(store.of, tasks()):
        if result and result["records"]:
            record = result["records"][0]
            tree = "bisecting k-means" if result["method"] == "bisecting" else "HypHC"
            name = f"{result['case'].split('-')[0]} ({spaced(result['n'])})"
            percents = [f"{100 * record['gap']:.2f} %", f"{100 * record['limit']:.2f} %"]
            rows.append([name, tree, *percents, record.get("method", "subsets")])
    return table(["set (points)", "tree", "estimate", "with 99 % confidence", "by"], rows, "certificate")


TABLES: dict[str, Callable[[Store], str]] = {"certificate": certificate_table}
