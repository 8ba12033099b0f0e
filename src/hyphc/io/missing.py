"""Missing values of a table that was read (kept, dropped or imputed, with a note), and transposition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Ints
from .._runtime.validation import has_missing
from ..similarity.inputs.mixed_types import MixedTable
from .columns import LISTED, ColumnsError

if TYPE_CHECKING:
    from .points import Missing, Points

Holes = npt.NDArray[np.bool_]


def handle_missing(points: Points, missing: Missing) -> Points:
    """Return the points with missing values kept, dropped or imputed, and a note on how many there were and where."""
    values = dense_values(points.data)
    if points.kind != "features" or values is None or not has_missing(values):
        return points
    holes: Holes = np.isnan(values)
    note = f"missing: {_describe_holes(holes, points.columns)}"
    if missing == "drop":
        return _drop_rows(points, holes, note)
    if missing == "impute":
        return replace(
            points, data=_impute(points.data), notes=(*points.notes, f"{note}; filled in by means of columns")
        )
    empty = np.flatnonzero(holes.all(axis=1))
    if len(empty):
        message = f"{points.source}, row {empty[0] + 1} has no value at all; remove it."
        raise ColumnsError(message, "drop-missing")
    return replace(points, notes=(*points.notes, note))


def dense_values(data: Any) -> npt.NDArray[Any] | None:
    """Return the numbers of dense rows; None for sparse rows, which have no missing values."""
    return data.values if isinstance(data, MixedTable) else data if isinstance(data, np.ndarray) else None


def numeric_columns(points: Points) -> tuple[npt.NDArray[Any], tuple[str, ...]] | None:
    """Return the numeric columns, NaN where a value is missing, and their names."""
    values = dense_values(points.data)
    if points.kind != "features" or values is None:
        return None
    called = points.columns or tuple(str(c + 1) for c in range(values.shape[1]))
    if isinstance(points.data, MixedTable):
        kept = [c for c, kinds in enumerate(points.data.categories) if kinds is None]
        values, called = values[:, kept], tuple(called[c] for c in kept)
    if values.shape[1] == 0:
        return None
    return values, called


def _describe_holes(holes: Holes, columns: tuple[str, ...] | None) -> str:
    counts = holes.sum(axis=0)
    most = np.argsort(-counts, kind="stable")
    most = most[counts[most] > 0]
    named = [f"{str(c + 1) if columns is None else columns[c]} ({counts[c]})" for c in most[:LISTED].tolist()]
    more = f", … ({len(most)} columns in all)" if len(most) > LISTED else ""
    return (
        f"{counts.sum()} of {holes.size} values ({100 * counts.sum() / holes.size:.2g} %), in {', '.join(named)}{more}"
    )


def _drop_rows(points: Points, holes: Holes, note: str) -> Points:
    """Return the points without rows that miss a value; the others keep their row numbers of the file."""
    kept = np.flatnonzero(~holes.any(axis=1))
    if len(kept) < 2:
        what = f"{len(kept)} of {points.n} rows have all values, and a tree needs two"
        raise ColumnsError(f"{points.source}: {what}; leave out columns, or fill them in.", "exclude", "impute")
    numbers = tuple((kept + 1).tolist())
    names, labels = (None if t is None else _pick_cells(kept, t) for t in (points.names, points.labels))
    known = {what: _pick_cells(kept, cells) for what, cells in points.known.items()}
    note = f"{note}; {points.n - len(kept)} rows left out"
    names = tuple(f"row {number}" for number in numbers) if names is None else names
    left = replace(points, data=points.data[kept], names=names, labels=labels, known=known, rows=numbers)
    return replace(left, notes=(*points.notes, note))


def _pick_cells(kept: Ints, cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cells[i] for i in kept.tolist())


def _impute(data: Any) -> Any:
    """Return the data with column means in place of missing values, and the most frequent category."""
    if isinstance(data, MixedTable):
        filled = _impute(data.values)
        for c, values in enumerate(data.categories):
            if values is not None:
                column = data.values[:, c]
                commonest = np.bincount(column[~np.isnan(column)].astype(np.int64)).argmax()
                filled[:, c] = np.where(np.isnan(column), commonest, column)
        return replace(data, values=filled)
    return np.where(np.isnan(data), np.nanmean(data, axis=0), data)


def transpose_points(points: Points) -> Points:
    """Return the columns as rows."""
    if points.kind != "features" or isinstance(points.data, MixedTable):
        what = "columns of categories" if isinstance(points.data, MixedTable) else f"a matrix of {points.kind}"
        raise ColumnsError(f"{points.source}: {what} cannot be transposed; leave it out.", "transpose")
    if points.labels is not None:
        raise ColumnsError(f"{points.source}: labels are of rows, and columns are clustered; leave them out.", "labels")
    if points.known:
        message = f"{points.source}: what is known is of rows, and columns are clustered; leave it out."
        raise ColumnsError(message, *points.known)
    turned: Any = points.data.T
    data: Any = np.ascontiguousarray(turned) if isinstance(turned, np.ndarray) else sp.csr_array(turned)
    if data.shape[0] < 2:
        raise ColumnsError(f"{points.source} has one column of numbers; a tree needs at least two.", "transpose")
    return replace(
        points,
        data=data,
        names=points.columns,
        columns=points.names,
        notes=(*points.notes, f"transposed: {data.shape[0]} columns are clustered by {data.shape[1]} rows"),
    )
