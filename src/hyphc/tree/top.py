"""The top of a tree: disjoint subtrees as leaves, each counted by its points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import subtree_sums, sums_of_merges
from .._runtime.arrays import Floats, Ints
from .core import Tree
from .prunings import by_smallest_leaf, tops
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


def top_nodes(tree: Tree, n_groups: int, clusters: Ints) -> Ints:
    """Return disjoint subtrees that hold all leaves, in the order of their smallest leaves.

    What is above the nodes ``clusters`` is undone, and of the other merges those of the most points, down to ``n_groups``
    subtrees or a few less; more only if there are more around the clusters. O(n log n).
    """
    n = tree.n_leaves
    points = tree._points[n:]
    undone = _above(tree, clusters)
    if n > n_groups:
        undone |= points > np.partition(points, n - 1 - n_groups)[n - 1 - n_groups]
    else:
        undone[:] = True
    return by_smallest_leaf(tree, tops(tree, ~undone))


def _above(tree: Tree, nodes: Ints) -> npt.NDArray[np.bool_]:
    """Return for each merge whether it is above one of the nodes: (n − 1,)."""
    above = np.zeros(tree.n_leaves - 1, dtype=np.bool_)
    for node in tree.parents[nodes].tolist():
        while node >= 0 and not above[node - tree.n_leaves]:
            above[node - tree.n_leaves] = True
            node = int(tree.parents[node])
    return above


def top_of(tree: Tree, nodes: Ints) -> tuple[Tree, Ints]:
    """Return the tree above disjoint subtrees that hold all leaves, and which merge of the whole each of its merges is.

    With weights, degrees, cost and number of clusters: it is cut as the whole is, but for ties, as long as clusters consist of
    whole subtrees.
    """
    top, merges = tree_above(tree, nodes)
    carried: dict[str, Floats] = {}
    if tree._split_weights is not None:
        inside = sums_of_merges(tree._children, tree._split_weights)[nodes]
        carried = {"split_weights": tree._split_weights[merges], "leaf_weights": inside}
        if tree._degrees is not None:
            degrees = subtree_sums(tree._children, tree._degrees)[nodes]
            carried["degrees"] = np.maximum(degrees - 2 * inside, 0.0)  # similarity to points of other subtrees
    n_clusters = None if tree._n_clusters is None or tree._n_clusters > len(nodes) else tree._n_clusters
    sizes, cost = top.leaf_sizes, tree.cost
    return Tree(top.children, top.heights, leaf_sizes=sizes, n_clusters=n_clusters, cost=cost, **carried), merges
