"""Files of numbers: NPY (memory-mapped), NPZ and MatrixMarket."""

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
from .columns import Column, ColumnsError, Wanted, assign_roles, find_column, find_columns, listed
from .delimited import LARGEST
from .matrix_market import parse_matrix_market
from .sources import FORMAT_NAMES, Source, decoded

_SPARSE_KEYS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes, whatever the format
ROW_BYTES = 8  # of a sparse matrix, for each row
_NUMBERS = "fiub"  # kinds of dtype that are numbers


@dataclass(frozen=True)
class Arrays:
    """Numbers (n, d), dense or sparse, and what the file says about rows and columns."""

    data: Any
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_array_file(source: Source, found: str, wanted: Wanted, condensed: bool = False) -> Arrays:
    """Read a file of one of the three formats; an NPY file may hold one line of distances if these may be ``condensed``."""
    if found == "npy":
        return _read_npy(source, wanted, condensed)
    return (_read_npz if found == "npz" else _read_matrix_market)(source, wanted)


@contextmanager
def reading(source: Source, found: str) -> Iterator[None]:
    """Whatever a reader says about a damaged file becomes one sentence with the file's name."""
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
            if float(part.min()) >= -LARGEST and float(part.max()) <= LARGEST:  # false for NaN
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
    """The error for a value that is missing where none may be."""
    trouble = f"the value is missing{shown}; fill it in, or remove the row or the column"
    return ColumnsError(f"{place}: {trouble}.", "drop-missing", "impute")


def _read_npy(source: Source, wanted: Wanted, condensed: bool) -> Arrays:
    with reading(source, "npy"):
        if source.plain_path is None:
            with source.open() as file:
                array = np.load(file, allow_pickle=False)
        else:
            array = np.load(source.plain_path, mmap_mode="r", allow_pickle=False)
    return _by_column(source, array[:, None] if condensed and array.ndim == 1 else array, wanted)


def _require_table(source: Source, array: npt.NDArray[Any]) -> None:
    if array.dtype.kind not in _NUMBERS:
        raise ValueError(f"{source.label} does not hold numbers but {array.dtype}; save an array of floats.")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{source.label} holds an array of shape {array.shape}; expected rows and columns, (n, d).")


def _by_column(source: Source, X: npt.NDArray[Any], wanted: Wanted) -> Arrays:
    """The array itself, not a copy, unless columns are asked for."""
    _require_table(source, X)
    if wanted.categories is not None:
        message = f"{source.label} holds an array of numbers, which has no categories; leave the choice out."
        raise ColumnsError(message, "categories")
    n, d = X.shape
    if not wanted:
        check_numbers(X, source.label, keep_missing=wanted.keep_missing)
        return Arrays(X, notes=(f"features: {d} columns of numbers",))
    columns = [Column(str(c + 1), "number", n, n) for c in range(d)]
    roles = assign_roles(source.label, columns, wanted)
    picked = np.ascontiguousarray(X[:, list(roles.features)])
    called = tuple(columns[c].name for c in roles.features)
    check_numbers(picked, source.label, called, keep_missing=wanted.keep_missing)
    names, labels = (None if c is None else _texts(X[:, c]) for c in (roles.names, roles.labels))
    known = {what: _texts(X[:, c]) for what, c in roles.known.items()}
    return Arrays(picked, names, labels, called, roles.notes, known)


def _texts(values: npt.NDArray[Any]) -> tuple[str, ...]:
    """Values as text; whole numbers without a decimal point, "" for NaN."""
    if values.dtype.kind != "f":
        return tuple(map(str, values.tolist()))
    known = values[~np.isnan(values)]
    whole = bool(np.isfinite(known).all()) and np.array_equal(known, np.floor(known))
    return tuple("" if value != value else str(int(value) if whole else value) for value in values.tolist())


def _read_npz(source: Source, wanted: Wanted) -> Arrays:
    """One table of numbers in the archive, labels and names by the names of their arrays; or SciPy's sparse matrix."""
    with reading(source, "npz"), source.open() as file, np.load(file, allow_pickle=False) as archive:
        require_plausible(archive, source.n_bytes)
        arrays = {key: array for key in archive.files if isinstance(array := archive[key], np.ndarray)}
    keys = list(arrays)
    if set(keys) >= _SPARSE_KEYS:
        with reading(source, "npz"), source.open() as file:
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
            f"{source.label} has {len(tables)} tables of numbers among its arrays ({listed(keys)}); choose one as features.",
            "features",
        )
    X = arrays[tables[0]]
    _require_table(source, X)
    check_numbers(X, f"{source.label}, array {tables[0]}", keep_missing=wanted.keep_missing)
    names, labels = (
        None if key is None else _one_a_row(source, arrays, key, len(X)) for key in (wanted.names, wanted.labels)
    )
    known = {what: _one_a_row(source, arrays, key, len(X)) for what, key in wanted.known.items()}
    return Arrays(X, names, labels, notes=(f"features: array {tables[0]}, {X.shape[1]} columns",), known=known)


def _one_a_row(source: Source, arrays: dict[str, npt.NDArray[Any]], key: str, n: int) -> tuple[str, ...]:
    values = arrays[list(arrays)[find_column(source.label, list(arrays), key)]]
    if values.shape != (n,):
        raise ValueError(
            f"{source.label}, array {key}: its shape is {values.shape}; give one with a value for each of the {n} rows."
        )
    return _texts(values)


def _read_matrix_market(source: Source, wanted: Wanted) -> Arrays:
    most_rows = max_unpacked_bytes(source.n_bytes) // ROW_BYTES
    with reading(source, "mtx"):
        matrix, _ = decoded(source, lambda lines: parse_matrix_market(lines, most_rows))
    return _sparse(source, matrix, wanted) if sp.issparse(matrix) else _by_column(source, np.asarray(matrix), wanted)


def _require_rows(shape: tuple[int, ...], source: Source) -> None:
    """A row of a sparse matrix costs memory though nothing is in it."""
    if max(shape) > max_unpacked_bytes(source.n_bytes) // ROW_BYTES:
        raise ValueError(f"its shape is {shape}, more than a file of its size may have")


def _sparse(source: Source, matrix: Any, wanted: Wanted) -> Arrays:
    if wanted:
        message = f"{source.label} is a sparse matrix and has no columns to choose; leave the choice out."
        raise ColumnsError(message, *wanted.asked)
    data: sp.csr_array[np.float64] = sp.csr_array(matrix, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(data.data) <= LARGEST))
    if len(bad):
        e = int(bad[0])
        place = f"row {np.searchsorted(data.indptr, e, side='right')}, column {data.indices[e] + 1}"
        raise ValueError(f"{source.label}, {place}: {data.data[e]} is missing or too large; correct it.")
    return Arrays(data)
