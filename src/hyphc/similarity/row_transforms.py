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
