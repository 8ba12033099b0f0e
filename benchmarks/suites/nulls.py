"""Number of clusters found in unimodal data, where one is right.

Counted by shape and number of points.

The constants of the rule were chosen on seeds below 1 000. Here seeds begin at 1 000 000.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hyphc import HypHC

from ..harness.markdown import spaced, table
from ..harness.nulls import NULLS
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = METHOD
FIRST_SEED = 1_000_000
SEEDS = {100: 40, 500: 5}  # seeds of each shape, by the number of points


def tasks() -> list[Task]:
    return [Task("nulls", str(n), "auto", "ours", limit=60 * MINUTE) for n in SEEDS]


def records(task: Task) -> Iterator[Record]:
    n = int(task.case)
    for shape, draw in NULLS.items():
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS[n]):
            X = draw(np.random.default_rng(seed), n)
            begin = time.perf_counter()
            model = HypHC(random_state=0).fit(X)
            seconds = time.perf_counter() - begin
            yield {
                "shape": shape,
                "seed": seed,
                "found": model.n_clusters_,
                "p": _smallest_p(model),
                "seconds": seconds,
            }


def _smallest_p(model: Any) -> float:
    p_values = model.cluster_number_.p_values
    return float(np.nanmin(p_values, initial=1.0))


def nulls_table(store: Store) -> str:
    """Return how often one cluster was found, for each shape and number of points."""
    results = {n: store.get("nulls", str(n), "auto", "ours") for n in SEEDS}
    found = {n: result["records"] for n, result in results.items() if result is not None and result["records"]}
    rows = [[shape, *(_right([r["found"] for r in found[n] if r["shape"] == shape]) for n in found)] for shape in NULLS]
    return table(["shape", *(f"{spaced(n)} points" for n in found)], rows if found else [], "nulls")


def families_table(store: Store) -> str:
    """Return how often one cluster was found, for each family of shapes, over all numbers of points and of columns."""
    results = [store.get("nulls", str(n), "auto", "ours") for n in SEEDS]
    found = [record for result in results if result is not None for record in result["records"]]
    families = dict.fromkeys(shape.partition(",")[0] for shape in NULLS)
    numbers = {family: [r["found"] for r in found if r["shape"].partition(",")[0] == family] for family in families}
    rows = [[family, _right(numbers[family])] for family in families]
    everything = [["all", _right([record["found"] for record in found])]]
    return table(["shape", "one cluster found"], [*rows, *everything] if found else [], "nulls")


def _right(found: list[int]) -> str:
    counts = Counter(found)
    others = ", ".join(f"{k} ({times}×)" for k, times in sorted(counts.items()) if k != 1)
    return f"{counts[1]} of {counts.total()}" + (f"; {others}" if others else "")


TABLES: dict[str, Callable[[Store], str]] = {"nulls": nulls_table, "nulls-families": families_table}
