"""Freshness of stored results: a result is fresh if the code that its suite runs is the same today, up to prose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from .sources import digest
from .store import Result, Store
from .task import Suite, Task

_HEADER = ("suite", "results", "fresh", "stale", "missing", "time", "what it measures")
_MINUTE, _HOUR = 60, 3600


def overview(store: Store, suites: Mapping[str, Suite]) -> str:
    """Return a table of suites: how many results are stored, fresh, stale and missing, and how long they took."""
    rows = [_HEADER]
    for name, suite in suites.items():
        results = list(store.all(name))
        n_stale, n_missing = len(stale_results(store, name, suite)), sum(task not in store for task in suite.tasks())
        counts = (len(results), len(results) - n_stale, n_stale, n_missing)
        rows.append((name, *map(str, counts), _time(results), str(suite.__doc__).splitlines()[0]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_aligned(row, widths) for row in rows)


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    """Return a line: the first and the last column aligned to the left, figures to the right."""
    first, *figures, last = row
    cells = [first.ljust(widths[0]), *(text.rjust(width) for text, width in zip(figures, widths[1:-1], strict=True))]
    return "  ".join([*cells, last])


def _time(results: list[Result]) -> str:
    """Return how long these results took; where that was not stored, at least what their records add up to."""
    seconds = [
        result.get("took", sum(record.get("seconds", 0.0) for record in result["records"])) for result in results
    ]
    total, at_least = sum(seconds), "" if all("took" in result for result in results) else "> "
    if total < 1:
        return ""
    unit, name = next((size, name) for size, name in ((_HOUR, "h"), (_MINUTE, "min"), (1, "s")) if total >= size)
    return f"{at_least}{total / unit:.0f} {name}"


def stale_results(store: Store, name: str, suite: Suite) -> list[Result]:
    """Return the results of a suite that were measured with other code, or with code that was not recorded."""
    today = digest(suite.SOURCES)
    return [result for result in store.all(name) if result.get("sources") != today]


def stale_lines(store: Store, suites: Mapping[str, Suite], names: Iterable[str] = ()) -> list[str]:
    """Return the stale results: for each suite their number by commit, or one by one for the suites that are named."""
    named, lines = set(names), []
    for name, suite in suites.items():
        results = stale_results(store, name, suite)
        if name in named:
            lines += [f"{_key(result)} at {_commit(result)}" for result in results]
        elif results and not named:
            commits = Counter(map(_commit, results))
            lines.append(f"{name}: {', '.join(f'{count} at {commit}' for commit, count in sorted(commits.items()))}")
    return lines or ["No result is stale."]


def _key(result: Result) -> str:
    return Task(*(result[name] for name in ("suite", "case", "kind", "method"))).key


def _commit(result: Result) -> str:
    return result.get("commit") or "an unknown commit"


def measured_at(store: Store, suites: Mapping[str, Suite]) -> str:
    """Return sentences that say at which commits the results of these suites were measured, and which suites are older."""
    commits = Counter(result.get("commit", "") for name in suites for result in store.all(name))
    before = commits.pop("", 0)
    told = [f"{count} at {name or 'an unknown commit'}" for name, count in sorted(commits.items(), key=str)]
    if before:
        told.insert(0, f"{before} before sources were recorded")
    if not told:
        return "Nothing on this page is measured yet."
    return (
        f"Results behind this page, measured: {', '.join(told)}. {older_mark(store, suites)}"
        "`python -m benchmarks stale` compares them with the sources at hand."
    )


def older_mark(store: Store, suites: Mapping[str, Suite]) -> str:
    """Return a sentence that names the suites with results older than their sources; empty if there are none.

    It names suites and counts nothing, so that a page changes only when a suite becomes stale or fresh.
    """
    older = sorted(name for name, suite in suites.items() if stale_results(store, name, suite))
    return f"Older than the code of today: {', '.join(older)}. " if older else ""
