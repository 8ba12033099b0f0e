"""Folders and files that one process at a time works in. The system lets go of a lock when its process ends, however it ends."""

from __future__ import annotations

import os
import time
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows locks are always free
    fcntl: Any = None  # type: ignore[no-redef]

PathLike = str | os.PathLike[str]
PATIENCE = 0.01  # seconds between two looks at a lock that somebody has


class Lock:
    """A lock on a file or a folder that exists, until ``release``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> mine = Lock.taken(folder)
    >>> Lock.taken(folder) is None  # somebody has it
    True
    >>> mine.release()
    >>> os.rmdir(folder)
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @classmethod
    def taken(cls, path: PathLike, *, wait: float = 0.0) -> Lock | None:
        """The lock; None if another process, or another lock of this one, keeps it for so many seconds."""
        if fcntl is None:
            return cls(None)
        descriptor, deadline = os.open(path, os.O_RDONLY), time.monotonic() + wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return cls(descriptor)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    return None
                time.sleep(PATIENCE)
            except OSError:  # a file system without locks
                os.close(descriptor)
                return cls(None)

    def release(self) -> None:
        """Let go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
