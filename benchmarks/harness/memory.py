"""The most memory that a process has held, since it began or since a moment of choice.

``ru_maxrss`` is not it: it never falls, and on Linux a new process begins with that of the process that started it.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): "resets the peak resident set size to the current one"


def peak_bytes() -> int:
    """Return the peak resident memory since the process began, or since the last ``reset_peak``."""
    return peak_bytes_of("self") or _peak_bytes_elsewhere()


def peak_bytes_of(process: int | str) -> int | None:
    """Return the peak resident memory of a living process; None where the system does not say."""
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) << 10
    except (OSError, KeyError):
        return None


def _peak_bytes_elsewhere() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def reset_peak() -> int:
    """Forget the peak so far; return what is resident now. Only where ``can_reset_peak()``."""
    _CLEAR.write_text(_RESET_PEAK)
    return peak_bytes()


@cache
def can_reset_peak() -> bool:
    """Return whether the system can reset the peak: Linux can, where /proc may be written to."""
    try:
        reset_peak()
    except OSError:
        return False
    return True
