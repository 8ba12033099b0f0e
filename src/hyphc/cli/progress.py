"""A fit that can be watched and stopped: a line on the terminal, and Ctrl-C that keeps the best tree."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

REFRESH = 0.2  # seconds between two drawings of the line
WIDTH = 24  # characters of the bar


class Watch:
    """The callback of a fit: remembers the news for the bar, and asks the fit to stop once ``interrupted``."""

    def __init__(self, time_budget: float | None) -> None:
        self.time_budget, self.begin = time_budget, time.monotonic()
        self.interrupted = False
        self.stage, self.share = "starting", 0.0
        self.cost: float | None = None

    def __call__(self, progress: object) -> bool:
        """Take in an ``EmbedProgress`` or a search ``Progress``; True ends the fit."""
        self.cost = float(progress.best_cost)  # type: ignore[attr-defined]
        iteration = getattr(progress, "iteration", None)
        if iteration is None:
            self.stage, self.share = f"search: {progress.stage}", 0.0  # type: ignore[attr-defined]
        elif iteration + 1 == progress.max_iter:  # type: ignore[attr-defined]  # the search is heard of after its first step
            self.stage, self.share = "search", 0.0
        else:
            self.stage, self.share = "embedding", (iteration + 1) / progress.max_iter  # type: ignore[attr-defined]
        return self.interrupted

    def line(self) -> str:
        """Share done, stage, cost and time: what is left where that is known, else what has passed.

        With a time budget the budget tells; without, the iterations of the embedding do. A search without a budget ends when
        nothing improves, which nobody knows beforehand.
        """
        passed = time.monotonic() - self.begin
        share = self.share if self.time_budget is None else min(1.0, passed / self.time_budget)
        left = passed * (1 - share) / share if share > 0 else None
        bar = "#" * round(WIDTH * share) + "." * (WIDTH - round(WIDTH * share)) if share > 0 else "-" * WIDTH
        clock = f"{_clock(passed)} so far" if left is None else f"{_clock(left)} left"
        clock += " in this stage" if left is not None and self.time_budget is None else ""
        cost = "" if self.cost is None else f"  cost {self.cost:.6g}"
        return f"[{bar}] {self.stage}{cost}  {clock}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


@contextmanager
def watched(time_budget: float | None) -> Iterator[Watch]:
    """A watch whose line is shown on a terminal, and which the first Ctrl-C turns to ``interrupted``; a second stops at once."""
    watch = Watch(time_budget)
    with _first_interrupt(watch), _line_shown(watch, sys.stderr):
        yield watch


@contextmanager
def _line_shown(watch: Watch, stream: TextIO) -> Iterator[None]:
    """Redraw the line a few times a second, also while a long step says nothing; not at all unless the stream is a terminal."""
    if not stream.isatty():
        yield
        return
    done = threading.Event()

    def draw() -> None:
        while not done.wait(REFRESH):
            columns = shutil.get_terminal_size().columns
            stream.write("\r" + watch.line()[: columns - 1].ljust(columns - 1))
            stream.flush()

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        stream.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
        stream.flush()


@contextmanager
def _first_interrupt(watch: Watch) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if watch.interrupted:
            raise KeyboardInterrupt
        watch.interrupted = True
        print(
            "\nhyphc: stopping after this step with the best tree so far; Ctrl-C again stops at once.", file=sys.stderr
        )

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
