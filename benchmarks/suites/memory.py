"""Memory of a fit of rows on disk, measured and estimated.

In bytes per row, without what the package itself takes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from hyphc import HypHC
from hyphc.out_of_core.local_fit import bytes_per_row

from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = METHOD
SHAPES = ((60_000, 4), (60_000, 32), (60_000, 128))  # of fewer rows, some 100 MB for any number of them weigh more
METRICS, DTYPES = ("auto", "cosine"), ("float32", "float64")
WARM, STEP, GROUP = (
    300,
    5_000,
    100,
)  # rows of a first fit, which loads all kernels; rows written at a time; rows of a group


def tasks() -> list[Task]:
    return [
        Task("memory", f"{n}x{d}", metric, dtype, limit=15 * MINUTE)
        for n, d in SHAPES
        for metric in METRICS
        for dtype in DTYPES
    ]


def records(task: Task) -> Iterator[Record]:
    """The memory is the runner's: that of the first record is there before the fit, kernels and a small fit included."""
    n, d = map(int, task.case.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.npy"), Path(folder, "large.npy")
        _write(small, WARM, d, task.method)
        _write(large, n, d, task.method)
        model = HypHC(metric=task.kind, random_state=0, memory_limit=1e15)  # in memory, whatever it takes
        model.fit(small)
        yield {"n": n}
        begin = time.perf_counter()
        model.fit(large)
        yield {"seconds": time.perf_counter() - begin}


def _write(path: Path, n: int, d: int, dtype: str) -> None:
    """Write rows around random centres, a few at a time: they must not take memory themselves."""
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.standard_normal((n // GROUP, d))
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n, d))
    for begin in range(0, n, STEP):
        block = rows[begin : begin + STEP]
        block[:] = centres[rng.integers(len(centres), size=len(block))] + rng.standard_normal(block.shape)


def memory_table(store: Store) -> str:
    """Bytes a row, measured and estimated."""
    rows = []
    for task in tasks():
        result = store.get("memory", task.case, task.kind, task.method)
        if result is not None and result["records"]:
            n, d = map(int, task.case.split("x"))
            measured = (result["peak_mb"] - result["base_mb"]) * 2**20 / n
            estimated = bytes_per_row(d)
            rows.append([spaced(n), str(d), task.kind, task.method, spaced(round(measured)), spaced(estimated)])
    return table(["n", "columns", "metric", "numbers", "bytes a row", "estimated"], rows, "memory")


TABLES: dict[str, Callable[[Store], str]] = {"fit-memory": memory_table}
