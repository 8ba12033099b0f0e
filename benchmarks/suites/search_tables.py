"""Tables of the suite ``search``."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from ..harness.markdown import NOTHING, missing, spaced, table
from ..harness.store import Result, Store

LABELS = {
    "hyphc": "HypHC",
    "scipy": "average linkage, SciPy",
    "fastcluster": "average linkage, fastcluster",
    "bisecting": "bisecting k-means",
    "scikit-learn": "scikit-learn's BisectingKMeans",
    "genie": "Genie",
    "paris": "Paris",
    "random": "random",
    "average": "average linkage",
    "continuous": "continuous",
}


def _of_kind(store: Store, kind: str) -> list[Result]:
    """Results of a part, by size, ours first."""
    found = [result for result in store.all("search") if result["kind"] == kind and "n" in result]
    return sorted(found, key=lambda result: (result["n"], result["method"] != "hyphc"))


def _compared(store: Store, kind: str, command: str) -> str:
    """Seconds, peak memory, and the cost, in digits and relative to that of the default fit of the same data."""
    results = _of_kind(store, kind)
    ours = {r["case"]: r["records"][0]["cost"] for r in results if r["method"] == "hyphc" and r["records"]}
    rows = []
    for result in results:
        name = [f"{result['case']} ({spaced(result['n'])})", LABELS[result["method"]]]
        if not result["records"]:
            rows.append([*name, missing(result), NOTHING, NOTHING, NOTHING])
            continue
        record = result["records"][0]
        excess = f"{record['cost'] / ours[result['case']] - 1:+.2g}" if result["case"] in ours else NOTHING
        memory = f"{result['peak_mb'] / 1024:.2f}"
        rows.append([*name, f"{record['seconds']:.2g}", memory, f"{record['cost']:.7g}", excess])
    header = ["set (points)", "method", "seconds", "peak GB", "cost", "above HypHC's, share"]
    return table(header, rows, f"search {command}")


def budget_table(store: Store) -> str:
    results = sorted(_of_kind(store, "budget"), key=lambda result: (result["n"], float(result["method"])))
    rows = []
    for result in results:
        name = f"{result['case']} ({spaced(result['n'])})"
        rows += [[name, f"{r['budget']:g}", f"{r['seconds']:.2f}", f"{r['cost']:.7g}"] for r in result["records"]]
    return table(["set (points)", "budget, s", "fit, s", "cost"], rows, "search budget")


def insertion_table(store: Store) -> str:
    result = store.get("search", "planted-100000", "insertion", "insert")
    labels = {"call": "a call with one point", "each": "each further point", "similarities": "its similarities alone"}
    records = (result or {}).get("records", [])
    rows = [[label, f"{1e3 * record[what]:.2g}"] for record in records for what, label in labels.items()]
    return table(["into a tree of 100 000", "ms"], rows, "search insertion")


def starts_table(store: Store) -> str:
    """Costs only: seconds of the same ways are in the ablation."""
    rows = []
    for result in _of_kind(store, "starts"):
        costs = {record["stage"]: f"{record['cost']:.7g}" for record in result["records"]}
        stages = [costs.get(stage, missing(result)) for stage in ("start", "sweeps", "all")]
        rows.append([f"{result['case']} ({spaced(result['n'])})", LABELS[result["method"]], *stages])
    return table(["set (points)", "start", "its cost", "after sweeps", "after all stages"], rows, "search starts")


def ablation_table(store: Store) -> str:
    """The median cost at the end of each stage, and the median CPU seconds until then."""
    stages = ("start", "sweeps", "other", "ratchet", "iterated")
    rows = []
    for result in sorted(_of_kind(store, "ablation"), key=lambda result: (result["n"], float(result["method"]))):
        cells = []
        for stage in stages:
            found = [record for record in result["records"] if record["stage"] == stage]
            costs, seconds = ([record[what] for record in found] for what in ("cost", "cpu"))
            cells.append(f"{median(costs):.7g} ({median(seconds):.2g} s)" if found else NOTHING)
        rows.append([f"{result['case']} ({spaced(result['n'])})", result["method"], *cells])
    header = ["set (points)", "effort", "start", "sweeps", "other starts", "ratchet", "iterated"]
    return table(header, rows, "search ablation")


TABLES: dict[str, Callable[[Store], str]] = {
    "starts": starts_table,
    "search-ablation": ablation_table,
    "linkages": lambda store: _compared(store, "linkages", "linkages"),
    "features-easy": lambda store: _compared(store, "features-0.6", "features-0.6"),
    "features-hard": lambda store: _compared(store, "features-0.95", "features-0.95"),
    "large-graph": lambda store: _compared(store, "graph", "graph"),
    "insertion": insertion_table,
    "budget": budget_table,
}
