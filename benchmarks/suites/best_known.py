"""Long searches and bounds; the cheaper tree is kept in best_known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hyphc import HypHC, Tree, dasgupta_cost
from hyphc.io.best_known import (
    BestKnown,
    build_similarity,
    checksum,
    entry_paths,
    find_bound,
    keep_lower,
    read_entry,
)
from hyphc.similarity import Similarity

from ..harness.cases import GRAPHS, PAPER
from ..harness.markdown import NOTHING, markdown, spaced
from ..harness.sources import METHOD, ROOT, commit
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = METHOD
FOLDER = ROOT / "best_known"
COSINE, DEFAULT, EDGES = "cosine", "default", "edges"
RECIPES: dict[str, dict[str, Any]] = {
    COSINE: {"standardize": True, "metric": "cosine"},
    DEFAULT: {"metric": "auto", "random_state": 0},
    EDGES: {"metric": "precomputed"},
}
TABLES_OF_ROWS = (*PAPER, "digits", "wine", "breast_cancer")
ALL_GRAPHS = ("karate", "les_miserables", *GRAPHS)
IMAGES = "mnist"
PACKING_BYTES = (
    200_000  # packings of at most so many bytes are stored; larger ones are made again when they are verified
)


class Search(NamedTuple):
    """Effort of a fit, its seeds, seconds after which no other seed begins, and effort of the bound."""

    effort: float
    seeds: int
    seconds: float
    bound_effort: float


# by number of points, up to the first that holds them
SEARCHES = {
    500: Search(20.0, 5, 20.0, 1.0),
    3_000: Search(10.0, 3, 45.0, 1.0),
    5_000: Search(5.0, 3, 60.0, 0.1),
    25_000: Search(3.0, 3, 90.0, 0.02),
    100_000: Search(1.0, 1, 60.0, 0.02),
}


def tasks() -> list[Task]:
    names = [(case, kind) for kind in (COSINE, DEFAULT) for case in TABLES_OF_ROWS]
    names += [*((case, EDGES) for case in ALL_GRAPHS), (IMAGES, DEFAULT)]
    return [Task("best_known", case, kind, "search", limit=20 * MINUTE) for case, kind in names]


def records(task: Task) -> Iterator[Record]:
    """Cost of each seed's tree, and then the bound and whether the entry was written."""
    recipe = {"data": task.case, **RECIPES[task.kind]}
    similarity = build_similarity(recipe)
    yield {"n": similarity.n}
    search = next(search for most, search in SEARCHES.items() if similarity.n <= most)
    best: tuple[float, int, Tree] | None = None
    begin = time.perf_counter()
    for seed in range(search.seeds):
        tree = HypHC(random_state=seed, effort=search.effort).fit(similarity).tree_
        cost = dasgupta_cost(tree, similarity)
        yield {"seed": seed, "cost": cost, "seconds": time.perf_counter() - begin}
        best = min(best or (cost, seed, tree), (cost, seed, tree), key=lambda found: found[0])
        if time.perf_counter() - begin > search.seconds:
            break
    assert best is not None
    yield _keep(f"{task.case}-{task.kind}", recipe, similarity, best, search)


def _keep(
    name: str, recipe: dict[str, Any], similarity: Similarity, best: tuple[float, int, Tree], search: Search
) -> Record:
    """Store the entry if it is cheaper than the stored one; return what it says."""
    cost, seed, tree = best
    bound, packings = find_bound(tree, similarity, effort=search.bound_effort, random_state=0)
    entry = BestKnown(
        name=name,
        n=similarity.n,
        similarity=recipe,
        checksum=checksum(similarity),
        cost=cost,
        method=f"HypHC(effort={search.effort:g})",
        seed=seed,
        commit=commit() or "",
        bound=bound,
    )
    written = keep_lower(entry, tree, FOLDER, packings, max_bytes=PACKING_BYTES)
    return {"seed": seed, "cost": cost, "lower": bound.value, "kind": bound.kind, "written": written}


def entries(folder: Path = FOLDER) -> list[BestKnown]:
    """Return the stored entries, in the order of the tasks."""
    order = {f"{task.case}-{task.kind}": k for k, task in enumerate(tasks())}
    found = map(read_entry, entry_paths(folder)) if folder.is_dir() else ()
    return sorted(found, key=lambda entry: order.get(entry.name, len(order)))


def best_known_table(store: Store) -> str:
    """Cost, bound and gap of each entry, from the folder of entries."""
    rows = []
    for entry in entries():
        how = f"{entry.method}, seed {entry.seed}"
        sure = {"statistical": f"{100 * entry.bound.confidence:g} % confidence"}.get(entry.bound.kind, "certain")
        gap = f"{100 * entry.gap:.2f} %" if entry.gap <= 1.0 else NOTHING
        shown = [f"{entry.cost:.10g}", f"{entry.bound.value:.8g}", gap, sure, how]
        rows.append([entry.name, spaced(entry.n), *shown])
    head = ["entry", "points", "best known cost", "no tree below", "gap at most", "bound", "found by"]
    return markdown(head, rows)


TABLES: dict[str, Callable[[Store], str]] = {"best-known": best_known_table}
