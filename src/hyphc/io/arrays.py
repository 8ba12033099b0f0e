"""Readers of numeric files: NPY (memory-mapped), NPZ and MatrixMarket."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.atomic_write import max_unpacked_bytes
from .._runtime.numpy_files import require_plausible
from .columns import Column, ColumnSelection, ColumnsError, assign_roles, find_column, find_columns, join_names
from .matrix_market import parse_matrix_market
from .points import LARGEST, Points, build_points, check_numbers, explain_damage
from .sources import InputFile, decode

_SPARSE_KEYS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes, whatever the format
ROW_BYTES = 8  # of a sparse matrix, for each row
_NUMBERS = "fiub"  # kinds of dtype that are numbers


def read_array_file(source: InputFile, found: str, wanted: ColumnSelection, condensed: bool = False) -> Points:
    """Read an NPY, NPZ or MatrixMarket file; if ``condensed``, an NPY file may hold distances in condensed form."""
    if found == "npy":
        return _read_npy(source, wanted, condensed)
    return (_read_npz if found == "npz" else _read_matrix_market)(source, wanted)


def _read_npy(source: InputFile, wanted: ColumnSelection, condensed: bool) -> Points:
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


def _select_columns(source: InputFile, X: npt.NDArray[Any], wanted: ColumnSelection) -> Points:
    """Return the array itself, not a copy, unless columns are selected."""
    _require_table(source, X)
    if wanted.categories is not None:
        message = f"{source.label} holds an array of numbers, which has no categories; leave the choice out."
        raise ColumnsError(message, "categories")
    n, d = X.shape
    if not wanted:
        check_numbers(X, source.label, keep_missing=wanted.keep_missing)
        return Points(source.label, X, notes=(f"features: {d} columns of numbers",))
    columns = [Column(str(c + 1), "number", n, n) for c in range(d)]
    roles = assign_roles(source.label, columns, wanted)
    picked = np.ascontiguousarray(X[:, list(roles.features)])
    called = tuple(columns[c].name for c in roles.features)
    check_numbers(picked, source.label, called, keep_missing=wanted.keep_missing)
    return build_points(source.label, columns, roles, picked, {}, lambda c: _texts(X[:, c]))


def _texts(values: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return values as text: integers without a decimal point, "" for NaN."""
    if values.dtype.kind != "f":
        return tuple(map(str, values.tolist()))
    known = values[~np.isnan(values)]
    whole = bool(np.isfinite(known).all()) and np.array_equal(known, np.floor(known))
    return tuple("" if value != value else str(int(value) if whole else value) for value in values.tolist())


def _read_npz(source: InputFile, wanted: ColumnSelection) -> Points:
    """Read SciPy's sparse matrix, or the one numeric table of the archive; labels and names are found by array name."""
    with explain_damage(source, "npz"), source.open() as file, np.load(file, allow_pickle=False) as archive:
        require_plausible(archive, source.n_bytes)
        arrays = {key: array for key in archive.files if isinstance(array := archive[key], np.ndarray)}
    keys = list(arrays)
    if set(keys) >= _SPARSE_KEYS:
        with explain_damage(source, "npz"), source.open() as file:
            matrix: Any = sp.load_npz(file)
            if matrix.format in ("csr", "csc", "bsr"):
                matrix.check_format(full_check=True)  # SciPy does not check indices when it reads them
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
        shown = f"{len(tables)} tables of numbers among its arrays ({join_names(keys)})"
        raise ColumnsError(f"{source.label} has {shown}; choose one as features.", "features")
    X = arrays[tables[0]]
    _require_table(source, X)
    check_numbers(X, f"{source.label}, array {tables[0]}", keep_missing=wanted.keep_missing)

    def read(key: str) -> tuple[str, ...]:
        values = arrays[keys[find_column(source.label, keys, key)]]
        if values.shape != (len(X),):
            shown = f"its shape is {values.shape}; give one with a value for each of the {len(X)} rows"
            raise ValueError(f"{source.label}, array {key}: {shown}.")
        return _texts(values)

    names, labels = (None if key is None else read(key) for key in (wanted.names, wanted.labels))
    known = {what: read(key) for what, key in wanted.known.items()}
    note = f"features: array {tables[0]}, {X.shape[1]} columns"
    return Points(source.label, X, "features", names, labels, notes=(note,), known=known)


def _read_matrix_market(source: InputFile, wanted: ColumnSelection) -> Points:
    most_rows = max_unpacked_bytes(source.n_bytes) // ROW_BYTES
    with explain_damage(source, "mtx"):
        matrix, _ = decode(source, lambda lines: parse_matrix_market(lines, most_rows))
    if sp.issparse(matrix):
        return _sparse(source, matrix, wanted)
    return _select_columns(source, np.asarray(matrix), wanted)


def _require_rows(shape: tuple[int, ...], source: InputFile) -> None:
    """Raise for too many rows: an empty row of a sparse matrix still takes memory."""
    if max(shape) > max_unpacked_bytes(source.n_bytes) // ROW_BYTES:
        raise ValueError(f"its shape is {shape}, more than a file of its size may have")


def _sparse(source: InputFile, matrix: Any, wanted: ColumnSelection) -> Points:
    if wanted:
        message = f"{source.label} is a sparse matrix and has no columns to choose; leave the choice out."
        raise ColumnsError(message, *wanted.given_arguments)
    data: sp.csr_array[np.float64] = sp.csr_array(matrix, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(data.data) <= LARGEST))
    if len(bad):
        e = int(bad[0])
        place = f"row {np.searchsorted(data.indptr, e, side='right')}, column {data.indices[e] + 1}"
        raise ValueError(f"{source.label}, {place}: {data.data[e]} is missing or too large; correct it.")
    return Points(source.label, data)
