"""A fit of rows that memory cannot hold, on threads of one process, within a limit of memory."""

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
from .._runtime.storage import as_storage_folder
from ..tree import Tree
from .job import PART_SIZE, SAMPLE_SIZE, Problem, Recipe
from .labels import Cut, predicted, tree_of
from .npy_source import ArrayRows, Rows
from .progress import Telling
from .row_sources import Source, open_to_fit, rows_of_a_block
from .stages import fit_by_parts, on_threads

# What a row takes while it is fitted: its columns in double precision so many times (rows, sums of subtrees, copies of both), and
# so many bytes for its node of the tree, its edges and the search: at least what `python -m benchmarks memory` measures. Some
# 100 MB that do not grow with the rows come on top, and are not counted: they matter for limits that no machine has.
COPIES, BYTES = 6, 3_700
TREE_BYTES = 120  # a row, when the whole tree is put together
SMALLEST_PART = 1_000


def is_on_disk(X: Any) -> bool:
    """Whether X is a path or a memory-mapped array."""
    return isinstance(X, str | os.PathLike | np.memmap)


def opened(X: Any) -> Source:
    """The rows of a path or of a memory-mapped array."""
    return ArrayRows(X) if isinstance(X, np.memmap) else open_to_fit(X)


def allowed(memory_limit: float | str | None) -> float:
    """Bytes that a fit may use: half of what is free where nobody says."""
    return available_memory() / 2 if memory_limit is None else n_bytes(memory_limit)


def is_too_large(source: Source, memory_limit: float | str | None) -> bool:
    """Whether a fit of all rows at once needs more than the limit."""
    n, d = source.shape
    return n * bytes_of_a_row(d) > allowed(memory_limit)


def bytes_of_a_row(d: int) -> int:
    """Return the bytes that a row of d columns takes while it is fitted."""
    return 8 * COPIES * d + BYTES


@dataclass(frozen=True)
class Sizes:
    """What a limit of memory allows: rows of a part, of the sample and of a block, subtrees above, and how many tasks at a time.

    All but the last follow from the shape of the data and the limit alone, so that the tree does not depend on the threads.
    """

    part: int
    sample: int
    block: int
    top: int
    tasks: int


def sizes_within(limit: float, n: int, d: int, n_jobs: int | None) -> Sizes:
    """Parts, sample and blocks that a limit of memory allows; the tree itself must fit as well.

    Examples
    --------
    >>> sizes_within(2e9, 10_000_000, 32, 2)
    Sizes(part=20000, sample=128000, block=47746, top=190985, tasks=2)
    """
    row = bytes_of_a_row(d)
    # the tree is put together when nothing else is there
    least = max(TREE_BYTES * n, 4 * row * SMALLEST_PART)
    if limit < least:
        raise MemoryError(
            f"memory_limit={limit:.3g} is too little for {n} rows of {d} columns; give at least {least:.3g} bytes."
        )
    part = int(min(PART_SIZE, limit / (4 * row)))
    sample = int(min(max(SAMPLE_SIZE, 256 * n / part), limit / (2 * row)))
    block = int(min(rows_of_a_block(n, d), max(SMALLEST_PART, limit / (8 * row))))
    tasks = max(1, min(n_threads(n_jobs), int(limit / (2 * row * part))))
    return Sizes(part, min(sample, n), block, int(limit / (2 * row)), tasks)


@dataclass(frozen=True, eq=False)
class FromDisk:
    """What came of it; its storage is there until ``discard``, or for good if somebody chose the place."""

    problem: Problem
    cut: Cut
    is_kept: bool = False

    @property
    def tree(self) -> Tree:
        """The tree, memory-mapped."""
        return tree_of(self.problem)

    @property
    def labels(self) -> Ints:
        """Flat clusters."""
        return self.problem.store.one(self.cut.stage().name, 0, "labels")

    @property
    def n_clusters(self) -> int:
        """How many."""
        return int(self.problem.store.one(self.cut.stage().name, 0, "n_clusters"))

    @property
    def cost(self) -> float:
        """Exact."""
        return float(self.problem.store.one("tree", 0, "cost"))

    def predicted(self, rows: npt.NDArray[Any]) -> Ints:
        """The cluster that each new row would join."""
        steps = range(0, len(rows), self.problem.block_rows)
        found = [predicted(self.problem, self.cut, _block(rows, b, self.problem.block_rows)) for b in steps]
        return np.concatenate(found)

    def discard(self) -> None:
        """Remove the storage, unless it is kept."""
        if not self.is_kept:
            shutil.rmtree(str(self.problem.storage), ignore_errors=True)


def _block(rows: Rows, begin: int, step: int) -> Rows:
    return rows[begin : begin + step]


# Parameters of ``HypHC`` that a fit by parts carries out: those of its recipe and of the cut, and these. It refuses all others.
CARRIED_OUT = {field.name for kind in (Recipe, Cut) for field in fields(kind)}
CARRIED_OUT |= {"random_state", "memory_limit", "checkpoint", "n_jobs", "verbose"}


def fit_from_disk(source: Source, parameters: dict[str, Any], cut: Cut, defaults: dict[str, Any]) -> FromDisk:
    """Fit by parts, with the parameters of ``HypHC``, in its checkpoint or in a temporary folder."""
    require_carried_out(parameters, defaults)
    sizes = sizes_within(allowed(parameters["memory_limit"]), *source.shape, parameters["n_jobs"])
    folder, is_kept = parameters["checkpoint"], parameters["checkpoint"] is not None
    recipe = Recipe.of(
        parameters, part_size=sizes.part, sample_size=sizes.sample, block_rows=sizes.block, top_size=sizes.top
    )
    storage = as_storage_folder(folder if is_kept else tempfile.mkdtemp(prefix="hyphc-"))
    problem, told = Problem(source, recipe, storage), Telling()
    try:
        with told.shown(parameters["verbose"]):
            problem.open()
            fit_by_parts(problem, on_threads(sizes.tasks, told), cut.stage())
    except BaseException:
        FromDisk(problem, cut, is_kept).discard()
        raise
    return FromDisk(problem, cut, is_kept)


def require_carried_out(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise for parameters that a fit by parts does not carry out, unless they are as if nobody had given them."""
    for name, value in parameters.items():
        if name not in CARRIED_OUT and not _is_default(value, defaults[name]):
            raise ValueError(
                f"{name}={value!r} has no meaning for a fit by parts; leave it out, or raise memory_limit."
            )


def _is_default(value: Any, default: Any) -> bool:
    """Whether they are equal; arrays, trees and the like are no defaults."""
    plain = isinstance(value, bool | int | float | str | tuple | np.generic)
    return value is default or (plain and bool(value == default))
