"""Metrics that people ask for by name: correlations of rows, distances of scikit-learn, their own functions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity
from hyphc.similarity.knn.other_distances import DISTANCES, is_distance
from hyphc.similarity.knn.search import build_index, find, neighbor_graph, query_rows
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist, cityblock
from scipy.stats import spearmanr
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances


def profiles(seed: int, n: int = 12, d: int = 7, ties: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, d)).astype(float) if ties else rng.normal(size=(n, d))


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


@given(st.integers(0, 999))
def test_correlation_is_pearsons(seed):
    X = profiles(seed)
    assert_allclose(
        off_diagonal(as_similarity(X, "correlation").to_dense()), off_diagonal((1 + np.corrcoef(X)) / 2), atol=1e-12
    )


@given(st.integers(0, 999))
def test_spearman_is_scipys_ties_included(seed):
    X = profiles(seed, ties=True)
    X = X[np.ptp(X, axis=1) > 0]
    expected = (1 + spearmanr(X, axis=1).statistic) / 2
    assert_allclose(off_diagonal(as_similarity(X, "spearman").to_dense()), off_diagonal(expected), atol=1e-12)


@pytest.mark.parametrize("metric", ["correlation", "spearman"])
def test_rows_that_do_not_vary_are_half_similar_to_all_even_where_their_mean_is_rounded(metric):
    X = np.vstack([profiles(0), np.full(7, 0.1), np.full(7, 1e300), np.zeros(7)])
    w = as_similarity(X, metric).to_dense()
    assert (off_diagonal(w)[-6:] == 0.5).all()
    assert (w[12:, :12] == 0.5).all()


def test_correlations_do_not_depend_on_the_size_of_a_row():
    X = profiles(3)
    huge = X * np.logspace(-290, 290, len(X))[:, None]
    assert_allclose(as_similarity(huge, "correlation").to_dense(), as_similarity(X, "correlation").to_dense())


@pytest.mark.parametrize("metric", ["correlation", "spearman"])
def test_correlations_take_no_sparse_rows_and_say_what_does(metric):
    with pytest.raises(ValueError, match=r"cosine|TruncatedSVD"):
        as_similarity(sp.csr_array(profiles(0)), metric, n_neighbors=3)


def table_for(metric: str, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if metric in ("jaccard", "dice"):
        return rng.integers(0, 2, (n, 12)).astype(float)
    if metric == "haversine":
        return np.column_stack([rng.uniform(-1.5, 1.5, n), rng.uniform(-3, 3, n)])
    return np.abs(rng.normal(size=(n, 4)))


@pytest.mark.parametrize("metric", [*DISTANCES, "correlation", "cosine", "euclidean"])
def test_neighbours_by_any_distance_are_the_nearest(metric):
    X = table_for(metric, 60)
    all_pairs = pairwise_distances(X.astype(bool) if metric in ("jaccard", "dice") else X, metric=metric)
    np.fill_diagonal(all_pairs, np.inf)
    found = find(X, 5, metric=metric)
    expected = np.sort(all_pairs, axis=1)[:, :5]
    scale = expected[0, 0] / found.distances[0, 0] if metric == "euclidean" else 1.0  # kept up to a power of two
    assert_allclose(found.distances * scale, expected, atol=1e-12)
    assert_allclose(np.take_along_axis(all_pairs, found.neighbours, axis=1), expected, atol=1e-12)


def test_a_row_with_many_equals_still_has_its_neighbours():
    X = np.repeat(table_for("manhattan", 4), 6, axis=0)
    found = find(X, 3, metric="manhattan")
    assert (found.distances == 0).all()
    assert (found.neighbours != np.arange(24)[:, None]).all()


def test_a_function_of_two_rows_is_a_distance():
    X = table_for("manhattan", 40)
    named, own = (neighbor_graph(X, 5, metric=metric) for metric in ("manhattan", cityblock))
    assert_allclose(named.toarray(), own.toarray(), atol=1e-12)
    assert is_distance(cityblock)
    assert not is_distance(np.corrcoef)
    assert not is_distance(lambda X, power=2: X @ X.T)
    with pytest.raises(ValueError, match="takes two rows, as a distance does; give n_neighbors"):
        as_similarity(X, cityblock)
    with pytest.raises(ValueError, match="cannot be used with n_neighbors"):
        as_similarity(X, lambda X: X @ X.T, n_neighbors=3)


@pytest.mark.parametrize(
    "metric", ["manhattan", "correlation", cityblock], ids=["manhattan", "correlation", "function"]
)
def test_groups_are_found_and_new_points_join_them(metric):
    X, y = make_blobs(150, centers=3, n_features=6, cluster_std=0.5, random_state=2)
    model = HypHC(n_clusters=3, metric=metric, n_neighbors=10, random_state=0).fit(X[:120])
    assert adjusted_rand_score(y[:120], model.labels_) == 1.0
    assert adjusted_rand_score(y[120:], model.predict(X[120:])) == 1.0


def test_an_index_of_many_rows_finds_those_of_highest_correlation(monkeypatch):
    monkeypatch.setattr("hyphc.similarity.knn.search.EXACT_LIMIT", 500)
    X, new = profiles(0, 1_500, 8), profiles(1, 20, 8)
    index = build_index(X, 5, "correlation")
    assert index is not None
    _, distances = query_rows(X, new, 5, "correlation", index)
    expected = np.sort(cdist(new, X, "correlation"), axis=1)[:, :5]
    assert (distances <= expected[:, -1:] + 1e-6).mean() > 0.9
    assert build_index(X, 5, "manhattan") is None


def test_what_a_distance_cannot_take_is_named():
    with pytest.raises(ValueError, match=r"columns are 0 or 1, but X\[0, 0\] is 2"):
        as_similarity(np.full((5, 3), 2.0), "jaccard", n_neighbors=2)
    with pytest.raises(ValueError, match="latitude and longitude; X has 3"):
        as_similarity(np.ones((5, 3)), "haversine", n_neighbors=2)
    with pytest.raises(ValueError, match="'manhattan' is a distance; give n_neighbors"):
        as_similarity(np.ones((5, 3)), "manhattan")
    with pytest.raises(ValueError, match="distances must be finite and at least 0"):
        as_similarity(profiles(0), lambda x, y: -1.0, n_neighbors=2)
