"""Files of numbers: NPY (memory-mapped), NPZ, MatrixMarket and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._shared.checks import CHUNK_BYTES
from .._shared.files import most_bytes
from .._shared.numpy_files import damage_told, require_plausible
from .columns import Column, ColumnsError, Wanted, assign_roles, find_column, listed
from .delimited import LARGEST
from .matrix_market import parse_matrix_market
from .sources import FORMAT_NAMES, Source, text_of

_SPARSE_KEYS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes, whatever the format
_SAMPLE = 4_096  # rows of a text column that decide whether it names rows
ROW_BYTES = 8  # of a sparse matrix, for each row
PARQUET_TIMES = 10  # Parquet stores runs of one value once: it may hold so many times what another packed file may
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


def read_array_file(source: Source, found: str, wanted: Wanted) -> Arrays:
    """Read a file of one of the four formats."""
    readers = {"npy": _read_npy, "npz": _read_npz, "mtx": _read_matrix_market, "parquet": _read_parquet}
    return readers[found](source, wanted)


@contextmanager
def _reading(source: Source, found: str) -> Iterator[None]:
    """Whatever a reader says about a damaged file becomes one sentence with the file's name."""
    try:
        with damage_told():
            yield
    except ValueError as error:
        raise ValueError(
            f"{source.label} cannot be read as {FORMAT_NAMES[found]} ({error}); it may be incomplete: write it again."
        ) from None


def check_numbers(X: npt.NDArray[Any], source: str, columns: tuple[str, ...] | None = None) -> None:
    """Raise for the first number that is missing, infinite or above ``LARGEST``; a pass in chunks, nothing is copied."""
    step = max(1, CHUNK_BYTES // (8 * max(1, X.shape[1])))
    for start in range(0, len(X), step):
        part = X[start : start + step]
        with np.errstate(all="ignore"):  # NaN of the signalling kind, numbers beyond float64: both are found below
            if float(part.min()) >= -LARGEST and float(part.max()) <= LARGEST:  # false for NaN
                continue
            row, c = np.argwhere(~(np.abs(part.astype(np.float64)) <= LARGEST))[0].tolist()
        value, called = part[row, c], str(c + 1) if columns is None else repr(columns[c])
        if np.isnan(value):
            trouble = f"the value is missing ({value}); fill it in, or remove the row or the column"
        else:
            trouble = f"{value} is too large (the limit is {LARGEST:g}); correct it, or rescale the column"
        raise ValueError(f"{source}, row {start + row + 1}, column {called}: {trouble}.")


def _read_npy(source: Source, wanted: Wanted) -> Arrays:
    with _reading(source, "npy"):
        if source.plain_path is None:
            with source.open() as file:
                array = np.load(file, allow_pickle=False)
        else:
            array = np.load(source.plain_path, mmap_mode="r", allow_pickle=False)
    return _by_column(source, array, wanted)


def _require_table(source: Source, array: npt.NDArray[Any]) -> None:
    if array.dtype.kind not in _NUMBERS:
        raise ValueError(f"{source.label} does not hold numbers but {array.dtype}; save an array of floats.")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{source.label} holds an array of shape {array.shape}; expected rows and columns, (n, d).")


def _by_column(source: Source, X: npt.NDArray[Any], wanted: Wanted) -> Arrays:
    """The array itself, not a copy, unless columns are asked for."""
    _require_table(source, X)
    n, d = X.shape
    if not wanted:
        check_numbers(X, source.label)
        return Arrays(X, notes=(f"features: {d} columns of numbers",))
    columns = [Column(str(c + 1), "number", n, n) for c in range(d)]
    roles = assign_roles(source.label, columns, wanted)
    picked = np.ascontiguousarray(X[:, list(roles.features)])
    called = tuple(columns[c].name for c in roles.features)
    check_numbers(picked, source.label, called)
    names, labels = (None if c is None else _texts(X[:, c]) for c in (roles.names, roles.labels))
    known = {what: _texts(X[:, c]) for what, c in roles.known.items()}
    return Arrays(picked, names, labels, called, roles.notes, known)


def _texts(values: npt.NDArray[Any]) -> tuple[str, ...]:
    """Values as text; whole numbers without a decimal point."""
    if values.dtype.kind == "f" and np.isfinite(values).all() and np.array_equal(values, np.floor(values)):
        values = values.astype(np.int64)
    return tuple(map(str, values.tolist()))


def _read_npz(source: Source, wanted: Wanted) -> Arrays:
    """One table of numbers in the archive, labels and names by the names of their arrays; or SciPy's sparse matrix."""
    with _reading(source, "npz"), source.open() as file, np.load(file, allow_pickle=False) as archive:
        require_plausible(archive, source.n_bytes)
        arrays = {key: array for key in archive.files if isinstance(array := archive[key], np.ndarray)}
    keys = list(arrays)
    if set(keys) >= _SPARSE_KEYS:
        with _reading(source, "npz"), source.open() as file:
            matrix: Any = sp.load_npz(file)
            if matrix.format in ("csr", "csc", "bsr"):
                matrix.check_format(full_check=True)  # SciPy would follow any index it is given
            _require_rows(matrix.shape, source)
        return _sparse(source, matrix, wanted)
    if {"children", "heights"} <= set(keys):
        raise ValueError(f"{source.label} holds a tree and no points; give the file that the tree was made from.")
    if wanted.features is not None:
        tables = [keys[find_column(source.label, keys, key)] for key in wanted.features]
    else:
        tables = [key for key, array in arrays.items() if array.ndim == 2 and array.dtype.kind in _NUMBERS]
    if len(tables) != 1:
        raise ColumnsError(
            f"{source.label} has {len(tables)} tables of numbers among its arrays ({listed(keys)}); choose one as features.",
            "features",
        )
    X = arrays[tables[0]]
    _require_table(source, X)
    check_numbers(X, f"{source.label}, array {tables[0]}")
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
    with _reading(source, "mtx"), text_of(source) as lines:
        matrix = parse_matrix_market(lines, most_bytes(source.n_bytes) // ROW_BYTES)
    return _sparse(source, matrix, wanted) if sp.issparse(matrix) else _by_column(source, np.asarray(matrix), wanted)


def _require_rows(shape: tuple[int, ...], source: Source) -> None:
    """A row of a sparse matrix costs memory though nothing is in it."""
    if max(shape) > most_bytes(source.n_bytes) // ROW_BYTES:
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


def _read_parquet(source: Source, wanted: Wanted) -> Arrays:
    if find_spec("pyarrow") is None:
        raise ValueError(f"{source.label} is a Parquet file, which needs pyarrow; run: pip install 'hyphc[io]'.")
    import pyarrow.parquet  # type: ignore[import-untyped]

    with _reading(source, "parquet"), source.open() as file:
        opened = pyarrow.parquet.ParquetFile(file)
        _require_values(opened.metadata.num_rows * opened.metadata.num_columns, source)
        table = opened.read()
        table.validate(full=True)  # text that is no UTF-8, offsets out of bounds
        columns = [_describe(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]
    if not table.num_rows:
        raise ValueError(f"{source.label} has no rows; add the data.")
    roles = assign_roles(source.label, columns, wanted)
    called = tuple(columns[c].name for c in roles.features)
    # filled column by column: float64 unless all columns are float32, and never two copies of the table
    single = all(str(table.column(c).type) == "float" for c in roles.features)
    X = np.empty((table.num_rows, len(called)), dtype=np.float32 if single else np.float64)
    for k, c in enumerate(roles.features):
        X[:, k] = _numbers(source, columns[c].name, table.column(c))
    check_numbers(X, source.label, called)
    names, labels = (None if c is None else _cells(table.column(c)) for c in (roles.names, roles.labels))
    known = {what: _cells(table.column(c)) for what, c in roles.known.items()}
    return Arrays(X, names, labels, called, roles.notes, known)


def _require_values(count: int, source: Source) -> None:
    """Runs of one value pack so well that only far more than memory has room for is refused."""
    if 8 * count > PARQUET_TIMES * most_bytes(source.n_bytes):
        raise ValueError(f"it claims {count} values, more than a file of its size may have")


def _describe(name: str, column: Any) -> Column:
    from pyarrow import types

    kind = column.type
    if types.is_null(kind) or column.null_count == len(column):
        return Column(name, "empty", 0, len(column))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return Column(name, "number", len(column), len(column))
    sample = column.slice(0, _SAMPLE).to_pylist()
    return Column(name, "text", len(set(map(str, sample))), len(sample))


def _numbers(source: Source, name: str, column: Any) -> npt.NDArray[np.float64]:
    import pyarrow

    if column.null_count:
        row = column.is_null().to_numpy().argmax() + 1
        raise ValueError(
            f"{source.label}, row {row}, column {name!r}: the value is missing; fill it in, or remove the row or the column."
        )
    try:
        return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy())
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        raise ValueError(
            f"{source.label}, column {name!r}: {column.type} is not a type of numbers; leave it out of the features."
        ) from None


def _cells(column: Any) -> tuple[str, ...]:
    return tuple("" if value is None else str(value) for value in column.to_pylist())
