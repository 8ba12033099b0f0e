"""What is known beforehand: points that belong together, points that do not, clusters that the tree must have.

Clusters that must appear split the problem exactly: C = Σ_v |v|·x(v), and what is inside a cluster costs the same wherever it
hangs. So each of them is a problem of its own, whose leaves are its points and the clusters within it, these as weighted leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .._shared.arrays import Ints
from ..similarity import Similarity
from ..tree import Tree
from ..tree.multi import MultiTree
from .grouping import grouped

__all__ = ["Constraints"]

Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a tree and its flat clusters must respect; points are rows of X, counted from 0.

    Parameters
    ----------
    must_link : sequence of groups of points
        Each group is a cluster of the tree, and in one flat cluster. Groups that share a point are one group.
    cannot_link : sequence of pairs of points
        Never in the same flat cluster. The tree itself is not bound by them: any two points are apart further down.
    clusters : sequence of groups of points, or Tree
        A constraint tree: each group is a cluster of the tree; cuts may go through it. Two groups are disjoint, or one is in
        the other. Of a Tree, all its clusters.
    classes : array (n,), optional
        Known classes of some points, numbers or strings; −1, None, NaN or "" where nothing is known. Points of different classes
        are never in the same flat cluster.

    Examples
    --------
    >>> from hyphc import HypHC
    >>> X = [[0.0], [1.0], [2.0], [9.0], [10.0]]
    >>> known = Constraints(must_link=[[0, 4]], cannot_link=[(1, 2)])
    >>> HypHC(constraints=known, random_state=0).fit(X).labels_[[0, 4]]
    array([0, 0])
    """

    must_link: Groups = ()
    cannot_link: Sequence[tuple[int, int]] = ()
    clusters: Groups | Tree = ()
    classes: npt.ArrayLike | None = None

    def of(self, n: int) -> Known:
        """As they concern n points; contradictions and points that do not exist are named."""
        together = _united(_checked(self.must_link, n, "must_link"), n)
        given = _clusters_of(self.clusters) if isinstance(self.clusters, Tree) else self.clusters
        groups = [*together, *_checked(given, n, "clusters")]
        pairs = np.array(_checked(self.cannot_link, n, "cannot_link"), dtype=np.int64).reshape(-1, 2)
        codes = _codes(self.classes, n)
        _require_apart(together, pairs, codes)
        return Known(_family(groups, n), together, pairs, codes)

    def among(self, points: Ints, n: int) -> Constraints:
        """The same of some of n points, numbered as they are listed."""
        number = np.full(n, -1)
        number[points] = np.arange(len(points))
        given = _clusters_of(self.clusters) if isinstance(self.clusters, Tree) else self.clusters
        pairs = [pair for pair in _renumbered(self.cannot_link, number) if len(pair) == 2]
        return Constraints(
            _renumbered(self.must_link, number),
            [(one, two) for one, two in pairs],
            _renumbered(given, number),
            None if self.classes is None else np.asarray(self.classes)[points],
        )


@dataclass(frozen=True, eq=False)
class Known:
    """Constraints of n points: the clusters that must appear as a tree, the groups that stay together, the pairs that are kept
    apart, and the class of each point, −1 where it is unknown."""

    family: MultiTree
    together: list[Ints]
    apart: Ints
    classes: Ints


def within(known: Known, similarity: Similarity, solve: Callable[[Similarity], Tree]) -> Tree:
    """The best tree that has all required clusters, if ``solve`` finds the best tree of a similarity."""
    n, children = similarity.n, known.family.children()
    merges: list[list[int]] = []
    node = list(range(n))
    for below in children:
        part = Tree([[0, 1]]) if len(below) == 2 else solve(_problem(similarity, below, children))
        number = [node[v] for v in below]
        for one, two in part.children.tolist():
            merges.append([number[one], number[two]])
            number.append(n + len(merges) - 1)
        node.append(number[-1])
    return Tree(np.array(merges, dtype=np.int64).reshape(-1, 2))


def _problem(similarity: Similarity, below: list[int], children: list[list[int]]) -> Similarity:
    """The leaves and clusters directly below a required cluster, each cluster as one weighted leaf."""
    n = similarity.n
    points = [list(_leaves(v, n, children)) for v in below]
    groups = np.repeat(np.arange(len(below)), [len(part) for part in points])
    few = similarity.subset(np.concatenate(points))
    return few if len(groups) == len(below) else grouped(few, groups)


def _leaves(v: int, n: int, children: list[list[int]]) -> Iterator[int]:
    waiting = [v]
    while waiting:
        u = waiting.pop()
        if u < n:
            yield u
        else:
            waiting += children[u - n]


def _family(groups: list[Ints], n: int) -> MultiTree:
    """The groups as a tree. From the largest down, all points of a group lie in the same group so far, or two contradict."""
    distinct = {tuple(sorted(group.tolist())) for group in groups}
    ordered = sorted((group for group in distinct if 1 < len(group) < n), key=lambda group: (-len(group), group))
    owner, above = np.full(n, -1), []
    for k, group in enumerate(ordered):
        owners = owner[list(group)]
        if (owners != owners[0]).any():
            raise ValueError(_contradiction(ordered, group, owners))
        above.append(int(owners[0]))
        owner[list(group)] = k
    if n == 1:
        return MultiTree([-1], 1)
    root, parents = n + len(ordered), np.append(owner, np.array(above[::-1], dtype=np.int64))
    numbered = np.where(parents < 0, root, root - 1 - parents)  # the smallest come first
    return MultiTree(np.append(numbered, -1), n)


def _contradiction(ordered: list[tuple[int, ...]], group: tuple[int, ...], owners: Ints) -> str:
    other = ordered[int(owners.max())]
    shared, alone = (sorted(points)[0] for points in (set(group) & set(other), set(group) - set(other)))
    missing = min(set(other) - set(group))
    return (
        f"Two groups contradict each other: both have point {shared}, only one has point {alone} and only the other point "
        f"{missing}. Clusters of a tree are disjoint, or one is in the other."
    )


def _require_apart(together: list[Ints], pairs: Ints, codes: Ints) -> None:
    """Raise where points that must be together must also be apart."""
    group = np.full(len(codes), -1)
    for k, points in enumerate(together):
        group[points] = k
        known = points[codes[points] >= 0]
        other = known[codes[known] != codes[known[:1]]] if len(known) else known
        if len(other):
            raise ValueError(
                f"Points {known[0]} and {other[0]} must be together by must_link but are of different classes."
            )
    both = pairs[(group[pairs[:, 0]] >= 0) & (group[pairs[:, 0]] == group[pairs[:, 1]])]
    if len(both):
        one, two = both[0].tolist()
        raise ValueError(f"Points {one} and {two} must be together by must_link and apart by cannot_link.")


def _united(groups: list[Ints], n: int) -> list[Ints]:
    """Groups that share a point are one."""
    if not groups:
        return []
    points, which = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    ends = (np.concatenate([points, n + which]), np.concatenate([n + which, points]))
    _, part = connected_components(csr_array((np.ones(len(ends[0])), ends), shape=(n + len(groups),) * 2))
    return [np.flatnonzero(part[:n] == k) for k in np.unique(part[n:])]


def _checked(groups: Any, n: int, name: str) -> list[Ints]:
    checked = []
    for k, group in enumerate(groups):
        points = np.asarray(group)
        if points.ndim != 1 or points.dtype.kind not in "iu" or len(points) < 1:
            raise ValueError(f"{name}[{k}] must be row numbers, as [0, 3]; got {group!r}.")
        wrong = points[(points < 0) | (points >= n)]
        if len(wrong):
            raise ValueError(f"{name}[{k}] has point {wrong[0]}; points are 0 to {n - 1}.")
        if name == "cannot_link" and (len(points) != 2 or points[0] == points[1]):
            raise ValueError(f"cannot_link[{k}] must be two different points; got {points.tolist()}.")
        checked.append(np.unique(points) if name != "cannot_link" else points.astype(np.int64))
    return checked


def _codes(classes: npt.ArrayLike | None, n: int) -> Ints:
    """A number for each point's class, −1 where it is unknown."""
    if classes is None:
        return np.full(n, -1)
    values = np.asarray(classes, dtype=object)
    if values.shape != (n,):
        raise ValueError(f"classes must have shape ({n},), one for each point; got {values.shape}.")
    unknown = np.array([value is None or value != value or value in (-1, "") for value in values.tolist()], dtype=bool)
    codes = np.full(n, -1)
    codes[~unknown] = np.unique(values[~unknown].astype(str), return_inverse=True)[1]
    return codes


def _clusters_of(tree: Tree) -> list[list[int]]:
    order = tree.leaf_order()
    runs = zip(tree._first[tree.n_leaves :].tolist(), tree.sizes[tree.n_leaves :].tolist(), strict=True)
    return [order[begin : begin + size].tolist() for begin, size in runs]


def _renumbered(groups: Any, number: Ints) -> list[list[int]]:
    """The groups without points that are not there; those of which none is left are dropped."""
    kept = ([int(number[point]) for point in group if number[point] >= 0] for group in groups)
    return [group for group in kept if group]
