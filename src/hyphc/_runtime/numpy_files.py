"""NPY and NPZ files that may be damaged, or made to do damage: one kind of error, and no more memory than plausible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipfile import ZipFile

from .atomic_write import MOST_TIMES, most_bytes


@contextmanager
def damage_told() -> Iterator[None]:
    """Whatever a reader says about a damaged file becomes a ValueError with the reason in one line."""
    try:
        yield
    except MemoryError:
        raise ValueError("it claims to hold more than there is memory for") from None
    except Exception as error:  # zipfile, struct, tokenize, arrow and others have errors of their own
        raise ValueError(reason_of(error)) from None


def reason_of(error: Exception) -> str:
    """The first sentence of an error, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0].rstrip(".")


def require_plausible(archive: Any, size: int) -> None:
    """Raise before an NPZ archive of ``size`` bytes is unpacked that would fill the memory.

    ``archive`` is what ``np.load`` opened; its directory says how large each member is, and no more than that is unpacked.
    """
    require_members(archive.zip, size)


def require_members(archive: ZipFile, size: int) -> None:
    """The same for any ZIP archive, as Excel's files are."""
    if sum(member.file_size for member in archive.infolist()) > most_bytes(size):
        raise ValueError(f"it unpacks to more than {MOST_TIMES} times its size, which no table does")
