"""Stored results: one JSON Lines file a suite, one line a result, sorted by case, kind and method."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from .task import BENCHMARKS, SYSTEM, Task, program_of

_ROOT = Path(__file__).resolve().parents[2]
_FIRST, _LAST = ("suite", "case", "kind", "method", "status", "n"), "records"  # fields at the ends of a line

Result = dict[str, Any]
_Key = tuple[str, str, str]


class Store:
    """The results in a folder; by default in the folder ``results`` of the program that runs the suite.

    Several processes may write to it at once.
    """

    def __init__(self, home: Path | None = None) -> None:
        folders = {program: _ROOT.joinpath(*program.split("."), "results") for program in (BENCHMARKS, SYSTEM)}
        self._homes = {program: home or folder for program, folder in folders.items()}
        self._read: dict[Path, tuple[object, dict[_Key, Result]]] = {}

    def path(self, suite: str) -> Path:
        """Return the file of a suite."""
        return self._homes[program_of(suite)] / f"{suite}.jsonl"

    def __contains__(self, task: Task) -> bool:
        return self.of(task) is not None

    def get(self, suite: str, case: str, kind: str, method: str) -> Result | None:
        """Return a result, or None if it is not stored."""
        return self._results(self.path(suite)).get((case, kind, method))

    def of(self, task: Task) -> Result | None:
        """Return the result of a task, or None if it is not stored."""
        return self.get(task.suite, task.case, task.kind, task.method)

    def save(self, task: Task, result: Result) -> None:
        """Add or replace one line of a suite's file; the file is replaced atomically, under a lock."""
        path = self.path(task.suite)
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.parent / ".lock"):
            results = {**self._results(path), (task.case, task.kind, task.method): {**task.as_dict(), **result}}
            draft = path.with_suffix(".part")
            draft.write_text("".join(_line(results[key]) for key in sorted(results)), encoding="utf-8")
            os.replace(draft, path)

    def all(self, suite: str = "*") -> Iterator[Result]:
        """Yield the results of a suite, or of all of them."""
        for path in sorted({path for home in self._homes.values() for path in home.glob(f"{suite}.jsonl")}):
            yield from self._results(path).values()

    def _results(self, path: Path) -> dict[_Key, Result]:
        """Return the results of a file by their keys; a file that has not changed is not read again."""
        if not path.is_file():
            return {}
        about = path.stat()
        version = about.st_ino, about.st_mtime_ns, about.st_size
        if self._read.get(path, (None,))[0] != version:
            results = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            self._read[path] = version, {(one["case"], one["kind"], one["method"]): one for one in results}
        return self._read[path][1]


def _line(result: Result) -> str:
    """Return a result as a line: what it is first, its records last."""
    between = sorted(result.keys() - {*_FIRST, _LAST})
    ordered = {name: result[name] for name in (*_FIRST, *between, _LAST) if name in result}
    return json.dumps(ordered, allow_nan=False) + "\n"
