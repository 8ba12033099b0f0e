"""Cuts by a score: the best among all prunings of the tree, found without looking at all of them."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hyphc import Tree, as_similarity
from hyphc.scores.costs import dasgupta_cost
from hyphc.scores.heights import with_similarity_heights, with_split_weights
from hyphc.tree import cut_scores
from hyphc.tree.condense import split_order
from hyphc.tree.criteria import SCORES, node_scores
from hyphc.tree.prunings import Prunings, best_prunings, most_clusters
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from strategies import chain, random_tree, trees, weight_matrix


@st.composite
def weighted_trees(draw: st.DrawFn, max_leaves: int = 9) -> tuple[Tree, np.ndarray]:
    """A tree that carries its weights, with leaves of one or several points, and its similarities."""
    tree = draw(trees(max_leaves=max_leaves))
    W = weight_matrix(tree.n_leaves, draw(st.integers(0, 2**31)), draw(st.sampled_from(["real", "ties", "zeros"])))
    sizes = draw(st.none() | st.lists(st.integers(1, 4), min_size=tree.n_leaves, max_size=tree.n_leaves))
    carried = with_split_weights(tree, W)
    weights = {"split_weights": carried.split_weights, "degrees": carried.degrees, "leaf_sizes": sizes}
    weights["split_squares"] = carried.split_weights  # as if W held squared distances
    return Tree(tree.children, tree.heights, **weights), W


def prunings(tree: Tree, node: int | None = None) -> list[tuple[int, ...]]:
    """Every set of nodes that holds each leaf below ``node`` once."""
    node = 2 * tree.n_leaves - 2 if node is None else node
    if node < tree.n_leaves:
        return [(node,)]
    left, right = (prunings(tree, child) for child in tree.children[node - tree.n_leaves].tolist())
    return [(node,), *(a + b for a, b in product(left, right))]


def points_below(tree: Tree) -> list[float]:
    sizes = np.ones(tree.n_leaves) if tree.leaf_sizes is None else tree.leaf_sizes
    return [float(sizes[sorted(leaves)].sum()) for leaves in oracles.leaf_sets(tree)]


def score_by_definition(tree: Tree, W: np.ndarray, criterion: str, nodes: tuple[int, ...]) -> float:
    sets, points = oracles.leaf_sets(tree), points_below(tree)
    members = [sorted(sets[v]) for v in nodes]
    inside = [W[np.ix_(m, m)].sum() / 2 for m in members]
    volume = [W[m].sum() for m in members]
    total = W.sum() / 2
    if criterion == "height":
        return -sum(
            tree.heights[t] for t in range(len(tree.heights)) if any(sets[tree.n_leaves + t] <= sets[v] for v in nodes)
        )
    if criterion == "dasgupta":  # what the two-level tree saves against all pairs meeting at the root
        cost = sum(points[v] * w for v, w in zip(nodes, inside, strict=True)) + points[-1] * (total - sum(inside))
        return points[-1] * total - cost
    if criterion == "modularity":
        return sum(w / total - (v / (2 * total)) ** 2 for w, v in zip(inside, volume, strict=True)) if total else 0.0
    if criterion == "sse":
        return -sum(w / points[v] for v, w in zip(nodes, inside, strict=True))
    outside = [W[m].sum() - W[np.ix_(m, m)].sum() for m in members]
    return -sum(out / v if v else 1.0 for out, v in zip(outside, volume, strict=True))


@given(weighted_trees(), st.sampled_from(sorted(SCORES)), st.integers(1, 4))
def test_the_cut_is_the_best_of_all_prunings(case, criterion, min_size):
    tree, W = case
    points, found = points_below(tree), {}
    for nodes in prunings(tree):
        if min_size == 1 or min(points[v] for v in nodes) >= min_size:
            found.setdefault(len(nodes), []).append(score_by_definition(tree, W, criterion, nodes))
    assert sorted(found) == list(range(1, most_clusters(tree, criterion, min_size) + 1))
    scale = 1e-10 * (1 + abs(node_scores(tree, criterion)).max())
    for k, scores in found.items():
        nodes = tree.clusters(k, criterion=criterion, min_size=min_size)
        assert len(nodes) == k
        assert tuple(sorted(nodes.tolist())) in {tuple(sorted(p)) for p in prunings(tree)}
        assert min_size == 1 or min(points[v] for v in nodes) >= min_size
        assert_allclose(score_by_definition(tree, W, criterion, tuple(nodes)), max(scores), atol=scale)
        assert_allclose(cut_scores(tree, criterion, k, min_size=min_size)[-1], max(scores), atol=scale)


@given(weighted_trees(), st.sampled_from(sorted(SCORES)), st.integers(1, 3))
def test_labels_follow_from_the_nodes_and_are_numbered_by_their_smallest_leaf(case, criterion, min_size):
    tree, _ = case
    sets = oracles.leaf_sets(tree)
    for k in range(1, most_clusters(tree, criterion, min_size) + 1):
        nodes = tree.clusters(k, criterion=criterion, min_size=min_size)
        labels = tree.cut(k, criterion=criterion, min_size=min_size)
        assert [set(np.flatnonzero(labels == c).tolist()) for c in range(k)] == [sets[v] for v in nodes]
        assert [min(sets[v]) for v in nodes] == sorted(min(sets[v]) for v in nodes)


def best_by_the_rule(tree: Tree, scores: np.ndarray, k: int) -> tuple[int, ...]:
    """Of all best prunings the one that, from the root down, has fewest clusters below the smaller child."""
    sets = oracles.leaf_sets(tree)
    left = [p for p in prunings(tree) if len(p) == k]
    top = max(scores[list(p)].sum() for p in left)
    left = [p for p in left if scores[list(p)].sum() == top]
    for t in range(tree.n_leaves - 2, -1, -1):
        a, b = tree.children[t].tolist()
        small = b if len(sets[a]) >= len(sets[b]) else a
        counts = [sum(sets[v] <= sets[small] for v in p) for p in left]
        left = [p for p, count in zip(left, counts, strict=True) if count == min(counts)]
    (only,) = left
    return tuple(sorted(only))


@given(trees(max_leaves=8), st.integers(0, 2**31))
def test_of_equal_scores_fewer_clusters_lie_below_the_smaller_child(tree, seed):
    scores = np.random.default_rng(seed).integers(0, 3, 2 * tree.n_leaves - 1).astype(float)
    for k in range(1, tree.n_leaves + 1):
        nodes = tree.clusters(k, criterion=lambda _: scores)
        assert tuple(sorted(nodes.tolist())) == best_by_the_rule(tree, scores, k)


@given(weighted_trees())
def test_the_highest_merges_are_undone_with_and_without_the_search(case):
    tree, _ = case
    for k in range(1, tree.n_leaves + 1):
        searched = best_prunings(tree, k, "height", 1).nodes(k)
        scores = node_scores(tree, "height")
        assert_allclose(scores[searched].sum(), scores[tree.clusters(k, criterion="height")].sum(), atol=1e-9)


@given(weighted_trees(), st.integers(1, 9))
def test_one_search_serves_every_number_of_clusters(case, k_max):
    tree, _ = case
    found = best_prunings(tree, min(k_max, tree.n_leaves), "dasgupta", 1)
    assert isinstance(found, Prunings)
    scores = node_scores(tree, "dasgupta")
    for k in range(1, len(found.scores) + 1):
        assert_allclose(scores[found.nodes(k)].sum(), found.scores[k - 1], atol=1e-9)
        assert_array_equal(np.sort(tree.clusters(k, criterion="dasgupta")), found.nodes(k))


def test_the_dasgupta_score_is_what_the_two_level_tree_saves():
    def two_level_cost(labels):
        same = labels[:, None] == labels
        return (np.triu(W, 1) * np.where(same, np.bincount(labels)[labels][:, None], 30)).sum()

    W = weight_matrix(30, 2, "real")
    tree = with_split_weights(random_tree(30, 1), W)
    cost = two_level_cost(tree.cut(5, criterion="dasgupta"))
    assert_allclose(30 * W.sum() / 2 - cut_scores(tree, "dasgupta", 5)[-1], cost)
    for criterion in set(SCORES) - {"sse"}:
        assert cost <= two_level_cost(tree.cut(5, criterion=criterion)) + 1e-9


def test_leaves_count_as_many_points_as_they_stand_for():
    tree = Tree([[0, 1], [2, 3], [4, 5]], leaf_sizes=[2, 1, 1, 1])
    assert most_clusters(tree, min_size=2) == 2
    assert most_clusters(tree, min_size=3) == 1
    assert tree.cut(max_size=2).tolist() == [0, 1, 2, 2]
    assert tree.cut(max_size=1).tolist() == [0, 1, 2, 3]
    assert tree.cut(2, min_size=2).tolist() == [0, 0, 1, 1]


def test_sizes_that_are_fractions_are_summed_without_losing_a_point():
    tenths = Tree(chain(30).children, leaf_sizes=np.full(30, 0.1))
    assert most_clusters(tenths, min_size=3) == 1
    assert tenths.cut(30).max() == 29  # min_size=1 asks for nothing


def test_similarities_all_zero_can_still_be_cut():
    tree = with_split_weights(chain(4), np.zeros((4, 4)))
    for criterion in set(SCORES) - {"sse"}:
        assert tree.cut(3, criterion=criterion).max() == 2


def test_a_small_sibling_keeps_a_node_whole_when_clusters_must_be_large():
    outlier_last = Tree([[0, 1], [2, 3], [5, 6], [7, 4]])
    assert most_clusters(outlier_last, "height", 2) == 1
    assert most_clusters(outlier_last, min_size=2) == 2  # the outlier joins
    outlier_first = Tree([[0, 4], [5, 1], [2, 3], [6, 7]])
    for criterion in ("condensed", "height"):
        assert outlier_first.cut(2, criterion=criterion, min_size=2).tolist() == [0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"n_clusters": 2, "criterion": "best"},
            "criterion='best' is unknown; choose one of 'condensed', 'height', 'dasgupta'",
        ),
        (
            {"n_clusters": 2, "criterion": "dasgupta"},
            r"needs split weights.*with_similarity_heights\(tree, similarity\)",
        ),
        ({"n_clusters": 2, "criterion": "modularity"}, "criterion='modularity' needs split weights"),
        ({"n_clusters": 4, "min_size": 2}, "n_clusters=4 is too many for min_size=2: .* at most 2 such clusters"),
        ({"n_clusters": 1, "min_size": 5}, "min_size=5 is more than the 4 points; choose at most that"),
        ({"n_clusters": 2, "min_size": 0}, "min_size=0 is no size"),
        ({"n_clusters": 2, "min_size": np.nan}, "min_size=nan is no size"),
        ({"height": 1.0, "min_size": 2}, "min_size=2 goes with n_clusters, not with height"),
        ({"n_clusters": 2, "criterion": lambda tree: [1.0]}, r"each of the 7 nodes a finite score.*\(1,\)"),
        ({"n_clusters": 2, "criterion": lambda tree: np.full(7, np.nan)}, "with NaN or infinity"),
    ],
)
def test_cuts_that_cannot_be_name_the_value_and_the_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        Tree([[0, 1], [2, 3], [4, 5]]).cut(**options)


def test_degrees_are_asked_for_where_they_are_needed():
    tree = Tree([[0, 1]], split_weights=[1.0])
    assert tree.cut(2, criterion="dasgupta").tolist() == [0, 1]
    with pytest.raises(ValueError, match="criterion='ncut' needs leaf degrees"):
        tree.cut(2, criterion="ncut")


def test_scores_against_k_end_where_the_tree_does():
    tree = with_split_weights(chain(5), weight_matrix(5, 0, "real"))
    assert len(cut_scores(tree, "modularity", 100)) == 5
    assert len(cut_scores(tree, "modularity", 3)) == 3
    assert len(cut_scores(tree, "modularity", 3, min_size=2)) == 1
    with pytest.raises(ValueError, match="k_max=0"):
        cut_scores(tree, "modularity", 0)


def caterpillar(n: int) -> Tree:
    """Pairs that join a chain one after the other: at every merge of the chain there is something to choose."""
    half = n // 2
    pairs = np.arange(n).reshape(half, 2)
    spine = np.column_stack([np.r_[n, n + half + np.arange(half - 2)], n + np.arange(1, half)])
    return Tree(np.concatenate([pairs, spine]))


@pytest.mark.parametrize("shape", [chain, caterpillar])
def test_a_million_leaves_are_cut_however_deep_the_tree(shape):
    n = 1_000_000
    tree = shape(n)
    rng = np.random.default_rng(0)
    tree = Tree(tree.children, split_weights=rng.random(n - 1), degrees=rng.random(n))
    found = best_prunings(tree, 20, "dasgupta", 1)
    nodes = found.nodes(20)
    assert tree.sizes[nodes].sum() == n
    assert_allclose(node_scores(tree, "dasgupta")[nodes].sum(), found.scores[-1])
    assert found._choices.nbytes <= 4 * 19 * n / 2


# --- what trees carry ------------------------------------------------------------------------------------------------


def test_weights_follow_their_merges_when_these_are_sorted():
    tree = Tree([[0, 1], [2, 3], [4, 5]], heights=[2.0, 1.0, 3.0], split_weights=[7.0, 8.0, 9.0])
    assert tree.split_weights.tolist() == [8.0, 7.0, 9.0]


@given(weighted_trees())
def test_fitted_weights_are_those_of_the_merges_whatever_their_order(case):
    tree, W = case
    fitted = with_similarity_heights(tree, W)
    for t, (a, b) in enumerate(fitted.children.tolist()):
        left, right = (sorted(oracles.leaf_sets(fitted)[v]) for v in (a, b))
        assert_allclose(fitted.split_weights[t], W[np.ix_(left, right)].sum(), atol=1e-10)
    assert_allclose(fitted.degrees, W.sum(axis=1), atol=1e-10)
    assert_allclose(fitted.split_weights @ fitted.sizes[fitted.n_leaves :], dasgupta_cost(fitted, W), atol=1e-9)


@given(weighted_trees())
def test_npz_and_json_keep_what_a_tree_carries_and_equality_ignores_it(tmp_path_factory, case):
    tree, _ = case
    path = tmp_path_factory.mktemp("trees") / "tree.npz"
    tree.save(path)
    tree.save(path.with_suffix(""), mapped=True)
    for copy in (Tree.load(path), Tree.load(path.with_suffix("")), Tree.from_json(tree.to_json())):
        assert copy.cost == tree.cost
        for name in ("split_weights", "degrees", "leaf_sizes"):
            carried = getattr(tree, name)
            assert (getattr(copy, name) is None) == (carried is None)
            assert carried is None or np.array_equal(getattr(copy, name), carried)
    assert tree == Tree(tree.children)
    assert hash(tree) == hash(Tree(tree.children))
    for copy in (Tree.from_newick(tree.to_newick()), Tree.from_linkage(tree.to_linkage())):
        assert copy.split_weights is copy.degrees is copy.leaf_sizes is copy.cost is None


def test_a_folder_of_arrays_keeps_what_cuts_must_do(tmp_path):
    tree = Tree([[0, 1], [4, 2], [5, 3]], forced_splits=[-1, 0, 1], n_clusters=2, cost=7.5)
    tree.save(tmp_path, mapped=True)
    read = Tree.load(tmp_path)
    assert read.forced_splits.tolist() == [-1, 0, 1]
    assert (read.n_clusters, read.cost) == (2, 7.5)


def test_clusters_that_were_found_are_carried_by_files_and_by_what_is_the_same_tree(tmp_path):
    merges, heights = [[0, 1], [2, 3], [6, 4], [7, 8], [9, 5]], [3.0, 1.0, 5.0, 6.0, 7.0]  # sorted by height inside
    tree = Tree(merges, heights, leaf_sizes=[1, 2, 1, 2, 1, 1], found_splits=[0, 0, 0, 1, 0])
    labels = [0, 0, 1, 1, 0, 0]
    assert (tree.n_clusters, tree.cut().tolist(), tree.cut(min_size=3).tolist()) == (2, labels, labels)
    tree.save(tmp_path / "tree.npz")
    tree.save(tmp_path / "folder", mapped=True)
    same = [Tree.load(tmp_path / "tree.npz"), Tree.load(tmp_path / "folder"), Tree.from_json(tree.to_json())]
    for copy in (*same, tree.with_names("abcdef"), tree.with_support(np.ones(5))):
        assert (copy.n_clusters, copy.cut().tolist()) == (2, labels)
    turned = tree.with_leaves_numbered([5, 4, 3, 2, 1, 0])
    assert turned.cut().tolist() == [0, 0, 1, 1, 0, 0]
    assert tree.with_n_clusters(3).cut().tolist() == tree.cut(3).tolist()
    others = [tree.subtree(9), tree.with_forced_splits([0, 0, 0, 0, 1])]
    for other in (*others, Tree.from_newick(tree.to_newick()), Tree.from_linkage(tree.to_linkage())):
        assert other.found_splits is None
    assert tree.cut(min_size=5).tolist() == [0] * 6
    with pytest.raises(ValueError, match="got none"):
        tree.cut(criterion="height")


def test_found_clusters_that_cannot_be_are_refused():
    merges = [[0, 1], [2, 3], [5, 4], [6, 7]]
    with pytest.raises(ValueError, match="keep merge 3 and undo one in its smaller side"):
        Tree(merges, found_splits=[0, 1, 0, 0])
    with pytest.raises(ValueError, match="keep merge 3 and undo one in its smaller side"):
        Tree(merges, found_splits=[0, 1, 0, 2])
    for turns in ([0, 2, 0, 0], [0, 0, 1, 1], [0, 0, 0, -1]):
        with pytest.raises(
            ValueError, match=r"must be 0 .kept. for each merge, or the turn in which it is undone: 1, 2, …"
        ):
            Tree(merges, found_splits=turns)


@given(trees(min_leaves=2, max_leaves=40), st.integers(0, 2**31))
def test_what_was_found_is_undone_first_in_its_turns_and_cuts_stay_nested(tree, seed):
    order = split_order(tree, None)
    turns = np.zeros(tree.n_leaves - 1, dtype=int)
    turns[order[: np.random.default_rng(seed).integers(len(order) + 1)]] = 1
    found = np.flatnonzero(turns)[::-1]
    turns[found] = np.arange(1, len(found) + 1)
    marked = tree.with_found_splits(turns)
    np.testing.assert_array_equal(split_order(marked, None)[: len(found)], found)
    assert sorted(split_order(marked, None)) == sorted(order)
    np.testing.assert_array_equal(marked.cut(), marked.cut(len(found) + 1))
    finer = marked.cut(1)
    for k in range(2, min(12, tree.n_leaves) + 1):
        coarser, finer = finer, marked.cut(k)
        assert len(np.unique(np.column_stack([coarser, finer]), axis=0)) == k


def test_files_written_before_trees_carried_weights_are_read(tmp_path):
    names = np.frombuffer(b"null", dtype=np.uint8)
    np.savez(tmp_path / "old.npz", children=[[0, 1]], heights=[1.0], names=names)
    old = json.dumps({"n_leaves": 2, "children": [[0, 1]], "heights": [1.0], "names": None})
    for tree in (Tree.load(tmp_path / "old.npz"), Tree.from_json(old)):
        assert tree == Tree([[0, 1]])
        assert tree.split_weights is tree.degrees is tree.leaf_sizes is tree.cost is None


def test_other_names_and_numbers_keep_what_belongs_to_each_leaf():
    tree = Tree([[0, 1], [3, 2]], [1.0, 2.0], split_weights=[1.0, 2.0], degrees=[3.0, 4.0, 5.0], leaf_sizes=[1, 2, 3])
    named = tree.with_names("abc")
    assert named.names == ("a", "b", "c")
    assert_array_equal(named.degrees, tree.degrees)
    moved = named.with_leaves_numbered([2, 0, 1], "bca")
    assert_array_equal(moved.children, [[2, 0], [3, 1]])
    assert_array_equal(moved.split_weights, [1.0, 2.0])
    assert dict(zip(moved.names, moved.degrees, strict=True)) == {"a": 3.0, "b": 4.0, "c": 5.0}
    assert dict(zip(moved.names, moved.leaf_sizes, strict=True)) == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_what_a_tree_carries_is_a_copy_and_read_only():
    given_weights = np.array([1.0])
    tree = Tree([[0, 1]], split_weights=given_weights, degrees=[1.0, 1.0], leaf_sizes=[2, 1])
    given_weights[0] = 9
    assert tree.split_weights.tolist() == [1.0]
    for array in (tree.split_weights, tree.degrees, tree.leaf_sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_rounding_below_zero_is_zero_and_leaves_of_one_point_need_no_sizes():
    tree = Tree([[0, 1], [3, 2]], split_weights=[-1e-13, 2.0], leaf_sizes=[1.0, 1.0, 1.0])
    assert tree.split_weights.tolist() == [0.0, 2.0]
    assert tree.leaf_sizes is None


def test_opposite_points_whose_similarity_rounds_below_zero_can_be_fitted():
    X = np.array([[1.0, 0.3], [-1.0, -0.3]], dtype=np.float32)
    tree = with_similarity_heights(Tree([[0, 1]]), as_similarity(X, "cosine"))
    assert tree.split_weights[0] >= 0
    assert (tree.degrees >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split_weights": [1.0]}, r"split_weights must have shape \(2,\), one for each merge; got \(1,\)"),
        ({"split_weights": [1.0, -0.5]}, r"split_weights\[1\] is -0\.5; .* not negative"),
        ({"split_weights": [np.nan, 1.0]}, r"split_weights\[0\] is nan; .* finite"),
        ({"degrees": [1.0, 1.0]}, r"degrees must have shape \(3,\), one for each leaf; got \(2,\)"),
        ({"degrees": [1.0, np.inf, 1.0]}, r"degrees\[1\] is inf"),
        ({"leaf_sizes": [1.0, 0.0, 1.0]}, r"leaf_sizes\[1\] is 0\.0; a leaf stands for a positive number"),
        ({"leaf_sizes": [[1.0]]}, r"leaf_sizes must have shape \(3,\)"),
    ],
)
def test_weights_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Tree([[0, 1], [3, 2]], **options)


def test_scores_of_a_tree_whose_root_cannot_be_split_but_whose_parts_can():
    # leaf 999 is too small for a cluster of its own: tables of the other nodes are larger than that of the root
    children = np.array([[2 * t, 2 * t + 1] for t in range(999)])
    children = np.concatenate([np.where(children < 999, children, children + 1)[:998], [[1997, 999]]])
    scores = cut_scores(Tree(children), "height", 500, min_size=2)
    assert_allclose(scores, [-np.arange(1.0, 1000).sum()])
