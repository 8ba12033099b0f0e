"""scikit-learn's toy data and five tables: clusters and their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hyphc import HypHC

from ..harness import clusterers
from ..harness.clusterers import CANDIDATES, CLUSTERERS, NAMES
from ..harness.markdown import NOTHING, markdown, missing, spaced, table
from ..harness.points import TOYS, drawn_anew
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import DEFAULT_LIMIT, MINUTE, Record, Task

SOURCES = METHOD
ROWS = ("circles", "moons", "varied", "aniso", "blobs", "noise", "one-blob")  # of the picture, in its order
ONE_CLASS = ("noise", "one-blob")
SETS = (*TOYS, "iris", "wine", "breast_cancer", "digits", "letter")
GIVEN = ("ours", "kmeans-flat", "ward-flat", "spectral-flat", "average-flat", "genie-flat")
FOUND = ("ours", "hdbscan-flat", "evoc-flat", "louvain-flat", "leiden-flat")
# columns of the picture: method, which of its clusters, title
COLUMNS = (
    ("ours", "given", "HypHC\ntrue number"),
    ("ours", "found", "HypHC\nautomatic"),
    ("kmeans-flat", "given", "k-means\ntrue number"),
    ("ward-flat", "given", "Ward\ntrue number"),
    ("spectral-flat", "given", "spectral clustering\ntrue number"),
    ("hdbscan-flat", "found", "HDBSCAN\nautomatic"),
    ("average-flat", "given", "average linkage\ntrue number"),
)


LIMITS = {"letter": 15 * MINUTE}
SEEDS = range(100, 110)
CLOUDS = tuple(f"{kind}-{n}-{d}" for kind in ("gaussian", "uniform") for n in (100, 500, 2000) for d in (2, 10))
CLOUDS += tuple(f"{kind}-500-{d}" for kind in ("exponential", "student") for d in (2, 10))
CLOUD_NAMES = {"gaussian": "Gaussian", "uniform": "uniform", "exponential": "exponential", "student": "Student's t₅"}
DRAWN = ("moons", "circles", "blobs-3", "blobs-5", "blobs-8")


def tasks() -> list[Task]:
    """Letter, the largest, last."""
    methods = dict.fromkeys((*GIVEN, *FOUND))
    found = [Task("toys", case, "auto", method, LIMITS.get(case, DEFAULT_LIMIT)) for case in SETS for method in methods]
    found += [Task("toys", case, kind, "ours") for kind in CANDIDATES[1:] for case in TOYS]
    anew = [Task("toys", case, "seeds", "ours") for case in (*DRAWN, *CLOUDS)]
    return sorted((*found, *anew), key=lambda task: task.case == "letter")


def records(task: Task) -> Iterator[Record]:
    """What a method says of a set, or the numbers of clusters that ours finds for ten seeds of it."""
    return _seeds(task) if task.kind == "seeds" else clusterers.records(task)


def _seeds(task: Task) -> Iterator[Record]:
    yield {"n": len(drawn_anew(task.case, SEEDS[0])[0])}
    for seed in SEEDS:
        rows, right = drawn_anew(task.case, seed)
        yield {"seed": seed, "n_clusters": HypHC(random_state=0).fit(rows).n_clusters_, "right": right}


def given_table(store: Store) -> str:
    """ARI times 100 when the number of clusters is given; the best of a row in bold."""
    cases = [case for case in SETS if case not in ONE_CLASS]
    return _table(store, cases, GIVEN, "ari", lambda record: f"{100 * record['ari']:.1f}")


def found_table(store: Store) -> str:
    """ARI times 100 at the number of clusters that each method finds, which follows in brackets."""

    def cell(record: dict[str, Any]) -> str:
        return f"{100 * record['auto_ari']:.1f} ({found_words(record)})"

    return _table(store, SETS, FOUND, "auto_ari", cell)


def found_words(record: dict[str, Any]) -> str:
    """How many clusters were found, and the share of noise."""
    share = "under 1" if 0 < record["noise"] < 0.005 else f"{100 * record['noise']:.0f}"
    return f"{record['n_clusters']}" + (f", {share} % noise" if record["noise"] > 0 else "")


def _table(
    store: Store, cases: Sequence[str], methods: Sequence[str], what: str, cell: Callable[[dict[str, Any]], str]
) -> str:
    rows = []
    for case in cases:
        found = {method: store.get("toys", case, "auto", method) for method in methods}
        records = {method: result["records"][0] for method, result in found.items() if result and result["records"]}
        best = max((round(record[what], 3) for record in records.values()), default=None)
        cells = []
        for method in methods:
            if method not in records:
                cells.append(missing(found[method]))
                continue
            text = cell(records[method])
            cells.append(f"**{text}**" if round(records[method][what], 3) == best else text)
        about = next((result for result in found.values() if result and "n_classes" in result), None)
        rows.append([case.replace("_", " "), str(about["n_classes"]) if about else NOTHING, *cells])
    return markdown(["set", "classes", *(CLUSTERERS[method].label for method in methods)], rows)


def candidates_table(store: Store) -> str:
    """Other settings of ours on the toys: ARI times 100 at the true number, and the number found."""
    rows = []
    for kind in CANDIDATES:
        found = {case: store.get("toys", case, kind, "ours") for case in TOYS}
        if not all(result and result["records"] for result in found.values()):
            continue
        records = {case: result["records"][0] for case, result in found.items() if result}
        given = {case: f"{100 * record['ari']:.1f}" for case, record in records.items()}
        told = [NOTHING if case in ONE_CLASS else given[case] for case in TOYS]
        numbers = [record["n_clusters"] for record in records.values()]
        rows.append([NAMES[kind], *(f"{ari} ({number})" for ari, number in zip(told, numbers, strict=True))])
    return table(["", *TOYS], rows, "toys")


def seeds_table(store: Store) -> str:
    """How often the number that ours finds is right, and which other numbers it found."""
    rows = []
    for case in (*DRAWN, *CLOUDS):
        found = (store.get("toys", case, "seeds", "ours") or {}).get("records", [])
        if not found:
            continue
        right = found[0]["right"]
        counts = Counter(record["n_clusters"] for record in found)
        others = ", ".join(f"{k} ({count}×)" for k, count in sorted(counts.items()) if k != right)
        rows.append([_words(case), str(right), f"{counts[right]} of {len(found)}", others or NOTHING])
    return table(["new seeds", "clusters", "found", "other numbers"], rows, "toys seeds")


def _words(case: str) -> str:
    kind, *shape = case.split("-")
    if len(shape) == 2:
        return f"unimodal, {CLOUD_NAMES[kind]}, {spaced(int(shape[0]))} points, {shape[1]} columns"
    return " of ".join((kind, *shape))


TABLES: dict[str, Callable[[Store], str]] = {
    "toys-given": given_table,
    "toys-found": found_table,
    "toys-candidates": candidates_table,
    "toys-seeds": seeds_table,
}
