"""Safe reading of untrusted NPY and NPZ files: ValueError for damage, and a limit on unpacked size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipfile import ZipFile

from .atomic_write import MAX_RATIO, max_unpacked_bytes


@contextmanager
def damage_as_value_error() -> Iterator[None]:
    """Turn any error of a reader into a ValueError with the reason in one line."""
    try:
        yield
    except MemoryError:
        raise ValueError("it claims to hold more than there is memory for") from None
    except Exception as error:  # zipfile, struct, tokenize, arrow and others have errors of their own
        raise ValueError(first_sentence(error)) from None


def first_sentence(error: Exception) -> str:
    """Return the first sentence of an error, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0].rstrip(".")


def require_plausible(archive: Any, size: int) -> None:
    """Raise if an NPZ archive of ``size`` bytes would unpack to an implausible size.

    ``archive`` is what ``np.load`` opened; its directory says how large each member is, and no more than that is unpacked.
    """
    require_plausible_zip(archive.zip, size)


def require_plausible_zip(archive: ZipFile, size: int) -> None:
    """Raise if a ZIP archive (as Excel's files are) of ``size`` bytes would unpack to an implausible size."""
    if sum(member.file_size for member in archive.infolist()) > max_unpacked_bytes(size):
        raise ValueError(f"it unpacks to more than {MAX_RATIO} times its size, which no table does")
