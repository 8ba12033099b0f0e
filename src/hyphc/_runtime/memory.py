"""Memory that this process may still use, within the limits of its control groups; amounts of memory given as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple


class _Names(NamedTuple):
    """Names of the limit, the use and the reclaimable page cache in a version of Linux's control groups."""

    limit: str
    used: str
    reclaimable: str


_V1 = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = _Names("memory.max", "memory.current", "inactive_file")
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def available_memory() -> float:
    """Return the bytes that can be allocated without swapping or being killed; infinity where the system does not tell."""
    return min(_free_memory(), cgroup_memory())


def _free_memory() -> float:
    import psutil  # here, so that importing the package stays quick

    # a system that lacks the answer must not end a fit that might well have had enough
    try:
        return int(psutil.virtual_memory().available) or math.inf
    except (AttributeError, KeyError, NotImplementedError, OSError, RuntimeError, ValueError):
        return math.inf


def cgroup_memory(root: Path = Path("/")) -> float:
    """Return the bytes that the control groups of this process leave, infinity without a limit.

    The least over the process's own group and all above it, as far as the process can see them: a container's limit is
    often set on an outer group. ``root`` is where the file system begins.
    """
    return min((_left(folder, names) for folder, names in _groups(root)), default=math.inf)


def _groups(root: Path) -> Iterator[tuple[Path, _Names]]:
    """Yield the folders of the process's groups that count memory, inner ones first."""
    paths = {controllers: path for _, controllers, path in _fields(root / "proc/self/cgroup", ":", 2)}
    memory = next((path for controllers, path in paths.items() if "memory" in controllers.split(",")), "/")
    for mount in _fields(root / "proc/self/mountinfo", " "):
        outside, mounted_at = mount[3:5]
        kind, _, options = mount[mount.index("-") + 1 :][:3]
        if kind == "cgroup2":
            yield from ((folder, _V2) for folder in _upwards(root, mounted_at, outside, paths.get("", "/")))
        elif kind == "cgroup" and "memory" in options.split(","):
            yield from ((folder, _V1) for folder in _upwards(root, mounted_at, outside, memory))


def _upwards(root: Path, mounted_at: str, outside: str, group: str) -> Iterator[Path]:
    """Yield the folders from a group's up to the mount point; ``outside`` is the group that the mount point shows."""
    inner, top = PurePosixPath(group), root / mounted_at.lstrip("/")
    is_seen = inner.is_relative_to(outside) and ".." not in inner.parts  # not the case within some containers
    below = inner.relative_to(outside) if is_seen else PurePosixPath()
    for part in (below, *below.parents):
        yield top / part


def _left(group: Path, names: _Names) -> float:
    try:
        limit, used = int(_text(group / names.limit)), int(_text(group / names.used))
        statistics = {name: int(value) for name, value in _fields(group / "memory.stat", " ")}
    except (OSError, ValueError):  # no such file in the outermost group, "max" where there is no limit
        return math.inf
    return max(0, limit - used + statistics.get(names.reclaimable, 0))


def _fields(file: Path, separator: str, most: int = -1) -> list[list[str]]:
    try:
        return [line.split(separator, most) for line in _text(file).splitlines()]
    except (OSError, ValueError):  # not Linux
        return []


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def n_bytes(limit: float | str) -> float:
    """Return the bytes of an amount given as a number or as text.

    Examples
    --------
    >>> n_bytes("2GB"), n_bytes("1.5 MiB")
    (2000000000.0, 1572864.0)
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-z]*)\s*", str(limit).lower())
    if found is None or found[2].upper() not in UNITS or float(found[1]) <= 0:
        raise ValueError(f"memory_limit={limit!r} is no amount of memory; give bytes, or text such as '2GB'.")
    return float(found[1]) * UNITS[found[2].upper()]
