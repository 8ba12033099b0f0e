"""Distances between rows with missing entries, over the columns that both have, and nearest neighbours by them.

scikit-learn's convention (``nan_euclidean_distances``): d² = (columns / columns present in both)·Σ over these (x − y)². Two rows
without a common column are as far apart as rows can be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.validation import has_missing, row_chunks

# Beyond exact search, so many times k candidates are compared.
CANDIDATES = 6


def require_values(X: npt.NDArray[Any], columns: tuple[str, ...] | None = None, *, in_columns: bool = True) -> None:
    """Raise for the first row without any value and, if ``in_columns``, for the first such column, named by ``columns``."""
    missing = np.isnan(X)
    if missing.all(axis=1).any():
        raise ValueError(f"Row {missing.all(axis=1).argmax()} of X has no value at all; leave it out.")
    if in_columns and missing.all(axis=0).any():
        c = int(missing.all(axis=0).argmax())
        raise ValueError(f"Column {c if columns is None else repr(columns[c])} of X has no value at all; leave it out.")


def require_not_infinite(X: npt.NDArray[Any]) -> None:
    """Raise for the first infinite entry; missing ones may be there."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):  # one pass without a temporary mask
            return
    infinite = np.argwhere(np.isinf(X))
    if len(infinite):
        i, j = infinite[0].tolist()
        raise ValueError(
            f"X[{i}, {j}] is {X[i, j]}; correct infinite values first, or put NaN where a value is missing."
        )


def describe_missing(rows: Floats) -> str:
    """Describe how many rows have missing values; empty if none."""
    n_missing = int(np.isnan(rows).any(axis=1).sum()) if has_missing(rows) else 0
    return f"values missing in {n_missing} of {len(rows)} rows" if n_missing else ""


class MaskedRows:
    """Rows with missing entries, searchable for nearest neighbours.

    Parameters
    ----------
    rows : array (n, d)
        Centred; NaN is missing.
    shares : array (d,)
        What each column counts, 1 unless several stand for one.
    """

    def __init__(self, rows: Floats, shares: Floats) -> None:
        self._exponent = int(np.frexp(np.fmax.reduce(np.abs(rows), axis=None, initial=0.0))[1])
        self._shares = shares
        self._rows = self._scale(rows)
        self._arrays = _split_mask(self._rows, shares)
        widths = np.nan_to_num(np.fmax.reduce(self._rows, axis=0) - np.fmin.reduce(self._rows, axis=0))
        # (Σ a) / (Σ b) is at most the largest a / b: no two rows of these are further apart
        self._furthest = float(np.sqrt(shares.sum() * (widths**2 / shares).max(initial=0.0)))

    def _scale(self, rows: Floats) -> Floats:
        """Return the rows scaled by a power of two, so that squares neither overflow nor vanish."""
        return np.ldexp(rows, -self._exponent)

    def impute(self, neighbours: Ints | None = None) -> Floats:
        """Return the scaled rows with missing entries replaced by column means (0), or by means over neighbours (n, k)."""
        values = self._arrays.values.copy()
        if neighbours is None:
            return values
        gaps = np.flatnonzero((self._arrays.present == 0).any(axis=1))
        for chunk in row_chunks(len(gaps), 3 * 8 * neighbours.shape[1] * values.shape[1]):
            some = gaps[chunk]
            around = self._arrays.present[neighbours[some]]
            means = self._arrays.values[neighbours[some]].sum(axis=1) / np.maximum(around.sum(axis=1), 1.0)
            values[some] = np.where(self._arrays.present[some] > 0, values[some], means)
        return values

    def nearest(self, k: int, among: Ints | None = None) -> tuple[Ints, Floats]:
        """Return the k nearest other rows of each row, or of the rows ``among`` only, and their distances, nearest first."""
        chosen = np.arange(len(self._rows)) if among is None else among
        return self._query(self._rows[chosen], chosen, k)

    def query(self, new: Floats, k: int) -> tuple[Ints, Floats]:
        """Return the k rows nearest to each new row, and their distances, nearest first."""
        return self._query(self._scale(new), None, k)

    def _query(self, queries: Floats, own: Ints | None, k: int) -> tuple[Ints, Floats]:
        candidates = np.empty((len(queries), k), dtype=np.int64)
        for chunk in row_chunks(len(queries), 4 * 8 * len(self._rows)):
            squares = self._squares(_split_mask(queries[chunk], self._shares))
            if own is not None:
                squares[np.arange(len(squares)), own[chunk]] = np.nan  # sorted last
            candidates[chunk] = np.argpartition(squares, k - 1, axis=1)[:, :k]
        return self.rank(queries, candidates, k)

    def _squares(self, queries: _MaskedArrays) -> Floats:
        """Return squared distances up to a factor, (queries, rows); infinite where no column is common."""
        rows = self._arrays
        squares = queries.squares @ rows.present.T + queries.present @ rows.squares.T
        squares -= 2.0 * (queries.values @ rows.values.T)
        common = queries.counted @ rows.present.T
        with np.errstate(divide="ignore", invalid="ignore"):
            squares /= common
        squares[common <= 0] = np.inf
        return squares

    def rank(self, queries: Floats | None, candidates: Ints, k: int) -> tuple[Ints, Floats]:
        """Return the k nearest among the candidates of each query (by default the rows), by differences: exactly 0 for
        duplicates."""
        queries = self._rows if queries is None else queries
        distances = np.empty(candidates.shape)
        for chunk in row_chunks(len(queries), 3 * 8 * candidates.shape[1] * queries.shape[1]):
            difference = queries[chunk, None, :] - self._rows[candidates[chunk]]
            common = (~np.isnan(difference)) @ self._shares
            sums = np.einsum("qcd,qcd->qc", *(2 * [np.nan_to_num(difference, copy=False)]))
            with np.errstate(divide="ignore", invalid="ignore"):
                known = np.sqrt(self._shares.sum() * sums / common)
            distances[chunk] = np.where(common > 0, known, self._furthest)
        distances[candidates < 0] = np.inf  # fewer were found
        order = np.lexsort((candidates, distances), axis=-1)[:, :k]
        found = np.take_along_axis(distances, order, axis=1)
        return np.take_along_axis(candidates, order, axis=1), np.ldexp(found, self._exponent)


class _MaskedArrays(NamedTuple):
    """Entries (0 where missing), their squares, the mask of present entries, and that mask times column weights."""

    values: Floats
    squares: Floats
    present: Floats
    counted: Floats


def _split_mask(rows: Floats, shares: Floats) -> _MaskedArrays:
    values, present = np.nan_to_num(rows), (~np.isnan(rows)).astype(np.float64)
    return _MaskedArrays(values, values**2, present, present * shares)


def find_masked_neighbors(
    rows: Floats, shares: Floats, k: int, exact_limit: int, seed: int, n_jobs: int | None
) -> tuple[Ints, Floats, float]:
    """Return the k nearest other rows of each row, their distances, and the recall: 1 up to ``exact_limit`` rows.

    Exact search takes n²·d steps and O(n·(d + k)) memory. Beyond, an inverted file finds candidates with the means of columns in
    place of what is missing, and again with the means of the neighbours found so; they are compared over what two rows share.
    """
    search = MaskedRows(rows, shares)
    n = len(rows)
    if n <= exact_limit:
        return *search.nearest(k), 1.0
    from ..knn.ivf_index import SAMPLE, InvertedFile

    def best(points: Floats) -> tuple[Ints, Floats]:
        candidates, _ = InvertedFile(points, min(CANDIDATES * k, n - 1), seed, n_jobs).neighbours()
        return search.rank(None, candidates, k)

    neighbours, distances = best(search.impute(best(search.impute())[0]))
    sample = np.random.default_rng(seed).choice(n, min(SAMPLE, n), replace=False)
    _, truth = search.nearest(k, sample)
    return neighbours, distances, float((distances[sample] <= truth[:, -1:]).mean())
