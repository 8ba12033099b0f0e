"""Neighbour graphs: against brute force, against UMAP's formulas written slowly, and the laws any such graph obeys."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc.similarity.knn import edge_weights
from hyphc.similarity.knn import search as knn_search
from hyphc.similarity.knn.edge_weights import EDGE_WEIGHTS, fuzzy_memberships
from hyphc.similarity.knn.search import KNOWN, find, neighbor_graph
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

both_metrics = pytest.mark.parametrize("metric", KNOWN)
all_weights = pytest.mark.parametrize("edge_weights", EDGE_WEIGHTS)


def random_points(n: int = 60, d: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def brute_force(X: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other points, nearest first, and their distances."""
    distances = cdist(X, X, metric)
    np.fill_diagonal(distances, np.inf)
    neighbours = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return neighbours, np.take_along_axis(distances, neighbours, axis=1)


def slow_sigma(excess: np.ndarray) -> float:
    """Bisection for Σ exp(−excess / σ) = log2(k)."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(-excess / middle).sum() < np.log2(len(excess)) else (low, middle)
    return middle


def slow_graph(X: np.ndarray, k: int, metric: str, edge_weights: str) -> np.ndarray:
    """The definition of each kind of weights, pair by pair."""
    n = len(X)
    neighbours, distances = brute_force(X, k, metric)
    members = [{i, *row.tolist()} for i, row in enumerate(neighbours)]
    directed = np.zeros((n, n))
    for i in range(n):
        excess = distances[i] - distances[i, 0]
        sigma = slow_sigma(excess)
        for place, j in enumerate(neighbours[i]):
            directed[i, j] = {
                "fuzzy": np.exp(-excess[place] / sigma),
                "self-tuned": np.exp(-(distances[i, place] ** 2) / (distances[i, -1] * distances[j, -1])),
                "shared": len(members[i] & members[j]) / (k + 1),
                "binary": 1.0,
            }[edge_weights]
    if edge_weights == "fuzzy":
        return directed + directed.T - directed * directed.T
    return np.maximum(directed, directed.T)


def assert_is_a_graph(graph: sp.csr_array, n: int) -> None:
    assert isinstance(graph, sp.csr_array)
    assert graph.shape == (n, n)
    assert graph.dtype == np.float64
    assert (graph - graph.T).nnz == 0
    assert not graph.diagonal().any()
    assert graph.has_canonical_format
    assert ((graph.data > 0) & (graph.data <= 1)).all()


@pytest.mark.parametrize("offset", [0, 1_000_000])
def test_of_equal_distances_of_whole_numbers_the_smallest_indices_are_taken(offset: int) -> None:
    X = np.random.default_rng(0).integers(0, 17, size=(300, 8)).astype(float) + offset
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    kth = np.sort(squares, axis=1)[:, 4:6]
    assert (kth[:, 0] == kth[:, 1]).sum() > 10  # ties at the last neighbour
    assert_array_equal(find(X, 5).neighbours, np.argsort(squares, axis=1, kind="stable")[:, :5])


@both_metrics
@all_weights
def test_weights_equal_the_definition(metric: str, edge_weights: str) -> None:
    X = random_points()
    graph = neighbor_graph(X, 7, metric=metric, edge_weights=edge_weights)
    assert_is_a_graph(graph, len(X))
    assert_allclose(graph.toarray(), slow_graph(X, 7, metric, edge_weights), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("d", [1, 3, knn_search.TREE_DIMENSIONS, knn_search.TREE_DIMENSIONS + 1, 40])
@both_metrics
def test_edges_are_those_of_brute_force_in_any_dimension(d: int, metric: str) -> None:
    X = random_points(80, d, seed=d)
    if d == 1 and metric == "cosine":
        X = np.hstack([X, X**2])  # on a line there are only two directions
    expected = np.zeros((80, 80))
    np.put_along_axis(expected, brute_force(X, 6, metric)[0], 1.0, axis=1)
    graph = neighbor_graph(X, 6, metric=metric, edge_weights="binary")
    assert_array_equal(graph.toarray(), np.maximum(expected, expected.T))


@both_metrics
@all_weights
def test_sparse_rows_give_the_graph_of_dense_rows(metric: str, edge_weights: str) -> None:
    X = random_points(70, 30, seed=1) * (np.random.default_rng(2).random((70, 30)) < 0.5)
    dense = neighbor_graph(X, 5, metric=metric, edge_weights=edge_weights)
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        sparse = neighbor_graph(form(X), 5, metric=metric, edge_weights=edge_weights)
        assert_is_a_graph(sparse, 70)
        assert_allclose(sparse.toarray(), dense.toarray(), rtol=1e-9, atol=1e-14)


@both_metrics
@all_weights
def test_renumbering_the_points_renumbers_the_graph(metric: str, edge_weights: str) -> None:
    X = random_points(50, 8, seed=3)
    order = np.random.default_rng(4).permutation(50)
    graph = neighbor_graph(X, 6, metric=metric, edge_weights=edge_weights)
    moved = neighbor_graph(X[order], 6, metric=metric, edge_weights=edge_weights)
    assert_allclose(moved.toarray(), graph.toarray()[np.ix_(order, order)], rtol=1e-10)


@all_weights
@pytest.mark.parametrize("scale", [1e-200, 3.0, 1e200])
def test_weights_do_not_depend_on_the_unit_of_measurement(edge_weights: str, scale: float) -> None:
    X = random_points(40, 8, seed=5)
    for metric in KNOWN:
        expected = neighbor_graph(X, 6, metric=metric, edge_weights=edge_weights)
        graph = neighbor_graph(X * scale, 6, metric=metric, edge_weights=edge_weights)
        assert_allclose(graph.toarray(), expected.toarray(), rtol=1e-9)


def test_points_far_from_the_origin_keep_their_neighbours() -> None:
    X = random_points(100, 12, seed=6)
    moved = neighbor_graph(X + 1e9, 5, edge_weights="binary")
    assert_array_equal(moved.toarray(), neighbor_graph(X, 5, edge_weights="binary").toarray())


@both_metrics
@all_weights
@pytest.mark.parametrize("d", [3, 20])
def test_result_does_not_depend_on_n_jobs(metric: str, edge_weights: str, d: int) -> None:
    X = np.round(random_points(300, d, seed=7), 1)  # with ties
    one, two, every = (
        neighbor_graph(X, 9, metric=metric, edge_weights=edge_weights, n_jobs=n_jobs) for n_jobs in (None, 2, -1)
    )
    for other in (two, every):
        assert_array_equal(one.indptr, other.indptr)
        assert_array_equal(one.indices, other.indices)
        assert_array_equal(one.data, other.data)


def test_input_is_not_modified() -> None:
    X = random_points(30, 4)
    sparse = sp.csr_array(X)
    dense_before, sparse_before = X.copy(), sparse.copy()
    for metric in KNOWN:
        neighbor_graph(X, 3, metric=metric)
        neighbor_graph(sparse, 3, metric=metric)
    assert_array_equal(X, dense_before)
    assert_array_equal(sparse.toarray(), sparse_before.toarray())


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(2, 25), st.integers(1, 9)), elements=st.integers(-2, 2)),
    st.integers(1, 12),
    st.sampled_from(KNOWN),
    st.sampled_from(EDGE_WEIGHTS),
)
def test_any_table_with_ties_duplicates_and_zero_rows_gives_a_graph(
    X: np.ndarray, k: int, metric: str, edge_weights: str
) -> None:
    k = min(k, len(X) - 1)
    for points in (X, sp.csr_array(X)):
        graph = neighbor_graph(points, k, metric=metric, edge_weights=edge_weights)
        assert_is_a_graph(graph, len(X))
        assert np.diff(graph.indptr).min() >= k


@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 6), st.integers(3, 30)), elements=st.floats(0, 1e3, allow_subnormal=False)
    )
)
def test_fuzzy_ties_of_a_point_sum_to_log2_of_k_when_that_has_a_solution(distances: np.ndarray) -> None:
    distances.sort(axis=1)
    k = distances.shape[1]
    ties = fuzzy_memberships(distances)
    rho = np.array([row[row > 0].min(initial=np.inf) for row in distances])
    near = (distances <= rho[:, None]).sum(axis=1)
    sigma_is_free = np.array([_least_sum(row) < np.log2(k) for row in distances])
    assert_allclose(ties[sigma_is_free].sum(axis=1), np.log2(k), rtol=1e-9)
    assert (ties.sum(axis=1) >= np.minimum(near, np.log2(k)) - 1e-9).all()
    assert (np.diff(ties, axis=1) <= 0).all()


def _least_sum(row: np.ndarray) -> float:
    """Σ_j exp(−(d_j − ρ)/σ) at the smallest σ allowed, a thousandth of the mean distance."""
    if not row.any():
        return float(len(row))
    excess = np.maximum(row - row[row > 0].min(), 0)
    return float(np.exp(-excess / (1e-3 * row.mean())).sum())


def test_fuzzy_ties_solve_their_equation_over_hundreds_of_orders_of_magnitude() -> None:
    distances = np.array([10.0 ** np.arange(-150, 150, 10), np.linspace(1, 1 + 1e-9, 30), np.geomspace(1, 2, 30)])
    excess = distances - distances[:, :1]
    sigma = edge_weights._solve_sigma(excess, np.log2(30))
    assert_allclose(np.exp(-excess / sigma[:, None]).sum(axis=1), np.log2(30), rtol=1e-10)


def test_umap_rules_for_the_nearest_neighbour_hold() -> None:
    ties = fuzzy_memberships(np.array([[0.0, 0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0]]))
    assert_array_equal(ties[0, :3], 1.0)  # duplicates, and the nearest point that is none
    assert_array_equal(fuzzy_memberships(np.zeros((2, 5))), 1.0)
    assert_array_equal(fuzzy_memberships(np.array([[3.0]])), 1.0)


@both_metrics
@all_weights
def test_duplicates_are_neighbours_of_each_other_and_nobody_of_itself(metric: str, edge_weights: str) -> None:
    X = np.repeat(random_points(5, 9, seed=8), 12, axis=0)  # 12 copies of each point, more than k
    for points in (X, sp.csr_array(X), X[:, :3]):
        graph = neighbor_graph(points, 4, metric=metric, edge_weights=edge_weights)
        assert_is_a_graph(graph, 60)
        i, j = graph.nonzero()
        assert_array_equal(i // 12, j // 12)
        if edge_weights != "shared":
            assert_array_equal(graph.data, 1.0)


@both_metrics
@all_weights
def test_points_that_all_coincide_give_a_graph(metric: str, edge_weights: str) -> None:
    for X in (np.ones((20, 3)), np.zeros((20, 9)), sp.csr_array((20, 4))):
        assert_is_a_graph(neighbor_graph(X, 6, metric=metric, edge_weights=edge_weights), 20)


@pytest.mark.parametrize("edge_weights", ["fuzzy", "self-tuned"])
def test_an_outlier_next_to_a_crowd_of_duplicates_keeps_its_edges(edge_weights: str) -> None:
    X = np.vstack([np.zeros((10, 2)), [[1e8, 0.0]]])
    graph = neighbor_graph(X, 3, edge_weights=edge_weights)
    assert graph[[10]].nnz == 3
    if edge_weights == "self-tuned":  # the crowd has no scale of its own and borrows the outlier's
        assert_allclose(graph[[10]].data, np.exp(-1))


def test_a_row_of_zeros_is_orthogonal_to_every_other_row_and_equal_to_other_zeros() -> None:
    angles = np.array([0.00, 0.01, 0.03, 1.27, 1.28, 1.30])  # two groups, cos about 0.3 between them
    X = np.vstack([np.zeros((3, 2)), np.column_stack([np.cos(angles), np.sin(angles)])])
    group = np.repeat([0, 1, 2], 3)
    for points in (X, sp.csr_array(X)):
        i, j = neighbor_graph(points, 2, metric="cosine", edge_weights="binary").nonzero()
        assert_array_equal(group[i], group[j])
        # The third neighbours of the other groups are each other, at distance 0.7, not the zeros at distance 1.
        neighbours, distances, _ = find(points, 3, metric="cosine")
        assert_array_equal(group[neighbours[3:, 2]], [2, 2, 2, 1, 1, 1])
        assert_allclose(distances[:3, 2], 1.0)


def test_one_point_has_an_empty_graph() -> None:
    graph = neighbor_graph([[1.0, 2.0]])
    assert graph.shape == (1, 1)
    assert graph.nnz == 0


def test_lists_frames_and_integers_are_tables_too() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = np.arange(24).reshape(8, 3) ** 2
    expected = neighbor_graph(X.astype(float), 2).toarray()
    for table in (X.tolist(), X, X.astype(np.float32), pandas.DataFrame(X), polars.DataFrame(X)):
        assert_array_equal(neighbor_graph(table, 2).toarray(), expected)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (random_points(5), {"n_neighbors": 5}, r"n_neighbors=5 is too many for n=5 points; choose n_neighbors <= 4"),
        (random_points(5), {"n_neighbors": 0}, r"n_neighbors=0 .* choose n_neighbors >= 1"),
        (random_points(5), {"metric": "mahalanobis"}, r"'mahalanobis' is unknown; choose one of 'euclidean', 'cosine'"),
        (random_points(5), {"edge_weights": "umap"}, r"'umap' is unknown; .*'fuzzy', 'self-tuned', 'shared', 'binary'"),
        ([[1.0, 2.0], [3.0, np.nan]], {}, r"X\[1, 1\] is nan"),
        ([[np.inf, 2.0], [3.0, 4.0]], {}, r"X\[0, 0\] is inf"),
        (sp.csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, np.nan]]), {}, r"X\[1, 2\] is nan"),
        ([1.0, 2.0, 3.0], {}, r"X has shape \(3,\)"),
        (np.empty((0, 3)), {}, r"X has shape \(0, 3\)"),
        (np.empty((4, 0)), {}, r"X has shape \(4, 0\)"),
        ([["a", "b"], ["c", "d"]], {}, r"must hold numbers"),
    ],
)
def test_a_bad_argument_is_named_with_its_remedy(X: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        neighbor_graph(X, **{"n_neighbors": 1, **options})


def test_few_dimensions_are_searched_exactly_whatever_the_number_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn_search, "EXACT_LIMIT", 50)
    X = random_points(90, knn_search.TREE_DIMENSIONS)
    assert find(X, 6).recall == 1.0
    assert_array_equal(find(X, 6).neighbours, brute_force(X, 6, "euclidean")[0])


@all_weights
def test_memory_grows_with_the_number_of_points_not_its_square(edge_weights: str) -> None:
    n = 20_000
    X = random_points(n, 3)
    neighbor_graph(X[:100], edge_weights=edge_weights)  # imports
    tracemalloc.start()
    try:
        neighbor_graph(X, 10, edge_weights=edge_weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * n / 4  # bytes: a boolean matrix would need four times as much
