"""Flat clusters and trees of points by scikit-learn and SciPy, each with its defaults; −1 marks noise."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from hyphc import Tree
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering

Floats, Ints = npt.NDArray[np.float64], npt.NDArray[np.int64]


def kmeans(rows: Floats, k: int) -> Ints:
    """The best of ten starts."""
    return KMeans(k, n_init=10, random_state=0).fit_predict(rows).astype(np.int64)


def spectral(rows: Floats, k: int) -> Ints:
    """On scikit-learn's own graph of ten neighbours: its default, a Gaussian kernel, fails on columns of any larger scale."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # graphs in parts
        model = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
        return model.fit_predict(rows).astype(np.int64)


def hdbscan(rows: Floats) -> Ints:
    """As many clusters as it finds."""
    return HDBSCAN(copy=True).fit_predict(rows).astype(np.int64)


def linkage_tree(rows: Floats, method: str) -> Tree:
    """Ward's method or average linkage, on Euclidean distances, in O(n²) memory."""
    return Tree.from_linkage(linkage(rows, method))
