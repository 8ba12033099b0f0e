"""Exact nearest neighbours by scikit-learn's other distances, or by a function of two rows; n² distances."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._runtime.arrays import Floats, Ints

Distance = str | Callable[[Any, Any], float]

# What each is for, in the words of help texts.
DISTANCES = {
    "manhattan": "sum of absolute differences",
    "chebyshev": "largest difference",
    "canberra": "differences relative to the entries, summed",
    "braycurtis": "differences relative to the totals of both rows",
    "hamming": "share of columns that differ",
    "jaccard": "share of differing columns among those set in either row",
    "dice": "as jaccard, common columns counted twice",
    "haversine": "great circles, latitude and longitude in radians",
}
_OF_SETS = ("jaccard", "dice")
_BY_TREE = ("manhattan", "chebyshev", "haversine")  # obey the triangle inequality, so that a ball tree is exact


def is_distance(function: Any) -> bool:
    """Return whether a callable takes two rows: it has exactly two required arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions that are not written in Python
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(needed) == 2


def find_by_distance(X: Any, new: Any, k: int, distance: Distance, n_jobs: int | None) -> tuple[Ints, Floats]:
    """Return the k rows of X nearest to each row of ``new``, and their distances: both (m, k), nearest first, ties by number."""
    from sklearn.neighbors import NearestNeighbors

    old, wanted = _prepare(X, distance), _prepare(new, distance)
    by_tree = distance in _BY_TREE and isinstance(old, np.ndarray)
    search = NearestNeighbors(
        n_neighbors=k, metric=distance, algorithm="ball_tree" if by_tree else "brute", n_jobs=n_jobs
    )
    found, neighbours = search.fit(old).kneighbors(wanted)
    distances = np.asarray(found, dtype=np.float64)
    if not np.isfinite(distances).all() or (distances < 0).any():
        row, column = np.argwhere(~(distances >= 0) | np.isinf(distances))[0]
        raise ValueError(
            f"metric={distance!r} has the distance {distances[row, column]} between rows {row} and "
            f"{neighbours[row, column]}; distances must be finite and at least 0."
        )
    order = np.lexsort((neighbours, distances), axis=-1)
    return np.take_along_axis(neighbours, order, axis=1).astype(np.int64), np.take_along_axis(distances, order, axis=1)


def _prepare(X: Any, distance: Distance) -> Any:
    """Return rows as the distance takes them, or raise an error that says what it takes."""
    if distance == "haversine" and X.shape[1] != 2:
        raise ValueError(f"metric='haversine' takes two columns, latitude and longitude; X has {X.shape[1]}.")
    if distance not in _OF_SETS:
        return X
    rows = X if isinstance(X, np.ndarray) else X.toarray()
    wrong = np.argwhere((rows != 0) & (rows != 1))
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(f"metric={distance!r} compares sets: columns are 0 or 1, but X[{i}, {j}] is {rows[i, j]}.")
    return rows.astype(bool)
