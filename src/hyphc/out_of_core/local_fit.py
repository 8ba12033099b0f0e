"""Out-of-core fit on threads of one process, within a memory limit."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Ints
from .._runtime.memory import available_memory, n_bytes
from .._runtime.parallel import n_threads
from .._runtime.progress import TaskProgress
from .._runtime.storage import as_storage_folder
from ..fit.flat_cut import FlatCut
from ..tree import Tree
from .array_sources import ArrayRows
from .job import PART_SIZE, SAMPLE_SIZE, Job, JobSettings
from .labels import labels_stage, load_labels, load_tree, predict_clusters
from .records import FinishedTree
from .row_sources import Source, open_with_warnings, rows_per_block
from .stages import make_thread_executor, run_stages

# What a row takes while it is fitted: its columns in double precision so many times (rows, sums of subtrees, copies of both), and
# so many bytes for its node of the tree, its edges and the search: at least what `python -m benchmarks memory` measures. Some
# 100 MB that do not grow with the rows come on top, and are not counted: they matter for limits that no machine has.
COPIES, BYTES = 6, 3_700
TREE_BYTES = 120  # per row, when the tree is assembled
SMALLEST_PART = 1_000


def is_on_disk(X: Any) -> bool:
    """Return whether X is a path or a memory-mapped array."""
    return isinstance(X, str | os.PathLike | np.memmap)


def open_source(X: Any) -> Source:
    """Return the rows of a path or of a memory-mapped array."""
    return ArrayRows(X) if isinstance(X, np.memmap) else open_with_warnings(X)


def resolve_memory_limit(memory_limit: float | str | None) -> float:
    """Return the bytes that a fit may use, by default half of the free memory."""
    return available_memory() / 2 if memory_limit is None else n_bytes(memory_limit)


def is_too_large(source: Source, memory_limit: float | str | None) -> bool:
    """Return whether a fit of all rows in memory needs more than the limit."""
    n, d = source.shape
    return n * bytes_per_row(d) > resolve_memory_limit(memory_limit)


def bytes_per_row(d: int) -> int:
    """Return the bytes that a row of d columns takes while it is fitted."""
    return 8 * COPIES * d + BYTES


@dataclass(frozen=True)
class Sizes:
    """Sizes within a memory limit: rows of a part, of the sample and of a block, frontier subtrees, and concurrent tasks.

    All but the last follow from the shape of the data and the limit alone, so that the tree does not depend on the threads.
    """

    part: int
    sample: int
    block: int
    top: int
    tasks: int


def choose_sizes(limit: float, n: int, d: int, n_jobs: int | None) -> Sizes:
    """Return the sizes of parts, sample and blocks within a memory limit, which must also hold the tree.

    Examples
    --------
    >>> choose_sizes(2e9, 10_000_000, 32, 2)
    Sizes(part=20000, sample=128000, block=47746, top=190985, tasks=2)
    """
    row = bytes_per_row(d)
    # the tree is assembled when no other arrays are in memory
    least = max(TREE_BYTES * n, 4 * row * SMALLEST_PART)
    if limit < least:
        raise MemoryError(
            f"memory_limit={limit:.3g} is too little for {n} rows of {d} columns; give at least {least:.3g} bytes."
        )
    part = int(min(PART_SIZE, limit / (4 * row)))
    sample = int(min(max(SAMPLE_SIZE, 256 * n / part), limit / (2 * row)))
    block = int(min(rows_per_block(n, d), max(SMALLEST_PART, limit / (8 * row))))
    tasks = max(1, min(n_threads(n_jobs), int(limit / (2 * row * part))))
    return Sizes(part, min(sample, n), block, int(limit / (2 * row)), tasks)


@dataclass(frozen=True, eq=False)
class OutOfCoreFit:
    """A finished fit; its storage is removed by ``discard`` unless it is a checkpoint."""

    job: Job
    cut: FlatCut
    is_kept: bool = False

    @property
    def tree(self) -> Tree:
        """The tree, memory-mapped."""
        return load_tree(self.job)

    @property
    def labels(self) -> Ints:
        """Flat clusters (n,)."""
        return load_labels(self.job, self.cut).labels

    @property
    def n_clusters(self) -> int:
        """The number of flat clusters."""
        return int(load_labels(self.job, self.cut).n_clusters)

    @property
    def cost(self) -> float:
        """Dasgupta's cost, exact."""
        return float(self.job.shard(FinishedTree).cost)

    def predict(self, rows: npt.NDArray[Any]) -> Ints:
        """Return the cluster that each new row would join."""
        step = self.job.block_rows
        blocks = (rows[start : start + step] for start in range(0, len(rows), step))
        return np.concatenate([predict_clusters(self.job, self.cut, block) for block in blocks])

    def discard(self) -> None:
        """Remove the storage, unless it is a checkpoint."""
        if not self.is_kept:
            shutil.rmtree(str(self.job.storage), ignore_errors=True)


# Parameters of ``HypHC`` that an out-of-core fit supports: those of its settings and of the cut, and these. Others raise.
SUPPORTED = {field.name for kind in (JobSettings, FlatCut) for field in fields(kind)}
SUPPORTED |= {"random_state", "memory_limit", "checkpoint", "n_jobs", "verbose"}


def fit_out_of_core(source: Source, parameters: dict[str, Any], cut: FlatCut, defaults: dict[str, Any]) -> OutOfCoreFit:
    """Fit out of core with the parameters of ``HypHC``, in its checkpoint or in a temporary folder."""
    require_supported(parameters, defaults)
    sizes = choose_sizes(resolve_memory_limit(parameters["memory_limit"]), *source.shape, parameters["n_jobs"])
    folder, is_kept = parameters["checkpoint"], parameters["checkpoint"] is not None
    settings = JobSettings.from_parameters(
        parameters, part_size=sizes.part, sample_size=sizes.sample, block_rows=sizes.block, top_size=sizes.top
    )
    storage = as_storage_folder(folder if is_kept else tempfile.mkdtemp(prefix="hyphc-"))
    job, progress = Job(source, settings, storage), TaskProgress()
    try:
        with progress.display(parameters["verbose"]):
            job.open()
            run_stages(job, make_thread_executor(sizes.tasks, progress), labels_stage(cut))
    except BaseException:
        OutOfCoreFit(job, cut, is_kept).discard()
        raise
    return OutOfCoreFit(job, cut, is_kept)


def require_supported(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise for parameters that an out-of-core fit does not support, unless they have their defaults."""
    for name, value in parameters.items():
        if name not in SUPPORTED and not _is_default(value, defaults[name]):
            raise ValueError(
                f"{name}={value!r} has no meaning for an out-of-core fit; leave it out, or raise memory_limit."
            )


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a value is its default; arrays and trees never are."""
    plain = isinstance(value, bool | int | float | str | tuple | np.generic)
    return value is default or (plain and bool(value == default))
