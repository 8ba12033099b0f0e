"""Time and memory of one thing at a time, in a process of its own so that peaks do not mix."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any


def best_seconds(function: Callable[..., Any], repeats: int = 5, setup: Callable[[], tuple[Any, ...]] = tuple) -> float:
    """Shortest of several runs, after one that compiles; ``setup`` makes the arguments of each run and is not timed."""
    function(*setup())
    times = []
    for _ in range(repeats):
        arguments = setup()
        begin = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begin)
    return min(times)


def peak_bytes() -> int:
    """The most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run ``function`` in a fresh interpreter and return its result."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)
