"""The trail of a fit: what each level of the work needs to go on from here, so that a later process can take it up.

A fit is levels of work, one inside the other: the fit, its search, a series of sweeps. Each *keeps* what it needs to come to the
same point again: arrays and numbers. All of them together, at a moment when no thread is at work, are where the fit stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

Frame = dict[str, npt.NDArray[Any]]  # by "level.level.name"
Value = Any  # array or number, or a function that makes one when it is written


class Level:
    """One level of the work: what an earlier process kept of it, and what this one keeps.

    Attributes
    ----------
    found : Frame
        Empty if there is nothing to take up.
    """

    def __init__(self, found: Frame | None = None) -> None:
        self.found = {} if found is None else found

    def keep(self, **values: Value) -> None:
        """From here on the level is taken up with these; if it is time they are written, with those of the levels around."""

    def finish(self, **values: Value) -> None:
        """Keep these, and write them now."""

    def take_up(self, record: Any) -> None:
        """Set the fields of a dataclass to what was found."""
        for field in fields(record):
            if field.name in self.found:
                value = self.found[field.name]
                setattr(record, field.name, value if value.ndim else value.item())


class Trail:
    """The trail of a fit that nobody keeps: there is nothing to take up, and nothing is written."""

    @contextmanager
    def level(self, name: str) -> Iterator[Level]:
        """Enter a level of the work. Names are unique within the level around, as long as that has kept nothing new."""
        yield Level()


class KeptTrail(Trail):
    """A trail that is kept.

    Parameters
    ----------
    found : Frame
        What an earlier process kept.
    offer : callable
        Called whenever something is kept, with a function that makes the frame, and whether it must be written now.

    Examples
    --------
    >>> kept = []
    >>> trail = KeptTrail({}, lambda frame, now: kept.append(frame()))
    >>> with trail.level("fit") as fit, trail.level("search") as search:
    ...     fit.keep(seed=1)
    ...     search.keep(round=lambda: 2)
    >>> {name: value.item() for name, value in kept[-1].items()}
    {'fit.seed': 1, 'fit.search.round': 2}
    >>> with KeptTrail(kept[-1], print).level("fit") as fit:
    ...     fit.found["seed"].item()
    1
    """

    def __init__(self, found: Frame, offer: Callable[[Callable[[], Frame], bool], None]) -> None:
        self._found, self._offer = dict(found), offer
        self._levels: list[_KeptLevel] = []

    @contextmanager
    def level(self, name: str) -> Iterator[Level]:
        """Enter a level of the work, and leave it with the block."""
        path = f"{self._levels[-1].path}.{name}" if self._levels else name
        level = _KeptLevel(path, self._taken(path), self._kept)
        self._levels.append(level)
        try:
            yield level
        finally:
            self._levels.pop()

    def _taken(self, path: str) -> Frame:
        """What was kept of a level; it is there once, for the first to enter."""
        names = [name for name in self._found if name.rpartition(".")[0] == path]
        return {name.rpartition(".")[2]: self._found.pop(name) for name in names}

    def _kept(self, now: bool) -> None:
        # as long as levels further in have not been taken up, what was found stands further on than what is kept here
        if not self._found:
            self._offer(self._frame, now)

    def _frame(self) -> Frame:
        return {f"{level.path}.{name}": array for level in self._levels for name, array in level.arrays()}


class _KeptLevel(Level):
    """A level of a trail that is kept."""

    def __init__(self, path: str, found: Frame, offer: Callable[[bool], None]) -> None:
        super().__init__(found)
        self.path, self._offer = path, offer
        self._values: Mapping[str, Value] = {}

    def keep(self, **values: Value) -> None:
        self._values = values
        self._offer(False)

    def finish(self, **values: Value) -> None:
        self._values = values
        self._offer(True)

    def arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """What it kept, as arrays."""
        for name, value in self._values.items():
            yield name, np.asarray(value() if callable(value) else value)
