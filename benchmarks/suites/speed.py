"""Cost against time, and time against n, with peers.

On features, graphs and the default similarity.

What runs on rows gets the rows, distances included in its time; what runs on a graph gets the graph. Of ours the whole fit is
timed, from the similarity on; for the default similarity from the rows on, neighbours included. All costs are under the
similarity that ours optimises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from math import inf, log
from typing import Any

import numpy as np
from hyphc import HypHC, Tree, as_similarity, baselines, dasgupta_cost, datasets
from hyphc.similarity import Similarity
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from ..harness.cases import GRAPHS, Case
from ..harness.markdown import NOTHING, markdown, missing, spaced
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import MINUTE, Record, Task
from .curves import thinned

SOURCES = METHOD
LONG, BUDGET = 30 * MINUTE, 60.0
SETS = ("segmentation", "spambase", "letter")
SIZES = (200, 2_000, 20_000, 200_000, 1_000_000)
KINDS = {"cosine": "features", "edges": "graph", "auto": "default similarity"}
ALL_PAIRS = 20_000  # points: linkages that take n² distances go no further
WITHIN = (1.0, 0.1, 0.01)  # per cent

# of each kind: ours, ours with a budget (which sets the mark), and peers with the most points that they are given
PEERS: dict[str, dict[str, int]] = {
    "cosine": {
        "scipy": ALL_PAIRS,
        "fastcluster": ALL_PAIRS,
        "ward": ALL_PAIRS,
        "genie": 200_000,
        "bisecting": 1_000_000,
    },
    "edges": {"scipy": 5_000, "paris": 1_000_000},
    "auto": {"ward": ALL_PAIRS, "genie": 200_000, "paris": 200_000},
}
LABELS = {
    "hyphc": "HypHC",
    "scipy": "average linkage, SciPy",
    "fastcluster": "average linkage, fastcluster",
    "ward": "Ward, fastcluster",
    "genie": "Genie",
    "bisecting": "bisecting k-means, ours",
    "paris": "Paris",
}


def tasks() -> list[Task]:
    cases = [(name, "cosine") for name in SETS] + [(name, "edges") for name in GRAPHS]
    found = [Task("speed", name, kind, who, LONG) for name, kind in cases for who in ("hyphc", "long", *PEERS[kind])]
    for kind in KINDS:
        for n in SIZES:
            who = ["hyphc", *(peer for peer, most in PEERS[kind].items() if n <= most)]
            found += [Task("speed", f"planted-{n}", kind, method, LONG) for method in who]
    return found


def records(task: Task) -> Iterator[Record]:
    """Best cost against seconds, for three seeds of ours and one run of each peer."""
    data = _data(task.case, task.kind)
    similarity = data if isinstance(data, Similarity) else as_similarity(data, task.kind, random_state=0, n_jobs=-1)
    yield {"n": similarity.n}
    if task.method in ("hyphc", "long"):
        HypHC(metric="auto", time_budget=1.0).fit(data)  # compiles
        for seed in range(3 if similarity.n <= ALL_PAIRS and task.method == "hyphc" else 1):
            yield {"seed": seed, **_followed(data, seed, BUDGET if task.method == "long" else None)}
        return
    few = _data(f"planted-{SIZES[0]}", task.kind)
    METHODS[task.method](as_similarity(few, task.kind), few)  # loads and compiles
    begin = time.perf_counter()
    tree = METHODS[task.method](similarity, data)
    seconds = time.perf_counter() - begin
    yield {"seconds": seconds, "curve": [[round(seconds, 4), dasgupta_cost(tree, similarity)]]}


def _data(case: str, kind: str) -> Any:
    """Rows for the default similarity, else a similarity."""
    if not case.startswith("planted-"):
        return Case(case).similarity(kind)
    n = int(case.removeprefix("planted-"))
    if kind == "edges":
        return as_similarity(datasets.planted_graph(n, 7.0, random_state=0).data, "precomputed")
    rows = datasets.planted(n, 32, decay=0.95, random_state=0).data
    return rows if kind == "auto" else as_similarity(rows, kind)


def _followed(data: Any, seed: int, budget: float | None) -> Record:
    """Seconds of a fit without listeners, unless a budget sets them, and the costs on the way of one with them."""
    begin = time.perf_counter()
    if budget is None:
        HypHC(random_state=seed).fit(data)
    seconds = budget or time.perf_counter() - begin
    points: list[tuple[float, float]] = []
    begin = time.perf_counter()

    def note(progress: Any) -> None:
        if not points or progress.cost < points[-1][1]:
            points.append((time.perf_counter() - begin, progress.cost))

    HypHC(random_state=seed, time_budget=budget, callback=note).fit(data)
    return {"seconds": seconds, "curve": thinned(points)}


def _rows(similarity: Similarity, data: Any) -> Any:
    """The rows of a similarity of features, or those that were given."""
    return data if isinstance(data, np.ndarray) else similarity.X  # type: ignore[attr-defined]


def _scipy(similarity: Similarity, data: Any) -> Tree:
    """Of unit rows 1 − (1 + cos)/2 is a quarter of the squared distance; of a graph the distance is w_max − w."""
    if similarity.is_sparse:
        return baselines.average_linkage(similarity)
    return Tree.from_linkage(hierarchy.linkage(pdist(_rows(similarity, data), "sqeuclidean") / 4, "average"))


def _fastcluster(similarity: Similarity, data: Any) -> Tree:
    import fastcluster

    return Tree.from_linkage(fastcluster.linkage(pdist(_rows(similarity, data), "sqeuclidean") / 4, "average"))


def _ward(similarity: Similarity, data: Any) -> Tree:
    import fastcluster

    return Tree.from_linkage(fastcluster.linkage_vector(_rows(similarity, data), "ward"))


def _genie(similarity: Similarity, data: Any) -> Tree:
    from ..peers.large import genie

    return genie(np.ascontiguousarray(_rows(similarity, data), dtype=np.float64))


def _paris(similarity: Similarity, data: Any) -> Tree:
    """Of the default similarity, the graph in it; it is found again, since neighbours belong to the time."""
    from ..peers.communities import paris

    found = similarity if isinstance(data, Similarity) else as_similarity(data, random_state=0, n_jobs=-1)
    return paris(found.local_part)


METHODS: dict[str, Callable[[Similarity, Any], Tree]] = {
    "scipy": _scipy,
    "fastcluster": _fastcluster,
    "ward": _ward,
    "genie": _genie,
    "bisecting": lambda similarity, data: baselines.bisecting_kmeans(similarity),
    "paris": _paris,
}


def results_of(store: Store, case: str, kind: str) -> dict[str, Result]:
    """Stored results with records, by method."""
    found = {who: store.get("speed", case, kind, who) for who in ("hyphc", "long", *PEERS[kind])}
    return {who: result for who, result in found.items() if result and result["records"]}


def lowest(found: dict[str, Result]) -> float:
    """The lowest cost that any of these found."""
    return min(record["curve"][-1][1] for result in found.values() for record in result["records"])


def middle(result: Result) -> Record:
    """The record whose last cost is the median."""
    records = sorted(result["records"], key=lambda record: record["curve"][-1][1])
    return records[len(records) // 2]


def _reached(record: Record, cost: float) -> str:
    seconds = min((seconds for seconds, found in record["curve"] if found <= cost), default=inf)
    return NOTHING if seconds == inf else f"{seconds:.2g} s"


def within_table(store: Store) -> str:
    """Seconds until a cost within so many per cent of the lowest known; a dash where it is never reached."""
    rows = []
    for case, kind in [(name, "cosine") for name in SETS] + [(name, "edges") for name in GRAPHS]:
        found = results_of(store, case, kind)
        for who in ("hyphc", *PEERS[kind]):
            if who not in found:
                continue
            record, least = middle(found[who]), lowest(found)
            cells = [_reached(record, least * (1 + percent / 100)) for percent in WITHIN]
            excess = 100 * (record["curve"][-1][1] / least - 1)
            rows.append([case, LABELS[who], *cells, f"{record['seconds']:.2g} s", f"{excess:.4f} %"])
    header = ["", "", *(f"within {percent:g} %" for percent in WITHIN), "the end", "above the lowest"]
    return markdown(header, rows) if rows else "No results are stored yet; `python -m benchmarks speed` measures them."


def slope(times: dict[int, float]) -> float | None:
    """By which power of n the time grows, between the two largest n."""
    sizes = sorted(times)[-2:]
    return None if len(sizes) < 2 else log(times[sizes[1]] / times[sizes[0]]) / log(sizes[1] / sizes[0])


def times_of(store: Store, kind: str, who: str) -> dict[int, float]:
    """Seconds by n."""
    found = {n: store.get("speed", f"planted-{n}", kind, who) for n in SIZES}
    return {n: middle(result)["seconds"] for n, result in found.items() if result and result["records"]}


def _seconds(seconds: float) -> str:
    """Return two digits, or whole seconds where there are more."""
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def growth_table(store: Store) -> str:
    """Seconds on planted data by n, as multiples of ours where ours is known, and the power of n at the end."""
    rows = []
    for kind, words in KINDS.items():
        ours = times_of(store, kind, "hyphc")
        for who in ("hyphc", *PEERS[kind]):
            times = times_of(store, kind, who)
            cells = []
            for n in SIZES:
                ratio = f" ({times[n] / ours[n]:.2g} ×)" if who != "hyphc" and n in times and n in ours else ""
                stored = store.get("speed", f"planted-{n}", kind, who)
                cells.append(f"{_seconds(times[n])}{ratio}" if n in times else missing(stored))
            power = slope(times)
            rows.append([words, LABELS[who], *cells, NOTHING if power is None else f"n^{power:.2f}"])
    return markdown(["", "", *map(spaced, SIZES), "grows as"], rows)


def fits_table(store: Store) -> str:
    """Seconds of our fits on planted data by n, and their peak memory beyond that of the data."""
    rows = []
    for kind, words in KINDS.items():
        times = times_of(store, kind, "hyphc")
        found = {n: store.get("speed", f"planted-{n}", kind, "hyphc") for n in SIZES}
        cells = [
            f"{_seconds(times[n])}, {r['peak_mb'] - r['base_mb']:.0f} MB" if r and n in times else missing(r)
            for n, r in found.items()
        ]
        rows.append([words, *cells])
    return markdown(["similarity", *(f"{spaced(n)} points" for n in SIZES)], rows)


TABLES: dict[str, Callable[[Store], str]] = {
    "speed-within": within_table,
    "speed-growth": growth_table,
    "speed-fits": fits_table,
}
