"""Certified gap of graphs, with and without spreading metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hyphc import HypHC, optimality_gap
from hyphc.similarity import Graph

from ..harness.cases import GRAPHS, Case
from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task
from ..harness.timing import timed

SOURCES = METHOD
TOYS = ("house", "bow_tie", "karate_club", "miserables", "painters")  # of scikit-network
EFFORTS = (0.1, 1.0)


def tasks() -> list[Task]:
    return [Task("spreading", case, "edges", "hyphc", limit=15 * MINUTE) for case in (*TOYS, *GRAPHS)]


def graph_named(case: str) -> Graph:
    """A graph of the benchmark, or a small one that comes with scikit-network, undirected."""
    if case in GRAPHS:
        return Graph(Case(case).similarity("edges").to_csr())
    import sknetwork.data

    adjacency: Any = getattr(sknetwork.data, case)()
    adjacency = adjacency.astype(float)
    return Graph(adjacency.maximum(adjacency.T))


def records(task: Task) -> Iterator[Record]:
    """Cost of the tree, its gap without packings, and with those of each effort, with the seconds of a certificate."""
    graph = graph_named(task.case)
    yield {"n": graph.n}
    tree = HypHC(random_state=0).fit(graph).tree_
    settings: dict[str, Any] = {"units": "mean", "random_state": 0, "n_jobs": -1}
    before = optimality_gap(tree, graph, time_budget=0.0, **settings)  # compiles, too
    record: Record = {"edges": graph.n_edges, "cost": before.cost, "without": before.confidence_interval[1]}
    for effort in EFFORTS:
        found, seconds = timed(lambda effort=effort: optimality_gap(tree, graph, effort=effort, **settings))
        record |= {f"gap {effort:g}": found.confidence_interval[1], f"seconds {effort:g}": seconds}
        record |= {"lower": found.lower_bound, "method": found.method}
    yield record


def spreading_table(store: Store) -> str:
    """Gaps in per cent."""
    rows = []
    for result in map(store.of, tasks()):
        if result and result["records"]:
            record = result["records"][0]
            name = f"{result['case']} ({spaced(result['n'])}, {spaced(record['edges'])})"
            gaps = [f"{100 * record[key]:.1f} %" for key in ("without", "gap 0.1", "gap 1")]
            numbers = [f"{record['cost']:.2f}", f"{record['lower']:.2f}", *gaps, f"{record['seconds 1']:.0f}"]
            rows.append([name, *numbers])
    head = ["graph (nodes, edges)", "cost", "no tree below", "gap without", "effort 0.1", "effort 1", "seconds"]
    return table(head, rows, "spreading")


TABLES: dict[str, Callable[[Store], str]] = {"spreading": spreading_table}
