"""NPY and NPZ files: untrusted ones, with ValueError for damage and a limit on unpacked size, and cached memory maps."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import FileIO
from threading import Lock
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from .atomic_write import MAX_RATIO, max_unpacked_bytes

MAX_READ = 1 << 16  # bytes: smaller files are read, since a memory map costs more than it saves
CACHE_SIZE = 1 << 14  # files whose layouts are remembered

# NumPy parses headers with ``ast``, which counts its depth for all threads together before Python 3.13 (python/cpython#106905):
# threads that parse at the same time can raise SystemError.
HEADER_LOCK = Lock()


@contextmanager
def damage_as_value_error() -> Iterator[None]:
    """Turn any error of a reader into a ValueError with the reason in one line."""
    try:
        yield
    except MemoryError:
        raise ValueError("it claims to hold more than there is memory for") from None
    except Exception as error:  # zipfile, struct, tokenize, arrow and others have errors of their own
        raise ValueError(first_sentence(error)) from None


def first_sentence(error: Exception) -> str:
    """Return the first sentence of an error, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0].rstrip(".")


def require_plausible(archive: Any, size: int) -> None:
    """Raise if an NPZ archive of ``size`` bytes would unpack to an implausible size.

    ``archive`` is what ``np.load`` opened; its directory says how large each member is, and no more than that is unpacked.
    """
    require_plausible_zip(archive.zip, size)


def require_plausible_zip(archive: ZipFile, size: int) -> None:
    """Raise if a ZIP archive (as Excel's files are) of ``size`` bytes would unpack to an implausible size."""
    if sum(member.file_size for member in archive.infolist()) > max_unpacked_bytes(size):
        raise ValueError(f"it unpacks to more than {MAX_RATIO} times its size, which no table does")


class _NpyLayout(NamedTuple):
    """Where an array is in its file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]


def open_npy(path: str) -> npt.NDArray[Any]:
    """Return the array of an NPY file, memory-mapped unless it is small; what is written to it stays with the caller.

    Opening is quick, since a part reads a little of every block. Read-only arrays would be another type to compile kernels for.
    """
    with FileIO(path) as file:
        there = os.fstat(file.fileno())
        layout = _layout(path, there.st_mtime_ns, there.st_size)
        if there.st_size <= MAX_READ:
            return np.ndarray(layout.shape, layout.dtype, bytearray(file.readall()), layout.offset, layout.strides)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.ndarray(layout.shape, layout.dtype, mapped, layout.offset, layout.strides)


@lru_cache(maxsize=CACHE_SIZE)
def _layout(path: str, written: int, size: int) -> _NpyLayout:
    """Return the layout of a file that was written at this time; NumPy reads and checks the header."""
    with HEADER_LOCK:
        array = np.lib.format.open_memmap(path, mode="r")
    return _NpyLayout(array.shape, array.dtype, array.offset, array.strides)
