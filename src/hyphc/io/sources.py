"""Where bytes come from: a file, or standard input; and what text they are."""

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
    """A file, or the content of standard input; ``label`` is what messages call it."""

    label: str
    path: Path | None
    content: bytes = b""
    packed: bool = False

    def open(self) -> IO[bytes]:
        """The bytes from their beginning, unpacked."""
        if self.path is None:
            return io.BytesIO(self.content)
        return decompress(self.path) if self.packed else self.path.open("rb")

    @property
    def n_bytes(self) -> int:
        """The size of the file, packed if it is."""
        return len(self.content) if self.path is None else self.path.stat().st_size

    @property
    def plain_path(self) -> Path | None:
        """The file, if its bytes stand in it as they are."""
        return None if self.packed else self.path

    def head(self, n_bytes: int = 64) -> bytes:
        """The first bytes."""
        with self.open() as file:
            return file.read(n_bytes)

    @property
    def suffix(self) -> str:
        """The file's extension in lower case, with its dot; of a packed file the one before that of the packing."""
        if self.path is None:
            return ""
        *_, last = ["", *(suffix.lower() for suffix in self.path.suffixes if suffix.lower() not in SUFFIXES)]
        return last


def open_source(name: str | Path) -> InputFile:
    """The file of that name, or standard input for ``-``; an error that says why it cannot be read."""
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
        raise ValueError(f"{source.label} holds nothing once unpacked; give a file with data.")
    return source


def decode(source: InputFile, read: Callable[[io.TextIOWrapper], T]) -> tuple[T, tuple[str, ...]]:
    """What ``read`` makes of the source as text, and a note where that is not UTF-8; line ends are left to the reader."""
    for encoding, note in _encodings(source):
        try:
            with io.TextIOWrapper(source.open(), encoding=encoding, newline="") as file:
                return read(file), note
        except UnicodeDecodeError:
            continue
    raise encoding_error(source)


def _encodings(source: InputFile) -> list[tuple[str, tuple[str, ...]]]:
    """Encodings in which to read, in order, and what is said of each."""
    head = source.head()
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return [("utf-16", ("encoding: UTF-16, as its first bytes say",))]
    if b"\0" in head:
        raise ValueError(f"{source.label} is not text; give a table, or a file of a format that docs/files.md names.")
    return [("utf-8-sig", ()), ("cp1252", ("encoding: not UTF-8, so read as Windows-1252 (cp1252)",))]


def encoding_error(source: InputFile) -> ValueError:
    """The error for bytes that are not UTF-8, with the line of the first of them."""
    with source.open() as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"byte 0x{line[error.start]:02x} on line {number}"
                return ValueError(f"{source.label} is not UTF-8 text ({where}); save it with the encoding UTF-8.")
    return ValueError(f"{source.label} is not UTF-8 text; save it with the encoding UTF-8.")
