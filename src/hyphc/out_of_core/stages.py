"""A fit by parts: its stages in order, each a set of independent tasks whose results are pieces of a checkpoint.

    survey      blocks   what columns are like; candidates for the sample
    sample      one      the sample's tree, cut into cells
    assignment  blocks   each row to the cell that it would join at its cheapest place
    parts       one      cells to parts, by exact counts
    shuffle     blocks   rows in the order of their parts
    leaves      parts    the rows of each part together, copies as one
    answers     parts    nearest leaves, of a part's own and of visitors from across its borders
    lists       parts    each leaf's neighbours, the nearest of all answers
    edges       parts    each leaf's neighbours, once it has looked at those of its neighbours
    borders     one      which parts have edges with which
    graph       parts    both directions of an edge joined
    weights     one      the strength of the background
    fits        parts    the tree of each part
    coarse      parts    edges between small subtrees, within a part and across its borders
    top         one      the tree above, repaired across borders

Any scheduler can run them: a task is ``perform(problem, stage, number)``, it reads pieces of earlier stages and writes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from .._runtime.parallel import thread_map
from .._runtime.shard_store import Arrays
from .assembly import assemble, settle
from .cross_partition_knn import answer, ask, choose, meet, weigh
from .job import Problem
from .partition import assign, count_moved, distribute, divide, gather
from .partition_trees import fit_part, weights
from .progress import Listener
from .sample import require_same_rows, sample_tree, survey
from .top_tree import coarsen, top_tree


@dataclass(frozen=True)
class Stage:
    """A stage: its name, what a task of it does, and over what there are tasks."""

    name: str
    task: Callable[[Problem, int], Arrays]
    over: Literal["blocks", "parts", "one"]
    turn: int | None = None
    releases: tuple[str, ...] = ()  # stages that nothing reads again once this one is finished
    check: Callable[[Problem, int], None] | None = None  # of a piece that an earlier process has made

    def count(self, problem: Problem) -> int:
        """How many tasks it has; of parts, known once they are divided."""
        if self.over == "parts":
            return problem.n_parts(self.turn)
        return problem.n_blocks if self.over == "blocks" else 1


def stages(problem: Problem) -> Iterator[Stage]:
    """All stages of a fit, in order."""
    yield Stage("survey", survey, "blocks", check=require_same_rows)
    yield Stage("sample", sample_tree, "one")
    yield Stage("assignment", assign, "blocks")
    yield Stage("parts-0", divide, "one")
    for turn in range(problem.n_turns + 1):
        yield from _turn(problem, turn)
    if problem.has_edges:
        yield Stage("edges", ask, "parts", releases=_of_turn(problem.n_turns, "shuffle", "answers", "lists"))
        yield Stage("borders", meet, "one")
        yield Stage("graph", weigh, "parts", releases=("edges",))
        yield Stage("weights", weights, "one")
    yield Stage("fits", fit_part, "parts")
    if problem.has_edges:
        yield Stage("coarse", coarsen, "parts")
    yield Stage("top", top_tree, "one")
    yield Stage("settled", settle, "parts")
    yield Stage("tree", assemble, "one")


def _turn(problem: Problem, turn: int) -> Iterator[Stage]:
    """Rows to their parts, and neighbours within and across these."""
    if turn > 0:
        yield Stage(f"parts-{turn}", partial(count_moved, turn=turn), "one")
    before = ("assignment",) if turn == 0 else _of_turn(turn - 1, "shuffle", "leaves", "answers", "lists")
    yield Stage(f"shuffle-{turn}", partial(distribute, turn=turn), "blocks", releases=before)
    yield Stage(f"leaves-{turn}", partial(gather, turn=turn), "parts", turn)
    if problem.has_edges:
        yield Stage(f"answers-{turn}", partial(answer, turn=turn), "parts", turn)
        yield Stage(f"lists-{turn}", partial(choose, turn=turn), "parts", turn)


def _of_turn(turn: int, *names: str) -> tuple[str, ...]:
    return tuple(f"{name}-{turn}" for name in names)


class Executor(Protocol):
    """Whoever runs tasks 0 … count − 1 of a stage, in any order, and returns when all are done."""

    def __call__(self, task: Callable[[int], None], count: int, stage: str) -> None: ...


def perform(problem: Problem, stage: Stage, number: int) -> None:
    """Do one task, unless its piece is there; then make sure that it is of this problem, if there is any doubt."""
    if not problem.store.has(stage.name, number):
        problem.store.write(stage.name, number, stage.task(problem, number))
    elif stage.check is not None:
        stage.check(problem, number)


def on_threads(n_jobs: int | None, tell: Listener = lambda stage, done, count: None) -> Executor:
    """Tasks on threads of this process."""

    def execute(task: Callable[[int], None], count: int, stage: str) -> None:
        done = iter(range(1, count + 1))  # threads take the next number one at a time

        def perform_and_tell(number: int) -> None:
            task(number)
            tell(stage, next(done), count)

        tell(stage, 0, count)
        thread_map(perform_and_tell, range(count), n_jobs)

    return execute


def fit_by_parts(problem: Problem, execute: Executor, *more: Stage) -> None:
    """All stages, one after the other, and ``more``; what comes of them is in the problem's storage, which is open."""
    for stage in (*stages(problem), *more):
        if problem.store.is_released(stage.name):
            continue
        execute(partial(perform, problem, stage), stage.count(problem), stage.name)
        for name in stage.releases:
            problem.store.release(name)
