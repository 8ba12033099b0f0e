"""Fills the generated parts of the docs and of the README from the stored results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from . import study, summaries, tables
from .ablation import ablation_table
from .classify import classification_findings, classification_table
from .findings import findings
from .store import Store

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

PARTS: dict[str, Callable[[Store], str]] = {
    "headline": summaries.headline_table,
    "reached": summaries.reached_table,
    "findings": findings,
    "cost": tables.cost_table,
    "seeds": tables.seeds_table,
    "purity": tables.purity_table,
    "ari": tables.ari_table,
    "time": tables.time_table,
    "memory": tables.memory_table,
    "decoding": tables.decoding_table,
    "graphs": tables.graphs_table,
    "ablation": ablation_table,
    "classification": classification_table,
    "classification-findings": classification_findings,
    "machine": lambda store: machine_list(store),
    "verdict": study.verdict,
    "ranks": study.rank_table,
    "candidates": study.candidates_table,
    "study-purity": lambda store: study.score_table(store, "purity"),
    "study-ari": lambda store: study.score_table(store, "ari"),
}
PAGES = (
    *(DOCS / f"{name}.md" for name in ("benchmarks", "which_similarity", "continuous", "search", "nn")),
    ROOT / "README.md",
)
_MARKED = re.compile(r"(<!-- ([a-z-]+):begin -->\n).*?(<!-- \2:end -->)", re.DOTALL)


def filled(page: str, store: Store) -> str:
    """The page with every part between its markers written anew."""

    def part(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        if name not in PARTS:
            raise ValueError(f"The page has a part {name!r}; known are {', '.join(PARTS)}.")
        return f"{begin}{PARTS[name](store)}\n{end}"

    return _MARKED.sub(part, page)


def write_report(store: Store) -> None:
    """Rewrite all pages, and draw the figures."""
    for path in PAGES:
        if path.is_file():
            page = path.read_text(encoding="utf-8")
            path.write_text(filled(page, store), encoding="utf-8")
    from .figures import draw_all  # needs matplotlib

    draw_all(store, DOCS / "images")


def machine_list(store: Store) -> str:
    """Machines and versions that the results were measured with, and how many shared the machine with other work."""
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
