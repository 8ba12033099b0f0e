"""``Tree``: sizes, orders, common ancestors, cuts, conversions and storage."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from hyphc import Tree
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy

import oracles
from strategies import balanced, chain, random_tree, trees

N_DEEP = 1_000_000


@given(trees())
def test_sizes_and_parents_follow_from_the_leaf_sets(tree):
    sets = oracles.leaf_sets(tree)
    assert_array_equal(tree.sizes, [len(s) for s in sets])
    for node, parent in enumerate(tree.parents):
        assert (parent == -1) == (node == len(sets) - 1)
        assert parent == -1 or sets[node] < sets[parent]


@given(trees())
def test_every_cluster_is_a_run_of_the_leaf_order(tree):
    order = tree.leaf_order().tolist()
    assert sorted(order) == list(range(tree.n_leaves))
    for s in oracles.leaf_sets(tree):
        positions = [order.index(leaf) for leaf in s]
        assert max(positions) - min(positions) + 1 == len(s)


@given(trees())
def test_lca_is_the_smallest_node_that_holds_both(tree):
    sets = oracles.leaf_sets(tree)
    nodes = np.arange(len(sets))
    found = tree.lca(nodes[:, None], nodes[None, :])
    for u in nodes:
        for v in nodes:
            assert sets[found[u, v]] == min((s for s in sets if sets[u] | sets[v] <= s), key=len)


def test_lca_across_many_blocks_of_the_range_table():
    tree = random_tree(3000, 1)
    sets = oracles.leaf_sets(tree)
    rng = np.random.default_rng(0)
    i, j = rng.integers(3000, size=(2, 300))
    for a, b, v in zip(i, j, tree.lca(i, j), strict=True):
        assert {a, b} <= sets[v]
        assert v < 3000 or not any({a, b} <= sets[c] for c in tree.children[v - 3000])


def test_lca_of_two_numbers_is_a_number():
    assert Tree([[0, 1], [3, 2]]).lca(0, 2) == 4
    assert isinstance(Tree([[0, 1], [3, 2]]).lca(0, 2), int)


@given(trees())
def test_cut_into_k_gives_k_clusters_that_are_nested(tree):
    coarser = None
    for k in range(1, tree.n_leaves + 1):
        labels = tree.cut(n_clusters=k, criterion="height")
        assert labels.max() + 1 == k
        for c in range(k):
            assert frozenset(np.flatnonzero(labels == c).tolist()) in oracles.clusters(tree)
        if coarser is not None:
            assert all(len(set(coarser[labels == c])) == 1 for c in range(k))
        coarser = labels


@given(trees(min_leaves=2), st.floats(0, 13))
def test_cut_at_a_height_agrees_with_scipy(tree, height):
    theirs = hierarchy.fcluster(tree.to_linkage(), height, criterion="distance")
    ours = tree.cut(height=height)
    same = [(ours[i] == ours[j]) == (theirs[i] == theirs[j]) for i, j in combinations(range(len(ours)), 2)]
    assert all(same)


@given(trees(), st.integers(1, 13))
def test_cut_by_size_takes_the_largest_clusters_that_fit(tree, max_size):
    labels = tree.cut(max_size=max_size)
    fitting = [s for s in oracles.clusters(tree) if len(s) <= max_size]
    largest = {s for s in fitting if not any(s < other for other in fitting)}
    assert {frozenset(np.flatnonzero(labels == c).tolist()) for c in set(labels)} == largest


@given(trees())
def test_labels_are_numbered_by_their_smallest_leaf(tree):
    labels = tree.cut(n_clusters=(tree.n_leaves + 1) // 2)
    first = [int(np.flatnonzero(labels == c)[0]) for c in range(labels.max() + 1)]
    assert first == sorted(first)


@given(trees(min_leaves=2), st.integers(0, 2**31))
def test_equality_ignores_the_order_of_children_and_heights(tree, seed):
    rng = np.random.default_rng(seed)
    flip = rng.random(tree.n_leaves - 1) < 0.5
    other = Tree(np.where(flip[:, None], tree.children[:, ::-1], tree.children))
    assert tree == other
    assert hash(tree) == hash(other)


@given(trees(1, 7), trees(1, 7))
def test_equal_trees_are_those_with_the_same_clusters(a, b):
    assert (a == b) == (oracles.clusters(a) == oracles.clusters(b))


def test_a_tree_differs_from_other_things():
    assert chain(3) != "a tree"
    assert chain(3) != chain(4)


@given(trees(min_leaves=2))
def test_linkage_round_trip_is_valid_for_scipy(tree):
    Z = tree.to_linkage()
    assert hierarchy.is_valid_linkage(Z)
    assert hierarchy.is_monotonic(Z)
    assert Tree.from_linkage(Z) == tree
    assert_array_equal(Tree.from_linkage(Z).heights, tree.heights)


@pytest.mark.parametrize("method", ["single", "average", "ward", "centroid", "median"])
def test_scipy_linkages_are_taken_inversions_included(method):
    X = np.random.default_rng(3).normal(size=(60, 2))
    Z = hierarchy.linkage(X, method)
    tree = Tree.from_linkage(Z)
    assert_array_equal(np.sort(tree.sizes[60:]), np.sort(Z[:, 3]))
    assert (np.diff(tree.heights) >= 0).all()


def test_heights_that_rounding_put_below_zero_are_zero():
    assert Tree.from_linkage([[0, 1, -2e-16, 2], [2, 3, 1.0, 3]]).heights.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match=r"height -0\.1"):
        Tree.from_linkage([[0, 1, -0.1, 2], [2, 3, 1.0, 3]])


def test_merges_are_sorted_by_height_and_renumbered():
    tree = Tree([[0, 1], [2, 3], [4, 5]], heights=[2.0, 1.0, 3.0])
    assert_array_equal(tree.children, [[2, 3], [0, 1], [5, 4]])
    assert_array_equal(tree.heights, [1.0, 2.0, 3.0])


@given(trees())
def test_json_npz_and_pickle_round_trips_keep_everything(tmp_path_factory, tree):
    named = Tree(tree.children, tree.heights, [f"leaf '{i}' é\n" for i in range(tree.n_leaves)])
    path = tmp_path_factory.mktemp("trees") / "tree.npz"
    named.save(path)
    for copy in (Tree.from_json(named.to_json()), Tree.load(path), pickle.loads(pickle.dumps(named))):
        assert_array_equal(copy.children, named.children)
        assert_array_equal(copy.heights, named.heights)
        assert copy.names == named.names


def test_saving_leaves_nothing_else_behind_and_replaces(tmp_path):
    chain(3).save(tmp_path / "tree.npz")
    chain(4).save(tmp_path / "tree.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["tree.npz"]
    assert Tree.load(tmp_path / "tree.npz") == chain(4)


@given(trees(min_leaves=2))
def test_networkx_export_is_the_tree(tree):
    networkx = pytest.importorskip("networkx")
    graph = tree.to_networkx()
    assert networkx.is_arborescence(graph)
    root = 2 * tree.n_leaves - 2
    for node, leaves in enumerate(oracles.leaf_sets(tree)):
        below = networkx.descendants(graph, node) | {node}
        assert {v for v in below if v < tree.n_leaves} == leaves
        assert graph.nodes[node]["size"] == len(leaves)
    depth = networkx.shortest_path_length(graph, root, 0, weight="length")
    assert_allclose(depth, tree.heights[-1], atol=1e-12)


def test_arrays_are_copies_and_read_only():
    children = np.array([[0, 1], [3, 2]])
    tree = Tree(children)
    children[0] = 9
    assert_array_equal(tree.children, [[0, 1], [3, 2]])
    for array in (tree.children, tree.heights, tree.sizes, tree.parents):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_one_leaf_is_a_tree():
    tree = Tree(np.empty((0, 2)))
    assert tree.n_leaves == 1
    assert tree.cut(n_clusters=1).tolist() == [0]
    assert tree.to_linkage().shape == (0, 4)
    assert tree == Tree.from_json(tree.to_json()) == Tree.from_newick(tree.to_newick())
    assert tree.lca(0, 0) == 0
    assert repr(tree) == "Tree(n_leaves=1)"


@pytest.mark.parametrize(
    ("children", "heights", "message"),
    [
        ([[0, 1], [0, 2]], None, r"Node 0 is joined 2 times"),
        ([[0, 4], [1, 2]], None, r"Merge 0 joins \[0, 4\]"),
        ([[0, -1]], None, r"Merge 0 joins \[0, -1\]"),
        ([[0, 0.5]], None, r"whole numbers"),
        ([[0, np.nan]], None, r"whole numbers"),
        ([[0, 1, 2]], None, r"shape \(n - 1, 2\); got \(1, 3\)"),
        ([["a", "b"]], None, r"whole numbers"),
        ([[0, 1], [3, 2]], [1.0], r"heights must have shape \(2,\)"),
        ([[0, 1], [3, 2]], [2.0, 1.0], r"Merge 1 at height 1.0 lies below a child at 2.0"),
        ([[0, 1]], [np.nan], r"Merge 0 has height nan"),
        ([[0, 1]], [-1.0], r"Merge 0 has height -1.0"),
    ],
)
def test_bad_trees_are_refused(children, heights, message):
    with pytest.raises(ValueError, match=message):
        Tree(children, heights)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.cut(), "exactly one"),
        (lambda t: t.cut(2, height=1.0), "exactly one"),
        (lambda t: t.cut(0), "n_clusters=0"),
        (lambda t: t.cut(4), "n_clusters=4"),
        (lambda t: t.cut(height=np.nan), "height=nan"),
        (lambda t: t.cut(max_size=0), "max_size=0"),
        (lambda t: t.lca(0, 5), "Node 5"),
        (lambda t: t.lca(0, 0.5), "whole numbers"),
        (lambda t: t.to_newick(names=["a"]), "1 names for 3 leaves"),
        (lambda t: Tree(t.children, names=["a"]), "1 names for 3 leaves"),
        (lambda t: Tree.from_linkage([[0, 1, 1]]), r"\(n - 1, 4\)"),
        (lambda t: Tree.from_linkage([[0, 1, np.inf, 2]]), "height inf"),
        (lambda t: Tree.from_json("[1, 2]"), "Not a tree in JSON"),
        (lambda t: Tree.from_json("{"), "Not a tree in JSON"),
    ],
)
def test_bad_calls_name_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call(chain(3))


def test_loading_something_else_says_so(tmp_path):
    path = tmp_path / "not a tree.npz"
    path.write_text("no")
    with pytest.raises(ValueError, match="is not a saved tree"):
        Tree.load(path)
    with pytest.raises(FileNotFoundError):
        Tree.load(tmp_path / "missing.npz")


@pytest.fixture(scope="module")
def deep() -> Tree:
    return chain(N_DEEP)


def test_a_chain_of_a_million_leaves_works_for_all_array_operations(deep, tmp_path):
    assert deep.sizes[-1] == N_DEEP
    assert_array_equal(deep.leaf_order(), np.arange(N_DEEP))
    assert Tree.from_linkage(deep.to_linkage()) == deep
    assert_array_equal(deep.lca([0, 5, 999_999], [1, 3, 0]), [N_DEEP, N_DEEP + 4, 2 * N_DEEP - 2])
    assert deep.cut(n_clusters=3).max() == 2
    assert deep.cut(max_size=10).max() == N_DEEP - 10
    assert deep.cut(height=5.0).max() == N_DEEP - 6
    assert deep.parents[-1] == -1
    assert isinstance(hash(deep), int)
    deep.save(tmp_path / "deep.npz")
    assert Tree.load(tmp_path / "deep.npz") == deep


def test_a_deep_chain_survives_newick_and_json():
    """A million leaves: tests/system/test_large_trees.py."""
    deep = chain(100_000)
    assert Tree.from_newick(deep.to_newick()) == deep
    assert Tree.from_json(deep.to_json()) == deep


def test_a_deep_chain_exports_to_networkx():
    pytest.importorskip("networkx")
    assert chain(50_000).to_networkx().number_of_edges() == 2 * 50_000 - 2


def test_balanced_tree_has_the_expected_shape():
    assert_array_equal(balanced(4).sizes, [1, 1, 1, 1, 2, 2, 4])
