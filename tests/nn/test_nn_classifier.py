"""`HypHCClassifier`: scikit-learn's contract, what it learns, and what it says to bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("geoopt", reason="needs the extra torch")

from hyphc import as_similarity, decode
from hyphc.nn import HypHCClassifier

QUICK = {"max_iter": 25, "head_iter": 40, "head_learning_rate": 0.3, "block_size": 24, "random_state": 0}
X, GROUPS = make_blobs(45, centers=[[5, 0, 0], [0, 5, 0], [0, 0, 5]], cluster_std=0.5, random_state=0)
PARTIAL = np.where(np.arange(45) % 5 == 0, GROUPS, -1)


# -1 is no class here but an unknown label, as in sklearn.semi_supervised
EXPECTED_FAILURES = {"check_classifiers_classes": "uses -1 as a class"}


@parametrize_with_checks([HypHCClassifier(**QUICK)], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 6.0])
def test_few_labels_are_enough_for_clear_groups(joint, smoothing):
    model = HypHCClassifier(joint, smoothing=smoothing, **{**QUICK, "max_iter": 80}).fit(X, PARTIAL)
    enough = 0.9 if smoothing else 0.6  # of free leaves the unlabelled ones only hear of labels through the clustering
    assert (model.transduction_ == GROUPS).mean() > enough
    assert (model.predict(1.1 * X) == GROUPS).mean() > enough
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.embedding_.shape == (45, 8)
    assert decode(model.embedding_) == model.tree_
    assert len(model.loss_curve_) == model.n_iter_ == 80


def test_fitted_points_are_predicted_as_they_were_transduced():
    model = HypHCClassifier(**QUICK).fit(X, PARTIAL)
    assert_allclose(model.predict_proba(X), model.label_distributions_, atol=1e-9)


def test_equal_seeds_give_equal_results_and_pickles_keep_them():
    model = HypHCClassifier(**QUICK).fit(X, PARTIAL)
    again = clone(model).fit(X, PARTIAL)
    assert_array_equal(model.embedding_, again.embedding_)
    assert_array_equal(model.label_distributions_, again.label_distributions_)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_two_steps_embed_without_labels():
    other = np.where(PARTIAL >= 0, (PARTIAL + 1) % 3, -1)
    first, second = (HypHCClassifier(False, **QUICK).fit(X, y) for y in (PARTIAL, other))
    assert_array_equal(first.embedding_, second.embedding_)
    joint = HypHCClassifier(True, **QUICK).fit(X, PARTIAL)
    assert not np.array_equal(joint.embedding_, first.embedding_)


def test_precomputed_similarities_give_what_features_give():
    W = as_similarity(X, "cosine").to_dense()
    np.fill_diagonal(W, 1.0)
    by_features = HypHCClassifier(**QUICK).fit(X, PARTIAL)
    by_matrix = HypHCClassifier(metric="precomputed", **QUICK).fit(W, PARTIAL)
    assert_allclose(by_matrix.embedding_, by_features.embedding_, atol=1e-6)
    assert_array_equal(by_matrix.predict(W), by_features.predict(X))


def test_probabilities_are_means_over_runs_and_leaves_those_of_the_best_run():
    runs = HypHCClassifier(n_init=3, **QUICK).fit(X, PARTIAL)
    one = HypHCClassifier(n_init=1, **QUICK).fit(X, PARTIAL)
    losses = [fit.final_loss for fit in runs.fits_]
    assert len(losses) == 3
    assert min(losses) == losses[0] == runs.loss_curve_[-10:].mean() <= one.fits_[0].final_loss
    unsmoothed = HypHCClassifier(n_init=3, smoothing=0.0, **QUICK).fit(X, PARTIAL)
    separate = [fit.probabilities(fit.place(None)) for fit in unsmoothed.fits_]
    assert_allclose(unsmoothed.label_distributions_, np.mean(separate, axis=0), atol=1e-12)
    assert np.ptp(separate, axis=0).max() > 0.01


def test_smoothed_labels_leave_more_doubt():
    sure, unsure = (HypHCClassifier(label_smoothing=share, **QUICK).fit(X, PARTIAL) for share in (0.0, 0.4))
    labelled = PARTIAL >= 0
    certainty = [model.label_distributions_[labelled].max(axis=1).mean() for model in (sure, unsure)]
    assert certainty[0] > certainty[1] + 0.05


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "manhattan"}, "metric='manhattan'"),
        ({"smoothing": -1.0}, "smoothing=-1"),
        ({"temperature": 0.0}, "temperature=0"),
        ({"radius": (1.0, 99.0)}, "radius="),
        ({"learning_rate": -0.1}, "learning_rate=-0.1"),
        ({"classification_weight": -1.0}, "classification_weight=-1"),
        ({"label_smoothing": 1.0}, "label_smoothing=1"),
        ({"n_components": 0}, "n_components=0"),
        ({"block_size": 2}, "block_size=2"),
        ({"n_init": 0}, "n_init=0"),
        ({"metric": "precomputed"}, "square matrix"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        HypHCClassifier(**{**QUICK, **settings}).fit(X, PARTIAL)


def test_labels_must_be_known_somewhere():
    with pytest.raises(ValueError, match="label at least one point"):
        HypHCClassifier(**QUICK).fit(X, np.full(45, -1))
