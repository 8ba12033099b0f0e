"""Trials: whether a fault was survived, and what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypedDict

NOTHING = "nothing"


class Trial(TypedDict, total=False):
    """One trial: its seed, whether all was as it must be, what was lost or wrong, and whatever else is worth keeping."""

    seed: int
    survived: bool
    lost: str
    about: dict[str, Any]


class Group(Protocol):
    """A module of this folder with trials."""

    CASES: Mapping[str, str]
    LONG: int  # trials of a case in the long form
    LIMIT: float  # seconds for a case
    trials: Callable[[str, int], Iterator[Trial]]


def make_trial(seed: int, complaints: list[str], **about: Any) -> Trial:
    """Return a trial, which was survived if there are no complaints."""
    return Trial(seed=seed, survived=not complaints, lost="; ".join(complaints) or NOTHING, about=about)
