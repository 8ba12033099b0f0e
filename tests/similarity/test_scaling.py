"""``column_scaling``: each clause of the rule, with columns that just meet it and columns that just do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, as_similarity
from hyphc.datasets import load
from hyphc.similarity.scaling import COLUMNS_A_TASK, column_scaling, compute_moments
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

RNG = np.random.default_rng(0)


def columns(deviations, means=5.0, n: int = 200) -> np.ndarray:
    """Columns of just these deviations and means."""
    Z = np.random.default_rng(1).normal(size=(n, len(deviations)))
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    return Z * np.asarray(deviations) + means


def is_scaled(X, **options) -> bool:
    scaling = column_scaling(np.asarray(X, dtype=float), **options)
    kept = scaling.factor > 0
    left_alone = (scaling.factor[kept] == 1).all() or "of another unit" in scaling.why
    assert scaling.why.startswith("columns " if left_alone else "columns scaled: ")
    return scaling.why.startswith("columns scaled: ")


# --- 1. principal components -----------------------------------------------------------------------------------------

FALLING = [64.0, 32.0, 16.0, 8.0, 4.0, 2.0]


def test_principal_components_are_left_alone_though_their_deviations_differ():
    X = columns(FALLING, means=0.0)
    assert not is_scaled(X)
    assert "principal components" in column_scaling(X).why


def test_columns_that_fall_but_are_not_centred_are_no_components():
    limit = 4 / np.sqrt(200)  # standard errors of a mean, in deviations: 0.25 at the most
    just_centred, not_centred = columns(FALLING, 0.0), columns(FALLING, 0.0)
    just_centred[:, 2] += 0.99 * min(0.25, limit) * 16.0
    not_centred[:, 2] += 1.01 * min(0.25, limit) * 16.0
    assert not is_scaled(just_centred)
    assert is_scaled(not_centred)


@pytest.mark.parametrize(("n", "limit"), [(100, 0.25), (400, 0.2), (1600, 0.1), (10_000, 0.05), (40_000, 0.05)])
def test_the_more_rows_the_nearer_to_zero_the_means_of_components_are(n, limit):
    for share, scaled in ((0.99, False), (1.01, True)):
        X = columns(FALLING, 0.0, n=n)
        X[:, 0] += share * limit * 64.0
        assert is_scaled(X) is scaled


def test_centred_columns_whose_deviations_do_not_fall_are_no_components():
    swapped = [32.0, 64.0, 16.0, 8.0, 2.0, 4.0]  # rank correlation −0.886
    assert not is_scaled(columns(swapped, 0.0))
    turned = [16.0, 64.0, 32.0, 8.0, 2.0, 4.0]  # −0.771
    assert is_scaled(columns(turned, 0.0))
    assert is_scaled(columns(FALLING[::-1], 0.0))


def test_centred_columns_of_one_deviation_are_no_components():
    X = np.tile([[-1.0], [0.0], [1.0]], (1, 4))
    assert (
        column_scaling(X).why
        == "columns as they are: they share one scale, with a largest standard deviation 1 times the median one"
    )


# --- 2. one deviation far above the median ---------------------------------------------------------------------------


@pytest.mark.parametrize(("largest", "scaled"), [(4.99, False), (5.01, True)])
def test_columns_are_scaled_where_one_deviates_more_than_five_times_the_median(largest, scaled):
    X = columns([1.0, 1.0, largest, 1.0, 1.0])
    assert is_scaled(X) is scaled
    assert f" {largest:.3g} times the median one" in column_scaling(X).why


def test_of_an_even_number_of_columns_the_lower_median_counts():
    assert is_scaled(columns([1.0, 6.0]))
    assert not is_scaled(columns([1.0, 4.9]))
    assert is_scaled(columns([1.0, 1.0, 6.0, 6.0]))
    assert not is_scaled(columns([1.0, 6.0, 6.0]))


def test_a_small_deviation_alone_is_no_reason():
    assert not is_scaled(columns([1e-3, 1.0, 1.0, 1.0]))


# --- few columns do not decide for many ------------------------------------------------------------------------------


def genes(d: int = 293, n: int = 200) -> np.ndarray:
    """Logarithms of expression: one unit, deviations that differ by chance."""
    deviations = np.exp(0.4 * np.random.default_rng(3).normal(size=d))
    return columns(deviations, means=np.random.default_rng(4).uniform(2, 10, d), n=n)


def age(n: int = 200) -> np.ndarray:
    return np.random.default_rng(5).uniform(20, 80, n)


def test_one_column_does_not_decide_for_hundreds():
    assert not is_scaled(genes())
    scaling = column_scaling(np.column_stack([genes(), age()]))
    assert scaling.why.startswith("columns as they are: they share one scale, with a largest standard deviation ")
    assert ", but for column 293 (from 0) of another unit, scaled to the median standard deviation" in scaling.why
    assert_array_equal(scaling.factor[:-1], 1.0)
    assert scaling.factor[-1] * age().std() == pytest.approx(np.median(genes().std(axis=0)))


def test_neither_does_a_column_beside_principal_components():
    components = columns(50.0 * 0.9 ** np.arange(50), means=0.0)
    assert "principal components" in column_scaling(components).why
    beside = column_scaling(np.column_stack([components, 1000.0 * age()]))
    assert "principal components, but for column 50 (from 0) of another unit" in beside.why
    off_centre = components + 30.0 * (np.arange(50) == 0)
    assert_array_equal(column_scaling(off_centre).factor, 1.0)


def test_a_twentieth_of_the_columns_decides():
    one_of_twenty, one_of_many = columns([1.0] * 19 + [30.0]), columns([1.0] * 20 + [30.0])
    assert is_scaled(one_of_twenty)
    assert not is_scaled(one_of_many)
    assert is_scaled(columns([1.0] * 20 + [30.0, 300.0]))


def test_a_long_tail_of_deviations_without_a_gap_is_one_unit():
    tail = columns([1.0] * 96 + [3.0, 4.5, 6.0, 7.5])
    assert not is_scaled(tail)
    assert_array_equal(column_scaling(tail).factor, 1.0)
    apart = columns([1.0] * 96 + [3.0, 4.5, 6.0, 40.0])
    assert_array_equal(column_scaling(apart).factor[:-1], 1.0)
    assert column_scaling(apart).factor[-1] == pytest.approx(1 / 40.0)


def test_pixels_are_left_alone_and_a_table_of_many_units_is_scaled():
    pixels = columns(np.linspace(0.01, 90.0, 400))
    assert not is_scaled(pixels)
    units = columns(np.exp(2.0 * np.random.default_rng(6).normal(size=200)))
    assert is_scaled(units)


def test_a_category_does_not_decide_for_hundreds_of_numbers():
    few, many = pd.DataFrame(genes(40)), pd.DataFrame(genes(3))
    for frame in (few, many):
        frame.columns = [f"gene {c}" for c in frame]
        frame["tissue"] = np.where(np.arange(200) % 3, "liver", "lung")
    scaling = as_similarity(few).source.scaling
    assert scaling.why.startswith("columns as they are: they share one scale")
    assert_array_equal(scaling.factor[:-2], 1.0)
    indicator = (few["tissue"] == "liver").to_numpy()
    assert scaling.factor[-1] ** 2 * 2 * indicator.var() == pytest.approx(np.sort(genes(40).std(axis=0))[19] ** 2)
    assert as_similarity(many).source.scaling.why == "columns scaled: 1 of 4 hold categories"


# --- 3. some columns of two values -----------------------------------------------------------------------------------


def with_binary(n_binary: int, n_others: int) -> np.ndarray:
    yes_or_no = RNG.integers(2, size=(200, n_binary)).astype(float)
    return np.column_stack([yes_or_no, columns([1.0] * n_others)]) if n_others else yes_or_no


def test_columns_are_scaled_where_some_but_not_all_have_two_values():
    X = with_binary(1, 3)
    assert is_scaled(X)
    assert "1 of 4 have just two values" in column_scaling(X).why
    assert not is_scaled(with_binary(4, 0))
    assert is_scaled(with_binary(4, 1))


def test_a_few_among_many_do_not_count():
    assert is_scaled(with_binary(1, 9))
    assert not is_scaled(with_binary(1, 10))


def test_two_values_need_not_be_zero_and_one_but_a_third_is_one_too_many():
    X = with_binary(1, 3)
    X[:, 0] = np.where(X[:, 0] > 0, 2.5, 4.5)
    assert is_scaled(X)
    X[7, 0] = 3.5
    assert not is_scaled(X)


# --- 4. otherwise, constants, few columns ----------------------------------------------------------------------------


def test_columns_of_one_scale_are_left_alone():
    X = columns([1.0, 2.0, 1.5, 3.0])
    assert not is_scaled(X)
    assert "they share one scale, with a largest standard deviation 2" in column_scaling(X).why


def test_a_single_column_that_varies_is_left_alone():
    X = np.column_stack([np.full(200, 3.0), columns([100.0])])
    scaling = column_scaling(X)
    assert_array_equal(scaling.factor, [0.0, 1.0])
    assert scaling.why == "columns as they are: fewer than two of them vary, 1 constant left out"


def test_constant_columns_do_not_count_in_the_rule():
    plain = columns([1.0, 1.0, 5.01])
    assert is_scaled(plain)
    padded = np.column_stack([plain, np.full((200, 7), 3.0)])
    assert is_scaled(padded)
    assert column_scaling(padded).why.endswith("times the median one, 7 constant left out")
    assert column_scaling(padded)(padded).shape == (200, 3)


def test_a_column_that_varies_by_rounding_only_is_constant():
    X = columns([1.0, 1.0, 1.0])
    X[:, 1] = 1e6 + RNG.normal(size=200) * 1e-7
    assert column_scaling(X).factor[1] == 0.0
    X[:, 1] = 1e6 + RNG.normal(size=200) * 1e-2
    assert column_scaling(X).factor[1] > 0.0


def test_no_varying_column_leaves_nothing():
    scaling = column_scaling(np.ones((5, 3)))
    assert scaling(np.ones((5, 3))).shape == (5, 0)
    assert "3 constant left out" in scaling.why


# --- what is done ----------------------------------------------------------------------------------------------------


def test_scaled_columns_have_mean_zero_and_deviation_one():
    X = columns([1.0, 30.0, 0.2], means=[1.0, -500.0, 7.0])
    Z = column_scaling(X)(X)
    assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1.0)


def test_the_caller_decides_where_asked():
    same, wide = columns([1.0, 2.0]), columns([1.0, 100.0])
    assert is_scaled(same, scale=True)
    assert not is_scaled(wide, scale=False)
    for scale in (True, False, np.True_):
        assert "asked for" in column_scaling(wide, scale).why
    assert_allclose(column_scaling(wide, False)(wide), wide - wide.mean(axis=0))


@pytest.mark.parametrize("scale", ["yes", "AUTO", 1, 0.5, None])
def test_other_wishes_are_refused(scale):
    with pytest.raises(ValueError, match=r"is unknown; choose 'auto', True or False"):
        column_scaling(columns([1.0, 2.0]), scale)


def test_a_row_that_stands_for_several_points_counts_as_often():
    X, weights = columns([1.0, 3.0, 9.0]), np.random.default_rng(2).integers(1, 4, 200)
    by_weight, by_rows = column_scaling(X, "auto", weights.astype(float)), column_scaling(np.repeat(X, weights, axis=0))
    assert_allclose(by_weight.centre, by_rows.centre)
    assert_allclose(by_weight.factor, by_rows.factor)
    assert by_weight.why == by_rows.why


def test_weighted_components_are_told_by_as_many_rows_as_there_are_points():
    X = columns(FALLING, 0.0, n=400)
    X[:, 0] += 0.15 * 64.0  # within four standard errors of 400 rows, not of 1 600
    weights = np.full(400, 4.0)
    assert column_scaling(X, "auto", weights).why == column_scaling(np.repeat(X, 4, axis=0)).why


def test_float32_columns_are_measured_in_float64():
    X = (columns([1.0, 2.0, 1.0]) + 1e4).astype(np.float32)
    assert_allclose(column_scaling(X, True).centre, X.astype(float).mean(axis=0), rtol=1e-12)
    assert column_scaling(X)(X).dtype == np.float64


@pytest.mark.parametrize("d", [1, COLUMNS_A_TASK, COLUMNS_A_TASK + 1, 5 * COLUMNS_A_TASK - 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_moments_of_blocks_of_columns_are_those_of_each_column(d, weighted, has_gaps):
    rng = np.random.default_rng(d)
    X, sizes = rng.normal(3.0, 2.0, size=(300, d)), rng.integers(1, 4, 300).astype(float) if weighted else np.ones(300)
    X[:, -1] = rng.integers(0, 2, 300)
    if has_gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    found = compute_moments(X, sizes)
    for column in range(d):
        known = ~np.isnan(X[:, column])
        values, weights = X[known, column], sizes[known]
        mean = np.average(values, weights=weights)
        assert_allclose(found.centre[column], mean, rtol=1e-12)
        squares = np.average((values - mean) ** 2, weights=weights) * sizes.sum()
        assert_allclose(found.squares[column], squares, rtol=1e-12)
        assert (found.smallest[column], found.largest[column]) == (values.min(), values.max())
    assert_array_equal(np.flatnonzero(found.binary), [d - 1])


# --- known tables ----------------------------------------------------------------------------------------------------


def test_tables_with_units_are_scaled_and_others_are_not():
    digits = load_digits().data
    assert is_scaled(load_wine().data)
    assert is_scaled(load_breast_cancer().data)
    assert not is_scaled(load_iris().data)
    assert not is_scaled(digits)
    components = PCA(30, svd_solver="full").fit_transform(digits)
    assert not is_scaled(components)
    assert "principal components" in column_scaling(components).why


DECIDED = {
    "ecoli": "scaled: 2 of 7 have just two values",
    "glass": "as they are",
    "iris": "as they are",
    "letter": "as they are",
    "segmentation": "as they are",
    "spambase": "scaled: the largest standard deviation is ",
    "vehicle": "scaled: the largest standard deviation is 22.4 ",
    "yeast": "scaled: 1 of 8 have just two values",
    "zoo": "scaled: 15 of 16 have just two values",
}


@pytest.mark.parametrize("name", DECIDED)
def test_the_sets_of_the_paper_keep_their_decisions(name, needs_data):
    scaling = column_scaling(np.asarray(load(name).data, dtype=float))
    assert scaling.why.startswith(f"columns {DECIDED[name]}")
    kept = scaling.factor > 0
    assert (scaling.factor[kept] == 1).all() == (DECIDED[name] == "as they are")


def test_the_scaling_is_kept_for_new_rows():
    wine = load_wine().data
    blend = as_similarity(wine[:100])
    kept = blend.source.scaling
    assert_allclose(kept.centre, wine[:100].mean(axis=0))
    new = wine[100:] * 3
    rows = blend.metric.rows(blend, new)
    assert_allclose(rows.features, (new - wine[:100].mean(axis=0)) / wine[:100].std(axis=0))


def test_a_fit_tells_how_columns_were_scaled():
    model = HypHC(random_state=0).fit(load_wine().data)
    assert model.similarity_.source.scaling.why.startswith("columns scaled: the largest standard deviation is ")


def test_the_plan_of_a_fit_tells_what_was_done_to_the_columns():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 1.0, 1000.0]
    told = column_scaling(X).why
    assert "columns scaled" in told
    assert repr(HypHC(n_clusters=2, random_state=0).fit(X).plan_).startswith(told)
    assert HypHC(n_clusters=2, random_state=0).fit(as_similarity(X / [1, 1, 1000], "cosine")).plan_.rows == ""


@pytest.mark.parametrize("scale", [True, False])
def test_numpys_booleans_scale_a_table_as_pythons_do(scale):
    table = pd.DataFrame({"g": 100 * RNG.normal(size=20), "cm": RNG.normal(size=20), "kind": list("ab") * 10})
    found, other = (as_similarity(table, scale=value, random_state=0) for value in (np.bool_(scale), scale))
    assert_array_equal(found.to_dense(), other.to_dense())
    assert found.source.scaling.why == other.source.scaling.why
