"""``group_equal_rows`` beside a dictionary of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc._runtime.duplicate_rows import FEW_COLUMNS, group_equal_rows
from numpy.testing import assert_array_equal


def by_dictionary(X: np.ndarray) -> np.ndarray:
    """Numbers by first appearance; + 0.0 makes −0 equal to 0."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault((row + 0.0).tobytes(), len(seen)) for row in X])


@pytest.mark.parametrize("d", [1, FEW_COLUMNS, FEW_COLUMNS + 1, 5 * FEW_COLUMNS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_one_number(d, dtype):
    rng = np.random.default_rng(d)
    X = rng.integers(-1, 2, size=(2_500, d)).astype(dtype)
    X[1_500:] = X[rng.integers(0, 1_500, 1_000)]
    X[7] = -X[7]
    assert_array_equal(group_equal_rows(lambda index: X[index], len(X)), by_dictionary(X))


def test_rows_that_differ_in_a_column_that_is_hashed_last_are_different():
    X = np.zeros((10, 3 * FEW_COLUMNS))
    X[:, 1] = np.arange(10) // 2  # not among the columns hashed first
    assert_array_equal(group_equal_rows(lambda index: X[index], 10), np.arange(10) // 2)
    X[:, 1] = np.arange(10)
    assert group_equal_rows(lambda index: X[index], 10) is None


@pytest.mark.parametrize("d", [5, 5 * FEW_COLUMNS])
def test_sparse_rows_are_grouped_as_dense_ones(d):
    X = sp.random_array((400, d), density=0.02, random_state=0, format="csr")
    assert_array_equal(group_equal_rows(lambda index: X[index], 400), by_dictionary(X.toarray()))


def test_rows_that_all_differ_have_no_groups():
    X = np.random.default_rng(0).normal(size=(2_000, 100))
    assert group_equal_rows(lambda index: X[index], len(X)) is None
