"""Readers of numeric files: NPY (memory-mapped), NPZ and MatrixMarket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.atomic_write import max_unpacked_bytes
from .._runtime.numpy_files import require_plausible
from .columns import Column, ColumnSelection, ColumnsError, assign_roles, find_column, find_columns, join_names
from .points import LARGEST, Points, build_points, check_numbers, explain_damage
from .sources import InputFile, decode

_SPARSE_KEYS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes, whatever the format
ROW_BYTES = 8  # of a sparse matrix, for each row
_NUMBERS = "fiub"  # kinds of dtype that are numbers
# MatrixMarket
_FORMS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_MIRRORS = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}
_EXACT = 1 << 53  # indices are read as floats, which hold whole numbers up to here


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
            if max(matrix.shape) > _most_rows(source):
                raise ValueError(f"its shape is {matrix.shape}, more than a file of its size may have")
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
    with explain_damage(source, "mtx"):
        matrix, _ = decode(source, lambda lines: _parse_matrix_market(lines, _most_rows(source)))
    if sp.issparse(matrix):
        return _sparse(source, matrix, wanted)
    return _select_columns(source, np.asarray(matrix), wanted)


def _most_rows(source: InputFile) -> int:
    """Return how many rows a sparse matrix may have: an empty row takes memory although the file need not mention it."""
    return max_unpacked_bytes(source.n_bytes) // ROW_BYTES


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


class _Header(NamedTuple):
    form: str
    pattern: bool
    mirror: float  # what a mirrored entry is multiplied by; 0 where there is none


def _parse_matrix_market(lines: IO[str], most_rows: int) -> Any:
    """Return a csr_array, or an array for the format "array"; duplicate entries are summed.

    It reads line by line, so that a false header allocates nothing. SciPy's own reader ends the process on some damaged files, so
    this one is NumPy's text reader and checks around it.
    """
    header = _header(lines.readline())
    size = _size(lines, 3 if header.form == "coordinate" else 2)
    if header.form == "array":
        return _dense(lines, size[0], size[1], header)
    if max(size[:2]) > most_rows:
        claim = f"the header claims {size[0]} rows and {size[1]} columns"
        raise ValueError(f"{claim}, more than a file of its size may have")
    return _coordinates(lines, size, header)


def _header(line: str) -> _Header:
    words = line.lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise ValueError("its first line is not '%%MatrixMarket matrix FORM FIELD SYMMETRY'")
    form, field, symmetry = words[2:]
    if form not in _FORMS or field not in _FIELDS or symmetry not in _MIRRORS:
        raise ValueError(f"matrices that are {form} {field} {symmetry} are not read; write real general ones")
    if form == "array" and field == "pattern":
        raise ValueError("an array has no pattern; write real numbers")
    return _Header(form, field == "pattern", _MIRRORS[symmetry])


def _size(lines: IO[str], count: int) -> list[int]:
    """Return the numbers of the first line that is neither blank nor a comment."""
    line = next((line for line in lines if line.strip() and not line.lstrip().startswith("%")), "")
    words = line.split()
    if len(words) != count or not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
        raise ValueError(f"the line after its comments does not say its size in {count} whole numbers")
    return [int(word) for word in words]


def _table(lines: IO[str], n_rows: int, n_columns: int) -> Floats:
    """Return a table (n_rows, n_columns) from the remaining lines."""
    if not n_rows:
        return np.empty((0, n_columns))
    found = np.loadtxt(_skip_comments(lines), dtype=np.float64, comments=None, ndmin=2)
    if found.shape != (n_rows, n_columns):
        announced = f"{n_rows} lines of {n_columns} numbers are announced"
        raise ValueError(f"{announced} and {len(found)} of {found.shape[1]} there")
    return found


def _skip_comments(lines: IO[str]) -> Iterator[str]:
    """Yield lines that are not blank or comments; raise if there is none, where NumPy only warns."""
    has_lines = False
    for line in lines:
        if line.strip() and not line.startswith("%"):
            has_lines = True
            yield line
    if not has_lines:
        raise ValueError("no line follows its size")


def _dense(lines: IO[str], n: int, d: int, header: _Header) -> Floats:
    if not header.mirror:
        return np.ascontiguousarray(_table(lines, n * d, 1).reshape(d, n).T)
    if n != d:
        raise ValueError(f"a symmetric matrix is square, and this one has {n} rows and {d} columns")
    diagonal = 0 if header.mirror > 0 else 1  # a skew-symmetric one has no diagonal
    values = _table(lines, n * (n + 1) // 2 - n * diagonal, 1)
    full = np.zeros((n, n))
    columns, rows = np.triu_indices(n, diagonal)  # the lower triangle, column by column
    full[columns, rows] = header.mirror * values[:, 0]
    full[rows, columns] = values[:, 0]
    return full


def _coordinates(lines: IO[str], size: list[int], header: _Header) -> sp.csr_array[np.float64]:
    n, d, n_entries = size
    table = _table(lines, n_entries, 2 if header.pattern else 3)
    places = table[:, :2]
    if not ((places >= 1) & (places <= np.minimum([n, d], _EXACT)) & (places == np.floor(places))).all():
        raise ValueError(f"an entry lies outside of the {n} rows and {d} columns")
    rows, columns = places.T.astype(np.int64) - 1
    values = np.ones(n_entries) if header.pattern else table[:, 2]
    if header.mirror:
        if n != d:
            raise ValueError(f"a symmetric matrix is square, and this one has {n} rows and {d} columns")
        off = rows != columns
        values = np.concatenate([values, header.mirror * values[off]])
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(n, d)))
