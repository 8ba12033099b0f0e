"""CPU time of writing checkpoints, as a share of that of the fit."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hyphc import HypHC, datasets
from hyphc.fit import resume

from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = METHOD
CASES = ("letter", "cora_ml")
EFFORT = 3.0


def tasks() -> list[Task]:
    return [Task("checkpoints", case, "default", "hyphc", 30 * MINUTE) for case in CASES]


def records(task: Task) -> Iterator[Record]:
    """Fit once, after a fit that compiles; yield the CPU time of all threads in it and in writing states."""
    data = datasets.load(task.case).data
    yield {"n": data.shape[0]}
    metric = "auto" if isinstance(data, np.ndarray) else "precomputed"
    HypHC(metric=metric, random_state=0, effort=0.1).fit(data)
    spent: list[float] = []
    save_if_due = resume.FitCheckpoint.save_if_due

    def timed(checkpoint: resume.FitCheckpoint, frame: Any, now: bool = False) -> None:
        begin, number = time.process_time(), checkpoint._number
        save_if_due(checkpoint, frame, now)
        if checkpoint._number > number:
            spent.append(time.process_time() - begin)

    resume.FitCheckpoint.save_if_due = timed  # type: ignore[method-assign]  # in a process of its own
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        model = HypHC(metric=metric, random_state=0, effort=EFFORT, checkpoint=folder).fit(data)
        seconds = time.process_time() - begin
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    figures = {"states": len(spent), "writing": sum(spent), "seconds": seconds, "bytes": size}
    yield {**figures, "effort": EFFORT, "points": model.n_leaves_}


def cost_table(store: Store) -> str:
    """Return a row for each data set."""
    rows = []
    for case in CASES:
        result = store.get("checkpoints", case, "default", "hyphc")
        if result and result["records"]:
            one = result["records"][0]
            share = f"{100 * one['writing'] / one['seconds']:.2f} %"
            figures = [f"{one['seconds']:.1f}", str(one["states"]), f"{one['writing']:.3f}", share]
            rows.append([case, spaced(one["points"]), f"{one['effort']:g}", *figures, f"{one['bytes'] / 1e6:.1f}"])
    header = [
        "data",
        "points",
        "effort",
        "CPU seconds",
        "states",
        "of which writing",
        "share",
        "MB in the folder",
    ]
    return table(header, rows, "checkpoints")


TABLES: dict[str, Callable[[Store], str]] = {"checkpoint-cost": cost_table}
