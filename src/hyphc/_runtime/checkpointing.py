"""Checkpoints of a fit: nested scopes that save arrays and numbers from which a later process resumes.

A fit is nested work: the fit, its search, a series of sweeps. Each scope saves what it needs to reach the same point again. All
open scopes together, at a moment when no thread is running, are one snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

Snapshot = dict[str, npt.NDArray[Any]]  # by "scope.scope.name"
Value = Any  # array or number, or a function that makes one when it is written


class Scope:
    """One level of nested work: what an earlier process saved of it, and what this one saves; by default, nothing.

    Attributes
    ----------
    saved : Snapshot
        Empty if there is nothing to resume from.
    """

    def __init__(
        self, saved: Snapshot | None = None, path: str = "", offer: Callable[[bool], None] = lambda now: None
    ) -> None:
        self.saved = {} if saved is None else saved
        self.path, self._offer = path, offer
        self._values: Mapping[str, Value] = {}

    def save(self, **values: Value) -> None:
        """Replace the values of this scope; they are written if it is time, with those of the enclosing scopes."""
        self._values = values
        self._offer(False)

    def save_now(self, **values: Value) -> None:
        """Replace the values of this scope, and write them at once."""
        self._values = values
        self._offer(True)

    def arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield names and values, as arrays."""
        for name, value in self._values.items():
            yield name, np.asarray(value() if callable(value) else value)

    def restore(self, record: Any) -> None:
        """Set the fields of a dataclass to the saved values."""
        for field in fields(record):
            if field.name in self.saved:
                value = self.saved[field.name]
                setattr(record, field.name, value if value.ndim else value.item())


class NoCheckpoints:
    """Checkpoints that save and restore nothing."""

    @contextmanager
    def scope(self, name: str) -> Iterator[Scope]:
        """Enter a scope. Names are unique within the enclosing scope, until that saves new values."""
        yield Scope()


class Checkpoints(NoCheckpoints):
    """Checkpoints that are written.

    Parameters
    ----------
    saved : Snapshot
        What an earlier process saved.
    offer : callable
        Called after each ``save`` with a function that makes the snapshot, and whether it must be written now.

    Examples
    --------
    >>> written = []
    >>> checkpoints = Checkpoints({}, lambda snapshot, now: written.append(snapshot()))
    >>> with checkpoints.scope("fit") as fit, checkpoints.scope("search") as search:
    ...     fit.save(seed=1)
    ...     search.save(round=lambda: 2)
    >>> {name: value.item() for name, value in written[-1].items()}
    {'fit.seed': 1, 'fit.search.round': 2}
    >>> with Checkpoints(written[-1], print).scope("fit") as fit:
    ...     fit.saved["seed"].item()
    1
    """

    def __init__(self, saved: Snapshot, offer: Callable[[Callable[[], Snapshot], bool], None]) -> None:
        self._saved, self._offer = dict(saved), offer
        self._scopes: list[Scope] = []

    @contextmanager
    def scope(self, name: str) -> Iterator[Scope]:
        """Enter a scope, and leave it with the block."""
        path = f"{self._scopes[-1].path}.{name}" if self._scopes else name
        scope = Scope(self._pop_saved(path), path, self._on_save)
        self._scopes.append(scope)
        try:
            yield scope
        finally:
            self._scopes.pop()

    def _pop_saved(self, path: str) -> Snapshot:
        """Return the saved values of a scope once, to the first that enters it."""
        names = [name for name in self._saved if name.rpartition(".")[0] == path]
        return {name.rpartition(".")[2]: self._saved.pop(name) for name in names}

    def _on_save(self, now: bool) -> None:
        # as long as inner scopes have not been restored, the earlier snapshot is ahead of this one
        if not self._saved:
            self._offer(self._snapshot, now)

    def _snapshot(self) -> Snapshot:
        return {f"{scope.path}.{name}": array for scope in self._scopes for name, array in scope.arrays()}
