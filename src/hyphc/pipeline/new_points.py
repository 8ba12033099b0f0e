"""New points beside those of a fitted tree: their similarities to it, and the flat clusters they would join."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.search import passes
from .._shared.arrays import Ints
from ..search.run import ScratchPool
from ..search.state import node_numbers, state_of
from ..similarity.build import Metric, default_gamma, unit_rows
from ..similarity.kinds import Dense, Features, Graph, Similarity
from ..similarity.neighbors import closest_of, fuzzy_memberships
from ..tree import Tree

SLICE = 256  # points that one thread places at a time


def joined_clusters(tree: Tree, labels: Ints, similarity: Similarity, n_jobs: int | None) -> Ints:
    """The cluster that each further point of the similarity would join at its cheapest place in the tree.

    ``labels`` are of the leaves of the tree, and each cluster is a subtree. A point whose place lies above several clusters
    joins the one it is most similar to on average. Points are placed one at a time: none sees another.
    """
    m, n = tree.n_leaves, similarity.n
    state = state_of(tree, similarity)
    cluster = np.full(2 * n, -1)
    cluster[node_numbers(m, n)] = _clusters_of_nodes(tree, labels)
    new, joined = np.arange(m, n), np.empty(n - m, dtype=np.int64)
    slices = [slice(k, k + SLICE) for k in range(0, n - m, SLICE)]
    ScratchPool(state, n_jobs).map(lambda s, scratch: passes.join(state, scratch, new[s], cluster, joined[s]), slices)
    return joined


def _clusters_of_nodes(tree: Tree, labels: Ints) -> Ints:
    """The cluster that each node lies in, −1 above clusters: such a node has more leaves than the cluster of any of them."""
    own = labels[tree.leaf_order()][tree._first]
    return np.where(tree.sizes <= np.bincount(labels)[own], own, -1)


def with_new_rows(similarity: Similarity, rows: Any) -> Similarity:
    """Old and new points together.

    ``rows`` (k, d) of features, or (k, n) similarities to the old points; the new points then have none among themselves.
    """
    sizes = np.append(similarity.sizes, np.ones(rows.shape[0]))
    if isinstance(similarity, Features):
        X = np.concatenate([similarity.X, rows.astype(similarity.X.dtype)])
        return Features(X, offset=similarity.offset, scale=similarity.scale, sizes=sizes)
    if isinstance(similarity, Dense):
        across = (rows if isinstance(rows, np.ndarray) else rows.toarray()) * similarity.sizes
        return Dense(np.block([[similarity.W, across.T], [across, np.zeros((len(across), len(across)))]]), sizes=sizes)
    assert isinstance(similarity, Graph)
    across = sp.csr_array(rows) @ sp.diags_array(similarity.sizes)
    return Graph(sp.block_array([[similarity.to_csr(), across.T], [across, None]], format="csr"), sizes=sizes)


def stacked(old: Any, new: Any) -> Any:
    """Rows of both, dense or sparse."""
    return np.concatenate([old, new]) if isinstance(old, np.ndarray) else sp.csr_array(sp.vstack([old, new]))


def rows_of_new_points(old: Any, new: Any, metric: Metric, n_neighbors: int | None, edge_weights: str) -> Any:
    """What ``with_new_rows`` takes, for points given like those of the fit."""
    if n_neighbors is not None:
        return neighbor_ties(old, new, n_neighbors, metric, edge_weights)
    if metric == "cosine":
        return unit_rows(new)
    if metric == "rbf":
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(new, old, gamma=default_gamma(old))
    if callable(metric):
        return np.asarray(metric(stacked(old, new)))[len(old) :, : len(old)]
    return new  # "linear" and "precomputed"


def neighbor_ties(old: Any, new: Any, n_neighbors: int, metric: Metric, edge_weights: str) -> sp.csr_array[np.float64]:
    """Edges from each new point to its nearest old ones: all 1 in a "binary" graph, else as the point itself weighs them.

    An old point's own opinion of the edge would need its neighbours anew; the weights are those of a "fuzzy" graph without it.
    """
    neighbours, distances = closest_of(old, new, min(n_neighbors, old.shape[0]), str(metric))
    ties = np.ones_like(distances) if edge_weights == "binary" else fuzzy_memberships(distances)
    starts = np.arange(0, ties.size + 1, ties.shape[1])
    return sp.csr_array((ties.ravel(), neighbours.ravel(), starts), shape=(new.shape[0], old.shape[0]))
