"""Number of clusters: one for unimodal data, as many as were planted, p-values by their definition, modularity of graphs."""

from __future__ import annotations

from itertools import takewhile

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.harness.nulls import NULLS
from hyphc import HypHC, Tree, as_similarity
from hyphc.scores import cluster_number
from hyphc.scores.cluster_number import (
    ALPHA,
    ENOUGH,
    found_splits,
    modular_splits,
    number_of_clusters,
    rows_of_points,
    split_evidence,
)
from hyphc.scores.heights import with_similarity_heights
from hyphc.scores.isolation import isolation_evidence
from hyphc.similarity import Graph
from hyphc.tree.condense import is_split, undo
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import oracles
from strategies import random_tree, trees


def fitted(X, **options) -> HypHC:
    return HypHC(random_state=0, **options).fit(X)


# --- unimodal data and planted clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", NULLS)
def test_unimodal_data_are_one_cluster(shape):
    numbers = []
    for n, seed in ((100, 0), (100, 1), (300, 1)):
        model = fitted(NULLS[shape](np.random.default_rng((n, seed)), n))
        numbers.append(model.n_clusters_)
        if model.n_clusters_ == 1:
            assert model.cluster_number_.why == "no split has p < 0.05 in unimodal data"
            assert not model.labels_.any()
    assert sorted(numbers)[:2] == [1, 1]  # a p-value below 0.05 is not impossible


@pytest.mark.slow
@pytest.mark.parametrize("shape", NULLS)
def test_one_unimodal_set_in_twenty_is_split_at_the_most(shape):
    cases = [(n, seed) for n in (100, 500, 2_000) for seed in range(20)]
    split = [c for c in cases if fitted(NULLS[shape](np.random.default_rng((*c, 7)), c[0])).n_clusters_ > 1]
    assert len(split) <= len(cases) / 20, split


@pytest.mark.parametrize("shape", ["arc", "spiral"])
def test_long_bands_are_one_cluster(shape):
    """Chance digs deeper valleys in them: three of forty arcs and twelve of forty spirals had two clusters or more."""
    assert [fitted(NULLS[shape](np.random.default_rng(seed), 2_000)).n_clusters_ for seed in (201, 203, 210)] == [1] * 3


def toy(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The sets of scikit-learn's comparison of clusterings, 500 points each."""
    if name == "moons":
        return make_moons(500, noise=0.05, random_state=30)
    if name == "circles":
        return make_circles(500, factor=0.5, noise=0.05, random_state=30)
    if name == "blobs":
        return make_blobs(500, random_state=30)
    if name == "varied":
        return make_blobs(500, cluster_std=[1.0, 2.5, 0.5], random_state=170)
    X, y = make_blobs(500, random_state=170)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


@pytest.mark.parametrize(
    ("name", "score"), [("moons", 0.95), ("circles", 0.95), ("aniso", 0.95), ("blobs", 0.95), ("varied", 0.8)]
)
def test_planted_clusters_are_counted_and_found(name, score):
    X, y = toy(name)
    model = fitted(X)
    assert model.n_clusters_ == len(set(y))
    assert adjusted_rand_score(model.labels_, y) >= score


def test_touching_groups_of_few_points_in_a_plane_are_counted():
    """Their valleys have p-values up to 0.3, and two modes along a line confirm them."""
    centres = 5.0 * np.array([(i % 4 + (i // 4 % 2) / 2, i // 4) for i in range(8)])
    X = np.repeat(centres, 62, axis=0) + np.random.default_rng(0).normal(size=(496, 2))
    model = fitted(X)
    assert model.n_clusters_ == 8
    graph = model.similarity_.graph
    assert split_evidence(model.tree_, graph, None)[model.cluster_number_.splits].min() < ENOUGH


def test_neither_the_unit_nor_the_place_of_the_columns_matters():
    X, _ = make_blobs(200, centers=4, cluster_std=0.5, random_state=3)
    model = fitted(X)
    assert model.n_clusters_ == 4
    for other in (X * 1e6, X * 1e-6, X + 1e3, X[:, ::-1]):
        assert_array_equal(fitted(other).labels_, model.labels_)


def test_far_groups_are_clusters_if_they_have_more_than_two_points():
    rng = np.random.default_rng(0)
    for size, expected in ((2, 1), (4, 2), (12, 2), (40, 2)):
        X = np.concatenate([rng.normal(size=(300, 2)), rng.normal(size=(size, 2)) + 1000])
        assert fitted(X, n_neighbors=5).n_clusters_ == expected


@pytest.mark.parametrize("metric", ["cosine", "correlation", "rbf"])
def test_groups_are_counted_by_other_metrics_too(metric):
    rng = np.random.default_rng(5)
    centres = 4 * rng.normal(size=(4, 12))
    group = rng.integers(4, size=240)
    model = fitted(centres[group] + 0.5 * rng.normal(size=(240, 12)), metric=metric, max_iter=20)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.labels_, group) == 1.0
    assert fitted(rng.normal(size=(240, 12)), metric=metric, max_iter=20).n_clusters_ == 1


# --- what is told ----------------------------------------------------------------------------------------------------


SETS = {
    "moons": make_moons(150, noise=0.08, random_state=0)[0],
    "blobs": make_blobs(200, centers=5, random_state=2)[0],
    "noise": np.random.default_rng(0).normal(size=(150, 2)),
    "slopes": np.exp(1.5 * np.random.default_rng(22).normal(size=(400, 2))),  # with a split below a weaker one
    "repeated rows": np.round(make_blobs(200, centers=3, random_state=4)[0]),
}


@pytest.mark.parametrize("name", SETS)
def test_runners_up_are_the_numbers_at_the_nearest_levels(name):
    model = fitted(SETS[name])
    tree = model.tree_
    graph, rows = model.similarity_.graph, rows_of_points(model.similarity_)
    apart = isolation_evidence(tree, graph, rows, graph.local_density.dimension, None)
    evidence, enough = np.fmax(split_evidence(tree, graph, None), apart), -np.log(ALPHA)
    found = len(found_splits(tree, evidence, enough, None)) + 1
    assert found == model.n_clusters_
    levels = np.unique(evidence[np.isfinite(evidence)])
    expected = {}
    for level in sorted(levels, key=lambda level: abs(level - enough)):
        above = level if level > enough else np.nextafter(level, -np.inf)
        k = len(found_splits(tree, evidence, above, None)) + 1
        expected.setdefault(k > found, (k, min(1.0, np.exp(-level)))) if k != found else None
    runners_up = model.cluster_number_.runners_up
    assert {k > found: k for k, _ in runners_up} == {larger: k for larger, (k, _) in expected.items()}
    for k, p in runners_up:
        assert_allclose(p, expected[k > found][1])


@pytest.mark.parametrize("name", SETS)
def test_the_labels_are_the_clusters_that_were_found(name):
    model = fitted(SETS[name], criterion="condensed")
    found, tree = model.cluster_number_, model.tree_
    assert len(found.splits) + 1 == found.n_clusters == model.n_clusters_ == tree.n_clusters
    assert_array_equal(tree.found_splits[found.splits], np.arange(1, found.n_clusters))
    assert_array_equal(tree.cut(found.n_clusters), model.labels_)
    for labels in (undo(tree, found.splits).labels, tree.cut(), tree.cut(criterion="condensed")):
        assert_array_equal(labels, model.labels_)
    assert_array_equal(tree.clusters(), undo(tree, found.splits).nodes)


def test_cuts_of_a_tree_do_not_depend_on_the_number_that_was_asked_for():
    tree = fitted(SETS["blobs"]).tree_
    for k in (2, 3, 7):
        model = fitted(SETS["blobs"], n_clusters=k)
        assert_array_equal(model.tree_.found_splits, tree.found_splits)
        assert_array_equal(model.labels_, tree.cut(k))
        assert_array_equal(model.tree_.cut(), tree.cut(k))


def test_a_tree_that_is_cut_by_a_score_carries_no_clusters():
    tree = fitted(SETS["blobs"], criterion="modularity").tree_
    assert tree.found_splits is None
    with pytest.raises(ValueError, match="exactly one of n_clusters, height and max_size; got none"):
        tree.cut()


def test_the_number_is_not_sought_where_it_is_given():
    X = SETS["blobs"]
    assert fitted(X, n_clusters=7).cluster_number_ is None
    assert fitted(X, n_clusters=7).n_clusters_ == 7
    assert fitted(X, distance_threshold=1.0).cluster_number_ is None


def test_clusters_have_the_size_that_was_asked_for():
    model = fitted(SETS["blobs"], min_size=60)
    assert np.bincount(model.labels_).min() >= 60
    assert model.n_clusters_ == model.cluster_number_.n_clusters
    with pytest.raises(ValueError, match="min_size=1000 is more than the 200 points"):
        fitted(SETS["blobs"], min_size=1000)


# --- the rule --------------------------------------------------------------------------------------------------------


@given(trees(min_leaves=2, max_leaves=12), st.integers(0, 2**31), st.floats(-1.0, 1.0))
@settings(max_examples=50)
def test_splits_of_the_condensed_tree_are_undone_if_they_are_real_or_lie_above_a_real_one(tree, seed, threshold):
    rng, n = np.random.default_rng(seed), tree.n_leaves
    excess, forced = rng.normal(size=n - 1), forced_at_random(tree, rng)
    sets = oracles.leaf_sets(tree)
    for min_size in (1, 2, 3):
        for free in (True, False):
            within = tree if free else tree.with_forced_splits(forced)
            large = [min(len(sets[a]), len(sets[b])) >= min_size for a, b in tree.children.tolist()]
            real = [t for t in range(n - 1) if large[t] and excess[t] > threshold and (free or forced[t] >= 0)]
            undone = {t for t in range(n - 1) if large[t] and any(sets[n + r] <= sets[n + t] for r in real)}
            if not free:
                undone = {t for t in undone if forced[t] >= 0} | {t for t in range(n - 1) if forced[t] > 0}
            evidence = np.where(large, excess, np.nan)
            assert set(found_splits(within, evidence, threshold, min_size).tolist()) == undone
            assert len(undo(within, np.array(sorted(undone), dtype=int)).nodes) == len(undone) + 1


@given(trees(min_leaves=2, max_leaves=40), st.integers(0, 2**31), st.floats(0.0, 1.0))
def test_whatever_splits_are_found_the_tree_can_carry_them(tree, seed, share):
    """A merge is undone too if its smaller side contains one that is."""
    rng, n = np.random.default_rng(seed), tree.n_leaves
    evidence = np.where(rng.random(n - 1) < share, rng.normal(size=n - 1), np.nan)
    found = found_splits(tree, evidence, 0.5, None)
    assert set(np.flatnonzero(evidence > 0.5)) <= set(found)
    turns = np.zeros(n - 1, dtype=int)
    turns[found[::-1]] = np.arange(1, len(found) + 1)
    carried = tree.with_found_splits(turns)
    assert len(np.unique(carried.cut(len(found) + 1))) == len(found) + 1


def forced_at_random(tree, rng) -> np.ndarray:
    """1 for merges above one that is drawn, −1 for those below another."""
    forced, sets, n = np.zeros(tree.n_leaves - 1, dtype=int), oracles.leaf_sets(tree), tree.n_leaves
    above, below = rng.integers(n - 1, size=2)
    for t in range(n - 1):
        forced[t] = 1 if sets[n + t] >= sets[n + above] else -1 if sets[n + t] <= sets[n + below] else 0
    return forced


def evidence_by_definition(tree, graph: Graph) -> np.ndarray:
    """−log p of each merge, from the matrix, one node at a time; leaves are points."""
    A, f, n = graph.to_dense(), graph.local_density.density, tree.n_leaves
    degrees, sets = A.sum(axis=1), oracles.leaf_sets(tree)
    for _ in range(8):
        f = (A @ f + f) / (degrees + 1)
    is_group, walked, crossed = is_split(tree, None), np.zeros(n - 1), np.zeros(n - 1)
    tested = is_group & (tree.sizes[tree.children].min(axis=1) > 4)
    for t, (a, b) in enumerate(tree.children.tolist()):
        left, right = sorted(sets[a]), sorted(sets[b])
        inside, sides = left + right, np.repeat([1.0, 0.0], [len(left), len(right)])
        step = A[np.ix_(inside, inside)] / degrees[inside][:, None]
        crossed[t] = A[np.ix_(left, right)].sum()
        if tested[t] or min(len(left), len(right)) >= 0.1 * len(inside):
            walked[t] = (degrees[inside] * sides) @ np.linalg.matrix_power(step, 8) @ (1 - sides)

    def half(v):
        """Walks between the core that is left of a node when half of it has fallen out in small shares, and the rest."""
        core = v
        while core >= n and len(sets[core]) > len(sets[v]) / 2:
            larger = max(tree.children[core - n].tolist(), key=lambda c: len(sets[c]))
            if len(sets[larger]) <= 0.75 * len(sets[core]):
                return 0.0
            core = larger
        inside = sorted(sets[v])
        if len(inside) < 4 or len(sets[core]) > len(inside) / 2:
            return 0.0
        sides = np.array([float(i in sets[core]) for i in inside])
        step = A[np.ix_(inside, inside)] / degrees[inside][:, None]
        return (degrees[inside] * sides) @ np.linalg.matrix_power(step, 8) @ (1 - sides)

    def below(v, values, halved):
        merges = [values[u] for u in range(n - 1) if sets[n + u] <= sets[v]]
        return max([0.0, *merges, half(v) if halved else 0.0])

    def ratio(a, b):
        return -6.0 if a == 0 else 6.0 if b == 0 else np.clip(np.log(a / b), -6, 6)

    def evidence(left, right, width, carried, edge_width):
        N, D = 4 * width / degrees.mean(), ratio(width, carried)
        edges = ratio(edge_width, A[np.ix_(left, right)].sum())
        bridges = [min(f[i], f[j]) for i in left for j in right if A[i, j] > 0]
        fall = min(f[left].max(), f[right].max()) - max(bridges, default=-np.inf)
        fall = min(max(fall, 0.0), 6.0)
        depth = np.hypot(D, fall) if D > 0 else fall if fall >= 1 and edges >= -0.5 else 0.0
        knee = min(depth, 2.15)
        rate = 1 - np.exp(-knee) * (1 + knee) + 2.15 * np.exp(-2.15) * (depth - knee)
        return max(N - 4, 0) * rate - np.log(max(n / N, 1.0)) if N > 0 else -np.inf

    def evidence_apart(side, top, groups):
        """A group against each other group below a node above it."""
        inside = sorted(sets[top])
        step, found = A[np.ix_(inside, inside)] / degrees[inside][:, None], []
        chance = np.linalg.matrix_power(step, 8) @ [float(i in sets[side]) for i in inside]
        own = next(k for k, group in enumerate(groups) if group[0] == side)
        for k, (node, members) in enumerate(groups):
            if k != own and sets[top] & members:
                others = sorted(sets[top] & members)
                carried = sum(degrees[i] * chance[inside.index(i)] for i in others)
                widths = (
                    min(below(v, values, h) for v in (node, side)) for values, h in ((walked, True), (crossed, False))
                )
                found.append(evidence(sorted(sets[side]), others, next(widths), carried, next(widths)))
        return min(found)

    out = np.where(is_group, -np.inf, np.nan)
    for t in np.flatnonzero(tested):
        sides = tree.children[t].tolist()
        width = min(below(c, walked, True) for c in sides)
        edge_width = min(below(c, crossed, False) for c in sides)
        out[t] = evidence(*(sorted(sets[c]) for c in sides), width, walked[t], edge_width)
    enough, lowered = -np.log(ALPHA), True
    while lowered:
        lowered, splits = False, found_splits(tree, out, enough, None)
        cut = undo(tree, splits)
        groups = [(v, set(np.flatnonzero(cut.labels == k))) for k, v in enumerate(cut.nodes)]
        before = out.copy()
        for t in splits:
            above = sorted((u for u in splits if sets[n + t] < sets[n + u]), key=lambda u: len(sets[n + u]))
            weaker = list(takewhile(lambda u, before=before: before[u] <= enough, above))
            if before[t] > enough and weaker and not any(sets[n + u] < sets[n + t] for u in splits):
                higher = above[len(weaker) :][:1]
                top = next((c for u in higher for c in tree.children[u].tolist() if sets[n + t] < sets[c]), 2 * n - 2)
                apart = max(evidence_apart(c, top, groups) for c in tree.children[t].tolist())
                if apart <= enough:
                    out[t], lowered = apart, True
    return out


def test_slopes_of_one_mode_are_no_groups():
    """Points of two tails are apart from each other, but not from the mode between them."""
    X = np.exp(np.random.default_rng(9000).normal(size=(2000, 5)))
    assert fitted(X).n_clusters_ == 1


@pytest.mark.parametrize("name", ["moons", "blobs", "noise", "slopes"])
def test_the_evidence_is_that_of_the_definition(name):
    model = fitted(SETS[name])
    graph = model.similarity_.graph
    for tree in (model.tree_, with_similarity_heights(random_tree(graph.n, 0), graph)):
        found, expected = split_evidence(tree, graph, None), evidence_by_definition(tree, graph)
        seen = np.isfinite(expected)
        assert_array_equal(np.isnan(found), np.isnan(expected))
        assert_allclose(found[seen], expected[seen], rtol=1e-7, atol=1e-7)
        assert (found[np.isneginf(expected)] < -100).all()


def test_p_values_are_those_of_the_splits_of_the_condensed_tree():
    model = fitted(SETS["blobs"])
    p_values, tree = model.cluster_number_.p_values, model.tree_
    assert_array_equal(np.isfinite(p_values), is_split(tree, None))
    assert ((p_values >= 0) & (p_values <= 1))[np.isfinite(p_values)].all()
    assert f"{p_values[p_values < ALPHA].max():.2g}" in model.cluster_number_.why


def test_a_chain_whose_every_merge_is_a_split_has_no_evidence():
    n = 3000
    similarity = as_similarity(np.random.default_rng(0).normal(size=(n, 2)))
    chain = Tree(np.column_stack([np.append(0, np.arange(n, 2 * n - 2)), np.arange(1, n)]))
    tree = with_similarity_heights(chain, similarity)
    assert np.isneginf(split_evidence(tree, similarity.graph, 1)).all()
    assert number_of_clusters(similarity, tree, 1).n_clusters == 1


def test_a_row_of_weight_three_is_three_equal_rows():
    X = SETS["moons"]
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    weighted = HypHC(random_state=0).fit(X, sample_weight=weights.astype(float))
    whole = np.repeat(X, weights, axis=0)
    repeated = HypHC(random_state=0).fit(whole)
    assert weighted.n_clusters_ == repeated.n_clusters_
    p_values = [np.sort(m.cluster_number_.p_values[m.cluster_number_.p_values < 0.5]) for m in (weighted, repeated)]
    assert_allclose(*p_values, rtol=1e-6)


# --- other similarities ----------------------------------------------------------------------------------------------


def planted_graph(seed: int, sizes=(30, 30, 30, 30)) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    edges = np.triu(rng.random((len(group),) * 2) < np.where(group[:, None] == group, 0.5, 0.02), 1)
    return sp.csr_array((edges + edges.T).astype(float)), group


@pytest.mark.parametrize("seed", range(3))
def test_graphs_without_rows_are_cut_where_modularity_is_largest(seed):
    A, group = planted_graph(seed)
    model = HypHC(metric="precomputed", max_iter=20, random_state=0).fit(A)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.labels_, group) > 0.95
    assert "modularity" in model.cluster_number_.why
    assert model.cluster_number_.p_values is None


def modularity(A: np.ndarray, labels: np.ndarray) -> float:
    """Newman's modularity by its definition."""
    degrees, same = A.sum(axis=1), labels[:, None] == labels
    return float((A - np.outer(degrees, degrees) / A.sum())[same].sum() / A.sum())


@given(trees(min_leaves=2, max_leaves=9), st.integers(0, 2**31), st.integers(1, 3))
@settings(max_examples=60)
def test_no_cut_of_the_condensed_tree_is_more_modular(tree, seed, min_size):
    rng, n = np.random.default_rng(seed), tree.n_leaves
    A = np.triu(rng.integers(0, 3, size=(n, n)) * (rng.random((n, n)) < 0.6), 1).astype(float)
    A += A.T
    if not A.any():
        return
    tree = with_similarity_heights(tree, as_similarity(sp.csr_array(A), "precomputed"))
    found, best = modular_splits(as_similarity(sp.csr_array(A), "precomputed"), tree, min_size)
    assert_allclose(modularity(A, undo(tree, found).labels), best, atol=1e-12)
    possible, sets = np.flatnonzero(is_split(tree, min_size)).tolist(), oracles.leaf_sets(tree)
    for mask in range(2 ** len(possible)):
        undone = [t for e, t in enumerate(possible) if mask >> e & 1]
        if all(t in undone for t in possible for u in undone if sets[n + u] < sets[n + t]):
            assert modularity(A, undo(tree, np.array(undone, dtype=int)).labels) <= best + 1e-12


def test_isolated_nodes_of_a_graph_join_and_make_no_clusters():
    A, group = planted_graph(0)
    alone = sp.block_diag([A, sp.csr_array((5, 5))], format="csr")
    model = HypHC(metric="precomputed", max_iter=20, random_state=0).fit(alone)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.labels_[:120], group) > 0.95


def test_neighbour_graphs_alone_have_densities_too():
    X, y = toy("moons")
    graph = as_similarity(X[::2], "euclidean", n_neighbors=15)
    model = HypHC(max_iter=5, random_state=0).fit(graph)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(model.labels_, y[::2]) > 0.95


def test_a_single_point_is_one_cluster():
    for similarity in (as_similarity([[1.0, 2.0]]), as_similarity(sp.csr_array((1, 1)), "precomputed")):
        model = HypHC(random_state=0).fit(similarity)
        assert model.n_clusters_ == 1


@pytest.mark.parametrize("far", [0.9, 1.1])
def test_rows_near_a_group_are_found_in_any_block(monkeypatch, far):
    monkeypatch.setattr(cluster_number, "COMPARED", 64)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 6))
    is_inside = np.zeros(500, dtype=bool)
    is_inside[rng.choice(500, 60, replace=False)] = True
    probes = np.flatnonzero(is_inside)[::3]
    apart = cdist(rows[probes], rows[~is_inside]).min()
    squares = (rows**2).sum(axis=1)
    assert cluster_number._has_near(probes, rows, squares, is_inside, far * apart) == (far > 1)
