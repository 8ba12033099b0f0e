"""Storage of files: a folder that this machine sees, or an address that fsspec understands, as ``s3://bucket/fit``.

Files of an address are written to a temporary folder of the process and then sent, and fetched when they are first read: what is
mapped into memory is always a file of this machine.
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
from typing import IO, Any, TypeAlias

from .atomic_write import atomic_write
from .lazy_import import require_package
from .numpy_files import first_sentence


def as_storage_folder(storage: Storage) -> StorageFolder:
    """Return the folder of a path or of an address.

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
    """Return whether this is an address, not a path."""
    return "://" in os.fspath(text)


def path_of(address: str) -> str | None:
    """Return the path of an address on this machine, as ``file:///data``; None if it is elsewhere."""
    local = require_package("fsspec.implementations.local", "Addresses", "dask")
    filesystem, path = filesystem_of(address)
    return str(path) if type(filesystem) is local.LocalFileSystem else None


def filesystem_of(address: str) -> tuple[Any, str]:
    """Return the file system of fsspec for an address, and the path in it."""
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
    """A folder that this machine sees; files have names such as ``stage/000000.json``. Small to send to others."""

    path: Path

    def __str__(self) -> str:
        return os.fspath(self.path)

    def prepare(self, folder: str = "") -> None:
        """Create it, or a folder in it."""
        (self.path / folder).mkdir(parents=not folder, exist_ok=True)

    def inside(self, folder: str) -> LocalFolder:
        """Return a folder in it."""
        return LocalFolder(self.path / folder)

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names of what is in it, or in a folder of it; none if that does not exist."""
        home = self.path / folder
        return sorted(item.name for item in home.iterdir()) if home.is_dir() else []

    def exists(self, name: str) -> bool:
        """Return whether a file exists."""
        return (self.path / name).exists()

    def read(self, name: str) -> bytes:
        """Return the content of a small file as it is now; FileNotFoundError if there is none."""
        return (self.path / name).read_bytes()

    def file(self, name: str) -> Path:
        """Return a file of this machine with the same content, to be memory-mapped; FileNotFoundError if there is none."""
        path = self.path / name
        path.stat()
        return path

    def replaced(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a new file that replaces the old one when the block ends without an error."""
        return atomic_write(self.path / name)

    def remove(self, *names: str) -> None:
        """Remove files, as far as they exist."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class RemoteFolder:
    """A folder that fsspec reaches, with the methods of ``LocalFolder``.

    Files are sent when they are complete; of several, the one that names the others is sent last. A file does not change while
    this object and its copies on other machines are in use: it is fetched once.
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
        """Yield the file system. Errors without a number, which each kind has of its own, are raised as OSErrors with one."""
        filesystem, _ = filesystem_of(self.address)
        try:
            yield filesystem
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise OSError(errno.EIO, first_sentence(error)) from error


StorageFolder: TypeAlias = LocalFolder | RemoteFolder
Storage: TypeAlias = str | os.PathLike[str] | StorageFolder

# Copies are kept for the last few addresses only: a worker serves many fits, one after the other.
ADDRESSES = 3
_FETCHING, _CHOOSING = Lock(), Lock()
_FOLDERS: dict[str, Path] = {}


def _folder_of(key: str) -> Path:
    """Return the temporary folder of an address's copies."""
    with _CHOOSING:
        if key not in _FOLDERS:
            _remove_copies(ADDRESSES - 1)
            _FOLDERS[key] = Path(tempfile.mkdtemp(prefix="hyphc-"))
        return _FOLDERS[key]


def _remove_copies(kept: int) -> None:
    """Remove copies except those of the last ``kept`` addresses. Arrays that are mapped stay as they are."""
    for key in list(_FOLDERS)[: len(_FOLDERS) - kept]:
        shutil.rmtree(_FOLDERS.pop(key), ignore_errors=True)


atexit.register(_remove_copies, 0)
