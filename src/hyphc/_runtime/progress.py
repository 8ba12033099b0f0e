"""``Progress``, the argument of callbacks, and the progress lines of fits in memory and out of core."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from typing import Any, TextIO

from .arrays import Floats

BAR_WIDTH = 24  # characters of the bar
# Seconds between two drawings of the line on a terminal, and between two lines in a file, a pipe or a notebook.
REDRAW, REPEAT = 0.2, 5.0
NOTICEABLE = 1.0  # seconds of a stage from which on it says how fast a fit is


@dataclass(frozen=True)
class Progress:
    """Progress of a fit, passed to callbacks after each step.

    Attributes
    ----------
    stage : str
        "embedding" is the continuous stage; "start", "sweep 1" …, "sweeps", "other starts", "ratchet" and "iterated" are the
        search; "refit 7 of 100" is ``support``; "cluster 2 of 5: sweep 1" a fit within constraints.
    cost : float
        Dasgupta's cost of the best tree so far, each pair counted once; NaN where several data sets are fitted. Within
        constraints, what the cluster that is being fitted adds to it.
    seconds : float
        Since the call began.
    tree : callable
        ``progress.tree()`` is the best tree so far, made on demand.
    share : float or None
        Fraction of the time budget that has passed; without a budget, of the continuous stage that is done. None in a search
        without a budget, which ends when no move improves the tree.
    iteration, max_iter : int or None
        These and the following belong to the continuous stage.
    loss, decoded_cost : float or None
        The continuous cost at this iteration, and the cost of the last tree decoded.
    radius, temperature : float or None
    embedding : array (n, n_components) or None
        The leaves after this iteration.
    """

    stage: str
    cost: float
    seconds: float
    tree: Callable[[], Any]
    share: float | None = None
    iteration: int | None = None
    max_iter: int | None = None
    loss: float | None = None
    decoded_cost: float | None = None
    radius: float | None = None
    temperature: float | None = None
    embedding: Floats | None = None

    @property
    def best_cost(self) -> float:
        """The cost, under a longer name."""
        return self.cost


Callback = Callable[[Progress], Any]


def progress_line(news: Progress | None, seconds: float, time_budget: float | None) -> str:
    """Return the line: fraction done, stage, cost and time, remaining if known, else elapsed."""
    known = None if news is None else news.share
    share = (known or 0.0) if time_budget is None else min(1.0, seconds / time_budget)
    text = f"{'start' if news is None else news.stage}{format_cost(news)}"
    return _format_line(share, text, seconds, " in this stage" if share > 0 and time_budget is None else "")


def _format_line(share: float, text: str, seconds: float, of_what: str) -> str:
    """Return a bar, a text and the time."""
    bar = ("#" * round(BAR_WIDTH * share)).ljust(BAR_WIDTH, ".") if share > 0 else "-" * BAR_WIDTH
    left = f"{format_minutes(seconds * (1 - share) / share)} left" if share > 0 else f"{format_minutes(seconds)} so far"
    return f"[{bar}] {text}  {left}{of_what}"


def format_cost(news: Progress | None) -> str:
    """Return the cost as text, empty if unknown."""
    return "" if news is None or isnan(news.cost) else f"  cost {news.cost:.8g}"


def format_minutes(seconds: float) -> str:
    """Return seconds as m:ss."""
    whole, rest = divmod(round(seconds), 60)
    return f"{whole}:{rest:02d}"


class ProgressDisplay:
    """A text redrawn periodically from a thread of its own, also during a long step.

    One line that is overwritten on a terminal; elsewhere a line every few seconds.
    """

    def __init__(self, stream: TextIO, text: Callable[[], str]) -> None:
        self._stream, self._text, self._terminal = stream, text, stream.isatty()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self._thread.start()

    def close(self, text: str) -> None:
        """Stop, and write the last line."""
        self._closed.set()
        self._thread.join()
        self._write(text)
        if self._terminal:
            self._stream.write("\n")
            self._stream.flush()

    def _repeat(self) -> None:
        while not self._closed.wait(REDRAW if self._terminal else REPEAT):
            self._write(self._text())

    def _write(self, text: str) -> None:
        if self._terminal:
            room = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + text[:room].ljust(room))
        else:
            self._stream.write(text + "\n")
        self._stream.flush()


class TaskProgress:
    """The progress line of stages that consist of tasks, with the time left in all.

    Called with the title of a stage, tasks done, tasks in all, and the share of the whole fit that is done. The time left is
    that of the work done, in proportion; stages of less than a second say nothing about it: a fit that resumes finds them done.

    Examples
    --------
    >>> progress = TaskProgress()
    >>> progress("stage 8 of 11: trees of parts", 1, 4, 0.25)
    >>> progress.line(seconds=10.0)
    '[######..................] stage 8 of 11: trees of parts, 1 of 4 tasks  0:00 so far'
    >>> progress("stage 8 of 11: trees of parts", 3, 4, 0.75)
    >>> progress.line(seconds=10.0)
    '[##################......] stage 8 of 11: trees of parts, 3 of 4 tasks  about 0:05 left in all'
    """

    def __init__(self) -> None:
        self.stage, self.done, self.count, self.share = "start", 0, 0, 0.0
        self._begun = self._stage_begun = time.monotonic()
        self._stage_share = 0.0  # done when the stage began
        self._spent = self._gained = 0.0  # seconds, and shares done in them, of earlier stages

    def __call__(self, stage: str, done: int, count: int, share: float) -> None:
        if stage != self.stage:
            now = time.monotonic()
            if now - self._stage_begun >= NOTICEABLE:
                self._spent += now - self._stage_begun
                self._gained += share - self._stage_share
            self._stage_begun, self._stage_share = now, share
        self.stage, self.done, self.count, self.share = stage, done, count, share

    def line(self, seconds: float | None = None) -> str:
        """Return the bar, the stage, its tasks and the time left; ``seconds`` is how long the stage has taken."""
        seconds = time.monotonic() - self._stage_begun if seconds is None else seconds
        text = f"{self.stage}, {self.done} of {self.count} tasks" if self.count > 1 else self.stage
        bar = ("#" * round(BAR_WIDTH * self.share)).ljust(BAR_WIDTH, ".")
        gained = self._gained + self.share - self._stage_share
        if gained <= 0.0:
            return f"[{bar}] {text}  {format_minutes(time.monotonic() - self._begun)} so far"
        left = (self._spent + seconds) * (1.0 - self.share) / gained
        return f"[{bar}] {text}  about {format_minutes(left)} left in all"

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
