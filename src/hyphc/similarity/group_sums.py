"""Indicator matrices of groups, whose products with rows, sizes or similarities are sums over the members."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints


def indicator(groups: Ints, n_groups: int | None = None) -> sp.csr_array[np.float64]:
    """Return the (n_groups, n) matrix with 1 where a point belongs to a group; n_groups defaults to the largest label plus 1.

    Examples
    --------
    >>> indicator(np.array([0, 1, 0])).toarray()
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    n = len(groups)
    count = int(groups.max()) + 1 if n_groups is None else n_groups
    return sp.csr_array((np.ones(n), (groups, np.arange(n))), shape=(count, n))
