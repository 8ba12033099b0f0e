"""Results on disk: one JSON file a run, written in one step, never run again while it is there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .task import Task

RESULTS = Path(__file__).resolve().parents[1] / "results"

Result = dict[str, Any]


class Store:
    """The results of a directory, by the key of their task."""

    def __init__(self, home: Path = RESULTS) -> None:
        self.home = home

    def path(self, key: str) -> Path:
        return self.home / f"{key}.json"

    def __contains__(self, task: Task) -> bool:
        return self.path(task.key).is_file()

    def get(self, suite: str, case: str, kind: str, method: str) -> Result | None:
        path = self.path(Task(suite, case, kind, method).key)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def of(self, task: Task) -> Result | None:
        return self.get(task.suite, task.case, task.kind, task.method)

    def save(self, task: Task, result: Result) -> None:
        path = self.path(task.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part")
        half.write_text(json.dumps(result, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(half, path)  # a killed run leaves no half of a result

    def all(self, suite: str = "*") -> Iterator[Result]:
        for path in sorted(self.home.glob(f"{suite}/*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))
