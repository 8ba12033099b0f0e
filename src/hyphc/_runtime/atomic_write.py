"""Files that are either whole or not there."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_DRAFT = re.compile(r"\..+\.[0-9a-f]{8}")
# Tables pack to between a third and a fiftieth. What grows beyond this is no table, and would fill the memory.
MAX_RATIO, SMALL = 100, 64 << 20


def max_unpacked_bytes(size: int) -> int:
    """What a packed file of this size may hold at the most, in bytes."""
    return max(SMALL, MAX_RATIO * size)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of ``path`` when the block ends well, and vanishes when it does not."""
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
    """Whether a file is one that has not taken its place yet, or never will."""
    return _DRAFT.fullmatch(path.name) is not None
