"""New points beside those of a fitted tree: the flat clusters they would join."""

from __future__ import annotations

import numpy as np

from .._kernels.search import passes
from .._shared.arrays import Ints
from ..search.run import ScratchPool
from ..search.state import node_numbers, state_of
from ..similarity import Similarity
from ..tree import Tree
from .grouping import clusters_of_nodes

SLICE = 256  # points that one thread places at a time


def joined_clusters(tree: Tree, labels: Ints, similarity: Similarity, n_jobs: int | None) -> Ints:
    """The cluster that each further point of the similarity would join at its cheapest place in the tree.

    ``labels`` are of the leaves of the tree, and each cluster is a subtree. A point whose place lies above several clusters
    joins the one it is most similar to on average. Points are placed one at a time: none sees another.
    """
    m, n = tree.n_leaves, similarity.n
    state = state_of(tree, similarity)
    cluster = np.full(2 * n, -1)
    cluster[node_numbers(m, n)] = clusters_of_nodes(tree, labels)
    new, joined = np.arange(m, n), np.empty(n - m, dtype=np.int64)
    slices = [slice(k, k + SLICE) for k in range(0, n - m, SLICE)]
    ScratchPool(state, n_jobs).map(lambda s, scratch: passes.join(state, scratch, new[s], cluster, joined[s]), slices)
    return joined
