"""Consensus, central and collapsed trees, nodes of several children, and their Newick."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hyphc import MultiTree, Tree, central_tree, collapsed, consensus
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from strategies import balanced, chain, random_tree, trees


@st.composite
def many_trees(draw, max_leaves=8):
    """Trees of the same leaves, some of them alike."""
    n = draw(st.integers(1, max_leaves))
    kinds = draw(st.lists(trees(n, n), min_size=1, max_size=3))
    return [draw(st.sampled_from(kinds)) for _ in range(draw(st.integers(1, 6)))]


def clusters_of(tree: MultiTree) -> dict[frozenset[int], int]:
    """The leaves below each inner node, and its place."""
    sets = [frozenset([leaf]) for leaf in range(tree.n_leaves)]
    for below in tree.children():
        sets.append(frozenset().union(*(sets[v] for v in below)))
    return {cluster: place for place, cluster in enumerate(sets[tree.n_leaves :])}


def counts_of(several: list[Tree]) -> Counter:
    return Counter(A for tree in several for A in oracles.clusters(tree) if len(A) > 1)


@settings(max_examples=200)
@given(many_trees())
def test_the_majority_consensus_has_just_the_clusters_of_most_trees_with_their_shares(several):
    found, counts = consensus(several), counts_of(several)
    expected = {A: count / len(several) for A, count in counts.items() if 2 * count > len(several)}
    assert {A: found.support[place] for A, place in clusters_of(found).items()} == pytest.approx(expected)


@settings(max_examples=200)
@given(many_trees())
def test_the_greedy_consensus_takes_the_commonest_clusters_that_fit(several):
    found, counts = consensus(several, "greedy"), counts_of(several)
    place = {}
    for k, tree in enumerate(several):
        for A in oracles.leaf_sets(tree):
            place.setdefault(A, k)
    kept: list[frozenset[int]] = []
    groups: dict[tuple, list] = {}
    for A in counts:
        groups.setdefault((-counts[A], -len(A), place[A]), []).append(A)
    for key in sorted(groups):  # clusters of one tree and size never contradict each other
        kept += [A for A in groups[key] if all(A <= B or B <= A or not A & B for B in kept)]
    assert clusters_of(found).keys() == set(kept)


@given(many_trees())
def test_the_greedy_consensus_refines_that_of_the_majority(several):
    assert clusters_of(consensus(several)).keys() <= clusters_of(consensus(several, "greedy")).keys()


@given(many_trees())
def test_heights_of_a_consensus_never_fall_on_the_way_up(several):
    for rule in ("majority", "greedy"):
        found = consensus(several, rule)
        n = found.n_leaves
        for v, parent in enumerate(found.parents[:-1]):
            assert v < n or found.heights[v - n] <= found.heights[parent - n]
        assert found.to_tree().n_leaves == n


@given(trees(1, 10))
def test_the_consensus_of_a_tree_with_itself_is_the_tree(tree):
    for rule in ("majority", "greedy"):
        assert consensus([tree, tree, tree], rule).to_tree() == tree


@given(trees(1, 10), st.integers(0, 2**31), st.sampled_from([0.0, 0.3, 0.7, 1.1]))
def test_a_collapsed_tree_has_just_the_clusters_that_are_sure(tree, seed, threshold):
    n = tree.n_leaves
    values = np.round(np.random.default_rng(seed).random(n - 1), 1)
    values[:1] = np.nan
    found = collapsed(tree, threshold, values)
    sets = oracles.leaf_sets(tree)[n:]
    expected = {A for A, value in zip(sets, values, strict=True) if value >= threshold or len(A) == n}
    assert clusters_of(found).keys() == expected
    for A, place in clusters_of(found).items():
        assert found.heights[place] == tree.heights[sets.index(A)]


def test_a_chain_of_any_length_collapses_and_is_written():
    n = 30_000
    tree = chain(n)
    all_at_once = collapsed(tree, 0.5, np.zeros(n - 1))
    assert (all_at_once.n_inner, len(all_at_once.children()[0])) == (1, n)
    every_second = collapsed(tree, 0.5, np.arange(n - 1) % 2)
    assert every_second.to_newick(branch_lengths=False).count("(") == every_second.n_inner


@given(many_trees())
def test_the_binary_form_has_all_clusters_and_its_further_merges_add_no_height(several):
    found = consensus(several)
    tree = found.to_tree()
    clusters = oracles.clusters(tree)
    assert clusters_of(found).keys() <= clusters
    for below, height in zip(found.children(), found.heights, strict=True):
        heights = [tree.heights[tree.lca(*pair) - tree.n_leaves] for pair in pairwise(_some_leaf(found, below))]
        assert set(heights) == {height}


def _some_leaf(tree: MultiTree, nodes: list[int]) -> list[int]:
    children, found = tree.children(), []
    for v in nodes:
        while v >= tree.n_leaves:
            v = children[v - tree.n_leaves][0]
        found.append(v)
    return found


@given(many_trees(6))
def test_newick_keeps_nodes_of_several_children_and_their_support(several):
    found = consensus(several)
    text = found.to_newick()
    assert text.count("(") == found.n_inner
    back = Tree.from_newick(text, names=[str(i) for i in range(found.n_leaves)]) if found.n_leaves > 1 else None
    if back is not None:
        assert clusters_of(found).keys() <= oracles.clusters(back)


@given(trees(2, 10), st.integers(0, 2**31))
def test_every_form_that_keeps_support_gives_it_back(tmp_path_factory, tree, seed):
    values = np.round(np.random.default_rng(seed).random(tree.n_leaves - 1), 3)
    values[:1], values[-1] = np.nan, 1.0
    carrying = tree.with_support(values)
    path = tmp_path_factory.mktemp("tree") / "tree.npz"
    carrying.save(path)
    names = [str(i) for i in range(tree.n_leaves)]
    for back in (Tree.load(path), Tree.from_json(carrying.to_json()), carrying.with_names(names)):
        assert np.array_equal(back.support, values, equal_nan=True)
    sets = dict(zip(oracles.leaf_sets(tree)[tree.n_leaves :], values, strict=True))
    back = Tree.from_newick(carrying.to_newick(), names=names)
    if back.support is not None:
        for A, value in zip(oracles.leaf_sets(back)[back.n_leaves : -1], back.support, strict=False):
            assert value == pytest.approx(sets[A], nan_ok=True)


def test_labels_of_inner_nodes_that_are_no_shares_are_no_support():
    assert Tree.from_newick("((a,b)0.5,c);").support[0] == 0.5
    assert Tree.from_newick("((a,b)birds,c);").support is None
    assert Tree.from_newick("((a,b)95,c);").support is None
    assert Tree.from_newick("((a,b),c);").support is None


def test_the_central_tree_is_the_nearest_to_all_others():
    several = [random_tree(12, seed) for seed in range(4)] + [balanced(12), chain(12)]
    near = [np.mean([1 - _mean_moves(one, two) for two in several]) for one in several]
    assert central_tree(several, n_jobs=2) is several[int(np.argmax(near))]
    assert central_tree([random_tree(1, 0)]).n_leaves == 1


def _mean_moves(one: Tree, two: Tree) -> float:
    n = one.n_leaves
    worst = [max(1, min(len(A) - 1, n - len(A))) for A in oracles.leaf_sets(one)[n:]]
    return float(np.mean(np.array(oracles.transfer_distances(one, two)) / worst))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no tree"):
        consensus([])
    with pytest.raises(ValueError, match="3 and 4 leaves"):
        consensus([chain(3), chain(4)])
    with pytest.raises(ValueError, match="'most' is unknown"):
        consensus([chain(3)], "most")
    with pytest.raises(ValueError, match="carries no support"):
        collapsed(chain(3), 0.5)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        collapsed(chain(3), 0.5, [0.5])
    with pytest.raises(ValueError, match=r"support\[1\] is 1.5"):
        chain(3).with_support([0.5, 1.5])
    with pytest.raises(ValueError, match="later node"):
        MultiTree([3, 3, 2, -1], 3)
    with pytest.raises(ValueError, match="two or more"):
        MultiTree([2, 3, 3, -1], 2)


def test_trees_with_names_are_matched_by_name():
    one = random_tree(9, 0).with_names("abcdefghi")
    other = one.with_leaves_numbered(np.arange(9)[::-1], reversed("abcdefghi"))
    assert consensus([one, other]).to_newick() == consensus([one, one]).to_newick()
    assert central_tree([other, one]) == other
    with pytest.raises(ValueError, match="do not match one to one"):
        consensus([one, other.with_names("abcdefghj")])


@given(st.lists(trees(6, 6), min_size=1, max_size=4))
def test_newick_of_a_consensus_is_read_with_all_its_children(some):
    found = consensus(some)
    again = MultiTree.from_newick(found.to_newick())
    assert sorted(map(sorted, sets_of(again))) == sorted(map(sorted, sets_of(found)))
    assert np.allclose(np.sort(again.heights), np.sort(found.heights))


def sets_of(tree: MultiTree) -> list[set[int]]:
    """The leaves below each inner node."""
    sets = [{leaf} for leaf in range(tree.n_leaves)]
    for below in tree.children():
        sets.append(set().union(*(sets[v] for v in below)))
    return sets[tree.n_leaves :]


def test_heights_and_support_of_a_multitree_are_checked():
    parents = [4, 4, 4, 5, 5, -1]
    with pytest.raises(ValueError, match="shape"):
        MultiTree(parents, 4, heights=[1.0])
    with pytest.raises(ValueError, match="must not fall"):
        MultiTree(parents, 4, heights=[2.0, 1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        MultiTree(parents, 4, support=[2.0, 1.0])
