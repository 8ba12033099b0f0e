"""Standardisation of columns and normalisation of rows, and the rule behind ``scale="auto"``.

Columns with different units (grams, years, yes or no) must be standardised before distances are meaningful; columns that share a
unit (pixels, embeddings, principal components) must not, since their standard deviations are part of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Floats
from .._runtime.parallel import thread_map
from .._runtime.validation import as_floats, has_missing, require_finite, require_squares, row_chunks

SCALES = ("auto", True, False)
# Standard deviations above this many times the median do not occur by chance in columns that share a unit.
WIDE = 5.0
# A column whose standard deviation is below this fraction of its largest entry varies by rounding only.
CONSTANT = 1e-12
# Means of principal components are 0: in n rows within so many standard errors, limited to this range of standard deviations.
CENTRED_ERRORS, CENTRED_AT_MOST, CENTRED_AT_LEAST = 4.0, 0.25, 0.05
# Standard deviations decrease from left to right if their rank correlation with the order of columns is below this.
FALLING = -0.8
# From this share of binary columns on, among others that are not, columns have different units.
FEW_BINARY = 0.1
# A smaller share of the columns does not decide for the others: one clinical column among 300 genes does not, one of 18 does.
FEW = 0.05
# A gap of this factor between the largest standard deviations separates columns of another unit.
APART = 2.0
COLUMNS_A_TASK = 32  # whose moments one thread computes at a time


def unit_rows(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the rows scaled to length 1; zero rows stay zero."""
    largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
    scaled = X / np.where(largest > 0, largest, 1)  # first by the largest entry: squares of 1e200 would overflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1))


def standardize(X: npt.ArrayLike) -> Floats:
    """Return columns with mean 0 and (population) standard deviation 1; constant columns are dropped.

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


def standardization(X: npt.ArrayLike) -> ColumnScaling:
    """Return the scaling of ``standardize``, for new rows of the same columns."""
    features = as_floats(X, "X").astype(np.float64)
    require_finite(features, "X")
    varies = np.ptp(features, axis=0) > 0
    factor = np.zeros(features.shape[1])
    factor[varies] = 1.0 / features[:, varies].std(axis=0)
    return ColumnScaling(features.mean(axis=0), factor, "columns standardised")


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """Affine scaling of columns before distances are computed, the same for new rows: (x − centre)·factor."""

    centre: Floats
    factor: Floats  # 0 for constant columns
    why: str

    def __call__(self, X: npt.NDArray[Any]) -> Floats:
        kept = self.factor > 0
        require_squares(X, "X", smallest=False)
        scaled, centre, factor = np.empty((len(X), int(kept.sum()))), self.centre[kept], self.factor[kept]

        def scale(rows: slice) -> None:
            scaled[rows] = X[rows, kept]
            scaled[rows] -= centre
            scaled[rows] *= factor

        thread_map(scale, row_chunks(len(X), 64.0 * (X.shape[1] + 1)), n_jobs=-1)
        return scaled


def column_scaling(X: npt.NDArray[Any], scale: str | bool = "auto", sizes: Floats | None = None) -> ColumnScaling:
    """Return the scaling of columns for ``scale``; "auto" decides from the columns.

    Constant columns are dropped. Then, in this order, columns are

    1. left alone if they are centred and their standard deviations decrease from left to right: principal components;
    2. scaled if a twentieth of the columns, and at least one, have more than five times the median standard deviation;
    3. scaled if a tenth of the columns have just two values and others have more;
    4. left alone otherwise.

    So few columns do not decide for many others. Where columns are left alone, the few with more than five times the median
    standard deviation, and twice that of any other, have a unit of their own: they are scaled to the median standard deviation.

    ``sizes`` says how many points each row stands for. Missing values (NaN) are left out of the moments.

    Examples
    --------
    >>> column_scaling(np.array([[1.0, 3000.0, 1.0], [2.0, 1000.0, 2.0], [3.0, 2500.0, 1.5]])).why
    'columns scaled: the largest standard deviation is 1.04e+03 times the median one'
    """
    require_scale(scale)
    require_squares(X, "X")
    return scaling_from_moments(compute_moments(X, sizes), scale)


def require_scale(scale: Any) -> None:
    """Raise unless it is one of ``SCALES``."""
    if (isinstance(scale, str) and scale != "auto") or not isinstance(scale, str | bool | np.bool_):
        raise ValueError(f"scale={scale!r} is unknown; choose 'auto', True or False.")


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of columns that the scaling rule needs; those of blocks of rows can be merged (``merge``)."""

    n_points: float
    centre: Floats
    squares: Floats  # Σ (x − centre)²
    smallest: Floats
    largest: Floats
    binary: npt.NDArray[np.bool_]  # no values but the smallest and the largest

    @property
    def deviations(self) -> Floats:
        """Population standard deviations."""
        return np.asarray(np.sqrt(self.squares / self.n_points))

    @property
    def varies(self) -> npt.NDArray[np.bool_]:
        """Mask of columns that are not constant up to rounding."""
        return np.asarray(self.deviations > CONSTANT * np.maximum(np.abs(self.smallest), np.abs(self.largest)))

    def select(self, columns: npt.NDArray[np.bool_]) -> Moments:
        """Return the moments of some of the columns."""
        parts: tuple[npt.NDArray[Any], ...] = (self.centre, self.squares, self.smallest, self.largest, self.binary)
        return Moments(self.n_points, *(part[columns] for part in parts))

    def merge(self, other: Moments) -> Moments:
        """Return the moments of the rows of both."""
        n = self.n_points + other.n_points
        step = other.centre - self.centre
        squares = self.squares + other.squares + step**2 * (self.n_points * other.n_points / n)
        ends = np.sort([self.smallest, self.largest, other.smallest, other.largest], axis=0)
        two = (np.diff(ends, axis=0) > 0).sum(axis=0) <= 1
        centre = self.centre + step * (other.n_points / n)
        return Moments(n, centre, squares, ends[0], ends[-1], self.binary & other.binary & two)


def compute_moments(X: npt.NDArray[Any], sizes: Floats | None = None) -> Moments:
    """Return the moments of columns; ``sizes`` is the number of points that each row stands for.

    Blocks of columns, in parallel: each column is summed from the first row to the last whatever the threads, and no copy of
    all rows is made.
    """
    moments_of = _moments_with_gaps if has_missing(X) else _moments_of_all
    if sizes is not None and (sizes == 1).all():
        sizes = None
    blocks = np.array_split(np.arange(X.shape[1]), max(1, -(-X.shape[1] // COLUMNS_A_TASK)))
    columns = [slice(block[0], block[-1] + 1) if len(block) else slice(0) for block in blocks]
    parts = thread_map(lambda own: moments_of(X[:, own].astype(np.float64, copy=False), sizes), columns, n_jobs=-1)
    names = [field.name for field in fields(Moments) if field.name != "n_points"]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Moments(parts[0].n_points, **joined)


def _moments_of_all(X: Floats, sizes: Floats | None) -> Moments:
    """Return the moments of columns without missing values."""
    n_points = float(len(X) if sizes is None else sizes.sum())
    centre = np.average(X, axis=0, weights=sizes)
    squares = np.average((X - centre) ** 2, axis=0, weights=sizes) * n_points
    smallest, largest = X.min(axis=0), X.max(axis=0)
    binary = ((smallest == X) | (largest == X)).all(axis=0)
    return Moments(n_points, centre, squares, smallest, largest, binary)


def _moments_with_gaps(X: Floats, sizes: Floats | None) -> Moments:
    """Return the moments of columns over the values present, scaled to all rows."""
    weights = (~np.isnan(X)) * (np.ones(len(X)) if sizes is None else sizes)[:, None]
    n_points, present = float(len(X) if sizes is None else sizes.sum()), weights.sum(axis=0)
    present[present == 0] = 1.0  # a column without any value is as good as constant
    centre = (np.nan_to_num(X) * weights).sum(axis=0) / present
    squares = (np.nan_to_num(X - centre) ** 2 * weights).sum(axis=0) / present * n_points
    smallest, largest = np.nan_to_num(np.fmin.reduce(X, axis=0)), np.nan_to_num(np.fmax.reduce(X, axis=0))
    binary = ((smallest == X) | (largest == X) | np.isnan(X)).all(axis=0)
    return Moments(n_points, centre, squares, smallest, largest, binary)


@dataclass(frozen=True, eq=False)
class Decision:
    """Decision of "auto" on columns that vary: scale all, or scale only the few with a unit of their own."""

    scaled: bool
    why: str
    own: npt.NDArray[np.bool_]  # units of their own, among columns that are left alone

    def factor(self, deviations: Floats) -> Floats:
        """Return the factor of each column."""
        if self.scaled:
            return 1.0 / deviations
        factor = np.ones(len(deviations))
        if self.own.any() and not self.own.all():
            factor[self.own] = _median(deviations[~self.own]) / deviations[self.own]
        return factor


def scaling_from_moments(moments: Moments, scale: str | bool) -> ColumnScaling:
    """Return ``column_scaling`` from moments alone."""
    varies, factor = moments.varies, np.zeros(len(moments.centre))
    decision = decide(moments.select(varies)) if isinstance(scale, str) else requested_decision(bool(scale), varies)
    factor[varies] = decision.factor(moments.deviations[varies])
    return ColumnScaling(moments.centre, factor, describe_decision(decision, varies))


def requested_decision(scaled: bool, varies: npt.NDArray[np.bool_]) -> Decision:
    """Return the decision of a caller who passed True or False."""
    return Decision(scaled, "asked for", np.zeros(int(varies.sum()), dtype=bool))


def describe_decision(decision: Decision, varies: npt.NDArray[np.bool_]) -> str:
    """Describe what is done to columns and why; columns are numbered from 0."""
    own = np.flatnonzero(varies)[decision.own].tolist()
    listed = f"column{'s' * (len(own) > 1)} {', '.join(map(str, own))} (from 0)"
    note = f", but for {listed} of another unit, scaled to the median standard deviation" if own else ""
    dropped = f", {(~varies).sum()} constant left out" if not varies.all() else ""
    return f"columns {'scaled' if decision.scaled else 'as they are'}: {decision.why}{note}{dropped}"


def decide(moments: Moments) -> Decision:
    """Decide whether columns, all of which vary, have different units, and why."""
    deviations, d = moments.deviations, len(moments.centre)
    nothing = np.zeros(d, dtype=bool)
    if d < 2:
        return Decision(False, "fewer than two of them vary", nothing)
    own = _find_other_units(deviations)
    centred = _are_centred(moments)
    if d - centred.sum() < FEW * d and _fall(deviations[centred]):
        why = "centred, with standard deviations that decrease from left to right, they are principal components"
        return Decision(False, why, own & ~centred)
    ratio, n_wide = deviations.max() / _median(deviations), int((deviations > WIDE * _median(deviations)).sum())
    if n_wide >= max(1, FEW * d):
        return Decision(True, f"the largest standard deviation is {ratio:.3g} times the median one", nothing)
    n_binary = int(moments.binary.sum())
    if FEW_BINARY * d <= n_binary < d:
        return Decision(True, f"{n_binary} of {d} have just two values", nothing)
    shared = deviations[~own]
    ratio = float(shared.max() / _median(shared))
    return Decision(
        False, f"they share one scale, with a largest standard deviation {ratio:.3g} times the median one", own
    )


def _median(deviations: Floats) -> float:
    """Return the lower median."""
    return float(np.sort(deviations)[(len(deviations) - 1) // 2])


def _find_other_units(deviations: Floats) -> npt.NDArray[np.bool_]:
    """Mark the few columns whose standard deviations are large and separated from all others."""
    order = np.argsort(-deviations, kind="stable")
    falling, own = deviations[order], np.zeros(len(deviations), dtype=bool)
    n_few = int(np.ceil(FEW * len(deviations))) - 1  # fewer than the share that decides for all
    wide = falling[:n_few] > np.maximum(WIDE * _median(deviations), APART * falling[1 : n_few + 1])
    own[order[: int(wide.nonzero()[0].max(initial=-1)) + 1]] = True
    return own


def _are_centred(moments: Moments) -> npt.NDArray[np.bool_]:
    limit = min(CENTRED_AT_MOST, max(CENTRED_AT_LEAST, CENTRED_ERRORS / np.sqrt(moments.n_points)))
    return np.asarray(np.abs(moments.centre) <= limit * moments.deviations)


def _fall(deviations: Floats) -> bool:
    """Return whether standard deviations differ and decrease from left to right."""
    if len(deviations) < 2 or np.ptp(deviations) == 0:
        return False
    ranks = np.argsort(np.argsort(deviations, kind="stable"), kind="stable")
    return bool(np.corrcoef(ranks, np.arange(len(deviations)))[0, 1] <= FALLING)
