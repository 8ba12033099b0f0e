"""Both cores through threads: kernels release the interpreter's lock, and chunks never depend on how many threads run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def thread_map(function: Callable[[Chunk], Result], chunks: Iterable[Chunk], n_jobs: int | None = None) -> list[Result]:
    """``[function(chunk) for chunk in chunks]`` on ``n_jobs`` threads (None is 1, −1 is all cores), results in order."""
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        return [function(chunk) for chunk in chunks]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, chunks))
