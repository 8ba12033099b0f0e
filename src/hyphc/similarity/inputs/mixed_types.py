"""Tables of numbers and categories, in which a categorical column weighs as much as a numeric one.

A category is one-hot encoded, so that all pairs of different values are equally far apart, as in Gower's distance. Its indicators
are scaled together, so that the mean squared difference is that of a numeric column with standard deviation 1; with two values
that is the column 0, 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.table_columns import is_missing_value
from ..scaling import FEW as FEW_COLUMNS
from ..scaling import ColumnScaling, Decision, Moments, decide, describe_decision, requested_decision

Categories = tuple[tuple[str, ...] | None, ...]  # the values of each column; None where it holds numbers

# A column with more distinct values than half of the rows, or than the largest of these, is not categorical.
DIFFER, FEW, MOST = 0.5, 10, 256
# Without scaling two different values are this far from each other, as in Gower's distance; an indicator has half of the square.
MISMATCH = 1.0


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Numeric and categorical columns, (n, d).

    Parameters
    ----------
    values : array (n, d)
        A category is the number of its value; NaN is missing.
    categories : tuple of d
        The values of each column of categories; None for numbers.
    columns : tuple of d str
        What errors call the columns.

    Examples
    --------
    >>> table = MixedTable(np.array([[1.5, 0], [2.0, 1], [np.nan, 0]]), (None, ("cat", "dog")), ("kg", "kind"))
    >>> table.one_hot()
    array([[1.5, 1. , 0. ],
           [2. , 0. , 1. ],
           [nan, 1. , 0. ]])
    """

    values: Floats
    categories: Categories
    columns: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns, a category counted as one."""
        return self.values.shape[0], self.values.shape[1]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> MixedTable:
        """Return some rows, or as ``table[:, columns]`` some columns."""
        if not isinstance(index, tuple):
            return MixedTable(self.values[index], self.categories, self.columns)
        picked = np.arange(self.shape[1])[index[1]].tolist()
        kinds = tuple(self.categories[c] for c in picked)
        return MixedTable(self.values[index], kinds, tuple(self.columns[c] for c in picked))

    def one_hot(self) -> Floats:
        """Return numbers unchanged and an indicator column for each category; all indicators of a missing category are NaN."""
        parts = []
        for column, values in zip(self.values.T, self.categories, strict=True):
            if values is None:
                parts.append(column[:, None])
                continue
            indicators = (column[:, None] == np.arange(len(values))).astype(np.float64)
            indicators[np.isnan(column)] = np.nan
            parts.append(indicators)
        return np.ascontiguousarray(np.hstack(parts))


def source_columns(categories: Categories) -> Ints:
    """Return the column of the table from which each one-hot column comes."""
    widths = [1 if values is None else len(values) for values in categories]
    return np.repeat(np.arange(len(categories)), widths)


def encode_categories(
    values: Sequence[Any], column: str, known: tuple[str, ...] | None = None
) -> tuple[Floats, tuple[str, ...] | None]:
    """Return integer codes of the values, NaN where one is missing, and the categories: ``known``, or those that occur,
    sorted."""
    words = [None if is_missing_value(value) else str(value) for value in values]
    present = {word for word in words if word is not None}
    if known is None:
        _require_groups(column, len(present), len(words))
        known = tuple(sorted(present))
    number = {word: code for code, word in enumerate(known)}
    unknown = next((word for word in words if word is not None and word not in number), None)
    if unknown is not None:
        raise ValueError(
            f"column {column!r} has the value {unknown!r}, which no fitted row has; leave it missing, or fit again with it."
        )
    return np.array([np.nan if word is None else number[word] for word in words]), known


def _require_groups(column: str, n_different: int, n: int) -> None:
    if n_different > max(FEW, min(MOST, DIFFER * n)):
        raise ValueError(
            f"column {column!r} has {n_different} different values in {n} rows, too many for categories; leave it out, or "
            "group the rare ones."
        )


def mixed_scaling(moments: Moments, categories: Categories, scale: str | bool) -> ColumnScaling:
    """Return the scaling of one-hot columns: True weighs every column of the table equally, and so does "auto" unless fewer
    than a twentieth of them are categorical. Then the numeric columns decide, and a category weighs like their median."""
    blocks = source_columns(categories)
    grouped = np.array([values is not None for values in categories])
    varies = np.bincount(blocks, moments.varies) > 0
    # of n points two differ in the square by twice the variance, of indicators by twice the sum of theirs
    deviations = np.sqrt(np.bincount(blocks, moments.deviations**2))
    factor = np.zeros(len(categories))
    if scale == "auto":
        decision = _decide(moments, grouped[varies], (varies & ~grouped)[blocks])
    else:
        decision = requested_decision(bool(scale), varies)
    factor[varies] = decision.factor(deviations[varies])
    if not scale:
        factor[varies] = np.where(grouped, MISMATCH / np.sqrt(2.0), 1.0)[varies]
    return ColumnScaling(moments.centre, factor[blocks], describe_decision(decision, varies))


def _decide(moments: Moments, grouped: npt.NDArray[np.bool_], numbers: npt.NDArray[np.bool_]) -> Decision:
    """Return whether to scale the columns of the table that vary; ``numbers`` marks the numeric ones among the one-hot
    columns."""
    n_grouped, n_columns = int(grouped.sum()), len(grouped)
    if n_grouped >= FEW_COLUMNS * n_columns:
        return Decision(True, f"{n_grouped} of {n_columns} hold categories", np.zeros(n_columns, dtype=bool))
    decision = decide(moments.select(numbers))
    own = grouped.copy()
    own[~grouped] = decision.own
    note = f", {n_grouped} of {n_columns} hold categories" if n_grouped else ""
    return Decision(decision.scaled, decision.why + note, own & (not decision.scaled))


def column_shares(blocks: Ints) -> Floats:
    """Return the weight of each one-hot column: 1 for numbers, 1 / (number of categories) for an indicator."""
    _, block, counts = np.unique(blocks, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[block])
