"""Streaming decompression of gzip, bzip2, xz and Zstandard files, with a limit on the decompressed size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from .._runtime.atomic_write import MAX_RATIO, max_unpacked_bytes


class _Zstandard(io.RawIOBase):
    """Stream of Zstandard frames that raises for a truncated file, unlike the package's own."""

    AT_ONCE = 4_096  # bytes: a frame may decompress to thousands of times as much

    def __init__(self, path: Path) -> None:
        if find_spec("zstandard") is None:
            raise ValueError(
                f"{path} is compressed by Zstandard, which needs zstandard; run: pip install 'hyphc[zstd]'."
            )
        import zstandard

        self._packed, self._new = path.open("rb"), zstandard.ZstdDecompressor().decompressobj
        self._frame, self._waiting, self._place = self._new(), io.BytesIO(), 0

    def read(self, size: int = -1) -> bytes:
        while not (given := self._waiting.read(size)):
            rest = self._frame.unused_data if self._frame.eof else b""
            if not (packed := rest or self._packed.read(self.AT_ONCE)):
                if not self._frame.eof:
                    raise EOFError("it ends in the middle of a frame")
                return b""
            self._frame = self._new() if self._frame.eof else self._frame
            self._waiting = io.BytesIO(self._frame.decompress(packed))
        self._place += len(given)
        return given

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek forwards only."""
        while self._place < offset and self.read(min(offset - self._place, 1 << 20)):
            pass
        return self._place

    def close(self) -> None:
        if hasattr(self, "_packed"):
            self._packed.close()
        super().close()


# Magic bytes, usual extensions and opener of each kind of compressed file.
_PACKERS: dict[bytes, tuple[tuple[str, ...], Any]] = {
    b"\x1f\x8b": ((".gz", ".gzip"), gzip.open),
    b"BZh": ((".bz2",), bz2.open),
    b"\xfd7zXZ\x00": ((".xz",), lzma.open),
    b"\x28\xb5\x2f\xfd": ((".zst", ".zstd"), _Zstandard),
}
SUFFIXES = tuple(suffix for suffixes, _ in _PACKERS.values() for suffix in suffixes)
HEAD = max(map(len, _PACKERS))


def is_compressed(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is compressed."""
    return any(head.startswith(magic) for magic in _PACKERS)


def decompress(path: Path) -> IO[bytes]:
    """Open a compressed file for reading its decompressed bytes."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    opener = next(opener for magic, (_, opener) in _PACKERS.items() if head.startswith(magic))
    return io.BufferedReader(_Decompressed(path, opener))


class _Decompressed(io.RawIOBase):
    """Raw stream that converts decompression errors to one sentence and enforces the size limit."""

    def __init__(self, path: Path, opener: Any) -> None:
        self._path, self._opener, self._file = path, opener, opener(path)
        self._most = max_unpacked_bytes(path.stat().st_size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except Exception as error:  # every packer has errors of its own
            raise ValueError(f"{self._path} cannot be decompressed ({error}); fetch or write it again.") from None
        if self._file.tell() > self._most:
            raise ValueError(
                f"{self._path} decompresses to more than {MAX_RATIO} times its size, which no table does; decompress it "
                "yourself if it is one."
            )
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and offset < self._file.tell():  # Zstandard's stream does not go back
            self._file.close()
            self._file = self._opener(self._path)
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()
