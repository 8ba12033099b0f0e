"""Missing values and columns of categories under the default metric."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hyphc import Constraints, HypHC, as_similarity, support
from hyphc._runtime.table_columns import is_missing_value
from hyphc.fit.fingerprint import checksum
from hyphc.io import read_points
from hyphc.similarity.inputs.missing_values import MaskedRows, find_masked_neighbors
from hyphc.similarity.inputs.mixed_types import MixedTable, column_shares, source_columns
from hyphc.similarity.scaling import column_scaling
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import nan_euclidean_distances

X, GROUPS = make_blobs(90, centers=[[6, 0, 0, 1], [0, 6, 0, 1], [0, 0, 6, 1]], cluster_std=0.5, random_state=0)


def with_gaps(X, share, seed=0):
    """A copy with about this share missing; every row keeps a value."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    holes[holes.all(axis=1), 0] = False
    return np.where(holes, np.nan, X)


@st.composite
def tables(draw):
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    cell = st.one_of(st.just(np.nan), st.integers(-4, 4).map(float))
    return np.array(draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n)))


# --- distances -------------------------------------------------------------------------------------------------------


@given(tables(), st.integers(-600, 600))
def test_distances_are_scikit_learns_whatever_their_size(rows, exponent):
    rows = np.ldexp(rows, exponent) if abs(exponent) > 500 else rows
    n = len(rows)
    neighbours, distances = MaskedRows(rows, np.ones(rows.shape[1])).nearest(n - 1)
    scale = np.ldexp(1.0, -exponent) if abs(exponent) > 500 else 1.0
    wanted = nan_euclidean_distances(rows * scale)
    found = np.take_along_axis(wanted, neighbours, axis=1)
    known = ~np.isnan(found)
    assert_allclose((distances * scale)[known], found[known], atol=1e-7)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert_array_equal(np.sort(np.column_stack([neighbours, np.arange(n)]), axis=1), [range(n)] * n)
    if known.any():  # what cannot be compared is not nearer than what can
        assert (distances[~known] >= distances[known].max() * (1 - 1e-9)).all()


def test_the_nearest_are_found_among_old_rows_for_new_ones():
    old, new = with_gaps(X, 0.3), with_gaps(X[:7] + 0.1, 0.3, seed=1)
    neighbours, distances = MaskedRows(old, np.ones(4)).query(new, 5)
    wanted = np.sort(np.nan_to_num(nan_euclidean_distances(new, old), nan=np.inf), axis=1)[:, :5]
    assert_allclose(distances, wanted)
    assert neighbours.shape == (7, 5)


def test_beyond_exact_search_most_neighbours_are_found_and_their_distances_are_exact():
    rows, _ = make_blobs(1500, n_features=12, centers=20, random_state=0)
    rows = with_gaps(rows - rows.mean(axis=0), 0.03)
    neighbours, distances, recall = find_masked_neighbors(rows, np.ones(12), 10, exact_limit=1000, seed=0, n_jobs=1)
    truth = np.sort(np.where(np.eye(1500) > 0, np.inf, np.nan_to_num(nan_euclidean_distances(rows), nan=np.inf)))[
        :, :10
    ]
    assert recall > 0.95
    assert (distances <= truth[:, -1:] * (1 + 1e-9)).mean() == pytest.approx(recall, abs=0.03)
    assert_allclose(
        distances[:50, 0],
        [nan_euclidean_distances(rows[i : i + 1], rows[j : j + 1])[0, 0] for i, j in enumerate(neighbours[:50, 0])],
    )


def test_moments_of_columns_leave_out_what_is_missing():
    scaling = column_scaling(np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 50.0]]), True, np.array([1.0, 2.0, 1.0]))
    assert_allclose(scaling.centre, [7 / 3, 27.5])
    assert_allclose(scaling.factor, [1 / np.sqrt(8 / 9), 1 / 22.5])


# --- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_groups_are_found_in_spite_of_missing_values(share):
    model = HypHC(3, random_state=0).fit(with_gaps(X, share))
    assert adjusted_rand_score(model.labels_, GROUPS) > 0.95
    assert "values missing in" in str(model.plan_)


def test_the_callers_rows_stay_as_they_are():
    rows = with_gaps(X, 0.1)
    before = rows.copy()
    HypHC(random_state=0, effort=0.1).fit(rows)
    assert_array_equal(rows, before)


def test_without_missing_values_nothing_changes():
    whole, again = as_similarity(X), as_similarity(pd.DataFrame(X))
    assert_array_equal(whole.to_dense(), again.to_dense())


def test_the_background_sees_the_means_of_columns_in_place_of_missing_values():
    rows = with_gaps(X, 0.2)
    background = as_similarity(rows, scale=False).background
    filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
    assert_allclose(background.X, filled - np.nanmean(rows, axis=0), atol=1e-12)


def test_a_row_of_weight_two_with_gaps_is_the_same_as_two_rows():
    rows = with_gaps(X[:20], 0.2)
    twice = as_similarity(np.vstack([rows, rows[:1]]))
    weighted = HypHC(random_state=0)._make_metric().similarity(rows, np.append(2.0, np.ones(19)))
    assert_allclose(twice.to_dense()[1:20, 1:20], weighted.to_dense()[1:, 1:], atol=1e-12)
    assert twice.graph.to_csr()[0, 20] == 1.0


def test_new_rows_may_have_missing_values_whether_the_fitted_ones_have_or_not():
    for fitted in (X, with_gaps(X, 0.1)):
        model = HypHC(3, random_state=0).fit(fitted)
        new = with_gaps(X, 0.1, seed=5)
        assert adjusted_rand_score(model.predict(new), GROUPS) > 0.9
        model.partial_fit(new[:10])
        assert model.n_leaves_ == 100
        assert adjusted_rand_score(model.labels_, np.append(GROUPS, GROUPS[:10])) > 0.9


@pytest.mark.parametrize("resample", ["rows", "columns", "edges"])
def test_support_draws_rows_with_gaps(resample):
    rows = with_gaps(X[:30], 0.3)
    found = support(HypHC(random_state=0).fit(rows).tree_, rows, resample=resample, n_resamples=3, random_state=0)
    assert found.n_resamples == 3


@pytest.mark.parametrize(
    "settings",
    [{"metric": "cosine"}, {"metric": "rbf"}, {"metric": "spearman"}, {"metric": "euclidean", "n_neighbors": 5}],
    ids=str,
)
def test_other_metrics_refuse_missing_values_and_name_the_remedy(settings):
    rows = X.copy()
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[3, 1\] is NaN, .* metric='auto' skips what is missing"):
        HypHC(**settings).fit(rows)
    with pytest.raises(ValueError, match=r"X\[3, 1\] is NaN"):
        as_similarity(rows, **settings)
    with pytest.raises(ValueError, match="is NaN"):
        HypHC(**settings, effort=0.1).fit(X).predict(rows)


@pytest.mark.parametrize("call", [lambda rows: HypHC().fit(rows), as_similarity], ids=["fit", "as_similarity"])
def test_rows_and_columns_without_any_value_are_named(call):
    rows = X.copy()
    rows[7] = np.nan
    with pytest.raises(ValueError, match="Row 7 of X has no value at all"):
        call(rows)
    rows = X.copy()
    rows[:, 2] = np.nan
    with pytest.raises(ValueError, match="Column 2 of X has no value at all"):
        call(rows)
    frame = pd.DataFrame({"a": X[:, 0], "kind": ["u", "v"] * 45, "b": np.nan})
    with pytest.raises(ValueError, match="Column 'b' of X has no value at all"):
        call(frame)
    rows[0, 2] = np.inf
    with pytest.raises(ValueError, match="inf"):
        call(rows)


def test_two_rows_and_rows_with_nothing_in_common_have_a_tree():
    rows = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan], [np.nan, 4.0]])
    assert HypHC(random_state=0).fit(rows).n_leaves_ == 4
    assert HypHC(random_state=0).fit(rows[:2]).n_leaves_ == 2


# --- categories ------------------------------------------------------------------------------------------------------

KINDS = np.array(["ant", "bee", "cat"])[GROUPS]
MIXED = pd.DataFrame({"a": X[:, 0], "kind": KINDS, "b": X[:, 1]})


def gower_like(table: MixedTable) -> np.ndarray:
    """Squared distances by their definition: the mean over common columns of differences, each of mean square 2."""
    n, d = table.shape
    sums, common = np.zeros((n, n)), np.zeros((n, n))
    for column, kinds in zip(table.values.T, table.categories, strict=True):
        known = ~np.isnan(column)
        both = np.outer(known, known)
        if kinds is None:
            squares = (column[:, None] - column[None, :]) ** 2 / column[known].var()
        else:
            shares = np.bincount(column[known].astype(int)) / known.sum()
            squares = 2.0 * (column[:, None] != column[None, :]) / (1 - (shares**2).sum())
        sums[both] += squares[both]
        common += both
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(d * sums / common, nan=np.inf)


@pytest.mark.parametrize("gaps", [False, True])
def test_categories_count_like_a_column_of_numbers(gaps):
    values = np.column_stack([X[:, 0], GROUPS, X[:, 1], np.arange(90) % 2])
    values = with_gaps(values, 0.2) if gaps else values
    table = MixedTable(values, (None, ("ant", "bee", "cat"), None, ("no", "yes")), ("a", "kind", "b", "flag"))
    placed = as_similarity(table).source
    wanted = gower_like(table)
    np.fill_diagonal(wanted, np.inf)
    _, distances = MaskedRows(placed.rows, placed.shares).nearest(5)
    assert_allclose(distances**2, np.sort(wanted, axis=1)[:, :5], atol=1e-9)


def test_two_values_are_the_numbers_zero_and_one():
    flags = np.arange(90) % 2
    numbers = as_similarity(np.column_stack([X[:, 0], flags]), scale=True)
    words = as_similarity(pd.DataFrame({"a": X[:, 0], "flag": np.array(["no", "yes"])[flags]}))
    assert_allclose(words.to_dense(), numbers.to_dense(), atol=1e-9)


def test_shares_of_indicators_add_up_to_one_column():
    assert_allclose(column_shares(source_columns((None, ("a", "b", "c"), None))), [1, 1 / 3, 1 / 3, 1 / 3, 1])


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_columns_of_text_and_categories_are_taken_from_frames(kind):
    frame = MIXED.astype({"kind": kind})
    model = HypHC(3, random_state=0).fit(frame)
    assert adjusted_rand_score(model.labels_, GROUPS) == 1.0
    assert list(model.feature_names_in_) == ["a", "kind", "b"]
    assert "1 of 3 hold categories" in str(model.plan_)
    assert_array_equal(model.predict(frame), model.labels_)


def test_polars_frames_give_the_tree_of_pandas_frames():
    polars = pytest.importorskip("polars")
    holes = MIXED.assign(kind=[None, *KINDS[1:]], a=[*X[:5, 0], np.nan, *X[6:, 0]])
    frame = polars.DataFrame({name: [None if pd.isna(v) else v for v in holes[name]] for name in holes})
    for made in (frame, frame.with_columns(polars.col("kind").cast(polars.Categorical))):
        assert HypHC(random_state=0).fit(made).tree_ == HypHC(random_state=0).fit(holes).tree_


def test_missing_categories_are_skipped():
    frame = MIXED.assign(kind=[None, pd.NA, np.nan, *KINDS[3:]])
    model = HypHC(3, random_state=0).fit(frame)
    assert adjusted_rand_score(model.labels_, GROUPS) > 0.95
    assert "values missing in 3 of 90 rows" in str(model.plan_)


def test_new_rows_are_coded_as_the_fitted_ones_were():
    model = HypHC(3, random_state=0).fit(MIXED)
    few = MIXED.iloc[[np.flatnonzero(GROUPS == 2)[0]]]  # alone, its only value would be the first
    assert model.predict(few)[0] == model.labels_[GROUPS == 2][0]
    model.partial_fit(few)
    assert model.n_leaves_ == 91
    with pytest.raises(ValueError, match="column 'kind' has the value 'dog', which no fitted row has"):
        model.predict(few.assign(kind="dog"))
    with pytest.raises(ValueError, match="pass a frame with the same columns"):
        model.predict(X[:, :3])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (MIXED.assign(kind=[f"row {i}" for i in range(90)]), "column 'kind' has 90 different values in 90 rows"),
        (MIXED.assign(b=pd.date_range("2020", periods=90)), "column 'b' holds .* neither numbers nor categories"),
    ],
    ids=["names", "dates"],
)
def test_columns_that_are_no_categories_are_named(frame, message):
    with pytest.raises(ValueError, match=message):
        HypHC().fit(frame)


def test_other_metrics_refuse_text():
    with pytest.raises(ValueError, match=r"metric='cosine' takes numbers, and column 'kind' .* choose 'auto'"):
        HypHC(metric="cosine").fit(MIXED)


# --- together with what is known, and what is kept -------------------------------------------------------------------


def test_rows_that_are_dropped_are_dropped_from_what_is_known(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,group\n1,2,u\n3,,v\n4,5,w\n")
    points = read_points(path, known={"classes": "group"}, missing="drop")
    assert points.known == {"classes": ("u", "w")}
    assert points.rows == (1, 3)
    with pytest.raises(ValueError, match="what is known is of rows"):
        read_points(path, known={"classes": "group"}, missing="impute", transpose=True)


def test_a_fit_that_is_kept_tells_tables_apart():
    values = np.tile([[1.0, 0.0], [2.0, 1.0]], (1_000, 1))
    other = values.copy()
    other[1_000, 0] = 3.0
    kinds, columns = (None, ("u", "v")), ("a", "kind")
    one, same, two = (MixedTable(rows, kinds, columns) for rows in (values, values.copy(), other))
    assert checksum(one) == checksum(same) != checksum(two)
    assert checksum(MixedTable(values, (None, ("u", "w")), columns)) != checksum(one)


def test_auto_is_a_number_of_clusters_within_constraints():
    X = np.random.default_rng(0).normal(size=(12, 2))
    known = Constraints(cannot_link=[(0, 1), (0, 2), (1, 2)])
    auto, none = (HypHC(k, constraints=known, random_state=0).fit(X) for k in ("auto", None))
    np.testing.assert_array_equal(auto.labels_, none.labels_)
    assert auto.n_clusters_ >= 3


@pytest.mark.parametrize("value", [None, float("nan"), np.float32("nan"), np.datetime64("NaT"), pd.NA, pd.NaT])
def test_every_marker_of_a_missing_value_is_recognised(value):
    assert is_missing_value(value)


@pytest.mark.parametrize("value", [0, 0.0, "", "nan", False, np.inf, np.array([1.0, np.nan]), [None]])
def test_values_that_resemble_missing_ones_are_present(value):
    assert not is_missing_value(value)
