"""Groups that lie apart: the law of spacings by simulation, single linkage against SciPy's, groups against leaf sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree
from hyphc.scores.isolation import (
    FEWEST_POINTS,
    NEARLY,
    gap_evidence,
    isolated_groups,
    isolation_evidence,
    link_rows,
    nearest_node,
)
from hyphc.similarity import Graph
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist
from scipy.special import beta

import oracles
from strategies import trees


def complete_graph(n: int) -> Graph:
    return Graph(sp.csr_array(np.ones((n, n)) - np.eye(n)))


def tree_of(X: np.ndarray) -> Tree:
    return Tree.from_linkage(linkage(X, "single"))


@pytest.mark.parametrize(("m", "ratio"), [(3, 2.0), (5, 1.5), (10, 1.2)])
def test_the_law_of_a_group_at_the_end_of_a_line_is_that_of_exponential_spacings(m, ratio):
    spacings = np.random.default_rng(0).exponential(size=(200_000, m))
    assert_allclose((spacings[:, 0] > ratio * spacings[:, 1:].max(axis=1)).mean(), ratio * beta(ratio, m), rtol=0.05)


def test_the_law_of_a_group_in_the_middle_asks_for_two_long_spacings():
    m, ratio = 4, 1.5
    spacings = np.random.default_rng(1).exponential(size=(200_000, m + 1))
    both = spacings[:, :2].min(axis=1) > ratio * spacings[:, 2:].max(axis=1)
    assert_allclose(both.mean(), 2 * ratio * beta(2 * ratio, m), rtol=0.05)


def test_the_evidence_is_the_formula_and_grows_with_the_gap_and_with_the_group():
    ratio, m, n = np.array([1.5, 2.0, 4.0]), np.array([5, 5, 5]), 50
    inside, at_end = 2 * n * ratio**2 * beta(2 * ratio**2, m), 2 * m * ratio * beta(ratio, m)
    assert_allclose(gap_evidence(ratio, m, n, 3.0), -np.log(np.log2(n) * (inside + at_end)))
    assert (np.diff(gap_evidence(np.linspace(1.1, 50, 99), np.full(99, 6), n, 1.0)) > 0).all()
    assert (np.diff(gap_evidence(np.full(20, 4.0), np.arange(5, 25), n, 1.0)) > 0).all()
    assert gap_evidence(np.array([0.5, 1.0]), np.array([5, 5]), n, 1.0).tolist() == [-np.inf, -np.inf]


@given(st.integers(2, 30), st.integers(0, 2**31))
def test_the_linked_tree_of_a_complete_graph_is_that_of_single_linkage(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    linked, heights = link_rows(complete_graph(n), X, np.arange(n))
    slow = linkage(X, "single")
    assert_allclose(heights, slow[:, 2], rtol=1e-6)
    assert linked == Tree.from_linkage(slow)


def test_components_are_linked_at_infinite_height_and_copies_are_one_row():
    X = np.array([[0.0], [1.0], [1.0], [5.0], [7.0]])
    edges = sp.coo_array((np.ones(4), ([0, 0, 1, 3], [1, 2, 2, 4])), shape=(5, 5))
    linked, heights = link_rows(Graph((edges + edges.T).tocsr()), X, np.array([0, 1, 1, 2, 3]))
    assert heights.tolist() == [1.0, 2.0, np.inf]
    assert oracles.leaf_sets(linked)[4:6] == [{0, 1}, {2, 3}]


@given(trees(min_leaves=1, max_leaves=20), st.integers(0, 2**31))
def test_the_nearest_node_shares_most_leaves(tree, seed):
    is_inside = np.random.default_rng(seed).random(tree.n_leaves) < 0.5
    inside = set(np.flatnonzero(is_inside).tolist())
    overlaps = [len(inside & leaves) / len(inside | leaves) for leaves in oracles.leaf_sets(tree)]
    node = nearest_node(tree, is_inside)
    assert (node is None) == (max(overlaps) < NEARLY)
    assert node is None or overlaps[node] == max(overlaps)


@given(st.integers(6, 24), st.integers(0, 2**31))
def test_isolated_groups_are_nodes_with_a_gap_around_them(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    X[: n // 3] += 6
    tree = tree_of(X)
    nodes, evidence = isolated_groups(tree, complete_graph(n), X, 2.0)
    expected = {}
    for node, leaves in enumerate(map(sorted, oracles.leaf_sets(tree))):
        if FEWEST_POINTS <= len(leaves) <= n // 2:
            within = linkage(X[leaves], "single")[-1, 2]
            around = cdist(X[leaves], np.delete(X, leaves, axis=0)).min()
            expected[node] = float(gap_evidence(np.array([around / within]), np.array([len(leaves)]), n, 2.0)[0])
    expected = {node: value for node, value in expected.items() if value > 0}
    assert sorted(nodes.tolist()) == sorted(expected)
    assert_allclose(evidence, [expected[node] for node in nodes.tolist()], rtol=1e-4)


def test_a_ball_within_a_ring_is_a_group():
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 2 * np.pi, 400)
    ring = 5 * np.column_stack([np.cos(turn), np.sin(turn)]) + 0.2 * rng.normal(size=(400, 2))
    X = np.concatenate([ring, 0.6 * rng.normal(size=(300, 2))])
    tree = tree_of(X)
    nodes, evidence = isolated_groups(tree, complete_graph(700), X, 2.0)
    assert tree.sizes[nodes[evidence.argmax()]] == 300
    assert evidence.max() > 10


def test_a_group_takes_along_a_stray_point_that_is_nearer_to_it_than_to_others():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), 0.3 * rng.normal(size=(8, 2)) + 30, [[24.0, 24.0]]])
    tree = tree_of(X)
    evidence = isolation_evidence(tree, complete_graph(len(X)), X, 2.0, None)
    found = np.flatnonzero(evidence > 3)
    assert len(found) == 1
    sides = [oracles.leaf_sets(tree)[child] for child in tree.children[found[0]]]
    assert set(range(40, 49)) in sides


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("size", [5, 8, 12])
def test_few_groups_of_few_points_are_found(size, shift):
    rng = np.random.default_rng(size)
    centres = np.array([[0, 0], [0, 40], [40, 0], [40, 40]]) + shift
    truth = np.repeat(np.arange(4), size)
    model = HypHC(random_state=0).fit(centres[truth] + rng.normal(size=(len(truth), 2)))
    assert_array_equal(model.labels_, truth)


def test_noise_of_few_points_is_one_cluster():
    found = [HypHC(random_state=0).fit(np.random.default_rng(s).normal(size=(20, 3))).n_clusters_ for s in range(20)]
    assert found.count(1) >= 19


def test_clusters_have_the_least_size_that_is_given():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(5, 2)) + 50])
    assert np.bincount(HypHC(random_state=0).fit(X).labels_).tolist() == [40, 5]
    assert HypHC(min_size=6, random_state=0).fit(X).n_clusters_ == 1
    X = np.concatenate(
        [rng.normal(size=(s, 2)) + m for s, m in ((400, (0, 0)), (300, (9, 0)), (60, (4, 9)), (12, (20, 12)))]
    )
    assert np.bincount(HypHC(random_state=0).fit(X).labels_).tolist() == [400, 300, 60, 12]
    assert np.bincount(HypHC(min_size=30, random_state=0).fit(X).labels_).tolist() == [412, 300, 60]


def test_rows_that_are_equal_are_no_group_of_many():
    """Copies of a row are one leaf: a gap beside a group counts distinct rows."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    X = np.concatenate([X, np.tile(X[:1], (20, 1))])
    assert HypHC(random_state=0).fit(X).n_clusters_ == 1
