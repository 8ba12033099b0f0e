"""Write the generated parts of the documentation and of the README from the stored results."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..suites import SUITES, best_known
from . import summaries
from .findings import findings
from .sources import ROOT
from .stale import measured_at
from .store import Store

DOCS = ROOT / "docs"

# parts by the name of their markers: the suites they draw on, and what writes them
Part = tuple[tuple[str, ...], Callable[[Store], str]]
PARTS: dict[str, Part] = {
    "headline": (("tables",), summaries.headline_table),
    "reached": (("tables", "graphs"), summaries.reached_table),
    "findings": (("tables", "graphs"), findings),
    "machine": ((), lambda store: machine_list(store)),
    **{part: ((name,), write) for name, suite in SUITES.items() for part, write in suite.TABLES.items()},
    # from entries, each of which a test verifies: they do not become old
    "best-known": ((), best_known.best_known_table),
}
MEASURED = "measured"  # the part that says at which commits the page's results were measured
PAGES = (*sorted(DOCS.rglob("*.md")), ROOT / "README.md")
_MARKED = re.compile(r"(<!-- ([a-z-]+):begin -->\n).*?(<!-- \2:end -->)", re.DOTALL)


def fill(page: str, store: Store) -> str:
    """Return the page with every part between its markers rewritten."""
    names = {match[2] for match in _MARKED.finditer(page)} - {MEASURED}
    unknown = sorted(names - PARTS.keys())
    if unknown:
        raise ValueError(f"The page has a part {unknown[0]!r}; known are {', '.join([*PARTS, MEASURED])}.")
    suites = {suite: SUITES[suite] for suite in sorted({suite for name in names for suite in PARTS[name][0]})}

    def part(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        text = measured_at(store, suites) if name == MEASURED else PARTS[name][1](store)
        return f"{begin}{text}\n{end}"

    return _MARKED.sub(part, page)


def write_report(store: Store) -> None:
    """Rewrite all pages, and draw all figures."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        path.write_text(fill(page, store), encoding="utf-8")
    from .figures import draw_all  # needs matplotlib

    draw_all(store, DOCS / "images")


def machine_list(store: Store) -> str:
    """Return the machines and versions behind all results, and how many of them shared the machine with other work."""
    seen: dict[str, int] = {}
    busy = 0
    for result in store.all():
        about, found = result["machine"], result["versions"]
        packages = ", ".join(f"{name} {number}" for name, number in sorted(found.items()))
        line = f"{about['cores']} cores of {about['cpu']}, {about['memory_gb']} GB, {about['system']}; {packages}"
        seen[line] = seen.get(line, 0) + 1
        busy += result["load"] > about["cores"] + 1  # a run alone keeps no more threads busy than there are cores
    lines = [f"- {count} results: {line}." for line, count in sorted(seen.items())]
    if busy:
        lines.append(
            f"- {busy} of them were measured while other work ran: their times are too long. Costs do not depend on that."
        )
    return "\n".join(lines)
