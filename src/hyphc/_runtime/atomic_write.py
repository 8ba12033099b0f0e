"""Atomic writes: a file has its old content or its new one, never a part of it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_DRAFT = re.compile(r"\..+\.[0-9a-f]{8}")
# Tables are compressed to between a third and a fiftieth. What unpacks to more is no table, and would fill the memory.
MAX_RATIO, SMALL = 100, 64 << 20


def max_unpacked_bytes(size: int) -> int:
    """Return the bytes that a compressed file of this size may hold at most."""
    return max(SMALL, MAX_RATIO * size)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that replaces ``path`` when the block ends, and is removed if it raises."""
    target = Path(path)
    draft = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    # opened as any new file, not as a private temporary one: the system then gives it the usual permissions
    with draft.open("xb") as file:
        try:
            yield file
            file.close()  # Windows moves no file that is open
            os.replace(draft, target)
        except BaseException:
            file.close()
            draft.unlink(missing_ok=True)
            raise


def is_draft(path: Path) -> bool:
    """Return whether a file is one that ``atomic_write`` has not renamed yet, or never will."""
    return _DRAFT.fullmatch(path.name) is not None
