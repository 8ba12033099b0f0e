"""Constraints: required clusters, orders and groups in the tree and its cuts, and contradictions that are refused."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hyphc import Constraints, HypHC, MultiTree, Tree, as_similarity, dasgupta_cost, dendrogram_purity, support
from hyphc.fit.constrained_tree import forced_splits
from hyphc.search.ordered_dp import best_in_order
from hyphc.tree.prunings import fewest_clusters, most_clusters
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

import oracles
from strategies import KINDS, random_tree, similarity_of_kind, trees


@st.composite
def some_clusters(draw, n):
    """Clusters of a random tree: they never contradict each other."""
    sets = oracles.leaf_sets(draw(trees(n, n)))[n:]
    return [sorted(A) for A in draw(st.lists(st.sampled_from(sets), max_size=4)) if len(A) < n] if sets else []


@st.composite
def problems(draw, max_leaves=9):
    n = draw(st.integers(1, max_leaves))
    similarity = similarity_of_kind(draw(st.sampled_from(KINDS)), n, draw(st.integers(0, 2**31)))
    return similarity, draw(some_clusters(n))


def least_cost_with(clusters: list[list[int]], W: np.ndarray) -> float:
    """The least cost of all trees that have these clusters, by trying all splits of all sets."""
    required = [frozenset(cluster) for cluster in clusters]

    @cache
    def least(S: frozenset[int]) -> float:
        if len(S) == 1:
            return 0.0
        first, *others = sorted(S)
        costs = []
        for size in range(len(others)):
            for beside in combinations(others, size):
                A = frozenset([first, *beside])
                B = S - A
                if all(C >= S or not C & S or C <= A or C <= B for C in required):
                    across = W[np.ix_(sorted(A), sorted(B))].sum()
                    costs.append(len(S) * across + least(A) + least(B))
        return min(costs)

    return least(frozenset(range(len(W))))


@settings(max_examples=40)
@given(problems())
def test_required_clusters_are_in_the_tree_and_nothing_costs_less(problem):
    similarity, clusters = problem
    model = HypHC(n_clusters=1, constraints=Constraints(clusters=clusters), random_state=0).fit(similarity)
    assert {frozenset(cluster) for cluster in clusters} <= oracles.clusters(model.tree_)
    least = least_cost_with(clusters, similarity.to_dense())
    scale = np.abs(similarity.to_dense()).sum() * similarity.n
    assert dasgupta_cost(model.tree_, similarity) <= least + 1e-9 * scale


@settings(max_examples=25)
@given(st.integers(2, 40), st.integers(0, 2**31), st.data())
def test_required_clusters_are_in_trees_of_rows_whatever_the_rows(n, seed, data):
    clusters = data.draw(some_clusters(n))
    X = np.random.default_rng(seed).normal(size=(n, 3))
    tree = HypHC(n_clusters=1, constraints=Constraints(clusters=clusters), effort=0.1, random_state=0).fit(X).tree_
    assert {frozenset(cluster) for cluster in clusters} <= oracles.clusters(tree)


def test_a_tree_as_constraint_is_the_result():
    tree = random_tree(12, 3)
    X = np.random.default_rng(0).normal(size=(12, 2))
    assert HypHC(constraints=Constraints(clusters=tree), random_state=0).fit(X).tree_ == tree


def test_must_link_of_everything_in_a_class_gives_purity_1():
    X, y = load_iris(return_X_y=True)
    model = HypHC(3, constraints=Constraints(must_link=[np.flatnonzero(y == k) for k in range(3)]), random_state=0)
    model.fit(X)
    assert dendrogram_purity(model.tree_, y) == 1.0
    assert np.array_equal(model.labels_, y)


def allowed(labels: np.ndarray, known: Constraints) -> bool:
    together = all(len({labels[i] for i in group}) == 1 for group in known.must_link)
    apart = all(len({labels[i] for i in group}) == len(group) for group in known.cannot_link)
    classes = [-1] * len(labels) if known.classes is None else known.classes
    pure = all(len({c for c, label in zip(classes, labels, strict=True) if label == k and c != -1}) < 2 for k in labels)
    return together and apart and pure


@settings(max_examples=60)
@given(trees(2, 8), st.integers(0, 2**31))
def test_the_best_of_all_allowed_cuts_is_taken(tree, seed):
    n, rng = tree.n_leaves, np.random.default_rng(seed)
    sets = oracles.leaf_sets(tree)
    group = sorted(sets[rng.integers(n, 2 * n - 1)])
    others = np.setdiff1d(np.arange(n), group[1:])
    size = int(rng.integers(2, 4))
    pairs = [rng.choice(others, size, replace=False).tolist()] if len(others) >= size else []
    classes = np.full(n, -1)
    classes[others] = rng.integers(-1, 2, size=len(others))
    known = Constraints(must_link=[group], cannot_link=pairs, classes=classes)
    forced = tree.with_forced_splits(forced_splits(tree, known.resolve(n)))
    possible = {}
    for nodes in prunings(tree):
        labels = np.empty(n, dtype=int)
        for k, v in enumerate(nodes):
            labels[sorted(sets[v])] = k
        if allowed(labels, known):
            height = -sum(tree.heights[u - n] for v in nodes for u in below(tree, v))
            possible[len(nodes)] = max(possible.get(len(nodes), -np.inf), height)
    assert (min(possible), max(possible)) == (fewest_clusters(forced), most_clusters(forced))
    assert known.resolve(n).min_clusters <= min(possible)
    assert known.resolve(n).max_clusters >= max(possible)
    for k, best in possible.items():
        labels = forced.cut(k, criterion="height")
        assert allowed(labels, known)
        assert allowed(forced.cut(k), known)
        chosen = [next(v for v in range(2 * n - 1) if sets[v] == set(np.flatnonzero(labels == c))) for c in range(k)]
        assert -sum(tree.heights[u - n] for v in chosen for u in below(tree, v)) == pytest.approx(best)


def prunings(tree: Tree, v: int | None = None) -> list[list[int]]:
    n = tree.n_leaves
    v = 2 * n - 2 if v is None else v
    if v < n:
        return [[v]]
    a, b = tree.children[v - n].tolist()
    return [[v], *(one + two for one in prunings(tree, a) for two in prunings(tree, b))]


def below(tree: Tree, v: int) -> list[int]:
    """The merges at and below a node."""
    n = tree.n_leaves
    return [] if v < n else [v, *(u for child in tree.children[v - n].tolist() for u in below(tree, child))]


def test_an_automatic_number_of_clusters_respects_the_constraints():
    X = np.random.default_rng(0).normal(size=(30, 2))
    known = Constraints(
        cannot_link=[(0, 1), (1, 2), (0, 2)], must_link=[[5, 6, 7], [7, 8]], classes=["a"] + [None] * 28 + ["b"]
    )
    model = HypHC(constraints=known, random_state=0).fit(X)
    labels = model.labels_
    assert len({labels[0], labels[1], labels[2]}) == 3
    assert len(set(labels[5:9])) == 1
    assert labels[0] != labels[29]


def test_constraints_go_along_with_support_and_clones():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 6))
    known = Constraints(clusters=[[0, 5, 9], [1, 2]], must_link=[[3, 4]])
    model = clone(HypHC(constraints=known, random_state=0)).fit(X)
    sets = oracles.leaf_sets(model.tree_)
    for resample in ("columns", "rows"):
        found = support(model.tree_, X, resample=resample, n_resamples=6, random_state=0, constraints=known)
        for cluster in ({0, 5, 9}, {1, 2}, {3, 4}):
            share = found.share[sets.index(frozenset(cluster)) - 14]
            assert share == 1 or np.isnan(share)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (Constraints(clusters=[[0, 1, 2], [2, 3]]), "point 2, only one has point 3 and only the other point 0"),
        (Constraints(must_link=[[0, 1]], clusters=[[1, 2, 3]]), "Two groups contradict each other: both have point 1"),
        (Constraints(must_link=[[0, 1], [1, 2]], cannot_link=[(0, 2)]), "point 0 and point 2 must be together"),
        (
            Constraints(must_link=[[0, 1]], classes=["a", "b", "", "", "", ""]),
            "point 0 and point 1 .* different classes",
        ),
        (Constraints(clusters=[[0, 9]]), "clusters.0. has point 9; points are 0 to 5"),
        (Constraints(cannot_link=[(1, 1)]), "two or more different points"),
        (
            Constraints(must_link=[[0, 1]], cannot_link=[(3, 1, 0)]),
            "point 0 and point 1 must be together and must be apart",
        ),
        (
            Constraints(clusters=[[0, 2]], order=np.arange(6)),
            "point 0 and point 2 .* in the order point 1 lies between them",
        ),
        (Constraints(must_link=[[5, 0]], order=[1, 2, 3, 4, 5, 5.5]), "point 0 and point 5 .* point 1 lies between"),
        (Constraints(order=[1, 2, np.nan, 4, 5, 6]), r"order.2. is nan; each point needs a place"),
        (Constraints(order=["a"] * 6), "a number for each point"),
        (Constraints(must_link=[["a"]]), "must be row numbers"),
        (Constraints(classes=[1, 2]), "one for each point"),
        ("together", "is no hyphc.Constraints"),
    ],
)
def test_contradictions_name_the_points(known, message):
    with pytest.raises(ValueError, match=message):
        HypHC(constraints=known).fit(np.random.default_rng(0).normal(size=(6, 2)))


def test_numbers_of_clusters_that_contradict_are_refused():
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match=r"n_clusters=1 contradicts .* allow 2 to 6"):
        HypHC(1, constraints=Constraints(cannot_link=[(0, 1)])).fit(X)
    with pytest.raises(ValueError, match=r"n_clusters=6 contradicts .* allow 1 to 5"):
        HypHC(6, constraints=Constraints(must_link=[[0, 1]])).fit(X)
    with pytest.raises(ValueError, match=r"n_clusters=2 contradicts .* allow 3 to 6 clusters of this tree"):
        HypHC(2, constraints=Constraints(clusters=random_tree(6, 0), cannot_link=[(0, 1), (2, 3)])).fit(X)
    pairs = Tree([[0, 1], [2, 3], [4, 5], [6, 7], [9, 8]])  # 3 pairs, of which one must be split
    with pytest.raises(ValueError, match="respects the constraints; choose another number, or a smaller min_size"):
        HypHC(3, criterion="height", min_size=2, constraints=Constraints(clusters=pairs, cannot_link=[(4, 5)])).fit(X)
    with pytest.raises(ValueError, match="leave it out"):
        HypHC(init=random_tree(6, 0), constraints=Constraints()).fit(X)


@settings(max_examples=60)
@given(trees(2, 8), st.integers(0, 2**31), st.floats(0, 8))
def test_cuts_by_height_and_size_respect_what_is_known_too(tree, seed, height):
    n, rng = tree.n_leaves, np.random.default_rng(seed)
    group = sorted(oracles.leaf_sets(tree)[rng.integers(n, 2 * n - 1)])
    known = Constraints(
        must_link=[group], classes=np.where(np.isin(np.arange(n), group[1:]), -1, rng.integers(-1, 2, n))
    )
    forced = tree.with_forced_splits(forced_splits(tree, known.resolve(n)))
    for labels in (forced.cut(height=height), forced.cut(max_size=2)):
        assert allowed(labels, known)
    free = [labels for labels in (tree.cut(height=height),) if allowed(labels, known)]
    assert all(np.array_equal(labels, forced.cut(height=height)) for labels in free)


def test_files_of_a_tree_keep_what_its_cuts_must_respect(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 3))
    known = Constraints(must_link=[[0, 7, 9]], cannot_link=[(1, 2)])
    tree = HypHC(constraints=known, random_state=0).fit(X).tree_
    tree.save(tmp_path / "tree.npz")
    for copy in (Tree.load(tmp_path / "tree.npz"), Tree.from_json(tree.to_json()), tree.with_names("abcdefghijkl")):
        assert np.array_equal(copy.forced_splits, tree.forced_splits)
        assert allowed(copy.cut(4), known)
    turned = tree.with_leaves_numbered(np.arange(12)[::-1])
    assert len({turned.cut(4)[i] for i in (11, 4, 2)}) == 1


def test_forced_splits_that_no_cut_can_follow_are_refused():
    merges = [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match="contradict each other at merge 2"):
        Tree(merges, forced_splits=[1, 0, 0])
    with pytest.raises(ValueError, match="contradict each other at merge 2"):
        Tree(merges, forced_splits=[0, 0, -1])
    with pytest.raises(ValueError, match="must be 1"):
        Tree(merges, forced_splits=[2, 0, 0])
    assert Tree(merges, forced_splits=[0, 0, 0]).forced_splits is None


def least_cost_in_order(W: np.ndarray, sizes: np.ndarray) -> float:
    """The least cost of all trees whose clusters are runs, by trying all splits of all runs."""

    @cache
    def least(i: int, j: int) -> float:
        if i == j:
            return 0.0
        points = sizes[i : j + 1].sum()
        return min(points * W[i : k + 1, k + 1 : j + 1].sum() + least(i, k) + least(k + 1, j) for k in range(i, j))

    return least(0, len(W) - 1)


@settings(max_examples=40)
@given(st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 2**31))
def test_no_tree_in_order_costs_less_than_the_best_one(kind, n, seed):
    similarity = similarity_of_kind(kind, n, seed)
    tree, W = best_in_order(similarity), similarity.to_dense()
    assert tree.leaf_order().tolist() == list(range(n))
    scale = np.abs(W).sum() * n
    assert dasgupta_cost(tree, similarity) <= least_cost_in_order(W, similarity.sizes) + 1e-9 * scale


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(0, 2**31), st.data())
def test_clusters_are_runs_of_the_order_also_beside_required_ones_and_nothing_costs_less(n, seed, data):
    rng = np.random.default_rng(seed)
    similarity, order = similarity_of_kind(data.draw(st.sampled_from(KINDS)), n, seed), rng.permutation(n)
    begin, size = int(rng.integers(n)), int(rng.integers(1, n + 1))
    at = np.argsort(order)
    run = at[begin : begin + size].tolist()
    known = Constraints(clusters=[run], order=10.0 * order)
    tree = HypHC(1, constraints=known, random_state=0).fit(similarity).tree_
    assert tree.leaf_order().tolist() == at.tolist()
    assert len(run) == 1 or frozenset(run) in oracles.clusters(tree)
    runs = [at[i:j].tolist() for i in range(n) for j in range(i + 2, n + 1)]
    every = [cluster for cluster in oracles.leaf_sets(tree)[n:] if sorted(cluster) not in map(sorted, runs)]
    assert every == []
    W = similarity.to_dense()
    if len(run) in (1, n):
        least = least_cost_in_order(W[np.ix_(at, at)], similarity.sizes[at])
        assert dasgupta_cost(tree, similarity) <= least + 1e-9 * np.abs(W).sum() * n


def test_an_order_of_too_many_points_is_refused_with_the_remedy():
    X = np.zeros((4_001, 1))
    with pytest.raises(ValueError, match=r"4001 points are too many .* must_link"):
        best_in_order(as_similarity(X, "linear"))


def test_points_added_later_respect_what_is_known_of_the_others():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 3))
    known = Constraints(must_link=[[0, 5, 9]], classes=["a", "b", *[None] * 18])
    model = HypHC(constraints=known, random_state=0).fit(X).partial_fit(rng.normal(size=(6, 3)))
    assert model.n_leaves_ == 26
    assert len(set(model.labels_[[0, 5, 9]])) == 1
    assert model.labels_[0] != model.labels_[1]
    with pytest.raises(ValueError, match="order of new points is not known"):
        HypHC(constraints=Constraints(order=np.arange(20)), random_state=0).fit(X).partial_fit(X[:2])


def test_listeners_hear_of_each_required_cluster_and_of_trees_that_have_them_all():
    X, heard = np.random.default_rng(0).normal(size=(40, 3)), []
    clusters = [list(range(12)), list(range(5)), list(range(20, 35))]
    known = Constraints(clusters=clusters)
    HypHC(constraints=known, random_state=0, callback=lambda news: heard.append((news.stage, news.tree()))).fit(X)
    assert {stage.partition(":")[0] for stage, _ in heard} == {f"cluster {k} of 4" for k in (1, 2, 3, 4)}
    for _, tree in heard:
        assert {frozenset(cluster) for cluster in clusters} <= oracles.clusters(tree)


def test_a_constrained_fit_that_is_ended_early_still_has_all_required_clusters():
    X = np.random.default_rng(0).normal(size=(60, 3))
    clusters = [list(range(12)), list(range(20, 35)), list(range(40, 58))]
    for settings_ in ({"callback": lambda news: True}, {"time_budget": 1e-6}):
        tree = HypHC(constraints=Constraints(clusters=clusters), random_state=0, **settings_).fit(X).tree_
        assert {frozenset(cluster) for cluster in clusters} <= oracles.clusters(tree)


def test_a_constraint_tree_may_have_nodes_of_many_children():
    family = MultiTree([6, 6, 6, 7, 8, 8, 7, 8, -1], 6)
    X = np.random.default_rng(1).normal(size=(6, 2))
    found = oracles.clusters(HypHC(constraints=Constraints(clusters=family), random_state=0).fit(X).tree_)
    assert {frozenset([0, 1, 2]), frozenset([0, 1, 2, 3])} <= found
