"""Linkages against SciPy and the paper's table, and random trees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, baselines, cost_bounds, dasgupta_cost, datasets
from hyphc.similarity import Dense
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

X = np.random.default_rng(5).normal(size=(40, 3))
LINKAGES = {name: getattr(baselines, f"{name}_linkage") for name in ("single", "average", "complete", "ward")}

# the table of the paper, in its units (ordered pairs), every printed digit
PAPER = {
    "zoo": (1e5, [2.897, 2.829, 2.802, 2.827], [2.750, 3.887]),
    "glass": (1e6, [3.018, 2.906, 2.939, 2.920], [2.750, 3.959]),
    "segmentation": (1e9, [3.705, 3.408, 3.460, 3.434], None),
}


@pytest.mark.parametrize("name", LINKAGES)
def test_linkages_are_scipys_on_one_minus_w_for_every_kind(name):
    features = as_similarity(X, "cosine")
    W = features.to_dense()
    expected = Tree.from_linkage(linkage(squareform(1 - W - np.eye(40)), name))
    for similarity in (features, W, sp.csr_array(W)):
        tree = LINKAGES[name](similarity)
        assert tree == expected
        assert_allclose(tree.heights, expected.heights, atol=1e-12)


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_table_is_reproduced_to_every_printed_digit(name, needs_data):
    unit, costs, bounds = PAPER[name]
    similarity = datasets.paper_similarity(name)
    found = [dasgupta_cost(link(similarity), similarity, units="ordered") / unit for link in LINKAGES.values()]
    assert [round(cost, 3) for cost in found] == costs
    if bounds is not None:
        ours = cost_bounds(similarity, units="ordered")
        assert [round(ours.lower / unit, 3), round(ours.upper / unit, 3)] == bounds


def test_similarities_above_one_are_measured_from_the_largest():
    W = 100 * as_similarity(X, "cosine").to_dense()
    assert baselines.average_linkage(W) == baselines.average_linkage(W / 100)
    assert baselines.average_linkage(W).heights[0] >= 0


def test_leaves_of_several_points_are_as_alike_as_their_pairs_on_average():
    W = as_similarity(X, "cosine").to_dense()
    sizes = np.arange(1.0, 41.0)
    assert baselines.average_linkage(Dense(W * np.outer(sizes, sizes), sizes=sizes)) == baselines.average_linkage(W)


def test_a_disconnected_graph_becomes_one_tree_joined_at_the_top():
    graph = sp.block_diag([np.ones((3, 3)), np.ones((4, 4))], format="csr")
    labels = baselines.average_linkage(graph).cut(n_clusters=2)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_random_trees_are_trees_and_follow_the_seed():
    for n in (1, 2, 3, 1000):
        tree = baselines.random_tree(n, random_state=1)
        assert tree.n_leaves == n
        assert tree == baselines.random_tree(n, random_state=1)
    assert baselines.random_tree(50, random_state=1) != baselines.random_tree(50, random_state=2)
    assert baselines.random_tree(as_similarity(X, "cosine"), random_state=0).n_leaves == 40


def test_random_trees_of_three_leaves_are_uniform():
    counts: dict[Tree, int] = {}
    for seed in range(600):
        tree = baselines.random_tree(3, random_state=seed)
        counts[tree] = counts.get(tree, 0) + 1
    assert len(counts) == 3
    assert min(counts.values()) > 150


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", LINKAGES)
def test_one_and_two_points(name, n):
    assert LINKAGES[name](np.ones((n, n))).n_leaves == n


def test_what_does_not_fit_in_memory_says_so_first(monkeypatch):
    monkeypatch.setattr("hyphc._runtime.validation.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"average linkage of 40 points needs .* take a sample"):
        baselines.average_linkage(as_similarity(X, "cosine"))


def test_no_leaves_is_an_error():
    with pytest.raises(ValueError, match="at least one leaf"):
        baselines.random_tree(0)
