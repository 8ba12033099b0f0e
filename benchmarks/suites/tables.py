"""The paper's tables: cost, purity, time and memory of all methods.

Bounds and the adjusted Rand index are measured, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import mean, median, stdev

from hyphc import cost_bounds

from ..harness import paper, trees
from ..harness.cases import Case
from ..harness.markdown import NOTHING, best, cut_short, markdown, missing
from ..harness.methods import METHODS
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import DEFAULT_LIMIT, MINUTE, Record, Task

SOURCES = METHOD
SETS = ("zoo", "iris", "glass", "wine", "segmentation", "spambase", "letter", "planted")
TABLE_METHODS = (
    "single",
    "average",
    "complete",
    "ward",
    "bkm",
    "bkm-means",
    "cut",
    "ufit",
    "ghhc",
    "affinity",
    "paris",
    "louvain",
    "genie",
    "hdbscan",
    "sklearn-bisecting",
    "hyphc-paper",
    "hyphc-released",
    "hyphc-continuous",
    "hyphc",
)
OURS = ("hyphc-paper", "hyphc-released", "hyphc-continuous", "hyphc")
LIMITS = {"hyphc-paper": 60 * MINUTE}
BOUND_SEEDS, EXACT_BOUNDS = 10, 1_000  # the paper's: above a thousand points from samples, ten seeds


def tasks() -> list[Task]:
    return [
        Task("tables", case, "cosine", method, LIMITS.get(method, DEFAULT_LIMIT))
        for case in SETS
        for method in ("bounds", *TABLE_METHODS)
    ]


def records(task: Task) -> Iterator[Record]:
    """Upper and lower bounds of any tree's cost, or the trees of a method."""
    return _bounds(task) if task.method == "bounds" else trees.records(task)


def _bounds(task: Task) -> Iterator[Record]:
    similarity = Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    exact = similarity.n <= EXACT_BOUNDS
    for seed in range(1 if exact else BOUND_SEEDS):
        settings = {} if exact else {"n_triplets": 1_000_000, "random_state": seed}
        bounds = cost_bounds(similarity, units=trees.units_of(task.case), **settings)
        yield {"seed": seed, "lower": bounds.lower, "upper": bounds.upper, "exact": exact}


def cost_table(store: Store) -> str:
    """Costs of all methods, best of five seeds, the paper's figure in brackets; the lowest of a column in bold."""
    found = {(m, s): best(store.get("tables", s, "cosine", m)) for m in TABLE_METHODS for s in SETS}
    lowest = {s: min((r["cost"] for m in TABLE_METHODS if (r := found[m, s])), default=None) for s in SETS}
    rows = [_bound_row(store, side) for side in ("upper", "lower")]
    for method in TABLE_METHODS:
        cells = []
        for name in SETS:
            record = found[method, name]
            if record is None:
                cell = missing(store.get("tables", name, "cosine", method))
            else:
                cell = in_units(record["cost"], name)
                cell = f"**{cell}**" if record["cost"] == lowest[name] else cell
                cell += cut_short(store.get("tables", name, "cosine", method))
            cells.append(cell + printed_in_brackets(paper.COST, method, name))
        rows.append([METHODS[method].label, *cells])
    return markdown(sets_in_units(SETS), rows)


def sets_in_units(names: Sequence[str]) -> list[str]:
    """The header of a table of costs."""
    return ["", *(f"{name} · 10^{paper.EXPONENT[name]}" for name in names)]


def in_units(cost: float, name: str) -> str:
    """A cost in the unit of its column, one digit more than the paper prints."""
    return f"{cost / 10 ** paper.EXPONENT[name]:.4f}"


def _bound_row(store: Store, side: str) -> list[str]:
    cells = []
    for name in SETS:
        result = store.get("tables", name, "cosine", "bounds")
        values = [record[side] / 10 ** paper.EXPONENT[name] for record in (result or {}).get("records", [])]
        cell = missing(result) if not values else f"{mean(values):.4f}"
        cell += f" ± {stdev(values):.4f}" if len(values) > 1 else ""
        cells.append(cell + printed_in_brackets(paper.COST, side, name))
    return [f"{side} bound", *cells]


def printed_in_brackets(printed: paper.Printed, method: str, name: str) -> str:
    return f" ({printed[method, name]})" if (method, name) in printed else ""


def purity_table(store: Store) -> str:
    """Dendrogram purity, in per cent, of the tree of least cost; the paper's figure in brackets."""

    def cell(result: Result | None, method: str, name: str) -> str:
        record = best(result)
        value = missing(result) if record is None else f"{100 * record['purity']:.1f}"
        return value + printed_in_brackets(paper.PURITY, method, name)

    return _by_method(store, cell)


def ari_table(store: Store) -> str:
    """Adjusted Rand index of the cut at the true number of classes, of the tree of least cost."""

    def cell(result: Result | None, method: str, name: str) -> str:
        record = best(result)
        return missing(result) if record is None else f"{record['ari']:.3f}"

    return _by_method(store, cell)


def time_table(store: Store) -> str:
    """Median seconds of a fit, and its quickest and slowest."""

    def cell(result: Result | None, method: str, name: str) -> str:
        seconds = [record["seconds"] for record in (result or {}).get("records", [])]
        if not seconds:
            return missing(result)
        spread = f" ({min(seconds):.3g} to {max(seconds):.3g})" if len(seconds) > 1 else ""
        return f"{median(seconds):.3g}{spread}"

    return _by_method(store, cell)


def memory_table(store: Store) -> str:
    """Peak memory of the process in MB, beyond what Python and the data took before."""

    def cell(result: Result | None, method: str, name: str) -> str:
        if result is None or result["peak_mb"] is None or "base_mb" not in result:
            return missing(result)
        return f"{result['peak_mb'] - result['base_mb']:.0f}"

    return _by_method(store, cell)


def _by_method(store: Store, cell: Callable[[Result | None, str, str], str]) -> str:
    rows = [
        [METHODS[m].label, *(cell(store.get("tables", name, "cosine", m), m, name) for name in SETS)]
        for m in TABLE_METHODS
    ]
    return markdown(["", *SETS], rows)


def seeds_table(store: Store) -> str:
    """How much the seed matters for ours: least, median and largest cost, below what the paper prints for its best."""
    rows = [["HypHC as printed", *(paper.COST.get(("hyphc-paper", name), NOTHING) for name in SETS)]]
    for method in OURS:
        cells = []
        for name in SETS:
            result = store.get("tables", name, "cosine", method)
            costs = [record["cost"] for record in (result or {}).get("records", [])]
            values = (min(costs), median(costs), max(costs)) if costs else ()
            cells.append(" / ".join(in_units(value, name) for value in values) or missing(result))
        rows.append([METHODS[method].label, *cells])
    return markdown(sets_in_units(SETS), rows)


TABLES: dict[str, Callable[[Store], str]] = {
    "cost": cost_table,
    "seeds": seeds_table,
    "purity": purity_table,
    "ari": ari_table,
    "time": time_table,
    "memory": memory_table,
}
