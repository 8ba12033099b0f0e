"""Groups of equal rows, found by hashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Ints

Hashes = npt.NDArray[np.uint64]

AT_ONCE = 1_024  # rows compared at a time
# Of more columns than this, so many are hashed first: most rows differ in some of them from all others.
FEW_COLUMNS = 64


def group_equal_rows(rows: Callable[[Ints], Any], n: int) -> Ints | None:
    """Return a group number (n,) for each row, the same for equal rows, by first appearance; None if all differ.

    ``rows`` returns the rows of an index, dense or sparse: they are hashed, and compared only where hashes agree.
    """
    unclear = _share_a_hash(rows, n)
    hashes = np.concatenate([_row_hashes(rows(chunk)) for chunk in _chunks(unclear)])
    order = np.argsort(hashes, kind="stable")
    alike = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    order = unclear[order]
    alike = np.concatenate([_equal_rows(rows, order, chunk) for chunk in _chunks(alike)])
    if len(alike) == 0:
        return None
    fresh = np.ones(len(order), dtype=np.int64)
    fresh[alike + 1] = 0
    group = len(order) + np.arange(n)  # rows that are alone
    group[order] = np.cumsum(fresh) - 1
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]  # numbered by first appearance


def _share_a_hash(rows: Callable[[Ints], Any], n: int) -> Ints:
    """Return the numbers of rows that agree with another one in a hash of some columns; all where columns are few or sparse."""
    everyone = np.arange(n)
    first = rows(everyone[:1])
    if not isinstance(first, np.ndarray) or first.shape[1] <= FEW_COLUMNS:
        return everyone
    some = np.linspace(0, first.shape[1] - 1, FEW_COLUMNS).astype(np.int64)
    hashes = np.concatenate([_row_hashes(rows(chunk)[:, some]) for chunk in _chunks(everyone)])
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    return np.sort(order[np.append(same, False) | np.append(False, same)])


def _chunks(items: Ints) -> list[Ints]:
    """Return chunks of at most ``AT_ONCE`` items, at least one chunk."""
    return np.split(items, range(AT_ONCE, len(items), AT_ONCE))


def _row_hashes(rows: Any) -> Hashes:
    """Return a 64-bit number for each row, equal for equal rows."""
    if isinstance(rows, np.ndarray):
        return np.asarray((_scramble(rows) * _factors(np.arange(rows.shape[1]))).sum(axis=1, dtype=np.uint64))
    terms = _scramble(rows.data) * _factors(rows.indices)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def _factors(columns: Ints) -> Hashes:
    """Return an odd number for each column, from its number alone: a table for a sparse matrix could be as long as the data."""
    return _scramble(columns + 1) | np.uint64(1)


def _scramble(values: npt.NDArray[Any]) -> Hashes:
    """Return the bits of the numbers, scrambled: those of 1, 2 and 4 differ in their highest bits only."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # + 0.0: −0 becomes 0
    return mix_bits(bits)


def mix_bits(bits: Hashes) -> Hashes:
    """Return pseudorandom numbers in [0, 2^64), one for each number (the finaliser of SplitMix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _equal_rows(rows: Callable[[Ints], Any], order: Ints, places: Ints) -> Ints:
    """Return those places in the order whose row equals the next one's."""
    difference: Any = rows(order[places]) != rows(order[places + 1])
    return np.asarray(places[np.asarray(difference.sum(axis=1)).ravel() == 0])
