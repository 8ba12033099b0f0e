"""Where bytes come from: a file, or standard input; and what format they are in."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

from .packed import HEAD, SUFFIXES, is_packed, unpacked

PathLike = str | os.PathLike[str]
Format = Literal["npy", "npz", "parquet", "mtx", "edges", "text"]

STANDARD_INPUT = "-"
_MAGIC: dict[bytes, Format] = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"%%MatrixMarket": "mtx",
}
_SUFFIXES: dict[str, Format] = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".mtx": "mtx",
    ".edges": "edges",
    ".edgelist": "edges",
}
FORMAT_NAMES = {"npy": "NPY", "npz": "NPZ", "parquet": "Parquet", "mtx": "MatrixMarket"}


@dataclass(frozen=True)
class Source:
    """A file, or the content of standard input; ``label`` is what messages call it."""

    label: str
    path: Path | None
    content: bytes = b""
    packed: bool = False

    def open(self) -> IO[bytes]:
        """The bytes from their beginning, unpacked."""
        if self.path is None:
            return io.BytesIO(self.content)
        return unpacked(self.path) if self.packed else self.path.open("rb")

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


def open_source(name: str | Path) -> Source:
    """The file of that name, or standard input for ``-``; an error that says why it cannot be read."""
    if str(name) == STANDARD_INPUT:
        source = Source("standard input", None, sys.stdin.buffer.read())
    else:
        source = Source(str(name), Path(name))
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
    if source.path is None or not is_packed(head):
        return source
    source = replace(source, packed=True)
    if not source.head(1):
        raise ValueError(f"{source.label} holds nothing once unpacked; give a file with data.")
    return source


def format_of(source: Source) -> Format:
    """The format by the first bytes, which do not lie, or else by the extension."""
    head = source.head()
    if source.suffix in (".xlsx", ".xls", ".ods"):
        raise ValueError(f"{source.label} is a spreadsheet; save its sheet as CSV.")
    if is_packed(head):
        raise ValueError(f"{source.label} is packed; give it as a file that is packed once, or unpack it.")
    for magic, found in _MAGIC.items():
        if head.startswith(magic):
            return found
    by_suffix = _SUFFIXES.get(source.suffix, "text")
    if by_suffix in FORMAT_NAMES:
        raise ValueError(
            f"{source.label} does not begin as a {FORMAT_NAMES[by_suffix]} file does; write it again, or correct its extension."
        )
    return by_suffix


def text_of(source: Source) -> io.TextIOWrapper:
    """The source as UTF-8 text, with or without a byte order mark; line ends are left to the reader."""
    return io.TextIOWrapper(source.open(), encoding="utf-8-sig", newline="")


def encoding_error(source: Source) -> ValueError:
    """The error for bytes that are not UTF-8, with the line of the first of them."""
    with source.open() as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"byte 0x{line[error.start]:02x} on line {number}"
                return ValueError(f"{source.label} is not UTF-8 text ({where}); save it with the encoding UTF-8.")
    return ValueError(f"{source.label} is not UTF-8 text; save it with the encoding UTF-8.")
