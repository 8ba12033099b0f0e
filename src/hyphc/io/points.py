"""Points read from a file: container, assembly and checks that readers share, missing values and transposition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.numpy_files import damage_as_value_error
from .._runtime.sanitize import is_blank
from .._runtime.validation import CHUNK_BYTES, has_missing
from ..similarity.inputs.mixed_types import MixedTable, encode_categories
from .columns import LISTED, Column, ColumnsError, Roles
from .sources import FORMAT_NAMES, InputFile

Kind = Literal["features", "similarities", "distances", "graph"]
Missing = Literal["keep", "refuse", "drop", "impute"]
LARGEST = 1e100  # squares and products of three such numbers still fit a float64 with room for a sum over all rows


@dataclass(frozen=True, eq=False)
class Points:
    """Contents of a file to be clustered.

    Attributes
    ----------
    source : str
        The file's name in messages.
    data : array (n, d), MixedTable, or csr_array
        Features (n, d), similarities or distances (n, n), or the adjacency matrix of a graph (n, n). NaN is missing; a
        ``MixedTable`` also has columns of categories. An NPY file is memory-mapped.
    kind : {"features", "similarities", "distances", "graph"}
    names, labels : tuples of n str, or None
        As the file writes them; names need not differ. A missing label is "".
    columns : tuple of d str, or None
        Names of the features.
    notes : tuple of str
        What was inferred, one choice each.
    known : mapping of str to tuple of n str
        Cells of the columns asked for as ``known``, as the file writes them.
    rows : tuple of n int, or None
        Which rows of the file these are, from 1; None for all.
    header : tuple of str, or None
        Names of all columns of a table.
    """

    source: str
    data: Any
    kind: Kind = "features"
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: tuple[int, ...] | None = None
    header: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.data.shape[0])

    def with_notes(self, *notes: str) -> Points:
        """Return the points with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def build_points(
    source: str,
    columns: Sequence[Column],
    roles: Roles,
    numbers: npt.NDArray[Any],
    categories: Mapping[int, Sequence[Any]],
    cells: Callable[[int], Sequence[Any]],
) -> Points:
    """Return the points of a table whose columns have roles.

    Parameters
    ----------
    source : str
    columns : sequence of Column
    roles : Roles
    numbers : array (n, d)
        The numeric features.
    categories : mapping of int to sequence of n
        The values of the categorical features, by position of the column; blank ones are missing.
    cells : function of int
        Returns the values of a column, None where one is missing.
    """
    called = tuple(columns[c].name for c in roles.features)
    data: Any = numbers
    if categories:
        values, kinds = np.empty((len(numbers), len(called))), list[tuple[str, ...] | None]([None] * len(called))
        values[:, [k for k, c in enumerate(roles.features) if c not in categories]] = numbers
        for k, c in enumerate(roles.features):
            if c in categories:
                present = [None if word is None or is_blank(str(word)) else word for word in categories[c]]
                try:
                    values[:, k], kinds[k] = encode_categories(present, called[k], roles.encodings.get(c))
                except ValueError as error:
                    raise ValueError(f"{source}, {error}") from None
        data = MixedTable(values, tuple(kinds), called)

    def texts(c: int) -> tuple[str, ...]:
        return tuple("" if value is None else str(value) for value in cells(c))

    names, labels = (None if c is None else texts(c) for c in (roles.names, roles.labels))
    known = {what: texts(c) for what, c in roles.known.items()}
    return Points(source, data, "features", names, labels, called, roles.notes, known)


@contextmanager
def explain_damage(source: InputFile, found: str) -> Iterator[None]:
    """Convert any error of a reader of a damaged file to one sentence with the file's name."""
    try:
        with damage_as_value_error():
            yield
    except ValueError as error:
        name = FORMAT_NAMES[found]
        raise ValueError(
            f"{source.label} cannot be read as {name} ({error}); it may be incomplete: write it again."
        ) from None


def check_numbers(
    X: npt.NDArray[Any], source: str, columns: tuple[str, ...] | None = None, *, keep_missing: bool = False
) -> None:
    """Raise for the first number that is infinite or above ``LARGEST``, or missing unless that is allowed.

    A pass in chunks, in which nothing is copied.
    """
    step = max(1, CHUNK_BYTES // (8 * max(1, X.shape[1])))
    for start in range(0, len(X) if X.shape[1] else 0, step):
        part = X[start : start + step]
        with np.errstate(all="ignore"):  # NaN of the signalling kind, numbers beyond float64: both are found below
            if float(part.min()) >= -LARGEST and float(part.max()) <= LARGEST:  # False for NaN
                continue
            wide = part.astype(np.float64)
            wrong = np.argwhere(~(np.abs(wide) <= LARGEST) & ~(keep_missing & np.isnan(wide)))
        if not len(wrong):
            continue
        row, c = wrong[0].tolist()
        value, called = part[row, c], str(c + 1) if columns is None else repr(columns[c])
        place = f"{source}, row {start + row + 1}, column {called}"
        if np.isnan(value):
            raise missing_value(place, f"the value is missing ({value})")
        raise ValueError(
            f"{place}: {value} is too large (the limit is {LARGEST:g}); correct it, or rescale the column."
        )


def missing_value(place: str, what: str = "the value is missing") -> ColumnsError:
    """Return the error for a missing value where none is allowed."""
    return ColumnsError(f"{place}: {what}; fill it in, or remove the row or the column.", "drop-missing", "impute")


def dense_values(data: Any) -> npt.NDArray[Any] | None:
    """Return the numbers of dense rows; None for sparse rows, which have no missing values."""
    return data.values if isinstance(data, MixedTable) else data if isinstance(data, np.ndarray) else None


def numeric_columns(points: Points) -> tuple[npt.NDArray[Any], tuple[str, ...]] | None:
    """Return the numeric columns, NaN where a value is missing, and their names; None without any."""
    values = dense_values(points.data)
    if points.kind != "features" or values is None:
        return None
    called = points.columns or tuple(str(c + 1) for c in range(values.shape[1]))
    if isinstance(points.data, MixedTable):
        kept = [c for c, kinds in enumerate(points.data.categories) if kinds is None]
        values, called = values[:, kept], tuple(called[c] for c in kept)
    return (values, called) if values.shape[1] else None


def handle_missing(points: Points, missing: Missing) -> Points:
    """Return the points with missing values kept, dropped or imputed, and a note on how many there were and where."""
    values = dense_values(points.data)
    if points.kind != "features" or values is None or not has_missing(values):
        return points
    holes = np.isnan(values)
    note = f"missing: {_describe_holes(holes, points.columns)}"
    if missing == "drop":
        return _drop_rows(points, holes, note)
    if missing == "impute":
        return replace(points, data=_impute(points.data)).with_notes(f"{note}; filled in by means of columns")
    empty = np.flatnonzero(holes.all(axis=1))
    if len(empty):
        raise ColumnsError(f"{points.source}, row {empty[0] + 1} has no value at all; remove it.", "drop-missing")
    return points.with_notes(note)


def _describe_holes(holes: npt.NDArray[np.bool_], columns: tuple[str, ...] | None) -> str:
    counts = holes.sum(axis=0)
    most = np.argsort(-counts, kind="stable")
    most = most[counts[most] > 0]
    named = [f"{str(c + 1) if columns is None else columns[c]} ({counts[c]})" for c in most[:LISTED].tolist()]
    more = f", … ({len(most)} columns in all)" if len(most) > LISTED else ""
    total, share = counts.sum(), 100 * counts.sum() / holes.size
    return f"{total} of {holes.size} values ({share:.2g} %), in {', '.join(named)}{more}"


def _drop_rows(points: Points, holes: npt.NDArray[np.bool_], note: str) -> Points:
    """Return the points without rows that miss a value; the others keep their row numbers of the file."""
    kept = np.flatnonzero(~holes.any(axis=1))
    if len(kept) < 2:
        what = f"{len(kept)} of {points.n} rows have all values, and a tree needs two"
        raise ColumnsError(f"{points.source}: {what}; leave out columns, or fill them in.", "exclude", "impute")
    rows = tuple((kept + 1).tolist())

    def pick(cells: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(cells[row - 1] for row in rows)

    return replace(
        points,
        data=points.data[kept],
        names=tuple(f"row {row}" for row in rows) if points.names is None else pick(points.names),
        labels=None if points.labels is None else pick(points.labels),
        known={what: pick(cells) for what, cells in points.known.items()},
        rows=rows,
    ).with_notes(f"{note}; {points.n - len(kept)} rows left out")


def _impute(data: Any) -> Any:
    """Return the data with column means in place of missing values, and the most frequent category."""
    values: Floats = dense_values(data)  # type: ignore[assignment]
    filled = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    if not isinstance(data, MixedTable):
        return filled
    for c in [c for c, words in enumerate(data.categories) if words is not None]:
        column = values[:, c]
        commonest = np.bincount(column[~np.isnan(column)].astype(np.int64)).argmax()
        filled[:, c] = np.where(np.isnan(column), commonest, column)
    return replace(data, values=filled)


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
    n, d = data.shape
    if n < 2:
        raise ColumnsError(f"{points.source} has one column of numbers; a tree needs at least two.", "transpose")
    turned_points = replace(points, data=data, names=points.columns, columns=points.names)
    return turned_points.with_notes(f"transposed: {n} columns are clustered by {d} rows")
