"""Points that come after the fit: predict, partial_fit and weights of samples."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity, dasgupta_cost, decode, insert
from hyphc.fit.new_points import assign_clusters
from hyphc.fit.weighted_leaves import expanded, weighted
from hyphc.similarity import Dense
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import oracles

X, GROUPS = make_blobs(90, centers=[[5, 0, 0], [0, 5, 0], [0, 0, 5]], cluster_std=0.4, random_state=0)
OLD, NEW = X[:60], X[60:]
QUICK = {"max_iter": 20, "random_state": 0}
SETTINGS = [
    {},
    {"scale": True},
    {"n_neighbors": 8},
    {"metric": "cosine"},
    {"metric": "rbf"},
    {"metric": "linear"},
    {"metric": "cosine", "n_neighbors": 8},
    {"metric": "euclidean", "n_neighbors": 8},
]
METRICS = pytest.mark.parametrize("metric", ["auto", "cosine"])


def exponential(points):
    return np.exp(points @ points.T / 30)


@pytest.mark.parametrize("settings", [*SETTINGS, {"metric": exponential}], ids=[*map(str, SETTINGS), "a callable"])
def test_new_points_join_the_cluster_of_their_group(settings):
    model = HypHC(3, **QUICK, **settings).fit(OLD)
    truth = np.array([model.labels_[GROUPS[:60] == g][0] for g in range(3)])[GROUPS[60:]]
    assert_array_equal(model.predict(NEW), truth)
    assert_array_equal(model.predict(NEW[7:8]), truth[7:8])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_precomputed_rows_hold_the_similarities_to_the_fitted_points(make):
    W = as_similarity(X, "cosine").to_dense()
    model = HypHC(3, metric="precomputed", **QUICK).fit(make(W[:60, :60]))
    features = HypHC(3, metric="cosine", **QUICK).fit(OLD)
    assert adjusted_rand_score(model.predict(make(W[60:, :60])), features.predict(NEW)) == 1.0


@METRICS
def test_a_similarity_holds_all_points(metric):
    model = HypHC(3, **QUICK).fit(as_similarity(OLD, metric))
    assert_array_equal(model.predict(as_similarity(X, metric)), HypHC(3, metric=metric, **QUICK).fit(OLD).predict(NEW))
    assert model.partial_fit(as_similarity(X, metric)).n_leaves_ == 90


@pytest.mark.parametrize("seed", range(20))
def test_the_cluster_is_that_of_the_cheapest_place(seed):
    rng = np.random.default_rng(seed)
    W = np.round(5 * rng.random((9, 9)))
    W = np.triu(W, 1) + np.triu(W, 1).T
    model = HypHC(3, metric="precomputed", **QUICK).fit(W[:8, :8])
    place = insert(model.tree_, Dense(W))
    joined = int(assign_clusters(model.tree_, model.labels_, Dense(W), None)[0])
    # the leaves beside the new one: those below its sibling
    merge = next(t for t, pair in enumerate(place.children.tolist()) if 8 in pair)
    beside = place.children[merge].sum() - 8
    below = set(place.leaf_order()[place._first[beside] : place._first[beside] + place.sizes[beside]].tolist())
    # of the largest subtrees below it within one cluster, the most similar on average; points that joined are parts of their own
    within = [s for s in oracles.leaf_sets(model.tree_) if s <= below and len(set(model.labels_[list(s)])) == 1]
    parts = [sorted(s) for s in within if not any(s < other for other in within)]
    assert sorted(leaf for part in parts for leaf in part) == sorted(below)
    means = [W[8, part].mean() for part in parts]
    assert joined in {model.labels_[part[0]] for part, mean in zip(parts, means, strict=True) if mean == max(means)}


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_partial_fit_grows_the_tree_and_all_attributes(settings):
    model = HypHC(3, **QUICK, **settings).fit(OLD)
    before = model.tree_
    assert model.partial_fit(NEW) is model
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0
    assert model.n_leaves_ == len(model.labels_) == len(model.embedding_) == 90
    assert decode(model.embedding_) == model.tree_
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, model.similarity_))
    pairs = np.array([(i, j) for i in range(0, 60, 7) for j in range(i)])
    old, new = (tree.lca(pairs[:, 0], pairs[:, 1]) for tree in (before, model.tree_))
    assert len(set(zip(old.tolist(), new.tolist(), strict=True))) == len(
        set(old.tolist())
    )  # the old tree is inside the new


def test_partial_fit_of_precomputed_similarities_and_without_a_fit():
    W = as_similarity(X, "cosine").to_dense()
    model = HypHC(3, metric="precomputed", **QUICK).partial_fit(W[:60, :60]).partial_fit(W)
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0


@METRICS
@pytest.mark.parametrize("n_clusters", [3, None])
def test_whole_weights_count_like_copies(metric, n_clusters):
    weights = np.random.default_rng(0).integers(1, 4, 60)
    origin = np.repeat(np.arange(60), weights)
    heavy = HypHC(n_clusters, metric=metric, random_state=0).fit(OLD, sample_weight=weights)
    copies = HypHC(n_clusters, metric=metric, random_state=0).fit(OLD[origin])
    assert heavy.similarity_.sizes.tolist() == weights.tolist()
    assert_allclose(dasgupta_cost(expanded(heavy.tree_, origin), copies.similarity_), copies.cost_, rtol=1e-6)
    assert_array_equal(heavy.labels_[origin], copies.labels_)


@pytest.mark.parametrize("refine", [True, False])
def test_weights_shift_what_the_tree_costs(refine):
    weights = np.where(GROUPS[:60] == 0, 5.0, 0.5)
    settings = {"metric": "cosine", "max_iter": 300, "criterion": "height", "random_state": 0, "refine": refine}
    model = HypHC(3, **settings).fit(OLD, sample_weight=weights)
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, weighted(as_similarity(OLD, "cosine"), weights)))
    assert adjusted_rand_score(model.labels_, GROUPS[:60]) == 1.0


@pytest.mark.parametrize("refine", [True, False])
def test_weights_of_a_blend_count_in_its_graph_and_its_background(refine):
    weights = np.where(GROUPS[:60] == 0, 5.0, 0.5)
    settings = {"max_iter": 300, "criterion": "height", "random_state": 0, "refine": refine}
    model = HypHC(3, **settings).fit(OLD, sample_weight=weights)
    once, heavy = as_similarity(OLD), model.similarity_
    assert_allclose(heavy.graph.to_dense(), once.graph.to_dense() * np.outer(weights, weights))
    moved = heavy.background.X / weights[:, None] - once.background.X  # the weighted mean is another
    assert_allclose(moved, np.broadcast_to(moved[0], moved.shape), atol=1e-12)
    assert heavy.background.total() == pytest.approx(0.0, abs=1e-9 * heavy.graph.total())
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, heavy))
    assert adjusted_rand_score(model.labels_, GROUPS[:60]) == 1.0


@METRICS
def test_duplicates_are_collapsed_for_the_search_and_expanded_again(metric):
    doubled = np.concatenate([OLD, OLD])
    seen = []
    model = HypHC(3, metric=metric, **QUICK, callback=lambda progress: seen.append(progress)).fit(doubled)
    assert model.n_leaves_ == 120
    assert all(model.tree_.sizes[model.tree_.lca(i, i + 60)] == 2 for i in range(60))
    assert_allclose(seen[-1].best_cost, model.cost_)
    assert seen[0].embedding.shape == (120, 2)
    assert decode(model.embedding_) == model.tree_


def test_a_fitted_model_tells_how_far_from_the_optimum_it_can_be():
    model = HypHC(metric="cosine", **QUICK).fit(OLD[:14])
    gap = model.optimality_gap(k=14)
    assert gap.lower_bound <= model.cost_ * (1 + 1e-9)
    assert gap.gap == pytest.approx(model.cost_ / gap.lower_bound - 1, abs=1e-9)


@METRICS
def test_points_further_out_than_any_seen_are_placed(metric):
    model = HypHC(3, metric=metric, **QUICK).fit(OLD)
    before = model.similarity_
    far = 1e6 * np.array([[5.0, 0, 0], [0, 5, 0], [0, 0, 5]])
    truth = [model.labels_[GROUPS[:60] == g][0] for g in range(3)]
    assert model.predict(far).tolist() == truth
    model.partial_fit(far)
    assert model.n_leaves_ == 63
    assert np.isfinite(model.tree_.heights).all()
    assert decode(model.embedding_) == model.tree_
    if metric == "auto":  # what was decided at the fit stays
        after = model.similarity_
        assert after.source.scaling is before.source.scaling
        assert (after.background.slope, after.background.level) == (before.background.slope, before.background.level)


@METRICS
def test_bad_input_is_named(metric):
    model = HypHC(3, metric=metric, **QUICK).fit(OLD)
    with pytest.raises(ValueError, match="X has 2 features, but HypHC is expecting 3"):
        model.predict(NEW[:, :2])
    with pytest.raises(ValueError, match=r"weights\[0\] = 0.0"):
        HypHC(3, metric=metric, **QUICK).fit(OLD, sample_weight=[0.0, *[1.0] * 59])
    with pytest.raises(ValueError, match=r"NaN|no value at all"):
        model.predict([[np.nan] * 3])


@pytest.mark.parametrize("settings", SETTINGS, ids=map(str, SETTINGS))
def test_the_kept_state_assigns_points_as_one_built_anew(settings):
    """Chunks of one state, in any order and number, against a state built for the extended similarity."""
    rng = np.random.default_rng(0)
    rows, new = rng.normal(size=(150, 3)) + rng.integers(0, 4, (150, 1)), rng.normal(size=(300, 3)) * 3
    weights = rng.integers(1, 4, 150)
    model = HypHC(6, **QUICK, **settings).fit(rows, sample_weight=weights)
    similarity, metric = model.similarity_, model.similarity_.metric
    if settings.get("metric") == "linear":
        new /= 10
    wanted = assign_clusters(model.tree_, model._clusters_.labels, similarity.extended(metric.rows(similarity, new)), 1)
    assert len(np.unique(wanted)) > 1
    assert_array_equal(model.predict(new), wanted)
    assert_array_equal(np.concatenate([model.predict(new[k : k + 1]) for k in range(20)]), wanted[:20])
    assert_array_equal(model.set_params(n_jobs=2).predict(new[::-1])[::-1], wanted)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(new), wanted)


def test_threads_may_predict_at_once():
    model = HypHC(3, **QUICK).fit(OLD)
    wanted = model.predict(NEW)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.predict(NEW), range(20)):
            assert_array_equal(found, wanted)


def test_negative_weights_of_new_nodes_are_refused():
    W = sp.csr_array(as_similarity(OLD, "cosine").to_dense())
    model = HypHC(3, metric="precomputed", **QUICK).fit(W)
    rows = np.ones((2, 60))
    rows[1, 5] = -0.5
    with pytest.raises(ValueError, match=r"Edge \(1, 5\) has weight -0.5; weights are >= 0."):
        model.predict(sp.csr_array(rows))
