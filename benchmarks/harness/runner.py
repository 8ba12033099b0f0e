"""The parent: each task in a process of its own with a time limit; what is stored already is not run again."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ..suites import SUITES
from .cases import PLANTED, PLANTED_SHAPE
from .clusterers import CLUSTERERS
from .machine import machine, versions
from .memory import peak_bytes_of
from .methods import METHODS
from .points import N_WORDNET, WORDNET
from .sources import commit, digest
from .store import Result, Store
from .task import Task
from .worker import measure

# known without loading the data: where a method does not go
LARGE = {"segmentation": 2_310, "spambase": 4_601, "letter": 20_000, PLANTED: PLANTED_SHAPE[0], WORDNET: N_WORDNET}


def run_all(tasks: Sequence[Task], store: Store, *, again: bool = False) -> None:
    """Run what is not stored, or all of it again; an interrupt (Ctrl-C) loses only the task under way."""
    missing = [task for task in tasks if again or task not in store]
    bar = Bar(len(tasks), len(tasks) - len(missing))
    for task in missing:
        bar.begin(task)
        result = run(task)
        store.save(task, result)
        bar.end(task, result)


def run(task: Task) -> Result:
    """Return the result of one task: its records, how it ended, its seconds, peak memory, sources, versions and machine."""
    method = METHODS.get(task.method) or CLUSTERERS.get(task.method)
    if method is not None and LARGE.get(task.case, 0) > method.up_to:
        return _result(task, "too large", [], None)
    # A server that has imported everything, and computed nothing, forks the children: each starts afresh, at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.harness.worker"])
    # threads that wait must not spin: they would slow each other down when cores are few
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    receiving, sending = context.Pipe(duplex=False)
    begin = time.monotonic()
    child = context.Process(target=measure, args=(task, sending), daemon=True)
    child.start()
    sending.close()
    try:
        found = _result(task, *_collect(child, receiving, task.limit))
        return {**found, "took": round(time.monotonic() - begin, 1)}
    finally:
        child.kill()
        child.join()
        receiving.close()


def _collect(child: BaseProcess, pipe: Connection, limit: float) -> tuple[str, list[dict[str, Any]], float | None]:
    """How the child ended, the records it sent (the first with the memory that the data take) and its peak memory."""
    deadline = time.monotonic() + limit
    records: list[dict[str, Any]] = []
    peak: float | None = None
    while True:
        if not pipe.poll(max(0.0, deadline - time.monotonic())):
            return "time limit", records, _peak_of(child.pid) or peak
        try:
            record, peak = pipe.recv()
        except EOFError:  # killed from outside: by the system, when memory is short
            return "out of memory", records, peak
        if record is None:
            return "ok", records, peak
        if isinstance(record, str):
            return "out of memory" if record == "MemoryError" else f"failed: {record}", records, peak
        records.append(record if records else {**record, "base_mb": peak})


def _peak_of(pid: int | None) -> float | None:
    """Peak memory of a living process, in MB, where the system tells."""
    peak = None if pid is None else peak_bytes_of(pid)
    return None if peak is None else round(peak / (1 << 20), 1)


def _result(task: Task, status: str, records: list[dict[str, Any]], peak: float | None) -> Result:
    about = records[0] if records else {}
    return {
        **task.as_dict(),
        **about,
        "status": status,
        "records": records[1:],
        "peak_mb": peak,
        "load": round(os.getloadavg()[0], 1),
        "commit": commit(),
        "sources": digest(SUITES[task.suite].SOURCES),
        "versions": versions(),
        "machine": machine(),
    }


class Bar:
    """A progress bar on a terminal, lines elsewhere."""

    WIDTH = 24

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._terminal = total, done, sys.stderr.isatty()
        if done:
            print(f"{done} of {total} results are stored already", file=sys.stderr)

    def begin(self, task: Task) -> None:
        if self._terminal:
            filled = self.WIDTH * self._done // max(1, self._total)
            bar = "#" * filled + "." * (self.WIDTH - filled)
            print(f"\r\033[K[{bar}] {self._done}/{self._total}  {task.key}", end="", file=sys.stderr, flush=True)

    def end(self, task: Task, result: Result) -> None:
        self._done += 1
        if not self._terminal:
            print(f"{self._done}/{self._total}  {task.key}: {result['status']}", file=sys.stderr, flush=True)
        elif self._done == self._total:
            print(file=sys.stderr)
