"""New points and a fitted tree: the flat clusters they would join, and their cost once inserted."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np

from .._kernels.search import tree_passes
from .._kernels.search.state import State
from .._runtime.arrays import Floats, Ints
from ..scores.costs import dasgupta_cost
from ..search import insert
from ..search.search_context import ScratchPool
from ..search.state import build_state, node_numbers, with_empty_leaves, write_leaves
from ..similarity import Blend, Features, Graph, Similarity
from ..tree import Tree
from ..tree.transfer_distance import restricted
from .weighted_leaves import clusters_of_nodes

SLICE = 256  # points of one thread's task
# New points are assigned in chunks of as many as the tree has leaves, within these bounds.
MIN_CHUNK, MAX_CHUNK = 64, 4_096
# Those of a matrix of similarities in chunks of this many, or as many as there are leaves: a matrix of both stays small.
MATRIX_CHUNK = 1_000


class ClusterAssigner:
    """Assigns new points to the clusters of a fitted tree, each at its cheapest position.

    The state of the search is computed for the first points, with room for some more leaves, and kept: further ones are written
    into that room, so that a point takes time in proportion to the positions tried, not to n. Not part of a pickle.
    """

    def __init__(self, tree: Tree, labels: Ints, fitted: Similarity) -> None:
        self._tree, self._labels, self._fitted = tree, labels, fitted
        self._kept: tuple[State, Ints, ScratchPool] | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"_tree": self._tree, "_labels": self._labels, "_fitted": self._fitted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state.values())  # type: ignore[misc]

    def assign(self, rows: Any, n_jobs: int | None) -> Ints:
        """Return the cluster that each new row would join, as ``assign_clusters`` does."""
        fitted = self._fitted
        if isinstance(fitted, (Graph, Blend)) or (
            isinstance(fitted, Features) and fitted.are_similarities_positive(rows)
        ):
            step = self._room()
            with self._lock:  # one state, and one room for new leaves
                chunks = [self._assign_chunk(fitted, rows[k : k + step], n_jobs) for k in range(0, rows.shape[0], step)]
            return np.concatenate(chunks)
        return self._assign_extended(rows, n_jobs)

    def _assign_extended(self, rows: Any, n_jobs: int | None) -> Ints:
        chunks = _extended_chunks(self._fitted, rows)
        return np.concatenate([assign_clusters(self._tree, self._labels, chunk, n_jobs) for chunk in chunks])

    def _room(self) -> int:
        return min(max(MIN_CHUNK, self._tree.n_leaves), MAX_CHUNK)

    def _assign_chunk(self, fitted: Features | Graph | Blend, rows: Any, n_jobs: int | None) -> Ints:
        if self._kept is None or self._kept[2].n_jobs != n_jobs:
            state = build_state(self._tree, with_empty_leaves(fitted, self._room()))
            self._kept = state, _clusters_in_state(state, self._tree, self._labels), ScratchPool(state, n_jobs)
        state, cluster, pool = self._kept
        m, count = self._tree.n_leaves, rows.shape[0]
        state = write_leaves(state, fitted, rows, m)
        return _find_clusters(state, cluster, np.arange(m, m + count), pool)


def _extended_chunks(fitted: Similarity, rows: Any) -> Iterator[Similarity]:
    """Yield the similarity of the fitted points and some new rows, until all rows had their turn."""
    step = max(MATRIX_CHUNK, fitted.n)
    for k in range(0, rows.shape[0], step):
        yield fitted.extended(rows[k : k + step])


def mean_similarities_of_rows(labels: Ints, n_clusters: int, fitted: Similarity, rows: Any) -> Floats:
    """Return the mean similarity of new rows to the points of each cluster, (m, k), in chunks."""
    return np.concatenate([mean_similarities(labels, n_clusters, chunk) for chunk in _extended_chunks(fitted, rows)])


def mean_similarities(labels: Ints, n_clusters: int, similarity: Similarity) -> Floats:
    """Return Σ_j w_ij / |C| over the points j of each cluster C, for each point i after the n that have labels: (m, k).

    Leaves that stand for several points count as often. O(k) products with the similarity.
    """
    n = len(labels)
    means = np.empty((similarity.n - n, n_clusters))
    for cluster in range(n_clusters):
        inside = np.zeros(similarity.n)
        inside[:n] = labels == cluster
        means[:, cluster] = similarity.product(inside)[n:] / (inside @ similarity.sizes)
    return means


def assign_clusters(tree: Tree, labels: Ints, similarity: Similarity, n_jobs: int | None) -> Ints:
    """Return the cluster that each further point of the similarity would join at its cheapest position in the tree.

    ``labels`` are of the leaves of the tree. A point whose position lies above several clusters joins that of the largest
    subtree within one cluster to which it is most similar on average. Points are inserted independently of each other.
    """
    state = build_state(tree, similarity)
    new = np.arange(tree.n_leaves, similarity.n)
    return _find_clusters(state, _clusters_in_state(state, tree, labels), new, ScratchPool(state, n_jobs))


def _clusters_in_state(state: State, tree: Tree, labels: Ints) -> Ints:
    """Return the cluster of each node of a state, −1 above clusters and for new leaves."""
    cluster = np.full(len(state.nodes), -1)
    cluster[node_numbers(tree.n_leaves, len(state.nodes) // 2)] = clusters_of_nodes(tree, labels)
    return cluster


def _find_clusters(state: State, cluster: Ints, new: Ints, pool: ScratchPool) -> Ints:
    joined = np.empty(len(new), dtype=np.int64)
    slices = [slice(k, k + SLICE) for k in range(0, len(new), SLICE)]
    pool.map(lambda s, scratch: tree_passes.find_clusters(state, scratch, new[s], cluster, joined[s]), slices)
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
