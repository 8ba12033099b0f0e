"""Faults: what is done to fits and files, how often, how often it was survived, and what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from ..faults import endings, kills
from ..faults.trial import NOTHING, Group
from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import Record, Task

SOURCES = (*METHOD, "cli")
GROUPS = {"kills": cast(Group, kills), "endings": cast(Group, endings)}


def tasks() -> list[Task]:
    return [Task("faults", case, name, "long", group.LIMIT) for name, group in GROUPS.items() for case in group.CASES]


def records(task: Task) -> Iterator[Record]:
    """The trials of a case."""
    group = GROUPS[task.kind]
    yield {"n": group.LONG}
    for trial in group.trials(task.case, group.LONG):
        yield dict(trial)


def fault_table(store: Store) -> str:
    """A row for each case that was tried."""
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
    lost = sorted({trial["lost"] for trial in trials}) if survived < len(trials) else [NOTHING]
    seeds = sorted({trial["seed"] for trial in trials})
    told = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    return [what, spaced(len(trials)), spaced(survived), "; ".join(lost), told, str(result["commit"])]


TABLES: dict[str, Callable[[Store], str]] = {"faults": fault_table}
