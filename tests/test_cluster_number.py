"""How many clusters there are: one for noise, as many as were planted, and what was counted is what is told."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity
from hyphc.scores.clusters import clusters_beyond, excess_of_evidence, found_splits, number_of_clusters
from hyphc.scores.heights import with_similarity_heights
from hyphc.similarity import Graph
from hyphc.tree import cut_scores
from hyphc.tree.condense import undo
from hyphc.tree.cut import widest_gap
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import oracles
from strategies import random_tree, trees


def fitted(X, **options) -> HypHC:
    return HypHC(random_state=0, **options).fit(X)


# --- noise and planted clusters --------------------------------------------------------------------------------------


def cloud(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng((n, d, seed))
    return rng.normal(size=(n, d)) if kind == "gaussian" else rng.random((n, d))


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 10])
def test_one_cloud_is_one_cluster(kind, d):
    for n, seed in ((200, 0), (200, 1), (300, 2)):
        model = fitted(cloud(kind, n, d, seed))
        assert model.n_clusters_ == 1
        assert model.cluster_number_.why == "no split is more than one cloud of points would show"
        assert not model.labels_.any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_one_cloud_in_fifty_is_split_at_the_most(kind):
    cases = [(n, d, seed) for n in (200, 600) for d in (1, 2, 3, 5, 10, 20) for seed in range(10)]
    split = [case for case in cases if fitted(cloud(kind, *case)).n_clusters_ > 1]
    assert len(split) <= len(cases) / 50, split


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


def test_neither_the_unit_nor_the_place_of_the_columns_matters():
    X, _ = make_blobs(200, centers=4, cluster_std=0.5, random_state=3)
    model = fitted(X)
    assert model.n_clusters_ == 4
    for other in (X * 1e6, X * 1e-6, X + 1e3, X[:, ::-1]):
        assert_array_equal(fitted(other).labels_, model.labels_)


def test_far_groups_are_clusters_if_they_have_ten_points():
    rng = np.random.default_rng(0)
    for size, expected in ((9, 1), (10, 2), (40, 2)):
        X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(size, 2)) + 1000])
        assert fitted(X, n_neighbors=5).n_clusters_ == expected


# --- what is told ----------------------------------------------------------------------------------------------------


SETS = {
    "moons": make_moons(150, noise=0.08, random_state=0)[0],
    "blobs": make_blobs(200, centers=5, random_state=2)[0],
    "noise": np.random.default_rng(0).normal(size=(150, 2)),
    "repeated rows": np.round(make_blobs(200, centers=3, random_state=4)[0]),
}


@pytest.mark.parametrize("name", SETS)
def test_what_is_told_is_what_is_done(name):
    model = fitted(SETS[name])
    found = model.cluster_number_
    assert model.n_clusters_ == model.labels_.max() + 1 == model.tree_.n_clusters == found.n_clusters
    assert_array_equal(model.tree_.cut(found.n_clusters), model.labels_)
    again = number_of_clusters(model.similarity_, model.tree_)
    assert again.n_clusters == clusters_beyond(model.tree_, again.excess, 0.0) == found.n_clusters
    assert len(found.excess) == len(model.labels_) - 1


@pytest.mark.parametrize("name", SETS)
def test_runners_up_are_the_numbers_at_the_nearest_thresholds(name):
    model = fitted(SETS[name])
    tree = model.tree_
    found = number_of_clusters(model.similarity_, tree)
    levels = np.unique(found.excess[np.isfinite(found.excess)])
    told = {np.sign(level): (k, level) for k, level in found.runners_up}
    for sign, side in ((1.0, levels[levels > 0]), (-1.0, levels[levels <= 0][::-1])):
        # the number stays until the threshold has passed the level that is told, and is the told one from there
        for level in side:
            k = clusters_beyond(tree, found.excess, level if sign > 0 else np.nextafter(level, -np.inf))
            if k != found.n_clusters:
                assert told[sign] == (k, level)
                break
        else:
            assert sign not in told
    assert [abs(level) for _, level in found.runners_up] == sorted(abs(level) for _, level in found.runners_up)


@pytest.mark.parametrize("name", SETS)
def test_the_labels_are_the_clusters_that_were_found(name):
    model = fitted(SETS[name], criterion="condensed")
    found, tree = model.cluster_number_, model.tree_
    assert len(found.splits) + 1 == found.n_clusters == model.n_clusters_ == tree.n_clusters
    assert_array_equal(np.flatnonzero(tree.found_splits), found.splits)
    for labels in (undo(tree, found.splits).labels, tree.cut(), tree.cut(criterion="condensed")):
        assert_array_equal(labels, model.labels_)
    assert_array_equal(tree.clusters(), undo(tree, found.splits).nodes)


@pytest.mark.parametrize("options", [{"n_clusters": 3}, {"distance_threshold": 2.0}, {"criterion": "modularity"}])
def test_a_tree_carries_no_clusters_where_others_were_asked_for(options):
    tree = fitted(SETS["blobs"], **options).tree_
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
    assert model.n_clusters_ <= model.cluster_number_.n_clusters
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
            assert set(found_splits(within, excess > threshold, min_size).tolist()) == undone
            assert clusters_beyond(within, excess, threshold, min_size) == len(undone) + 1
            assert len(undo(within, np.array(sorted(undone), dtype=int)).nodes) == len(undone) + 1


def forced_at_random(tree, rng) -> np.ndarray:
    """1 for merges above one that is drawn, −1 for those below another."""
    forced, sets, n = np.zeros(tree.n_leaves - 1, dtype=int), oracles.leaf_sets(tree), tree.n_leaves
    above, below = rng.integers(n - 1, size=2)
    for t in range(n - 1):
        forced[t] = 1 if sets[n + t] >= sets[n + above] else -1 if sets[n + t] <= sets[n + below] else 0
    return forced


def evidence_by_definition(tree, graph: Graph) -> np.ndarray:
    """E beyond the threshold of each merge, from the matrix, one pair at a time; leaves are points."""
    A, f, d = graph.to_dense(), graph.crowding.density, graph.crowding.dimension
    f = (A @ f + f) / (A.sum(axis=1) + 1)
    sets, n, out = oracles.leaf_sets(tree), tree.n_leaves, []
    for a, b in tree.children.tolist():
        left, right = sorted(sets[a]), sorted(sets[b])
        both = left + right
        m = min(len(left), len(right))
        if m < 10:
            out.append(-np.inf)
            continue
        crossed = [min(f[i], f[j]) for i in left for j in right if A[i, j] > 0]
        depth = min(f[left].max(), f[right].max()) - max(crossed) if crossed else 20.0
        x = A[np.ix_(left, right)].sum()
        smaller = min(A[np.ix_(side, side)].sum() for side in (left, right))  # 2·W_in
        phi = x / (smaller + x)
        h = A[np.ix_(both, both)].sum() / A[both].sum()
        rho = max(phi / (0.37 * m ** (-1 / d) * h), 1e-9)
        evidence = min(max(depth, 0.0), 20.0) - (1 - 1 / d) * np.log(rho)
        out.append(evidence - (0.9 + (0.1 + 5 / m) * np.log(n / m)))
    return np.array(out)


@pytest.mark.parametrize("name", ["moons", "blobs", "noise"])
def test_the_evidence_is_that_of_the_definition(name):
    model = fitted(SETS[name])
    graph = model.similarity_.graph
    for tree in (model.tree_, random_tree(graph.n, 0)):
        assert_allclose(excess_of_evidence(tree, graph), evidence_by_definition(tree, graph), rtol=1e-9, atol=1e-9)


def test_sides_of_fewer_than_ten_points_are_no_clusters():
    model = fitted(SETS["blobs"])
    tree, excess = model.tree_, model.cluster_number_.excess
    again = number_of_clusters(model.similarity_, tree).excess
    smaller = tree.sizes[tree.children].min(axis=1)
    assert (again[smaller < 10] == -np.inf).all()
    assert np.isfinite(again[smaller >= 10]).all()
    assert_allclose(np.sort(again), np.sort(excess))


def test_points_are_counted_not_leaves():
    X = SETS["moons"]
    model = HypHC(random_state=0).fit(X, sample_weight=np.full(150, 10.0))
    excess = number_of_clusters(model.similarity_, model.tree_).excess
    assert np.isfinite(excess).all()  # every leaf has ten points


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
    scores = cut_scores(model.tree_, "modularity", 50)
    assert model.n_clusters_ == scores.argmax() + 1
    assert "modularity" in model.cluster_number_.why
    assert model.cluster_number_.excess is None


def test_neighbour_graphs_alone_have_densities_too():
    X, y = toy("moons")
    graph = as_similarity(X[::2], "euclidean", n_neighbors=15)
    model = HypHC(max_iter=5, random_state=0).fit(graph)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(model.labels_, y[::2]) > 0.95


def test_features_and_matrices_are_cut_at_the_widest_gap():
    X, _ = make_blobs(60, centers=3, random_state=1)
    for metric in ("cosine", "rbf"):
        similarity = as_similarity(X, metric)
        tree = with_similarity_heights(random_tree(60, 0), similarity)
        found = number_of_clusters(similarity, tree)
        assert found.n_clusters == widest_gap(tree)
        assert found.why == "the widest gap between successive heights"
        assert found.runners_up == ()


def test_a_single_point_is_one_cluster():
    for similarity in (as_similarity([[1.0, 2.0]]), as_similarity(sp.csr_array((1, 1)), "precomputed")):
        model = HypHC(random_state=0).fit(similarity)
        assert model.n_clusters_ == 1
