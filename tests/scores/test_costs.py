"""Dasgupta's cost, split weights, purity and divergence against their definitions and against other libraries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import (
    as_similarity,
    dasgupta_cost,
    dendrogram_purity,
    moseley_wang_reward,
    split_weights,
    tree_sampling_divergence,
)
from hyphc.similarity import Dense, Features, Graph
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from strategies import (
    NON_NEGATIVE,
    balanced,
    chain,
    magnitude,
    random_tree,
    similarity_of_kind,
    tree_and_similarity,
    trees,
    with_sizes,
)


@settings(max_examples=300)
@given(tree_and_similarity())
def test_cost_equals_the_definition_for_all_three_kinds(case):
    tree, similarity = case
    expected = oracles.dasgupta_cost(tree, similarity.to_dense())
    assert_allclose(dasgupta_cost(tree, similarity), expected, rtol=1e-12, atol=1e-12)


@given(tree_and_similarity(min_leaves=2))
def test_split_weights_sum_to_the_total_and_lie_where_pairs_meet(case):
    tree, similarity = case
    W = similarity.to_dense()
    expected = np.zeros(tree.n_leaves - 1)
    for i in range(tree.n_leaves):
        for j in range(i):
            expected[tree.lca(i, j) - tree.n_leaves] += W[i, j]
    assert_allclose(split_weights(tree, similarity), expected, rtol=1e-11, atol=1e-11)
    assert_allclose(split_weights(tree, similarity).sum(), similarity.total(), rtol=1e-11, atol=1e-11)


@given(trees(max_leaves=40))
def test_every_tree_of_a_unit_clique_costs_the_same(tree):
    n = tree.n_leaves
    assert_allclose(dasgupta_cost(tree, np.ones((n, n))), (n**3 - n) / 3, rtol=1e-13)


@given(tree_and_similarity(min_leaves=2))
def test_units_are_the_three_conventions(case):
    tree, similarity = case
    cost = dasgupta_cost(tree, similarity)
    assert_allclose(dasgupta_cost(tree, similarity, units="ordered"), 2 * cost)
    if similarity.total() > 0:
        assert_allclose(dasgupta_cost(tree, similarity, units="mean"), cost / similarity.total())


@settings(max_examples=200)
@given(tree_and_similarity(min_leaves=2, kinds=NON_NEGATIVE))
def test_cost_and_divergence_agree_with_scikit_network(case):
    hierarchy = pytest.importorskip("sknetwork.hierarchy")
    tree, similarity = case
    # scikit-network breaks on isolated points and on entries that rounding put next to 0
    W = np.round(similarity.to_dense(), 6)
    if not (W.sum(axis=1) > 0).all():
        return
    adjacency = sp.csr_matrix(W)
    Z = tree.to_linkage()
    theirs = hierarchy.dasgupta_cost(adjacency, Z)
    assert_allclose(dasgupta_cost(tree, W, units="mean"), theirs, rtol=1e-6)  # they sum in float32
    for normalized in (True, False):
        theirs = hierarchy.tree_sampling_divergence(adjacency, Z, normalized=normalized)
        for ours in (Dense(W), Graph(adjacency)):
            assert_allclose(tree_sampling_divergence(tree, ours, normalized=normalized), theirs, rtol=1e-5, atol=1e-6)


@settings(max_examples=200)
@given(tree_and_similarity(min_leaves=2), st.integers(0, 2**31), st.integers(1, 5))
def test_cost_and_purity_agree_with_higra(case, seed, n_classes):
    higra = pytest.importorskip("higra")
    tree, similarity = case
    theirs = higra.Tree(np.where(tree.parents < 0, 2 * tree.n_leaves - 2, tree.parents))
    graph = higra.UndirectedGraph(tree.n_leaves)
    sources, targets = np.triu_indices(tree.n_leaves, 1)
    graph.add_edges(sources, targets)
    weights = similarity.pairs(sources, targets)
    cost = higra.dasgupta_cost(theirs, weights, graph, mode="similarity")
    assert_allclose(dasgupta_cost(tree, similarity), cost, rtol=1e-9, atol=1e-9)
    labels = np.random.default_rng(seed).integers(n_classes, size=tree.n_leaves)
    if np.bincount(labels).max() > 1:
        assert_allclose(dendrogram_purity(tree, labels), higra.dendrogram_purity(theirs, labels), rtol=1e-9)


@settings(max_examples=200)
@given(trees(min_leaves=2, max_leaves=14), st.integers(0, 2**31), st.integers(1, 6))
def test_purity_equals_the_definition(tree, seed, n_classes):
    labels = np.random.default_rng(seed).integers(n_classes, size=tree.n_leaves)
    if np.bincount(labels).max() > 1:
        assert_allclose(dendrogram_purity(tree, labels), oracles.dendrogram_purity(tree, labels), rtol=1e-12)


def test_purity_takes_any_labels_and_many_classes():
    labels = np.repeat(np.arange(5_000), 2).astype(str)
    children = [[2 * i, 2 * i + 1] for i in range(5_000)]
    pairs_first = np.concatenate([children, balanced(5_000).children + 10_000])
    assert dendrogram_purity(oracles.Tree(pairs_first), labels) == 1.0


@pytest.mark.parametrize("shape", [chain, balanced])
def test_purity_of_over_a_million_leaves(shape):
    n = 1 << 20
    labels = np.arange(n) < n // 2
    purity = dendrogram_purity(shape(n), labels)
    if shape is chain:
        # pairs among the later half: the class's share grows with the chain's prefix s as (s − n/2) / s
        s = np.arange(n // 2 + 1, n + 1)
        later = np.sum((s - n // 2 - 1.0) * (s - n // 2) / s)
        earlier = (n // 2) * (n // 2 - 1) / 2
        assert_allclose(purity, (earlier + later) / (2 * earlier), rtol=1e-9)
    else:
        assert purity == 1.0


@given(tree_and_similarity(min_leaves=2))
def test_reward_is_the_complement_of_the_cost(case):
    tree, similarity = case
    W = similarity.to_dense()
    expected = sum(
        W[i, j] * (tree.n_leaves - len(oracles.smallest_cluster(tree, i, j)))
        for i in range(tree.n_leaves)
        for j in range(i)
    )
    assert_allclose(moseley_wang_reward(tree, similarity), expected, rtol=1e-9, atol=1e-9)


@given(tree_and_similarity(min_leaves=2), st.integers(0, 2**31))
def test_a_weighted_leaf_costs_what_the_points_it_stands_for_cost_above_it(case, seed):
    tree, similarity = case
    sizes = np.random.default_rng(seed).integers(1, 4, size=tree.n_leaves).astype(float)
    weighted = with_sizes(similarity, sizes)
    expected = oracles.dasgupta_cost(tree, weighted.to_dense(), sizes)
    assert_allclose(dasgupta_cost(tree, weighted), expected, atol=1e-12 * (1 + magnitude(weighted)))


def test_weighted_features_are_sums_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    groups = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3])
    points = as_similarity(X, "cosine")
    sums = np.zeros((4, 3))
    np.add.at(sums, groups, points.X)
    weighted = Features(sums, offset=0.5, scale=0.5, sizes=np.bincount(groups))
    W = points.to_dense()
    expected = np.array([[W[np.ix_(groups == a, groups == b)].sum() for a in range(4)] for b in range(4)])
    np.fill_diagonal(expected, 0.0)
    assert_allclose(weighted.to_dense(), expected, atol=1e-12)
    tree = random_tree(4, 0)
    assert_allclose(split_weights(tree, weighted), split_weights(tree, expected), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 500])
def test_features_equal_their_matrix_in_both_precisions(n, dtype):
    X = np.random.default_rng(n).normal(size=(n, 7)).astype(dtype)
    similarity = as_similarity(X, "cosine")
    assert similarity.X.dtype == dtype
    tree = random_tree(n, n)
    rtol = 1e-12 if dtype == np.float64 else 1e-6
    assert_allclose(dasgupta_cost(tree, similarity), dasgupta_cost(tree, similarity.to_dense()), rtol=rtol)


@pytest.mark.parametrize("kind", ["features", "dense", "graph"])
def test_read_only_input_works_and_is_not_modified(kind):
    similarity = similarity_of_kind(kind, 30, 4)
    arrays = [a for a in vars(similarity).values() if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    dasgupta_cost(random_tree(30, 0), similarity)
    for a, b in zip(arrays, before, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["features", "graph"])
def test_a_chain_of_a_million_leaves_is_scored(kind):
    n = 1_000_000
    tree = chain(n)
    if kind == "features":
        similarity = Features(np.ones((n, 1), dtype=np.float32), offset=0.0, scale=1.0)
        expected = (float(n) ** 3 - n) / 3
    else:
        path = sp.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n))
        similarity = as_similarity(path + path.T, "precomputed")
        expected = n * (n + 1) / 2 - 1
    assert_allclose(dasgupta_cost(tree, similarity), expected, rtol=1e-12)


def test_a_linkage_matrix_will_do_for_a_tree():
    W = np.ones((3, 3))
    Z = [[0, 1, 1.0, 2], [2, 3, 2.0, 3]]
    assert dasgupta_cost(Z, W) == 8.0
    assert dendrogram_purity(Z, [0, 0, 1]) == 1.0


def test_one_point_costs_nothing():
    assert dasgupta_cost(random_tree(1, 0), np.zeros((1, 1))) == 0.0
    assert dasgupta_cost(random_tree(1, 0), as_similarity([[1.0, 2.0]], "cosine")) == 0.0
    assert dasgupta_cost(random_tree(1, 0), as_similarity(sp.csr_array((1, 1)), "precomputed")) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dasgupta_cost(chain(3), np.ones((4, 4))), "3 leaves but the similarity 4 points"),
        (lambda: dasgupta_cost(chain(3), np.ones((3, 3)), units="paper"), "units='paper'"),
        (lambda: dasgupta_cost(chain(3), np.zeros((3, 3)), units="mean"), "total similarity, which is 0"),
        (lambda: dendrogram_purity(chain(3), [1, 2]), r"labels must have shape \(3,\)"),
        (lambda: dendrogram_purity(chain(3), [1, 2, 3]), "no two leaves share"),
        (lambda: tree_sampling_divergence(chain(3), np.zeros((3, 3))), "all are 0"),
    ],
)
def test_bad_calls_name_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
