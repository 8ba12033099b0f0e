"""Certificates against the size of their subsets.

Of the fitted tree and of average linkage, for subsets of 3 to 13 leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hyphc import HypHC, baselines, optimality_gap

from ..harness.cases import Case
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task

SOURCES = METHOD
SETS = ("zoo", "iris", "glass", "segmentation")
SIZES = range(3, 14)


def tasks() -> list[Task]:
    return [Task("subsets", case, "cosine", method) for case in SETS for method in TREES]


def records(task: Task) -> Iterator[Record]:
    similarity = Case(task.case).similarity("cosine")
    yield {"n": similarity.n}
    tree = TREES[task.method](similarity)
    for k in SIZES:
        found = optimality_gap(tree, similarity, k=k, random_state=0)
        low, high = found.confidence_interval
        yield {"k": k, "gap": found.gap, "low": low, "high": high}


TREES = {
    "hyphc": lambda similarity: HypHC(random_state=0).fit(similarity).tree_,
    "average linkage": baselines.average_linkage,
}
TABLES: dict[str, Callable[[Store], str]] = {}
