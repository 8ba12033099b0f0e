"""k-nearest-neighbour graph by similarity, for similarities that are not graphs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._runtime.arrays import Floats, Ints
from ..base import Similarity, by_kind
from ..features import Features
from ..graph import Graph
from ..local_density import estimate_local_density
from ..neighbor_metrics import default_neighbors
from .edge_weights import knn_to_graph

FAINTEST = 1e-12  # similarities below this share of the largest are all alike


def knn_graph(similarity: Similarity) -> Graph:
    """Return the graph of each point's most similar others, as many as by default, with fuzzy weights and densities.

    Distances of features are Euclidean, of matrices √log(w_max / w): of a Gaussian kernel the distances that it was made of.
    """
    n, sizes = similarity.n, similarity.sizes
    neighbours, distances = nearest_by_similarity(similarity, min(default_neighbors(n), n - 1))
    graph = Graph(knn_to_graph(neighbours, distances, "fuzzy"))
    weighted = graph if (sizes == 1).all() else graph.combined(sp.diags_array(sizes).tocsr(), sizes)
    weighted.local_density = estimate_local_density(distances)
    return weighted


@by_kind
def nearest_by_similarity(similarity: Similarity, k: int) -> tuple[Ints, Floats]:
    """Return each point's k most similar others, the most similar first, and their distances: both (n, k)."""
    neighbours, weights = np.empty((similarity.n, k), dtype=np.int64), np.empty((similarity.n, k))
    for rows, chunk in similarity.row_chunks():
        index = np.arange(similarity.n)[rows]
        means = chunk / (similarity.sizes[index][:, None] * similarity.sizes)
        means[np.arange(len(index)), index] = -np.inf
        order = np.argsort(-means, axis=1, kind="stable")[:, :k]
        neighbours[index], weights[index] = order, np.take_along_axis(means, order, axis=1)
    largest = weights.max(initial=np.finfo(np.float64).tiny)
    return neighbours, np.sqrt(np.log(largest) - np.log(np.maximum(weights, FAINTEST * largest)))


@nearest_by_similarity.register
def _(similarity: Features, k: int) -> tuple[Ints, Floats]:
    from .search import find

    if k == 0:
        return np.empty((similarity.n, 0), dtype=np.int64), np.empty((similarity.n, 0))
    found = find(similarity.X / similarity.sizes[:, None], k, n_jobs=-1, random_state=0)
    return found.neighbours, found.distances
