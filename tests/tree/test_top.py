"""The top of a tree: which subtrees become leaves, and that it is cut as the whole is."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import HypHC, Tree
from hyphc.tree.prunings import labels_of, own_clusters
from hyphc.tree.top import top_nodes, top_of, tree_above
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

import oracles
import strategies


@given(strategies.trees(min_leaves=2, max_leaves=20), st.integers(1, 25), st.integers(0, 2**31))
def test_groups_hold_all_leaves_once_and_clusters_are_made_of_them(tree, n_groups, seed):
    clusters = tree.clusters(1 + seed % tree.n_leaves, criterion="height")
    nodes, leaves = top_nodes(tree, n_groups, clusters), oracles.leaf_sets(tree)
    members = [leaf for node in nodes for leaf in leaves[node]]
    assert sorted(members) == list(range(tree.n_leaves))
    assert [min(leaves[node]) for node in nodes] == sorted(min(leaves[node]) for node in nodes)
    for cluster in clusters:
        assert all(leaves[node] <= leaves[cluster] or not leaves[node] & leaves[cluster] for node in nodes)
    inner = range(tree.n_leaves, 2 * tree.n_leaves - 1)
    above_clusters = sum(any(leaves[cluster] < leaves[node] for cluster in clusters) for node in inner)
    assert len(nodes) <= max(n_groups, 1) + above_clusters


@given(strategies.trees(min_leaves=2, max_leaves=20), st.integers(1, 20))
def test_the_tree_above_joins_the_groups_where_the_whole_does(tree, n_groups):
    nodes = top_nodes(tree, n_groups, np.array([2 * tree.n_leaves - 2]))
    top, merges = tree_above(tree, nodes)
    of, leaves, whole = labels_of(tree, nodes), oracles.leaf_sets(top), oracles.leaf_sets(tree)
    assert_array_equal(top.leaf_sizes if top.leaf_sizes is not None else np.ones(len(nodes)), np.bincount(of))
    for t, merge in enumerate(merges):
        assert {of[leaf] for leaf in whole[tree.n_leaves + merge]} == leaves[len(nodes) + t]
        assert top.heights[t] == tree.heights[merge]


@pytest.mark.parametrize("metric", ["auto", "cosine"])
@pytest.mark.parametrize("criterion", ["condensed", "modularity", "dasgupta", "ncut", "height"])
def test_the_top_of_a_fitted_tree_is_cut_as_the_whole(metric, criterion):
    X = make_blobs(300, centers=9, n_features=4, cluster_std=4.0, random_state=1)[0]
    fitted = HypHC(metric=metric, random_state=0).fit(X).tree_
    tree = fitted.with_found_splits(None)
    for k in (2, 5, 9):
        found = tree.cut(k, criterion=criterion)
        nodes = top_nodes(tree, 40, tree.clusters(k, criterion=criterion))
        top, merges = top_of(tree.with_n_clusters(k), nodes)
        assert_array_equal(merges, tree_above(tree, nodes)[1])
        assert_array_equal(top.cut(k, criterion=criterion)[labels_of(tree, nodes)], found)
        assert_array_equal(own_clusters(top, criterion).labels, top.cut(k, criterion=criterion))
        assert (top.cost, top.n_clusters) == (tree.cost, k)
        assert_allclose(top.split_weights.sum() + top.leaf_weights.sum(), tree.split_weights.sum())


def test_degrees_of_groups_count_similarities_to_other_groups_alone():
    tree = Tree([[0, 1], [2, 3], [4, 5]], split_weights=[2.0, 1.0, 3.0], degrees=[3.0, 4.0, 2.0, 3.0])
    top, _ = top_of(tree, np.array([4, 2, 3]))
    assert top.degrees.tolist() == [3.0, 2.0, 3.0]
    assert (top.leaf_weights.tolist(), top.split_weights.tolist()) == ([2.0, 0.0, 0.0], [1.0, 3.0])
