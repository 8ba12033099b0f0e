"""Which rows are equal, without comparing all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Ints

Hashes = npt.NDArray[np.uint64]

AT_ONCE = 1_024  # rows compared at a time


def group_equal_rows(rows: Callable[[Ints], Any], n: int) -> Ints | None:
    """A group number (n,) for each row, the same for equal rows, by first appearance; None if all differ.

    ``rows`` gives the rows of an index, dense or sparse: they are hashed, and compared only where hashes agree.
    """
    hashes = np.concatenate([_row_hashes(rows(chunk)) for chunk in _chunks(np.arange(n))])
    order = np.argsort(hashes, kind="stable")
    alike = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    alike = np.concatenate([_equal_rows(rows, order, chunk) for chunk in _chunks(alike)])
    if len(alike) == 0:
        return None
    fresh = np.ones(n, dtype=np.int64)
    fresh[alike + 1] = 0
    group = np.empty(n, dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]  # numbered by first appearance


def _chunks(items: Ints) -> list[Ints]:
    """At most ``AT_ONCE`` at a time, and at least one chunk."""
    return np.split(items, range(AT_ONCE, len(items), AT_ONCE))


def _row_hashes(rows: Any) -> Hashes:
    """A 64-bit number for each row, equal for equal rows."""
    if isinstance(rows, np.ndarray):
        return np.asarray((_scramble(rows) * _factors(np.arange(rows.shape[1]))).sum(axis=1, dtype=np.uint64))
    terms = _scramble(rows.data) * _factors(rows.indices)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def _factors(columns: Ints) -> Hashes:
    """An odd number for each column, from its number alone: a table of a sparse matrix' columns would be as long as the data."""
    return _scramble(columns + 1) | np.uint64(1)


def _scramble(values: npt.NDArray[Any]) -> Hashes:
    """The bits of the numbers, scrambled: those of 1, 2 and 4 differ in their highest bits only."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # + 0.0: −0 becomes 0
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(bits ^ (bits >> np.uint64(27)))


def _equal_rows(rows: Callable[[Ints], Any], order: Ints, places: Ints) -> Ints:
    """Those places in the order whose row equals the next one's."""
    difference: Any = rows(order[places]) != rows(order[places + 1])
    return np.asarray(places[np.asarray(difference.sum(axis=1)).ravel() == 0])
