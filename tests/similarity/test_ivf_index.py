"""The approximate search: what it finds beside brute force, and that nothing but points and seed decides it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC
from hyphc._kernels.similarity import ivf_cells as cell_kernels
from hyphc._kernels.similarity import nearest as nearest_kernels
from hyphc._kernels.similarity.fuzzy_memberships import memberships
from hyphc.datasets import planted
from hyphc.similarity import as_similarity
from hyphc.similarity.knn import edge_weights, ivf_cells
from hyphc.similarity.knn import search as knn_search
from hyphc.similarity.knn.edge_weights import fuzzy_memberships
from hyphc.similarity.knn.ivf_index import InvertedFile
from hyphc.similarity.knn.search import KNOWN, build_index, find, query_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

K = 10


@pytest.fixture(autouse=True)
def few_points_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of 1 000 points are approximate, in cells of at most 32."""
    monkeypatch.setattr(knn_search, "EXACT_LIMIT", 1_000)
    monkeypatch.setattr(knn_search, "EXACT_SPARSE_LIMIT", 1_000)
    monkeypatch.setattr(ivf_cells, "CELL_SIZE", 32)
    monkeypatch.setattr(ivf_cells, "FULL", 64)
    monkeypatch.setattr(ivf_cells, "NEAR_CELLS", 64)


def true_distances(X: Any, Y: Any, metric: str = "euclidean") -> np.ndarray:
    """Of the K nearest of the rows of X, other than itself where Y is X."""
    distances = cdist(Y, X, metric)
    if Y is X:
        np.fill_diagonal(distances, np.inf)
    return np.sort(distances, axis=1)[:, :K]


def share_found(distances: np.ndarray, truth: np.ndarray) -> float:
    return float((distances <= truth[:, -1:] * (1 + 1e-9) + 1e-12).mean())


def shapes() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(3_000, 12))
    uneven = rng.normal(size=(3_000, 8))
    uneven[:2_900] *= 1e-4
    uneven[2_900:] += 50
    curve = np.linspace(0, 20, 3_000)[:, None]
    return {
        "cloud": clouds,
        "singles": clouds.astype(np.float32),
        "far": clouds + 1e6,
        "uneven": uneven,
        "huge": clouds * 1e200,
        "tiny": clouds * 1e-200,
        "counts": rng.poisson(3, size=(3_000, 9)),
        "planted": planted(3_000, 16, random_state=0).data,
        "curve": np.hstack([np.sin(curve * w) for w in range(1, 8)]),
        "columns": np.asfortranarray(clouds)[::-1],
    }


@pytest.mark.parametrize("name", shapes())
def test_nearly_all_neighbours_are_found_and_the_share_is_known(name: str) -> None:
    X = shapes()[name]
    found = find(X, K, random_state=0)
    points = X.astype(np.float64) / (abs(X).max() if name in ("huge", "tiny") else 1.0)
    truth = true_distances(points, points)
    distances = np.take_along_axis(cdist(points, points), found.neighbours, axis=1)
    assert share_found(distances, truth) > 0.94
    assert found.recall == pytest.approx(share_found(distances, truth), abs=0.03)
    assert (np.diff(found.distances) >= 0).all()
    assert (found.neighbours != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == K for row in found.neighbours.tolist())
    if name in ("cloud", "far", "uneven", "planted"):
        assert_allclose(found.distances, distances, rtol=1e-6)


@pytest.mark.parametrize("metric", KNOWN)
def test_zero_rows_and_the_cosine_agree_with_the_exact_search(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(1_500, 9))
    X[:3] = 0.0
    found = find(X, K, metric=metric)
    monkeypatch.setattr(knn_search, "EXACT_LIMIT", 2_000)
    exact = find(X, K, metric=metric)
    assert exact.recall == 1.0
    assert (
        np.mean([len(np.intersect1d(*pair)) / K for pair in zip(found.neighbours, exact.neighbours, strict=True)])
        > 0.94
    )
    assert_array_equal(found.neighbours[:3, :2], exact.neighbours[:3, :2])
    assert (found.distances[:3, :2] == 0).all()


def test_neither_threads_nor_repetition_change_anything() -> None:
    X = planted(4_000, 13, random_state=1).data
    first = find(X, K, random_state=3, n_jobs=1)
    for n_jobs in (1, 2, 3):
        again = find(X, K, random_state=3, n_jobs=n_jobs)
        assert_array_equal(first.neighbours, again.neighbours)
        assert_array_equal(first.distances, again.distances)
    other = find(X, K, random_state=4)
    assert (other.neighbours != first.neighbours).any()


@pytest.mark.parametrize("n_equal", [K + 5, 500, 1_500])
def test_equal_rows_are_neighbours_at_distance_0(n_equal: int) -> None:
    X = np.random.default_rng(2).normal(size=(1_500, 8)) + 100.0
    X[:n_equal] = X[0]
    found = find(X, K)
    assert (found.distances[:n_equal] == 0).all()
    assert (found.neighbours[:n_equal] < n_equal).all()
    assert (found.neighbours >= 0).all()
    assert np.isfinite(found.distances).all()


def test_points_whose_cells_hold_too_few_are_searched_for_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).normal(size=(1_200, 7))
    search = InvertedFile(X, 100, 0, None)
    search.n_probes = 1  # at most 64 points
    neighbours, distances = search.neighbours()
    K_th = np.sort(cdist(X, X), axis=1)[:, 100]
    assert_allclose(distances[:, -1], K_th, rtol=1e-6)
    assert (neighbours >= 0).all()


def test_all_cells_searched_is_the_exact_search() -> None:
    X = np.random.default_rng(4).normal(size=(1_100, 7))
    search = InvertedFile(X, K, 0, 2)
    search.n_probes = 10_000
    search._near = np.tile(np.arange(len(search._centres), dtype=np.int32), (len(search._centres), 1))
    _, distances = search.neighbours()
    assert_allclose(distances, true_distances(X, X), rtol=1e-12)
    assert search.recall(distances) == 1.0


def test_lists_turned_around_name_those_who_list_a_point_first() -> None:
    places = np.array([[1, 2], [2, 3], [1, 0], [2, -1]], np.int32)
    back = np.full((4, 2), -1, np.int32)
    nearest_kernels.reverse_neighbors(places, back)
    assert back.tolist() == [[2, -1], [0, 2], [1, 3], [1, -1]]  # 0 lists 2 as well, but later than 1 and 3


def test_neighbours_of_neighbours_are_the_nearest_of_all_within_reach() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    half = (cdist(X, X) ** 2 / 2).astype(np.float32)
    places = np.array([rng.choice(np.delete(np.arange(60), i), 4, replace=False) for i in range(60)], np.int32)
    places = np.take_along_axis(places, np.argsort(np.take_along_axis(half, places, 1), axis=1), 1)
    places[7, 2:] = -1  # a short list
    far = np.where(places < 0, np.inf, np.take_along_axis(half, np.maximum(places, 0), 1)).astype(np.float32)
    near, nearer, back = np.empty_like(places), np.empty_like(far), np.full((60, 2), -1, np.int32)
    nearest_kernels.reverse_neighbors(places, back)
    nearest_kernels.nn_descent_step(X, places, far, back, 0, 60, np.zeros(60, np.int32), near, nearer)
    known = [set(places[i].tolist()) | set(back[i].tolist()) for i in range(60)]
    for i in range(60):
        asked = {*places[i, :2].tolist(), *back[i].tolist()} - {-1}
        within = known[i].union(*(known[j] for j in asked)) - {i, -1}
        assert near[i].tolist() == sorted(within, key=lambda j: half[i, j])[:4]
        assert_allclose(nearer[i], half[i, near[i]], rtol=1e-5)


def test_points_that_know_only_far_ones_find_their_neighbours_again() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(20, 8))[rng.integers(20, size=2_000)] * 50.0 + rng.normal(size=(2_000, 8))
    search = InvertedFile(X, K, 0, None)
    places, far = search._around_own_cells()
    points = search._points
    wrong = np.linalg.norm(points - points[0], axis=1).argsort()[-places.shape[1] :].astype(np.int32)
    places[0], far[0] = wrong, ((points[wrong] - points[0]) ** 2).sum(axis=1) / 2
    search._find_lost(places, far)
    assert_allclose(
        np.sqrt(2.0 * far[0, :K]), np.sort(np.linalg.norm(points - points[0], axis=1))[1 : K + 1], rtol=1e-5
    )


def test_every_point_lies_in_one_cell_and_none_is_overfull() -> None:
    X = np.random.default_rng(5).integers(0, 2, size=(2_000, 7)).astype(np.float64)
    found = ivf_cells.Cells(X, 0, None)
    assert_array_equal(np.sort(found.order), np.arange(2_000))
    sizes = np.diff(found.starts)
    assert sizes.max() <= ivf_cells.FULL
    for cell in np.flatnonzero(sizes):
        own = found.order[found.starts[cell] : found.starts[cell + 1]]
        assert_allclose(found.centres[cell], X[own].mean(axis=0), rtol=1e-9, atol=1e-12)


def test_products_are_those_of_matrices() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(8, 12)).astype(np.float32), rng.normal(size=(12, 64)).astype(np.float32)
    found = np.empty((8, 64), np.float32)
    cell_kernels.products(x, y, found)
    assert_allclose(found, x.astype(np.float64) @ y, atol=1e-5)


@pytest.mark.parametrize("metric", KNOWN)
def test_new_rows_find_their_neighbours_one_by_one_or_together(metric: str) -> None:
    rng = np.random.default_rng(7)
    X, new = rng.normal(size=(3_000, 9)), rng.normal(size=(200, 9))
    new[0], new[1], new[2] = X[17], 1e4, 0.0
    index = build_index(X, K, metric)
    neighbours, distances = query_rows(X, new, K, metric, index)
    exact, _ = query_rows(X, new, K, metric)
    assert np.mean([len(np.intersect1d(*pair)) / K for pair in zip(neighbours, exact, strict=True)]) > 0.94
    assert neighbours[0, 0] == 17
    assert distances[0, 0] == pytest.approx(0.0, abs=1e-15)
    alone = query_rows(X, new[5:6], K, metric, index)
    assert_array_equal(alone[0][0], neighbours[5])
    few = query_rows(X[:900], new, K, metric, build_index(X[:900], K, metric))
    plain = query_rows(X[:900], new, K, metric)
    assert_array_equal(few[0], plain[0])
    assert_allclose(few[1] / few[1].max(), plain[1] / plain[1].max(), rtol=1e-9, atol=1e-12)  # on a common scale


def test_sparse_rows_are_found_through_their_singular_vectors() -> None:
    rng = np.random.default_rng(8)
    X = sp.random_array((1_500, 2_000), density=0.01, random_state=rng, format="csr")
    X = sp.csr_array(sp.vstack([X, X]))  # every row has a twin
    with pytest.warns(UserWarning, match="of the true neighbours"):
        found = find(X, K, metric="cosine")
    assert (found.distances[:, 0] < 1e-12).mean() > 0.99
    assert found.recall < knn_search.POOR_RECALL


def test_compiled_memberships_are_those_of_the_formula() -> None:
    distances = np.sort(np.random.default_rng(9).exponential(size=(500, 15)), axis=1)
    distances[:50, :3], distances[50:60], distances[60:70, 1:] = 0.0, 0.0, distances[60:70, :1]
    ties = np.empty_like(distances)
    memberships(distances, edge_weights.MIN_SIGMA, edge_weights.NEWTON_STEPS, edge_weights.NEWTON_RTOL, ties)
    assert_allclose(ties, fuzzy_memberships(distances), rtol=1e-9)


def test_a_fitted_similarity_knows_its_recall_and_places_new_points_by_its_index() -> None:
    data = planted(1_500, 40, n_classes=4, decay=0.3, noise=1.0, random_state=2)
    model = HypHC(n_clusters=4, random_state=0, time_budget=1.0).fit(data.data)
    assert 0.9 < model.similarity_.recall_ < 1.0
    assert "of the nearest neighbours found" in model.plan_.rows
    labels = model.predict(data.data[:50])
    assert model.similarity_._index is not None
    assert (labels == model.labels_[:50]).mean() > 0.9
    again = pickle.loads(pickle.dumps(model.similarity_))
    assert again._index is None
    assert again.recall_ == model.similarity_.recall_
    assert as_similarity(data.data[:500], "auto").recall_ == 1.0
