"""The top of a tree: disjoint subtrees as leaves, each counted by its points."""

from __future__ import annotations

import numpy as np

from .._runtime.arrays import Ints
from .core import Tree
from .transfer_distance import restricted


def tree_above(tree: Tree, nodes: Ints) -> tuple[Tree, Ints]:
    """Return the tree that joins disjoint subtrees, and which merge of the whole each of its merges is. O(n).

    Leaf i stands for the points below ``nodes[i]``. Merges keep their heights; points outside the subtrees are left out.

    Examples
    --------
    >>> whole = Tree([[0, 1], [2, 3], [4, 5]], heights=[1.0, 2.0, 5.0])
    >>> top, merges = tree_above(whole, np.array([4, 2, 3]))
    >>> top.children, top.heights, top.leaf_sizes, merges
    (array([[1, 2],
           [0, 3]]), array([2., 5.]), array([2., 1., 1.]), array([1, 2]))
    """
    k = len(nodes)
    top, place = restricted(tree, tree.leaf_order()[tree._first[nodes]])
    inner = np.flatnonzero(place >= k)
    lowest = np.full(k - 1, len(place))  # of the nodes with the same subtrees below them
    np.minimum.at(lowest, place[inner] - k, inner)
    merges = lowest - tree.n_leaves
    return Tree(top.children, tree.heights[merges], leaf_sizes=tree._points[nodes]), merges
