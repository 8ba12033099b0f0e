"""Bounds on the cost of any tree, exact and sampled, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import as_similarity, cost_bounds, dasgupta_cost
from hyphc.scores.bounds import _distinct_triplets
from hyphc.similarity import Dense, Graph
from hypothesis import given
from numpy.testing import assert_allclose

import oracles
from strategies import random_tree, tree_and_similarity, weight_matrix


@given(tree_and_similarity(max_leaves=10))
def test_exact_bounds_equal_the_definition_and_hold(case):
    tree, similarity = case
    bounds = cost_bounds(similarity)
    assert bounds.exact
    lower, upper = oracles.triplet_bounds(similarity.to_dense())
    assert_allclose([bounds.lower, bounds.upper], [lower, upper], rtol=1e-10, atol=1e-10)
    cost = dasgupta_cost(tree, similarity)
    assert bounds.lower - 1e-9 <= cost <= bounds.upper + 1e-9


@pytest.mark.parametrize("values", ["real", "ties", "zeros"])
def test_graph_and_matrix_have_the_same_bounds(values):
    W = weight_matrix(60, 3, values)
    dense, graph = cost_bounds(Dense(W)), cost_bounds(Graph(sp.csr_array(W)))
    assert_allclose([dense.lower, dense.upper], [graph.lower, graph.upper], rtol=1e-12)


def test_on_a_unit_clique_the_bounds_coincide_with_the_cost():
    bounds = cost_bounds(np.ones((9, 9)))
    assert bounds.lower == bounds.upper == dasgupta_cost(random_tree(9, 0), np.ones((9, 9)))


def test_sampled_bounds_lie_within_their_errors_of_the_exact_ones():
    similarity = as_similarity(np.random.default_rng(0).normal(size=(80, 4)), "cosine")
    exact = cost_bounds(similarity)
    misses = 0
    for seed in range(40):
        sampled = cost_bounds(similarity, n_triplets=2_000, random_state=seed)
        assert not sampled.exact
        misses += abs(sampled.lower - exact.lower) > 2 * sampled.lower_error
        misses += abs(sampled.upper - exact.upper) > 2 * sampled.upper_error
    assert misses <= 10  # two standard errors miss one time in twenty: 4 of 80 expected


def test_units_scale_bounds_and_errors_alike():
    similarity = as_similarity(np.random.default_rng(0).normal(size=(30, 4)), "cosine")
    pairs, ordered, mean = (
        cost_bounds(similarity, units=units, n_triplets=100, random_state=0) for units in ("pairs", "ordered", "mean")
    )
    for field in ("lower", "upper", "lower_error", "upper_error"):
        assert_allclose(getattr(ordered, field), 2 * getattr(pairs, field))
        assert_allclose(getattr(mean, field), getattr(pairs, field) / similarity.total())


@pytest.mark.parametrize("n", [3, 4, 50])
def test_sampled_triplets_never_repeat_a_point_and_are_uniform(n):
    i, j, k = _distinct_triplets(n, 60_000, np.random.RandomState(0))
    assert ((i != j) & (i != k) & (j != k)).all()
    for points in (i, j, k):
        assert_allclose(np.bincount(points, minlength=n) / 60_000, 1 / n, atol=0.01)


def test_the_result_does_not_depend_on_the_number_of_threads():
    similarity = as_similarity(np.random.default_rng(0).normal(size=(200, 4)), "cosine")
    assert cost_bounds(similarity, n_jobs=1) == cost_bounds(similarity, n_jobs=2)


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_points_for_a_triplet_cost_their_pairs(n):
    bounds = cost_bounds(np.ones((n, n)))
    assert bounds.lower == bounds.upper == 2.0 * (n - 1)
    assert bounds.exact


def test_bad_calls_name_the_value():
    with pytest.raises(ValueError, match="n_triplets=1"):
        cost_bounds(np.ones((3, 3)), n_triplets=1)
    with pytest.raises(ValueError, match="single points"):
        cost_bounds(Dense(np.ones((3, 3)), sizes=[1, 2, 1]))
