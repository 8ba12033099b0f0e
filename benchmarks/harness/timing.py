"""Seconds of a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    begin = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begin


def best_seconds(function: Callable[..., Any], repeats: int = 5, setup: Callable[[], tuple[Any, ...]] = tuple) -> float:
    """Shortest of several runs, after one that compiles; ``setup`` makes the arguments of each run and is not timed."""
    function(*setup())
    return min(timed(function, *setup())[1] for _ in range(repeats))
