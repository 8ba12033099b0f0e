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
from .assembly import assemble_tree, compute_degrees
from .cross_partition_knn import (
    find_adjacent_parts,
    merge_candidates,
    refine_neighbors,
    search_candidates,
    symmetrize_edges,
)
from .job import Job
from .partition import assign_cells, count_moves, form_parts, gather_leaves, shuffle_rows
from .partition_trees import fit_part, weights
from .progress import Listener
from .sample import collect_statistics, fit_sample, require_same_rows
from .top_tree import coarsen_edges, fit_top_tree


@dataclass(frozen=True)
class Stage:
    """A stage: its name, what a task of it does, and over what there are tasks."""

    name: str
    task: Callable[[Job, int], Arrays]
    over: Literal["blocks", "parts", "one"]
    round_number: int | None = None
    releases: tuple[str, ...] = ()  # stages that nothing reads again once this one is finished
    check: Callable[[Job, int], None] | None = None  # of a piece that an earlier process has made

    def count(self, job: Job) -> int:
        """How many tasks it has; of parts, known once they are divided."""
        if self.over == "parts":
            return job.n_parts(self.round_number)
        return job.n_blocks if self.over == "blocks" else 1


def stages(job: Job) -> Iterator[Stage]:
    """All stages of a fit, in order."""
    yield Stage("survey", collect_statistics, "blocks", check=require_same_rows)
    yield Stage("sample", fit_sample, "one")
    yield Stage("assignment", assign_cells, "blocks")
    yield Stage("parts-0", form_parts, "one")
    for round_number in range(job.n_rounds + 1):
        yield from _round_stages(job, round_number)
    if job.has_edges:
        yield Stage(
            "edges", refine_neighbors, "parts", releases=_round_names(job.n_rounds, "shuffle", "answers", "lists")
        )
        yield Stage("borders", find_adjacent_parts, "one")
        yield Stage("graph", symmetrize_edges, "parts", releases=("edges",))
        yield Stage("weights", weights, "one")
    yield Stage("fits", fit_part, "parts")
    if job.has_edges:
        yield Stage("coarse", coarsen_edges, "parts")
    yield Stage("top", fit_top_tree, "one")
    yield Stage("settled", compute_degrees, "parts")
    yield Stage("tree", assemble_tree, "one")


def _round_stages(job: Job, round_number: int) -> Iterator[Stage]:
    """Rows to their parts, and neighbours within and across these."""
    if round_number > 0:
        yield Stage(f"parts-{round_number}", partial(count_moves, round_number=round_number), "one")
    before = (
        ("assignment",)
        if round_number == 0
        else _round_names(round_number - 1, "shuffle", "leaves", "answers", "lists")
    )
    yield Stage(f"shuffle-{round_number}", partial(shuffle_rows, round_number=round_number), "blocks", releases=before)
    yield Stage(f"leaves-{round_number}", partial(gather_leaves, round_number=round_number), "parts", round_number)
    if job.has_edges:
        yield Stage(f"answers-{round_number}", partial(search_candidates, round_number=round_number), "parts", round_number)
        yield Stage(f"lists-{round_number}", partial(merge_candidates, round_number=round_number), "parts", round_number)


def _round_names(round_number: int, *names: str) -> tuple[str, ...]:
    return tuple(f"{name}-{round_number}" for name in names)


class Executor(Protocol):
    """Whoever runs tasks 0 … count − 1 of a stage, in any order, and returns when all are done."""

    def __call__(self, task: Callable[[int], None], count: int, stage: str) -> None: ...


def run_task(job: Job, stage: Stage, number: int) -> None:
    """Do one task, unless its piece is there; then make sure that it is of this problem, if there is any doubt."""
    if not job.store.has(stage.name, number):
        job.store.write(stage.name, number, stage.task(job, number))
    elif stage.check is not None:
        stage.check(job, number)


def make_thread_executor(n_jobs: int | None, tell: Listener = lambda stage, done, count: None) -> Executor:
    """Tasks on threads of this process."""

    def execute(task: Callable[[int], None], count: int, stage: str) -> None:
        done = iter(range(1, count + 1))  # threads take the next number one at a time

        def perform_and_tell(number: int) -> None:
            task(number)
            tell(stage, next(done), count)

        tell(stage, 0, count)
        thread_map(perform_and_tell, range(count), n_jobs)

    return execute


def run_stages(job: Job, execute: Executor, *more: Stage) -> None:
    """All stages, one after the other, and ``more``; what comes of them is in the problem's storage, which is open."""
    for stage in (*stages(job), *more):
        if job.store.is_released(stage.name):
            continue
        execute(partial(run_task, job, stage), stage.count(job), stage.name)
        for name in stage.releases:
            job.store.release(name)
