"""Files packed by gzip, bzip2 or xz, unpacked while they are read, and no further than a file of their size may hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import IO, Any

from .._shared.files import MOST_TIMES, most_bytes

# What each kind of packed file begins with, its usual endings, and how it is opened.
_PACKERS: dict[bytes, tuple[tuple[str, ...], Any]] = {
    b"\x1f\x8b": ((".gz", ".gzip"), gzip.open),
    b"BZh": ((".bz2",), bz2.open),
    b"\xfd7zXZ\x00": ((".xz",), lzma.open),
}
SUFFIXES = tuple(suffix for suffixes, _ in _PACKERS.values() for suffix in suffixes)
HEAD = max(map(len, _PACKERS))


def is_packed(head: bytes) -> bool:
    """Whether a file that begins so is packed."""
    return any(head.startswith(magic) for magic in _PACKERS)


def unpacked(path: Path) -> IO[bytes]:
    """What the file holds."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    opener = next(opener for magic, (_, opener) in _PACKERS.items() if head.startswith(magic))
    return io.BufferedReader(_Unpacked(path, opener(path)))


class _Unpacked(io.RawIOBase):
    """A stream that says in one sentence what is wrong with it."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file = path, file
        self._most = most_bytes(path.stat().st_size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{self._path} cannot be unpacked ({error}); fetch or write it again.") from None
        if self._file.tell() > self._most:
            raise ValueError(
                f"{self._path} unpacks to more than {MOST_TIMES} times its size, which no table does; unpack it yourself if it "
                "is one."
            )
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()
