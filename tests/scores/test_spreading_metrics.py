"""The bound by spreading metrics: no tree costs less, every level holds, and packings are verified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, baselines, dasgupta_cost, exact_tree, optimality_gap
from hyphc.scores.gap_by_level import cuts_of, loosest_levels
from hyphc.scores.path_packing import Packing, load_packings, save_packings, verify
from hyphc.scores.spreading_metrics import SpreadingBound, spreading_bound
from hyphc.similarity import Background, Blend, Graph
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from enumeration import all_trees
from strategies import chain, random_tree

SMALL = 1e-3  # effort: less than a million arcs


def random_graph(n: int, seed: int) -> Graph:
    """Weights with and without ties, few and many edges, often several components; every other one with weighted leaves."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.9), 1) * 1.0
    if seed % 3 == 1:
        W *= rng.integers(1, 4, size=(n, n))
    elif seed % 3 == 2:
        W *= rng.lognormal(sigma=2, size=(n, n))
    sizes = None
    if seed % 2:
        sizes = rng.integers(1, 7, size=n) if seed % 4 == 1 else rng.lognormal(sigma=1, size=n)
    return Graph(sp.csr_array(W + W.T), sizes=sizes)


def assert_proves(bound: SpreadingBound, graph: Graph) -> None:
    """Every packing passes the verifier, and the sum of their curves is the bound."""
    for packing in bound.packings:
        verify(packing, graph)
    assert (np.diff(bound.cuts) <= 1e-9 * graph.total()).all()
    assert bound.lower == pytest.approx(float(bound.cuts @ np.diff(bound.levels)), rel=1e-12)


@pytest.mark.parametrize("seed", range(120))
def test_no_tree_of_a_small_graph_costs_less_than_the_bound(seed: int) -> None:
    graph = random_graph(2 + seed % 11, seed)
    bound = spreading_bound(graph, effort=SMALL, keep=True)
    best = dasgupta_cost(exact_tree(graph), graph)
    assert bound.lower <= best * (1 + 1e-12)
    assert_proves(bound, graph)


@pytest.mark.parametrize("seed", range(12))
def test_at_every_level_the_clusters_of_every_tree_leave_more_between_them_than_the_bound_says(seed: int) -> None:
    graph = random_graph(6, seed)
    bound = spreading_bound(graph, effort=SMALL)
    middles = (bound.levels[:-1] + bound.levels[1:]) / 2
    for tree in all_trees(6):
        assert (cuts_of(tree, graph, middles) >= bound.cuts - 1e-9 * graph.total()).all()


def maximal_clusters(tree: Tree, graph: Graph, t: float) -> list[set[int]]:
    small = [set(c) for c in oracles.leaf_sets(tree) if len(c) == 1 or graph.sizes[list(c)].sum() <= t]
    small += [{leaf} for leaf in range(tree.n_leaves)]
    return [c for c in small if not any(c < other for other in small)]


@pytest.mark.parametrize("seed", range(8))
def test_the_cost_of_a_tree_is_the_integral_of_what_its_clusters_of_each_size_leave_between_them(seed: int) -> None:
    graph, tree = random_graph(9, seed), random_tree(9, seed)
    sizes = np.unique([graph.sizes[list(c)].sum() for c in oracles.leaf_sets(tree)])
    levels = np.concatenate([[0.0], sizes])
    cuts = cuts_of(tree, graph, levels[:-1])
    assert_allclose(cuts @ np.diff(levels), dasgupta_cost(tree, graph), rtol=1e-12)
    W = graph.to_dense()
    for t, cut in zip(levels[1:-1], cuts[1:], strict=True):
        inside = sum(W[np.ix_(list(c), list(c))].sum() for c in map(list, unique(maximal_clusters(tree, graph, t))))
        assert cut == pytest.approx((W.sum() - inside) / 2, abs=1e-9)


def unique(sets: list[set[int]]) -> set[frozenset[int]]:
    return {frozenset(some) for some in sets}


@pytest.mark.parametrize("seed", range(60))
def test_weights_of_every_scale_are_bounded_and_none_too_high(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, low, high = 3 + seed % 10, *[(-300, 300), (-320, -300), (280, 300), (-12, 12)][seed % 4]
    W = np.triu(rng.random((n, n)) < 0.5, 1) * 10.0 ** rng.uniform(low, high, size=(n, n))
    graph = Graph(sp.csr_array(W + W.T))
    bound, best = spreading_bound(graph, effort=SMALL, keep=True), dasgupta_cost(exact_tree(graph), graph)
    assert 2 * graph.total() * (1 - 1e-9) <= bound.lower <= best * (1 + 1e-12)
    for packing in bound.packings:
        verify(packing, graph)


def test_the_bound_does_not_depend_on_the_unit_of_the_weights() -> None:
    graph = random_graph(12, 2)
    tiny = Graph(graph.to_csr() * 2.0**-900)
    assert spreading_bound(tiny, effort=SMALL).lower == spreading_bound(graph, effort=SMALL).lower * 2.0**-900


def kept(graph: Graph) -> Packing:
    return spreading_bound(graph, effort=SMALL, keep=True).packings[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_verifier_rejects_a_packing_with_any_one_flow_raised(seed: int) -> None:
    graph = random_graph(8, seed)
    packing = kept(graph)
    assert packing.flows is not None
    for entry in range(packing.flows.nnz):
        flows = packing.flows.copy()
        flows.data[entry] *= 1.01
        with pytest.raises(ValueError, match=r"edge carries more|arrives another flow"):
            verify(replace(packing, flows=flows), graph)


def test_the_verifier_rejects_claims_that_the_flows_do_not_bear() -> None:
    graph = random_graph(8, 0)
    packing = kept(graph)
    assert packing.delivered is not None
    for name in ("amounts", "points"):
        with pytest.raises(ValueError, match="worth less"):
            verify(replace(packing, **{name: 1.01 * getattr(packing, name)}), graph)
    with pytest.raises(ValueError, match="arrives another flow"):
        verify(replace(packing, delivered=1.01 * packing.delivered), graph)
    with pytest.raises(ValueError, match="more than its weight"):
        verify(packing, Graph(0.9 * graph.to_csr()))
    with pytest.raises(ValueError, match="keep=True"):
        verify(spreading_bound(graph, effort=SMALL).packings[0], graph)


def test_what_a_packing_is_worth_is_the_sum_over_its_trees() -> None:
    rng = np.random.default_rng(0)
    sizes, amounts = rng.random(30), rng.random(30)
    points, t = sizes + 3 * rng.random(30), np.linspace(0, 5, 41)
    expected = [np.sum(amounts * np.maximum(0, points - np.maximum(level, sizes))) for level in t]
    assert_allclose(Packing(1.0, sizes, points, amounts).worth(t), expected, atol=1e-12)


def test_packings_survive_being_saved(tmp_path: Path) -> None:
    graph = random_graph(12, 3)
    bound = spreading_bound(graph, effort=SMALL, keep=True)
    save_packings(bound.packings, tmp_path / "proof.npz")
    read = load_packings(tmp_path / "proof.npz")
    assert [packing.t for packing in read] == [packing.t for packing in bound.packings]
    for packing, one in zip(read, bound.packings, strict=True):
        verify(packing, graph)
        assert_array_equal(packing.worth(bound.levels), one.worth(bound.levels))
    with pytest.raises(ValueError, match="keep=True"):
        save_packings(spreading_bound(graph, effort=SMALL).packings, tmp_path / "nothing.npz")


def ring(n: int) -> Graph:
    return Graph(sp.diags_array([1.0, 1.0, 1.0, 1.0], offsets=[1, -1, n - 1, 1 - n], shape=(n, n)))


def test_the_bound_is_a_function_of_the_graph_whatever_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    i, j = rng.integers(200, size=(2, 500))
    A = sp.coo_array((rng.random(500), (i, j)), shape=(200, 200)).tocsr()
    graph = Graph(A + A.T)
    one, two = (spreading_bound(graph, effort=0.01, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.lower == two.lower
    assert_array_equal(one.cuts, two.cuts)


def test_more_effort_proves_more_and_no_time_at_all_proves_what_lone_pairs_do() -> None:
    graph = ring(300)
    little, more = (spreading_bound(graph, effort=effort).lower for effort in (1e-5, 0.05))
    assert 2 * graph.total() <= little < more
    late = spreading_bound(graph, time_budget=0.0)
    assert late.lower == 2 * graph.total()
    assert late.packings == ()


def test_a_ring_is_bounded_to_within_a_third() -> None:
    graph = ring(64)
    cost = dasgupta_cost(baselines.average_linkage(graph), graph)
    assert cost / spreading_bound(graph, effort=0.02).lower < 4 / 3


def test_bounds_of_components_add() -> None:
    one, two = ring(40), ring(24)
    both = Graph(sp.block_diag([one.to_csr(), two.to_csr()], format="csr"))
    parts = sum(spreading_bound(graph, effort=0.02).lower for graph in (one, two))
    assert spreading_bound(both, effort=0.05).lower == pytest.approx(parts, rel=0.1)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_graphs_are_bounded_exactly(n: int) -> None:
    graph = Graph(np.ones((n, n)) - np.eye(n))
    assert spreading_bound(graph).lower == dasgupta_cost(exact_tree(graph), graph)
    assert spreading_bound(Graph(sp.csr_array((n, n)))).lower == 0.0


def test_on_a_sparse_graph_packings_certify_more_than_subsets_and_for_certain() -> None:
    graph = ring(120)
    tree = baselines.average_linkage(graph)
    result = optimality_gap(tree, graph, effort=0.05, random_state=0)
    assert (result.method, result.exact, result.weak) == ("spreading", True, False)
    assert result.lower_bound == pytest.approx(spreading_bound(graph, effort=0.05).lower, rel=1e-12)
    assert result.gap < 0.4
    assert "for certain" in str(result)
    assert "spreading metrics" in str(result)


def test_the_loosest_levels_name_clusters_of_the_tree_and_what_they_leave() -> None:
    graph = ring(120)
    bad = chain(120, np.random.default_rng(0).permutation(120))
    bound = spreading_bound(graph, effort=0.02)
    levels = loosest_levels(bad, graph, bound)
    assert len(levels) == len({level.t for level in levels}) > 0
    for level in levels:
        assert level.cut > level.bound
        assert level.cut == cuts_of(bad, graph, np.array([level.t]))[0]
        assert all(bad.sizes[node] <= level.t < bad.sizes[bad.parents[node]] for node in level.clusters)
    rooms = [level.t * (level.cut - level.bound) for level in levels]
    assert rooms == sorted(rooms, reverse=True)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_a_blends_parts_add_up_to_one_that_no_tree_undercuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 14
    W = np.triu(rng.random((n, n)) < 0.2, 1) * 1.0
    blend = Blend(Graph(sp.csr_array(W + W.T)), Background(rng.normal(size=(n, 2)), slope=0.05))
    best = dasgupta_cost(exact_tree(blend), blend)
    result = optimality_gap(exact_tree(blend), blend, k=12, effort=SMALL, random_state=0)
    assert result.lower_bound <= best + 1e-9 * abs(best)
    tree = random_tree(n, seed)
    far = optimality_gap(tree, blend, k=4, n_subsets=200, effort=SMALL, random_state=0)
    assert far.lower_bound <= best + 1e-9 * abs(best)


def test_bad_calls_name_the_value_and_the_remedy() -> None:
    with pytest.raises(ValueError, match="effort=0 is not a positive number"):
        spreading_bound(ring(5), effort=0)
    with pytest.raises(ValueError, match="effort=-1 is not a positive number"):
        optimality_gap(chain(5), ring(5), effort=-1)
