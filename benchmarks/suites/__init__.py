"""The suites: a module each, which says what it measures, how, and which tables of the pages follow from it.

Benchmarks are modules of this folder; suites of reliability stand beside the system tests that run short forms of them.
"""

from __future__ import annotations

from typing import cast

from tests.system.faults import suite as faults
from tests.system.fuzzing import suite as fuzzing
from tests.system.soak import suite as soak

from ..harness.cases import SMALL
from ..harness.task import Suite, Task
from . import (
    best_known,
    certificate,
    checkpoints,
    classification,
    cluster,
    continuous,
    control,
    curves,
    decoding,
    explorer,
    graphs,
    memory,
    neighbors,
    nn,
    nulls,
    parts,
    scores,
    search,
    shapes,
    sharpening,
    snapshots,
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
    shapes,
    study,
    classification,
    tables,
    certificate,
    best_known,
    spreading,
    sharpening,
    subsets,
    control,
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
    checkpoints,
)
BENCHMARKS = {module.__name__.rsplit(".", 1)[1]: cast(Suite, module) for module in _MODULES}
SYSTEM = {"faults": cast(Suite, faults), "fuzzing": cast(Suite, fuzzing), "soak": cast(Suite, soak)}
SUITES = {**BENCHMARKS, **SYSTEM}
_QUICK = ("tables", "decoding", "curves", "triplets", "snapshots")


def small() -> list[Task]:
    """The small sets: minutes."""
    tasks = [task for name in _QUICK for task in SUITES[name].tasks() if task.case in SMALL]
    # the paper's protocol takes many minutes on segmentation
    return [task for task in tasks if (task.method, task.case) != ("hyphc-paper", "segmentation")]


def everything() -> list[Task]:
    """All benchmarks; the small sets first."""
    tasks = {task.key: task for suite in BENCHMARKS.values() for task in suite.tasks()}
    return list({**{task.key: task for task in small()}, **tasks}.values())


PLANS = {"small": small, "all": everything}
