"""Short tables of HypHC against others, for the page of comparisons and the page on the search."""

from __future__ import annotations

from statistics import median

from ..suites.tables import TABLE_METHODS, in_units
from . import paper
from .cases import GRAPHS, PAPER
from .markdown import NOTHING, best, cut_short, markdown, missing
from .methods import METHODS
from .store import Result, Store

HEADLINE = ("hyphc-paper", "hyphc-continuous", "hyphc")


def headline_table(store: Store) -> str:
    """Costs of the best linkage, bisecting k-means, the paper and ours, for the page of comparisons."""
    rows = []
    for name in PAPER:
        found = {method: store.get("tables", name, "cosine", method) for method in TABLE_METHODS}
        if best(found["hyphc"]) is None:
            continue
        linkages = [best(found[method]) for method in ("single", "average", "complete", "ward")]
        cheapest = min((r["cost"] for r in linkages if r), default=None)
        ours = [_headline_cell(found[method], name) for method in HEADLINE]
        rows.append(
            [
                f"{name} ({found['hyphc']['n']})",
                f"10^{paper.EXPONENT[name]}",
                in_units(cheapest, name) if cheapest else NOTHING,
                _headline_cell(found["bkm-means"], name),
                paper.COST["hyphc-paper", name],
                *ours[:-1],
                f"**{ours[-1]}**",
                f"{median(record['seconds'] for record in found['hyphc']['records']):.2g} s",
            ]
        )
    header = [
        "set (points)",
        "unit",
        "best linkage",
        "bisecting k-means",
        "HypHC as printed",
        *(METHODS[method].label for method in HEADLINE),
        "time of a fit",
    ]
    return markdown(header, rows)


def _headline_cell(result: Result | None, name: str) -> str:
    record = best(result)
    return missing(result) if record is None else in_units(record["cost"], name) + cut_short(result)


def reached_table(store: Store) -> str:
    """Best and median cost of default fits with all digits that matter, beside the paper's and average linkage."""
    rows = []
    for name in (*PAPER, *GRAPHS):
        suite, kind = ("graphs", "edges") if name in GRAPHS else ("tables", "cosine")
        costs = [record["cost"] for record in (store.get(suite, name, kind, "hyphc") or {}).get("records", [])]
        average = best(store.get(suite, name, kind, "average"))
        shown = [f"{cost:.8g}" for cost in (min(costs), median(costs))] if costs else [NOTHING, NOTHING]
        printed = paper.COST.get(("hyphc-paper", name))
        rows.append(
            [
                name,
                *shown,
                f"{printed}e{paper.EXPONENT[name]}" if printed else NOTHING,
                f"{average['cost']:.5g}" if average else NOTHING,
            ]
        )
    return markdown(["set", "best", "median", "HypHC as printed", "average linkage"], rows)
