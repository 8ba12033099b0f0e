"""Distinctive columns of groups, from the moments of each group alone: rows may be sparse, or read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .differences import Difference, effects_of, welch

ALPHA = 0.05  # as of ``hyphc.differences``


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Number of values, their mean, and their scatter Σ (x − mean)², of each group and column: (k, d)."""

    weight: Floats
    centre: Floats
    scatter: Floats

    @classmethod
    def of_rows(cls, rows: Any, groups: Ints, k: int) -> GroupMoments:
        """Return the moments of groups 0 … k − 1 in rows (n, d), dense or sparse; NaN is missing, and so is group −1. O(n d)."""
        kept = np.flatnonzero(groups >= 0)
        compute = _sparse_moments if sp.issparse(rows) else _dense_moments
        return cls(*compute(rows[kept], groups[kept], k))

    def __getitem__(self, groups: Any) -> GroupMoments:
        return GroupMoments(self.weight[groups], self.centre[groups], self.scatter[groups])

    def join(self, other: GroupMoments) -> GroupMoments:
        """Return the moments of the union of each group with one of ``other``, by the update of Chan, Golub and LeVeque."""
        weight, away = self.weight + other.weight, other.centre - self.centre
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        return GroupMoments(
            weight,
            self.centre + away * share,
            self.scatter + other.scatter + away * away * self.weight * share,
        )

    def of_union(self, groups: Sequence[int]) -> GroupMoments:
        """Return the moments of several groups together, (1, d)."""
        return reduce(GroupMoments.join, (self[[group]] for group in groups))

    def of_others(self) -> GroupMoments:
        """Return for each group the moments of all others together. O(k d)."""
        none = GroupMoments(*(np.zeros_like(self.weight[:1]) for _ in range(3)))
        ones = [self[[group]] for group in range(len(self.weight))]
        before = list(accumulate(ones[:-1], GroupMoments.join, initial=none))
        after = list(accumulate(ones[:0:-1], GroupMoments.join, initial=none))[::-1]
        joined = [left.join(right) for left, right in zip(before, after, strict=True)]
        return self.concatenate(joined)

    @classmethod
    def concatenate(cls, parts: Sequence[GroupMoments]) -> GroupMoments:
        """Return the groups of all parts, in order."""
        fields = [[part.weight for part in parts], [part.centre for part in parts], [part.scatter for part in parts]]
        return cls(*map(np.concatenate, fields))


def _dense_moments(rows: npt.NDArray[Any], groups: Ints, k: int) -> tuple[Floats, Floats, Floats]:
    order = np.argsort(groups, kind="stable")
    values, found = rows[order].astype(np.float64), groups[order]
    present = np.isfinite(values)
    values[~present] = 0.0
    weight, centre, scatter = (np.zeros((k, rows.shape[1])) for _ in range(3))
    if len(found):
        starts = np.flatnonzero(np.diff(found, prepend=-1))
        own = found[starts]
        weight[own] = np.add.reduceat(present, starts, axis=0, dtype=np.float64)
        centre[own] = np.add.reduceat(values, starts, axis=0) / np.maximum(weight[own], 1.0)
        values -= centre[found]
        values[~present] = 0.0
        scatter[own] = np.add.reduceat(np.square(values, out=values), starts, axis=0)
    return weight, centre, scatter


def _sparse_moments(rows: Any, groups: Ints, k: int) -> tuple[Floats, Floats, Floats]:
    entries, d = sp.coo_array(rows), rows.shape[1]
    cell = groups[entries.coords[0]] * d + entries.coords[1]
    values = np.asarray(entries.data, dtype=np.float64)
    present = np.isfinite(values)

    def sums(cells: Ints, weights: Floats | None = None) -> Floats:
        return np.bincount(cells, weights, k * d).reshape(k, d).astype(np.float64)

    weight = np.bincount(groups, minlength=k)[:, None] - sums(cell[~present])
    cell, values = cell[present], values[present]
    centre = sums(cell, values) / np.maximum(weight, 1.0)
    scatter = sums(cell, np.square(values - centre.ravel()[cell])) + (weight - sums(cell)) * centre**2
    return weight, centre, scatter


@dataclass(frozen=True, eq=False)
class GroupDifferences:
    """Columns in which each group differs most from another set of rows: all arrays are (k, top), in falling order of |effect|.

    ``columns`` is −1 where nothing is known. A difference is sure where p times ``n_tests``, groups times columns, is at most
    0.05.
    """

    names: Sequence[str]
    columns: Ints
    effects: Floats
    means: Floats
    other_means: Floats
    p_values: Floats
    n_tests: int

    def of(self, group: int) -> tuple[Difference, ...]:
        """Return the differences of a group, the largest first."""
        return tuple(self._differences(group))

    def _differences(self, group: int) -> Iterator[Difference]:
        figures = (self.columns, self.effects, self.means, self.other_means, self.p_values)
        for column, effect, mean, other, p in zip(*(values[group].tolist() for values in figures), strict=True):
            if column >= 0:
                yield Difference(self.names[column], effect, mean, other, p, p * self.n_tests <= ALPHA)


def group_differences(
    groups: GroupMoments, others: GroupMoments, names: Sequence[str], top: int = 5
) -> GroupDifferences:
    """Return the columns in which groups differ most from others, by Hedges' g, with Welch's test, as ``hyphc.differences``.

    Parameters
    ----------
    groups, others : GroupMoments (k, d)
        Group i is compared with others i.
    names : sequence of d str
    top : int
        Columns that are kept of each group.
    """
    # the scale below which scatter is rounding; of constant columns the difference of the means
    spread = np.sqrt((groups.scatter + others.scatter).max(axis=0, initial=0.0))
    spread = np.maximum(spread, np.abs(groups.centre - others.centre).max(axis=0, initial=0.0))
    effects = effects_of(groups, others, spread)
    size = np.where(np.isnan(effects), -1.0, np.abs(effects))
    order = np.argsort(-size, axis=1, kind="stable")[:, :top]
    p_values = welch(groups, others)
    kept = [np.take_along_axis(values, order, axis=1) for values in (effects, groups.centre, others.centre, p_values)]
    columns = np.where(np.take_along_axis(size, order, axis=1) < 0, -1, order)
    return GroupDifferences(names, columns, kept[0], kept[1], kept[2], kept[3], effects.size)
