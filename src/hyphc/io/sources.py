"""Input files and standard input: opening, decompression and text encoding."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TypeVar

from .compressed import HEAD, SUFFIXES, decompress, is_compressed

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
}


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
        return decompress(self.path) if self.packed else self.path.open("rb")

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
        *_, last = ["", *(suffix.lower() for suffix in self.path.suffixes if suffix.lower() not in SUFFIXES)]
        return last


def open_source(name: str | Path) -> InputFile:
    """Return the file of that name, or standard input for ``-``; raise an error that says why it cannot be read."""
    if str(name) == STANDARD_INPUT:
        source = InputFile("standard input", None, sys.stdin.buffer.read())
    else:
        source = InputFile(str(name), Path(name))
    try:
        head = source.head(HEAD)
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
