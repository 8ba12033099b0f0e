"""Locks on folders: one process at a time works in each. The system releases them when the process ends, however it ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

PathLike = str | os.PathLike[str]
FILE = ".lock"  # in the folder, as long as it is locked
POLL_INTERVAL = 0.01  # seconds between two attempts at a lock that is held


class FolderLock:
    """A lock on a folder that exists, until ``release``; ``FolderLock(None)`` locks nothing.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> mine = FolderLock.acquire(folder)
    >>> FolderLock.acquire(folder) is None  # it is held
    True
    >>> mine.release()
    >>> os.rmdir(folder)
    """

    def __init__(self, lock: BaseFileLock | None) -> None:
        self._lock = lock

    @classmethod
    def acquire(cls, folder: PathLike, *, wait: float = 0.0) -> FolderLock | None:
        """Return the lock, or None if another process, or another lock of this one, holds it for so many seconds.

        Where the folder cannot be written to, or its file system has no locks, nothing is locked.
        """
        from filelock import FileLock, Timeout

        if not os.path.isdir(folder):
            raise FileNotFoundError(f"{os.fspath(folder)!r} is no folder, and cannot be locked; make it first.")
        lock = FileLock(Path(folder, FILE), thread_local=False)
        try:
            lock.acquire(timeout=wait, poll_interval=POLL_INTERVAL)
        except Timeout:
            return None
        except OSError:
            return cls(None)
        return cls(lock)

    def release(self) -> None:
        """Let others work in the folder."""
        if self._lock is None:
            return
        from filelock import UnixFileLock

        if isinstance(self._lock, UnixFileLock):
            # before the release: a process that waits for a removed file tries again; other systems remove it themselves
            with suppress(OSError):
                os.unlink(self._lock.lock_file)
        self._lock.release()
        self._lock = None

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
