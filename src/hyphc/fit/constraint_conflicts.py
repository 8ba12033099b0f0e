"""Validation of constraints: groups, classes and orders are checked, and errors name the points of a contradiction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .._runtime.arrays import Ints
from ..tree.multifurcating import MultiTree

DescribePoint = Callable[[int], str]  # the name of a point in an error message


def describe_by_number(point: int) -> str:
    """Return the name of a point by its row number, counted from 0."""
    return f"point {point}"


def check_groups(groups: Any, n: int, name: str) -> list[Ints]:
    """Return the sorted distinct points of each group; raise for the first that is not a list of row numbers."""
    checked = []
    for k, group in enumerate(groups):
        points = np.asarray(group)
        if points.ndim != 1 or points.dtype.kind not in "iu" or len(points) < 1:
            raise ValueError(f"{name}[{k}] must be row numbers, as [0, 3]; got {group!r}.")
        wrong = points[(points < 0) | (points >= n)]
        if len(wrong):
            raise ValueError(f"{name}[{k}] has point {wrong[0]}; points are 0 to {n - 1}.")
        checked.append(np.unique(points).astype(np.int64))
        if name == "cannot_link" and (len(points) < 2 or len(checked[-1]) < len(points)):
            raise ValueError(f"cannot_link[{k}] must be two or more different points; got {points.tolist()}.")
    return checked


def encode_classes(classes: npt.ArrayLike | None, n: int) -> Ints:
    """Return a code for the class of each point, −1 where it is unknown."""
    if classes is None:
        return np.full(n, -1)
    values = np.asarray(classes, dtype=object)
    if values.shape != (n,):
        raise ValueError(f"classes must have shape ({n},), one for each point; got {values.shape}.")
    unknown = np.array([_is_unknown(value) for value in values.tolist()], dtype=bool)
    codes = np.full(n, -1)
    codes[~unknown] = np.unique(values[~unknown].astype(str), return_inverse=True)[1]
    return codes


def _is_unknown(value: Any) -> bool:
    """Return whether a class is None, NaN (not equal to itself), pandas' NA (comparisons are not Boolean), −1 or ""."""
    same = value == value
    return value is None or not isinstance(same, bool | np.bool_) or not same or value in (-1, "")


def check_order(order: npt.ArrayLike | None, n: int) -> Ints | None:
    """Return the position of each point, 0 … n − 1; ties are broken by row number."""
    if order is None:
        return None
    values = np.asarray(order)
    if values.shape != (n,) or values.dtype.kind not in "iufM":
        raise ValueError(f"order must have shape ({n},), a number for each point; got {values.dtype} {values.shape}.")
    missing = np.flatnonzero(np.isnat(values) if values.dtype.kind == "M" else ~np.isfinite(values))
    if len(missing):
        raise ValueError(f"order[{missing[0]}] is {values[missing[0]]}; each point needs a place.")
    return np.asarray(np.argsort(np.argsort(values, kind="stable"), kind="stable"))


def merge_overlapping(groups: list[Ints], n: int) -> list[Ints]:
    """Return the connected components of groups that share points."""
    if not groups:
        return []
    points, which = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    ends = (np.concatenate([points, n + which]), np.concatenate([n + which, points]))
    _, part = connected_components(csr_array((np.ones(len(ends[0])), ends), shape=(n + len(groups),) * 2))
    by_part = np.argsort(part[:n], kind="stable")
    runs = np.split(by_part, np.flatnonzero(np.diff(part[:n][by_part])) + 1)
    wanted = set(part[n:].tolist())
    return [run for run in runs if int(part[run[0]]) in wanted]


def require_apart(together: list[Ints], apart: list[Ints], codes: Ints, describe: DescribePoint) -> None:
    """Raise where points that must be together must also be apart."""
    group = np.full(len(codes), -1)
    for k, points in enumerate(together):
        group[points] = k
        known = points[codes[points] >= 0]
        other = known[codes[known] != codes[known[:1]]] if len(known) else known
        if len(other):
            raise ValueError(
                f"A contradiction: {describe(int(known[0]))} and {describe(int(other[0]))} must be together but are of different "
                "classes."
            )
    for points in apart:
        first: dict[int, int] = {}
        for point in points[group[points] >= 0].tolist():
            other_point = first.setdefault(int(group[point]), point)
            if other_point != point:
                raise ValueError(
                    f"Points {describe(other_point)} and {describe(point)} must be together and must be apart."
                )


def require_runs(groups: list[Ints], order: Ints, describe: DescribePoint) -> None:
    """Raise where a group that must be a cluster is no run of the order."""
    at = np.argsort(order)
    for group in groups:
        places = np.sort(order[group])
        gaps = np.flatnonzero(np.diff(places) > 1)
        if len(gaps):
            before, after = int(at[places[gaps[0]]]), int(at[places[gaps[0] + 1]])
            between = int(at[places[gaps[0]] + 1])
            raise ValueError(
                f"A contradiction: {describe(before)} and {describe(after)} must be in one cluster, but in the order "
                f"{describe(between)} lies between them and must not be in it; clusters are runs of the order."
            )


def build_constraint_tree(groups: list[Ints], n: int, describe: DescribePoint) -> MultiTree:
    """Return the tree of nested groups; raise for two that overlap.

    From the largest down, all points of a group must have the same smallest group so far.
    """
    distinct = {tuple(group.tolist()) for group in groups}
    ordered = sorted((group for group in distinct if 1 < len(group) < n), key=lambda group: (-len(group), group))
    owner, above = np.full(n, -1), []
    for k, group in enumerate(ordered):
        owners = owner[list(group)]
        if (owners != owners[0]).any():
            raise ValueError(_contradiction(ordered, group, owners, describe))
        above.append(int(owners[0]))
        owner[list(group)] = k
    if n == 1:
        return MultiTree([-1], 1)
    root, parents = n + len(ordered), np.append(owner, np.array(above[::-1], dtype=np.int64))
    numbered = np.where(parents < 0, root, root - 1 - parents)  # the smallest come first
    return MultiTree(np.append(numbered, -1), n)


def _contradiction(
    ordered: list[tuple[int, ...]], group: tuple[int, ...], owners: Ints, describe: DescribePoint
) -> str:
    other = ordered[int(owners.max())]
    shared, alone = (min(points) for points in (set(group) & set(other), set(group) - set(other)))
    missing = min(set(other) - set(group))
    return (
        f"Two groups contradict each other: both have {describe(shared)}, only one has {describe(alone)} and only the other "
        f"{describe(missing)}. Clusters of a tree are disjoint, or one is in the other."
    )
