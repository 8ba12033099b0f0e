"""Helpers of the tests of hyphc.dask: small settings, rows, local clusters, and models that must be the same."""

from __future__ import annotations

import numpy as np
from distributed import LocalCluster
from hyphc import datasets

SMALL = {"part_size": 120, "sample_size": 100, "effort": 0.1}


def planted_rows():
    """Return 400 rows of a planted hierarchy, ten of them equal."""
    X = datasets.planted(400, 5, decay=0.95, random_state=0).data
    X[20:30] = X[20]
    return X


def cluster(n_workers, *, processes=False):
    host = {"host": "127.0.0.1"} if processes else {}  # threads of this process need no address
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address="127.0.0.1:0", **host
    )


def assert_same(model, other):
    np.testing.assert_array_equal(model.tree_.children, other.tree_.children)
    np.testing.assert_array_equal(model.tree_.heights, other.tree_.heights)
    assert model.cost_ == other.cost_
