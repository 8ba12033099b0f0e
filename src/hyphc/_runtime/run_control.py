"""Run control of a fit: deadline, callbacks, signals, progress display and checkpoints behind one object."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any, Self

from .checkpointing import NoCheckpoints
from .progress import Callback, Progress, ProgressDisplay, format_cost, format_minutes, progress_line
from .signals import STOPPING, install_handlers, raise_interrupt, restore_handlers
from .user_warnings import warn

ON_INTERRUPT = "the tree is the best found until then"
Translation = Callable[[Progress], Progress]


class Clock:
    """Run control that all stages of a fit share.

    Stages call ``should_stop()`` between their steps and ``report`` after them. Inside ``with clock:`` the first Ctrl-C, or
    SIGTERM in programs that handle it by ``terminate``, makes ``should_stop()`` true, so that each stage returns its best tree,
    and leaving the block warns; a second one raises KeyboardInterrupt. A callback may raise KeyboardInterrupt to the same
    effect.

    Parameters
    ----------
    time_budget : float, optional
        Seconds from now.
    callback : callable, optional
        Called with a ``Progress``; if it returns True, stages stop and it is not called again.
    verbose : int
        1 shows a line on standard error.
    on_interrupt : str
        What the warning after an interrupt says about the result.
    """

    def __init__(
        self,
        time_budget: float | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        on_interrupt: str = ON_INTERRUPT,
    ) -> None:
        self.time_budget, self._begin = time_budget, time.monotonic()
        self.set_deadline(1.0)
        self.stopped = False  # whether a signal, a callback or ``stop`` ended the fit; a deadline alone does not
        self.interrupted = False  # whether an interrupt did
        self.signal: int | None = None  # the number of the signal that did
        self._callback, self._verbose, self._on_interrupt = callback, verbose, on_interrupt
        self._replaced_handlers: dict[int, Any] = {}
        self._display: ProgressDisplay | None = None
        self.last_progress: Progress | None = None
        self.translate: Translation = lambda progress: progress  # for stages that see a part of the problem
        self.steps = 0  # sweeps of the search so far
        self.checkpoints = NoCheckpoints()

    @property
    def has_listeners(self) -> bool:
        """Whether anything receives what ``report`` is given."""
        return self._callback is not None or bool(self._verbose)

    def seconds(self) -> float:
        """Return the seconds since construction, and those of ``add_elapsed``."""
        return time.monotonic() - self._begin

    def add_elapsed(self, seconds: float) -> None:
        """Count time that an earlier process spent on this fit."""
        self._begin -= seconds

    def set_deadline(self, share: float) -> None:
        """Let the stage that begins use the time up to this share of the budget."""
        self._limit = math.inf if self.time_budget is None else share * self.time_budget

    def remaining(self) -> float:
        """Return the seconds left of the budget, infinity without one."""
        return math.inf if self.time_budget is None else max(0.0, self.time_budget - self.seconds())

    def should_stop(self) -> bool:
        """Return whether the stage must end: its time is up, or the fit was stopped."""
        return self.stopped or self.seconds() >= self._limit

    def stop(self) -> None:
        """Make all stages end at their next check."""
        self.stopped = True

    def for_subproblem(self, translate: Translation | None = None, share: float = 1.0) -> Clock:
        """Return a clock for one of several fits: it ends when this one does, or after this share of the remaining time.

        Callbacks receive its reports through ``translate``, which makes them reports of the whole; without it, none.
        """
        return _SubproblemClock(self, translate, None if self.time_budget is None else share * self.remaining())

    def report(
        self, stage: str, cost: float, tree: Callable[[], Any], share: float | None = None, **leaves: Any
    ) -> None:
        """Pass a step to the callback and the display; ``leaves`` are the fields of ``Progress`` of the continuous stage."""
        if not self.has_listeners:
            return
        seconds = self.seconds()
        share = share if not self.time_budget else min(1.0, seconds / self.time_budget)
        self._notify(self.translate(Progress(stage, cost, seconds, tree, share, **leaves)))

    def _notify(self, progress: Progress) -> None:
        self.last_progress = progress
        if self._callback is None or self.stopped:
            return
        try:
            self.stopped = self._callback(progress) is True or self.stopped
        except KeyboardInterrupt:
            if self.interrupted:  # the second one, during the callback
                raise
            self.stopped = self.interrupted = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise_interrupt(number)
        self.stopped, self.interrupted, self.signal = True, True, number
        print(STOPPING, file=sys.stderr)

    def __enter__(self) -> Self:
        self._replaced_handlers = install_handlers(self._on_signal)
        if self._verbose:
            self._display = ProgressDisplay(
                sys.stderr, lambda: progress_line(self.last_progress, self.seconds(), self.time_budget)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        restore_handlers(self._replaced_handlers)
        end = "failed" if kind is not None else "interrupted" if self.interrupted else "done"
        if self._display is not None:
            self._display.close(f"{end} after {format_minutes(self.seconds())}{format_cost(self.last_progress)}")
        if self.interrupted and kind is None:
            message = f"Interrupted after {self.seconds():.1f} s; {self._on_interrupt}."
            warn(message, UserWarning, stacklevel=3)


class _SubproblemClock(Clock):
    """A clock with a deadline of its own that stops with its parent."""

    def __init__(self, parent: Clock, translate: Translation | None, time_budget: float | None) -> None:
        super().__init__(time_budget)
        self._parent, self._translate = parent, translate
        self.stopped = parent.stopped

    @property
    def has_listeners(self) -> bool:
        return self._translate is not None and self._parent.has_listeners

    def should_stop(self) -> bool:
        self.stopped = self.stopped or self._parent.stopped
        return self._parent.should_stop() or super().should_stop()

    def _notify(self, progress: Progress) -> None:
        assert self._translate is not None
        self._parent._notify(replace(self._translate(progress), seconds=self._parent.seconds()))
