"""Outlier scores of points: by local density where it is known, else by heights in the condensed tree."""

from __future__ import annotations

import numpy as np

from .._runtime.arrays import Floats, Ints
from ..similarity import Graph, Similarity
from ..similarity.local_density import LocalDensity
from ..tree import Tree, membership
from ..tree.condense import FlatClusters

DENSEST = 0.1  # share of a cluster's points whose neighbourhoods are the measure of the others


def outlier_scores(similarity: Similarity, tree: Tree, clusters: FlatClusters, min_size: float | None = None) -> Floats:
    """Return how far out each leaf lies, from 0, in the densest part of its cluster, to 1: (n,).

    Neighbour graphs know densities (``density_scores``); their weights are relative to the distances around each point, so
    heights would not show a point in a sparse region. For other similarities the heights do (``membership.outlier_scores``).
    """
    graph = similarity.local_part
    if isinstance(graph, Graph) and graph.local_density is not None:
        return density_scores(graph.local_density, clusters.labels)
    return membership.outlier_scores(tree, clusters, min_size)


def density_scores(crowding: LocalDensity, labels: Ints) -> Floats:
    """Return 1 − r₀ / r, at least 0, r the distance to a point's furthest neighbour in the graph: (n,).

    r₀ is the radius that the densest tenth of the points of its cluster stay within. This is GLOSH with the radius of a
    neighbourhood as the height at which a point leaves its cluster (Campello, Moulavi, Zimek & Sander 2015).

    Examples
    --------
    >>> density_scores(LocalDensity(density=-2 * np.log([1.0, 1.0, 4.0, 3.0]), dimension=2.0), np.array([0, 0, 0, 1])).round(2)
    array([0.  , 0.  , 0.75, 0.  ])
    """
    log_radius = -crowding.density / crowding.dimension
    order = np.lexsort((log_radius, labels))
    sizes = np.bincount(labels)
    densest = np.cumsum(sizes) - sizes + (DENSEST * (sizes - 1)).astype(np.int64)
    reference = log_radius[order[densest]]
    return np.asarray(np.maximum(-np.expm1(reference[labels] - log_radius), 0.0))
