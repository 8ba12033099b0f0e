"""Branch and bound: the best of all trees, beyond the reach of enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, dasgupta_cost, datasets, exact_search, exact_tree, optimality_gap
from hyphc._kernels.scores.subset_optimum import least_costs
from hyphc.scores import exact_tree as exact_module
from hyphc.similarity import Background, Blend, Dense, Graph, Similarity
from numpy.testing import assert_allclose

import oracles
from enumeration import all_trees
from strategies import magnitude, random_tree

KINDS = ("dense", "ties", "sparse", "blend")


def problem(n: int, seed: int, kind: str) -> Similarity:
    """Few leaves, every other time of different sizes; a blend has negative similarities, a sparse graph is often in pieces."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n).astype(float) if seed % 2 else None
    W = np.triu(rng.random((n, n)), 1)
    if kind == "ties":
        W = np.ceil(3 * W) * (W > 0.2)
    if kind in ("sparse", "blend"):
        W = W * (np.triu(rng.random((n, n)), 1) < 3 / n)
    if kind == "blend":
        graph = Graph(sp.csr_array(W + W.T), sizes=sizes)
        return Blend(graph, Background(rng.normal(size=(n, 2)), slope=0.1, sizes=sizes))
    return Dense(W + W.T, sizes=sizes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_tree_of_all_costs_less(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_module, "_FEW", 3)  # so that six leaves need bounds and budgets
    similarity = problem(6, seed, kind)
    W = similarity.to_dense()
    best = min(oracles.dasgupta_cost(tree, W, similarity.sizes) for tree in all_trees(6))
    found = exact_search(similarity)
    assert found.proven
    assert_allclose([found.cost, found.lower_bound], best, atol=1e-10 * magnitude(similarity))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("few", [3, 8])
@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_the_whole_dynamic_programme(
    kind: str, few: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_module, "_FEW", few)
    similarity = problem(7 + seed % 6, seed, kind)
    least = np.empty(1)
    least_costs(similarity.to_dense()[None], similarity.sizes[None], least)
    found = exact_search(similarity)
    assert found.proven
    assert_allclose([found.cost, found.lower_bound], least[0], atol=1e-10 * magnitude(similarity))
    assert_allclose(dasgupta_cost(found.tree, similarity), found.cost)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_trees(n: int) -> None:
    found = exact_search(np.ones((n, n)))
    assert found.proven
    assert found.tree.n_leaves == n
    assert found.cost == found.lower_bound == [0, 2, 8][n - 1]


def test_a_clique_costs_what_is_known_and_its_pieces_cost_no_more_together() -> None:
    n = 18
    clique = np.ones((n, n)) - np.eye(n)
    assert exact_search(clique).cost == n * (n**2 - 1) / 3
    halves = np.kron(np.eye(2), np.ones((n // 2, n // 2)))
    assert exact_search(halves).cost == 2 * (n // 2) * ((n // 2) ** 2 - 1) / 3


def test_twenty_points_are_solved_and_no_fit_of_them_is_better() -> None:
    similarity = datasets.paper_similarity("iris").subset(np.arange(0, 150, 8)[:19])
    found = exact_search(similarity)
    fitted = HypHC(random_state=0, max_iter=20).fit(similarity)
    assert found.proven
    assert found.cost <= fitted.cost_ * (1 + 1e-12)
    gap = optimality_gap(random_tree(19, 0), similarity)
    assert (gap.method, gap.exact) == ("best tree", True)
    assert gap.lower_bound == pytest.approx(found.cost, rel=1e-9)


def test_without_time_the_search_says_what_it_has_and_the_exact_tree_is_refused() -> None:
    rng = np.random.default_rng(1)
    W = np.triu(rng.random((16, 16)) < 0.5, 1) * 1.0
    found = exact_search(W + W.T, time_budget=0.0)
    best = exact_search(W + W.T)
    assert not found.proven
    assert found.lower_bound < best.cost <= found.cost
    assert dasgupta_cost(found.tree, W + W.T) == found.cost
    with pytest.raises(ValueError, match=r"time_budget=0.0 s end before .* exact_search"):
        exact_tree(W + W.T, time_budget=0.0)


def test_of_larger_subsets_the_bound_is_sharper() -> None:
    similarity = datasets.paper_similarity("iris")
    tree = random_tree(150, 0)
    small, large = (optimality_gap(tree, similarity, k=k, n_subsets=300, random_state=0) for k in (4, 14))
    assert large.gap < small.gap


def test_too_many_leaves_name_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"up to 24 leaves; got 25: .* optimality_gap"):
        exact_search(np.ones((25, 25)))
