"""Faults injected into fits: kills, full disks, signals, no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from ..faults import cost, endings, kills
from ..faults.trial import NOTHING, Group
from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import MINUTE, Record, Task

SOURCES = (*METHOD, "cli")
GROUPS = {"kills": cast(Group, kills), "endings": cast(Group, endings)}


EFFORT = 3.0  # of the fits whose checkpoints are timed


def tasks() -> list[Task]:
    timed = [Task("faults", case, "cost", "long", 30 * MINUTE) for case in cost.CASES]
    return timed + [
        Task("faults", case, name, "long", group.LIMIT) for name, group in GROUPS.items() for case in group.CASES
    ]


def records(task: Task) -> Iterator[Record]:
    """The trials of a case; or what its checkpoints cost."""
    if task.kind == "cost":
        yield {"n": 1}
        yield cost.measured(task.case, EFFORT)
        return
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
    lost = sorted({trial["lost"] for trial in trials} - {NOTHING}) or [NOTHING]
    seeds = sorted({trial["seed"] for trial in trials})
    told = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    return [what, spaced(len(trials)), spaced(survived), "; ".join(lost), told, str(result["commit"])]


def cost_table(store: Store) -> str:
    """What the checkpoints of a fit cost."""
    rows = []
    for case in cost.CASES:
        result = store.get("faults", case, "cost", "long")
        if result and result["records"]:
            one = result["records"][0]
            share = f"{100 * one['writing'] / one['seconds']:.2f} %"
            figures = [f"{one['seconds']:.1f}", str(one["states"]), f"{one['writing']:.3f}", share]
            rows.append([case, spaced(one["points"]), f"{one['effort']:g}", *figures, f"{one['bytes'] / 1e6:.1f}"])
    header = [
        "data",
        "points",
        "effort",
        "processor seconds",
        "states",
        "of which writing",
        "share",
        "MB in the folder",
    ]
    return table(header, rows, "faults")


TABLES: dict[str, Callable[[Store], str]] = {"faults": fault_table, "checkpoint-cost": cost_table}
