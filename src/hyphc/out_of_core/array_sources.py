"""Sources of rows in arrays, NPY files and Zarr arrays: memory-mapped, or read from an address block by block."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime.lazy_import import require_package
from .._runtime.numpy_files import HEADER_LOCK, damage_as_value_error
from .._runtime.storage import filesystem_of
from .._runtime.validation import as_floats

Rows = npt.NDArray[Any]  # float32 or float64
HEADER_BYTES = 4_096  # that are fetched to find out what an NPY file holds; a table's own has 128


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """An array (n, d), possibly memory-mapped, or anything with its shape, dtype and slices: for threads of one process."""

    array: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        own = self.array.dtype
        return np.dtype(own if own in (np.float32, np.float64) else np.float64)

    def read(self, start: int, stop: int) -> Rows:
        return as_floats(self.array[start:stop], "X")


@dataclass(frozen=True)
class FileRows(ABC):
    """Columns, by default all, of an array in a file or at an address; a worker to which this is sent opens it itself."""

    path: str
    columns: tuple[int, ...] | None = None

    @abstractmethod
    def open(self) -> Any:
        """Return something with the shape, the dtype and slices of the array."""

    @cached_property
    def _rows(self) -> ArrayRows:
        array = self.open()
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{self.path!r} does not hold numbers; save an array of floats.")
        if len(array.shape) != 2:
            raise ValueError(f"{self.path!r} has shape {array.shape}; a table (n, d) of rows is needed.")
        return ArrayRows(array)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self._rows.shape
        return n, d if self.columns is None else len(self.columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._rows.dtype

    def read(self, start: int, stop: int) -> Rows:
        rows = self._rows.read(start, stop)
        return rows if self.columns is None else np.ascontiguousarray(rows[:, list(self.columns)])

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "columns": self.columns}


class ZarrRows(FileRows):
    """A two-dimensional Zarr array."""

    def open(self) -> Any:
        return require_package("zarr", "Zarr arrays", "dask").open_array(self.path, mode="r")


class NpyRows(FileRows):
    """A two-dimensional array in an NPY file."""

    def open(self) -> Any:
        with _naming_damage(self.path), HEADER_LOCK:
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return array if isinstance(array, np.ndarray) else np.empty(0, dtype=object)  # an NPZ archive


@contextmanager
def _naming_damage(path: str) -> Iterator[None]:
    try:
        with damage_as_value_error():
            yield
    except ValueError as error:
        raise ValueError(f"{path!r} cannot be read as NPY ({error}); write it again.") from None


class FetchedNpyRows(FileRows):
    """An NPY file at an address: only the bytes of a block are fetched."""

    def open(self) -> Any:
        filesystem, path = filesystem_of(self.path)
        file = io.BytesIO(filesystem.cat_file(path, 0, HEADER_BYTES))
        with _naming_damage(self.path), HEADER_LOCK:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = read(file)
        if by_columns:
            raise ValueError(f"{self.path!r} has its columns one after the other; save np.ascontiguousarray of it.")
        return _FetchedArray(self.path, shape, dtype, file.tell())


@dataclass(frozen=True)
class _FetchedArray:
    address: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int  # bytes of the header

    def __getitem__(self, rows: slice) -> Rows:
        filesystem, path = filesystem_of(self.address)
        row = self.shape[1] * self.dtype.itemsize
        run = filesystem.cat_file(path, self.offset + rows.start * row, self.offset + rows.stop * row)
        return np.frombuffer(run, dtype=self.dtype).reshape(rows.stop - rows.start, self.shape[1])
