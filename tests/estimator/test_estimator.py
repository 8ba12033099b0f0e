"""`HypHC`: scikit-learn's contract, fitted attributes that agree, inputs of every kind, seeds and threads."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity, baselines, dasgupta_cost, decode, split_weights
from hyphc.baselines.agglomerate import graph_agglomeration
from hyphc.tree.prunings import widest_gap
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract import expected_failures

X, GROUPS = make_blobs(60, centers=[[5, 0, 0], [0, 5, 0], [0, 0, 5]], cluster_std=0.4, random_state=0)
QUICK = {"max_iter": 300, "random_state": 0}
METRICS = ("auto", "cosine")
metrics = pytest.mark.parametrize("metric", METRICS)


@parametrize_with_checks(
    [
        HypHC(max_iter=30, random_state=0),  # with all iterations: tests/system/test_contract.py
        HypHC(max_iter=30, refine=False, random_state=0),
        HypHC(metric="cosine", max_iter=30, random_state=0),
        HypHC(metric="cosine", max_iter=100, refine=False, random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def fitted(**settings):
    return HypHC(**{**QUICK, **settings}).fit(X)


@metrics
def test_known_groups_are_found_and_attributes_agree(metric):
    model = fitted(n_clusters=3, metric=metric)
    n = len(X)
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0
    assert model.n_leaves_ == model.tree_.n_leaves == n
    assert model.n_clusters_ == 3
    assert is_valid_linkage(model.linkage_)
    assert Tree.from_linkage(model.linkage_) == model.tree_
    assert_array_equal(model.children_, model.tree_.children)
    assert_array_equal(model.distances_, model.tree_.heights)
    assert len(model.loss_curve_) == model.n_iter_ <= 300
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, as_similarity(X, metric)))
    assert model.n_features_in_ == 3


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_iter": None},
        {"refine": False},
        {"n_components": 3, "max_iter": 30},
        {"n_neighbors": 10},
        {"metric": "cosine"},
        {"metric": "cosine", "refine": False},
        {"metric": "cosine", "n_neighbors": 10},
        {"n_components": 1, "refine": False, "max_iter": 30},
        {"metric": "cosine", "n_neighbors": 10, "n_components": 1, "refine": False},
        {"metric": "rbf"},
        {"init": "pca"},
        {"max_iter": 0},
        {"n_init": 2},
    ],
    ids=str,
)
def test_the_embedding_decodes_to_the_tree(settings):
    model = fitted(**settings)
    assert decode(model.embedding_) == model.tree_
    assert model.embedding_.shape == (len(X), settings.get("n_components", 2))


@pytest.mark.parametrize("refine", [True, False])
def test_it_improves_on_average_linkage_here(refine):
    similarity = as_similarity(load_iris().data, "cosine")
    model = HypHC(metric="cosine", random_state=0, refine=refine).fit(load_iris().data)
    assert model.cost_ < dasgupta_cost(baselines.average_linkage(similarity), similarity)


@pytest.mark.parametrize(
    "settings", [{}, {"metric": "cosine"}, {"metric": "cosine", "n_neighbors": 5}, {"metric": "rbf"}], ids=str
)
def test_with_the_search_it_is_never_worse_than_average_linkage_or_the_continuous_tree(settings):
    continuous, searched = (fitted(refine=refine, max_iter=5, **settings) for refine in (False, True))
    similarity = as_similarity(X, **settings)
    assert searched.cost_ <= continuous.cost_
    assert searched.cost_ <= dasgupta_cost(baselines.average_linkage(similarity), similarity)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csr_matrix, pd.DataFrame])
def test_precomputed_similarities_dense_and_sparse(make):
    W = as_similarity(X, "cosine").to_dense()
    model = HypHC(3, metric="precomputed", **QUICK).fit(make(W))
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0


@metrics
def test_a_similarity_object_is_taken_as_its_rows_are(metric):
    assert HypHC(3, **QUICK).fit(as_similarity(X, metric)).tree_ == fitted(metric=metric).tree_


def test_the_same_seed_gives_the_same_tree_for_every_number_of_threads():
    cosine = {"metric": "cosine"}
    for settings in ({}, {"max_iter": None}, {"block_size": 20}, cosine, cosine | {"n_neighbors": 10}):
        one, two = (fitted(n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
        assert_array_equal(one.embedding_, two.embedding_)
        assert one.tree_ == two.tree_


@metrics
def test_distance_threshold_cuts_as_scikit_learn_does(metric):
    model = fitted(metric=metric)
    heights = model.distances_
    threshold = float(heights[-3])
    labels = fitted(metric=metric, distance_threshold=threshold).labels_
    assert labels.max() + 1 == np.count_nonzero(heights >= threshold) + 1
    theirs = fcluster(model.linkage_, np.nextafter(threshold, 0), criterion="distance")
    assert adjusted_rand_score(labels, theirs) == 1.0


def test_heights_are_mean_dissimilarities_that_do_not_fall():
    model = fitted(metric="cosine")
    similarity = as_similarity(X, "cosine")
    assert (np.diff(model.distances_) >= 0).all()
    top = model.tree_.cut(2, criterion="height")
    across = similarity.to_dense()[np.ix_(top == 0, top == 1)].mean()
    assert_allclose(model.distances_[-1], 1 - across, rtol=1e-9)


def test_the_tree_carries_what_its_cost_is_made_of():
    weights = np.arange(1, len(X) + 1) % 3 + 1.0
    for model in (fitted(metric="cosine"), HypHC(2, metric="cosine", **QUICK).fit(X, sample_weight=weights)):
        tree = model.tree_
        sizes = np.ones(len(X)) if tree.leaf_sizes is None else tree.leaf_sizes
        assert_array_equal(sizes, model.similarity_.sizes)
        assert_allclose(tree.split_weights, split_weights(tree, model.similarity_))
        assert_allclose(tree.degrees, model.similarity_.degrees())
        assert_allclose(tree.split_weights @ tree._points[len(X) :], model.cost_)
        assert tree.cut(3, criterion="dasgupta").max() == 2


def test_the_tree_of_a_blend_carries_what_its_graph_makes_of_it():
    weights = np.arange(1, len(X) + 1) % 3 + 1.0
    for model in (fitted(), HypHC(2, **QUICK).fit(X, sample_weight=weights)):
        tree, graph = model.tree_, model.similarity_.graph
        assert_array_equal(graph.sizes, np.ones(len(X)) if tree.leaf_sizes is None else tree.leaf_sizes)
        assert_allclose(tree.split_weights, split_weights(tree, graph))
        assert_allclose(tree.degrees, graph.degrees())
        assert adjusted_rand_score(tree.cut(3), GROUPS) == 1.0


def test_the_widest_gap_of_heights_is_a_number_of_clusters():
    assert widest_gap(Tree([[0, 1], [2, 3], [4, 5]], heights=[1.0, 1.1, 9.0])) == 2
    assert widest_gap(Tree([[0, 1], [2, 3], [4, 5]], heights=[0.0, 0.0, 0.0])) == 1
    assert widest_gap(Tree(np.empty((0, 2)))) == 1


@metrics
def test_without_a_number_the_groups_are_found(metric):
    model = fitted(metric=metric)
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0
    assert model.n_clusters_ == model.cluster_number_.n_clusters == model.tree_.n_clusters == 3
    assert_array_equal(model.tree_.cut(model.tree_.n_clusters), model.labels_)


@metrics
@pytest.mark.parametrize("max_iter", [300, None])
@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_points(n, metric, max_iter, refine):
    model = HypHC(metric=metric, refine=refine, max_iter=max_iter, random_state=0).fit(X[:n])
    assert model.tree_.n_leaves == n
    assert model.labels_.shape == (n,)
    assert np.isfinite(model.cost_)
    assert decode(model.embedding_) == model.tree_


@metrics
@pytest.mark.parametrize("settings", [{}, {"max_iter": 20, "refine": False}], ids=str)
@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.zeros((5, 2)), np.ones((5, 1))], ids=["ones", "zeros", "column"])
def test_rows_that_are_all_equal_still_give_a_tree(metric, settings, rows):
    with pytest.warns(ConvergenceWarning, match=r"distinct points \(1\) is smaller than n_clusters \(2\)"):
        model = HypHC(2, metric=metric, random_state=0, **settings).fit(rows)
    assert model.n_clusters_ == 2
    assert np.isfinite(model.tree_.heights).all()
    assert HypHC(metric=metric, random_state=0, **settings).fit(rows).n_clusters_ == 1


def test_columns_that_do_not_vary_change_nothing():
    wider = np.column_stack([X, np.full(len(X), 3.0), np.zeros(len(X))])
    assert HypHC(**QUICK).fit(wider).tree_ == fitted().tree_


@metrics
def test_duplicates_and_zero_rows(metric):
    doubled = np.concatenate([X, X, np.zeros((3, 3))])
    model = HypHC(metric=metric, **QUICK).fit(doubled)
    assert decode(model.embedding_).n_leaves == 123


def test_disconnected_graphs():
    graph = sp.block_diag([np.ones((5, 5)), np.ones((4, 4))], format="csr")
    assert HypHC(2, metric="precomputed", **QUICK).fit(graph).labels_.tolist() == [0] * 5 + [1] * 4
    no_edges = sp.csr_array((4, 4))
    assert HypHC(metric="precomputed", **QUICK).fit(no_edges).cost_ == 0.0


@metrics
def test_read_only_strided_and_float32_input_is_left_alone(metric):
    array = np.asfortranarray(X.astype(np.float32))
    array.flags.writeable = False
    before = array.copy()
    model = HypHC(3, metric=metric, **QUICK).fit(array)
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0
    assert_array_equal(array, before)


@metrics
@pytest.mark.parametrize("refine", [True, False])
def test_a_callback_sees_progress_and_can_stop_the_fit(refine, metric):
    seen = []
    model = fitted(
        refine=refine, metric=metric, callback=lambda progress: seen.append(progress.best_cost) or len(seen) == 5
    )
    assert model.n_iter_ == len(seen) == 5
    assert model.cost_ <= min(seen) * (1 + 1e-9)


@metrics
@pytest.mark.parametrize("max_iter", [300, None])
def test_a_callback_sees_the_search_too_and_its_cost_never_rises(metric, max_iter):
    seen = []
    model = fitted(metric=metric, max_iter=max_iter, callback=lambda progress: seen.append(progress))
    costs = [progress.best_cost for progress in seen if progress.iteration is None]
    assert len(costs) >= 2
    assert costs == sorted(costs, reverse=True)
    assert_allclose(model.cost_, costs[-1])


def test_a_time_budget_ends_the_fit_and_the_callback_still_runs(set_tick):
    set_tick(0.001)
    seen = []
    model = HypHC(max_iter=10**7, time_budget=0.2, random_state=0, callback=seen.append).fit(X)
    assert 0 < model.n_iter_ < len(seen) < 10**7


@metrics
def test_models_can_be_cloned_and_pickled(metric):
    model = fitted(n_clusters=3, metric=metric)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.tree_ == model.tree_
    assert_array_equal(copy.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 2, "distance_threshold": 1.0}, "not both"),
        ({"n_clusters": 61}, "n_clusters=61 is not between 1 and the 60 points"),
        ({"n_clusters": 0}, "n_clusters=0 is not between 1 and the 60 points"),
        ({"n_clusters": 2.5}, "n_clusters=2.5 must be a whole number"),
        ({"n_clusters": True}, "n_clusters=True must be a whole number"),
        ({"distance_threshold": -1.0}, "distance_threshold=-1.0 must be a number of at least 0"),
        ({"distance_threshold": "far"}, "distance_threshold='far' must be a number"),
        ({"distance_threshold": float("nan")}, "distance_threshold=nan"),
        ({"time_budget": 0.0}, "time_budget=0.0"),
        ({"metric": "manhattan"}, "metric='manhattan'"),
        ({"metric": "precomputed"}, "metric='precomputed' takes a square matrix; X has shape"),
        ({"metric": "cosine", "scale": True}, "scale=True goes with metric='auto'"),
        ({"metric": "cosine", "background": 0.1}, "background=0.1 goes with metric='auto'"),
        ({"scale": "columns"}, "scale='columns' is unknown; choose 'auto', True or False"),
        ({"background": -0.1}, "background=-0.1 must be a finite number of at least 0"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"edge_weights": "heavy"}, "edge_weights='heavy'"),
        ({"criterion": "best"}, "criterion='best' is unknown; choose one of"),
        ({"init": "nothing"}, "init='nothing'"),
        ({"temperature": 0.0}, "temperature"),
        ({"n_components": 0}, "n_components=0"),
        ({"max_iter": -1}, "max_iter=-1"),
    ],
)
def test_bad_settings_name_the_value(settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clusters": 61},
        {"distance_threshold": -1.0},
        {"time_budget": -1.0},
        {"block_size": 2},
        {"criterion": "best"},
        {"min_size": 0},
        {"min_size": "ten"},
    ],
    ids=str,
)
def test_what_the_end_of_a_fit_would_refuse_is_refused_before_it(settings, monkeypatch):
    monkeypatch.setattr(HypHC, "_compute_similarity", lambda *_, **__: pytest.fail("the fit has begun"))
    with pytest.raises(ValueError, match=next(iter(settings))):
        fitted(**settings)


def test_wide_features_start_from_bisecting_and_never_end_above_it(monkeypatch):
    monkeypatch.setattr("hyphc.search.search_context.LARGE_FEATURES", 1_000)
    X = np.random.default_rng(0).normal(size=(120, 40))
    model = HypHC(metric="cosine", random_state=0).fit(X)
    assert len(model.loss_curve_) == 0 < model.n_iter_  # the continuous stage is left out: what is counted are sweeps
    similarity = as_similarity(X, "cosine")
    assert model.cost_ <= dasgupta_cost(baselines.bisecting_kmeans(similarity), similarity)
    assert HypHC(metric="cosine", random_state=0, max_iter=5).fit(X).n_iter_ == 5  # unless it is asked for


@pytest.mark.parametrize("settings", [{"metric": "euclidean", "n_neighbors": 5}, {"metric": "auto"}], ids=str)
def test_graphs_and_blends_start_from_agglomeration_and_never_end_above_it(settings):
    graph = as_similarity(X, **settings)
    stages: list[str] = []
    model = HypHC(random_state=0, callback=lambda progress: stages.append(progress.stage)).fit(graph)
    assert len(model.loss_curve_) == 0
    assert "iterated" in stages
    assert model.cost_ <= dasgupta_cost(graph_agglomeration(graph), graph) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance_threshold": 1.0, "min_size": 3}, "min_size=3 goes with a number of clusters"),
        ({"criterion": "sse", "metric": "rbf"}, "criterion='sse' needs rows of single points"),
        ({"criterion": "area"}, "criterion='area' is unknown"),
    ],
    ids=["threshold", "sse", "unknown"],
)
def test_settings_of_a_cut_that_cannot_be_met_are_refused_before_the_search(settings, message):
    told = []
    with pytest.raises(ValueError, match=message):
        HypHC(callback=told.append, **settings).fit(X)
    assert told == []
