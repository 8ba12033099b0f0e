"""Heights of a tree's merges from the mean similarity of their parts, and the arrays that cuts need.

| kind | height of a merge |
|---|---|
| features, matrices | w_max − w̄, w̄ the mean similarity of two points across the split: average linkage on w_max − w |
| graphs, blends | log(w_max / w̄): most pairs of a graph have no edge, and w_max − w̄ would put all merges near w_max |

A merge of parts that no edge joins stands one unit above all others. The background of a blend is measured from the furthest
pair there can be, so that it adds to w̄ what is not negative. Heights never fall towards the root (``monotone_heights``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats
from ..similarity import Blend, Graph, Similarity, SimilarityLike
from ..similarity.base import by_kind
from ..tree import Tree, TreeLike
from ..tree.condense import default_splits, monotone_heights
from .costs import check_pair, cost_of, splits

# A background this small beside that of equal rows is 0: it belongs to the furthest pair there can be.
ROUNDING = 1e-12


def with_split_weights(tree: TreeLike, similarity: SimilarityLike) -> Tree:
    """Return the tree with its split weights, the degrees and sizes of its leaves, which cuts by a score need, and its cost.

    Weights and degrees of a blend are its graph's: the background only orders merges of distant groups. The cost is that
    of both.

    Examples
    --------
    >>> tree = with_split_weights([[0, 1, 1.0, 2], [2, 3, 2.0, 3]], [[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> tree.split_weights, tree.degrees
    (array([3., 3.]), array([4., 5., 3.]))
    """
    tree, similarity = check_pair(tree, similarity)
    return Tree(tree._children, tree._heights, tree.names, **_carried(tree, similarity))


def with_similarity_heights(tree: TreeLike, similarity: SimilarityLike) -> Tree:
    """Return the tree with heights from the mean similarity of the parts of each merge, and what ``with_split_weights`` adds.

    Examples
    --------
    >>> with_similarity_heights([[0, 1, 1.0, 2], [2, 3, 2.0, 3]], [[0, 0.9, 0.1], [0.9, 0, 0.3], [0.1, 0.3, 0]]).heights
    array([0. , 0.7])
    """
    tree, similarity = check_pair(tree, similarity)
    carried = _carried(tree, similarity)
    points = subtree_sums(tree._children, carried["leaf_sizes"])
    weights = (carried[name] for name in ("split_weights", "degrees", "leaf_weights"))
    is_split = default_splits(tree._children, points, *weights)
    heights = monotone_heights(tree._children, heights_of(similarity, tree), is_split)
    return Tree(tree._children, heights, tree.names, **carried)


def _carried(tree: Tree, similarity: Similarity) -> dict[str, Any]:
    """Return what a tree carries of its similarity, by name; below 0 lies nothing but rounding."""
    near, apart = similarity.local_part, similarity.squared_distances()
    # the points of a blend's leaf have equal rows, which an edge of weight 1 joins
    within = None if near is similarity else similarity.sizes * np.maximum(similarity.sizes - 1, 0) / 2
    return {
        "split_weights": np.maximum(splits(near, tree), 0.0),
        "degrees": np.maximum(near.degrees(), 0.0),
        "leaf_sizes": near.sizes,
        "leaf_weights": within,
        "split_squares": None if apart is None else np.maximum(-splits(apart, tree), 0.0),
        "cost": cost_of(similarity, tree),
    }


@by_kind
def heights_of(similarity: Similarity, tree: Tree) -> Floats:
    """Return the height of each merge, before any is raised."""
    return mean_heights(splits(similarity, tree) / _pairs_across(similarity, tree), similarity.maximum())


def mean_heights(means: Floats, largest: float) -> Floats:
    """Return the heights of features and matrices: w_max − w̄."""
    return np.maximum(largest - means, 0.0)


@heights_of.register
def _(similarity: Graph, tree: Tree) -> Floats:
    return _logarithmic(splits(similarity, tree) / _pairs_across(similarity, tree), strongest_edge(similarity))


@heights_of.register
def _(similarity: Blend, tree: Tree) -> Floats:
    graph, background, across = similarity.graph, similarity.background, _pairs_across(similarity, tree)
    added = background.from_furthest()
    nearest = background.slope * background.level + added
    seen = splits(background, tree) / across + added
    copied = 1.0 if (similarity.sizes > 1).any() else 0.0  # copies of a row are joined by 1
    return blend_heights(splits(graph, tree) / across, seen, max(strongest_edge(graph), copied), nearest)


def blend_heights(near: Floats, seen: Floats, strongest: float, nearest: float) -> Floats:
    """Return heights of blends from mean edge weights and mean backgrounds, counted from the furthest pair, across merges.

    ``strongest`` is the largest weight of an edge, ``nearest`` the background of equal rows.
    """
    seen = np.where(seen <= ROUNDING * nearest, 0.0, seen)
    return _logarithmic(near + seen, strongest + nearest)


def _pairs_across(similarity: Similarity, tree: Tree) -> Floats:
    points = subtree_sums(tree._children, similarity.sizes)
    return np.asarray(points[tree._children[:, 0]] * points[tree._children[:, 1]])


def strongest_edge(graph: Graph) -> float:
    """Return the largest similarity of two points."""
    rows = np.repeat(graph.sizes, np.diff(graph.indptr))
    return float((graph.data / (rows * graph.sizes[graph.indices])).max(initial=0.0))


def _logarithmic(means: Floats, largest: float) -> Floats:
    joined = means > 0
    heights = np.zeros(len(means))
    if joined.any():  # their ratio may overflow, the difference of their logarithms does not
        heights[joined] = np.maximum(np.log(largest) - np.log(means[joined]), 0.0)
    heights[~joined] = heights.max(initial=0.0) + 1.0
    return heights
