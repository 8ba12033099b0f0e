"""Warnings that a caller can collect without a change to the warnings machinery of the process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_collector: ContextVar[Callable[[str], None] | None] = ContextVar("hyphc_warnings", default=None)


def warn(message: str, category: type[Warning] = UserWarning, stacklevel: int = 1) -> None:
    """Issue a warning as ``warnings.warn`` does, or hand it to the collector of this context."""
    collect = _collector.get()
    if collect is None:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
    else:
        collect(message)


@contextmanager
def collect_warnings(collect: Callable[[str], None]) -> Iterator[None]:
    """Pass the messages of this package's warnings to ``collect`` while the block runs, in this thread or task alone.

    ``warnings.catch_warnings`` replaces functions and filters of the whole process, and two threads that leave it out of order
    leave them replaced for good.

    Examples
    --------
    >>> found: list[str] = []
    >>> with collect_warnings(found.append):
    ...     warn("The table is square.")
    >>> found
    ['The table is square.']
    """
    before = _collector.set(collect)
    try:
        yield
    finally:
        _collector.reset(before)
