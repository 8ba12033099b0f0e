"""Embeddings of zoo at five moments of the training; a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hyphc import embed

from ..harness.cases import Case
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task

SOURCES = METHOD
SNAPSHOTS = (0.0, 0.1, 0.3, 0.6, 1.0)  # shares of a run
TABLES: dict[str, Callable[[Store], str]] = {}


def tasks() -> list[Task]:
    return [Task("snapshots", "zoo", "cosine", "snapshots")]


def records(task: Task) -> Iterator[Record]:
    similarity = Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    kept: list[Record] = []

    def keep(progress: Any) -> None:
        if len(kept) < len(SNAPSHOTS) and progress.iteration >= SNAPSHOTS[len(kept)] * (progress.max_iter - 1):
            points = np.round(progress.embedding, 5).tolist()
            cost = 2 * progress.decoded_cost
            kept.append({"iteration": progress.iteration, "of": progress.max_iter, "cost": cost, "points": points})

    embed(similarity, random_state=0, n_jobs=-1, callback=keep)
    labels = np.unique(Case(task.case).labels, return_inverse=True)[1].tolist()
    yield from ({**record, "labels": labels} for record in kept)
