"""Stored results → Markdown tables. Nothing here measures, and the same results give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, median, stdev

from . import paper
from .cases import GRAPHS
from .methods import METHODS
from .plans import DECODED, GRAPH_METHODS, TABLE_METHODS
from .store import Result, Store

SETS = ("zoo", "iris", "glass", "wine", "segmentation", "spambase", "letter", "planted")
OURS = ("hyphc-paper", "hyphc-continuous", "hyphc")
NOTHING, STOPPED, TOO_LARGE, FAILED = "–", "over time", "too large", "failed"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def best(result: Result | None) -> dict[str, float] | None:
    """The record of least cost: of several seeds, the one that a user would keep."""
    if result is None or not result["records"]:
        return None
    return min(result["records"], key=lambda record: record["cost"])


def missing(result: Result | None) -> str:
    """What stands in a cell without a number."""
    if result is None:
        return NOTHING
    return {"time limit": STOPPED, "too large": TOO_LARGE}.get(result["status"], FAILED)


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
            cells.append(cell + _printed(paper.COST, method, name))
        rows.append([METHODS[method].label, *cells])
    return markdown(_sets_in_units(SETS), rows)


def _sets_in_units(names: Sequence[str]) -> list[str]:
    """The header of a table of costs."""
    return ["", *(f"{name} · 10^{paper.EXPONENT[name]}" for name in names)]


def cut_short(result: Result) -> str:
    """The mark of a result whose time was over before its last seed."""
    return "†" if result["status"] == "time limit" else ""


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
        cells.append(cell + _printed(paper.COST, side, name))
    return [f"{side} bound", *cells]


def _printed(printed: paper.Printed, method: str, name: str) -> str:
    return f" ({printed[method, name]})" if (method, name) in printed else ""


def purity_table(store: Store) -> str:
    """Dendrogram purity, in per cent, of the tree of least cost; the paper's figure in brackets."""

    def cell(result: Result | None, method: str, name: str) -> str:
        record = best(result)
        value = missing(result) if record is None else f"{100 * record['purity']:.1f}"
        return value + _printed(paper.PURITY, method, name)

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
    return markdown(_sets_in_units(SETS), rows)


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


def decoding_table(store: Store) -> str:
    """Exact against greedy decoding of one embedding, the paper's figures in brackets."""
    rows = []
    results = {name: store.get("decoding", name, "cosine", "decoding") for name in DECODED}
    for what in ("exact", "greedy"):
        costs, times = [], []
        for name in DECODED:
            record = _decoded(results[name], what)
            cost = NOTHING if record is None else in_units(record["cost"], name)
            milliseconds = NOTHING if record is None else f"{1e3 * record['seconds']:.2g}"
            costs.append(cost + _printed(paper.DECODING, what, name))
            times.append(milliseconds + _printed(paper.DECODING_MS, what, name))
        rows += [[f"{what}, cost", *costs], [f"{what}, ms", *times]]
    ratios = []
    for name in DECODED:
        slow, fast = (_decoded(results[name], what) for what in ("exact", "greedy"))
        ratios.append(f"{slow['seconds'] / fast['seconds']:.1f}" if slow and fast else NOTHING)
    rows.append(["greedy is faster by", *ratios])
    order = [0, 2, 1, 3, 4]
    return markdown(_sets_in_units(DECODED), [rows[k] for k in order])


def _decoded(result: Result | None, what: str) -> dict[str, float] | None:
    return next((record for record in (result or {}).get("records", []) if record["decoding"] == what), None)
