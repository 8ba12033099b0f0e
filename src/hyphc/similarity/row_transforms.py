"""Row transforms that turn cosine similarity into Pearson's or Spearman's correlation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import rankdata

Rows = npt.NDArray[Any]

# Entries that differ from their mean by less than so many roundings are equal: what is left has no direction.
_ROUNDINGS = 8
# Columns that two rows share at least: of two, any correlation is 1 or −1.
FEWEST_SHARED = 3


def keep_rows(X: Any) -> Any:
    """Return the rows unchanged: their similarity is the cosine."""
    return X


def center_rows(X: Any) -> Rows:
    """Return each row minus its mean, up to a factor: the cosine of such rows is Pearson's correlation. Constant rows become 0.

    Examples
    --------
    >>> center_rows(np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]))
    array([[-0.33333333,  0.        ,  0.33333333],
           [ 0.        ,  0.        ,  0.        ]])
    """
    rows = _dense(X)
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1)  # the sum of entries of 1e308 would overflow
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    centred[np.abs(centred).max(axis=1, initial=0.0) <= _ROUNDINGS * np.finfo(centred.dtype).eps] = 0.0
    return np.asarray(centred)


def center_ranks(X: Any) -> Rows:
    """Return ``center_rows`` of each row's ranks, mean ranks for ties: their cosine is Spearman's correlation."""
    return center_rows(rankdata(_dense(X), axis=1))


def pairwise_correlations(X: Rows, Y: Rows) -> npt.NDArray[np.float64]:
    """Return Pearson's correlation of each row of X with each of Y over the columns that both have: (m, n).

    0 where one of the two is constant there. Raises where two rows share fewer than ``FEWEST_SHARED`` columns. O(m n d) time.
    """
    (x, in_x), (y, in_y) = _filled(X), _filled(Y)
    for values in (in_x, in_y):
        counts = values.sum(axis=1)
        if counts.min(initial=FEWEST_SHARED) < FEWEST_SHARED:
            row = int(counts.argmin())
            raise ValueError(
                f"Row {row} has {int(counts[row])} of {len(values.T)} values, and a correlation needs {FEWEST_SHARED}; leave the "
                "row out, fill it in, or choose metric='auto', which skips what is missing."
            )
    shared = in_x @ in_y.T
    if shared.min(initial=FEWEST_SHARED) < FEWEST_SHARED:
        i, j = (int(k) for k in np.unravel_index(int(shared.argmin()), shared.shape))
        raise ValueError(
            f"Rows {i} and {j} share {int(shared[i, j])} columns with values, and a correlation needs {FEWEST_SHARED}; leave out "
            "rows or columns with many missing values, fill them in, or choose metric='auto', which skips them."
        )
    sum_x, sum_y = x @ in_y.T, in_x @ y.T
    square_x, square_y = (x * x) @ in_y.T, in_x @ (y * y).T
    product = x @ y.T - sum_x * sum_y / shared
    scatter_x, scatter_y = square_x - sum_x**2 / shared, square_y - sum_y**2 / shared
    rounding = x.shape[1] * np.finfo(np.float64).eps
    varies = (scatter_x > rounding * square_x) & (scatter_y > rounding * square_y)
    scale = np.sqrt(np.where(varies, scatter_x * scatter_y, 1.0))
    return np.asarray(np.clip(np.where(varies, product / scale, 0.0), -1.0, 1.0))


def _filled(X: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return rows around their mean and divided by their largest entry, 0 where a value is missing, and which are not missing."""
    present = ~np.isnan(X)
    largest = np.abs(np.where(present, X, 0.0)).max(axis=1, initial=0.0, keepdims=True)
    scaled = np.where(present, X, 0.0).astype(np.float64) / np.where(largest > 0, largest, 1)
    mean = scaled.sum(axis=1, keepdims=True) / np.maximum(present.sum(axis=1, keepdims=True), 1)
    return np.where(present, scaled - mean, 0.0), present.astype(np.float64)


def _dense(X: Any) -> Rows:
    if sp.issparse(X):
        raise ValueError(
            "Correlations of sparse rows would make them dense; use metric='cosine', or reduce them with "
            "sklearn.decomposition.TruncatedSVD."
        )
    return np.asarray(X)


DIRECTIONS: dict[str, Callable[[Any], Any]] = {
    "cosine": keep_rows,
    "correlation": center_rows,
    "spearman": center_ranks,
}
