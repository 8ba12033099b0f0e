"""Stages of an out-of-core fit in order, each a set of independent tasks whose results are shards of a store.

Any scheduler can run them: a task is ``run_task(job, stage, number)``; it reads shards of earlier stages and writes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from .._runtime.parallel import thread_map
from . import assembly, partition, partition_trees, records, sample, top_tree
from . import cross_partition_knn as knn
from .job import Job

Listener = Callable[
    [str, int, int, float], object
]  # stage, tasks done, tasks in all, share of the whole fit that is done


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
    begins, ends : float
        Shares of the time of the whole fit, about, before this stage and with it.
    """

    record: type[records.Record]
    task: Callable[[Job, int], records.Record]
    name: str
    title: str
    round_number: int | None = None
    releases: tuple[str, ...] = ()
    begins: float = 0.0
    ends: float = 1.0

    def done(self, tasks: int, count: int) -> float:
        """Return the share of the whole fit that is done after so many tasks of this stage."""
        return self.begins + (self.ends - self.begins) * tasks / max(count, 1)

    def count(self, job: Job) -> int:
        """Return the number of tasks; over parts, known once these are formed."""
        if self.record.over == "parts":
            return job.n_parts(self.round_number)
        return job.n_blocks if self.record.over == "blocks" else 1


def stages(job: Job) -> Iterator[Stage]:
    """Yield all stages of a fit, in order."""
    yield _stage(job, records.Statistics, sample.collect_statistics)
    yield _stage(job, records.SampleTree, sample.fit_sample)
    yield _stage(job, records.Assignment, partition.assign_cells)
    for number in range(job.n_rounds + 1):
        used = (
            _names(number - 1, records.ShuffledRows, records.Leaves, records.Candidates, records.Neighbors)
            if number
            else (records.Assignment.stage,)
        )
        yield _stage(job, records.Partition, partition.form_parts, number)
        yield _stage(job, records.ShuffledRows, partition.shuffle_rows, number, used)
        yield _stage(job, records.Leaves, partition.gather_leaves, number)
        if job.has_edges:
            yield _stage(job, records.Candidates, knn.search_candidates, number)
            yield _stage(job, records.Neighbors, knn.merge_candidates, number)
    if job.has_edges:
        used = _names(job.n_rounds, records.ShuffledRows, records.Candidates, records.Neighbors)
        yield _stage(job, records.DirectedEdges, knn.refine_neighbors, releases=used)
        yield _stage(job, records.AdjacentParts, knn.find_adjacent_parts)
        yield _stage(job, records.PartGraph, knn.symmetrize_edges, releases=(records.DirectedEdges.stage,))
        yield _stage(job, records.BackgroundStrength, partition_trees.compute_background)
    yield _stage(job, records.PartTree, partition_trees.fit_part)
    if job.has_edges:
        yield _stage(job, records.CoarseEdges, top_tree.coarsen_edges)
    yield _stage(job, records.TopTree, top_tree.fit_top_tree)
    yield _stage(job, records.Degrees, assembly.compute_degrees)
    yield _stage(job, records.FinishedTree, assembly.assemble_tree)


def _stage(
    job: Job,
    record: type[records.Record],
    task: Callable[..., records.Record],
    number: int | None = None,
    releases: tuple[str, ...] = (),
) -> Stage:
    """Return a stage, or that of a round, whose number its tasks take too."""
    rounds = f", round {number + 1} of {job.n_rounds + 1}" if number is not None and job.n_rounds else ""
    task = task if number is None else partial(task, round_number=number)
    return Stage(record, task, job.stage_name(record, number), f"{record.title}{rounds}", number, releases)


def _names(round_number: int, *records: type[records.Record]) -> tuple[str, ...]:
    return tuple(f"{record.stage}-{round_number}" for record in records)


class Executor(Protocol):
    """Runs tasks 0 … count − 1 of a stage, in any order, and returns when all are done."""

    def __call__(self, task: Callable[[int], None], count: int, stage: Stage) -> None: ...


def run_task(job: Job, stage: Stage, number: int) -> None:
    """Write one shard, if it is not in the store; that its statistics are of the same rows is checked."""
    if not job.store.has(stage.name, number):
        job.store.write(stage.name, number, stage.task(job, number).to_arrays())
    elif stage.record is records.Statistics:
        sample.require_same_rows(job, number)


def make_thread_executor(n_jobs: int | None, report: Listener = lambda stage, done, count, share: None) -> Executor:
    """Return an executor that runs tasks on threads of this process."""

    def execute(task: Callable[[int], None], count: int, stage: Stage) -> None:
        done = iter(range(1, count + 1))  # threads take the next number one at a time

        def run_and_report(number: int) -> None:
            task(number)
            finished = next(done)
            report(stage.title, finished, count, stage.done(finished, count))

        report(stage.title, 0, count, stage.begins)
        thread_map(run_and_report, range(count), n_jobs)

    return execute


def run_stages(job: Job, execute: Executor, *more: Stage) -> None:
    """Run all stages in order, then ``more``; results are in the store of the job, which is open."""
    for stage in _with_places((*stages(job), *more)):
        if job.store.is_released(stage.name):
            continue
        execute(partial(run_task, job, stage), stage.count(job), stage)
        for name in stage.releases:
            job.store.release(name)


def _with_places(planned: Sequence[Stage]) -> Iterator[Stage]:
    """Yield the stages with their place among all in their titles, and their shares of the time."""
    titles = list(dict.fromkeys(stage.title for stage in planned))
    total, done = sum(stage.record.share for stage in planned), 0.0
    for stage in planned:
        begins, done = done / total, done + stage.record.share
        title = f"stage {titles.index(stage.title) + 1} of {len(titles)}: {stage.title}"
        yield replace(stage, title=title, begins=begins, ends=done / total)
