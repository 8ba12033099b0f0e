"""Sources of rows that need not fit into memory, read block by block: NPY, Parquet and Zarr files, and arrays.

A source has a shape (n, d), a dtype, float32 or float64, and ``read(start, stop)``; it is small to pickle. A block is a run of
consecutive rows. Its size depends on the shape of the data alone: results do not depend on the number of workers.
"""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from .._runtime.arrays import Ints
from .._runtime.lazy_import import require_package
from .._runtime.shard_store import ShardStore
from .._runtime.storage import Storage, filesystem_of, is_address, path_of
from .._runtime.user_warnings import warn
from .._runtime.validation import require_finite, require_squares
from ..similarity.inputs.input_warnings import warn_of_named_columns
from .array_sources import ArrayRows, FetchedNpyRows, FileRows, NpyRows, Rows, ZarrRows

# A block has so many rows; of very many so many times √n, for each part looks into each block; and fewer where rows are wide.
BLOCK_ROWS, ROOTS_OF_ROWS = 65_536, 50
BLOCK_BYTES = 256 << 20
HEAD_ROWS = 4_096  # rows that are read to judge what columns hold
FINGERPRINT_ROWS = 64  # rows that are read to tell one data set from another


def _arrow(module: str = "pyarrow") -> Any:
    return require_package(module, "Parquet files", "dask")


_parquet = partial(_arrow, "pyarrow.parquet")


@dataclass(frozen=True)
class ParquetRows:
    """Columns of a Parquet file, or of a folder of them in the order of their names: those given, else all of numbers."""

    path: str
    columns: tuple[str, ...] | None = None

    @cached_property
    def _groups(self) -> list[tuple[str, int, int, int]]:
        """File, row group, first row and one past the last, of each row group."""
        found, begin = [], 0
        for file in self._files:
            metadata = _parquet().read_metadata(file, filesystem=self._filesystem)
            for group in range(metadata.num_row_groups):
                end = begin + metadata.row_group(group).num_rows
                found.append((file, group, begin, end))
                begin = end
        return found

    @property
    def _filesystem(self) -> Any:
        return filesystem_of(self.path)[0] if is_address(self.path) else None

    @cached_property
    def _files(self) -> list[str]:
        if is_address(self.path):
            filesystem, path = filesystem_of(self.path)
            files = sorted(filesystem.glob(f"{path}/*.parquet")) if filesystem.isdir(path) else [path]
        else:
            folder = Path(self.path)
            files = sorted(map(str, folder.glob("*.parquet"))) if folder.is_dir() else [self.path]
        if not files:
            raise ValueError(f"{self.path!r} holds no file *.parquet.")
        return files

    @cached_property
    def _schema(self) -> Any:
        return _parquet().read_schema(self._files[0], filesystem=self._filesystem)

    @cached_property
    def _columns(self) -> list[str]:
        if self.columns is not None:
            return list(self.columns)
        numbers = [field.name for field in self._schema if is_number_type(field.type)]
        if not numbers:
            raise ValueError(f"{self.path!r} has no column of numbers.")
        return numbers

    def head(self, n_rows: int) -> Any:
        """Return the first rows with all their columns, as a pyarrow table."""
        file = _parquet().ParquetFile(self._files[0], filesystem=self._filesystem)
        return _arrow().Table.from_batches(islice(file.iter_batches(n_rows), 1), self._schema)

    def column(self, name: str) -> Any:
        """Return one column of all files, as a pyarrow chunked array."""
        tables = [_parquet().read_table(file, columns=[name], filesystem=self._filesystem) for file in self._files]
        return _arrow().concat_tables(tables).column(name)

    @cached_property
    def shape(self) -> tuple[int, int]:
        return (self._groups[-1][3] if self._groups else 0), len(self._columns)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        single = all(str(self._schema.field(name).type) in ("float", "halffloat") for name in self._columns)
        return np.dtype(np.float32 if single else np.float64)

    def read(self, start: int, stop: int) -> Rows:
        rows = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        for file, group, begin, end in self._groups:
            low, high = max(begin, start), min(end, stop)
            if low < high:
                parquet = _parquet().ParquetFile(file, filesystem=self._filesystem)
                table = parquet.read_row_group(group, columns=self._columns)
                for j, name in enumerate(self._columns):
                    column = _as_numbers(table.column(name))
                    rows[low - start : high - start, j] = column[low - begin : high - begin]
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "columns": self.columns}


def is_number_type(kind: Any) -> bool:
    """Return whether a type of Arrow is one of numbers; booleans are the numbers 0 and 1."""
    types = _arrow().types
    return any(check(kind) for check in (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal))


def _as_numbers(column: Any) -> Rows:
    pyarrow = _arrow()
    if not (pyarrow.types.is_boolean(column.type) or pyarrow.types.is_decimal(column.type)):
        return np.asarray(column.to_numpy())
    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy())


@dataclass(frozen=True)
class StoredRows:
    """Blocks of rows that were written to the storage of a fit."""

    storage: Storage
    shape: tuple[int, int]
    kind: str  # the name of the dtype
    block_rows: int
    fingerprint: str

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    def read(self, start: int, stop: int) -> Rows:
        store, step = ShardStore(self.storage), self.block_rows
        numbers = range(start // step, -(-stop // step))
        rows = [store.one("rows", k, "rows")[max(start - k * step, 0) : stop - k * step] for k in numbers]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)


Source: TypeAlias = ArrayRows | FileRows | ParquetRows | StoredRows
_FORMATS: dict[str, type[FileRows | ParquetRows]] = {".npy": NpyRows, ".parquet": ParquetRows, ".zarr": ZarrRows}


def open_rows(path: str | os.PathLike[str]) -> Source:
    """Return the rows of a file or folder, by its extension; a folder without one holds Parquet files.

    Examples
    --------
    >>> open_rows("embeddings.csv")
    Traceback (most recent call last):
    ValueError: 'embeddings.csv' cannot be read block by block; convert it to .npy, .parquet, .zarr.
    """
    text, filesystem = os.fspath(path), None
    if is_address(text):
        local = path_of(text)
        if local is not None:
            return open_rows(local)
        filesystem, inner = filesystem_of(text)
        suffix, is_folder, exists = Path(inner).suffix.lower(), filesystem.isdir(inner), filesystem.exists(inner)
    else:
        suffix, is_folder, exists = Path(text).suffix.lower(), Path(text).is_dir(), Path(text).exists()
    if suffix not in _FORMATS and not is_folder:
        raise ValueError(f"{text!r} cannot be read block by block; convert it to {', '.join(_FORMATS)}.")
    if not exists:
        raise FileNotFoundError(f"{text!r} does not exist, or this machine does not see it.")
    if filesystem is None:
        text = str(Path(text).resolve())
    elif suffix == ".npy":
        return FetchedNpyRows(text)
    return _FORMATS.get(suffix, ParquetRows)(text)  # Parquet and Zarr readers open addresses themselves


def describe_file(source: Source) -> dict[str, Any]:
    """Return the path and the columns of a file's rows, for ``file_described``."""
    if not isinstance(source, FileRows | ParquetRows):
        raise TypeError(f"{type(source).__name__} is no file.")
    return {"path": source.path, "columns": None if source.columns is None else list(source.columns)}


def file_described(path: str, columns: list[Any] | None) -> Source:
    """Return the rows of ``describe_file``; nothing is opened, and the file may be gone."""
    kind = _FORMATS.get(Path(path).suffix.lower(), ParquetRows)
    kind = FetchedNpyRows if kind is NpyRows and is_address(path) else kind
    return kind(path, None if columns is None else tuple(columns))


def open_with_warnings(path: str | os.PathLike[str]) -> Source:
    """Open the rows of a file or folder, and warn of columns that are left out or that seem to be no features.

    Columns of a Parquet file that hold no numbers are left out; identifiers and batches are warned of, as in frames.
    """
    source = open_rows(path)
    if isinstance(source, ParquetRows):
        left_out = [field.name for field in source._schema if field.name not in source._columns]
        if left_out:
            warn(
                f"Columns of {os.fspath(path)!r} that hold no numbers are left out: {', '.join(map(repr, left_out))}. Write "
                "them as numbers to cluster by them, or a file without them.",
                stacklevel=4,
            )
        head = source.read(0, min(HEAD_ROWS, source.shape[0]))
        warn_of_named_columns(source._columns, head, os.fspath(path))
    return source


def rows_per_block(n: int, d: int) -> int:
    """Return the number of rows of a block of a table (n, d)."""
    wanted = max(BLOCK_ROWS, ROOTS_OF_ROWS * math.isqrt(n))
    return max(1, min(wanted, BLOCK_BYTES // (8 * max(1, d))))


def read_block(source: Source, start: int, stop: int) -> Rows:
    """Return the rows of a block; raise if one is not finite."""
    rows = source.read(start, stop)
    require_finite(rows, "X", start)
    require_squares(rows, "X", smallest=False)
    return rows


def fingerprint(source: Source) -> str:
    """Return a hash of shape, dtype and some evenly spread rows.

    A fit that resumes compares all rows with those of its first process, block by block (``sample.require_same_rows``).
    """
    if isinstance(source, StoredRows):
        return source.fingerprint
    n, d = source.shape
    digest = hashlib.sha256(f"{n} {d} {source.dtype}".encode())
    for row in spread_rows(n).tolist():
        digest.update(source.read(row, row + 1).tobytes())
    return digest.hexdigest()


def spread_rows(n: int) -> Ints:
    """Return the numbers of some evenly spread rows of n."""
    return np.unique(np.linspace(0, n - 1, min(n, FINGERPRINT_ROWS)).astype(np.int64))
