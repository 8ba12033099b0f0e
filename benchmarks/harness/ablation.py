"""What each stage brings: the middle of three seeds for each way to begin, as a table and for the figure."""

from __future__ import annotations

from .plans import CURVES, STARTS
from .store import Result, Store
from .tables import markdown, missing

LABELS = {
    "continuous": "continuous only",
    "random": "search from a random tree",
    "average": "search from average linkage",
    "bisecting": "search from bisecting k-means",
    "both": "both (the default)",
}
Curve = list[list[float]]  # (seconds, cost), the cost falling


def middle_curve(result: Result) -> Curve:
    """The curve of the seed whose last cost is the median."""
    curves = sorted((record["curve"] for record in result["records"]), key=lambda curve: curve[-1][1])
    return curves[len(curves) // 2]


def lowest_cost(results: list[Result]) -> float:
    """The lowest cost that any of these found in any seed."""
    return min(record["curve"][-1][1] for result in results for record in result["records"])


def curves_of(store: Store, name: str) -> dict[str, Result]:
    """The stored results of a set that hold a curve, by the way to begin."""
    found = {start: store.get("curves", name, "cosine", start) for start in STARTS}
    return {start: result for start, result in found.items() if result and result["records"]}


def ablation_table(store: Store) -> str:
    """Cost above the lowest in per cent, and when that cost was reached."""
    rows = []
    for start in STARTS:
        cells = []
        for name in CURVES:
            found = curves_of(store, name)
            if start not in found:
                cells.append(missing(store.get("curves", name, "cosine", start)))
                continue
            seconds, cost = middle_curve(found[start])[-1]
            excess = 100 * (cost / lowest_cost(list(found.values())) - 1)
            cells.append(f"{excess:.4f} % at {seconds:.2g} s")
        rows.append([LABELS[start], *cells])
    return markdown(["", *CURVES], rows)
