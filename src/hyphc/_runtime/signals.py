"""Handlers of SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

NO_THREAD = "can't start new thread"  # the RuntimeError of Python where the stack of a thread finds no memory
STOPPING = "\nhyphc: stopping after this step with what there is; Ctrl-C again stops at once."


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM."""


def terminate(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM in programs by raising ``Terminated``; this handler is replaced during a fit."""
    raise Terminated


_REPLACEABLE = (signal.default_int_handler, terminate)


Handler = Callable[[int, FrameType | None], Any]


def install_handlers(handler: Handler) -> dict[int, Any]:
    """Set a handler of SIGINT and SIGTERM, and return those that it replaces.

    Handlers that are neither Python's own nor ``terminate`` are left in place, and so are all outside the main thread, where
    Python allows no change.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) in _REPLACEABLE]
    return {number: signal.signal(number, handler) for number in numbers if in_main_thread}


def restore_handlers(replaced: dict[int, Any]) -> None:
    """Put replaced handlers back."""
    for number, handler in replaced.items():
        signal.signal(number, handler)


def raise_interrupt(number: int) -> None:
    """Raise what a signal means to a program that does not handle it."""
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
