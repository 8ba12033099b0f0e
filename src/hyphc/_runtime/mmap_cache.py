"""NPY files that are opened again and again: each part reads a little of every block, so opening must cost little."""

from __future__ import annotations

import mmap
import os
from functools import lru_cache
from io import FileIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_READ = 1 << 16  # bytes: smaller files are read, since a map costs more than it saves
CACHE_SIZE = 1 << 14  # files whose layouts are remembered


class NpyLayout(NamedTuple):
    """How an array lies in its file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]


def open_npy(path: str) -> npt.NDArray[Any]:
    """The array of an NPY file, memory-mapped unless it is small; what is written to it stays with the caller.

    Read-only arrays would be another kind to compile kernels for.
    """
    with FileIO(path) as file:
        there = os.fstat(file.fileno())
        layout = _layout(path, there.st_mtime_ns, there.st_size)
        if there.st_size <= MAX_READ:
            return np.ndarray(layout.shape, layout.dtype, bytearray(file.readall()), layout.offset, layout.strides)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.ndarray(layout.shape, layout.dtype, mapped, layout.offset, layout.strides)


@lru_cache(maxsize=CACHE_SIZE)
def _layout(path: str, written: int, size: int) -> NpyLayout:
    """Of a file as it was written at this time; NumPy reads, and refuses, the header."""
    array = np.lib.format.open_memmap(path, mode="r")
    return NpyLayout(array.shape, array.dtype, array.offset, array.strides)
