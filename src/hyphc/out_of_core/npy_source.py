"""Sources of rows in arrays and NPY files: memory-mapped, or fetched from an address block by block."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._runtime.numpy_files import damage_as_value_error
from .._runtime.storage import filesystem_of
from .._runtime.validation import as_floats

Rows = npt.NDArray[Any]  # float32 or float64
HEADER_BYTES = 4_096  # that are fetched to find out what an NPY file holds; a table's own has 128


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which rows are read."""
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """An array (n, d), possibly memory-mapped: for threads of one process."""

    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return float_dtype(self.array.dtype)

    def read(self, start: int, stop: int) -> Rows:
        return as_floats(self.array[start:stop], "X")


@dataclass(frozen=True)
class NpyRows:
    """A two-dimensional array in an NPY file."""

    path: str

    @cached_property
    def _rows(self) -> ArrayRows:
        try:
            with damage_as_value_error():
                array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise ValueError(f"{self.path!r} cannot be read as NPY ({error}); write it again.") from None
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{self.path!r} does not hold numbers; save an array of floats.")
        _require_table(self.path, array.shape, array.dtype)
        return ArrayRows(array)

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._rows.dtype

    def read(self, start: int, stop: int) -> Rows:
        return self._rows.read(start, stop)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}  # a worker opens the file itself


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bytes: int


@dataclass(frozen=True)
class FetchedNpyRows:
    """An NPY file at an address: only the bytes of a block are fetched."""

    address: str

    @cached_property
    def _header(self) -> _Header:
        filesystem, path = filesystem_of(self.address)
        file = io.BytesIO(filesystem.cat_file(path, 0, HEADER_BYTES))
        try:
            with damage_as_value_error():
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, by_columns, dtype = read(file)
        except ValueError as error:
            raise ValueError(f"{self.address!r} cannot be read as NPY ({error}); write it again.") from None
        _require_table(self.address, shape, dtype)
        if by_columns:
            raise ValueError(f"{self.address!r} has its columns one after the other; save np.ascontiguousarray of it.")
        return _Header(shape, dtype, file.tell())

    @property
    def shape(self) -> tuple[int, int]:
        return self._header.shape[0], self._header.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return float_dtype(self._header.dtype)

    def read(self, start: int, stop: int) -> Rows:
        filesystem, path = filesystem_of(self.address)
        (_, d), dtype, begin = self._header
        row = d * dtype.itemsize
        run = filesystem.cat_file(path, begin + start * row, begin + stop * row)
        return as_floats(np.frombuffer(run, dtype=dtype).reshape(stop - start, d), "X")

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address}


def _require_table(path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "fiub":
        raise ValueError(f"{path!r} does not hold numbers; save an array of floats.")
    if len(shape) != 2:
        raise ValueError(f"{path!r} has shape {shape}; a table (n, d) of rows is needed.")
