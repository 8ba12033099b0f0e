"""How much memory the system has left, on Linux, macOS and Windows, without asking a package."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

MEMINFO = "/proc/meminfo"


def available_memory() -> float:
    """Bytes that can be had without swapping, as far as the system tells; infinity where it tells nothing.

    Linux and Windows know what is free now, macOS and other systems of the POSIX family only what is built in.
    """
    sources: tuple[Callable[[], int], ...] = (_linux, _windows, _posix)
    for source in sources:
        # a system that lacks the question must not end a fit that might well have had enough
        try:
            found = source()
        except (AttributeError, KeyError, OSError, ValueError):
            continue
        if found > 0:
            return found
    return float("inf")


def _linux() -> int:
    with open(MEMINFO, encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("dwLength", ctypes.c_uint32),
        ("dwMemoryLoad", ctypes.c_uint32),
        ("ullTotalPhys", ctypes.c_uint64),
        ("ullAvailPhys", ctypes.c_uint64),
        ("ullTotalPageFile", ctypes.c_uint64),
        ("ullAvailPageFile", ctypes.c_uint64),
        ("ullTotalVirtual", ctypes.c_uint64),
        ("ullAvailVirtual", ctypes.c_uint64),
        ("ullAvailExtendedVirtual", ctypes.c_uint64),
    )


def _windows() -> int:
    status = _MemoryStatus(dwLength=ctypes.sizeof(_MemoryStatus))
    kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009  # the attribute exists, and has types, on Windows only
    return int(status.ullAvailPhys) if kernel32.GlobalMemoryStatusEx(ctypes.byref(status)) else 0


def _posix() -> int:
    sysconf = getattr(os, "sysconf")  # noqa: B009  # missing on Windows
    pages, page_size = sysconf("SC_PHYS_PAGES"), sysconf("SC_PAGE_SIZE")
    return int(pages) * int(page_size) if pages > 0 and page_size > 0 else 0  # -1 means unknown
