"""Stages of an out-of-core fit in order, each a set of independent tasks whose results are shards of a store.

Any scheduler can run them: a task is ``run_task(job, stage, number)``; it reads shards of earlier stages and writes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from .._runtime.parallel import thread_map
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
from .partition_trees import compute_background, fit_part
from .records import (
    AdjacentParts,
    Assignment,
    BackgroundStrength,
    Candidates,
    CoarseEdges,
    Degrees,
    DirectedEdges,
    FinishedTree,
    Leaves,
    Neighbors,
    PartGraph,
    Partition,
    PartTree,
    Record,
    SampleTree,
    ShuffledRows,
    Statistics,
    TopTree,
)
from .sample import collect_statistics, fit_sample, require_same_rows
from .top_tree import coarsen_edges, fit_top_tree

Listener = Callable[[str, int, int], object]  # stage, tasks done, tasks in all


@dataclass(frozen=True)
class Stage:
    """A stage of a job.

    Attributes
    ----------
    record : type of Record
        What its tasks write.
    task : callable
        Maps the job and the number of the task to a record.
    name : str
        Where its shards are in the store.
    title : str
        Its name on a progress line.
    round_number : int or None
        Of stages that are repeated, from 0.
    releases : tuple of str
        Names of stages that nothing reads again once this one is finished.
    check : callable, optional
        Checks a shard that an earlier process has written.
    """

    record: type[Record]
    task: Callable[[Job, int], Record]
    name: str
    title: str
    round_number: int | None = None
    releases: tuple[str, ...] = ()
    check: Callable[[Job, int], None] | None = None

    def count(self, job: Job) -> int:
        """Return the number of tasks; over parts, known once these are formed."""
        if self.record.over == "parts":
            return job.n_parts(self.round_number)
        return job.n_blocks if self.record.over == "blocks" else 1


def make_stage(record: type[Record], task: Callable[[Job, int], Record], **options: Any) -> Stage:
    """Return a stage that runs once."""
    return Stage(record, task, record.stage, record.title, **options)


def stages(job: Job) -> Iterator[Stage]:
    """Yield all stages of a fit, in order."""
    yield make_stage(Statistics, collect_statistics, check=require_same_rows)
    yield make_stage(SampleTree, fit_sample)
    yield make_stage(Assignment, assign_cells)
    for round_number in range(job.n_rounds + 1):
        yield from _round_stages(job, round_number)
    if job.has_edges:
        used = _names(job.n_rounds, ShuffledRows, Candidates, Neighbors)
        yield make_stage(DirectedEdges, refine_neighbors, releases=used)
        yield make_stage(AdjacentParts, find_adjacent_parts)
        yield make_stage(PartGraph, symmetrize_edges, releases=(DirectedEdges.stage,))
        yield make_stage(BackgroundStrength, compute_background)
    yield make_stage(PartTree, fit_part)
    if job.has_edges:
        yield make_stage(CoarseEdges, coarsen_edges)
    yield make_stage(TopTree, fit_top_tree)
    yield make_stage(Degrees, compute_degrees)
    yield make_stage(FinishedTree, assemble_tree)


def _round_stages(job: Job, number: int) -> Iterator[Stage]:
    """Yield the stages of a round: rows to parts, then nearest neighbours within and across parts."""
    last = _names(number - 1, ShuffledRows, Leaves, Candidates, Neighbors)
    form = form_parts if number == 0 else partial(count_moves, round_number=number)
    yield _repeated(job, number, Partition, form)
    shuffle = partial(shuffle_rows, round_number=number)
    yield _repeated(job, number, ShuffledRows, shuffle, releases=last if number else (Assignment.stage,))
    yield _repeated(job, number, Leaves, partial(gather_leaves, round_number=number))
    if job.has_edges:
        yield _repeated(job, number, Candidates, partial(search_candidates, round_number=number))
        yield _repeated(job, number, Neighbors, partial(merge_candidates, round_number=number))


def _repeated(
    job: Job, number: int, record: type[Record], task: Callable[[Job, int], Record], releases: tuple[str, ...] = ()
) -> Stage:
    """Return a stage of a round."""
    rounds = f", round {number + 1} of {job.n_rounds + 1}" if job.n_rounds else ""
    return Stage(record, task, job.stage_name(record, number), f"{record.title}{rounds}", number, releases)


def _names(round_number: int, *records: type[Record]) -> tuple[str, ...]:
    return tuple(f"{record.stage}-{round_number}" for record in records)


class Executor(Protocol):
    """Runs tasks 0 … count − 1 of a stage, in any order, and returns when all are done."""

    def __call__(self, task: Callable[[int], None], count: int, stage: Stage) -> None: ...


def run_task(job: Job, stage: Stage, number: int) -> None:
    """Write one shard; if it is there, check that it is of this job where that is in doubt."""
    if not job.store.has(stage.name, number):
        job.store.write(stage.name, number, stage.task(job, number).to_arrays())
    elif stage.check is not None:
        stage.check(job, number)


def make_thread_executor(n_jobs: int | None, report: Listener = lambda stage, done, count: None) -> Executor:
    """Return an executor that runs tasks on threads of this process."""

    def execute(task: Callable[[int], None], count: int, stage: Stage) -> None:
        done = iter(range(1, count + 1))  # threads take the next number one at a time

        def run_and_report(number: int) -> None:
            task(number)
            report(stage.title, next(done), count)

        report(stage.title, 0, count)
        thread_map(run_and_report, range(count), n_jobs)

    return execute


def run_stages(job: Job, execute: Executor, *more: Stage) -> None:
    """Run all stages in order, then ``more``; results are in the store of the job, which is open."""
    planned = (*stages(job), *more)
    for position, stage in enumerate(planned, 1):
        if job.store.is_released(stage.name):
            continue
        titled = replace(stage, title=f"stage {position} of {len(planned)}: {stage.title}")
        execute(partial(run_task, job, stage), stage.count(job), titled)
        for name in stage.releases:
            job.store.release(name)
