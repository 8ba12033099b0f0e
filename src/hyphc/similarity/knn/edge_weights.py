"""Weights of the edges of a k-nearest-neighbour graph, from distances."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._runtime.arrays import Floats, Ints
from ..._runtime.parallel import thread_map
from ..._runtime.validation import require_choice, row_chunks

EDGE_WEIGHTS = ("fuzzy", "self-tuned", "shared", "binary")
MANY = 20_000  # rows that are worth a compiled loop

# A kernel narrower than this share of the mean distance would cut every edge but the nearest (UMAP's bound).
MIN_SIGMA = 1e-3
# Lower limit of weights that would round to 0, so that every edge is kept and outliers stay connected.
WEIGHT_FLOOR = 1e-12
# Newton from below converges in about ten steps; a row whose distances span many scales takes a few for each.
NEWTON_STEPS, NEWTON_RTOL = 100, 1e-13


def knn_to_graph(neighbours: Ints, distances: Floats, edge_weights: str) -> sp.csr_array[np.float64]:
    """Return the symmetric graph of rows and their nearest neighbours, as in ``neighbor_graph``."""
    if neighbours.shape[1] == 0:
        return sp.csr_array((len(neighbours), len(neighbours)), dtype=np.float64)
    return _WEIGHTS[edge_weights](neighbours, distances)


def require_edge_weights(edge_weights: str) -> None:
    """Raise unless it is one of ``EDGE_WEIGHTS``."""
    require_choice("edge_weights", edge_weights, EDGE_WEIGHTS)


def _fuzzy(neighbours: Ints, distances: Floats) -> sp.csr_array[np.float64]:
    directed = _directed(neighbours, compute_memberships(distances))
    reverse = directed.T.tocsr()
    return _finish(directed + reverse - directed * reverse)


def compute_memberships(distances: Floats) -> Floats:
    """Return ``fuzzy_memberships``, by a compiled loop if there are many rows."""
    return many_memberships(distances) if len(distances) > MANY else fuzzy_memberships(distances)


def many_memberships(distances: Floats) -> Floats:
    """Return ``fuzzy_memberships`` by a compiled loop, for many rows."""
    from ..._kernels.similarity.fuzzy_memberships import memberships

    weights = np.empty_like(distances)

    def fill(chunk: slice) -> None:
        memberships(distances[chunk], MIN_SIGMA, NEWTON_STEPS, NEWTON_RTOL, weights[chunk])

    thread_map(fill, row_chunks(len(distances), 16 * distances.shape[1]), n_jobs=-1)
    return weights


def fuzzy_memberships(distances: Floats) -> Floats:
    """Return UMAP's membership strengths of each point's k neighbours: exp(−max(0, d − ρ) / σ), (n, k).

    ρ is the smallest distance of the row above 0, and σ solves Σ_j exp(−max(0, d_j − ρ) / σ) = log2(k). Where already more
    neighbours lie within ρ there is no solution, and σ is its lower bound, ``MIN_SIGMA`` times the mean distance of the row.
    """
    k = distances.shape[1]
    rho = np.where(distances > 0, distances, np.inf).min(axis=1)
    excess = np.maximum(distances - np.where(np.isinf(rho), 0.0, rho)[:, None], 0.0)
    sigma = np.maximum(_solve_sigma(excess, np.log2(k)), MIN_SIGMA * distances.mean(axis=1))
    # σ = 0 only where all neighbours are duplicates: their memberships are 1.
    return np.exp(-excess / np.where(sigma > 0, sigma, 1.0)[:, None])


def _solve_sigma(excess: Floats, target: float) -> Floats:
    """Solve Σ_j exp(−e_j / σ) = target for each row; return 0 where at least ``target`` of the e_j are 0.

    Newton's method on log Σ_{e_j > 0} exp(−e_j·t) − log(target − #{e_j = 0}), t = 1/σ: convex and falling in t, so from a
    start left of the root every step stays left of it and none overshoots.
    """
    sigma = np.zeros(len(excess))
    wanted = target - (excess == 0).sum(axis=1)
    rows = np.flatnonzero(wanted > 0)
    if len(rows) == 0:
        return sigma
    largest, wanted = excess[rows].max(axis=1), wanted[rows]
    scaled = excess[rows] / largest[:, None]
    positive = scaled > 0
    t = np.log(positive.sum(axis=1) / wanted)  # as if all lay at the largest distance
    for _ in range(NEWTON_STEPS):
        terms = np.exp(-scaled * t[:, None]) * positive
        total = terms.sum(axis=1)
        step = np.log(total / wanted) * total / (scaled * terms).sum(axis=1)
        t += step
        if (np.abs(step) <= NEWTON_RTOL * t).all():
            break
    sigma[rows] = largest / t
    return sigma


def _self_tuned(neighbours: Ints, distances: Floats) -> sp.csr_array[np.float64]:
    scale = np.broadcast_to(distances[:, -1:], distances.shape)
    other = distances[:, -1][neighbours]
    # A point with k duplicates has scale 0: the scale of the other endpoint is used instead.
    mine, theirs = np.where(scale > 0, scale, other), np.where(other > 0, other, scale)
    apart = distances > 0
    exponent = np.zeros_like(distances)
    with np.errstate(over="ignore"):  # infinitely far on the other's scale: the floor takes over
        exponent[apart] = (distances[apart] / mine[apart]) * (distances[apart] / theirs[apart])
    return _union(_directed(neighbours, np.exp(-exponent)))


def _shared(neighbours: Ints, distances: Floats) -> sp.csr_array[np.float64]:
    n, k = neighbours.shape
    graph = _binary(neighbours, distances)
    members = _directed(np.column_stack([np.arange(n), neighbours]), np.ones((n, k + 1)))
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    # Edge by edge: the product members @ members.T has a square of entries for every hub.
    for chunk in row_chunks(graph.nnz, 12 * 4 * (k + 1)):
        common = members[rows[chunk]] * members[graph.indices[chunk]]
        graph.data[chunk] = np.asarray(common.sum(axis=1)) / (k + 1)
    return graph


def _binary(neighbours: Ints, distances: Floats) -> sp.csr_array[np.float64]:
    return _union(_directed(neighbours, np.ones_like(distances)))


def _directed(neighbours: Ints, weights: Floats) -> sp.csr_array[np.float64]:
    """Return the directed edges from each point to its neighbours."""
    n, k = neighbours.shape
    weights = np.maximum(weights, WEIGHT_FLOOR)
    index = np.int32 if 2 * n * k < np.iinfo(np.int32).max else np.int64  # the union has up to twice as many edges
    starts = np.arange(0, n * k + 1, k, dtype=index)
    edges = sp.csr_array((weights.ravel(), neighbours.ravel().astype(index), starts), shape=(n, n))
    edges.sort_indices()
    return edges


def _union(directed: sp.csr_array[np.float64]) -> sp.csr_array[np.float64]:
    return _finish(directed.maximum(directed.T.tocsr()))


def _finish(graph: sp.csr_array[np.float64]) -> sp.csr_array[np.float64]:
    # a + b − ab may round to just above 1.
    np.clip(graph.data, WEIGHT_FLOOR, 1.0, out=graph.data)
    graph.sort_indices()
    return graph


_WEIGHTS = {"fuzzy": _fuzzy, "self-tuned": _self_tuned, "shared": _shared, "binary": _binary}
