"""Similarities of all kinds: all views of one agree, the metrics that make them, and inputs that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hyphc import as_similarity
from hyphc.similarity import Dense, Features, Graph, similarity_from_distances, standardize
from hyphc.similarity.metrics import Cosine
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from strategies import KINDS, magnitude, similarity_of_kind, with_sizes

X = np.random.default_rng(0).normal(size=(20, 3))
W = (1 + cosine_similarity(X)) / 2
metrics = pytest.mark.parametrize("metric", ["auto", "cosine"])


def without_diagonal(matrix):
    return matrix - np.diag(np.diag(matrix))


@given(st.sampled_from(KINDS), st.integers(1, 15), st.integers(0, 2**31), st.booleans())
def test_all_views_of_a_similarity_agree(kind, n, seed, weighted):
    similarity = similarity_of_kind(kind, n, seed)
    if weighted:
        similarity = with_sizes(similarity, np.random.default_rng(seed).integers(1, 5, n).astype(float))
    full, sizes = similarity.to_dense(), similarity.sizes
    rounding = 1e-12 * (1 + magnitude(similarity))
    exact = rounding if weighted or kind == "blend" else 1e-15  # terms of a background, and of large sums, cancel
    assert_allclose(full, full.T, atol=rounding)
    assert_array_equal(np.diag(full), 0)
    i, j = np.indices((n, n))
    assert_allclose(similarity.pairs(i, j), full, atol=exact)
    assert_allclose(similarity.degrees(), full.sum(axis=1), atol=rounding)
    assert_allclose(similarity.total(), full.sum() / 2, atol=rounding)
    v = np.random.default_rng(seed).normal(size=n)
    assert_allclose(similarity.product(v), full @ v, atol=10 * rounding)
    if kind in ("features", "blend") or not weighted:  # sizes of matrices say nothing of the sums in them
        assert similarity.maximum() >= (full / np.outer(sizes, sizes)).max() - rounding
    group = np.random.default_rng(seed).integers(3, size=n)
    apart = np.equal.outer(np.arange(3), group)
    assert_allclose(similarity.group_sums(group, 3), apart @ full @ apart.T, atol=rounding)
    index = np.random.default_rng(seed).permutation(n)[: (n + 1) // 2]
    assert_allclose(similarity.block(index), full[np.ix_(index, index)], atol=exact)
    assert_allclose(similarity.subset(index).to_dense(), full[np.ix_(index, index)], atol=exact)
    assert type(similarity.subset(index)) is type(similarity)
    assert_allclose(np.concatenate([rows for _, rows in similarity.row_chunks()]), full, atol=exact)


def test_cosine_is_one_plus_cos_over_two():
    similarity = as_similarity(X, "cosine")
    assert isinstance(similarity, Features)
    assert_allclose(similarity.to_dense(), without_diagonal(W), atol=1e-15)


def test_a_zero_row_is_half_similar_to_everything():
    similarity = as_similarity([[0.0, 0.0], [1.0, 2.0], [-3.0, 0.5]], "cosine")
    assert_allclose(similarity.pairs(0, [1, 2]), 0.5)


def test_huge_and_tiny_rows_have_a_direction():
    similarity = Cosine().build(np.array([[1e300, 1e300], [1e-300, 1e-300], [1.0, -1.0]]))
    assert_allclose(similarity.to_dense(), [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]], atol=1e-15)


def test_linear_chooses_the_least_safe_offset():
    similarity = as_similarity(X, "linear")
    assert_allclose(similarity.offset, (X**2).sum(axis=1).max())
    assert_allclose(similarity.to_dense(), without_diagonal(similarity.offset + X @ X.T))


def test_rbf_and_callables_are_dense():
    assert_allclose(as_similarity(X, "rbf", gamma=0.3).to_dense(), without_diagonal(rbf_kernel(X, gamma=0.3)))
    default = rbf_kernel(X, gamma=1 / (3 * X.var()))
    assert_allclose(as_similarity(X, "rbf").to_dense(), without_diagonal(default))
    similarity = as_similarity(X, lambda rows: np.exp(-squareform(pdist(rows))))
    assert isinstance(similarity, Dense)
    assert as_similarity(np.ones((4, 2)), "rbf").to_dense().max() == 1.0


def test_neighbours_give_a_graph():
    for metric in ("euclidean", "cosine"):
        graph = as_similarity(X, metric, n_neighbors=4)
        assert isinstance(graph, Graph)
        assert (np.diff(graph.indptr) >= 4).all()


@metrics
def test_a_similarity_is_returned_as_it_is(metric):
    similarity = as_similarity(X, metric)
    assert as_similarity(similarity) is similarity


@pytest.mark.parametrize("dtype", [np.int32, np.bool_, np.float16, np.float32, np.float64])
def test_numbers_of_any_type_are_taken(dtype):
    values = (np.abs(X) * 3).astype(dtype)
    expected = (1 + cosine_similarity(values.astype(float))) / 2
    assert_allclose(as_similarity(values, "cosine").to_dense(), without_diagonal(expected), atol=1e-6)
    blends = as_similarity(values), as_similarity(values.astype(float))
    assert_allclose(*(blend.to_dense() for blend in blends), atol=1e-6)


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(X), pl.DataFrame(X), X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]],
    ids=["pandas", "polars", "list", "fortran", "strided"],
)
@metrics
def test_frames_lists_and_strided_arrays_are_taken(frame, metric):
    assert_allclose(as_similarity(frame, metric).to_dense(), as_similarity(X, metric).to_dense())


def test_the_callers_arrays_are_not_modified():
    features, matrix, graph = X.copy(), W.copy(), sp.csr_array(W)
    for array in (features, matrix, graph.data, graph.indices, graph.indptr):
        array.flags.writeable = False
    as_similarity(features), as_similarity(features, "rbf"), as_similarity(features, "cosine", n_neighbors=3)
    as_similarity(features, scale=True), as_similarity(features, "cosine"), as_similarity(sp.csr_array(features))
    as_similarity(matrix, "precomputed"), as_similarity(graph, "precomputed")
    standardize(features), similarity_from_distances(1 - matrix)
    assert_array_equal(features, X)
    assert_array_equal(graph.toarray(), W)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
def test_any_sparse_format_is_a_graph_without_loops_zeros_or_repeats(make):
    graph = as_similarity(make(W), "precomputed")
    assert isinstance(graph, Graph)
    assert_allclose(graph.to_dense(), without_diagonal(W))
    repeated = sp.coo_array(([1.0, 1.0, 2.0, 0.0, 0.0, 5.0], ([0, 0, 1, 1, 2, 2], [1, 1, 0, 2, 1, 2])), shape=(3, 3))
    graph = as_similarity(repeated, "precomputed")
    assert graph.n_edges == 1
    assert graph.pairs(0, 1) == 2.0


def test_edges_list_each_edge_once():
    graph = as_similarity(sp.csr_array(W), "precomputed")
    i, j, w = graph.edges()
    assert (i < j).all()
    assert len(w) == graph.n_edges == 190
    assert_allclose(w, W[i, j])


def test_distances_become_similarities_square_or_condensed():
    d = pdist(X)
    for method in ("reverse", "gaussian", "inverse"):
        condensed, square = (similarity_from_distances(form, method) for form in (d, squareform(d)))
        assert_array_equal(condensed.W, square.W)
        assert_array_equal(np.argsort(condensed.pairs(0, np.arange(1, 20))), np.argsort(-squareform(d)[0, 1:]))
    assert_allclose(similarity_from_distances(d, "gaussian", sigma=2.0).pairs(0, 1), np.exp(-(d[0] ** 2) / 8))


def test_standardize_drops_constant_columns():
    Z = standardize(np.column_stack([X, np.full(20, 3.0)]))
    assert Z.shape == (20, 3)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1)
    assert standardize(np.ones((3, 2))).shape == (3, 0)


def test_one_point_and_no_columns_are_legal():
    few = [as_similarity(rows, metric) for rows in ([[1.0]], np.ones((2, 0))) for metric in ("auto", "cosine")]
    for similarity in (*few, as_similarity([[3.0]], "precomputed")):
        assert similarity.to_dense().shape == (similarity.n, similarity.n)
        assert similarity.degrees().shape == (similarity.n,)


def changed(matrix, i, j, value):
    copy = matrix.copy()
    copy[i, j] = value
    return copy


def graph_with(i, j, value):
    copy = sp.lil_array(W)
    copy[i, j] = value
    return copy.tocsr()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_similarity(changed(X, 3, 1, np.nan), "cosine"), r"X\[3, 1\] is NaN, .* metric='auto' skips"),
        (lambda: as_similarity(changed(X, 3, 1, np.inf)), r"X\[3, 1\] is inf"),
        (lambda: as_similarity(changed(W, 2, 5, np.nan), "precomputed"), r"w\[2, 5\] is nan"),
        (lambda: as_similarity(changed(W, 2, 5, -1.0), "precomputed"), r"w\[2, 5\] = -1 is negative"),
        (lambda: as_similarity(changed(W, 2, 5, 9.0), "precomputed"), r"w\[2, 5\] = 9 but w\[5, 2\].*choose directed="),
        (lambda: as_similarity(graph_with(2, 5, np.nan), "precomputed"), "is nan"),
        (lambda: as_similarity(graph_with(2, 5, -1.0), "precomputed"), r"Edge \(2, 5\) has weight -1"),
        (lambda: as_similarity(graph_with(2, 5, 9.0), "precomputed"), r"w\[2, 5\] = 9 but w\[5, 2\]"),
        (lambda: as_similarity(X, "precomputed"), r"must be square; got shape \(20, 3\)"),
        (lambda: as_similarity(sp.csr_array(X), "precomputed"), r"must be square; got shape \(20, 3\)"),
        (lambda: as_similarity(sp.csr_array(X), "cosine"), "TruncatedSVD"),
        (lambda: as_similarity(X[0]), r"shape \(n, d\); got \(3,\)"),
        (lambda: as_similarity(np.empty((0, 3)), "cosine"), "at least one point"),
        (lambda: as_similarity(np.empty((0, 3))), "at least one point"),
        (lambda: as_similarity(sp.csr_array((0, 3))), "at least one point"),
        (lambda: as_similarity(sp.csr_array(changed(X, 3, 1, np.nan))), "is nan"),
        (lambda: as_similarity(X, scale="columns"), "scale='columns' is unknown; choose 'auto', True or False"),
        (lambda: as_similarity(X, background=-1.0), "background=-1.0 must be a finite number of at least 0"),
        (lambda: as_similarity(X, "rbf", background=0.1), "background=0.1 goes with metric='auto'"),
        (lambda: as_similarity(X, "rbf", scale=False), "scale=False goes with metric='auto'"),
        (lambda: as_similarity(np.empty((0, 0)), "precomputed"), "at least one point"),
        (lambda: as_similarity([["a", "b"]]), "must hold numbers"),
        (lambda: as_similarity(X, "mahalanobis"), "metric='mahalanobis' is unknown; choose one of"),
        (lambda: as_similarity(X, "euclidean"), "is a distance; give n_neighbors"),
        (lambda: as_similarity(X, "rbf", n_neighbors=3), "cannot be used with n_neighbors"),
        (lambda: as_similarity(X, "rbf", gamma=-1.0), "gamma=-1.0"),
        (lambda: as_similarity(X, "cosine", gamma=1.0), "gamma=1.0 goes with metric='rbf', not with 'cosine'"),
        (lambda: as_similarity(X, offset=1.0), "offset=1.0 goes with metric='linear', not with 'auto'"),
        (lambda: as_similarity(as_similarity(X), "cosine"), "X holds similarities, and metric='cosine'"),
        (lambda: as_similarity(as_similarity(X), n_neighbors=3), "n_neighbors"),
        (lambda: as_similarity(X, lambda rows: rows), r"returned shape \(20, 3\)"),
        (lambda: as_similarity(X, "linear", offset=0.0), r"is negative; choose offset >="),
        (lambda: Dense(W, sizes=[1.0]), "sizes must be 20 positive"),
        (lambda: Dense(W, sizes=np.zeros(20)), "sizes must be 20 positive"),
        (lambda: similarity_from_distances([1.0, 2.0]), "2 distances are not"),
        (lambda: similarity_from_distances([-1.0]), "is negative"),
        (lambda: similarity_from_distances(np.ones((2, 3))), "square or condensed"),
        (lambda: similarity_from_distances([1.0], "cubic"), "method='cubic'"),
        (lambda: similarity_from_distances([1.0], "gaussian", sigma=0.0), "sigma=0.0"),
    ],
)
def test_bad_input_is_named_with_its_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("entries", [1, 7, 1_000])
def test_pairs_of_features_are_the_same_however_few_rows_are_looked_at_together(entries, monkeypatch):
    monkeypatch.setattr("hyphc.similarity.features.CACHED_ENTRIES", entries)
    similarity = as_similarity(X, "cosine")
    i, j = np.indices((20, 20))
    assert_allclose(similarity.pairs(i, j), similarity.to_dense(), atol=1e-15)
    assert similarity.pairs(3, 4).shape == ()
    assert similarity.pairs(i[:0], j[:0]).shape == (0, 20)


def test_a_safe_offset_is_required_where_pairs_cannot_be_checked(monkeypatch):
    monkeypatch.setattr(Features, "MAX_CHECKED", 10)
    with pytest.raises(ValueError, match="does not ensure similarities >= 0"):
        as_similarity(X, "linear", offset=0.0)


def test_what_rounding_puts_below_zero_counts_as_zero_and_no_more_does():
    opposite = as_similarity([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, 0.0, 0.0]], "cosine")
    W = opposite.to_dense()
    assert -1e-15 < W.min() < 0
    assert Dense(W).pairs(0, 1) == Graph(W).pairs(0, 1) == 0.0
    assert W.min() < 0  # the caller's matrix is left alone
    assert_allclose(Dense(W).to_dense(), W, atol=1e-15)
    W[0, 1] = W[1, 0] = -1e-6
    with pytest.raises(ValueError, match=r"w\[0, 1\] = -1e-06 is negative"):
        Dense(W - np.diag([0, 5, 0]))  # whatever the diagonal holds
    with pytest.raises(ValueError, match="has weight -1e-06"):
        Graph(W)


def test_what_does_not_fit_in_memory_says_so_first(monkeypatch):
    monkeypatch.setattr("hyphc._runtime.validation.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="set n_neighbors"):
        as_similarity(X, "rbf")
    with pytest.raises(MemoryError, match="use a subset"):
        as_similarity(X, "cosine").to_dense()
