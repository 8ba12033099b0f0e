"""The rules that every reader must keep for any bytes."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.memory import can_reset_peak, peak_bytes, reset_peak
from hyphc.io import ColumnsError

# Errors of ours, and none derived from them: a UnicodeDecodeError is a ValueError that nobody wrote for the user.
OURS = (ValueError, ColumnsError)
SECONDS_A_KILOBYTE = 1.0
# Memory that reading an input may add to what is resident before it. A packed file may hold 64 MiB whatever its size.
LEAST_BYTES, TIMES = 256 << 20, 100


@dataclass(frozen=True)
class Verdict:
    """``broken`` is the rule that was broken, with its place, so that one defect counts as one rule; None if all were kept."""

    refused: bool
    seconds: float
    broken: str | None = None


def judge(read: Callable[[Path, bytes], None], folder: Path, content: bytes, calls_it: str = "") -> Verdict:
    """Read the content, and return which rule was broken; an error must name the input (``calls_it``) in one line.

    Memory is the peak while reading, whatever the process held earlier; where it cannot be measured, the rule is left out.
    """
    before, begin = reset_peak() if can_reset_peak() else None, time.process_time()
    refused, broken = False, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(folder, content)
    except OURS as error:
        refused = True
        broken = _find_fault(error, calls_it)
    except MemoryError as error:
        refused = True
        broken = None if str(error).endswith(".") else f"MemoryError without advice {_place(error)}"
    except Exception as error:
        broken = f"{type(error).__name__} {_place(error)}"
    seconds = time.process_time() - begin
    grown = 0 if before is None else peak_bytes() - before
    if grown > LEAST_BYTES + TIMES * len(content):
        broken = broken or "memory"
    if seconds > SECONDS_A_KILOBYTE * max(1.0, len(content) / 1024):
        broken = broken or "time"
    return Verdict(refused, seconds, broken)


def _find_fault(error: ValueError, calls_it: str) -> str | None:
    text = str(error)
    if type(error) not in OURS:
        return f"{type(error).__name__} {_place(error)}"
    if calls_it not in text or "\n" in text:
        return f"a message without {calls_it!r}, or of several lines {_place(error)}"
    return None


def _place(error: BaseException) -> str:
    """Return where an error was raised: the last frame of the package, and the last of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "hyphc" in Path(frame.filename).parts]
    places = [f"{Path(frame.filename).name}:{frame.name}" for frame in (*ours[-1:], frames[-1])]
    return "in " + " ← ".join(dict.fromkeys(reversed(places)))
