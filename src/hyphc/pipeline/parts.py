"""A fit by parts: its stages in order, each a set of independent tasks whose results are pieces of a checkpoint.

    survey      blocks   what columns are like; candidates for the sample
    sample      one      the sample's tree, cut into cells
    assignment  blocks   each row to the cell that it would join at its cheapest place
    parts       one      cells to parts, by exact counts
    shuffle     blocks   rows in the order of their parts
    leaves      parts    the rows of each part together, copies as one
    answers     parts    nearest leaves, of a part's own and of visitors from across its borders
    edges       parts    each leaf's neighbours, the nearest of all answers
    graph       parts    both directions joined
    weights     one      the strength of the background
    fits        parts    the tree of each part
    coarse      parts    edges between small subtrees, within a part and across its borders
    top         one      the tree above, repaired across borders

Any scheduler can run them: a task is ``perform(problem, stage, number)``, it reads pieces of earlier stages and writes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from .._shared.parallel import thread_map
from .assignment import assign, distribute, divide, gather
from .borders import answer, choose, weigh
from .checkpoint import Arrays
from .part_fits import fit_part, weights
from .problem import Problem
from .sampling import sample_tree, survey
from .top_tree import coarsen, top_tree


@dataclass(frozen=True)
class Stage:
    """A stage: its name, what a task of it does, how many tasks there are, and whether only graphs of neighbours need it."""

    name: str
    task: Callable[[Problem, int], Arrays]
    over: Literal["blocks", "parts", "one"]
    of_edges: bool = False

    def count(self, problem: Problem) -> int:
        """How many tasks it has; of parts, known once they are divided."""
        return {"blocks": problem.n_blocks, "one": 1}.get(self.over) or problem.n_parts


STAGES = (
    Stage("survey", survey, "blocks"),
    Stage("sample", sample_tree, "one"),
    Stage("assignment", assign, "blocks"),
    Stage("parts", divide, "one"),
    Stage("shuffle", distribute, "blocks"),
    Stage("leaves", gather, "parts"),
    Stage("answers", answer, "parts", True),
    Stage("edges", choose, "parts", True),
    Stage("graph", weigh, "parts", True),
    Stage("weights", weights, "one", True),
    Stage("fits", fit_part, "parts"),
    Stage("coarse", coarsen, "parts", True),
    Stage("top", top_tree, "one"),
)
TASKS = {stage.name: stage.task for stage in STAGES}


class Executor(Protocol):
    """Whoever runs tasks 0 … count − 1 of a stage, in any order, and returns when all are done."""

    def __call__(self, task: Callable[[int], None], count: int, stage: str) -> None: ...


def perform(problem: Problem, stage: str, number: int) -> None:
    """Do one task, unless its piece is there."""
    if not problem.store.has(stage, number):
        problem.store.write(stage, number, TASKS[stage](problem, number))


def on_threads(n_jobs: int | None) -> Executor:
    """Tasks on threads of this process."""

    def execute(task: Callable[[int], None], count: int, stage: str) -> None:
        thread_map(task, range(count), n_jobs)

    return execute


def fit_by_parts(problem: Problem, execute: Executor) -> None:
    """All stages, one after the other; what comes of them is in the problem's storage."""
    problem.open()
    for stage in STAGES:
        if problem.has_edges or not stage.of_edges:
            execute(partial(perform, problem, stage.name), stage.count(problem), stage.name)
