"""How old results are: by commits for the pages, which must not change with every edit, by hashes for whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..suites import SUITES
from .sources import digest
from .store import Result, Store


def stale_lines(store: Store) -> list[str]:
    """A line for each suite, and one for each of its results whose sources are no longer those of today."""
    lines = []
    for name, suite in SUITES.items():
        results = list(store.all(name))
        today = digest(suite.SOURCES)
        unknown = sum("sources" not in result for result in results)
        old = [result for result in results if result.get("sources", today) != today]
        counts = [(len(results) - unknown - len(old), "of today's sources"), (len(old), "of other sources")]
        counts.append((unknown, "measured before sources were recorded"))
        told = ", ".join(f"{count} {what}" for count, what in counts if count) or "no results"
        lines.append(f"{name}: {told}")
        lines += [f"    {_key(result)} at {result['commit'] or 'an unknown commit'}" for result in old]
    return lines


def _key(result: Result) -> str:
    return f"{result['suite']}/{result['case']}.{result['kind']}.{result['method']}"


def measured_at(store: Store, suites: Iterable[str]) -> str:
    """At which commits the results of these suites were measured, in a sentence."""
    commits = Counter(result.get("commit", "") for name in suites for result in store.all(name))
    before = commits.pop("", 0)
    told = [f"{count} at {name or 'an unknown commit'}" for name, count in sorted(commits.items(), key=str)]
    if before:
        told.insert(0, f"{before} before sources were recorded")
    if not told:
        return "Nothing on this page is measured yet."
    return (
        f"Results behind this page, measured: {', '.join(told)}. "
        "`python -m benchmarks stale` compares them with the sources at hand."
    )
