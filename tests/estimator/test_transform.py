"""`HypHC.transform`: mean similarities to clusters, by every kind of similarity, as arrays and frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(0)
GROUP = np.repeat([0, 1, 2], 12)
X = RNG.normal(size=(36, 3)) + 7 * np.eye(3)[GROUP]
NEW = RNG.normal(size=(6, 3)) + 7 * np.eye(3)[[0, 0, 1, 1, 2, 2]]
SQUARED = ((X[:, None] - X) ** 2).sum(axis=2)
TO_NEW = ((NEW[:, None] - X) ** 2).sum(axis=2)
CASES = {
    "auto": ({}, X, NEW),
    "float32": ({}, X.astype(np.float32), NEW.astype(np.float32)),
    "sparse": ({}, sp.csr_array(np.abs(X)), sp.csr_array(np.abs(NEW))),
    "cosine": ({"metric": "cosine"}, X, NEW),
    "linear": ({"metric": "linear"}, X, NEW),
    "rbf": ({"metric": "rbf"}, X, NEW),
    "neighbours": ({"metric": "euclidean", "n_neighbors": 6}, X, NEW),
    "matrix": ({"metric": "precomputed"}, np.exp(-SQUARED / 20), np.exp(-TO_NEW / 20)),
    "graph": ({"metric": "precomputed"}, sp.csr_array(np.exp(-SQUARED / 20)), sp.csr_array(np.exp(-TO_NEW / 20))),
    "distances": ({"metric": "precomputed_distances"}, np.sqrt(SQUARED), np.sqrt(TO_NEW)),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_mean_similarity_to_the_points_of_each_cluster(case):
    settings, rows, new = CASES[case]
    model = HypHC(3, random_state=0, **settings).fit(rows)
    given = model.similarity_.metric.rows(model.similarity_, model._validate_rows(new, reset=False))
    pairs = model.similarity_.extended(given).to_dense()[36:, :36]
    expected = np.stack([pairs[:, model.labels_ == k].mean(axis=1) for k in range(3)], axis=1)
    found = model.transform(new)
    assert found.shape == (6, 3)
    assert_allclose(found, expected, atol=1e-10)
    assert_array_equal(found.argmax(axis=1), [0, 0, 1, 1, 2, 2])


def test_weights_count_as_points():
    model = HypHC(3, metric="cosine", random_state=0).fit(X, sample_weight=np.full(36, 2.0))
    once = HypHC(3, metric="cosine", random_state=0).fit(X)
    assert_allclose(model.transform(NEW), once.transform(NEW))


def test_a_similarity_of_all_points_is_taken():
    both = np.vstack([X, NEW])
    model = HypHC(3, random_state=0).fit(as_similarity(X, "cosine"))
    assert_allclose(
        model.transform(as_similarity(both, "cosine")), HypHC(3, metric="cosine", random_state=0).fit(X).transform(NEW)
    )


def test_chunks_change_nothing(monkeypatch):
    model = HypHC(3, random_state=0).fit(X)
    many = np.tile(NEW, (200, 1))
    assert_allclose(model.transform(many), np.tile(model.transform(NEW), (200, 1)), atol=1e-12)


def test_outliers_do_not_add_a_column():
    model = HypHC(outliers="label", random_state=0).fit(np.vstack([X, [[90.0, 0, 0]]]))
    assert model.transform(NEW).shape == (6, model.n_clusters_)


def test_frames_have_the_names_of_the_clusters_and_the_index_of_the_rows():
    frame = pd.DataFrame(NEW, index=list("uvwxyz"), columns=list("abc"))
    model = HypHC(3, random_state=0).set_output(transform="pandas").fit(pd.DataFrame(X, columns=list("abc")))
    found = model.transform(frame)
    assert list(found.columns) == list(model.get_feature_names_out()) == ["hyphc0", "hyphc1", "hyphc2"]
    assert list(found.index) == list("uvwxyz")
    fitted = model.fit_transform(pd.DataFrame(X, columns=list("abc")))
    assert fitted.shape == (36, 3)


def test_polars_frames_are_returned_where_they_are_asked_for():
    polars = pytest.importorskip("polars")
    model = HypHC(3, random_state=0).set_output(transform="polars").fit(X)
    found = model.transform(NEW)
    assert isinstance(found, polars.DataFrame)
    assert found.columns == ["hyphc0", "hyphc1", "hyphc2"]


def test_it_is_a_step_of_a_pipeline():
    steps = make_pipeline(StandardScaler(), HypHC(3, random_state=0), KMeans(3, random_state=0, n_init=1))
    labels = steps.fit(X).predict(X)
    assert len(set(zip(labels, GROUP, strict=True))) == 3


def test_a_model_without_a_fit_is_refused():
    with pytest.raises(NotFittedError):
        HypHC().transform(X)
