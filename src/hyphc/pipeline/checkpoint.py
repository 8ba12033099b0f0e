"""What is finished of a fit, in a folder: arrays as NPY files, each whole or not there, and no pickle.

    manifest.json               format, version of the package, and what is fitted: data and parameters
    <stage>/<number>.<name>.npy one array of a piece
    <stage>/<number>.json       names, sizes and SHA-256 of a piece's arrays, written last: without it the piece is not there
    <stage>/released.json       in place of all pieces of a stage that was finished and that nothing needs any more

Pieces are pure functions of data and parameters, so that two workers that write the same piece write the same bytes.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._shared.files import is_draft, replaced_atomically
from .reopened import reopened

FORMAT = 1
Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]  # what JSON can hold


class Checkpoint:
    """A folder of finished pieces. Open one with ``opened``; this constructor trusts that it is there."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @classmethod
    def opened(cls, folder: str | os.PathLike[str], facts: Facts) -> Checkpoint:
        """The pieces of a fit of just these facts: a folder that is new or empty, or one in which such a fit began.

        Raises
        ------
        ValueError
            The folder holds another fit, or something else.
        OSError
            It cannot be reached or written.
        """
        found = cls(folder)
        with named_storage(found.folder):
            found.folder.mkdir(parents=True, exist_ok=True)
            if not found._manifest.exists():
                found._require_empty()
                found._write_json(found._manifest, _manifest_of(facts))
            found._require_same(_manifest_of(facts))
        return found

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def _require_empty(self) -> None:
        others = [item.name for item in self.folder.iterdir() if not item.name.startswith(".")]
        if others:
            raise ValueError(
                f"{os.fspath(self.folder)!r} holds {sorted(others)[0]!r} and no manifest of a fit; choose an empty folder."
            )

    def _require_same(self, wanted: Facts) -> None:
        try:
            there = json.loads(self._manifest.read_text(encoding="utf-8"))
            if not isinstance(there, dict):
                raise ValueError("it holds no facts")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(self._manifest)!r} is damaged ({error}); choose another folder.") from None
        for name in sorted(wanted.keys() | there.keys()):
            if wanted.get(name) != there.get(name):
                raise ValueError(
                    f"{os.fspath(self.folder)!r} holds a fit with {name}={there.get(name)!r}, not {wanted.get(name)!r}; "
                    "choose another folder, or remove it to begin anew."
                )

    def has(self, stage: str, number: int = 0) -> bool:
        """Whether a piece is there, whole: its files have the sizes and checksums that were written down."""
        files = self._files(stage, number)
        return files is not None and all(
            path.exists() and path.stat().st_size == told["bytes"] and _sha256(path) == told["sha256"]
            for path, told in ((self._array(stage, number, name), told) for name, told in files.items())
        )

    def write(self, stage: str, number: int, arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Write a piece; it is there once this returns."""
        with named_storage(self.folder):
            (self.folder / stage).mkdir(exist_ok=True)
            told = {name: self._write_array(stage, number, name, np.asarray(array)) for name, array in arrays.items()}
            self._write_json(self._record(stage, number), {"format": FORMAT, "files": told})

    def numbers(self, stage: str) -> list[int]:
        """The pieces of a stage that have a record, in order."""
        found = (self.folder / stage).glob("*.json")
        return sorted(int(path.stem) for path in found if path.stem.isdecimal())

    def remove(self, stage: str, number: int) -> None:
        """Remove a piece, as far as it is there: its record first, so that it never looks whole."""
        arrays = (self.folder / stage).glob(f"{number:06d}.*.npy")
        for path in (self._record(stage, number), *arrays):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def settle(self, stage: str, number: int) -> None:
        """Wait until a piece is on the disk for sure, and not only handed to the system."""
        for name in (files := self._files(stage, number)) or ():
            _flush(self._array(stage, number, name))
        if files is not None:
            _flush(self._record(stage, number))

    def tidy(self) -> None:
        """Remove drafts and arrays without a record, which a process that was killed has left. Nobody else may be at work."""
        for path in self.folder.rglob("*"):
            record = path.with_name(f"{path.name.partition('.')[0]}.json")
            if is_draft(path) or (path.suffix == ".npy" and not record.exists()):
                path.unlink(missing_ok=True)

    def read(self, stage: str, number: int = 0, *names: str) -> Arrays:
        """The arrays of a piece, memory-mapped: all, or those named."""
        if not names:
            self._require_kept(stage)
            files = self._files(stage, number)
            with named_storage(self.folder):
                if files is None:
                    raise FileNotFoundError(errno.ENOENT, "No such piece", os.fspath(self._record(stage, number)))
            names = tuple(files)
        return {name: self.one(stage, number, name) for name in names}

    def one(self, stage: str, number: int, name: str) -> npt.NDArray[Any]:
        """One array of a piece, memory-mapped."""
        with named_storage(self.folder):
            try:
                return reopened(f"{self.folder}/{stage}/{number:06d}.{name}.npy")
            except FileNotFoundError:
                self._require_kept(stage)
                raise

    def release(self, stage: str) -> None:
        """Remove the pieces of a finished stage that nothing will read again, and remember that it is finished."""
        with named_storage(self.folder):
            marker = self._released(stage)
            if not marker.exists():
                self._write_json(marker, {"format": FORMAT})
            for path in (self.folder / stage).iterdir():
                if path != marker:
                    path.unlink(missing_ok=True)

    def is_released(self, stage: str) -> bool:
        """Whether a stage is finished and gone."""
        return self._released(stage).exists()

    def _require_kept(self, stage: str) -> None:
        if self.is_released(stage):
            raise ValueError(
                f"{os.fspath(self.folder)!r} is damaged: what came of {stage!r} is needed again, and {stage!r} was removed "
                "when it was finished; remove the folder and fit anew."
            )

    def _released(self, stage: str) -> Path:
        return self.folder / stage / "released.json"

    def digest(self, stage: str, number: int = 0) -> str:
        """A checksum of a piece."""
        return _sha256(self._record(stage, number))

    def _record(self, stage: str, number: int) -> Path:
        return self.folder / stage / f"{number:06d}.json"

    def _array(self, stage: str, number: int, name: str) -> Path:
        return self.folder / stage / f"{number:06d}.{name}.npy"

    def _files(self, stage: str, number: int) -> Facts | None:
        try:
            record = json.loads(self._record(stage, number).read_text(encoding="utf-8"))
            files: Facts = record["files"]
            # a name that is none of ours could lead out of the folder
            ours = all(part.isidentifier() for name in files for part in name.split("."))
            whole = ours and all(told.keys() >= {"bytes", "sha256"} for told in files.values())
        except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        return files if files and whole else None

    def _write_array(self, stage: str, number: int, name: str, array: npt.NDArray[Any]) -> Facts:
        path, digest = self._array(stage, number, name), _Digest()
        header = io.BytesIO()
        array = np.asarray(array, order="C")
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        with replaced_atomically(path) as file:
            for piece in (header.getvalue(), array.reshape(-1).view(np.uint8).data):
                file.write(piece)
                digest.update(piece)
        return {"bytes": digest.count, "sha256": digest.text()}

    @staticmethod
    def _write_json(path: Path, facts: Facts) -> None:
        with replaced_atomically(path) as file:
            file.write((json.dumps(facts, indent=1, sort_keys=True) + "\n").encode())


class _Digest:
    """SHA-256 of what is written, and how much that is."""

    def __init__(self) -> None:
        self._hash, self.count = hashlib.sha256(), 0

    def update(self, piece: bytes | memoryview) -> None:
        self._hash.update(piece)
        self.count += len(piece)

    def text(self) -> str:
        return self._hash.hexdigest()


def _manifest_of(facts: Facts) -> Facts:
    from importlib.metadata import version

    all_of_it = {"format": FORMAT, "package": f"hyphc {version('hyphc')}", **facts}
    normal: Facts = json.loads(json.dumps(all_of_it))
    return normal


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def named_storage(folder: Path) -> Iterator[None]:
    """Errors of the system in one sentence that says where, why and what is left."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        why = os.strerror(error.errno)
        raise type(error)(
            error.errno,
            f"The storage {os.fspath(folder)!r} failed: {why}. What is finished there stays; mend it and fit again to go on",
        ) from error
