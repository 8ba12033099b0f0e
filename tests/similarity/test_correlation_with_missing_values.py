"""`metric="correlation"` with missing values: pairwise complete observations, as pandas computes them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, as_similarity
from hyphc.similarity.row_transforms import pairwise_correlations
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(0)
SHAPES = RNG.normal(size=(3, 12))
GROUP = np.repeat([0, 1, 2], 8)
X = SHAPES[GROUP] + 0.2 * RNG.normal(size=(24, 12))
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e90])
def test_correlations_are_those_of_pandas(scale):
    expected = pd.DataFrame(HOLES.T).corr().to_numpy()  # of scale 1: at 1e90 its squares overflow
    assert_allclose(pairwise_correlations(HOLES * scale, HOLES * scale), expected, atol=1e-9)
    similarity = as_similarity(HOLES * scale, "correlation").to_dense()
    off = ~np.eye(24, dtype=bool)
    assert_allclose(similarity[off], ((1 + expected) / 2)[off], atol=1e-9)


def test_without_missing_values_it_is_the_closed_form():
    assert_allclose(pairwise_correlations(X, X), np.corrcoef(X), atol=1e-12)
    assert_array_equal(as_similarity(X, "correlation").features() is not None, True)


def test_groups_are_found_and_new_rows_join_them():
    model = HypHC(3, metric="correlation", random_state=0).fit(HOLES)
    assert_array_equal(model.labels_, GROUP)
    new = SHAPES + 0.2 * RNG.normal(size=SHAPES.shape)
    new[0, :3] = np.nan
    assert_array_equal(model.predict(new), [0, 1, 2])
    assert_array_equal(model.transform(new).argmax(axis=1), [0, 1, 2])
    assert model.partial_fit(new).n_leaves_ == 27


def test_a_row_that_is_constant_over_the_shared_columns_has_correlation_0():
    rows = np.array([[1.0, 1.0, 1.0, 5.0], [1.0, 2.0, 3.0, np.nan], [3.0, 1.0, 2.0, 0.5]])
    assert pairwise_correlations(rows, rows)[0, 1] == 0
    assert as_similarity(rows, "correlation").pairs(0, 1) == 0.5


def test_rows_that_share_too_few_columns_are_named():
    rows = HOLES.copy()
    rows[4, :9], rows[7, 3:] = np.nan, np.nan
    with pytest.raises(
        ValueError, match=r"Rows 4 and 7 share 0 columns with values.*needs 3; leave out .*metric='auto'"
    ):
        HypHC(metric="correlation").fit(rows)


def test_a_row_of_too_few_values_is_named():
    rows = HOLES.copy()
    rows[4], rows[4, :2] = np.nan, [0.5, 0.25]
    with pytest.raises(ValueError, match=r"Row 4 has 2 of 12 values, and a correlation needs 3; leave the row out"):
        HypHC(metric="correlation").fit(rows)


def test_new_rows_with_missing_values_need_fitted_rows_with_some():
    model = HypHC(metric="correlation", random_state=0).fit(X)
    with pytest.raises(ValueError, match="the fitted ones had none; fill them in"):
        model.predict(HOLES)


def test_text_columns_are_still_refused():
    frame = pd.DataFrame(X).assign(kind="a")
    frame.columns = frame.columns.astype(str)
    with pytest.raises(ValueError, match="takes numbers, and column 'kind' holds text"):
        HypHC(metric="correlation").fit(frame)


@pytest.mark.parametrize("metric", ["cosine", "spearman", "linear"])
def test_other_metrics_refuse_missing_values(metric):
    with pytest.raises(ValueError, match="is NaN"):
        HypHC(metric=metric).fit(HOLES)
