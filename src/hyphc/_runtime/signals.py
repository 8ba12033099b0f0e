"""SIGINT and SIGTERM: the first requests an orderly stop, the second raises."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any, Protocol

NO_THREAD = "can't start new thread"  # the RuntimeError of Python where the stack of a thread finds no memory
STOPPING = "\nhyphc: stopping after this step with what there is; Ctrl-C again stops at once."


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM."""


def terminate(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM in programs by raising ``Terminated``; ``SignalHandlers`` replaces this handler during a fit."""
    raise Terminated


_REPLACEABLE = (signal.default_int_handler, terminate)


class Stoppable(Protocol):
    """A run that can be asked to stop: whether it was, whether by an interrupt, and the number of the signal."""

    stopped: bool
    interrupted: bool
    signal: int | None


class SignalHandlers:
    """Handlers of SIGINT and SIGTERM that stop a run; a second signal raises.

    Handlers that are neither Python's own nor ``terminate`` are left in place, and so are all outside the main thread, where
    Python allows no change.
    """

    def __init__(self, run: Stoppable) -> None:
        self._run = run
        self._replaced: dict[int, Any] = {}

    def install(self) -> None:
        """Replace the handlers that may be replaced."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        for number in (signal.SIGINT, signal.SIGTERM):
            if in_main_thread and signal.getsignal(number) in _REPLACEABLE:
                self._replaced[number] = signal.signal(number, self._handle)

    def restore(self) -> None:
        """Put the replaced handlers back."""
        for number, handler in self._replaced.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        run = self._run
        if run.interrupted:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        run.stopped, run.interrupted, run.signal = True, True, number
        print(STOPPING, file=sys.stderr)
