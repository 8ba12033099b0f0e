from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hyphc import Constraints, HypHC, Tree, dasgupta_cost, dendrogram_purity, support
from hyphc.pipeline.constrained_cuts import ConstrainedCut
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
    apart = all(labels[i] != labels[j] for i, j in known.cannot_link)
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
    pairs = [tuple(rng.choice(others, 2, replace=False).tolist())] if len(others) > 1 else []
    classes = np.full(n, -1)
    classes[others] = rng.integers(-1, 2, size=len(others))
    known = Constraints(must_link=[group], cannot_link=pairs, classes=classes)
    cut = ConstrainedCut(tree, known.of(n))
    possible = {}
    for nodes in prunings(tree):
        labels = np.empty(n, dtype=int)
        for k, v in enumerate(nodes):
            labels[sorted(sets[v])] = k
        if allowed(labels, known):
            height = -sum(tree.heights[u - n] for v in nodes for u in below(tree, v))
            possible[len(nodes)] = max(possible.get(len(nodes), -np.inf), height)
    assert (min(possible), max(possible)) == (cut.fewest, cut.most)
    for k, best in possible.items():
        labels = cut.labels(k, "height", 1)
        assert allowed(labels, known)
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
        (Constraints(must_link=[[0, 1], [1, 2]], cannot_link=[(0, 2)]), "Points 0 and 2 must be together"),
        (Constraints(must_link=[[0, 1]], classes=["a", "b", "", "", "", ""]), "Points 0 and 1 .* different classes"),
        (Constraints(clusters=[[0, 9]]), "clusters.0. has point 9; points are 0 to 5"),
        (Constraints(cannot_link=[(1, 1)]), "two different points"),
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
    with pytest.raises(ValueError, match="cuts at a height"):
        HypHC(distance_threshold=1.0, constraints=Constraints()).fit(X)
    with pytest.raises(ValueError, match="leave it out"):
        HypHC(init=random_tree(6, 0), constraints=Constraints()).fit(X)
