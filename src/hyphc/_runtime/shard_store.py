"""Store of finished shards of a fit: arrays as NPY files, written atomically, without pickle.

    manifest.json               format, version of the package, and what is fitted: data and parameters
    <stage>/<number>.<name>.npy one array of a shard
    <stage>/<number>.json       names, sizes and SHA-256 of a shard's arrays, written last: without it the shard does not exist
    <stage>/released.json       in place of all shards of a finished stage that no later stage reads

Shards are pure functions of data and parameters, so that two workers that write the same shard write the same bytes.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from .atomic_write import is_draft
from .numpy_files import open_npy
from .storage import Storage, as_storage_folder

FORMAT, MANIFEST = 1, "manifest.json"
SHOWN = 8  # digits of a checksum in messages
Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]  # what JSON can hold


@contextmanager
def naming_storage(place: object) -> Iterator[None]:
    """Re-raise errors of the operating system with the name of the storage, the reason and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(
            error.errno,
            f"The storage {str(place)!r} failed: {error.strerror}. Finished results are kept; repair it and fit again to resume",
        ) from error


Given = ParamSpec("Given")
Result = TypeVar("Result")


def _naming_storage(
    method: Callable[Concatenate[ShardStore, Given], Result],
) -> Callable[Concatenate[ShardStore, Given], Result]:
    """Return a method whose errors of the operating system name the storage."""

    @wraps(method)
    def call(store: ShardStore, /, *given: Given.args, **named: Given.kwargs) -> Result:
        with naming_storage(store.place):
            return method(store, *given, **named)

    return call


class ShardStore:
    """A store of finished shards. Use ``open`` to create one; the constructor assumes that it exists."""

    def __init__(self, storage: Storage) -> None:
        self.place = as_storage_folder(storage)

    @classmethod
    def open(cls, storage: Storage, facts: Facts) -> ShardStore:
        """Return the store of a fit with these facts: in a new or empty folder, or in one where the same fit began.

        Raises
        ------
        ValueError
            The folder holds another fit, or something else.
        OSError
            It cannot be reached or written.
        """
        store, manifest = cls(storage), _manifest_of(facts)
        with naming_storage(store.place):
            store.place.prepare()
            if not store.place.exists(MANIFEST):
                store._require_empty()
                store._write_json(MANIFEST, manifest)
            store._require_same(manifest)
        return store

    def _require_empty(self) -> None:
        others = [name for name in self.place.names() if not name.startswith(".")]
        if others:
            raise ValueError(
                f"{str(self.place)!r} holds {others[0]!r} and no manifest of a fit; choose an empty folder."
            )

    @_naming_storage
    def facts(self) -> Facts:
        """Return what was fitted: data and parameters."""
        try:
            there = json.loads(self.place.read(MANIFEST))
            if not isinstance(there, dict):
                raise ValueError("it holds no facts")
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{MANIFEST!r} in {str(self.place)!r} is damaged ({error}); choose another folder."
            ) from None
        return there

    def _require_same(self, wanted: Facts) -> None:
        there = self.facts()
        for name in sorted(wanted.keys() | there.keys()):
            if wanted.get(name) != there.get(name):
                differs = _difference(name, there.get(name), wanted.get(name))
                raise ValueError(
                    f"{str(self.place)!r} holds a fit {differs}; choose another folder, or remove it to start again."
                )

    @_naming_storage
    def has(self, stage: str, number: int = 0) -> bool:
        """Return whether a shard is complete: its files have the recorded sizes and checksums."""
        try:
            files = _files(self.place.read(_record(stage, number)))
            return files is not None and all(
                _is_whole(self.place.file(_array(stage, number, name)), facts) for name, facts in files.items()
            )
        except FileNotFoundError:
            return False

    @_naming_storage
    def write(self, stage: str, number: int, arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Write a shard; it exists once this returns."""
        self.place.prepare(stage)
        files = {name: self._write_array(_array(stage, number, name), array) for name, array in arrays.items()}
        self._write_json(_record(stage, number), {"format": FORMAT, "files": files})

    def numbers(self, stage: str) -> list[int]:
        """Return the numbers of the shards of a stage that have a record, in order."""
        found = (name.removesuffix(".json") for name in self.place.names(stage) if name.endswith(".json"))
        return sorted(int(name) for name in found if name.isdecimal())

    def remove(self, stage: str, number: int) -> None:
        """Remove what exists of a shard, its record first, so that it never appears complete."""
        arrays = [f"{stage}/{name}" for name in self.place.names(stage) if name.startswith(f"{number:06d}.")]
        for name in (_record(stage, number), *arrays):
            with suppress(OSError):
                self.place.remove(name)

    def flush(self, stage: str, number: int) -> None:
        """Flush a shard to the disk (fsync)."""
        with suppress(FileNotFoundError):
            record = self.place.file(_record(stage, number))
            for name in _files(record.read_bytes()) or ():
                _flush(self.place.file(_array(stage, number, name)))
            _flush(record)

    def remove_leftovers(self) -> None:
        """Remove drafts and arrays without a record that a killed process left. No other process may use the store."""
        for stage in ("", *self.place.names()):
            names = self.place.names(stage)
            for name in names:
                if is_draft(Path(name)) or (name.endswith(".npy") and f"{name.partition('.')[0]}.json" not in names):
                    self.place.remove(f"{stage}/{name}" if stage else name)

    @_naming_storage
    def read(self, stage: str, number: int = 0) -> Arrays:
        """Return all arrays of a shard, memory-mapped."""
        record = self._locate(stage, _record(stage, number))
        files = _files(record.read_bytes())
        if files is None:
            raise FileNotFoundError(errno.ENOENT, "No such shard", os.fspath(record))
        return {name: self.one(stage, number, name) for name in files}

    @_naming_storage
    def one(self, stage: str, number: int, name: str) -> npt.NDArray[Any]:
        """Return one array of a shard, memory-mapped."""
        return open_npy(os.fspath(self._locate(stage, _array(stage, number, name))))

    def _locate(self, stage: str, name: str) -> Path:
        """Return the path of a file of a stage; raise with the reason if it was removed."""
        try:
            return self.place.file(name)
        except FileNotFoundError:
            if not self.place.exists(_released(stage)):
                raise
        raise ValueError(
            f"{str(self.place)!r} is damaged: results of {stage!r} are needed again, and they were removed "
            "when the stage was finished; remove the folder and fit again."
        )

    @_naming_storage
    def release(self, stage: str) -> None:
        """Remove the shards of a finished stage that no later stage reads, and record that it is finished."""
        marker = _released(stage)
        if not self.place.exists(marker):
            self._write_json(marker, {"format": FORMAT})
        names = (f"{stage}/{name}" for name in self.place.names(stage))
        self.place.remove(*(name for name in names if name != marker))

    @_naming_storage
    def is_released(self, stage: str) -> bool:
        """Return whether a stage is finished and its shards are removed."""
        return self.place.exists(_released(stage))

    @_naming_storage
    def digest(self, stage: str, number: int = 0) -> str:
        """Return the checksum of a shard."""
        return _sha256(self.place.file(_record(stage, number)))

    def _write_array(self, path: str, values: npt.ArrayLike) -> Facts:
        header, array, digest = io.BytesIO(), np.asarray(values, order="C"), hashlib.sha256()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        content = header.getvalue(), array.reshape(-1).view(np.uint8).data
        with self.place.replaced(path) as file:
            for piece in content:
                file.write(piece)
                digest.update(piece)
        return {"bytes": sum(map(len, content)), "sha256": digest.hexdigest()}

    def _write_json(self, path: str, facts: Facts) -> None:
        with self.place.replaced(path) as file:
            file.write((json.dumps(facts, indent=1, sort_keys=True) + "\n").encode())


def _record(stage: str, number: int) -> str:
    return f"{stage}/{number:06d}.json"


def _array(stage: str, number: int, name: str) -> str:
    return f"{stage}/{number:06d}.{name}.npy"


def _released(stage: str) -> str:
    return f"{stage}/released.json"


def _files(record: bytes) -> Facts | None:
    """Return the arrays of a record, with sizes and checksums; None if it is damaged."""
    try:
        files: Facts = json.loads(record)["files"]
        # a name that is none of ours could lead out of the folder
        ours = all(part.isidentifier() for name in files for part in name.split("."))
        whole = ours and all(facts.keys() >= {"bytes", "sha256"} for facts in files.values())
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return files if files and whole else None


def _is_whole(path: Path, facts: Facts) -> bool:
    return bool(path.stat().st_size == facts["bytes"] and _sha256(path) == facts["sha256"])


def _manifest_of(facts: Facts) -> Facts:
    from importlib.metadata import version

    manifest = {"format": FORMAT, "package": f"hyphc {version('hyphc')}", **facts}
    as_read: Facts = json.loads(json.dumps(manifest))
    return as_read


def _difference(name: str, there: Any, wanted: Any) -> str:
    """Return as text how the stored fit differs from the requested one."""
    if name == "data":
        return "of other data"
    if _is_checksum(there) and _is_checksum(wanted):
        return f"with other {name} ({there[:SHOWN]}…, not {wanted[:SHOWN]}…)"
    if _is_checksum(there):
        return f"with {name} of its own, not {wanted!r}"
    return f"with {name}={there!r}, not {'the one given' if _is_checksum(wanted) else repr(wanted)}"


def _is_checksum(fact: Any) -> bool:
    return isinstance(fact, str) and re.fullmatch("[0-9a-f]{64}", fact) is not None


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
