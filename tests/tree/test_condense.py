"""The condensed tree, and the flat clusters below its highest splits, against their definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hyphc import HypHC, Tree
from hyphc.tree.condense import condense, is_split, split_order, undo
from hyphc.tree.prunings import labels_of
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

import oracles
from strategies import chain, random_tree, trees


@st.composite
def sized_trees(draw: st.DrawFn, max_leaves: int = 10) -> Tree:
    """A tree whose leaves stand for one or several points."""
    tree = draw(trees(max_leaves=max_leaves))
    sizes = draw(st.none() | st.lists(st.integers(1, 4), min_size=tree.n_leaves, max_size=tree.n_leaves))
    return Tree(tree.children, tree.heights, leaf_sizes=sizes)


def points_below(tree: Tree) -> list[float]:
    sizes = np.ones(tree.n_leaves) if tree.leaf_sizes is None else tree.leaf_sizes
    return [float(sizes[sorted(leaves)].sum()) for leaves in oracles.leaf_sets(tree)]


def labels_by_definition(tree: Tree, undone: set[int]) -> list[int]:
    """Each leaf walks down from the root; where it falls out it follows the larger sides from there on."""
    n, sets, points = tree.n_leaves, oracles.leaf_sets(tree), points_below(tree)
    children = tree.children.tolist()

    def larger(t: int) -> int:
        a, b = children[t]
        return a if points[a] >= points[b] else b

    def contains_undone(v: int) -> bool:
        return any(sets[n + t] <= sets[v] for t in undone)

    cores = []
    for leaf in range(n):
        v, follows = 2 * n - 2, False
        while contains_undone(v):
            t = v - n
            side = next(child for child in children[t] if leaf in sets[child]) if not follows else larger(t)
            if t not in undone and side != larger(t):
                side, follows = larger(t), True
            v = side
        cores.append(v)
    return [sorted(set(cores), key=cores.index).index(core) for core in cores]


@given(sized_trees(), st.integers(1, 6))
def test_a_split_has_enough_points_on_both_sides(tree, min_size):
    points = points_below(tree)
    expected = [min(points[a], points[b]) >= min_size for a, b in tree.children.tolist()]
    assert is_split(tree, min_size).tolist() == expected


@given(sized_trees(), st.none() | st.integers(1, 4))
def test_labels_are_those_of_the_definition_for_every_number_of_clusters(tree, min_size):
    order = split_order(tree, min_size)
    for k in range(1, len(order) + 2):
        found = undo(tree, order[: k - 1])
        assert found.labels.tolist() == labels_by_definition(tree, set(order[: k - 1].tolist()))
        assert len(found.nodes) == found.labels.max() + 1 == k


@given(sized_trees(), st.none() | st.integers(1, 4))
def test_clusters_are_nested_in_their_number(tree, min_size):
    order = split_order(tree, min_size)
    cuts = [undo(tree, order[:k]).labels for k in range(len(order) + 1)]
    for coarse, fine in pairwise(cuts):
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == fine.max() + 1


@given(sized_trees(), st.integers(1, 4), st.integers(0, 2**31))
def test_another_numbering_of_leaves_gives_the_same_clusters(tree, min_size, seed):
    number = np.random.default_rng(seed).permutation(tree.n_leaves)
    renumbered = tree.with_leaves_numbered(number)
    for k in range(len(split_order(tree, min_size)) + 1):
        one = undo(tree, split_order(tree, min_size)[:k]).labels
        two = undo(renumbered, split_order(renumbered, min_size)[:k]).labels[number]
        assert len(set(zip(one.tolist(), two.tolist(), strict=True))) == one.max() + 1 == two.max() + 1


@given(sized_trees(), st.integers(1, 4))
def test_the_highest_splits_are_undone_first(tree, min_size):
    heights = tree.heights[split_order(tree, min_size)]
    assert (np.diff(heights) <= 0).all()


@given(trees(max_leaves=8), st.integers(1, 4), st.integers(1, 4))
def test_a_leaf_of_several_points_counts_as_its_copies_do(tree, copies, min_size):
    n = tree.n_leaves
    sized = Tree(tree.children, tree.heights, leaf_sizes=np.full(n, copies))
    twins = [
        (copies * i if j == 1 else copies * n + i * (copies - 1) + j - 2, copies * i + j)
        for i in range(n)
        for j in range(1, copies)
    ]
    top = copies * n + n * (copies - 1)
    node = [copies * i if copies == 1 else copies * n + (i + 1) * (copies - 1) - 1 for i in range(n)] + [
        top + t for t in range(n - 1)
    ]
    merges = np.array(twins + [(node[a], node[b]) for a, b in tree.children.tolist()], dtype=np.int64).reshape(-1, 2)
    spread = Tree(merges, np.append(np.zeros(len(twins)), tree.heights + 1))
    least = min_size * copies
    for k in range(len(split_order(sized, least)) + 1):
        one = undo(sized, split_order(sized, least)[:k]).labels
        two = undo(spread, split_order(spread, least)[:k]).labels
        assert_array_equal(np.repeat(one, copies), two)


@given(sized_trees(), st.integers(1, 4))
def test_points_leave_the_condensed_tree_where_the_definition_says(tree, min_size):
    n, sets, points = tree.n_leaves, oracles.leaf_sets(tree), points_below(tree)
    found = condense(tree, min_size)
    for leaf in range(n if n > 1 else 0):
        v, cluster = 2 * n - 2, 2 * n - 2
        while True:
            t = v - n
            if t < 0:
                break
            a, b = tree.children[t].tolist()
            large = a if points[a] >= points[b] else b
            side = a if leaf in sets[a] else b
            height = tree.heights[t]
            if min(points[a], points[b]) >= min_size:
                v = cluster = side
            elif side == large and points[side] >= min_size:
                v = side
            else:
                break
        assert (found.cluster[leaf], found.leaving_height[leaf]) == (cluster, height)


def test_groups_and_leaves_have_one_row_each_and_networkx_agrees():
    networkx = pytest.importorskip("networkx")
    pytest.importorskip("pandas")
    condensed = random_tree(60, 0).condense(4)
    frame, graph = condensed.to_pandas(), condensed.to_networkx()
    assert len(frame) == 60 + 2 * len(condensed.splits)
    assert set(zip(frame.parent, frame.child, strict=True)) == set(graph.edges)
    assert networkx.is_arborescence(graph)
    below = frame[frame.child < 60].groupby("parent").child_size.sum()
    for group, size in graph.nodes(data="size"):
        own = below.get(group, 0) + sum(graph.nodes[c]["size"] for c in graph.successors(group) if c >= 60)
        assert group < 60 or own == size


def test_a_small_group_counts_where_little_weight_leads_out_of_it():
    """Two cliques of 6 and 1 200 points: 6 are less than 0.5 %, and a weak edge of the small one joins them."""
    small, large = chain(6).children, chain(1_200).children
    n = 1_206
    renumber = np.concatenate([np.arange(6, n), n + 5 + np.arange(1_199)])
    merges = np.vstack([np.where(small < 6, small, small - 6 + n), renumber[large], [[n + 4, 2 * n - 3]]])
    inside = np.concatenate([np.arange(1.0, 6), np.arange(1.0, 1_200)])
    for bridge, counts in ((0.5, True), (5.0, False)):
        degrees = np.append(np.full(6, 5.0), np.full(1_200, 1_199.0))
        degrees[[0, 6]] += bridge
        tree = Tree(merges, split_weights=np.append(inside, bridge), degrees=degrees)
        assert is_split(tree, None)[-1] == counts
        assert not is_split(tree, 7)[-1]


def test_more_clusters_than_groups_are_an_error_that_names_the_largest_number():
    condensed = random_tree(60, 0).condense(4)
    most = len(condensed.splits) + 1
    assert condensed.cut(most).max() + 1 == most
    with pytest.raises(ValueError, match=rf"n_clusters={most + 1} is not between 1 and {most}"):
        condensed.cut(most + 1)
    assert random_tree(60, 0).condense().cut(60).tolist() == list(range(60))


def test_every_way_to_ask_for_condensed_clusters_gives_the_same():
    rng = np.random.default_rng(0)
    centres = [(0, 0), (30, 0), (15, 26), (60, 0), (66, 6), (72, 0)]
    X = np.vstack([rng.normal(c, size=(n, 2)) for c, n in zip(centres, [400] * 3 + [20] * 3, strict=True)])
    truth = np.repeat(np.arange(6), [400] * 3 + [20] * 3)
    model = HypHC(6, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert adjusted_rand_score(truth, HypHC(6, criterion="dasgupta", random_state=0).fit(X).labels_) < 0.9
    for labels in (
        model.tree_.cut(6),
        model.tree_.cut(6, criterion="condensed"),
        model.tree_.condense().cut(6),
        model.tree_.layers([6, 2])[0],
        labels_of(model.tree_, model.tree_.clusters(6)),
    ):
        assert_array_equal(labels, model.labels_)


@given(sized_trees(), st.none() | st.integers(1, 4))
def test_cuts_of_the_condensed_criterion_are_those_of_the_condensed_tree(tree, min_size):
    assume((min_size or 1) <= tree._points[-1])
    for k in range(1, len(split_order(tree, min_size)) + 2):
        assert_array_equal(tree.cut(k, criterion="condensed", min_size=min_size), tree.condense(min_size).cut(k))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_trees_can_be_condensed(n):
    tree = random_tree(n, 0)
    condensed = tree.condense()
    assert len(condensed.splits) == 0
    assert len(condensed.leaving_height) == n
    assert undo(tree, split_order(tree, None)).labels.tolist() == list(range(n))


def test_a_chain_of_a_million_leaves_is_condensed():
    tree = chain(1_000_000)
    assert len(tree.condense(2).splits) == 0
    assert undo(tree, split_order(tree, None)[:5]).labels.max() == 5
