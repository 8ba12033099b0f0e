"""Where files are kept: a folder that this machine sees, or an address that fsspec understands, as ``s3://bucket/fit``.

Files of an address are written here first and then sent, and fetched when they are first read: what is mapped into memory is
always a file of this machine. Copies are in a temporary folder of the process.
"""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol

from .atomic_write import atomic_write
from .lazy_import import require_package
from .numpy_files import first_sentence


class StorageFolder(Protocol):
    """A folder of files, which have names such as ``stage/000000.json``; small to send to others. Its text is what users know."""

    def prepare(self, folder: str = "") -> None:
        """Make it, or a folder in it, ready to be written to."""

    def inside(self, folder: str) -> StorageFolder:
        """A folder in it as a place."""

    def names(self, folder: str = "") -> list[str]:
        """What is in it, or in a folder of it, in order; nothing if that is not there."""

    def exists(self, name: str) -> bool:
        """Whether a file is there."""

    def read(self, name: str) -> bytes:
        """A small file as it is there now; FileNotFoundError if it is not."""

    def file(self, name: str) -> Path:
        """A file of this machine that holds the same, to be mapped; FileNotFoundError if there is none."""

    def replaced(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a new file that is there when the block ends well."""

    def remove(self, *names: str) -> None:
        """Remove files, as far as they are there."""


Storage = str | os.PathLike[str] | StorageFolder


def as_storage_folder(storage: Storage) -> StorageFolder:
    """A folder or an address as a place.

    Examples
    --------
    >>> print(as_storage_folder("fits/first"), as_storage_folder("memory://fits/first"))
    fits/first memory://fits/first
    """
    if not isinstance(storage, str | os.PathLike):
        return storage
    text = os.fspath(storage)
    if not is_address(text):
        return LocalFolder(Path(text))
    if (path := path_of(text)) is not None:
        return LocalFolder(Path(path))
    return RemoteFolder(text.rstrip("/"), secrets.token_hex(8))


def is_address(text: str | os.PathLike[str]) -> bool:
    """Whether this is no path but an address."""
    return "://" in os.fspath(text)


def path_of(address: str) -> str | None:
    """The path that an address names, as ``file:///data`` does; None if it is elsewhere."""
    local = require_package("fsspec.implementations.local", "Addresses", "dask")
    filesystem, path = filesystem_of(address)
    return str(path) if type(filesystem) is local.LocalFileSystem else None


def filesystem_of(address: str) -> tuple[Any, str]:
    """What fsspec has for an address, and the path there."""
    fsspec = require_package("fsspec", "Addresses", "dask")
    try:
        filesystem, path = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise ImportError(f"{address!r} cannot be opened: {first_sentence(error)}, here and on all workers.") from error
    except Exception as error:  # each kind of file system has errors of its own
        raise ValueError(f"{address!r} cannot be opened: {first_sentence(error)}.") from error
    return filesystem, str(path)


@dataclass(frozen=True)
class LocalFolder:
    """A folder that this machine sees."""

    path: Path

    def __str__(self) -> str:
        return os.fspath(self.path)

    def prepare(self, folder: str = "") -> None:
        (self.path / folder).mkdir(parents=not folder, exist_ok=True)

    def inside(self, folder: str) -> LocalFolder:
        return LocalFolder(self.path / folder)

    def names(self, folder: str = "") -> list[str]:
        home = self.path / folder
        return sorted(item.name for item in home.iterdir()) if home.is_dir() else []

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def file(self, name: str) -> Path:
        path = self.path / name
        path.stat()
        return path

    @contextmanager
    def replaced(self, name: str) -> Iterator[IO[bytes]]:
        with atomic_write(self.path / name) as file:
            yield file

    def remove(self, *names: str) -> None:
        for name in names:
            (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class RemoteFolder:
    """A folder that fsspec reaches. A file is whole there once it is sent: of several, the one that names the others comes last.

    What is there never changes while a place and its copies on other machines are in use: it is fetched once.
    """

    address: str
    key: str = field(repr=False)  # of the copies on each machine: another fit at the same address has others
    folder: str = ""

    def __str__(self) -> str:
        return f"{self.address}/{self.folder}".rstrip("/")

    def prepare(self, folder: str = "") -> None:
        copy = self._copies.path / folder
        if not folder or not copy.is_dir():
            with self._asked() as filesystem:
                filesystem.makedirs(self._there(folder), exist_ok=True)
            copy.mkdir(parents=True, exist_ok=True)

    def inside(self, folder: str) -> RemoteFolder:
        return RemoteFolder(self.address, self.key, f"{self.folder}{folder}/")

    def names(self, folder: str = "") -> list[str]:
        with self._asked() as filesystem, suppress(FileNotFoundError):
            filesystem.invalidate_cache()  # others write there too
            found = filesystem.ls(self._there(folder), detail=False)
            return sorted(path.rstrip("/").rpartition("/")[2] for path in found)
        return []

    def exists(self, name: str) -> bool:
        try:
            self.read(name)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        with self._asked() as filesystem:
            return bytes(filesystem.cat_file(self._there(name)))

    def file(self, name: str) -> Path:
        path = self._copies.path / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # one at a time: the others find it here, and not every file system can be read by two
            with _FETCHING, self._asked() as filesystem:
                if not path.exists():
                    with atomic_write(path) as draft:
                        filesystem.get_file(self._there(name), draft.name)
        return path

    @contextmanager
    def replaced(self, name: str) -> Iterator[IO[bytes]]:
        (self._copies.path / name).parent.mkdir(parents=True, exist_ok=True)
        with self._copies.replaced(name) as file:
            yield file
        with self._asked() as filesystem:
            filesystem.put_file(os.fspath(self._copies.path / name), self._there(name))

    def remove(self, *names: str) -> None:
        self._copies.remove(*names)
        with self._asked() as filesystem, suppress(FileNotFoundError):
            filesystem.rm([self._there(name) for name in names])

    def _there(self, name: str) -> str:
        return f"{filesystem_of(self.address)[1]}/{self.folder}{name}".rstrip("/")

    @property
    def _copies(self) -> LocalFolder:
        return LocalFolder(_folder_of(self.key) / self.folder)

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        """The file system. Each kind has errors of its own: those without a number become OSErrors that have one."""
        filesystem, _ = filesystem_of(self.address)
        try:
            yield filesystem
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise OSError(errno.EIO, first_sentence(error)) from error


# Copies are kept for the last few addresses only: a worker serves many fits, one after the other.
ADDRESSES = 3
_FETCHING, _CHOOSING = Lock(), Lock()
_FOLDERS: dict[str, Path] = {}


def _folder_of(key: str) -> Path:
    """The temporary folder of an address's copies."""
    with _CHOOSING:
        if key not in _FOLDERS:
            _remove_copies(ADDRESSES - 1)
            _FOLDERS[key] = Path(tempfile.mkdtemp(prefix="hyphc-"))
        return _FOLDERS[key]


def _remove_copies(kept: int) -> None:
    """Remove copies, but for those of the last addresses. Arrays that are mapped stay as they are."""
    for key in list(_FOLDERS)[: len(_FOLDERS) - kept]:
        shutil.rmtree(_FOLDERS.pop(key), ignore_errors=True)


atexit.register(_remove_copies, 0)
