"""The default fit, search included.

    python benchmarks/search.py [budget|linkages|features|graph|insertion|starts ...]

Each part takes some minutes. ``budget``, ``linkages`` and ``starts`` need the UCI files in HYPHC_DATA; ``linkages``
needs fastcluster, ``features`` genieclust and pynndescent, ``graph`` scikit-network. Costs are in the paper's units (ordered
pairs), those of graphs per unit weight.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from _measure import in_own_process, peak_bytes
from hyphc import HypHC, Tree, as_similarity, baselines, dasgupta_cost, datasets, insert, refine
from hyphc.pipeline.grouping import expanded
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

ROW = "{:<34} {:>9} {:>14} {:>10} {:>9}"


def timed(function: Callable, *arguments) -> tuple:
    begin = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begin


def compile_kernels() -> None:
    HypHC(random_state=0).fit(np.random.default_rng(0).normal(size=(500, 8)))


def budget() -> None:
    """How well a time budget is kept, and what 120 s buy on letter."""
    compile_kernels()
    print(f"{'set':<20} {'budget s':>8} {'fit s':>8} {'over':>7} {'cost':>13}")
    planted = datasets.planted(100_000, 32, random_state=0).data
    million = datasets.planted(1_000_000, 32, random_state=0).data
    letter = datasets.paper_similarity("letter")
    cases = [
        ("segmentation", datasets.paper_similarity("segmentation"), (10, 20)),
        ("polblogs", datasets.paper_similarity("polblogs"), (10, 20)),
        ("letter", letter, (10, 30, 120)),
        ("planted 100 000", as_similarity(planted), (10, 60)),
        ("planted 1 000 000", as_similarity(million), (60, 120)),
    ]
    for name, similarity, budgets in cases:
        for seconds in budgets:
            model, took = timed(HypHC(time_budget=seconds, random_state=0).fit, similarity)
            print(
                f"{name:<20} {seconds:>8} {took:>8.2f} {took / seconds - 1:>7.1%} {2 * model.cost_:>13.7g}", flush=True
            )


def linkages() -> None:
    """Average linkage of SciPy and fastcluster, distances included, against the default fit, on unit rows."""
    print(ROW.format("set, method", "s", "cost", "time ratio", "peak GB"))
    fit = 0.0
    for name in ("segmentation", "spambase", "letter"):
        for method in ("HypHC", "SciPy", "fastcluster"):
            seconds, cost, peak = in_own_process(_linkage_case, name, method)
            fit = seconds if method == "HypHC" else fit
            print(
                ROW.format(
                    f"{name}, {method}", f"{seconds:.2f}", f"{cost:.7g}", f"{seconds / fit:.2f}", f"{peak / 1e9:.2f}"
                ),
                flush=True,
            )


def _linkage_case(name: str, method: str) -> tuple[float, float, int]:
    similarity = datasets.paper_similarity(name)
    if method == "HypHC":
        compile_kernels()
        tree, seconds = timed(lambda: HypHC(random_state=0).fit(similarity).tree_)
    else:
        import fastcluster

        link = fastcluster.linkage if method == "fastcluster" else hierarchy.linkage
        # 1 − (1 + cos)/2 is a quarter of the squared distance of unit rows
        tree, seconds = timed(lambda: Tree.from_linkage(link(pdist(similarity.X, "sqeuclidean") / 4, "average")))
    return seconds, dasgupta_cost(tree, similarity, units="ordered"), peak_bytes()


def features() -> None:
    """Planted points, an easy set and a hard one: bisecting k-means, ours and scikit-learn's, genieclust, and the default fit."""
    print(ROW.format("n x 32, decay, method", "s", "cost / HypHC", "time ratio", "peak GB"))
    for n, decay in ((100_000, 0.6), (1_000_000, 0.6), (100_000, 0.95), (1_000_000, 0.95)):
        fit, best, peak = in_own_process(_features_case, n, decay, "HypHC")
        print(ROW.format(f"{n}, {decay}, HypHC", f"{fit:.1f}", "1", "1", f"{peak / 1e9:.2f}"), flush=True)
        for method in ("bisecting k-means", "scikit-learn", "genieclust"):
            seconds, cost, peak = in_own_process(_features_case, n, decay, method)
            row = f"{seconds:.1f}", f"{cost / best:.9f}", f"{seconds / fit:.2f}", f"{peak / 1e9:.2f}"
            print(ROW.format(f"{n}, {decay}, {method}", *row), flush=True)


def _features_case(n: int, decay: float, method: str) -> tuple[float, float, int]:
    X = datasets.planted(n, 32, decay=decay, random_state=0).data
    similarity = as_similarity(X)
    if method == "HypHC":
        HypHC(time_budget=1.0).fit(X)  # compiles what the fit needs for this type and size
        news: list[str] = []

        def listen(progress: object) -> None:
            news.append(f"  {progress.stage}: {progress.seconds:.1f} s, {2 * progress.cost:.10g}")

        model, seconds = timed(lambda: HypHC(random_state=0, callback=listen).fit(X))
        print(*news, sep="\n", flush=True)
        tree = model.tree_
    elif method == "genieclust":
        tree, seconds = timed(_genie if n <= 100_000 else _genie_of_neighbours, similarity.X)
    elif method == "bisecting k-means":
        baselines.bisecting_kmeans(as_similarity(X[:100]))
        tree, seconds = timed(lambda: baselines.bisecting_kmeans(similarity))
    else:
        tree, seconds = _scikit_learn(similarity)
    return seconds, dasgupta_cost(tree, similarity), peak_bytes()


def _genie(X: np.ndarray) -> Tree:
    import genieclust

    return Tree(np.asarray(genieclust.Genie(n_clusters=2, coarser=True).fit(X).children_))


def _genie_of_neighbours(X: np.ndarray) -> Tree:
    """Genie on the spanning tree of 15 approximate neighbours, with the edges that join what they leave apart.

    In more than 20 dimensions its own spanning tree takes all n² distances: hours for a million points.
    """
    from genieclust import core
    from pynndescent import NNDescent
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    neighbours, distances = NNDescent(X, n_neighbors=16, low_memory=True, n_jobs=-1).neighbor_graph
    n = len(X)
    rows = np.repeat(np.arange(n), 16)
    graph = sp.csr_array((np.maximum(distances.ravel(), 1e-9), (rows, neighbours.ravel())), shape=(n, n))
    n_parts, part = connected_components(graph, directed=False)
    some = np.unique(part, return_index=True)[1]  # one point of each part; all pairs of them are joined
    one, two = np.triu_indices(n_parts, 1)
    gaps = np.maximum(np.linalg.norm(X[some[one]] - X[some[two]], axis=1), 1e-9)
    graph = graph + sp.csr_array((gaps, (some[one], some[two])), shape=(n, n))
    spanning = minimum_spanning_tree(graph).tocoo()
    order = np.argsort(spanning.data, kind="stable")
    lengths = np.ascontiguousarray(spanning.data[order], dtype=np.float64)
    edges = np.ascontiguousarray(np.column_stack([spanning.row, spanning.col])[order], dtype=np.int64)
    merged = core.genie_from_mst(lengths, edges, n_clusters=2, gini_threshold=0.3, coarser=True)
    return Tree(np.asarray(core.get_linkage_matrix(merged["links"], lengths, edges)["children"]))


def _scikit_learn(similarity) -> tuple[Tree, float]:
    """scikit-learn's tree of 1 000 clusters, whose insides are left to our bisecting k-means, which is not timed."""
    from sklearn.cluster import BisectingKMeans

    model, seconds = timed(lambda: BisectingKMeans(1_000, random_state=0).fit(similarity.X))
    merges: list[tuple[int, int]] = []

    def number(node) -> int:
        if node.left is None:
            return int(node.label)
        pair = number(node.left), number(node.right)
        merges.append(pair)
        return 999 + len(merges)

    sys.setrecursionlimit(10_000)
    number(model._bisecting_tree)
    members = [np.flatnonzero(model.labels_ == k) for k in range(1_000)]
    parts = [baselines.bisecting_kmeans(similarity.subset(index)) for index in members]
    return expanded(Tree(np.array(merges)), model.labels_.astype(np.int64), parts), seconds


def graph() -> None:
    """A planted graph of 300 000 nodes and 1 000 000 edges: Paris against the default fit."""
    print(ROW.format("method", "s", "cost", "time ratio", "peak GB"))
    fit = None
    for method in ("HypHC", "Paris"):
        seconds, cost, peak = in_own_process(_graph_case, method)
        fit = fit or seconds
        print(
            ROW.format(method, f"{seconds:.1f}", f"{cost:.7g}", f"{seconds / fit:.2f}", f"{peak / 1e9:.2f}"), flush=True
        )


def _graph_case(method: str) -> tuple[float, float, int]:
    similarity = as_similarity(datasets.planted_graph(300_000, 7.0, random_state=0).data, "precomputed")
    if method == "HypHC":
        HypHC(time_budget=1.0).fit(similarity)
        tree, seconds = timed(lambda: HypHC(random_state=0).fit(similarity).tree_)
    else:
        from peers.communities import paris

        tree, seconds = timed(paris, similarity)
    return seconds, dasgupta_cost(tree, similarity, units="mean"), peak_bytes()


def insertion() -> None:
    """One point, and a thousand, into a tree of 100 000, against computing the similarities of one point to all."""
    X = datasets.planted(101_000, 32, random_state=0).data
    similarity = as_similarity(X)
    tree = refine(
        baselines.bisecting_kmeans(similarity.subset(np.arange(100_000))),
        similarity.subset(np.arange(100_000)),
        max_sweeps=1,
    )
    one = similarity.subset(np.arange(100_001))
    insert(tree, one)
    _, single = timed(lambda: insert(tree, one))
    _, thousand = timed(lambda: insert(tree, similarity))
    _, product = timed(lambda: similarity.X[:100_000] @ similarity.X[100_000])
    each = (thousand - single) / 999
    print(f"a call with one point {1e3 * single:.1f} ms, most of it set-up; each further point {1e3 * each:.3f} ms")
    print(f"similarities of one point to all others: {1e3 * product:.3f} ms; ratio {each / product:.2f}")


def starts() -> None:
    """What pays per second: cost after the search from several starts, with and without the later stages."""
    print(f"{'set':<14} {'start':<12} {'start cost':>12} {'sweeps':>12} {'s':>6} {'all stages':>12} {'s':>6}")
    for name in ("segmentation", "spambase", "letter"):
        similarity = datasets.paper_similarity(name)
        for start, make in {
            "random": partial(baselines.random_tree, random_state=0),
            "bisecting": baselines.bisecting_kmeans,
            "continuous": lambda problem: (
                HypHC(refine=False, max_triplets=200_000_000, random_state=0).fit(problem).tree_
            ),
            "average": baselines.average_linkage,
        }.items():
            tree = make(similarity)
            swept, seconds = timed(partial(refine, tree, similarity, max_sweeps=100, n_jobs=-1))
            full, longer = timed(partial(refine, tree, similarity, random_state=0, n_jobs=-1))
            costs = [f"{dasgupta_cost(t, similarity, units='ordered'):.7g}" for t in (tree, swept, full)]
            print(
                f"{name:<14} {start:<12} {costs[0]:>12} {costs[1]:>12} {seconds:>6.1f} {costs[2]:>12} {longer:>6.1f}",
                flush=True,
            )


PARTS = {
    "budget": budget,
    "linkages": linkages,
    "features": features,
    "graph": graph,
    "insertion": insertion,
    "starts": starts,
}

if __name__ == "__main__":
    for part in [name for name in sys.argv[1:] if not name.startswith("--")] or PARTS:
        print(f"\n## {part}")
        PARTS[part]()
