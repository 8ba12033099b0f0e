"""Elapsed time of a run, its time budget, and the share of the budget that the current stage may use."""

from __future__ import annotations

import math
import time


class Deadline:
    """A time budget in seconds, counted from construction; None is no limit."""

    def __init__(self, time_budget: float | None = None) -> None:
        self.time_budget, self._begin = time_budget, time.monotonic()
        self.set_share(1.0)

    def elapsed(self) -> float:
        """Return the seconds since construction, and those of ``add_elapsed``."""
        return time.monotonic() - self._begin

    def add_elapsed(self, seconds: float) -> None:
        """Count time that an earlier process spent on the same run."""
        self._begin -= seconds

    def set_share(self, share: float) -> None:
        """Let the current stage use the time up to this share of the budget."""
        self._limit = math.inf if self.time_budget is None else share * self.time_budget

    def is_past(self) -> bool:
        """Return whether the current stage has used its time."""
        return self.elapsed() >= self._limit

    def remaining(self) -> float:
        """Return the seconds left of the whole budget, infinity without one."""
        return math.inf if self.time_budget is None else max(0.0, self.time_budget - self.elapsed())
