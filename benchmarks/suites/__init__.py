"""The suites: a module each, which says what it measures, how, and which tables of the pages follow from it."""

from __future__ import annotations

from typing import cast

from ..harness.cases import SMALL
from ..harness.task import Suite, Task
from . import (
    certificate,
    classification,
    cluster,
    continuous,
    curves,
    decoding,
    explorer,
    faults,
    fuzz,
    graphs,
    memory,
    neighbors,
    nn,
    nulls,
    parts,
    scores,
    search,
    sharpening,
    snapshots,
    soak,
    speed,
    spreading,
    study,
    subsets,
    support,
    tables,
    toys,
    triplets,
)

_MODULES = (
    decoding,
    snapshots,
    triplets,
    curves,
    graphs,
    toys,
    nulls,
    study,
    classification,
    tables,
    certificate,
    spreading,
    sharpening,
    subsets,
    continuous,
    search,
    speed,
    scores,
    memory,
    neighbors,
    nn,
    parts,
    cluster,
    explorer,
    support,
    faults,
    fuzz,
    soak,
)
SUITES = {module.__name__.rsplit(".", 1)[1]: cast(Suite, module) for module in _MODULES}
_QUICK = ("tables", "decoding", "curves", "triplets", "snapshots")


def small() -> list[Task]:
    """The small sets: minutes."""
    tasks = [task for name in _QUICK for task in SUITES[name].tasks() if task.case in SMALL]
    # the paper's protocol takes many minutes on segmentation
    return [task for task in tasks if (task.method, task.case) != ("hyphc-paper", "segmentation")]


def everything() -> list[Task]:
    """All suites; the small sets first."""
    tasks = {task.key: task for suite in SUITES.values() for task in suite.tasks()}
    return list({**{task.key: task for task in small()}, **tasks}.values())


PLANS = {"small": small, "all": everything}
