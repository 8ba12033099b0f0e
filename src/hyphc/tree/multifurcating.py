"""Trees whose nodes may have more than two children: consensus trees, and trees without splits of low support."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import parents_of
from .._runtime.arrays import Floats, Ints
from . import newick
from .core import Tree, TreeLike, as_tree
from .validation import check_finite_heights, check_names, check_support, given

__all__ = ["MultiTree", "collapsed"]


class MultiTree:
    """A rooted tree whose inner nodes have two or more children: immutable, and made of arrays.

    Leaves are nodes 0 … n − 1; inner nodes come after their children, the last one is the root.

    Parameters
    ----------
    parents : array of int, shape (m,)
        The node above each node, −1 for the root, which is the last.
    n_leaves : int
    heights : array (m − n,), optional
        Height of each inner node, none below a child's. Default: the rank of the node.
    support : array (m − n,), optional
        Support of each inner node, from 0 to 1.
    names : sequence of str, optional
        Of the leaves.

    Examples
    --------
    >>> MultiTree([4, 4, 4, 5, 5, -1], 4, support=[0.9, 1.0]).to_newick(branch_lengths=False)
    '(3,(0,1,2)0.9);'
    """

    def __init__(
        self,
        parents: npt.ArrayLike,
        n_leaves: int,
        *,
        heights: npt.ArrayLike | None = None,
        support: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.parents, self.n_leaves = np.array(parents, dtype=np.int64), n_leaves
        m = len(self.parents) - n_leaves
        if n_leaves < 1 or m < 0 or (self.parents[:-1] <= np.arange(n_leaves + m - 1)).any() or self.parents[-1] != -1:
            raise ValueError("parents must name a later node for each node but the last, the root, which has -1.")
        counts = np.bincount(self.parents[:-1], minlength=n_leaves + m)
        if (counts[:n_leaves] > 0).any() or (counts[n_leaves:] < 2).any():
            raise ValueError("Leaves have no children, and inner nodes two or more.")
        self.heights = np.arange(1.0, m + 1) if heights is None else check_finite_heights(heights)
        if self.heights.shape != (m,):
            raise ValueError(f"heights must have shape ({m},), one for each inner node; got {self.heights.shape}.")
        above = self.parents[n_leaves:-1] - n_leaves
        if (self.heights[:-1] > self.heights[above]).any():
            raise ValueError("heights must not fall from a node to the one above it.")
        self.support = given(check_support, support, m)
        self.names = given(check_names, names, n_leaves)

    @property
    def n_inner(self) -> int:
        """Number of inner nodes, the root among them: n − 1 where all have two children."""
        return len(self.parents) - self.n_leaves

    def children(self) -> list[list[int]]:
        """Return the children of each inner node."""
        order = np.argsort(self.parents, kind="stable")[1:]  # the root comes first
        ends = np.searchsorted(self.parents[order], np.arange(self.n_leaves, len(self.parents)), side="right")
        return [part.tolist() for part in np.split(order, ends)[: self.n_inner]]

    @classmethod
    def from_newick(cls, text: str) -> MultiTree:
        """Return the tree of one Newick string, read as by ``Tree.from_newick``, with nodes of several children as they are.

        Examples
        --------
        >>> MultiTree.from_newick("((a,b,c)0.9,d);").children()
        [[0, 1, 2], [3, 4]]
        """
        parsed = newick.parse(text)
        merges, heights, names = newick.numbered_merges(parsed)
        n, ends = len(merges) + 1, np.array(parsed.ends, dtype=bool)
        parents = _without(parents_of(merges), np.append(np.ones(n, dtype=bool), ends))
        support = None if parsed.support is None else np.array(parsed.support)[ends]
        return cls(parents, n, heights=None if heights is None else heights[ends], support=support, names=names)

    def to_newick(self, *, branch_lengths: bool = True) -> str:
        """Return Newick text with nodes of several children as they are, and support as labels of inner nodes."""
        names = self.names or tuple(map(str, range(self.n_leaves)))
        labels = None if self.support is None else newick.support_labels(self.support)
        return newick.write(self.children(), self.heights.tolist() if branch_lengths else None, names, labels)

    def to_tree(self) -> Tree:
        """Return a binary tree: children of one node are joined one after the other at its height; a dendrogram shows one bar.

        The last of these merges carries the node's support; of the others nothing is known.
        """
        merges, heights, support, node = [], [], [], list(range(self.n_leaves))
        known = np.ones(self.n_inner) if self.support is None else self.support
        for below, height, sure in zip(self.children(), self.heights, known, strict=True):
            made = node[below[0]]
            for child in below[1:]:
                merges.append((made, node[child]))
                heights.append(height)
                support.append(np.nan)
                made = self.n_leaves + len(merges) - 1
            support[-1] = sure
            node.append(made)
        carried = None if self.support is None else support
        return Tree(np.array(merges, dtype=np.int64).reshape(-1, 2), heights, self.names, support=carried)

    def __repr__(self) -> str:
        return f"MultiTree(n_leaves={self.n_leaves}, n_inner={self.n_inner})"


def collapsed(tree: TreeLike, threshold: float, support: npt.ArrayLike | None = None) -> MultiTree:
    """Return the tree without the clusters whose support is below a threshold; their children move up to the next node kept.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    threshold : float
        Clusters with less are left out, and those of which nothing is known (NaN). The root stays.
    support : array (n − 1,), optional
        Of each merge, for instance ``support(...).share``. Default: what the tree carries.

    Notes
    -----
    O(n log n) for trees of any shape.

    Examples
    --------
    >>> collapsed(Tree([[0, 1], [4, 2], [5, 3]]), 0.5, [0.2, 0.9, 1.0]).to_newick(branch_lengths=False)
    '(3,(0,1,2)0.9);'
    """
    tree = as_tree(tree)
    n, values = tree.n_leaves, _support_of(tree, support)
    kept = np.append(np.ones(n, dtype=bool), values >= threshold)
    kept[-1] = True
    inner = kept[n:]
    parents = _without(tree.parents, kept)
    return MultiTree(parents, n, heights=tree.heights[inner], support=values[inner], names=tree.names)


def _without(parents: Ints, kept: npt.NDArray[np.bool_]) -> Ints:
    """Return the parents of the nodes that are kept, renumbered; a parent that is not kept is replaced by the next one above."""
    above = np.where(kept, np.arange(len(parents)), parents)
    while not kept[above].all():
        above = above[above]
    number = np.cumsum(kept) - 1
    return np.append(number[above[parents[kept][:-1]]], -1)


def _support_of(tree: Tree, support: npt.ArrayLike | None) -> Floats:
    values = tree.support if support is None else np.asarray(support, dtype=np.float64)
    if values is None:
        raise ValueError("The tree carries no support; pass that of each merge, as hyphc.support finds it.")
    if values.shape != (tree.n_leaves - 1,):
        raise ValueError(f"support must have shape ({tree.n_leaves - 1},), one for each merge; got {values.shape}.")
    return values


def ascending(parents: Ints, n: int, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the parents with inner nodes renumbered by size, so after their children, and the old number of each node."""
    order = np.concatenate([np.arange(n), n + np.argsort(sizes, kind="stable")])
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    above = parents[order]
    return np.where(above < 0, -1, number[above]), order
