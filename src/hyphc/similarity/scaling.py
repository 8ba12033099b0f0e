"""Columns and rows brought to one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._shared.arrays import Floats
from .._shared.checks import as_floats, require_finite


def unit_rows(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rows scaled to length 1; zero rows stay zero."""
    largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
    scaled = X / np.where(largest > 0, largest, 1)  # first by the largest entry: squares of 1e200 would overflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1))


def standardize(X: npt.ArrayLike) -> Floats:
    """Columns with mean 0 and standard deviation 1 (the population's); constant columns are dropped.

    Examples
    --------
    >>> standardize([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.],
           [ 1.]])
    """
    features = as_floats(X, "X").astype(np.float64)
    require_finite(features, "X")
    varies = np.ptp(features, axis=0) > 0
    centred = features[:, varies] - features[:, varies].mean(axis=0)
    return np.asarray(centred / centred.std(axis=0))
