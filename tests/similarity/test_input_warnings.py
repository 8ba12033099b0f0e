"""Warnings for input that is likely something else: told where it helps, silent where it would cry wolf."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity, dasgupta_cost
from hyphc.similarity import similarity_from_distances
from hyphc.similarity.inputs.input_warnings import looks_like_distances
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from strategies import chain, similarity_of_kind, weight_matrix

IRIS, WINE, DIGITS = load_iris().data, load_wine().data, load_digits().data[:200]


def noise(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def without_diagonal(W: np.ndarray) -> np.ndarray:
    return W - np.diag(np.diag(W))


# --- distances passed as similarities --------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "correlation", "cosine", "sqeuclidean"])
@pytest.mark.parametrize(
    "X",
    [noise(30, 3), noise(60, 5, 1), noise(300, 10, 2), IRIS, WINE, DIGITS],
    ids=["30 x 3", "60 x 5", "300 x 10", "iris", "wine", "digits"],
)
def test_distances_are_recognised(X, distance):
    D = squareform(pdist(X, distance))
    with pytest.warns(UserWarning, match=r"X looks like distances.*metric='precomputed_distances'"):
        as_similarity(D, "precomputed")


@pytest.mark.parametrize("form", [lambda D: D, lambda D: D.tolist(), pd.DataFrame], ids=["array", "list", "frame"])
def test_in_every_form_and_by_every_door(form):
    D = form(squareform(pdist(noise(40, 3))))
    for door in (
        lambda: as_similarity(D, "precomputed"),
        lambda: HypHC(metric="precomputed", max_iter=1, random_state=0).fit(D),
        lambda: dasgupta_cost(chain(40), D),
    ):
        with pytest.warns(UserWarning, match="looks like distances"):
            door()


def test_correlation_distances_whose_diagonal_is_zero_but_for_rounding_are_recognised():
    D = 1 - np.corrcoef(noise(50, 8))
    D[3, 3] = 2e-16
    assert looks_like_distances(D)


def test_numbers_of_any_type_are_distances():
    D = np.round(100 * squareform(pdist(noise(50, 3))))
    for dtype in (np.int32, np.uint16, np.float32):
        assert looks_like_distances(D.astype(dtype))


def silent(W) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(W, "precomputed")


@pytest.mark.parametrize("kind", ["features", "dense", "graph"])
@pytest.mark.parametrize("seed", range(12))
def test_our_own_matrices_are_similarities(kind, seed):
    for n in (4, 8, 15, 40):
        silent(similarity_of_kind(kind, n, seed).to_dense())


@pytest.mark.parametrize("X", [noise(50, 3), IRIS, WINE, DIGITS], ids=["noise", "iris", "wine", "digits"])
def test_similarities_of_rows_are_similarities_with_and_without_their_diagonal(X):
    blend = as_similarity(X, background=0.0).to_dense()
    turned = similarity_from_distances(pdist(X)).W
    matrices = [(1 + cosine_similarity(X)) / 2, rbf_kernel(X, gamma=1 / X.var()), turned, blend]
    for W in matrices:
        silent(W)
        silent(without_diagonal(W))
        assert not looks_like_distances(without_diagonal(W))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 1.0])
def test_adjacency_matrices_are_similarities(seed, share):
    rng = np.random.default_rng(seed)
    for n in (10, 60):
        edges = np.triu(rng.random((n, n)) < share, 1)
        binary = (edges + edges.T).astype(float)
        weighted = without_diagonal(binary * (1 + weight_matrix(n, seed, "real")))
        for A in (binary, binary.astype(bool), binary.astype(int), weighted):
            silent(A)
            silent(sp.csr_array(A))


@pytest.mark.parametrize("seed", range(30))
def test_unrelated_numbers_are_similarities_even_if_they_obey_the_triangle_inequality(seed):
    for n in (5, 8, 10, 15, 20, 30, 60):
        for least in (0.0, 0.5, 0.9):
            silent(without_diagonal(least + (1 - least) * weight_matrix(n, seed, "real")))


def test_planted_groups_are_similarities():
    group = np.arange(60) % 3
    for seed in range(10):
        silent(without_diagonal(1 + weight_matrix(60, seed, "real") + 2 * (group[:, None] == group)))


def test_matrices_that_say_nothing_are_left_alone():
    for W in (np.eye(30), np.zeros((30, 30)), np.ones((30, 30)), np.ones((30, 30)) - np.eye(30), np.ones((1, 1))):
        silent(W)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_what_is_no_similarity_at_all_is_still_an_error(bad):
    D = squareform(pdist(noise(30, 3)))
    D[3, 7] = D[7, 3] = bad
    with pytest.raises(ValueError, match=r"3, 7|7, 3"):
        as_similarity(D, "precomputed")


def test_text_and_tables_are_errors_of_their_own():
    with pytest.raises(ValueError, match="must hold numbers"):
        as_similarity(np.full((10, 10), "x"), "precomputed")
    with pytest.raises(ValueError, match="square"):
        as_similarity(noise(30, 3), "precomputed")


def test_distances_named_as_such_are_taken_in_silence():
    D = squareform(pdist(noise(40, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(D, "precomputed_distances")


# --- one wide column -------------------------------------------------------------------------------------------------


WIDE = noise(50, 3) * [1.0, 100.0, 1.0]


@pytest.mark.parametrize("metric", ["cosine", "linear", "rbf"])
def test_a_column_that_decides_alone_is_told(metric):
    with pytest.warns(UserWarning, match="Column 1 carries 100% of the variance.*metric='auto' or .*standardize"):
        as_similarity(WIDE, metric)
    with pytest.warns(UserWarning, match="Column 1 carries"):
        HypHC(metric=metric, max_iter=1, random_state=0).fit(WIDE[:20])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_neighbour_graph_of_raw_columns_is_warned_of_too(metric):
    with pytest.warns(UserWarning, match="Column 1 carries"):
        as_similarity(WIDE, metric, n_neighbors=5)


@pytest.mark.parametrize("scale", ["auto", True, False])
def test_the_default_decides_for_itself(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(WIDE, scale=scale)
        HypHC(random_state=0).fit(WIDE)


def test_nine_tenths_of_the_variance_are_not_too_much():
    Z = noise(100, 2)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(Z * np.sqrt([0.899, 0.101]), "cosine")
        as_similarity(Z[:, :1] * 1000, "cosine")  # a single column decides anyway
        as_similarity(np.ones((10, 3)), "cosine")
    with pytest.warns(UserWarning, match="Column 0 carries 90%"):
        as_similarity(Z * np.sqrt([0.901, 0.099]), "cosine")


# --- a square matrix as features -------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [as_similarity, lambda X: HypHC(random_state=0).fit(X)], ids=["as_similarity", "fit"])
def test_a_symmetric_matrix_under_the_default_is_asked_about(door):
    W = weight_matrix(20, 0, "real")
    with pytest.warns(UserWarning, match=r"symmetric matrix of 20 rows.*'precomputed' if.*'precomputed_distances' if"):
        door(W)


def test_other_square_tables_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(noise(20, 20))
        as_similarity(np.ones((2, 2)))
        as_similarity(weight_matrix(20, 0, "real"), "cosine")
