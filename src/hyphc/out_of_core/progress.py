"""Progress of an out-of-core fit: the stage, how many of its tasks are done, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._runtime.progress import BAR_WIDTH, ProgressDisplay, format_minutes

Listener = Callable[[str, int, int], object]  # stage, tasks done, tasks in all


class StageProgress:
    """The progress line of a stage; called by executors with the title of the stage, tasks done and tasks in all.

    Examples
    --------
    >>> progress = StageProgress()
    >>> progress("trees of parts", 1, 4)
    >>> progress.line(seconds=10.0)
    '[######..................] trees of parts: 1 of 4  0:30 left in this stage'
    """

    def __init__(self) -> None:
        self.stage, self.done, self.count = "start", 0, 0
        self._begun = self._stage_begun = time.monotonic()

    def __call__(self, stage: str, done: int, count: int) -> None:
        if stage != self.stage:
            self._stage_begun = time.monotonic()
        self.stage, self.done, self.count = stage, done, count

    def line(self, seconds: float | None = None) -> str:
        """Return the bar, the stage, its tasks and the time left."""
        seconds = time.monotonic() - self._stage_begun if seconds is None else seconds
        share = self.done / self.count if self.count else 0.0
        bar = ("#" * round(BAR_WIDTH * share)).ljust(BAR_WIDTH, ".")
        clock = (
            f"{format_minutes(seconds * (1 - share) / share)} left"
            if share > 0
            else f"{format_minutes(seconds)} so far"
        )
        return f"[{bar}] {self.stage}: {self.done} of {self.count}  {clock} in this stage"

    @contextmanager
    def display(self, verbose: int) -> Iterator[None]:
        """Show the line on standard error while the block runs, if ``verbose``."""
        if not verbose:
            yield
            return
        line, end = ProgressDisplay(sys.stderr, self.line), "failed"
        try:
            yield
            end = "done"
        finally:
            line.close(f"{end} after {format_minutes(time.monotonic() - self._begun)}")
