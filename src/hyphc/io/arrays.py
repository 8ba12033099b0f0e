"""Readers of numeric files: NPY (memory-mapped), NPZ and MatrixMarket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.atomic_write import max_unpacked_bytes
from .._runtime.numpy_files import damage_as_value_error, require_plausible
from .._runtime.validation import CHUNK_BYTES
from .columns import Column, ColumnSelection, ColumnsError, assign_roles, find_column, find_columns, join_names
from .delimited import LARGEST
from .matrix_market import parse_matrix_market
from .sources import FORMAT_NAMES, InputFile, decode

_SPARSE_KEYS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes, whatever the format
ROW_BYTES = 8  # of a sparse matrix, for each row
_NUMBERS = "fiub"  # kinds of dtype that are numbers


@dataclass(frozen=True)
class ArrayContents:
    """Numbers (n, d), dense or sparse, with the names, labels and columns that the file holds."""

    data: Any
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_array_file(source: InputFile, found: str, wanted: ColumnSelection, condensed: bool = False) -> ArrayContents:
    """Read an NPY, NPZ or MatrixMarket file; if ``condensed``, an NPY file may hold distances in condensed form."""
    if found == "npy":
        return _read_npy(source, wanted, condensed)
    return (_read_npz if found == "npz" else _read_matrix_market)(source, wanted)


@contextmanager
def explain_damage(source: InputFile, found: str) -> Iterator[None]:
    """Convert any error of a reader of a damaged file to one sentence with the file's name."""
    try:
        with damage_as_value_error():
            yield
    except ValueError as error:
        raise ValueError(
            f"{source.label} cannot be read as {FORMAT_NAMES[found]} ({error}); it may be incomplete: write it again."
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
            raise missing_value(place, f" ({value})")
        raise ValueError(
            f"{place}: {value} is too large (the limit is {LARGEST:g}); correct it, or rescale the column."
        )


def missing_value(place: str, shown: str = "") -> ColumnsError:
    """Return the error for a missing value where none is allowed."""
    trouble = f"the value is missing{shown}; fill it in, or remove the row or the column"
    return ColumnsError(f"{place}: {trouble}.", "drop-missing", "impute")


def _read_npy(source: InputFile, wanted: ColumnSelection, condensed: bool) -> ArrayContents:
    with explain_damage(source, "npy"):
        if source.plain_path is None:
            with source.open() as file:
                array = np.load(file, allow_pickle=False)
        else:
            array = np.load(source.plain_path, mmap_mode="r", allow_pickle=False)
    return _select_columns(source, array[:, None] if condensed and array.ndim == 1 else array, wanted)


def _require_table(source: InputFile, array: npt.NDArray[Any]) -> None:
    if array.dtype.kind not in _NUMBERS:
        raise ValueError(f"{source.label} does not hold numbers but {array.dtype}; save an array of floats.")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{source.label} holds an array of shape {array.shape}; expected rows and columns, (n, d).")


def _select_columns(source: InputFile, X: npt.NDArray[Any], wanted: ColumnSelection) -> ArrayContents:
    """Return the array itself, not a copy, unless columns are selected."""
    _require_table(source, X)
    if wanted.categories is not None:
        message = f"{source.label} holds an array of numbers, which has no categories; leave the choice out."
        raise ColumnsError(message, "categories")
    n, d = X.shape
    if not wanted:
        check_numbers(X, source.label, keep_missing=wanted.keep_missing)
        return ArrayContents(X, notes=(f"features: {d} columns of numbers",))
    columns = [Column(str(c + 1), "number", n, n) for c in range(d)]
    roles = assign_roles(source.label, columns, wanted)
    picked = np.ascontiguousarray(X[:, list(roles.features)])
    called = tuple(columns[c].name for c in roles.features)
    check_numbers(picked, source.label, called, keep_missing=wanted.keep_missing)
    names, labels = (None if c is None else _texts(X[:, c]) for c in (roles.names, roles.labels))
    known = {what: _texts(X[:, c]) for what, c in roles.known.items()}
    return ArrayContents(picked, names, labels, called, roles.notes, known)


def _texts(values: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return values as text: integers without a decimal point, "" for NaN."""
    if values.dtype.kind != "f":
        return tuple(map(str, values.tolist()))
    known = values[~np.isnan(values)]
    whole = bool(np.isfinite(known).all()) and np.array_equal(known, np.floor(known))
    return tuple("" if value != value else str(int(value) if whole else value) for value in values.tolist())


def _read_npz(source: InputFile, wanted: ColumnSelection) -> ArrayContents:
    """Read SciPy's sparse matrix, or the one numeric table of the archive; labels and names are found by array name."""
    with explain_damage(source, "npz"), source.open() as file, np.load(file, allow_pickle=False) as archive:
        require_plausible(archive, source.n_bytes)
        arrays = {key: array for key in archive.files if isinstance(array := archive[key], np.ndarray)}
    keys = list(arrays)
    if set(keys) >= _SPARSE_KEYS:
        with explain_damage(source, "npz"), source.open() as file:
            matrix: Any = sp.load_npz(file)
            if matrix.format in ("csr", "csc", "bsr"):
                matrix.check_format(full_check=True)  # SciPy would follow any index it is given
            _require_rows(matrix.shape, source)
        return _sparse(source, matrix, wanted)
    if {"children", "heights"} <= set(keys):
        raise ValueError(f"{source.label} holds a tree and no points; give the file that the tree was made from.")
    if wanted.categories is not None:
        raise ColumnsError(f"{source.label} holds arrays of numbers, which have no categories.", "categories")
    left_out = {keys[c] for key in wanted.exclude or () for c in find_columns(source.label, keys, key)}
    if wanted.features is not None:
        tables = [keys[find_column(source.label, keys, key)] for key in wanted.features]
    else:
        tables = [key for key, array in arrays.items() if array.ndim == 2 and array.dtype.kind in _NUMBERS]
    tables = [key for key in tables if key not in left_out]
    if len(tables) != 1:
        raise ColumnsError(
            f"{source.label} has {len(tables)} tables of numbers among its arrays ({join_names(keys)}); choose one as features.",
            "features",
        )
    X = arrays[tables[0]]
    _require_table(source, X)
    check_numbers(X, f"{source.label}, array {tables[0]}", keep_missing=wanted.keep_missing)
    names, labels = (
        None if key is None else _one_a_row(source, arrays, key, len(X)) for key in (wanted.names, wanted.labels)
    )
    known = {what: _one_a_row(source, arrays, key, len(X)) for what, key in wanted.known.items()}
    return ArrayContents(X, names, labels, notes=(f"features: array {tables[0]}, {X.shape[1]} columns",), known=known)


def _one_a_row(source: InputFile, arrays: dict[str, npt.NDArray[Any]], key: str, n: int) -> tuple[str, ...]:
    values = arrays[list(arrays)[find_column(source.label, list(arrays), key)]]
    if values.shape != (n,):
        raise ValueError(
            f"{source.label}, array {key}: its shape is {values.shape}; give one with a value for each of the {n} rows."
        )
    return _texts(values)


def _read_matrix_market(source: InputFile, wanted: ColumnSelection) -> ArrayContents:
    most_rows = max_unpacked_bytes(source.n_bytes) // ROW_BYTES
    with explain_damage(source, "mtx"):
        matrix, _ = decode(source, lambda lines: parse_matrix_market(lines, most_rows))
    return (
        _sparse(source, matrix, wanted) if sp.issparse(matrix) else _select_columns(source, np.asarray(matrix), wanted)
    )


def _require_rows(shape: tuple[int, ...], source: InputFile) -> None:
    """Raise for too many rows: an empty row of a sparse matrix still takes memory."""
    if max(shape) > max_unpacked_bytes(source.n_bytes) // ROW_BYTES:
        raise ValueError(f"its shape is {shape}, more than a file of its size may have")


def _sparse(source: InputFile, matrix: Any, wanted: ColumnSelection) -> ArrayContents:
    if wanted:
        message = f"{source.label} is a sparse matrix and has no columns to choose; leave the choice out."
        raise ColumnsError(message, *wanted.given_arguments)
    data: sp.csr_array[np.float64] = sp.csr_array(matrix, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(data.data) <= LARGEST))
    if len(bad):
        e = int(bad[0])
        place = f"row {np.searchsorted(data.indptr, e, side='right')}, column {data.indices[e] + 1}"
        raise ValueError(f"{source.label}, {place}: {data.data[e]} is missing or too large; correct it.")
    return ArrayContents(data)
