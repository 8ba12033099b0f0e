"""The clock of a fit: when it must end, who listens, and what Ctrl-C does. One serves all stages."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any, Self

from .checkpointing import Trail
from .progress import Callback, Display, Progress, cost_of, line, minutes
from .signals import Terminated, terminate
from .user_warnings import warn

_MAY_BE_REPLACED = (signal.default_int_handler, terminate)
STOPPING = "\nhyphc: stopping after this step with what there is; Ctrl-C again stops at once."
LEFT = "the tree is the best found until then"
Retold = Callable[[Progress], Progress]


class Clock:
    """A fit's time budget, its listeners, and whether somebody has ended it.

    Stages ask ``late()`` between their steps and ``tell`` what they found. Inside ``with clock:`` the first Ctrl-C makes all
    stages late, so that each returns its best tree, and leaving warns of it; a second one is Python's KeyboardInterrupt. So does
    SIGTERM in programs that handle it by ``terminate``. Any handler that is neither this nor Python's own stays in charge. A
    callback may raise KeyboardInterrupt to the same effect.

    Parameters
    ----------
    time_budget : float, optional
        Seconds from now.
    callback : callable, optional
        Called with a ``Progress``; if it returns True, stages are late and it is not called again.
    verbose : int
        1 shows a line on standard error.
    left : str
        What an interrupt leaves behind, for the warning.
    """

    def __init__(
        self,
        time_budget: float | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        left: str = LEFT,
    ) -> None:
        self.time_budget, self._begin = time_budget, time.monotonic()
        self._callback, self._verbose, self._left = callback, verbose, left
        self._display: Display | None = None
        self._replaced: dict[int, Any] = {}
        self.signal: int | None = None  # that ended the fit
        self.news: Progress | None = None
        self.translate: Callable[[Progress], Progress] = lambda news: news  # for stages that see a part of the problem
        self.stopped = self.interrupted = False
        self.steps = 0  # sweeps of the search so far
        self.trail = Trail()  # where stages keep what it takes to go on from there
        self.allow(1.0)

    @property
    def listened(self) -> bool:
        """Whether news are worth their making."""
        return self._callback is not None or bool(self._verbose)

    def seconds(self) -> float:
        """Since the clock was made."""
        return time.monotonic() - self._begin

    def spent(self, seconds: float) -> None:
        """An earlier process has worked on this fit for so long."""
        self._begin -= seconds

    def allow(self, share: float) -> None:
        """The stage that begins may use the time up to this share of the budget."""
        self._allowed = math.inf if self.time_budget is None else share * self.time_budget

    def late(self) -> bool:
        """Whether the stage must end: its time is up, or somebody has ended the fit."""
        return self.stopped or self.seconds() >= self._allowed

    def stop(self) -> None:
        """Make all stages late."""
        self.stopped = True

    def of_a_part(self, retold: Retold | None = None, share: float = 1.0) -> Clock:
        """A clock for one of several fits: late when this one is, or has used this share of the time that is left.

        Listeners hear its news as ``retold`` makes them news of the whole; without it, none.
        """
        return _PartClock(self, retold, None if self.time_budget is None else share * self.left())

    def left(self) -> float:
        """Seconds of the budget, infinity without one."""
        return math.inf if self.time_budget is None else max(0.0, self.time_budget - self.seconds())

    def tell(self, stage: str, cost: float, tree: Callable[[], Any], share: float | None = None, **leaves: Any) -> None:
        """Tell listeners of a step; ``leaves`` are the fields of ``Progress`` that belong to the continuous stage."""
        if not self.listened:
            return
        seconds = self.seconds()
        share = share if not self.time_budget else min(1.0, seconds / self.time_budget)
        self._hear(self.translate(Progress(stage, cost, seconds, tree, share, **leaves)))

    def _hear(self, news: Progress) -> None:
        self.news = news
        if self._callback is None or self.stopped:
            return
        try:
            self.stopped = self._callback(news) is True or self.stopped
        except KeyboardInterrupt:
            if self.interrupted:  # the second one, while the callback was at work
                raise
            self.stopped = self.interrupted = True

    def __enter__(self) -> Self:
        own = threading.current_thread() is threading.main_thread()  # only there may signals be handled
        for number in (signal.SIGINT, signal.SIGTERM):
            if own and signal.getsignal(number) in _MAY_BE_REPLACED:
                self._replaced[number] = signal.signal(number, self._handle)
        if self._verbose:
            self._display = Display(sys.stderr, lambda: line(self.news, self.seconds(), self.time_budget))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._replaced.items():
            signal.signal(number, handler)
        end = "failed" if kind is not None else "interrupted" if self.interrupted else "done"
        if self._display is not None:
            self._display.close(f"{end} after {minutes(self.seconds())}{cost_of(self.news)}")
        if self.interrupted and kind is None:
            message = f"Interrupted after {self.seconds():.1f} s; {self._left}."
            warn(message, UserWarning, stacklevel=3)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        self.stopped, self.interrupted, self.signal = True, True, number
        print(STOPPING, file=sys.stderr)


class _PartClock(Clock):
    """A clock of its own that another one stops."""

    def __init__(self, whole: Clock, retold: Retold | None, time_budget: float | None) -> None:
        super().__init__(time_budget)
        self._whole, self._retold, self.stopped = whole, retold, whole.stopped

    @property
    def listened(self) -> bool:
        return self._retold is not None and self._whole.listened

    def late(self) -> bool:
        self.stopped = self.stopped or self._whole.stopped
        return self._whole.late() or super().late()

    def _hear(self, news: Progress) -> None:
        assert self._retold is not None
        self._whole._hear(replace(self._retold(news), seconds=self._whole.seconds()))
