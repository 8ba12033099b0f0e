"""SIGTERM, as programs should take it: like Ctrl-C, but told apart from it."""

from __future__ import annotations

from types import FrameType


class Terminated(KeyboardInterrupt):
    """Somebody has asked the process to end (SIGTERM)."""


def terminate(number: int, frame: FrameType | None) -> None:
    """A handler of SIGTERM for programs: a clock takes its place while a fit runs, and elsewhere it ends the work at once."""
    raise Terminated
