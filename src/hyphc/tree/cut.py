"""``Tree.cut``, ``Tree.clusters`` and ``Tree.layers``: the flat clusters of a tree, as labels and as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._runtime.arrays import Ints
from .criteria import Criterion
from .prunings import CONDENSED, flat_clusters, nested_clusters

if TYPE_CHECKING:
    from .core import Tree


def cut(
    tree: Tree,
    n_clusters: int | None = None,
    *,
    criterion: Criterion = CONDENSED,
    min_size: float | None = None,
    height: float | None = None,
    max_size: float | None = None,
) -> Ints:
    """Return the flat clusters: a label for each leaf, (n,), numbered from 0 in order of their smallest leaf.

    Give exactly one of ``n_clusters``, ``height`` and ``max_size``, or none for the tree's own clusters, where a fit has found
    them (``found_splits``): those of ``n_clusters`` of the tree.

    Parameters
    ----------
    n_clusters : int
        So many clusters.
    criterion : {"condensed", "dasgupta", "height", "modularity", "ncut", "sse"} or callable
        Which clusters. "condensed": those below the first n_clusters − 1 splits of the condensed tree (``condense``): the splits
        that a fit has found come first (``found_splits``), then the others, the highest first. Points that fall out above them
        join the cluster that their larger sibling leads to. "height": the last merges are undone,
        single points included. The others choose, of all sets of so many nodes that hold each leaf
        once, the one with the best score, and need the weights that a fitted tree carries. "dasgupta": the tree with these
        clusters below one root, and their points below them, costs least. "modularity": Newman's, the largest. "ncut": the
        normalised cut, the smallest. "sse": the sum of squared distances to the means of the clusters, the smallest, where
        points have rows. A callable takes the tree and returns a score for each of its 2n − 1 nodes; the sum over the
        clusters is maximised.
    min_size : number, optional
        Together with ``n_clusters``: clusters have at least so many points. By default "condensed" chooses the size, and
        lowers it where there are fewer splits than asked for; the other criteria have none.
    height : float
        Keep merges at most this high, as SciPy's ``fcluster`` does.
    max_size : number
        The largest clusters with at most so many points; a leaf that stands for more is a cluster.

    Notes
    -----
    Cuts of a tree that was fitted with constraints respect them (``forced_splits``): the best of those that do is taken.

    O(n log n) time for "condensed", O(n·n_clusters) for scores, O(n) for "height" without ``min_size``. Cuts into k and into
    k + 1 clusters are nested for "condensed" and for "height" without ``min_size``, not for scores. Of splits of the same
    height the later merge is undone. Among cuts that score the same, from the root down, fewer clusters lie below the child
    with fewer leaves, or below the second child where both have as many.

    Examples
    --------
    >>> from hyphc import Tree
    >>> Tree([[0, 1], [4, 2], [5, 3]]).cut(max_size=2)
    array([0, 0, 1, 2])
    >>> tree = Tree([[0, 1], [3, 4], [7, 2], [8, 5], [9, 10], [11, 6]], heights=[1.0, 1.0, 2.0, 2.0, 5.0, 9.0])
    >>> tree.cut(2), tree.cut(2, criterion="height")
    (array([0, 0, 0, 1, 1, 1, 0]), array([0, 0, 0, 0, 0, 0, 1]))
    >>> tree = Tree([[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]], split_weights=[3.0, 3.0, 1.0, 3.0, 1.0])
    >>> tree.cut(3, criterion="dasgupta")
    array([0, 0, 1, 1, 2, 2])
    """
    return flat_clusters(tree, n_clusters, criterion, min_size, height, max_size).labels


def clusters(
    tree: Tree,
    n_clusters: int | None = None,
    *,
    criterion: Criterion = CONDENSED,
    min_size: float | None = None,
    height: float | None = None,
    max_size: float | None = None,
) -> Ints:
    """Return the nodes that are the flat clusters of ``cut``, which takes the same arguments, in the order of the labels.

    With "condensed" a cluster is its node and the points that joined it.

    Examples
    --------
    >>> from hyphc import Tree
    >>> Tree([[0, 1], [4, 2], [5, 3]]).clusters(n_clusters=2)
    array([5, 3])
    """
    return flat_clusters(tree, n_clusters, criterion, min_size, height, max_size).nodes


def layers(
    tree: Tree, n_clusters: Sequence[int], *, criterion: Criterion = CONDENSED, min_size: float | None = None
) -> list[Ints]:
    """Return several nested cuts: labels of each leaf for each number of clusters, in the order of ``n_clusters``.

    The finest is that of ``cut``; for "condensed" and "height" so are all. Of the other criteria each coarser cut is the best
    of those whose clusters are unions of the next finer one's, so it may score less than a cut on its own.

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
    found = nested_clusters(tree, n_clusters, criterion, min_size)
    return [found[k].labels for k in n_clusters]
