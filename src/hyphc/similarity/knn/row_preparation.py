"""Validation of rows before a neighbour search, and their transformation so that Euclidean distance ranks as the metric does."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..._runtime.arrays import Floats
from ..._runtime.validation import as_floats, require_finite, require_finite_entries

Points: TypeAlias = "Floats | sp.csr_array[np.float64]"  # as text: older SciPy cannot evaluate it

# Numbers whose exponents are beyond this are scaled first: their squares must fit single precision.
LARGE_EXPONENT = 40
# Of a column's range, bits of the mean that is subtracted: what is left of the mean is small beside the spread.
MEAN_BITS = 6


def check_points(X: Any) -> Points:
    """Return a non-empty table or sparse matrix of finite numbers; sparse ones are copied."""
    points = _check_sparse(X) if sp.issparse(X) else check_dense(X)
    if 0 in points.shape:
        raise ValueError(f"X has shape {points.shape}; it needs at least one row and one column.")
    return points


def check_dense(X: Any) -> Floats:
    """Return a table of finite numbers in single or double precision."""
    points = as_floats(X, "X")
    if points.ndim != 2:
        raise ValueError(f"X has shape {points.shape}; pass a table (n, d) with one row a point.")
    require_finite(points, "X")
    return points


def _check_sparse(X: Any) -> sp.csr_array[np.float64]:
    points: sp.csr_array[np.float64] = sp.csr_array(X, dtype=np.float64, copy=True)
    points.sum_duplicates()
    require_finite_entries(points, "X")
    return points


def to_euclidean(points: Points, metric: str) -> Points:
    """Return points in double precision whose Euclidean distances rank as the metric does."""
    points = points.astype(np.float64, copy=False)
    return unit_vectors(points) if metric == "cosine" else _recenter(points)


def _recenter(points: Points) -> Points:
    """Return the points shifted and scaled to about unit size, which preserves ratios of distances.

    scikit-learn finds neighbours through ‖x‖² + ‖y‖² − 2⟨x, y⟩: that overflows for entries of 1e200, and cancels far from
    the origin. A power of two scales without rounding, and so does a shift by `coarse_mean` where numbers have few digits.
    """
    _, exponent = np.frexp(max(points.max(), -points.min()))
    if isinstance(points, np.ndarray):
        scaled = np.ldexp(points, -exponent)
        return np.asarray(scaled - coarse_mean(scaled))
    return _replace_data(points, np.ldexp(points.data, -exponent))


def coarse_mean(points: Floats) -> Floats:
    """Return the column means, rounded to ``MEAN_BITS`` bits of each column's range: (d,).

    Whole numbers and others with few digits stay on a grid when it is subtracted. Then their distances have no rounding errors,
    and distances that are equal are equal on every machine, whatever the order in which it sums.
    """
    mean, ranges = points.mean(axis=0), points.max(axis=0) - points.min(axis=0)
    unit = np.where(ranges > 0, np.ldexp(1.0, np.frexp(ranges)[1] - MEAN_BITS), 0.0)
    unit = np.maximum(unit, np.spacing(np.abs(mean)))  # of a constant column: its value
    return np.asarray(np.rint(mean / unit) * unit)


def unit_vectors(points: Points) -> Points:
    """Return rows of length 1; rows of zeros become a unit vector along an extra axis, orthogonal to all others."""
    largest: Any = abs(points).max(axis=1)  # type: ignore[attr-defined]
    largest = largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()
    zero = largest == 0
    # First by the largest entry: the square of 1e200 would overflow, that of 1e-200 vanish.
    one = largest.dtype.type(1)
    scaled = _divide_rows(points, np.where(zero, one, largest))
    units = _divide_rows(scaled, np.where(zero, one, np.sqrt(row_sums(scaled * scaled))))
    if not zero.any():
        return units
    own = zero[:, None].astype(units.dtype)
    if isinstance(units, np.ndarray):
        return np.hstack([units, own])
    return sp.csr_array(sp.hstack([units, sp.csr_array(own)], format="csr"))


def _divide_rows(points: Points, divisors: Floats) -> Points:
    if isinstance(points, np.ndarray):
        return np.asarray(points / divisors[:, None])
    return _replace_data(points, points.data / np.repeat(divisors, np.diff(points.indptr)))


def row_sums(points: Any) -> Floats:
    """Return the sum of each row, sparse or dense."""
    return np.asarray(points.sum(axis=1))


def _replace_data(matrix: sp.csr_array[np.float64], data: Floats) -> sp.csr_array[np.float64]:
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def large_exponent(points: Floats) -> int:
    """Return the binary exponent of the largest entry if its square does not fit single precision; otherwise 0."""
    exponent = int(np.frexp(max(points.max(), -points.min()))[1])
    return exponent if abs(exponent) > LARGE_EXPONENT else 0
