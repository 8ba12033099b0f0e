"""``Tree.cut``, ``Tree.clusters`` and ``Tree.layers``: the flat clusters of a tree, as labels and as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._shared.arrays import Ints
from .cut import NodeScores, by_smallest_leaf, chosen_nodes, labels_of, nested_nodes

if TYPE_CHECKING:
    from .core import Tree


def cut(
    tree: Tree,
    n_clusters: int | None = None,
    *,
    criterion: str | NodeScores | None = None,
    min_size: float = 1,
    height: float | None = None,
    max_size: float | None = None,
) -> Ints:
    """Flat clusters: a label for each leaf, numbered from 0 in order of their smallest leaf.

    Give exactly one of ``n_clusters``, ``height`` and ``max_size``.

    Parameters
    ----------
    n_clusters : int
        So many clusters: of all sets of so many nodes that hold each leaf once, the one that scores best.
    criterion : {"dasgupta", "height", "modularity", "ncut", "sse"} or callable, optional
        What scores best. "height": the last merges are undone. The others need the weights that a fitted tree carries.
        "dasgupta": the tree with these clusters below one root, and their points below them, costs least. "modularity":
        Newman's, the largest. "ncut": the normalised cut, the smallest. "sse": the sum of squared distances to the means of
        the clusters, the smallest, where points have rows. A callable takes the tree and returns a score for
        each of its 2n − 1 nodes; the sum over the clusters is made largest. Default: "dasgupta" where the tree carries its
        split weights, else "height".
    min_size : number
        Together with ``n_clusters``: clusters have at least so many points; 1 asks for nothing.
    height : float
        Keep merges at most this high, as SciPy's ``fcluster`` does.
    max_size : number
        The largest clusters with at most so many points; a leaf that stands for more is a cluster.

    Notes
    -----
    Cuts of a tree that was fitted with constraints respect them (``forced_splits``): the best of those that do is taken.

    O(n·n_clusters) time, O(n) for "height" with ``min_size=1``. Among cuts that score the same, from the root down, fewer
    clusters lie below the child with fewer leaves, or below the second child where both have as many; "height" with
    ``min_size=1`` undoes the later merge.

    Examples
    --------
    >>> from hyphc import Tree
    >>> Tree([[0, 1], [4, 2], [5, 3]]).cut(max_size=2)
    array([0, 0, 1, 2])
    >>> tree = Tree([[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]], split_weights=[3.0, 3.0, 1.0, 3.0, 1.0])
    >>> tree.cut(3, criterion="height")
    array([0, 0, 0, 0, 1, 2])
    >>> tree.cut(3)
    array([0, 0, 1, 1, 2, 2])
    """
    return labels_of(tree, chosen_nodes(tree, n_clusters, criterion, min_size, height, max_size))


def clusters(
    tree: Tree,
    n_clusters: int | None = None,
    *,
    criterion: str | NodeScores | None = None,
    min_size: float = 1,
    height: float | None = None,
    max_size: float | None = None,
) -> Ints:
    """The nodes that are the flat clusters of ``cut``, which takes the same arguments, in the order of the labels.

    Examples
    --------
    >>> from hyphc import Tree
    >>> Tree([[0, 1], [4, 2], [5, 3]]).clusters(n_clusters=2)
    array([5, 3])
    """
    return chosen_nodes(tree, n_clusters, criterion, min_size, height, max_size)


def layers(
    tree: Tree, n_clusters: Sequence[int], *, criterion: str | NodeScores | None = None, min_size: float = 1
) -> list[Ints]:
    """Several nested cuts: labels of each leaf for each number of clusters, in the order of ``n_clusters``.

    The finest is that of ``cut``. Each coarser one is the best of those whose clusters are unions of the next finer one's, so
    it may score less than a cut on its own; by height both are the same.

    Parameters
    ----------
    n_clusters : sequence of int
        In any order.
    criterion, min_size
        As in ``cut``.

    Notes
    -----
    O(n·Σ n_clusters) time.

    Examples
    --------
    >>> from hyphc import Tree
    >>> tree = Tree([[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]], split_weights=[3.0, 3.0, 1.0, 3.0, 1.0])
    >>> tree.layers([3, 2], criterion="dasgupta")
    [array([0, 0, 1, 1, 2, 2]), array([0, 0, 0, 0, 1, 1])]
    """
    nodes = nested_nodes(tree, n_clusters, criterion, min_size)
    return [labels_of(tree, by_smallest_leaf(tree, nodes[k])) for k in n_clusters]
