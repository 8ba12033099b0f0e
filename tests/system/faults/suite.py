"""Faults injected into fits: kills, full disks, signals, no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from benchmarks.harness.markdown import spaced, table
from benchmarks.harness.sources import METHOD
from benchmarks.harness.store import Result, Store
from benchmarks.harness.task import Record, Task

from . import endings, kills
from .trial import NOTHING, Group

SOURCES = (*METHOD, "cli")
GROUPS = {"kills": cast(Group, kills), "endings": cast(Group, endings)}


def tasks() -> list[Task]:
    return [Task("faults", case, name, "long", group.LIMIT) for name, group in GROUPS.items() for case in group.CASES]


def records(task: Task) -> Iterator[Record]:
    """Yield the trials of a case."""
    group = GROUPS[task.kind]
    yield {"n": group.LONG}
    for trial in group.trials(task.case, group.LONG):
        yield dict(trial)


def fault_table(store: Store) -> str:
    """Return a row for each case that was tried."""
    rows = [
        _row(group.CASES[case], result)
        for name, group in GROUPS.items()
        for case in group.CASES
        if (result := store.get("faults", case, name, "long")) and result["records"]
    ]
    return table(["what happens", "tried", "survived", "lost", "seeds", "commit"], rows, "faults")


def _row(what: str, result: Result) -> list[str]:
    trials = result["records"]
    survived = sum(trial["survived"] for trial in trials)
    lost = sorted({trial["lost"] for trial in trials} - {NOTHING}) or [NOTHING]
    seeds = sorted({trial["seed"] for trial in trials})
    shown = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    return [what, spaced(len(trials)), spaced(survived), "; ".join(lost), shown, str(result["commit"])]


TABLES: dict[str, Callable[[Store], str]] = {"faults": fault_table}
