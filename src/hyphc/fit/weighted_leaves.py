"""Weighted leaves: duplicates as one leaf, coarse trees over groups, and their expansion to all points.

A leaf of size s carries s points: its row is the sum of their rows, its similarity to another leaf the sum over all pairs. The
cost of a tree of groups then differs from that of the same tree with the groups expanded only by what lies inside the groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import largest_below
from .._runtime.arrays import Ints
from .._runtime.duplicate_rows import group_equal_rows
from ..similarity import Blend, Similarity, SimilarityLike, check_similarity
from ..similarity.group_sums import indicator
from ..similarity.metric_base import with_weights
from ..tree import Tree, TreeLike, as_tree

__all__ = ["collapsed", "expanded", "grouped", "twins", "weighted"]


def weighted(similarity: SimilarityLike, weights: npt.ArrayLike) -> Similarity:
    """Return the similarity with leaf i ``weights[i]`` times: weights_i·weights_j·w_ij, and sizes weights_i·sizes_i.

    Examples
    --------
    >>> weighted([[0, 3], [3, 0]], [1, 2]).to_dense()
    array([[0., 6.],
           [6., 0.]])
    """
    return with_weights(check_similarity(similarity), weights)


def grouped(similarity: SimilarityLike, groups: npt.ArrayLike) -> Similarity:
    """Return the similarity of groups, one weighted leaf each, for a coarse tree over clusters.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix of n points
    groups : array (n,) of int
        The group of each point, 0 … g − 1, none empty.

    Examples
    --------
    >>> coarse = grouped([[0, 5, 1], [5, 0, 2], [1, 2, 0]], [0, 0, 1])
    >>> coarse.to_dense(), coarse.sizes
    (array([[0., 3.],
           [3., 0.]]), array([2., 1.]))
    """
    similarity, members = check_similarity(similarity), _check_groups(groups)
    if len(members) != similarity.n:
        raise ValueError(f"{similarity.n} points need as many group numbers; got {len(members)}.")
    mix = indicator(members)
    return similarity.combined(mix, np.asarray(mix @ similarity.sizes))


def expanded(tree: TreeLike, groups: npt.ArrayLike, parts: Sequence[TreeLike] | None = None) -> Tree:
    """Return the tree of all points from a tree of their groups.

    Parameters
    ----------
    tree : Tree or linkage matrix of g groups
    groups : array (n,) of int
        The group of each point, as in ``grouped``.
    parts : sequence of g trees, optional
        parts[k] has the points of group k as its leaves, in ascending order. By default groups become balanced subtrees.

    Examples
    --------
    >>> expanded(Tree([[0, 1]]), [0, 1, 0]).children
    array([[0, 2],
           [3, 1]])
    """
    tree, members = as_tree(tree), _check_groups(groups)
    if int(members.max()) + 1 != tree.n_leaves:
        raise ValueError(f"The tree has {tree.n_leaves} leaves but there are {int(members.max()) + 1} groups.")
    inside, tops = balanced(members) if parts is None else _assembled(members, [as_tree(part) for part in parts])
    number = np.concatenate([tops, len(members) + len(inside) + np.arange(tree.n_leaves - 1)])
    return Tree(np.concatenate([inside, number[tree.children]]))


def balanced(members: Ints) -> tuple[Ints, Ints]:
    """Return merges that join the points of each group to a balanced tree, and the node of each group."""
    order = np.argsort(members, kind="stable")
    nodes, group, merges, n_nodes = order, members[order], [np.empty((0, 2), dtype=np.int64)], len(members)
    while len(nodes) > group[-1] + 1:
        starts = np.searchsorted(group, np.arange(group[-1] + 1))
        first = (np.arange(len(nodes)) - starts[group]) % 2 == 0
        paired = first & np.append(group[1:] == group[:-1], False)
        left = np.flatnonzero(paired)
        merges.append(np.column_stack([nodes[left], nodes[left + 1]]))
        nodes[left] = n_nodes + np.arange(len(left))
        n_nodes += len(left)
        nodes, group = nodes[first], group[first]
    return np.concatenate(merges), nodes


def collapsed(tree: TreeLike, groups: npt.ArrayLike) -> Tree:
    """Return the tree of groups that are subtrees: the inverse of ``expanded``.

    Examples
    --------
    >>> collapsed(Tree([[0, 2], [3, 1]]), [0, 1, 0]).children
    array([[0, 1]])
    """
    tree, members = as_tree(tree), _check_groups(groups)
    inside = clusters_of_nodes(tree, members)
    n_groups = int(members.max()) + 1
    above = np.flatnonzero(inside < 0)
    if len(above) != n_groups - 1:
        raise ValueError(
            f"{n_groups} groups that are subtrees have {n_groups - 1} merges above them, not {len(above)}."
        )
    number = inside.copy()
    number[above] = n_groups + np.arange(len(above))
    return Tree(number[tree.children[above - tree.n_leaves]])


def clusters_of_nodes(tree: Tree, labels: Ints) -> Ints:
    """Return the cluster that all leaves below each node belong to, −1 where they belong to several: (2n − 1,)."""
    codes = labels.astype(np.float64)
    highest, lowest = largest_below(tree._children, codes), -largest_below(tree._children, -codes)
    return np.where(highest == lowest, highest, -1.0).astype(np.int64)


def _assembled(members: Ints, parts: list[Tree]) -> tuple[Ints, Ints]:
    """Return the merges of all parts, and the node of each group."""
    counts = np.bincount(members)
    if [part.n_leaves for part in parts] != counts.tolist():
        raise ValueError(f"parts must have {counts.tolist()} leaves; got {[part.n_leaves for part in parts]}.")
    order = np.argsort(members, kind="stable")
    merges, tops, n_nodes, begin = [np.empty((0, 2), dtype=np.int64)], [], len(members), 0
    for part in parts:
        m = part.n_leaves
        number = np.concatenate([order[begin : begin + m], n_nodes + np.arange(m - 1)])
        merges.append(number[part.children])
        tops.append(number[-1])
        n_nodes, begin = n_nodes + m - 1, begin + m
    return np.concatenate(merges), np.array(tops)


def twins(similarity: Similarity) -> Ints | None:
    """Return group numbers (n,) of points that some optimal tree keeps together; None if there are none.

    Twins have the same similarity to every third point, and none is more similar to either than they are to each other. Some
    optimal tree keeps them together: of two copies in different positions, move both to one or both to the other; triplets
    with both copies do not get worse, and the others change by amounts that add up to 0.
    """
    if isinstance(similarity, Blend) and group_equal_rows(similarity.background.signatures(), similarity.n) is None:
        return None  # twins of a blend are twins of both parts, and most rows differ
    return group_equal_rows(similarity.signatures(), similarity.n)


def _check_groups(groups: npt.ArrayLike) -> Ints:
    members = np.asarray(groups)
    if members.ndim != 1 or len(members) == 0 or members.dtype.kind not in "iu":
        raise ValueError("groups must be a one-dimensional array of group numbers 0, 1, …")
    present = np.bincount(members) if members.min() >= 0 else np.zeros(1)
    if not present.all():
        raise ValueError(
            "groups must use each of the numbers 0 to its largest; np.unique(..., return_inverse=True) does."
        )
    return members.astype(np.int64)
