"""Both cores through threads: kernels release the interpreter's lock, and chunks never depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None) -> int:
    """Threads meant by scikit-learn's ``n_jobs``: None is 1, −1 is every core this process may use, −2 all but one."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 leaves no thread to work; choose n_jobs >= 1, or -1 for all cores.")
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_cores + 1 + n_jobs)


def thread_map(
    function: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    n_jobs: int | None = None,
    abort: Callable[[], object] | None = None,
) -> list[Result]:
    """``[function(chunk) for chunk in chunks]`` on the threads of ``n_jobs``, results in order.

    On an interrupt ``abort`` is called before waiting for the threads, so that it can tell them to stop.
    """
    chunks = list(chunks)
    if n_threads(n_jobs) == 1 or len(chunks) < 2:
        return [function(chunk) for chunk in chunks]
    with ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        try:
            return list(pool.map(function, chunks))
        except KeyboardInterrupt:
            if abort is not None:
                abort()
            raise
