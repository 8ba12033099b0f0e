"""Abbreviation of names: shortened where they do not differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

GAP = "…"


def abbreviate(names: Sequence[str], length: int) -> list[str]:
    """Return names of at most ``length`` letters: the end, the middle or the beginning is left out, so that most of them differ.

    Examples
    --------
    >>> abbreviate(["ant", "sample 2024 A1", "sample 2024 B1"], 8)
    ['ant', 'sam…4 A1', 'sam…4 B1']
    """
    if length < 3:
        return [name[:length] for name in names]
    if all(len(name) <= length for name in names):
        return list(names)
    long = [name for name in names if len(name) > length]
    skipped = _common(long)
    head, tail = length // 2 - 1, length - length // 2
    ways: tuple[Callable[[str], str], ...] = (
        lambda name: name[: length - 1] + GAP,
        lambda name: name[:head] + GAP + name[-tail:],
        lambda name: GAP + name[1 - length :],
        lambda name: GAP + name[skipped : skipped + length - 2] + GAP,
    )
    tries = [[name if len(name) <= length else way(name) for name in names] for way in ways]
    return max(tries, key=lambda short: len(set(short)))


def abbreviate_end(name: str, length: int) -> str:
    """Return the beginning of a name in at most ``length`` letters, with an ellipsis where its end is left out.

    Examples
    --------
    >>> abbreviate_end("sepal width low", 8)
    'sepal w…'
    """
    return name if len(name) <= length else name[: length - 1].rstrip(" ,;") + GAP


def _common(names: Sequence[str]) -> int:
    """Return the length of the longest common prefix."""
    first, last = min(names), max(names)
    return next((k for k, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
