"""``metric="auto"``: any table in, a tree out, and the same answers for new points."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity, dasgupta_cost
from hyphc.fit.weighted_leaves import expanded
from hyphc.scores.heights import with_similarity_heights
from hyphc.similarity import Background, Blend, Graph, similarity_from_distances
from hyphc.similarity.knn.search import neighbor_graph
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, load_wine, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

BLOBS, KINDS = make_blobs(150, centers=3, n_features=3, random_state=0, cluster_std=0.7)
MOONS, HALVES = make_moons(150, noise=0.05, random_state=0)


FEW = BLOBS[::3]


def fitted(X, **options) -> HypHC:
    return HypHC(random_state=0, **options).fit(X)


# --- what it is ------------------------------------------------------------------------------------------------------


def test_it_is_the_neighbour_graph_of_scaled_columns_and_a_background_of_the_stated_strength():
    X = MOONS * [1.0, 100.0] + [5.0, -3.0]
    blend = as_similarity(X, scale=True, background=0.02)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    graph = neighbor_graph(Z, 15).toarray()
    squared = squareform(pdist(Z, "sqeuclidean"))
    slope = 0.02 * graph.sum() / squared.sum()
    background = slope * (squared.sum() / (150 * 149) - squared)
    np.fill_diagonal(background, 0.0)
    assert isinstance(blend, Blend)
    assert_allclose(blend.to_dense(), graph + background, atol=1e-10)


def test_it_is_the_default_of_the_estimator_and_of_as_similarity():
    by_default, named = as_similarity(BLOBS), as_similarity(BLOBS, "auto")
    assert_array_equal(by_default.to_dense(), named.to_dense())
    assert_array_equal(fitted(BLOBS).similarity_.to_dense(), named.to_dense())


def test_without_background_the_graph_alone_decides():
    blend = as_similarity(MOONS, background=0.0, scale=False)
    assert blend.background.slope == 0.0
    assert_allclose(blend.to_dense(), neighbor_graph(MOONS, 15).toarray(), atol=1e-12)
    assert adjusted_rand_score(fitted(MOONS, n_clusters=2, background=0).labels_, HALVES) > 0.95


def test_numbers_of_neighbours_and_edge_weights_are_the_callers():
    blend = as_similarity(MOONS, n_neighbors=5, edge_weights="binary", scale=False)
    assert_allclose(blend.graph.to_dense(), neighbor_graph(MOONS, 5, edge_weights="binary").toarray())


# --- small and degenerate tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 16])
def test_few_rows_give_a_tree(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    model = fitted(X)
    assert model.tree_.n_leaves == n
    assert model.n_clusters_ == model.labels_.max() + 1
    assert np.isfinite(model.tree_.heights).all()
    assert np.isfinite(model.cost_)
    assert model.similarity_.graph.n_edges <= n * (n - 1) // 2
    assert model.predict(X).tolist() == model.labels_.tolist()


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 2)),
        np.ones((2, 2)),
        np.ones((7, 3)),
        np.zeros((40, 1)),
        np.full((20, 2), 1e6 + 1 / 3),
    ],
    ids=["one row", "two", "seven", "forty zeros", "thirds"],
)
def test_equal_rows_give_one_cluster(X):
    model = fitted(X)
    assert model.n_clusters_ == 1
    assert model.tree_.n_leaves == len(X)
    assert_allclose(model.tree_.heights, 0.0)
    assert model.predict(X[:1] + 5).tolist() == [0]


@pytest.mark.parametrize("scale", ["auto", True, False])
def test_columns_that_do_not_vary_change_nothing(scale):
    with_constants = np.column_stack([np.full(150, 7.0), BLOBS, np.zeros(150)])
    plain, padded = (as_similarity(X, scale=scale) for X in (BLOBS, with_constants))
    assert_allclose(padded.to_dense(), plain.to_dense(), atol=1e-12)


def test_one_column_is_enough():
    X = np.concatenate([np.linspace(0, 1, 30), np.linspace(50, 51, 30)])[:, None]
    model = fitted(X, n_clusters=2)
    assert model.labels_.tolist() == [0] * 30 + [1] * 30


@pytest.mark.parametrize("n", [2, 3, 5])
def test_as_many_neighbours_as_there_are_others_are_enough(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert as_similarity(X, n_neighbors=100).graph.n_edges == n * (n - 1) // 2


def test_rows_without_columns_are_refused():
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        HypHC().fit(np.empty((5, 0)))


# --- forms of input --------------------------------------------------------------------------------------------------


WHOLE = np.random.default_rng(3).integers(-5, 6, size=(60, 4))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64, np.bool_])
def test_numbers_of_any_type_are_the_same_numbers(dtype):
    values = WHOLE.astype(dtype)
    assert_allclose(as_similarity(values).to_dense(), as_similarity(values.astype(float)).to_dense(), atol=1e-12)


def test_rows_in_float32_are_summed_in_float64():
    X = (BLOBS + 1000).astype(np.float32)
    blend = as_similarity(X)
    assert blend.background.X.dtype == np.float64
    assert_allclose(blend.to_dense(), as_similarity(X.astype(float)).to_dense(), atol=1e-9)


@pytest.mark.parametrize(
    "form",
    [
        BLOBS.tolist(),
        pd.DataFrame(BLOBS, columns=list("abc")),
        pl.DataFrame(BLOBS),
        np.asfortranarray(BLOBS),
        np.repeat(BLOBS, 2, axis=0)[::2],
        np.repeat(BLOBS, 2, axis=1)[:, ::2],
    ],
    ids=["list", "pandas", "polars", "fortran", "every other row", "every other column"],
)
def test_lists_frames_and_strided_arrays_are_taken(form):
    assert_array_equal(as_similarity(form).to_dense(), as_similarity(BLOBS).to_dense())
    model = fitted(form)
    assert_array_equal(model.labels_, fitted(BLOBS).labels_)
    assert_array_equal(model.predict(form), model.labels_)


def test_the_callers_arrays_are_read_only_and_stay_as_they_are():
    X, weights, new = BLOBS.copy(), np.full(150, 2.0), BLOBS[:5] + 1
    rows = sp.csr_array(np.abs(BLOBS))
    before = [array.copy() for array in (X, weights, new, rows.data, rows.indices, rows.indptr)]
    for array in (X, weights, new, rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    model = HypHC(random_state=0).fit(X, sample_weight=weights)
    model.predict(new)
    model.partial_fit(new)
    fitted(rows).predict(rows[:3])
    for array, kept in zip((X, weights, new, rows.data, rows.indices, rows.indptr), before, strict=True):
        assert_array_equal(array, kept)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": -1.0}, "background=-1.0 must be a finite number of at least 0"),
        ({"background": np.nan}, "background=nan must be a finite number"),
        ({"background": np.inf}, "background=inf must be a finite number"),
        ({"scale": "yes"}, "scale='yes' is unknown; choose 'auto', True or False"),
        ({"scale": 2.0}, "scale=2.0 is unknown"),
        ({"scale": None}, "scale=None is unknown"),
        ({"scale": True, "metric": "cosine"}, "scale=True goes with metric='auto', not with 'cosine'; leave it out"),
        ({"scale": False, "metric": "linear"}, "scale=False goes with metric='auto', not with 'linear'"),
        ({"background": 0.1, "metric": "euclidean", "n_neighbors": 5}, "background=0.1 goes with metric='auto'"),
        ({"background": 0.0, "metric": "cosine"}, "background=0.0 goes with metric='auto'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"edge_weights": "heavy"}, "heavy"),
    ],
)
def test_values_that_mean_nothing_are_refused_with_the_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        as_similarity(BLOBS, **options)
    with pytest.raises(ValueError, match=message):
        HypHC(**options).fit(BLOBS)


# --- equal rows and weights ------------------------------------------------------------------------------------------


def same_partition(first, second) -> bool:
    return adjusted_rand_score(first, second) == 1.0


@pytest.mark.parametrize("X", [MOONS, BLOBS, load_wine().data[:120]], ids=["moons", "blobs", "wine"])
def test_a_weight_of_two_is_the_same_as_two_rows(X):
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    by_weight = HypHC(random_state=0).fit(X, sample_weight=weights)
    by_rows = fitted(np.repeat(X, weights, axis=0))
    assert_allclose(by_weight.similarity_.background.slope, by_rows.similarity_.background.slope, rtol=1e-9)
    assert_allclose(by_weight.similarity_.background.level, by_rows.similarity_.background.level, rtol=1e-9)
    assert by_weight.n_clusters_ == by_rows.n_clusters_
    assert same_partition(np.repeat(by_weight.labels_, weights), by_rows.labels_)
    for k in (2, 5):
        cuts = (by_weight.tree_.cut(k), by_rows.tree_.cut(k))
        assert same_partition(np.repeat(cuts[0], weights), cuts[1])
    # the same tree has the same heights, copies of a row below all others
    whole = expanded(by_weight.tree_, np.repeat(np.arange(len(X)), weights))
    heights = with_similarity_heights(whole, by_rows.similarity_).heights
    assert_allclose(heights[-len(X) + 1 :], by_weight.tree_.heights, rtol=1e-7, atol=1e-9)
    assert_allclose(heights[: -len(X) + 1], 0.0, atol=1e-9)


def test_equal_rows_are_one_point_among_the_neighbours_of_others():
    copies = np.repeat(
        MOONS, 20, axis=0
    )  # as many copies as neighbours: without merging, no edge would leave a row's copies
    blend, single = as_similarity(copies), as_similarity(MOONS)
    assert_allclose(blend.graph.to_dense()[::20, ::20], single.graph.to_dense(), atol=1e-12)
    assert blend.pairs(0, 1) > single.to_dense().max() - 1e-12


def test_copies_are_similar_by_one_and_the_background_is_theirs():
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    blend = as_similarity(X, scale=False)
    assert blend.graph.pairs(0, 1) == 1.0
    assert_array_equal(blend.to_dense()[0, 2:], blend.to_dense()[1, 2:])
    background = blend.background
    assert_allclose(background.pairs(0, 1), background.slope * background.level)


def test_weights_may_be_fractions():
    weights = np.random.default_rng(1).choice([0.25, 0.5, 1.5, 2.0], size=150)
    model = HypHC(random_state=0).fit(MOONS, sample_weight=weights)
    assert_allclose(model.tree_.leaf_sizes, weights)
    assert np.isfinite(model.tree_.heights).all()
    two = HypHC(n_clusters=2, random_state=0).fit(MOONS, sample_weight=weights)
    assert adjusted_rand_score(two.labels_, HALVES) > 0.95


def test_weights_of_one_change_nothing():
    model = HypHC(random_state=0).fit(MOONS, sample_weight=np.ones(150))
    assert_allclose(model.similarity_.to_dense(), as_similarity(MOONS).to_dense(), atol=1e-12)
    assert_array_equal(model.labels_, fitted(MOONS).labels_)


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_weights_must_be_positive(bad):
    weights = np.ones(150)
    weights[7] = bad
    with pytest.raises(ValueError, match="positive"):
        HypHC().fit(MOONS, sample_weight=weights)


# --- sparse rows -----------------------------------------------------------------------------------------------------


def documents(n: int = 300, n_words: int = 2_000) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of few words out of many, three topics with words of their own, lengths 1: as TF-IDF makes them."""
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=n)
    words = rng.integers(150, size=(n, 40)) + 150 * topic[:, None]
    words[:, :4] = rng.integers(450, n_words, size=(n, 4))
    counts = sp.csr_array((rng.random(words.size) + 0.5, words.ravel(), np.arange(0, words.size + 1, 40)), (n, n_words))
    counts.sum_duplicates()
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / lengths) @ counts), topic


def test_sparse_rows_stay_sparse(monkeypatch):
    X, topic = documents()

    def refuse(*_, **__):
        raise AssertionError("sparse rows were made dense")

    for kind in (sp.csr_array, sp.csr_matrix):
        monkeypatch.setattr(kind, "todense", refuse)
    wide = X.shape[0] * X.shape[1]
    dense = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", lambda a, *_, **__: dense(a) if np.prod(a.shape) < wide else refuse())
    model = fitted(X, n_clusters=3)
    assert adjusted_rand_score(model.labels_, topic) > 0.9
    assert sp.issparse(model.similarity_.source.rows)
    assert model.similarity_.background.n_columns <= 50
    assert_array_equal(model.predict(X), model.labels_)


def test_sparse_rows_are_neither_scaled_nor_centred():
    X, _ = documents(n=60)
    blend = as_similarity(X)
    assert_allclose(blend.graph.to_dense(), neighbor_graph(X.toarray(), 10).toarray(), atol=1e-9)
    assert blend.source.scaling is None


def test_the_background_of_sparse_rows_sees_their_singular_vectors():
    X = sp.random_array((80, 30), density=0.3, random_state=np.random.default_rng(0), format="csr")
    blend = as_similarity(X, background=0.01)
    full = X.toarray()
    _, _, axes = np.linalg.svd(full, full_matrices=False)
    seen = full @ axes[:29].T  # one fewer than columns
    expected = Background(seen, slope=blend.background.slope)
    assert_allclose(blend.background.to_dense(), expected.to_dense(), atol=1e-8)
    assert_allclose(blend.background.total(), 0.0, atol=1e-8)


@pytest.mark.parametrize("shape", [(1, 5), (2, 1), (30, 1), (30, 2)])
def test_small_sparse_tables_give_a_tree(shape):
    X = sp.random_array(shape, density=0.7, random_state=np.random.default_rng(1), format="csr")
    model = fitted(X)
    assert model.tree_.n_leaves == shape[0]
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_any_sparse_format_gives_the_same(kind):
    X, _ = documents(n=60)
    assert_allclose(as_similarity(kind(X)).to_dense(), as_similarity(X).to_dense(), atol=1e-12)


def test_equal_sparse_rows_count_as_weights_do():
    X, _ = documents(n=60)
    weights = np.random.default_rng(0).integers(1, 3, 60)
    by_weight = HypHC(n_clusters=3, random_state=0).fit(X, sample_weight=weights)
    by_rows = fitted(X[np.repeat(np.arange(60), weights)], n_clusters=3)
    assert_allclose(by_weight.similarity_.background.slope, by_rows.similarity_.background.slope, rtol=1e-6)
    assert same_partition(np.repeat(by_weight.labels_, weights), by_rows.labels_)


# --- new points ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X", [MOONS, BLOBS, load_wine().data, WHOLE.astype(float)], ids=["moons", "blobs", "wine", "repeated rows"]
)
def test_fitted_rows_get_their_own_label(X):
    model = fitted(X)
    assert_array_equal(model.predict(X), model.labels_)
    three = fitted(X, n_clusters=3)
    assert_array_equal(three.predict(X), three.labels_)


def test_points_further_out_than_any_seen_join_the_nearest_cluster():
    model = fitted(BLOBS, n_clusters=3)
    centres = np.array([BLOBS[model.labels_ == c].mean(axis=0) for c in range(3)])
    middle = centres.mean(axis=0)
    for far in (3.0, 10.0, 1e3, 1e6):
        assert model.predict(middle + far * (centres - middle)).tolist() == [0, 1, 2]


def test_new_points_are_scaled_as_the_fitted_ones_were():
    X = BLOBS * [1.0, 1000.0, 0.01]
    model, plain = fitted(X, n_clusters=3, scale=True), fitted(BLOBS, n_clusters=3, scale=True)
    assert same_partition(model.labels_, plain.labels_)
    new = np.random.default_rng(5).normal(size=(40, 3)) * 5
    order = [plain.labels_[np.flatnonzero(model.labels_ == c)[0]] for c in range(3)]
    assert_array_equal(np.array(order)[model.predict(new * [1.0, 1000.0, 0.01])], plain.predict(new))
    one_by_one = [model.predict(row[None])[0] for row in new]
    assert_array_equal(one_by_one, model.predict(new))


def test_new_rows_of_another_width_are_refused():
    model = fitted(BLOBS)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(BLOBS[:, :2])
    with pytest.raises(ValueError, match="X has 2 columns but the fitted rows have 3"):
        HypHC(random_state=0).fit(as_similarity(BLOBS)).predict(BLOBS[:, :2])


def test_added_points_keep_the_scaling_and_the_strength_of_the_background():
    X = BLOBS * [1.0, 1000.0, 0.01]
    model = fitted(X[:120], n_clusters=3)
    before = model.similarity_
    scaled = (X[120:] - before.source.scaling.centre) * before.source.scaling.factor
    model.partial_fit(X[120:])
    after = model.similarity_
    assert after.source.scaling is before.source.scaling
    assert (after.background.slope, after.background.level) == (before.background.slope, before.background.level)
    assert_allclose(after.background.X[:120], before.background.X)
    assert_allclose(after.background.X[120:], scaled)
    assert model.tree_.n_leaves == 150
    assert adjusted_rand_score(model.labels_, KINDS) == 1.0
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, after))


def test_points_far_outside_can_be_added():
    model = fitted(BLOBS, n_clusters=3).partial_fit(np.full((2, 3), 1e4))
    assert model.tree_.n_leaves == 152
    assert np.isfinite(model.tree_.heights).all()


def test_points_are_added_to_weighted_rows():
    model = HypHC(n_clusters=3, random_state=0).fit(BLOBS[:120], sample_weight=np.full(120, 2.0))
    model.partial_fit(BLOBS[120:])
    assert_array_equal(model.tree_.leaf_sizes, [2.0] * 120 + [1.0] * 30)
    assert adjusted_rand_score(model.labels_, KINDS) == 1.0


# --- the fit ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [MOONS, WHOLE], ids=["moons", "repeated rows"])
def test_the_tree_does_not_depend_on_the_number_of_threads(X):
    one, two = (HypHC(random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    assert_array_equal(one.tree_.children, two.tree_.children)
    assert one.cost_ == two.cost_
    assert_array_equal(one.labels_, two.labels_)


def test_the_continuous_stage_alone_works_on_the_blend():
    model = fitted(FEW, n_clusters=3, refine=False, max_iter=300)
    assert 0 < model.n_iter_ <= 300
    assert np.isfinite(model.loss_curve_).all()
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, model.similarity_))
    assert adjusted_rand_score(model.labels_, KINDS[::3]) > 0.95
    assert model.cost_ >= fitted(FEW).cost_ - 1e-9


def test_disconnected_graphs_are_joined_by_the_background():
    rng = np.random.default_rng(0)
    # six groups far apart, in two families that lie further apart still
    centres = np.array([0.0, 100.0, 200.0, 10_000.0, 10_100.0, 10_200.0])
    X = np.concatenate([np.array([c, 0.0]) + rng.normal(size=(30, 2)) for c in rng.permutation(centres)])
    model = fitted(X, scale=False)
    groups = np.round(X[:, 0] / 100).astype(int)
    assert model.n_clusters_ == 6
    assert same_partition(model.labels_, groups)
    for k in (2, 6):
        expected = groups > 50 if k == 2 else groups
        assert same_partition(model.tree_.cut(k, criterion="height"), expected)


def test_many_components_are_joined_too():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)) * 1000, 4, axis=0) + rng.normal(size=(240, 2))
    model = fitted(X, n_neighbors=3, scale=False)
    assert model.tree_.n_leaves == 240
    assert same_partition(model.tree_.cut(60, criterion="height"), np.repeat(np.arange(60), 4))
    assert np.isfinite(model.tree_.heights).all()


def test_a_graph_alone_of_several_components_gives_a_tree():
    X = np.concatenate([MOONS, MOONS + 1000])
    model = fitted(X, n_clusters=2, background=0, scale=False)
    assert same_partition(model.labels_, np.arange(300) // 150)


def test_raw_tables_come_out_as_people_expect():
    wine = load_wine()
    assert adjusted_rand_score(fitted(wine.data, n_clusters=3).labels_, wine.target) >= 0.75
    moons, y = make_moons(300, noise=0.05, random_state=1)
    assert adjusted_rand_score(fitted(moons, n_clusters=2).labels_, y) >= 0.95
    digits = load_digits()
    found = fitted(digits.data[:600], n_clusters=10).labels_
    assert adjusted_rand_score(found, digits.target[:600]) >= 0.75


# --- distances -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "correlation"])
def test_distances_square_or_condensed_are_turned_round(distance):
    d = pdist(FEW, distance)
    expected = similarity_from_distances(d).to_dense()
    for form in (d, squareform(d)):
        assert_allclose(as_similarity(form, "precomputed_distances").to_dense(), expected)
        model = HypHC(3, metric="precomputed_distances", max_iter=20, random_state=0).fit(form)
        assert_allclose(model.similarity_.to_dense(), expected)
    by_similarity = HypHC(3, metric="precomputed", max_iter=20, random_state=0).fit(similarity_from_distances(d).W)
    assert_array_equal(model.labels_, by_similarity.labels_)
    assert_allclose(model.cost_, by_similarity.cost_)


def test_new_points_are_predicted_by_their_distances_to_the_fitted():
    D = squareform(pdist(FEW))
    model = HypHC(3, metric="precomputed_distances", max_iter=20, random_state=0).fit(D[:40, :40])
    assert_array_equal(model.predict(D[:40, :40]), model.labels_)
    predicted = model.predict(D[40:, :40])
    assert adjusted_rand_score(np.concatenate([model.labels_, predicted]), KINDS[::3]) == 1.0
    assert model.predict(D[40:, :40] + 1e6).shape == (10,)
    with pytest.raises(ValueError, match=r"columns|features"):
        model.predict(D[40:, :30])


def test_distances_must_be_distances():
    with pytest.raises(ValueError, match="negative"):
        as_similarity(-squareform(pdist(FEW)), "precomputed_distances")
    with pytest.raises(ValueError, match="square"):
        as_similarity(FEW, "precomputed_distances")
    with pytest.raises(ValueError, match="square"):
        HypHC(metric="precomputed_distances").fit(FEW)


def test_a_graph_made_by_hand_is_still_a_graph():
    similarity = as_similarity(sp.csr_array(squareform(pdist(FEW) < 1.0).astype(float)), "precomputed")
    assert isinstance(similarity, Graph)
    assert not isinstance(similarity, Blend)


def spirals(n: int, begin: float = 0.8, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Three thin arms of n points each, evenly spaced."""
    turn = np.linspace(begin, 8.0, n)
    arms = [np.column_stack([turn * np.cos(turn + a), turn * np.sin(turn + a)]) for a in (0.0, 2.1, 4.2)]
    X = np.vstack(arms)
    return X + noise * np.random.default_rng(0).standard_normal(X.shape), np.repeat(np.arange(3), n)


@pytest.mark.parametrize(("begin", "noise", "k"), [(0.8, 0.0, 8), (0.6, 0.05, 6)])
def test_few_rows_along_curves_have_fewer_neighbours_unless_others_are_asked_for(begin, noise, k):
    X, arms = spirals(104, begin, noise)
    model = fitted(X, n_clusters=3)
    assert model.similarity_.source.n_neighbors == k
    assert adjusted_rand_score(arms, model.labels_) == 1.0
    assert f"{k} neighbours of each row, since rows lie along curves" in model.plan_.rows
    for other in (fitted(X, n_clusters=3, n_neighbors=15), fitted(spirals(200)[0]), fitted(X[:, :1])):
        assert other.similarity_.source.n_neighbors == 15
        assert "curves" not in other.plan_.rows
    assert model.predict(X[::5] + 1e-6).tolist() == model.labels_[::5].tolist()


@pytest.mark.parametrize(("n", "expected"), [(2, 1), (5, 4), (12, 4), (30, 5), (60, 10), (90, 15), (400, 15)])
def test_each_of_few_rows_has_a_sixth_of_them_as_neighbours(n, expected):
    X = np.random.default_rng(0).normal(size=(n, 4))
    assert_allclose(as_similarity(X, scale=False).graph.to_dense(), neighbor_graph(X, expected).toarray(), atol=1e-9)


def test_clear_groups_of_few_rows_are_found():
    rng = np.random.default_rng(1)
    groups = np.arange(30) % 3
    X = 4 * rng.normal(size=(3, 6))[groups] + rng.normal(size=(30, 6))
    assert adjusted_rand_score(groups, fitted(X).labels_) == 1.0
