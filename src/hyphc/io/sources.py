"""Input files and standard input: opening, decompression with a limit on the size, and text encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, TypeVar

from .._runtime.atomic_write import MAX_RATIO, max_unpacked_bytes

T = TypeVar("T")
PathLike = str | os.PathLike[str]
STANDARD_INPUT = "-"
FORMAT_NAMES = {
    "npy": "NPY",
    "npz": "NPZ",
    "parquet": "Parquet",
    "feather": "Feather",
    "mtx": "MatrixMarket",
    "excel": "Excel",
    "h5ad": "AnnData",
    "graphml": "GraphML",
    "gexf": "GEXF",
    "gml": "GML",
}


def require_package(label: str, what: str, package: str, extra: str) -> None:
    """Raise if the package that reads a file is not installed."""
    if find_spec(package) is None:
        raise ValueError(f"{label} is {what}, which needs {package}; run: pip install 'hyphc[{extra}]'.")


class _Zstandard(io.RawIOBase):
    """Stream of Zstandard frames that raises for a truncated file, unlike the package's own."""

    AT_ONCE = 4_096  # bytes: a frame may decompress to thousands of times as much

    def __init__(self, path: Path) -> None:
        require_package(str(path), "compressed by Zstandard", "zstandard", "zstd")
        import zstandard

        self._packed, self._new = path.open("rb"), zstandard.ZstdDecompressor().decompressobj
        self._frame, self._waiting = self._new(), io.BytesIO()

    def read(self, size: int = -1) -> bytes:
        while not (given := self._waiting.read(size)):
            rest = self._frame.unused_data if self._frame.eof else b""
            if not (packed := rest or self._packed.read(self.AT_ONCE)):
                if not self._frame.eof:
                    raise EOFError("it ends in the middle of a frame")
                return b""
            self._frame = self._new() if self._frame.eof else self._frame
            self._waiting = io.BytesIO(self._frame.decompress(packed))
        return given

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
_PACKED_SUFFIXES = tuple(suffix for suffixes, _ in _PACKERS.values() for suffix in suffixes)
_HEAD = max(map(len, _PACKERS))


def is_compressed(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is compressed."""
    return head.startswith(tuple(_PACKERS))


class _Decompressed(io.RawIOBase):
    """Raw stream of decompressed bytes that converts errors to one sentence and enforces the size limit."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        self._opener = next(opener for magic, (_, opener) in _PACKERS.items() if head.startswith(magic))
        self._path, self._file, self._place = path, self._opener(path), 0
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
        self._place += len(data)
        if self._place > self._most:
            raise ValueError(
                f"{self._path} decompresses to more than {MAX_RATIO} times its size, which no table does; decompress it "
                "yourself if it is one."
            )
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek by reading, from the start of the file if the place lies behind."""
        if whence == io.SEEK_END:
            while self.read(1 << 20):
                pass
        offset += 0 if whence == io.SEEK_SET else self._place
        if offset < self._place:
            self._file.close()
            self._file, self._place = self._opener(self._path), 0
        while self._place < offset and self.read(min(offset - self._place, 1 << 20)):
            pass
        return self._place

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(frozen=True)
class InputFile:
    """A file, or the content of standard input; ``label`` is its name in messages."""

    label: str
    path: Path | None
    content: bytes = b""
    packed: bool = False

    def open(self) -> IO[bytes]:
        """Open the bytes for reading from the start, decompressed."""
        if self.path is None:
            return io.BytesIO(self.content)
        return io.BufferedReader(_Decompressed(self.path)) if self.packed else self.path.open("rb")

    @property
    def n_bytes(self) -> int:
        """Size of the file on disk, compressed if it is."""
        return len(self.content) if self.path is None else self.path.stat().st_size

    @property
    def plain_path(self) -> Path | None:
        """Path of the file, if it is not compressed."""
        return None if self.packed else self.path

    def head(self, n_bytes: int = 64) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(n_bytes)

    @property
    def suffix(self) -> str:
        """Extension in lower case, with its dot; of a compressed file the one before that of the compression."""
        if self.path is None:
            return ""
        *_, last = ["", *(suffix.lower() for suffix in self.path.suffixes if suffix.lower() not in _PACKED_SUFFIXES)]
        return last


def open_source(name: str | Path) -> InputFile:
    """Return the file of that name, or standard input for ``-``; raise an error that says why it cannot be read."""
    if str(name) == STANDARD_INPUT:
        source = InputFile("standard input", None, sys.stdin.buffer.read())
    else:
        source = InputFile(str(name), Path(name))
    try:
        head = source.head(_HEAD)
    except FileNotFoundError:
        raise ValueError(f"{name} does not exist; check the path.") from None
    except IsADirectoryError:
        raise ValueError(f"{name} is a folder; give a file in it.") from None
    except PermissionError:
        raise ValueError(f"{name} may not be read by you; change its permissions.") from None
    if not head:
        raise ValueError(f"{source.label} is empty; give a file with data.")
    if source.path is None or not is_compressed(head):
        return source
    source = replace(source, packed=True)
    if not source.head(1):
        raise ValueError(f"{source.label} holds nothing once decompressed; give a file with data.")
    return source


def decode(source: InputFile, read: Callable[[io.TextIOWrapper], T]) -> tuple[T, tuple[str, ...]]:
    """Return what ``read`` makes of the source as text, and a note where it is not UTF-8; line ends are left to the reader."""
    for encoding, note in _encodings(source):
        try:
            with io.TextIOWrapper(source.open(), encoding=encoding, newline="") as file:
                return read(file), note
        except UnicodeDecodeError:
            continue
    raise encoding_error(source)


def _encodings(source: InputFile) -> list[tuple[str, tuple[str, ...]]]:
    """Return the encodings to try, in order, with a note for each."""
    head = source.head()
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return [("utf-16", ("encoding: UTF-16, as its first bytes say",))]
    if b"\0" in head:
        raise ValueError(f"{source.label} is not text; give a table, or a file of a format that docs/files.md names.")
    return [("utf-8-sig", ()), ("cp1252", ("encoding: not UTF-8, so read as Windows-1252 (cp1252)",))]


def encoding_error(source: InputFile) -> ValueError:
    """Return the error for bytes that are not UTF-8, with the line of the first of them."""
    with source.open() as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"byte 0x{line[error.start]:02x} on line {number}"
                return ValueError(f"{source.label} is not UTF-8 text ({where}); save it with the encoding UTF-8.")
    return ValueError(f"{source.label} is not UTF-8 text; save it with the encoding UTF-8.")
