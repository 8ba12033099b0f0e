"""Which sources a result was measured with: the commit, and a hash of the files of the package that it depends on."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hyphc"
# the way from data to a tree and its scores, without pictures, files, command line and torch
METHOD = (
    "_runtime",
    "_kernels",
    "similarity",
    "tree",
    "scores",
    "hyperbolic",
    "continuous",
    "baselines",
    "search",
    "fit",
    "out_of_core",
    "estimator.py",
    "datasets",
)


def digest(sources: tuple[str, ...], home: Path = PACKAGE) -> str:
    """A hash of the names and contents of these files and of all files in these folders."""
    found = hashlib.sha256()
    for path in _files(sources, home):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(home).as_posix()} {content}\n".encode())
    return found.hexdigest()[:16]


def _files(sources: tuple[str, ...], home: Path) -> Iterator[Path]:
    for source in sources:
        path = home / source
        if not path.exists():
            raise ValueError(f"A suite names {source!r}, which is not in {home.name}; correct its SOURCES.")
        inside = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (file for file in inside if file.is_file() and "__pycache__" not in file.parts)


def commit() -> str | None:
    """The commit that is checked out, with a plus if files of the package differ from it; None outside a repository."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        return f"{name}+" if _git("status", "--porcelain", "--", str(PACKAGE)) else name
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
