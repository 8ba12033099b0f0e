"""Continuous cost against the number of sampled triplets; a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from hyphc import embed

from ..harness.cases import DECODED, Case
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task

SOURCES = METHOD
BUDGETS = np.geomspace(0.3, 300, 9)  # triplets / n²
TABLES: dict[str, Callable[[Store], str]] = {}


def tasks() -> list[Task]:
    return [Task("triplets", case, "cosine", "triplets") for case in DECODED]


def records(task: Task) -> Iterator[Record]:
    similarity = Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    for share in BUDGETS:
        budget = int(share * similarity.n**2)
        for seed in range(3):
            result = embed(similarity, max_triplets=budget, random_state=seed, n_jobs=-1)
            yield {"budget": budget, "seed": seed, "triplets": result.n_triplets, "cost": 2 * result.cost}
