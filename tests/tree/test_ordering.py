"""Orders of leaves: children are only swapped, similar leaves stand side by side, two trees are untangled."""

from __future__ import annotations

import time
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity
from hyphc.scores.heights import with_split_weights
from hyphc.similarity import Blend
from hyphc.tree.ordering import order_leaves, untangle
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import oracles
from strategies import chain, random_tree, tree_and_similarity, trees


def mean_similarity(W: np.ndarray, one: frozenset[int], two: frozenset[int]) -> float:
    return float(W[np.ix_(sorted(one), sorted(two))].mean())


def n_crossings(a: Tree, b: Tree) -> int:
    at, bt = np.argsort(a.leaf_order()), np.argsort(b.leaf_order())
    return sum((at[i] < at[j]) != (bt[i] < bt[j]) for i, j in combinations(range(a.n_leaves), 2))


@given(tree_and_similarity())
def test_only_the_order_of_children_changes(pair):
    tree, similarity = pair
    ordered = order_leaves(tree, similarity)
    assert ordered == tree
    assert_array_equal(np.sort(ordered.children, axis=1), np.sort(tree.children, axis=1))
    assert_array_equal(ordered.heights, tree.heights)


@given(tree_and_similarity(min_leaves=2))
def test_every_split_stands_as_its_neighbours_in_the_row_want_it(pair):
    tree, similarity = pair
    near = similarity.graph if isinstance(similarity, Blend) else similarity  # leaves stand by what is near
    W, sets = near.to_dense(), oracles.leaf_sets(tree)
    ordered = order_leaves(tree, similarity)
    row = [2 * tree.n_leaves - 2]
    for v in range(2 * tree.n_leaves - 2, tree.n_leaves - 1, -1):
        a, b = ordered.children[v - tree.n_leaves]
        at = row.index(v)
        left, right = row[at - 1 : at] if at else [], row[at + 1 : at + 2]

        def likeness(one, two, left=left, right=right):
            return sum(mean_similarity(W, sets[one], sets[c]) for c in left) + sum(
                mean_similarity(W, sets[two], sets[c]) for c in right
            )

        assert likeness(a, b) >= likeness(b, a) - 1e-9
        row[at : at + 1] = [a, b]
    assert_array_equal(ordered.leaf_order(), row)


@given(trees(), st.integers(0, 2**31))
def test_the_three_kinds_of_one_similarity_give_one_order(tree, seed):
    X = np.random.default_rng(seed).normal(size=(tree.n_leaves, 4))
    features = as_similarity(X, "cosine")
    W = features.to_dense()
    order = order_leaves(tree, features).leaf_order()
    assert_array_equal(order, order_leaves(tree, W).leaf_order())
    assert_array_equal(order, order_leaves(tree, sp.csr_array(W)).leaf_order())


def test_points_on_a_line_come_out_sorted():
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 1, size=64))
    tree = balanced_in_random_order(64, rng)
    order = order_leaves(tree, as_similarity(np.column_stack([np.cos(angles), np.sin(angles)]), "cosine")).leaf_order()
    assert order.tolist() in (list(range(64)), list(range(63, -1, -1)))


def balanced_in_random_order(n: int, rng: np.random.Generator) -> Tree:
    """Neighbours join, level by level, each pair in either order; n is a power of two."""
    children = np.arange(2 * n - 2).reshape(-1, 2)
    return Tree(np.where(rng.random((n - 1, 1)) < 0.5, children, children[:, ::-1]))


def test_names_stay_with_their_leaves():
    tree = Tree([[0, 1], [2, 3], [4, 5]], names=["a", "b", "c", "d"])
    W = [[0, 9, 0, 8], [9, 0, 0, 1], [0, 0, 0, 9], [8, 1, 9, 0]]
    assert order_leaves(tree, W).names == ("a", "b", "c", "d")


def test_flipped_trees_keep_the_weights_they_carry():
    W = [[0, 9, 0, 8], [9, 0, 0, 1], [0, 0, 0, 9], [8, 1, 9, 0]]
    tree = with_split_weights(Tree([[0, 1], [2, 3], [4, 5]]), W)
    assert_array_equal(order_leaves(tree, W).split_weights, tree.split_weights)
    assert_array_equal(order_leaves(tree, W).degrees, np.sum(W, axis=0))


def test_a_similarity_of_other_points_is_an_error():
    with pytest.raises(ValueError, match="3 leaves and the similarity 2 points"):
        order_leaves(chain(3), np.ones((2, 2)))


def test_a_million_leaves_of_a_graph_and_two_chains_whose_merges_alternate_take_seconds():
    n = 1_000_000
    i = np.arange(n - 1)
    ring = sp.csr_array((np.ones(n - 1), (i, i + 1)), shape=(n, n))
    begin = time.process_time()
    order_leaves(chain(n), ring + ring.T)
    assert time.process_time() - begin < 30
    half = 1500
    tops = np.arange(2 * half, 4 * half - 2)
    children = np.empty((2 * half - 1, 2), dtype=np.int64)
    children[0], children[1] = (0, 1), (half, half + 1)
    for t in range(2, 2 * half - 2):
        children[t] = tops[t - 2], (t % 2) * half + t // 2 + 1
    children[-1] = tops[-2:]
    tree = Tree(children)
    W = np.ones((2 * half, 2 * half))
    begin = time.process_time()
    order_leaves(tree, W)
    assert time.process_time() - begin < 5  # n³ would be 27 thousand million steps


@given(trees(min_leaves=2, max_leaves=7), st.integers(0, 2**31))
def test_untangling_leaves_no_better_turn_of_either_tree(tree, seed):
    other = random_tree(tree.n_leaves, seed)
    a, b, crossed = untangle(tree, other)
    assert a == tree
    assert b == other
    assert crossed == n_crossings(a, b) <= n_crossings(tree, other)
    for swaps in product([False, True], repeat=tree.n_leaves - 1):
        turned = Tree(np.where(np.array(swaps)[:, None], b.children[:, ::-1], b.children), b.heights)
        assert n_crossings(a, turned) >= crossed


@given(trees(max_leaves=30), st.integers(0, 2**31))
def test_a_tree_faces_itself_without_crossings(tree, seed):
    swaps = np.random.default_rng(seed).random((tree.n_leaves - 1, 1)) < 0.5
    turned = Tree(np.where(swaps, tree.children[:, ::-1], tree.children), tree.heights)
    assert untangle(tree, turned)[2] == 0


def test_untangling_chains_of_many_leaves_takes_seconds():
    n = 200_000
    begin = time.process_time()
    assert untangle(chain(n), chain(n, np.arange(n)[::-1]))[2] >= 0
    assert time.process_time() - begin < 20


def test_trees_of_different_sizes_cannot_be_untangled():
    with pytest.raises(ValueError, match="3 and 4 leaves"):
        untangle(chain(3), chain(4))


@given(trees(1, 7), st.integers(0, 2**31))
def test_a_given_order_is_followed_as_far_as_any_order_of_children_allows(tree, seed):
    n = tree.n_leaves
    order = np.random.default_rng(seed).integers(0, 4, size=n)  # with ties
    found = order_leaves(tree, order=order)

    def wrong(leaves: np.ndarray) -> int:
        return sum(order[i] > order[j] for i, j in combinations(leaves.tolist(), 2))

    assert found == tree
    flips = product([False, True], repeat=n - 1)
    turned = (Tree(np.where(np.array(flip)[:, None], tree.children[:, ::-1], tree.children)) for flip in flips)
    everything = [tree] if n == 1 else turned
    assert wrong(found.leaf_order()) == min(wrong(one.leaf_order()) for one in everything)
    if wrong(tree.leaf_order()) == 0:
        assert_array_equal(found.leaf_order(), tree.leaf_order())


def test_leaves_are_ordered_by_one_thing():
    tree = random_tree(4, 0)
    for given_ in ({}, {"similarity": np.ones((4, 4)), "order": [1, 2, 3, 4]}):
        with pytest.raises(ValueError, match="give one of the two"):
            order_leaves(tree, **given_)
    for order in ([1, 2, 3], [1, 2, 3, np.nan], ["a", "b", "c", "d"]):
        with pytest.raises(ValueError, match="a number for each leaf"):
            order_leaves(tree, order=order)
