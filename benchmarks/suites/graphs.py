"""Cost and time of all graph methods on three graphs.

Costs are per unit weight.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from ..harness import trees
from ..harness.cases import GRAPHS
from ..harness.markdown import best, cut_short, markdown, missing
from ..harness.methods import METHODS
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Task

SOURCES = METHOD
GRAPH_METHODS = (
    "single",
    "average",
    "complete",
    "bkm",
    "cut",
    "paris-graph",
    "louvain-graph",
    "hyphc-continuous",
    "hyphc",
)


def tasks() -> list[Task]:
    return [Task("graphs", case, "edges", method) for case in GRAPHS for method in GRAPH_METHODS]


records = trees.records


def graphs_table(store: Store) -> str:
    """Cost per unit weight on the graphs, median seconds in brackets."""
    found = {(m, g): store.get("graphs", g, "edges", m) for m in GRAPH_METHODS for g in GRAPHS}
    lowest = {g: min((r["cost"] for m in GRAPH_METHODS if (r := best(found[m, g]))), default=None) for g in GRAPHS}
    rows = []
    for method in GRAPH_METHODS:
        cells = []
        for name in GRAPHS:
            record = best(found[method, name])
            if record is None:
                cells.append(missing(found[method, name]))
                continue
            cost = f"{record['cost']:.1f}"
            cost = f"**{cost}**" if record["cost"] == lowest[name] else cost
            cost += cut_short(found[method, name])
            cells.append(f"{cost} ({median(r['seconds'] for r in found[method, name]['records']):.2g} s)")
        rows.append([METHODS[method].label, *cells])
    return markdown(["", *GRAPHS], rows)


TABLES: dict[str, Callable[[Store], str]] = {"graphs": graphs_table}
