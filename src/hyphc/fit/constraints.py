"""Constraints on a tree: must-link, cannot-link, required clusters, classes, an order of the points.

Required clusters split the search exactly: C = Σ_v |v|·x(v), and the cost inside a cluster does not depend on where the cluster
is in the tree. So each is a search of its own, whose leaves are its points and the clusters within it, these as weighted leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Ints
from .._runtime.progress import Progress
from ..similarity import Similarity
from ..tree import Tree
from ..tree.multifurcating import MultiTree
from .constraint_conflicts import (
    DescribePoint,
    build_constraint_tree,
    check_groups,
    check_order,
    describe_by_number,
    encode_classes,
    merge_overlapping,
    require_apart,
    require_runs,
)
from .weighted_leaves import grouped

__all__ = ["Constraints"]

Groups = Sequence[Sequence[int]]


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

    def resolve(self, n: int, describe: DescribePoint = describe_by_number) -> ResolvedConstraints:
        """Return the constraints checked for n points; errors name the points of a contradiction by ``describe``."""
        together = merge_overlapping(check_groups(self.must_link, n, "must_link"), n)
        clusters = [*together, *check_groups(groups_of(self.clusters), n, "clusters")]
        apart, codes = check_groups(self.cannot_link, n, "cannot_link"), encode_classes(self.classes, n)
        require_apart(together, apart, codes, describe)
        order = check_order(self.order, n)
        if order is not None:
            require_runs(clusters, order, describe)
        tree = build_constraint_tree(clusters, n, describe)
        return ResolvedConstraints(tree, together, apart, codes, order)

    def restrict(self, points: Ints, n: int) -> Constraints:
        """Return the constraints of some of n points, which are numbered in the order given."""
        number = np.full(n, -1)
        number[points] = np.arange(len(points))
        return Constraints(
            _renumbered(self.must_link, number),
            [group for group in _renumbered(self.cannot_link, number) if len(group) > 1],
            _renumbered(groups_of(self.clusters), number),
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
        return Constraints(self.must_link, self.cannot_link, self.clusters, [*classes, *[None] * (n - len(classes))])


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

    def require_possible(self, n_clusters: int) -> None:
        """Raise for a number of clusters that no tree allows; the tree that is found may allow fewer still."""
        if not self.min_clusters <= n_clusters <= self.max_clusters:
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


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The search below one required cluster.

    Attributes
    ----------
    cluster : int
        Index of the required cluster, whose children are the leaves.
    similarity : Similarity
        Of these leaves; a required cluster among them is one weighted leaf.
    number, count : int
        The number of this subproblem, from 1, and how many there are.
    share : float
        Its share of the leaves that are not yet searched.
    complete : callable
        Maps a tree of these leaves to a tree of all points.
    """

    cluster: int
    similarity: Similarity
    number: int
    count: int
    share: float
    complete: Callable[[Tree], Tree]

    def translate_progress(self, progress: Progress) -> Progress:
        """Return progress of the subproblem as progress of the fit, without positions of the continuous stage."""
        stage = f"cluster {self.number} of {self.count}: {progress.stage}" if self.count > 1 else progress.stage
        done = (self.number - 1) / self.count
        return Progress(stage, progress.cost, progress.seconds, lambda: self.complete(progress.tree()), done)


class ConstrainedTree:
    """The tree with all required clusters, assembled from a tree for each: optimal if each of these is.

    Parameters
    ----------
    constraints : ResolvedConstraints
        With an order, the leaves of each subproblem are in it.
    similarity : Similarity
        Of all n points.
    """

    def __init__(self, constraints: ResolvedConstraints, similarity: Similarity) -> None:
        self._similarity, self._children = similarity, _ordered_children(constraints)
        self._trees = [_chain(len(below)) for below in self._children]

    def subproblems(self) -> Iterator[Subproblem]:
        """Yield the searches below each required cluster of more than two children; set the tree of each before the next."""
        sizes = {k: len(below) for k, below in enumerate(self._children) if len(below) > 2}
        left = sum(sizes.values())
        for number, (k, size) in enumerate(sizes.items(), start=1):
            similarity = _below_cluster(self._similarity, self._children, k)
            yield Subproblem(k, similarity, number, len(sizes), size / left, partial(self._assemble_with, k))
            left -= size

    def set_tree(self, subproblem: Subproblem, tree: Tree) -> None:
        """Store the tree that was found for a subproblem."""
        self._trees[subproblem.cluster] = tree

    def assemble(self) -> Tree:
        """Return the tree of all points."""
        return _assemble(self._similarity.n, self._children, self._trees)

    def _assemble_with(self, k: int, tree: Tree) -> Tree:
        return _assemble(self._similarity.n, self._children, [*self._trees[:k], tree, *self._trees[k + 1 :]])


def _ordered_children(constraints: ResolvedConstraints) -> list[list[int]]:
    """Return the children of each required cluster, in the order of the constraints if they have one."""
    children = constraints.constraint_tree.children()
    if constraints.order is None:
        return children
    place = constraints.order.tolist()
    for below in children:
        below.sort(key=place.__getitem__)
        place.append(place[below[0]])
    return children


def _chain(m: int) -> Tree:
    """Return the caterpillar tree of m leaves."""
    return Tree(np.array([[m + t - 1 if t else 0, t + 1] for t in range(m - 1)], dtype=np.int64).reshape(-1, 2))


def _assemble(n: int, children: list[list[int]], trees: list[Tree]) -> Tree:
    """Return the tree of all points from a tree of the children of each required cluster."""
    merges: list[list[int]] = []
    node = list(range(n))
    for below, tree in zip(children, trees, strict=True):
        number = [node[v] for v in below]
        for one, two in tree.children.tolist():
            merges.append([number[one], number[two]])
            number.append(n + len(merges) - 1)
        node.append(number[-1])
    return Tree(np.array(merges, dtype=np.int64).reshape(-1, 2))


def _below_cluster(similarity: Similarity, children: list[list[int]], k: int) -> Similarity:
    """Return the similarity of the children of required cluster k, each child of several points as one weighted leaf."""
    below = children[k]
    points = [list(_leaves(v, similarity.n, children)) for v in below]
    groups = np.repeat(np.arange(len(below)), [len(leaves) for leaves in points])
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
    """Return the leaves of each cluster."""
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
    """Return the groups without points whose number is negative; groups of which none is left are dropped."""
    kept = ([int(number[point]) for point in group if number[point] >= 0] for group in groups)
    return [group for group in kept if group]
