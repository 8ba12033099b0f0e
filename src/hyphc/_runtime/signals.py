"""SIGINT and SIGTERM: the first requests an orderly stop, the second raises."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Any

NO_THREAD = "can't start new thread"  # the RuntimeError of Python where the stack of a thread finds no memory
STOPPING = "\nhyphc: stopping after this step with what there is; Ctrl-C again stops at once."


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM."""


def terminate(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM in programs by raising ``Terminated``; ``SignalHandlers`` replaces this handler during a fit."""
    raise Terminated


_REPLACEABLE = (signal.default_int_handler, terminate)


@dataclass
class StopRequest:
    """Whether a run should stop, whether an interrupt caused it, and the number of the signal if one did."""

    stopped: bool = False
    interrupted: bool = False
    signal: int | None = None


class SignalHandlers:
    """Handlers of SIGINT and SIGTERM that set a ``StopRequest``; a second signal raises.

    Handlers that are neither Python's own nor ``terminate`` are left in place, and so are all outside the main thread, where
    Python allows no change.
    """

    def __init__(self, request: StopRequest) -> None:
        self._request = request
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
        request = self._request
        if request.interrupted:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        request.stopped, request.interrupted, request.signal = True, True, number
        print(STOPPING, file=sys.stderr)
