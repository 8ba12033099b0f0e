"""What is known beforehand: points that belong together, points that do not, clusters that the tree must have, an order.

Clusters that must appear split the problem exactly: C = Σ_v |v|·x(v), and what is inside a cluster costs the same wherever it
hangs. So each of them is a problem of its own, whose leaves are its points and the clusters within it, these as weighted leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Ints
from .._runtime.progress import Progress
from ..similarity import Similarity
from ..tree import Tree
from ..tree.multifurcating import MultiTree
from .constraint_conflicts import (
    Called,
    by_number,
    checked_groups,
    checked_order,
    class_codes,
    family_of,
    require_apart,
    require_runs,
    united,
)
from .weighted_leaves import grouped

__all__ = ["Constraints"]

Groups = Sequence[Sequence[int]]
# Finds the best tree of a similarity; told which of the problems it is, of how many, and how its tree fits into the whole one.
Solve = Callable[[Similarity, "Part"], Tree]


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a tree and its flat clusters must respect; points are rows of X, counted from 0.

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

    def of(self, n: int, called: Called = by_number) -> Known:
        """As they concern n points; contradictions and points that do not exist are named, as ``called`` names points."""
        together = united(checked_groups(self.must_link, n, "must_link"), n)
        clusters = [*together, *checked_groups(groups_of(self.clusters), n, "clusters")]
        apart, codes = checked_groups(self.cannot_link, n, "cannot_link"), class_codes(self.classes, n)
        require_apart(together, apart, codes, called)
        order = checked_order(self.order, n)
        if order is not None:
            require_runs(clusters, order, called)
        return Known(family_of(clusters, n, called), together, apart, codes, order)

    def among(self, points: Ints, n: int) -> Constraints:
        """The same of some of n points, numbered as they are listed."""
        number = np.full(n, -1)
        number[points] = np.arange(len(points))
        return Constraints(
            _renumbered(self.must_link, number),
            [group for group in _renumbered(self.cannot_link, number) if len(group) > 1],
            _renumbered(groups_of(self.clusters), number),
            None if self.classes is None else np.asarray(self.classes, dtype=object)[points],
            None if self.order is None else np.asarray(self.order)[points],
        )

    def grown(self, n: int) -> Constraints:
        """The same where points were added, of which nothing is known; an order cannot do without their places."""
        if self.order is not None and len(np.asarray(self.order)) < n:
            raise ValueError("The order of new points is not known; fit all points with an order of all.")
        if self.classes is None:
            return self
        classes = list(np.asarray(self.classes, dtype=object))
        return Constraints(self.must_link, self.cannot_link, self.clusters, [*classes, *[None] * (n - len(classes))])


@dataclass(frozen=True, eq=False)
class Known:
    """Constraints of n points: the clusters that must appear as a tree, the groups that stay together, the groups that are kept
    apart, the class of each point, −1 where it is unknown, and the place of each point in the order, if there is one."""

    family: MultiTree
    together: list[Ints]
    apart: list[Ints]
    classes: Ints
    order: Ints | None

    @property
    def fewest(self) -> int:
        """No tree can be cut into fewer clusters."""
        return max(1, len(np.unique(self.classes[self.classes >= 0])), *(len(group) for group in self.apart))

    @property
    def most(self) -> int:
        """No tree can be cut into more clusters."""
        return self.family.n_leaves - sum(len(group) - 1 for group in self.together)

    def require_possible(self, n_clusters: int) -> None:
        """Raise for a number of clusters that no tree allows; the tree that is found may allow fewer still."""
        if not self.fewest <= n_clusters <= self.most:
            raise ValueError(
                f"n_clusters={n_clusters} contradicts the constraints, which allow {self.fewest} to {self.most} clusters at the "
                "most; choose one of these."
            )

    @property
    def words(self) -> str:
        """What the plan says of them."""
        n_inner = max(0, self.family.n_inner - 1)
        required = f"within {n_inner} required cluster{'s' * (n_inner != 1)}" if n_inner else ""
        return ", ".join(filter(None, [required, "" if self.order is None else "in the given order, exactly"]))


@dataclass(frozen=True, eq=False)
class Part:
    """One of the problems into which required clusters split a fit: its number from 1, of how many that are to be solved, its
    share of the points that are still to be placed, and how a tree of it makes a tree of all points."""

    number: int
    count: int
    share: float
    whole: Callable[[Tree], Tree]

    def retold(self, news: Progress) -> Progress:
        """News of the part as news of the whole; what the continuous stage says of positions is left out."""
        stage = f"cluster {self.number} of {self.count}: {news.stage}" if self.count > 1 else news.stage
        return Progress(stage, news.cost, news.seconds, lambda: self.whole(news.tree()), (self.number - 1) / self.count)


def within(known: Known, similarity: Similarity, solve: Solve) -> Tree:
    """The best tree that has all required clusters, if ``solve`` finds the best tree of a similarity.

    With an order, the leaves of each problem come in it.
    """
    n, children = similarity.n, _ordered(known)
    parts = [_chain(len(below)) for below in children]
    to_solve = [k for k, below in enumerate(children) if len(below) > 2]
    left = sum(len(children[k]) for k in to_solve)
    for number, k in enumerate(to_solve):

        def whole(part: Tree, k: int = k) -> Tree:
            return _assembled(n, children, [*parts[:k], part, *parts[k + 1 :]])

        part = Part(number + 1, len(to_solve), len(children[k]) / left, whole)
        parts[k] = solve(_problem(similarity, children, k), part)
        left -= len(children[k])
    return _assembled(n, children, parts)


def _ordered(known: Known) -> list[list[int]]:
    """The children of each required cluster; in their order, if there is one."""
    children = known.family.children()
    if known.order is None:
        return children
    place = known.order.tolist()
    for below in children:
        below.sort(key=place.__getitem__)
        place.append(place[below[0]])
    return children


def _chain(m: int) -> Tree:
    """Some tree of m leaves: one after the other."""
    return Tree(np.array([[m + t - 1 if t else 0, t + 1] for t in range(m - 1)], dtype=np.int64).reshape(-1, 2))


def _assembled(n: int, children: list[list[int]], parts: list[Tree]) -> Tree:
    """The tree of all points from the trees of what is directly below each required cluster."""
    merges: list[list[int]] = []
    node = list(range(n))
    for below, part in zip(children, parts, strict=True):
        number = [node[v] for v in below]
        for one, two in part.children.tolist():
            merges.append([number[one], number[two]])
            number.append(n + len(merges) - 1)
        node.append(number[-1])
    return Tree(np.array(merges, dtype=np.int64).reshape(-1, 2))


def _problem(similarity: Similarity, children: list[list[int]], k: int) -> Similarity:
    """The leaves and clusters directly below required cluster k, each cluster as one weighted leaf."""
    below = children[k]
    points = [list(_leaves(v, similarity.n, children)) for v in below]
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


def groups_of(clusters: Groups | Tree | MultiTree) -> Groups:
    """The leaves of each cluster."""
    if isinstance(clusters, MultiTree):
        children = clusters.children()
        n = clusters.n_leaves
        return [list(_leaves(n + k, n, children)) for k in range(len(children))]
    if not isinstance(clusters, Tree):
        return clusters
    order = clusters.leaf_order()
    runs = zip(clusters._first[clusters.n_leaves :], clusters.sizes[clusters.n_leaves :], strict=True)
    return [order[begin : begin + size].tolist() for begin, size in runs]


def _renumbered(groups: Groups, number: Ints) -> list[list[int]]:
    """The groups without points that are not there; those of which none is left are dropped."""
    kept = ([int(number[point]) for point in group if number[point] >= 0] for group in groups)
    return [group for group in kept if group]
