"""New points and a fitted tree: the flat clusters they would join, and their cost once inserted."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._kernels.search import tree_passes
from .._runtime.arrays import Ints
from ..scores.costs import dasgupta_cost
from ..search import insert
from ..search.search_context import ScratchPool
from ..search.state import build_state, node_numbers
from ..similarity import Similarity
from ..tree import Tree
from ..tree.transfer_distance import restricted
from .weighted_leaves import clusters_of_nodes

SLICE = 256  # points of one thread's task
# New points are inserted in chunks of this many, or as many as the tree has: a matrix of old and new ones stays small.
MIN_CHUNK = 1_000


def assign_rows(tree: Tree, labels: Ints, fitted: Similarity, rows: Any, n_jobs: int | None) -> Ints:
    """Return the cluster that each new row would join, as ``assign_clusters``, in chunks."""
    step = max(MIN_CHUNK, tree.n_leaves)
    chunks = [fitted.extended(rows[k : k + step]) for k in range(0, rows.shape[0], step)]
    return np.concatenate([assign_clusters(tree, labels, chunk, n_jobs) for chunk in chunks])


def assign_clusters(tree: Tree, labels: Ints, similarity: Similarity, n_jobs: int | None) -> Ints:
    """Return the cluster that each further point of the similarity would join at its cheapest position in the tree.

    ``labels`` are of the leaves of the tree. A point whose position lies above several clusters joins that of the largest
    subtree within one cluster to which it is most similar on average. Points are inserted independently of each other.
    """
    m, n = tree.n_leaves, similarity.n
    state = build_state(tree, similarity)
    cluster = np.full(2 * n, -1)
    cluster[node_numbers(m, n)] = clusters_of_nodes(tree, labels)
    new, joined = np.arange(m, n), np.empty(n - m, dtype=np.int64)
    slices = [slice(k, k + SLICE) for k in range(0, n - m, SLICE)]
    ScratchPool(state, n_jobs).map(
        lambda s, scratch: tree_passes.find_clusters(state, scratch, new[s], cluster, joined[s]), slices
    )
    return joined


def compute_insertion_cost(tree: Tree, similarity: Similarity, yardstick: Similarity) -> float:
    """Return the cost of the further points of the similarity, in the tree into which they are inserted by it.

    The yardstick, a similarity of these points alone, measures the cost, per unit of its total. NaN where that is 0.
    """
    total = yardstick.total()
    if not total > 0:
        return float("nan")
    new = np.arange(tree.n_leaves, similarity.n)
    return dasgupta_cost(restricted(insert(tree, similarity), new)[0], yardstick) / total
