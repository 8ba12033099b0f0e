"""Condensed trees: merges of two groups that are large enough are splits, at others the smaller side falls out.

Flat clusters are the groups below the k − 1 highest splits. Points that fell out above them join the group that their larger
sibling leads to. This is the method of HDBSCAN (Campello, Moulavi & Sander 2013), for any tree and any number of clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._kernels.tree import condense as kernels
from .._kernels.tree.passes import subtree_sums, sums_of_merges
from .._runtime.arrays import Floats, Ints

if TYPE_CHECKING:
    import networkx
    import pandas

    from .core import Tree

Bools = npt.NDArray[np.bool_]

# Without ``min_size`` a group has at least this share of all points, and at least so many.
MIN_SHARE, MIN_POINTS = 0.01, 3
# A smaller group counts as well if it has at least so many points and at most this share of its weight leads out of it.
ISOLATED_POINTS, ISOLATED_WEIGHT = 5, 0.02
# Sizes may be fractions; their sums miss a whole number by this share at the most.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FlatClusters:
    """Flat clusters: the label of each leaf, the node at the core of each cluster, and which leaves fell out above their core."""

    labels: Ints
    nodes: Ints
    joined: Bools


@dataclass(frozen=True, eq=False, repr=False)
class CondensedTree:
    """A tree of groups, each of which loses single points until it splits or ends.

    Attributes
    ----------
    tree : Tree
    min_size : float or None
        Points that each side of a split has at least; None: the default, see ``Tree.condense``.
    splits : array of int
        The merges that are splits, ascending, so that the last are the highest.
    cluster : array (2n − 1,)
        The group that each leaf falls out of, and that each node belongs to, as the node of ``tree`` that is the group's top.
    leaving_height : array (n,)
        The height at which the leaf falls out; 0 for a tree of one leaf.
    """

    tree: Tree
    min_size: float | None
    splits: Ints
    cluster: Ints
    leaving_height: Floats

    def cut(self, n_clusters: int) -> Ints:
        """Return a label for each leaf, (n,): the groups below the highest splits, numbered in order of their smallest leaf.

        Points that fell out above these splits join the group that their larger sibling leads to, so cuts into more and more
        clusters are nested. Without a ``min_size`` the size is lowered where there are fewer splits than asked for.

        Examples
        --------
        >>> from hyphc import Tree
        >>> tree = Tree([[0, 1], [2, 3], [5, 6], [7, 4]], heights=[1.0, 1.0, 3.0, 4.0])
        >>> tree.condense(min_size=2).cut(2), tree.cut(2, criterion="height")
        (array([0, 0, 1, 1, 0]), array([0, 0, 0, 0, 1]))
        """
        order = split_order(self.tree, self.min_size)
        if not 1 <= n_clusters <= len(order) + 1:
            raise ValueError(
                f"n_clusters={n_clusters} is not between 1 and {len(order) + 1}, the groups that the condensed tree can be cut "
                "into; choose one that is, or a smaller min_size."
            )
        return undo(self.tree, order[: n_clusters - 1]).labels

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row for each group and each leaf: ``parent``, ``child``, ``height`` at which they part, ``child_size``.

        Groups are the nodes of ``tree`` at their tops, leaves are 0 … n − 1.
        """
        import pandas

        return pandas.DataFrame(self._rows())

    def to_networkx(self) -> networkx.DiGraph:
        """Return a graph with an edge, of a ``height``, from each group to what leaves it; nodes have a ``size``."""
        import networkx

        rows = self._rows()
        graph = networkx.DiGraph()
        root = 2 * self.tree.n_leaves - 2
        graph.add_node(root, size=float(self.tree._points[root]))
        for parent, child, height, size in zip(*(rows[name].tolist() for name in rows), strict=True):
            graph.add_node(child, size=size)
            graph.add_edge(parent, child, height=height)
        return graph

    def groups(self) -> tuple[Ints, Ints, Floats]:
        """Return the groups below the root, the group that each leaves, and the height at which it does, from the top down."""
        top_down = self.splits[::-1]
        child = self.tree._children[top_down].ravel()
        parent = self.cluster[self.tree.n_leaves + top_down]
        return child, np.repeat(parent, 2), np.repeat(self.tree._heights[top_down], 2)

    def _rows(self) -> dict[str, npt.NDArray[Any]]:
        child, parent, height = self.groups()
        n = self.tree.n_leaves
        leaves = np.arange(n) if n > 1 else np.empty(0, dtype=np.int64)
        everyone = np.append(child, leaves)
        return {
            "parent": np.append(parent, self.cluster[leaves]),
            "child": everyone,
            "height": np.append(height, self.leaving_height[leaves]),
            "child_size": self.tree._points[everyone],
        }

    def __repr__(self) -> str:
        size = f"groups of at least {self.min_size:g} points" if self.min_size is not None else "default group size"
        return f"CondensedTree({self.tree.n_leaves} leaves, {len(self.splits)} splits, {size})"


def condense(tree: Tree, min_size: float | None = None) -> CondensedTree:
    """Keep as splits only the merges of two groups that are large enough; at others the smaller side falls out.

    Parameters
    ----------
    min_size : float, optional
        Minimum number of points on each side of a split. By default 1 % of all points, and at least 3; a smaller group of 5
        points or more counts too where at most 2 % of its weight leads out of it, if the tree carries its weights.

    Returns
    -------
    CondensedTree

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> from hyphc import Tree
    >>> tree = Tree([[0, 1], [2, 3], [5, 6], [7, 4]], heights=[1.0, 1.0, 3.0, 4.0])
    >>> condensed = tree.condense(min_size=2)
    >>> condensed.splits, condensed.leaving_height
    (array([2]), array([1., 1., 1., 1., 4.]))
    """
    return condense_at(tree, min_size, is_split(tree, min_size))


def condense_at(tree: Tree, min_size: float | None, splits: Bools) -> CondensedTree:
    """Return the condensed tree with these splits, (n − 1,), and every merge whose smaller side contains one.

    A group ends where no side of a merge has ``min_size`` points or a split below it.
    """
    splits = close_splits(tree._children, tree._points, splits)
    cluster, height = leaving_heights(tree, min_size, splits, np.empty(0, dtype=np.int64))
    return CondensedTree(tree, min_size, np.flatnonzero(splits), cluster, height)


def leaving_heights(tree: Tree, min_size: float | None, splits: Bools, tops: Ints) -> tuple[Ints, Floats]:
    """Return the condensed cluster of each node, (2n − 1,), and the height at which each leaf leaves its own, (n,).

    Clusters begin at the root, at both sides of a split, and at the nodes ``tops``.
    """
    least, is_top = least_points(tree._points, min_size), np.zeros(2 * tree.n_leaves - 1, dtype=np.bool_)
    is_top[tops] = True
    return kernels.leaving_heights(tree._children, tree._points, tree._heights, splits, least, is_top)


def is_split(tree: Tree, min_size: float | None) -> Bools:
    """Return for each merge whether both of its sides are large enough to be groups: (n − 1,)."""
    if min_size is None:
        return default_splits(tree._children, tree._points, tree._split_weights, tree._degrees, tree._leaf_weights)
    return _smaller_sides(tree._children, tree._points) >= least_points(tree._points, min_size)


def default_splits(
    children: Ints, points: Floats, weights: Floats | None, degrees: Floats | None, within: Floats | None = None
) -> Bools:
    """Return ``is_split`` without a ``min_size`` for the arrays of a tree, whose merges may come in any order."""
    splits = _smaller_sides(children, points) >= least_points(points, None)
    if weights is None or degrees is None:
        return splits
    inside, volume = sums_of_merges(children, weights), subtree_sums(children, degrees)
    if within is not None:
        inside, volume = inside + subtree_sums(children, within), volume + subtree_sums(children, 2 * within)
    isolated = (points >= ISOLATED_POINTS) & (volume - 2 * inside <= ISOLATED_WEIGHT * volume)
    smaller = np.where(points[children[:, 0]] < points[children[:, 1]], children[:, 0], children[:, 1])
    splits = (splits | isolated[smaller]) & (inside[children] > 0).all(axis=1)  # points that nothing joins are no group
    return close_splits(children, points, splits)


def close_splits(children: Ints, points: Floats, splits: Bools) -> Bools:
    """Return the splits, and every merge whose smaller side contains one: (n − 1,)."""
    closed = splits.copy()
    kernels.close_splits(children, points, closed, np.zeros(len(points), dtype=np.bool_))
    return closed


def monotone_heights(children: Ints, heights: Floats, splits: Bools) -> Floats:
    """Return heights that never fall towards the root, (n − 1,), with those of the splits changed least.

    A split is raised to the splits below it. Any other merge is raised to the merges below it, but never above the next split:
    an outlier must not hide the order in which the groups around it separate.
    """
    levels = np.full(2 * len(heights) + 1, -np.inf)
    kernels.raise_and_cap(children, heights, splits, levels, levels.copy())
    return levels[len(heights) + 1 :].copy()


def split_order(tree: Tree, min_size: float | None) -> Ints:
    """Return the merges in the order in which cuts into more and more clusters undo them.

    First those that constraints demand, then those that a fit has found, in their turns, then the other splits of the condensed
    tree, the highest first. Without ``min_size`` all others follow, those with the larger smaller side first, as if the size were
    lowered step by step; with it cuts end there. Merges that constraints forbid to undo are left out.
    """
    merges = np.arange(tree.n_leaves - 1)
    smaller, splits = _smaller_sides(tree._children, tree._points), is_split(tree, min_size)
    forced = np.zeros(len(merges), dtype=np.int64) if tree._forced_splits is None else tree._forced_splits
    size = np.where(splits, np.inf, smaller)
    turns = np.zeros(len(merges)) if tree._found_splits is None else tree._found_splits
    turns = np.where((turns > 0) & (splits | (min_size is None)), turns, np.inf)
    order = np.lexsort((-merges, -size, turns, -forced))
    possible = forced[order] >= 0
    if min_size is not None:
        possible &= splits[order] | (forced[order] > 0)
    return np.asarray(order[possible])


def undo(tree: Tree, merges: Ints) -> FlatClusters:
    """Return the flat clusters that are left when these merges are undone, numbered by their smallest leaf.

    At a merge that is kept above one that is undone the smaller side must have no undone merge, as with ``split_order``.
    """
    undone = np.zeros(tree.n_leaves - 1, dtype=np.bool_)
    undone[merges] = True
    n, core = tree.n_leaves, np.arange(2 * tree.n_leaves - 1)
    contains, fell = np.zeros(len(core), dtype=np.bool_), np.zeros(len(core), dtype=np.bool_)
    kernels.assign_leaves(tree._children, tree._points, undone, contains, core, fell)
    nodes, first, labels = np.unique(core[:n], return_index=True, return_inverse=True)
    order = np.argsort(first)
    return FlatClusters(np.argsort(order)[labels], nodes[order], fell[:n].copy())


def least_points(points: Floats, min_size: float | None) -> float:
    """Return how many points a group has at least, less rounding."""
    least = max(MIN_POINTS, MIN_SHARE * float(points[-1])) if min_size is None else min_size
    return least * (1 - ROUNDING)


def _smaller_sides(children: Ints, points: Floats) -> Floats:
    return np.asarray(points[children].min(axis=1, initial=np.inf))
