"""Weighted leaves: costs agree with the expanded problem, twins are found and cost nothing to keep together."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, dasgupta_cost, exact_tree
from hyphc.fit.weighted_leaves import expanded, grouped, twins, weighted
from hyphc.similarity import Dense, Features, Graph
from hyphc.similarity.scaling import unit_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import random_tree, similarity_of_kind

KINDS = ["features", "dense", "graph", "blend"]


def repeated(kind: str, n: int, seed: int, copies: np.ndarray):
    """A similarity in which row i of a smaller one stands ``copies[i]`` times; equal rows are as similar as any two can be."""
    rng = np.random.default_rng(seed)
    origin = rng.permutation(np.repeat(np.arange(n), copies))
    if kind == "features":
        return Features(unit_rows(rng.normal(size=(n, 3)))[origin], offset=0.5, scale=0.5), origin
    if kind == "blend":
        return as_similarity(rng.normal(size=(n, 3))[origin], n_neighbors=2), origin
    W = np.round(4 * rng.random((n, n)))
    W = np.triu(W, 1) + np.triu(W, 1).T
    np.fill_diagonal(W, W.max(axis=1))
    W = W[np.ix_(origin, origin)]
    np.fill_diagonal(W, 0.0)
    return (Dense(W) if kind == "dense" else Graph(sp.csr_array(W))), origin


@given(st.sampled_from(KINDS), st.integers(2, 6), st.integers(0, 2**31), st.data())
@settings(max_examples=120)
def test_the_cost_of_groups_and_of_points_differ_by_what_is_inside_groups(kind, n_groups, seed, data):
    groups = np.array([*range(n_groups), *data.draw(st.lists(st.integers(0, n_groups - 1), max_size=8))])
    similarity = similarity_of_kind(kind, len(groups), seed)
    coarse = grouped(similarity, groups)
    inside = np.equal.outer(groups, groups) * similarity.to_dense()
    assert coarse.sizes.tolist() == np.bincount(groups).tolist()
    assert coarse.total() == pytest.approx(similarity.total() - inside.sum() / 2, abs=1e-9)
    tops = [random_tree(n_groups, s) for s in (seed, seed + 1)]
    differences = [dasgupta_cost(expanded(top, groups), similarity) - dasgupta_cost(top, coarse) for top in tops]
    assert differences[0] == pytest.approx(differences[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_k_is_k_copies(kind):
    copies = np.array([1, 3, 2, 1, 2])
    similarity, origin = repeated(kind, 5, 7, copies)
    distinct = similarity.subset([int(np.flatnonzero(origin == i)[0]) for i in range(5)])
    heavy = weighted(distinct, copies)
    assert np.allclose(heavy.to_dense(), grouped(similarity, origin).to_dense())
    assert heavy.sizes.tolist() == copies.tolist()


@given(st.sampled_from(KINDS), st.integers(2, 4), st.integers(0, 2**31), st.data())
@settings(max_examples=60)
def test_twins_are_found_and_some_optimal_tree_keeps_them_together(kind, n, seed, data):
    copies = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    similarity, origin = repeated(kind, n, seed, copies)
    groups = twins(similarity)
    if groups is None:
        assert copies.max() == 1
        return
    pairs = np.equal.outer(origin, origin)
    assert (np.equal.outer(groups, groups) | ~pairs).all()  # chance may add more in matrices of small integers
    if kind in ("features", "blend"):
        assert np.array_equal(np.equal.outer(groups, groups), pairs)
    tree = expanded(exact_tree(grouped(similarity, groups)), groups)
    assert dasgupta_cost(tree, similarity) == pytest.approx(dasgupta_cost(exact_tree(similarity), similarity))


def test_rows_more_similar_to_others_than_to_their_copies_are_left_alone():
    zero_rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])  # w = ½ to all, themselves included
    assert twins(Features(zero_rows, offset=0.5, scale=0.5)) is None
    assert twins(as_similarity([[0.0, -0.0], [0.0, 0.0]], "cosine")).tolist() == [0, 0]
    assert twins(Dense([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]])) is None


def test_isolated_nodes_of_a_graph_are_twins():
    W = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(5, 5))
    assert twins(Graph(W)).tolist() == [0, 0, 1, 1, 1]


def test_parts_are_put_in_place():
    tree = expanded(Tree([[0, 1]]), [0, 1, 0, 0, 1], [Tree([[1, 2], [0, 3]]), Tree([[0, 1]])])
    assert tree == Tree([[2, 3], [0, 5], [1, 4], [6, 7]])


def test_wrong_arguments_are_named():
    W = np.ones((3, 3))
    with pytest.raises(ValueError, match=r"weights\[1\] = 0.0"):
        weighted(W, [1, 0, 1])
    with pytest.raises(ValueError, match="3 points need as many weights"):
        weighted(W, [1, 1])
    with pytest.raises(ValueError, match="each of the numbers"):
        grouped(W, [0, 2, 2])
    with pytest.raises(ValueError, match="one-dimensional"):
        grouped(W, [0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="2 leaves but there are 3 groups"):
        expanded(Tree([[0, 1]]), [0, 1, 2])
    with pytest.raises(ValueError, match=r"parts must have \[2, 1\] leaves"):
        expanded(Tree([[0, 1]]), [0, 0, 1], [Tree([[0, 1]]), Tree([[0, 1]])])
