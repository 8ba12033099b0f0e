"""Flat clusters of a tree: below the highest splits of the condensed tree, the best pruning by a score, by height or by size.

A pruning is a set of nodes that holds each leaf once. A criterion gives every node a score; dynamic programming finds the
pruning with the largest sum:

    best(v, 1) = score(v),   best(v, j) = max over a + b = j of best(left, a) + best(right, b)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._kernels.tree import passes as kernels
from .._kernels.tree import prunings as pruning_kernels
from .._runtime.arrays import Floats, Ints
from .._runtime.validation import require_choice, require_memory
from .condense import ROUNDING, FlatClusters, split_order, undo
from .criteria import SCORES, Criterion, default_score, node_scores

if TYPE_CHECKING:
    from .core import Tree

Bools = npt.NDArray[np.bool_]

CONDENSED = "condensed"  # the criterion that is not a score
CRITERIA: tuple[str, ...] = (CONDENSED, *SCORES)


@dataclass(frozen=True, eq=False)
class Prunings:
    """The best prunings of a tree into 1, 2, … clusters; ``scores[k − 1]`` is the sum of scores of the one into k."""

    scores: Floats
    _tree: Tree
    _most: Ints
    _starts: Ints
    _choices: pruning_kernels.Choices

    def nodes(self, n_clusters: int) -> Ints:
        """Return the nodes of the best pruning into so many clusters, in ascending order."""
        return pruning_kernels.pruning(self._tree._shape, self._most, self._starts, self._choices, n_clusters)


def best_prunings(
    tree: Tree, n_most: int, criterion: Criterion, min_size: float, within: Ints | None = None
) -> Prunings:
    """Return the best prunings into 1 … ``n_most`` clusters, or as many as ``min_size`` allows; none splits a node of ``within``.

    O(n·n_most) time; some 100 bytes a leaf, and at most 4 for each of the n·n_most / 2 choices, for most trees far less. A number
    of clusters that the tree's forced splits rule out scores −∞.
    """
    scores = node_scores(tree, criterion)
    if tree._forced_splits is not None:
        scores = np.where(np.append(np.zeros(tree.n_leaves), tree._forced_splits) > 0, -np.inf, scores)
    possible = _most(tree, min_size) if within is None else _nodes_below(tree, within)
    most = np.minimum(possible, n_most, dtype=np.int32, casting="unsafe")
    n = tree.n_leaves
    to_choose = most[tree._children].min(axis=1) > 1
    starts = np.concatenate([[0], np.cumsum(np.where(to_choose, most[n:] - 1, 0))])
    require_memory(4.0 * starts[-1], f"The best cut of {n} leaves into {n_most} clusters", "ask for fewer clusters")
    best, choices = pruning_kernels.best_scores(tree._shape, scores, most, starts)
    return Prunings(best, tree, most, starts, choices)


def cut_scores(tree: Tree, criterion: Criterion | None = None, k_max: int = 50, *, min_size: float = 1) -> Floats:
    """Return the score of the best cut into k clusters for k = 1, 2, …; larger is better.

    Parameters
    ----------
    tree : Tree
    criterion : str or callable, optional
        A score, as in ``Tree.cut``. Default: "dasgupta" where the tree carries its split weights, else "height".
    min_size : number
        Clusters have at least so many points.
    k_max : int
        The largest k; fewer are returned where the tree cannot be cut into so many.

    Returns
    -------
    scores : array (min(k_max, largest k possible),)

    Examples
    --------
    >>> from hyphc import Tree
    >>> tree = Tree([[0, 1], [2, 3], [4, 5]], split_weights=[3.0, 3.0, 1.0])
    >>> cut_scores(tree, "dasgupta")
    array([ 0., 12.,  6.,  0.])
    """
    if k_max < 1:
        raise ValueError(f"k_max={k_max} leaves no cut; choose k_max >= 1.")
    require_size(tree, min_size)
    return best_prunings(tree, min(k_max, tree.n_leaves), criterion or default_score(tree), min_size).scores


def most_clusters(tree: Tree, criterion: Criterion = CONDENSED, min_size: float | None = None) -> int:
    """Return the largest number of clusters, each of at least ``min_size`` points, that the tree can be cut into; 0 if none."""
    if criterion == CONDENSED:
        return 1 + len(split_order(tree, min_size))
    return int(_most(tree, 1 if min_size is None else min_size)[-1])


def fewest_clusters(tree: Tree) -> int:
    """Return the smallest number of clusters that the tree can be cut into: 1, plus the merges that must be undone."""
    return 1 if tree._forced_splits is None else 1 + int((tree._forced_splits > 0).sum())


def nearest_possible(
    tree: Tree, n_clusters: int, criterion: Criterion = CONDENSED, min_size: float | None = None
) -> int:
    """Return the number nearest to this one that the tree can be cut into; at least 1, so that a cut says what is wrong."""
    return max(fewest_clusters(tree), min(n_clusters, most_clusters(tree, criterion, min_size)))


def flat_clusters(
    tree: Tree,
    n_clusters: int | None = None,
    criterion: Criterion = CONDENSED,
    min_size: float | None = None,
    height: float | None = None,
    max_size: float | None = None,
) -> FlatClusters:
    """Return the flat clusters of ``Tree.cut``, numbered in the order of their smallest leaves."""
    given = {"n_clusters": n_clusters, "height": height, "max_size": max_size}
    chosen = [name for name, value in given.items() if value is not None]
    if not chosen and tree._found_splits is not None and criterion == CONDENSED:
        return own_clusters(tree, criterion, min_size)
    if len(chosen) != 1:
        raise ValueError(f"cut takes exactly one of n_clusters, height and max_size; got {chosen or 'none'}.")
    if n_clusters is not None:
        return _clusters_of(tree, n_clusters, criterion, min_size)
    if min_size not in (None, 1):
        raise ValueError(f"min_size={min_size} goes with n_clusters, not with {chosen[0]}; leave it out.")
    kept, forced = _low_merges(tree, height, max_size), tree._forced_splits
    return _of_nodes(tree, tops(tree, kept if forced is None else (kept | (forced < 0)) & (forced < 1)))


def own_clusters(tree: Tree, criterion: Criterion = CONDENSED, min_size: float | None = None) -> FlatClusters:
    """Return the clusters that a tree has unless others are asked for: as near to ``n_clusters`` as can be."""
    n_clusters = nearest_possible(tree, tree.n_clusters, criterion, min_size)
    return flat_clusters(tree, n_clusters, criterion, min_size)


def _clusters_of(
    tree: Tree, n_clusters: int, criterion: Criterion, min_size: float | None, within: Ints | None = None
) -> FlatClusters:
    if not 1 <= n_clusters <= tree.n_leaves:
        raise ValueError(
            f"n_clusters={n_clusters} is not between 1 and the {tree.n_leaves} leaves; choose one that is."
        )
    _require_possible(tree, n_clusters, criterion, min_size)
    if isinstance(criterion, str):
        require_choice("criterion", criterion, CRITERIA)
    if criterion == CONDENSED:
        return undo(tree, split_order(tree, min_size)[: n_clusters - 1])
    return _of_nodes(tree, _best_nodes(tree, n_clusters, criterion, 1 if min_size is None else min_size, within))


def _of_nodes(tree: Tree, nodes: Ints) -> FlatClusters:
    nodes = by_smallest_leaf(tree, nodes)
    return FlatClusters(labels_of(tree, nodes), nodes, np.zeros(tree.n_leaves, dtype=np.bool_))


def by_smallest_leaf(tree: Tree, nodes: Ints) -> Ints:
    """Return nodes in the order of their smallest leaves, in which clusters are numbered."""
    smallest = kernels.smallest_leaves(tree._children, np.arange(tree.n_leaves))
    return np.asarray(nodes[np.argsort(smallest[nodes])])


def nested_clusters(
    tree: Tree, n_clusters: Sequence[int], criterion: Criterion, min_size: float | None
) -> dict[int, FlatClusters]:
    """Return the clusters of ``Tree.layers`` for each number: the finest is the best of all, each other of the next finer."""
    layers: dict[int, FlatClusters] = {}
    finer = None
    for k in sorted(set(n_clusters), reverse=True):
        layers[k] = _clusters_of(tree, k, criterion, min_size, finer)
        finer = layers[k].nodes
    return layers


def labels_of(tree: Tree, nodes: Ints) -> Ints:
    """Return for each leaf the index in ``nodes`` of the one that contains it: (n,)."""
    runs = np.argsort(tree._first[nodes])
    labels = np.empty(tree.n_leaves, dtype=np.int64)
    labels[tree.leaf_order()] = np.repeat(runs, tree.sizes[nodes[runs]])
    return labels


def widest_gap(tree: Tree) -> int:
    """Return the number of clusters, from 2 to √n, below the widest gap between successive heights; 1 if none differ."""
    n = tree.n_leaves
    most = min(n, max(2, int(np.sqrt(n))))
    top = np.concatenate([[0.0], tree.heights])[::-1][:most]  # heights of the last merges; leaves stand at 0
    gaps = top[:-1] - top[1:]
    return int(gaps.argmax()) + 2 if len(gaps) and gaps.max() > 0 else 1


def _best_nodes(tree: Tree, n_clusters: int, criterion: Criterion, min_size: float, within: Ints | None) -> Ints:
    if criterion == "height" and min_size == 1 and tree._forced_splits is None:  # the last merges are the highest
        return tops(tree, np.arange(tree.n_leaves - 1) < tree.n_leaves - n_clusters)
    found = best_prunings(tree, n_clusters, criterion, min_size, within)
    if found.scores[n_clusters - 1] == -np.inf:
        raise ValueError(
            f"No cut into {n_clusters} clusters of at least {min_size:g} points respects the constraints; choose another "
            "number, or a smaller min_size."
        )
    return found.nodes(n_clusters)


def _low_merges(tree: Tree, height: float | None, max_size: float | None) -> Bools:
    """Return which merges a cut at a height, or into clusters of a size, keeps: (n − 1,)."""
    if height is not None:
        if np.isnan(height):
            raise ValueError("height=nan cuts nowhere; pass a number.")
        return np.asarray(tree._heights <= height)
    assert max_size is not None
    if max_size < 1:
        raise ValueError(f"max_size={max_size} leaves no cluster; choose max_size >= 1.")
    return np.asarray(tree._points[tree.n_leaves :] <= max_size * (1 + ROUNDING))


def tops(tree: Tree, kept: Bools) -> Ints:
    """Return the nodes that are leaves or kept merges and whose parent is not kept; all below a kept merge are kept."""
    is_top = np.append(np.ones(tree.n_leaves, dtype=bool), kept)
    is_top[tree._children[kept]] = False
    return np.flatnonzero(is_top)


def require_size(tree: Tree, min_size: float | None) -> None:
    """Raise for a size that no cluster of the tree can have."""
    if min_size is None:
        return
    if not 1 <= min_size < np.inf:
        raise ValueError(f"min_size={min_size} is no size of a cluster; choose a number of at least 1.")
    if min_size > 1 and min_size * (1 - ROUNDING) > tree._points[-1]:
        raise ValueError(f"min_size={min_size} is more than the {tree._points[-1]:g} points; choose at most that.")


def _require_possible(tree: Tree, n_clusters: int, criterion: Criterion, min_size: float | None) -> None:
    require_size(tree, min_size)
    fewest, free = fewest_clusters(tree), int(_most(tree, 1)[-1])
    if tree._forced_splits is not None and not fewest <= n_clusters <= free:
        raise ValueError(
            f"n_clusters={n_clusters} contradicts the constraints, which allow {fewest} to {free} clusters of this tree; "
            "choose one of these."
        )
    if min_size in (None, 1):
        return
    most = most_clusters(tree, criterion, min_size)
    if n_clusters > most:
        raise ValueError(
            f"n_clusters={n_clusters} is too many for min_size={min_size}: this tree can be cut into at most {most} such "
            "clusters; choose fewer or a smaller min_size."
        )


def _most(tree: Tree, min_size: float) -> Ints:
    forced = tree._forced_splits
    if min_size == 1:  # no condition, also if a leaf stands for a fraction of a point
        return tree._sizes if forced is None else _nodes_below(tree, tops(tree, forced < 0))
    points = tree._points
    if forced is not None:
        points = points.copy()
        points[tree._children[forced < 0]] = 0.0  # parts of what must stay together are too small for a cluster
    return pruning_kernels.most_clusters(tree._children, points, min_size * (1 - ROUNDING))


def _nodes_below(tree: Tree, pruning: Ints) -> Ints:
    """Return how many nodes of a pruning lie at or below each node; 1 for nodes below one of them: (2n − 1,)."""
    return np.maximum(count_below(tree, pruning), 1)


def count_below(tree: Tree, nodes: Ints) -> Ints:
    """Return how many of some nodes, of which none contains another, have their first leaf below each node: (2n − 1,)."""
    marked = np.zeros(tree.n_leaves, dtype=np.int64)
    marked[tree.leaf_order()[tree._first[nodes]]] = 1
    return kernels.subtree_sums(tree._children, marked)
