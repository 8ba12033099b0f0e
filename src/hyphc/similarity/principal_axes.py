"""Leading principal directions of rows, from a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Floats


def principal_axes(rows: npt.NDArray[Any], n_components: int, n_sampled: int) -> Floats:
    """Return the leading principal directions of at most ``n_sampled`` rows, by increasing variance: (d, n_components).

    Examples
    --------
    >>> principal_axes(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), 1, 10)
    array([[1.],
           [0.]])
    """
    sample = rows if len(rows) <= n_sampled else rows[np.random.default_rng(0).permutation(len(rows))[:n_sampled]]
    sample = sample - sample.mean(axis=0)
    return np.asarray(np.linalg.eigh(sample.T @ sample)[1][:, -n_components:])
