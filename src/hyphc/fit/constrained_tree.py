"""Trees under constraints: one search below each required cluster, and the merges that every cut must undo or keep.

Required clusters split the search exactly: C = Σ_v |v|·x(v), and the cost inside a cluster does not depend on where the cluster
is in the tree. So each is a search of its own, whose leaves are its points and the clusters within it, these as weighted leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import largest_below, sums_of_merges
from .._runtime.arrays import Ints
from .._runtime.progress import Progress
from ..similarity import Similarity
from ..tree import Tree
from .constraints import ResolvedConstraints, leaves_below
from .weighted_leaves import grouped

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The search below one required cluster.

    Attributes
    ----------
    similarity : Similarity
        Of the children of the cluster; a required cluster among them is one weighted leaf.
    number, count : int
        The number of this subproblem, from 1, and how many there are.
    share : float
        Its share of the leaves that are not yet searched.
    complete : callable
        Maps a tree of these leaves to a tree of all points.
    """

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


def build_constrained_tree(
    constraints: ResolvedConstraints, similarity: Similarity, solve: Callable[[Subproblem], Tree]
) -> Tree:
    """Return the tree with all required clusters: optimal if the trees are that ``solve`` returns for the subproblems.

    There is one for each required cluster of more than two children. With an order, its leaves are in it.
    """
    n, children = similarity.n, _ordered_children(constraints)
    trees = [_chain(len(below)) for below in children]
    sizes = {k: len(below) for k, below in enumerate(children) if len(below) > 2}
    left = sum(sizes.values())

    def complete(k: int, tree: Tree) -> Tree:
        return _assemble(n, children, [*trees[:k], tree, *trees[k + 1 :]])

    for number, (k, size) in enumerate(sizes.items(), start=1):
        few = _below_cluster(similarity, children, k)
        trees[k] = solve(Subproblem(few, number, len(sizes), size / left, partial(complete, k)))
        left -= size
    return _assemble(n, children, trees)


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
    points = [list(leaves_below(v, similarity.n, children)) for v in below]
    groups = np.repeat(np.arange(len(below)), [len(leaves) for leaves in points])
    few = similarity.subset(np.concatenate(points))
    return few if len(groups) == len(below) else grouped(few, groups)


def forced_splits(tree: Tree, constraints: ResolvedConstraints) -> Ints:
    """Return for each merge, (n − 1,): 1 if it joins what must be apart, −1 if it lies in a must-link group, 0 otherwise.

    Cannot-link has priority where both hold, as when new points have joined a group.
    """
    return np.where(
        _violates_cannot_link(tree, constraints), 1, -_lies_in_must_link(tree, constraints).astype(np.int64)
    )


def _violates_cannot_link(tree: Tree, constraints: ResolvedConstraints) -> Bools:
    """Return for each merge whether two of its points must be apart, by a group or by their classes."""
    n = tree.n_leaves
    # a cluster is a run of leaves: if it has two points of a group, it has two that follow each other
    runs = [_in_leaf_order(tree, group) for group in constraints.apart]
    before, after = _concatenate([run[:-1] for run in runs]), _concatenate([run[1:] for run in runs])
    joins = np.asarray(tree.lca(before, after)) - n
    pairs = sums_of_merges(np.array(tree.children), np.bincount(joins, minlength=n - 1).astype(np.float64))
    codes, is_given = constraints.classes.astype(np.float64), constraints.classes >= 0
    highest = largest_below(np.array(tree.children), np.where(is_given, codes, -np.inf))
    lowest = -largest_below(np.array(tree.children), np.where(is_given, -codes, -np.inf))
    return np.asarray((pairs > 0) | (highest > lowest))[n:]


def _lies_in_must_link(tree: Tree, constraints: ResolvedConstraints) -> Bools:
    """Return for each merge whether it lies in the smallest cluster that holds a must-link group.

    It does if such a cluster holds the leaves to both sides of the boundary between its children.
    """
    n, first = tree.n_leaves, tree._first
    runs = [_in_leaf_order(tree, group) for group in constraints.together if len(group) > 1]
    tops = np.asarray(tree.lca(_concatenate([run[:1] for run in runs]), _concatenate([run[-1:] for run in runs])))
    begins = np.bincount(first[tops] + 1, minlength=n + 1)
    ends = np.bincount(first[tops] + tree.sizes[tops], minlength=n + 1)
    covered = np.cumsum(begins - ends) > 0
    return np.asarray(covered[first[tree.children[:, 1]]])


def _in_leaf_order(tree: Tree, points: Ints) -> Ints:
    """Return the points sorted by their position among the leaves."""
    return points[np.argsort(tree._first[points])]


def _concatenate(runs: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *runs])
