"""Attempts at tighter certificates.

Other packings, exact linear programmes with local inequalities, larger subsets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from hyphc import HypHC, optimality_gap, spreading_bound
from hyphc._runtime.arrays import Floats, Ints
from hyphc.scores import spreading_metrics
from hyphc.similarity import Graph
from scipy.optimize import linprog

from ..harness.cases import Case
from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task
from .spreading import graph_named

SOURCES = METHOD
GRAPHS = ("karate_club", "miserables")
DENSE = ("glass", "letter")
SUBSETS = {12: 2000, 14: 1000, 16: 200}  # leaves, and how many subsets of so many
TRIED = {
    "packings": "as they are, effort 1",
    "one step size": "all with ε = 0.1, instead of ever smaller steps",
    "smaller steps": "one more stage, ε = 0.0125",
    "more levels": "levels 1.2 instead of 1.5 times the one before",
    "warm starts": "each level begins with the lengths of the one before",
    "level programmes": "the linear programmes of the same levels solved exactly (HiGHS)",
    "cliques": "and cliques of t + 1 nodes, of which every partition cuts t pairs",
}
PROGRAMMES = ("level programmes", "cliques")  # on all pairs: only for the smallest graph
LARGEST_CLIQUE = 5
TOLERANCE, CUTS = 1e-7, 2000  # of an inequality, and how many of them are added at a time


def tasks() -> list[Task]:
    packed = [Task("sharpening", case, "graph", name) for case in GRAPHS for name in TRIED if name not in PROGRAMMES]
    solved = [Task("sharpening", GRAPHS[0], "graph", name, limit=15 * MINUTE) for name in PROGRAMMES]
    return [*packed, *solved, *(Task("sharpening", case, "cosine", "subsets", limit=15 * MINUTE) for case in DENSE)]


def records(task: Task) -> Iterator[Record]:
    """A lower bound and its CPU seconds; for subsets one record each k."""
    if task.kind == "cosine":
        yield from subset_records(task.case)
        return
    graph = graph_named(task.case)
    yield {"n": graph.n}
    spreading_bound(graph, effort=1e-3)  # compiles
    begin = time.process_time()
    lower = PROVERS[task.method](graph)
    yield {"lower": lower / graph.total(), "seconds": time.process_time() - begin}


def subset_records(case: str) -> Iterator[Record]:
    similarity = Case(case).similarity("cosine")
    yield {"n": similarity.n}
    tree = HypHC(random_state=0).fit(similarity).tree_
    for k in SUBSETS:  # compiles
        optimality_gap(tree, similarity, k=k, n_subsets=1, random_state=0)
    for k, n_subsets in SUBSETS.items():
        begin = time.process_time()
        found = optimality_gap(tree, similarity, k=k, n_subsets=n_subsets, random_state=0)
        seconds = time.process_time() - begin
        yield {
            "k": k,
            "subsets": n_subsets,
            "gap": found.gap,
            "limit": found.confidence_interval[1],
            "seconds": seconds,
        }


def with_setting(name: str, value: object) -> Callable[[Graph], float]:
    """The bound with another setting of the solver."""

    def prove(graph: Graph) -> float:
        before = getattr(spreading_metrics, name)
        setattr(spreading_metrics, name, value)
        try:
            return spreading_bound(graph).lower
        finally:
            setattr(spreading_metrics, name, before)

    return prove


def warm_started(graph: Graph) -> float:
    """Each level begins with the lengths of the one before."""

    class Warm(spreading_metrics._Maker):
        lengths: Floats | None = None

        def __init__(self, network: spreading_metrics.kernels.Network, t: float, roots: Ints, keep: bool) -> None:
            super().__init__(network, t, roots, keep)
            if Warm.lengths is not None:
                self.packed.lengths[:] = Warm.lengths / Warm.lengths.max()
            Warm.lengths = self.packed.lengths

    return with_setting("_Maker", Warm)(graph)


class Pairs:
    """Distances of all pairs as variables of linear programmes; triangle inequalities are added where they are violated."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.n = graph, graph.n
        self.i, self.j = np.triu_indices(graph.n, 1)
        self.number = np.zeros((graph.n, graph.n), dtype=np.int64)
        self.number[self.i, self.j] = self.number[self.j, self.i] = np.arange(len(self.i))
        self.weights = graph.to_dense()[self.i, self.j]

    def stars(self) -> sp.csr_array[np.float64]:
        """A row for each node: the sum of its distances."""
        pairs = np.arange(len(self.i))
        places = np.concatenate([self.i, self.j]), np.concatenate([pairs, pairs])
        return sp.csr_array((np.ones(2 * len(pairs)), places), shape=(self.n, len(pairs)))

    def triangles(self, distances: Floats) -> sp.csr_array[np.float64]:
        """The most violated of d_ij + d_jk ≥ d_ik, a row each."""
        D = np.where(np.eye(self.n, dtype=bool), 0.0, distances[self.number])
        excess = D[:, None, :] - D[:, :, None] - D[None, :, :].transpose(0, 2, 1)  # d_ik − d_ij − d_jk at [i, j, k]
        i, j, k = np.nonzero(excess > TOLERANCE)
        worst = np.argsort(-excess[i, j, k])[:CUTS]
        i, j, k = i[worst], j[worst], k[worst]
        rows, columns = np.arange(len(i)), self.number
        places = np.tile(rows, 3), np.concatenate([columns[i, j], columns[j, k], columns[i, k]])
        return sp.csr_array((np.repeat([1.0, 1.0, -1.0], len(i)), places), shape=(len(i), len(self.i)))

    def solve(self, t: float, more: Cutter) -> tuple[float, Floats]:
        """The least Σ w·d of all metrics d ≤ 1 whose distances from each node sum to n − t, and the prices of these sums."""
        rows, least = self.stars(), np.full(self.n, self.n - t)
        while True:
            found = linprog(self.weights, A_ub=-rows, b_ub=-least, bounds=(0, 1), method="highs")
            cuts, bounds = more(found.x)
            triangles = self.triangles(found.x)
            if not triangles.shape[0] and not cuts.shape[0]:
                return float(found.fun), -found.ineqlin.marginals[: self.n]
            rows = sp.csr_array(sp.vstack([rows, triangles, cuts]))
            least = np.concatenate([least, np.zeros(triangles.shape[0]), bounds])


Cutter = Callable[[Floats], tuple[sp.csr_array[np.float64], Floats]]


def level_programmes(graph: Graph, cliques: bool = False) -> float:
    """The programmes of the packings' levels; by their prices, straight lines for those between."""
    pairs = Pairs(graph)
    levels = np.arange(graph.n, dtype=np.float64)
    cuts = np.where(levels < 2, graph.total(), 0.0)
    for t in spreading_metrics.level_grid(graph):
        value, prices = pairs.solve(t, nothing_more(pairs))
        cuts = np.maximum(cuts, value - prices.sum() * (levels - t))
        if cliques and t <= LARGEST_CLIQUE - 1:
            value, _ = pairs.solve(t, clique_cutter(pairs, int(t)))
            cuts = np.maximum(cuts, np.where(levels <= t, value, 0.0))  # these inequalities hold here and below
    return float(np.ceil(cuts * (1 - 1e-9)).sum())


def nothing_more(pairs: Pairs) -> Cutter:
    none = sp.csr_array((0, len(pairs.i)))
    return lambda distances: (none, np.zeros(0))


def clique_cutter(pairs: Pairs, t: int) -> Cutter:
    """Cliques of t + 1 nodes whose distances sum to less than t."""
    adjacent = pairs.graph.to_dense() > 0
    sets = [s for s in combinations(range(pairs.n), t + 1) if clique(adjacent, s)]
    members = [[pairs.number[a, b] for a, b in combinations(s, 2)] for s in sets]

    def cut(distances: Floats) -> tuple[sp.csr_array[np.float64], Floats]:
        violated = [m for m in members if distances[m].sum() < t - TOLERANCE]
        places = np.repeat(np.arange(len(violated)), (t + 1) * t // 2), np.array(violated, dtype=np.int64).ravel()
        return sp.csr_array((np.ones(len(places[0])), places), shape=(len(violated), len(pairs.i))), np.full(
            len(violated), t
        )

    return cut


def clique(adjacent: np.ndarray, nodes: tuple[int, ...]) -> bool:
    return all(adjacent[a, b] for a, b in combinations(nodes, 2))


PROVERS: dict[str, Callable[[Graph], float]] = {
    "packings": lambda graph: spreading_bound(graph).lower,
    "one step size": with_setting("STAGES", ((0.1, 3.0), (0.1, 6.0))),
    "smaller steps": with_setting("STAGES", (*spreading_metrics.STAGES, (0.0125, 3.0))),
    "more levels": with_setting("FACTOR", 1.2),
    "warm starts": warm_started,
    "level programmes": level_programmes,
    "cliques": lambda graph: level_programmes(graph, cliques=True),
}


def sharpening_table(store: Store) -> str:
    """Bounds per unit of weight, and CPU seconds."""
    stored = {(task.case, task.method): store.of(task) for task in tasks() if task.kind == "graph"}
    rows = []
    for name, what in TRIED.items():
        cells = [_cell(stored.get((case, name))) for case in GRAPHS]
        if any(cells):
            rows.append([what, *(cell or "–" for cell in cells)])
    return table(["tried", *(f"{case}: no tree below" for case in GRAPHS)], rows, "sharpening")


def _cell(result: Record | None) -> str | None:
    if not result or not result["records"]:
        return None
    record = result["records"][0]
    return f"{record['lower']:.3f} ({record['seconds']:.1f} s)"


def subsets_table(store: Store) -> str:
    """Certified gaps for subsets of different sizes."""
    rows = []
    for result in map(store.of, [task for task in tasks() if task.kind == "cosine"]):
        for record in result["records"] if result else []:
            gaps = [f"{100 * record['gap']:.2f} %", f"{100 * record['limit']:.2f} %"]
            rows.append(
                [result["case"], str(record["k"]), spaced(record["subsets"]), *gaps, f"{record['seconds']:.1f}"]
            )
    return table(["set", "k", "subsets", "estimate", "with 99 % confidence", "CPU seconds"], rows, "subset-sizes")


TABLES: dict[str, Callable[[Store], str]] = {"sharpening": sharpening_table, "subset-sizes": subsets_table}
