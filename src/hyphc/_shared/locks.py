"""Folders and files that one process at a time works in. The system lets go of a lock when its process ends, however it ends."""

from __future__ import annotations

import os
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows locks are always free
    fcntl: Any = None  # type: ignore[no-redef]

PathLike = str | os.PathLike[str]


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
    def taken(cls, path: PathLike, *, wait: bool = False) -> Lock | None:
        """The lock; None if another process, or another lock of this one, has it and nobody waits."""
        if fcntl is None:
            return cls(None)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return cls(None)
        return cls(descriptor)

    def release(self) -> None:
        """Let go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
