"""Kernels of two-means on runs of an array of points, which are kept in the order of the runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

_POWER_STEPS = 4  # towards the first principal direction, from which two-means starts
_LLOYD_STEPS = 6

RUN = record_dtype(("begin", np.int64), ("end", np.int64))  # leaves begin … end − 1 of an order


@part(fastmath={"reassoc", "contract"})
def _scores(X: npt.NDArray[Any], normal: Floats, shift: float, scores: Floats) -> None:
    """Set scores[k] = ⟨x_k, normal⟩ − shift."""
    for k in range(X.shape[0]):
        row = X[k]
        total = -shift
        for c in range(normal.shape[0]):
            total += row[c] * normal[c]
        scores[k] = total


@part(fastmath={"reassoc", "contract"})
def _weighted_sum(X: npt.NDArray[Any], factors: Floats, out: Floats) -> None:
    """Set out = Σ factors[k]·x_k."""
    out[:] = 0.0
    for k in range(X.shape[0]):
        row, factor = X[k], factors[k]
        if factor != 0.0:
            for c in range(out.shape[0]):
                out[c] += factor * row[c]


@part
def _principal_direction(X: npt.NDArray[Any], mean: Floats, scores: Floats) -> Floats:
    """Return a unit vector near the first principal direction; zero if all points are equal."""
    direction = X[0] - mean
    for k in range(1, X.shape[0]):  # the first point off the mean gives a deterministic start
        if np.abs(direction).max() > 1e-12 * (1.0 + np.abs(mean).max()):
            break
        direction = X[k] - mean
    following = np.zeros(mean.shape[0])
    for _ in range(_POWER_STEPS):
        _scores(X, direction, np.dot(direction, mean), scores)
        _weighted_sum(X, scores, following)
        following -= scores[: X.shape[0]].sum() * mean
        length = np.sqrt(np.dot(following, following))
        if length <= 1e-300:
            return np.zeros(mean.shape[0])
        direction = following / length
    return direction  # type: ignore[no-any-return]


@part
def split_run(X: npt.NDArray[Any], sizes: Floats, order: Ints, scores: Floats) -> int:
    """Order a run of points so that two groups by two-means come one after the other; return the length of the first.

    X, their sizes and their numbers are permuted alike. Equal points are split evenly.
    """
    m, d = X.shape
    total, mean, factors = sizes.sum(), np.zeros(d), sizes.copy()
    _weighted_sum(X, sizes, mean)
    mean /= total
    normal = _principal_direction(X, mean, scores)
    shift = np.dot(normal, mean)
    upper, n_above = np.zeros(d), -1
    for _ in range(_LLOYD_STEPS):
        _scores(X, normal, shift, scores)
        before, n_above, above = n_above, 0, 0.0
        for k in range(m):
            inside = scores[k] > 0.0
            n_above += inside
            factors[k] = sizes[k] if inside else 0.0
            above += factors[k]
        if n_above in (before, 0, m):
            break
        # the bisector of the two centres
        _weighted_sum(X, factors, upper)
        lower = (mean * total - upper) / (total - above)
        centre = upper / above
        normal, shift = centre - lower, 0.5 * (np.dot(centre, centre) - np.dot(lower, lower))
    if n_above in (0, m):
        return m // 2  # type: ignore[no-any-return]
    return _partition(X, sizes, order, scores)


@part
def _partition(X: npt.NDArray[Any], sizes: Floats, order: Ints, scores: Floats) -> int:
    """Move the points with positive scores to the front; return their number."""
    i, j = 0, order.shape[0] - 1
    while True:
        while i <= j and scores[i] > 0.0:
            i += 1
        while i <= j and not scores[j] > 0.0:
            j -= 1
        if i > j:
            return i
        order[i], order[j] = order[j], order[i]
        sizes[i], sizes[j] = sizes[j], sizes[i]
        scores[i], scores[j] = scores[j], scores[i]
        for c in range(X.shape[1]):
            X[i, c], X[j, c] = X[j, c], X[i, c]


@kernel
def split_merges(order: Ints, splits: Records, by_length: Ints) -> Ints:
    """Return the merges (n − 1, 2) of the tree of all splits, shortest runs first (``by_length`` sorts them)."""
    n = order.shape[0]
    node_at = order.copy()  # the largest node so far that starts at each position
    children = np.empty((n - 1, 2), dtype=np.int64)
    for t in range(n - 1):
        m = by_length[t] + 1
        b = splits[m - 1].begin
        children[t, 0], children[t, 1] = node_at[b], node_at[m]
        node_at[b] = n + t
    return children
