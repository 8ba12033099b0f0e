"""How programs are ended: SIGTERM, taken like Ctrl-C but told apart from it, and what Python says where memory ends."""

from __future__ import annotations

from types import FrameType

NO_THREAD = "can't start new thread"  # a RuntimeError: its stack found no memory


class Terminated(KeyboardInterrupt):
    """Somebody has asked the process to end (SIGTERM)."""


def terminate(number: int, frame: FrameType | None) -> None:
    """A handler of SIGTERM for programs: a clock takes its place while a fit runs, and elsewhere it ends the work at once."""
    raise Terminated
