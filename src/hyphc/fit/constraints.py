"""Constraints on a tree: must-link, cannot-link, required clusters, classes, an order of the points; and their validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .._runtime.arrays import Ints
from ..tree import Tree
from ..tree.multifurcating import MultiTree

__all__ = ["Constraints"]

Groups = Sequence[Sequence[int]]
DescribePoint = Callable[[int], str]  # the name of a point in an error message


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints on a tree and its flat clusters; points are rows of X, counted from 0.

    Parameters
    ----------
    must_link : sequence of groups of points
        Each group is a cluster of the tree, and in one flat cluster. Groups that share a point are one group.
    cannot_link : sequence of pairs, or larger groups, of points
        No two points of a group are in the same flat cluster. The tree itself is not bound by them: any two points are apart
        further down.
    clusters : sequence of groups of points, Tree or MultiTree
        A constraint tree: each group is a cluster of the tree; cuts may go through it. Two groups are disjoint, or one is in
        the other. Of a tree, all its clusters.
    classes : array (n,), optional
        Known classes of some points, numbers or strings; −1, None, NaN or "" where nothing is known. Points of different classes
        are never in the same flat cluster.
    order : array (n,), optional
        A number for each point, such as a time or a place: each cluster of the tree is a run of neighbours in this order, of
        equal numbers the first row first. The best such tree is found exactly, in O(n³) time, for up to 4 000 points.

    Examples
    --------
    >>> from hyphc import HypHC
    >>> X = [[0.0], [1.0], [2.0], [9.0], [10.0]]
    >>> known = Constraints(must_link=[[0, 4]], cannot_link=[(1, 2)])
    >>> HypHC(constraints=known, random_state=0).fit(X).labels_[[0, 4]]
    array([0, 0])
    """

    must_link: Groups = ()
    cannot_link: Groups = ()
    clusters: Groups | Tree | MultiTree = ()
    classes: npt.ArrayLike | None = None
    order: npt.ArrayLike | None = None

    def resolve(self, n: int, describe: DescribePoint = "point {}".format) -> ResolvedConstraints:
        """Return the constraints checked for n points; errors name the points of a contradiction by ``describe``."""
        together = _merge_overlapping(_check_groups(self.must_link, n, "must_link"), n)
        clusters = [*together, *_check_groups(groups_of(self.clusters), n, "clusters")]
        apart, codes = _check_groups(self.cannot_link, n, "cannot_link"), _encode_classes(self.classes, n)
        _require_apart(together, apart, codes, describe)
        order = _check_order(self.order, n)
        if order is not None:
            _require_runs(clusters, order, describe)
        tree = _build_constraint_tree(clusters, n, describe)
        return ResolvedConstraints(tree, together, apart, codes, order)

    def restrict(self, points: Ints, n: int) -> Constraints:
        """Return the constraints of some of n points, which are numbered in the order given."""
        number = np.full(n, -1)
        number[points] = np.arange(len(points))
        return Constraints(
            _renumber(self.must_link, number),
            [group for group in _renumber(self.cannot_link, number) if len(group) > 1],
            _renumber(groups_of(self.clusters), number),
            None if self.classes is None else np.asarray(self.classes, dtype=object)[points],
            None if self.order is None else np.asarray(self.order)[points],
        )

    def extend(self, n: int) -> Constraints:
        """Return the constraints of n points, the new ones unconstrained; raise if there is an order, which they would need."""
        if self.order is not None and len(np.asarray(self.order)) < n:
            raise ValueError("The order of new points is not known; fit all points with an order of all.")
        if self.classes is None:
            return self
        classes = list(np.asarray(self.classes, dtype=object))
        return replace(self, classes=[*classes, *[None] * (n - len(classes))])


def resolve_constraints(
    constraints: Constraints | None, n: int, init: Any, n_clusters: int | None
) -> ResolvedConstraints | None:
    """Return the constraints of a fit of n points checked, None without any; raise if a start or number contradicts them."""
    if constraints is None:
        return None
    if not isinstance(init, str):
        raise ValueError("init= is a tree or positions of all points; with constraints parts are fitted: leave it out.")
    resolved = constraints.resolve(n)
    resolved.require_possible(n_clusters)
    return resolved


@dataclass(frozen=True, eq=False)
class ResolvedConstraints:
    """Constraints of n points, checked.

    Attributes
    ----------
    constraint_tree : MultiTree
        The clusters that the tree must have.
    together, apart : list of arrays
        Groups of points that stay in one flat cluster, and groups of points that are kept apart.
    classes : array (n,)
        The class of each point, −1 where it is unknown.
    order : array (n,) or None
        The position of each point in the order.
    """

    constraint_tree: MultiTree
    together: list[Ints]
    apart: list[Ints]
    classes: Ints
    order: Ints | None

    @property
    def min_clusters(self) -> int:
        """Lower bound on the number of flat clusters."""
        return max(1, len(np.unique(self.classes[self.classes >= 0])), *(len(group) for group in self.apart))

    @property
    def max_clusters(self) -> int:
        """Upper bound on the number of flat clusters."""
        return self.constraint_tree.n_leaves - sum(len(group) - 1 for group in self.together)

    def require_possible(self, n_clusters: int | None) -> None:
        """Raise for a number of clusters that no tree allows; the tree that is found may allow fewer still."""
        if n_clusters is not None and not self.min_clusters <= n_clusters <= self.max_clusters:
            raise ValueError(
                f"n_clusters={n_clusters} contradicts the constraints, which allow {self.min_clusters} to {self.max_clusters} "
                "clusters at the most; choose one of these."
            )

    @property
    def description(self) -> str:
        """What the plan says of the constraints."""
        n_inner = max(0, self.constraint_tree.n_inner - 1)
        required = f"within {n_inner} required cluster{'s' * (n_inner != 1)}" if n_inner else ""
        return ", ".join(filter(None, [required, "" if self.order is None else "in the given order, exactly"]))


def _check_groups(groups: Any, n: int, name: str) -> list[Ints]:
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


def _encode_classes(classes: npt.ArrayLike | None, n: int) -> Ints:
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


def _check_order(order: npt.ArrayLike | None, n: int) -> Ints | None:
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


def _merge_overlapping(groups: list[Ints], n: int) -> list[Ints]:
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


def _require_apart(together: list[Ints], apart: list[Ints], codes: Ints, describe: DescribePoint) -> None:
    """Raise where points that must be together must also be apart."""
    group = np.full(len(codes), -1)
    for k, points in enumerate(together):
        group[points] = k
        known = points[codes[points] >= 0]
        other = known[codes[known] != codes[known[:1]]]
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


def _require_runs(groups: list[Ints], order: Ints, describe: DescribePoint) -> None:
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


def _build_constraint_tree(groups: list[Ints], n: int, describe: DescribePoint) -> MultiTree:
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


def groups_of(clusters: Groups | Tree | MultiTree) -> Groups:
    """Return the leaves of each cluster."""
    if isinstance(clusters, MultiTree):
        n, children = clusters.n_leaves, clusters.children()
        return [list(leaves_below(n + k, n, children)) for k in range(len(children))]
    if not isinstance(clusters, Tree):
        return clusters
    order, n = clusters.leaf_order(), clusters.n_leaves
    runs = zip(clusters._first[n:], clusters.sizes[n:], strict=True)
    return [order[begin : begin + size].tolist() for begin, size in runs]


def leaves_below(v: int, n: int, children: list[list[int]]) -> Iterator[int]:
    """Yield the leaves below node v of a tree of n leaves; ``children`` are those of inner nodes."""
    waiting = [v]
    while waiting:
        u = waiting.pop()
        if u < n:
            yield u
        else:
            waiting += children[u - n]


def _renumber(groups: Groups, number: Ints) -> list[list[int]]:
    """Return the groups without points whose number is negative; groups of which none is left are dropped."""
    kept = ([int(number[point]) for point in group if number[point] >= 0] for group in groups)
    return [group for group in kept if group]
