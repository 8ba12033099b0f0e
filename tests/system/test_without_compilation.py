"""NUMBA_DISABLE_JIT=1: kernels run as plain Python in a new process, so that a debugger and coverage see inside."""

from __future__ import annotations

import os
import subprocess
import sys

import hyphc
import pytest

# Which kernels there are and which of them are called is written down by the decorators that would compile them.
WATCHED = """
import pkgutil
from functools import partial, wraps
from importlib import import_module
from hyphc._runtime import jit

there, called = set(), set()

def watched(function=None, /, *, kind, **options):
    if function is None:
        return partial(watched, kind=kind)
    name = f"{function.__module__}.{function.__name__}".removeprefix("hyphc._kernels.")
    if kind == "kernel":
        there.add(name)

    @wraps(function)
    def call(*arguments, **named):
        called.add(name)
        return function(*arguments, **named)

    return call

jit.kernel, jit.part = (partial(watched, kind=kind) for kind in ("kernel", "part"))
from hyphc import _kernels
for module in pkgutil.walk_packages(_kernels.__path__, "hyphc._kernels."):
    import_module(module.name)
"""

SCRIPT = """
import numpy as np, scipy.sparse as sp
from hyphc import HypHC, baselines, cost_bounds, dasgupta_cost, dendrogram_purity, exact_tree, insert, optimality_gap, refine
from hyphc.similarity import Background, Blend, Dense, Graph, as_similarity
from hyphc import Constraints, Tree, consensus, decode, differences, embed, encode, spreading_bound, triplet_distance
from hyphc.tree import cut_scores
from hyphc._kernels.tree.prunings import best_pruning
from hyphc.tree.ordering import order_leaves, untangle
from hyphc.tree.transfer_distance import restricted, transfer_distances
from oracles import clusters, dasgupta_cost as brute_force_cost, transfer_distances as brute_force_distances

X = np.random.default_rng(0).normal(size=(7, 3))
features = as_similarity(X, "cosine")
W = features.to_dense()
graph = Graph(sp.csr_array(np.where(W > 0.5, W, 0.0)))
for similarity in (features, Dense(W), graph, Blend(graph, Background(X, slope=0.1))):
    start = baselines.random_tree(similarity, random_state=0)
    best = exact_tree(similarity)
    swept = refine(start, similarity, max_sweeps=20)
    assert abs(dasgupta_cost(start, similarity) - brute_force_cost(start, similarity.to_dense())) < 1e-9
    assert dasgupta_cost(best, similarity) <= dasgupta_cost(swept, similarity) + 1e-9 <= dasgupta_cost(start, similarity) + 2e-9
    few = similarity.subset(np.arange(5))
    assert insert(exact_tree(few), similarity).n_leaves == 7
model = HypHC(2, metric="cosine", max_iter=2, refine=False, random_state=0).fit(X)
assert cost_bounds(features).lower <= model.cost_ <= cost_bounds(features).upper
assert dendrogram_purity(model.tree_, model.labels_) == 1.0
assert model.predict(X).tolist() == model.labels_.tolist()
assert optimality_gap(model.tree_, features, k=5).gap >= 0
default = HypHC(2, n_neighbors=3, random_state=0).fit(X)
assert abs(default.cost_ - brute_force_cost(default.tree_, default.similarity_.to_dense())) < 1e-9
assert default.predict(X).tolist() == default.labels_.tolist()
assert default.partial_fit(X[:2] + 0.01).n_leaves_ == 9
assert HypHC(random_state=0).fit(X).cluster_number_.n_clusters == 1
one, two = (baselines.random_tree(features, random_state=seed) for seed in range(2))
assert transfer_distances(one, two).tolist() == brute_force_distances(one, two)
assert set(clusters(consensus([one, one, two]).to_tree())) == clusters(one)
assert restricted(one, [0, 2, 5])[0].n_leaves == 3
chain = Tree([[0, 1], [2, 3], [5, 6], [7, 4]])
assert chain.cut(2, criterion=lambda tree: -tree.sizes**2.0).tolist() == [0, 0, 0, 0, 1]
assert cut_scores(chain, "height", min_size=2).tolist() == [-10.0]
assert best_pruning(chain._children, -chain.sizes**2.0, np.ones(4, dtype=bool), np.zeros(4, dtype=bool))[1] == -5.0
assert 0 < triplet_distance(one, two) <= 1
for similarity in (features, Dense(W), graph):
    assert baselines.bisecting_kmeans(similarity).n_leaves == 7
    assert order_leaves(one, similarity) == one
    assert embed(similarity, max_iter=2, random_state=0).tree.n_leaves == 7
assert baselines.graph_agglomeration(graph).n_leaves == 7
assert untangle(one, two)[:2] == (one, two)
assert decode(0.5 * X[:, :2] / (1 + np.linalg.norm(X[:, :2], axis=1, keepdims=True))).n_leaves == 7
assert spreading_bound(graph).lower <= dasgupta_cost(exact_tree(graph), graph) + 1e-9
assert all(differences(one, X, compare=sides).columns.shape[0] == 6 for sides in ("parts", "rest"))
assert decode(encode(one)) == one
assert cost_bounds(graph).lower <= dasgupta_cost(one, graph) + 1e-9
ordered = HypHC(constraints=Constraints(order=range(7)), random_state=0).fit(X).tree_
assert ordered.leaf_order().tolist() == [*range(7)]
import hyphc
print(hyphc.__file__, *sorted(there - called), sep="\\n")
"""

# What plain Python would take minutes for: problems too large for it, and settings that are rarely asked for.
COMPILED_ONLY = {
    "continuous.edge_steps.weighted_third_points",
    "continuous.objective.block_rows_in_logs",
    "continuous.objective.block_spread",
    "continuous.objective.circle_triplets",
    "continuous.paper_steps.paper_steps",
    "search.tree_fusion._assemble",
    "search.tree_passes.count_leaves",
    "search.tree_passes.largest_subtrees",
    "search.tree_passes.leaves_below",
    "search.tree_passes.queue_all",
    *(
        f"similarity.ivf_cells.{name}"
        for name in ("assign_nearest", "halve", "means", "nearness", "products", "reassign", "squared_distances")
    ),
    *(
        f"similarity.nearest.{name}"
        for name in ("choose_probes", "fill_panel", "nn_descent_step", "rank", "reverse_neighbors", "search_cells")
    ),
    "similarity.fuzzy_memberships.memberships",
}


@pytest.mark.slow  # half a minute, and nothing that a user runs
def test_the_kernels_run_as_plain_python():
    paths = os.path.dirname(os.path.dirname(hyphc.__file__)), os.path.dirname(os.path.dirname(__file__))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, "-c", WATCHED + SCRIPT], env=environment, capture_output=True, text=True)
    sources, *left = done.stdout.splitlines() or [""]
    assert sources == hyphc.__file__, done.stderr  # the same as here, to the end
    # a new kernel is called by the script above, or named among those that are not
    assert set(left) == COMPILED_ONLY
