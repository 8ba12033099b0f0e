"""The search of many columns: what it finds beside brute force, when it is used, and that threads do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc.similarity.knn import reduced_search
from hyphc.similarity.knn import search as knn_search
from hyphc.similarity.knn.reduced_search import find_by_components
from hyphc.similarity.knn.search import find
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

K = 10


def rows_near_a_plane(n: int = 3_000, d: int = 300, dtype: type = np.float64) -> np.ndarray:
    """Rows of 20 strong directions and weak noise in all columns."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, 20)) @ rng.normal(size=(20, d)) + 0.3 * rng.normal(size=(n, d))
    return (rows + 5.0).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbours_are_those_of_brute_force(dtype):
    X = rows_near_a_plane(dtype=dtype)
    found = find_by_components(X, K, 0, 1)
    assert found is not None
    neighbours, distances, recall = found
    true = cdist(X, X)
    assert_allclose(distances, np.take_along_axis(true, neighbours, axis=1), rtol=1e-5)
    np.fill_diagonal(true, np.inf)
    assert (neighbours != np.arange(len(X))[:, None]).all()
    share = float((distances <= np.sort(true, axis=1)[:, K - 1 : K] * (1 + 1e-5)).mean())
    assert share > 0.99
    assert abs(share - recall) < 0.02


def test_rows_without_leading_components_are_searched_in_all_columns():
    assert find_by_components(np.random.default_rng(0).normal(size=(3_000, 300)), K, 0, 1) is None


def test_few_columns_are_not_reduced():
    assert find_by_components(rows_near_a_plane(d=255), K, 0, 1) is None


def test_the_fewest_components_that_suffice_are_taken(monkeypatch):
    X, tried = rows_near_a_plane(d=600), []
    share = reduced_search._share
    monkeypatch.setattr(
        reduced_search, "_share", lambda reduced, *rest: tried.append(reduced.shape[1]) or share(reduced, *rest)
    )
    assert find_by_components(X, K, 0, 1) is not None
    assert tried == [64]


def test_neighbours_do_not_depend_on_threads():
    X = rows_near_a_plane()
    for one, two in zip(find_by_components(X, K, 0, 1), find_by_components(X, K, 0, 2), strict=True):
        assert_array_equal(one, two)


def test_copies_are_neighbours_at_distance_zero():
    X = rows_near_a_plane(2_000)
    X[1_000:] = X[:1_000]
    neighbours, distances, _ = find_by_components(X, K, 0, 1)
    assert_array_equal(neighbours[:1_000, 0], np.arange(1_000, 2_000))
    assert_array_equal(distances[:, 0], 0.0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_search_of_many_rows_uses_it(monkeypatch, metric):
    monkeypatch.setattr(knn_search, "EXACT_LIMIT", 1_000)
    X = rows_near_a_plane()
    found, true = find(X, K, metric=metric), np.sort(cdist(X, X, metric), axis=1)[:, 1 : K + 1]
    assert found.recall > 0.98
    assert (found.distances <= true[:, -1:] * (1 + 1e-6)).mean() > 0.98
