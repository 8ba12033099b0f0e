"""A task is one process and one stored result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

MINUTE = 60.0
DEFAULT_LIMIT = 5 * MINUTE

BENCHMARKS, SYSTEM = "benchmarks", "tests.system"  # the programs that run suites: python -m …
SYSTEM_SUITES = ("faults", "fuzzing", "soak")

Record = dict[str, Any]


def program_of(suite: str) -> str:
    """Return the program that runs a suite."""
    return SYSTEM if suite in SYSTEM_SUITES else BENCHMARKS


@dataclass(frozen=True)
class Task:
    """A suite, a case (which data), a kind (which similarity, or which part of the suite) and a method."""

    suite: str
    case: str
    kind: str
    method: str
    limit: float = DEFAULT_LIMIT  # what takes longer, in seconds, is stopped and reported as such

    @property
    def key(self) -> str:
        """Return the name of its result: suite/case.kind.method."""
        return f"{self.suite}/{self.case}.{self.kind}.{self.method}"

    @property
    def names(self) -> set[str]:
        """Return what it can be selected by on the command line."""
        return {self.case, self.kind, self.method, f"{self.case}.{self.kind}.{self.method}"}

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


class Suite(Protocol):
    """A module of ``benchmarks/suites``, or ``suite`` in a folder of ``tests/system``; its docstring says first what it measures.

    ``records`` runs in the child. Its first record says how many points there are, ``{"n": …}``, and is sent when the data
    are there, so that their memory is told from that of the method. ``TABLES`` are functions of the store to Markdown, by the
    marker that they fill; ``SOURCES`` are files and folders of ``src/hyphc`` on which the results depend.
    """

    SOURCES: tuple[str, ...]
    TABLES: Mapping[str, Callable[[Any], str]]

    def tasks(self) -> list[Task]: ...

    def records(self, task: Task) -> Iterator[Record]: ...
