"""Clusterings that are made for embeddings and large tables, each with its documented defaults; −1 marks noise."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

Floats, Ints = npt.NDArray[np.float64], npt.NDArray[np.int64]


def evoc(rows: Floats, k: int | None = None) -> Ints:
    """EVoC, which compares rows by their angle: the layer that it selects, or that with nearly k clusters."""
    from evoc import EVoC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EVoC(random_state=0, approx_n_clusters=k)
        return np.asarray(model.fit_predict(rows.astype(np.float32)), dtype=np.int64)


def fast_hdbscan(rows: Floats) -> Ints:
    """HDBSCAN by the package fast_hdbscan, whose least cluster size is 5."""
    from fast_hdbscan import HDBSCAN

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(HDBSCAN(reproducible=True).fit_predict(rows.astype(np.float32)), dtype=np.int64)
