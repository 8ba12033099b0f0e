"""Transfer distances between clusters of two trees, and restricted trees, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import Tree
from hyphc.tree.transfer_distance import in_other, restricted, transfer_agreement, transfer_distances
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from strategies import balanced, chain, random_tree, trees


@st.composite
def two_trees(draw, max_leaves=14):
    one = draw(trees(1, max_leaves))
    return one, draw(trees(one.n_leaves, one.n_leaves))


@settings(max_examples=300)
@given(two_trees())
def test_transfer_distances_equal_their_definition(pair):
    tree, other = pair
    assert transfer_distances(tree, other).tolist() == oracles.transfer_distances(tree, other)


@given(two_trees())
def test_a_cluster_is_in_the_other_tree_exactly_where_nothing_must_move(pair):
    tree, other = pair
    clusters = oracles.clusters(other)
    expected = [A in clusters for A in oracles.leaf_sets(tree)[tree.n_leaves :]]
    assert in_other(tree, other).tolist() == expected == (transfer_distances(tree, other) == 0).tolist()


@given(two_trees())
def test_agreement_lies_between_0_and_1_and_is_1_with_the_tree_itself(pair):
    tree, other = pair
    agreement = transfer_agreement(tree, other)
    assert ((agreement >= 0) & (agreement <= 1)).all()
    assert (transfer_agreement(tree, tree) == 1).all()


@given(two_trees())
def test_no_leaf_and_no_root_is_further_than_the_scale_of_agreement(pair):
    tree, other = pair
    n, sizes = tree.n_leaves, tree.sizes[tree.n_leaves :]
    assert (transfer_distances(tree, other) <= np.minimum(sizes - 1, n - sizes)).all()


def test_one_leaf_that_strays_costs_a_large_cluster_little_transfer_and_all_of_its_share():
    tree = balanced(64)
    other = tree.with_leaves_numbered(np.r_[63, np.arange(1, 63), 0])  # leaves 0 and 63 change places
    halves = [-3, -2]
    assert not in_other(tree, other)[halves].any()
    assert transfer_distances(tree, other)[halves].tolist() == [2, 2]
    assert transfer_agreement(tree, other)[halves] == pytest.approx(1 - 2 / 31)


@pytest.mark.parametrize("shape", ["chains", "random", "chain and balanced"])
def test_large_trees_of_any_shape_agree_with_distances_from_counts(shape):
    n, rng = 600, np.random.default_rng(0)
    shuffled = chain(n, rng.permutation(n))
    tree, other = {
        "chains": (chain(n), shuffled),
        "random": (random_tree(n, 1), random_tree(n, 2)),
        "chain and balanced": (shuffled, balanced(n)),
    }[shape]
    members = [np.zeros((2 * n - 1, n), dtype=np.int64) for _ in range(2)]
    for one, table in zip((tree, other), members, strict=True):
        table[:n] = np.eye(n)
        for t, (a, b) in enumerate(one.children):
            table[n + t] = table[a] + table[b]
    common = members[0][n:].astype(np.float64) @ members[1].T
    expected = (tree.sizes[n:, None] + other.sizes[None, :] - 2 * common).min(axis=1)
    assert np.array_equal(transfer_distances(tree, other), expected)


@given(trees(1, 12), st.integers(0, 2**31))
def test_a_restricted_tree_has_what_is_left_of_each_cluster(tree, seed):
    rng = np.random.default_rng(seed)
    leaves = rng.permutation(tree.n_leaves)[: rng.integers(1, tree.n_leaves + 1)]
    few, nodes = restricted(tree, leaves)
    number = {leaf: place for place, leaf in enumerate(leaves.tolist())}
    left = [frozenset(number[leaf] for leaf in A if leaf in number) for A in oracles.leaf_sets(tree)]
    sets = oracles.leaf_sets(few)
    assert oracles.clusters(few) == {A for A in left if A}
    assert [frozenset() if v < 0 else sets[v] for v in nodes.tolist()] == left


@pytest.mark.parametrize("leaves", [[], [0, 0], [3], [-1], [0.5]])
def test_leaves_that_a_tree_does_not_have_once_are_named(leaves):
    with pytest.raises(ValueError, match="different numbers from 0 to 2"):
        restricted(Tree([[0, 1], [3, 2]]), leaves)


def test_trees_of_different_leaves_are_refused():
    with pytest.raises(ValueError, match="3 and 4 leaves"):
        transfer_distances(chain(3), chain(4))
