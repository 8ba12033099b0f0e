"""Membership of points in flat clusters, and outlier scores: ``probabilities_`` and ``outlier_scores_`` of ``HypHC``.

Both follow a point down the condensed tree until it falls out, at its *leaving height*. Names and ranges are those of the hdbscan
package; the score compares a point with the densest part of its cluster, as GLOSH does (Campello, Moulavi, Zimek & Sander 2015).
Both are invariant to the unit and the zero of heights. They depend on the heights alone: weights of neighbour
graphs are relative to the distances around each point, so that a point in a sparse region need not have a high score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._runtime.arrays import Floats
from .condense import FlatClusters, condense, is_split, leaving_heights

if TYPE_CHECKING:
    from .core import Tree


def probabilities(tree: Tree, clusters: FlatClusters, min_size: float | None = None) -> Floats:
    """Return how firmly each leaf belongs to its cluster, from 0 to 1: (n,).

    With the heights at which the cluster parts from the others (birth: that of the merge above its core, or of the root), at
    which the leaf falls out of the cluster, or of a group of at least ``min_size`` points inside it (leave), and the lowest
    of these in the cluster (death),

        probability = (birth − leave) / (birth − death),

    1 where birth = death, and 0 for leaves that fell out above the core and joined.

    Examples
    --------
    >>> from hyphc import Tree
    >>> from hyphc.tree.prunings import flat_clusters
    >>> tree = Tree([[0, 1], [3, 4], [7, 2], [8, 5], [9, 10], [11, 6]], heights=[1.0, 1.0, 2.0, 3.0, 5.0, 9.0])
    >>> probabilities(tree, flat_clusters(tree, 2), min_size=2)
    array([1.  , 1.  , 0.75, 1.  , 1.  , 0.5 , 0.  ])
    """
    if tree.n_leaves == 1:
        return np.ones(1)
    _, leave = leaving_heights(tree, min_size, is_split(tree, min_size), clusters.nodes)
    above = np.maximum(tree.parents[clusters.nodes] - tree.n_leaves, -1)  # −1, the last merge, for the root
    birth, death = tree._heights[above], np.full(len(clusters.nodes), np.inf)
    belongs = ~clusters.joined
    np.minimum.at(death, clusters.labels[belongs], leave[belongs])
    born, range_ = birth[clusters.labels], (birth - death)[clusters.labels]
    shares = np.divide(born - leave, range_, out=np.ones(tree.n_leaves), where=range_ > 0)
    return np.where(belongs, np.clip(shares, 0.0, 1.0), 0.0)


def outlier_scores(tree: Tree, clusters: FlatClusters, min_size: float | None = None) -> Floats:
    """Return how far out each leaf lies, from 0, in the densest part of its cluster, to 1, isolated: (n,).

    With the height at which the leaf falls out of the condensed tree (leave), the lowest such height in the cluster that it
    belongs to or joined (death), and the height of the root (top),

        score = (leave − death) / (top − death),   0 where top = death.

    Examples
    --------
    >>> from hyphc import Tree
    >>> from hyphc.tree.prunings import flat_clusters
    >>> tree = Tree([[0, 1], [3, 4], [7, 2], [8, 5], [9, 10], [11, 6]], heights=[1.0, 1.0, 2.0, 3.0, 5.0, 9.0])
    >>> outlier_scores(tree, flat_clusters(tree, 2), min_size=2)
    array([0.   , 0.   , 0.125, 0.   , 0.   , 0.25 , 1.   ])
    """
    if tree.n_leaves == 1:
        return np.zeros(1)
    leave, death = condense(tree, min_size).leaving_height, np.full(len(clusters.nodes), np.inf)
    np.minimum.at(death, clusters.labels, leave)
    lowest = death[clusters.labels]
    range_ = tree._heights[-1] - lowest
    scores = np.divide(leave - lowest, range_, out=np.zeros(tree.n_leaves), where=range_ > 0)
    return np.asarray(np.clip(scores, 0.0, 1.0))
