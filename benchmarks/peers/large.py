"""Genie and scikit-learn's bisecting k-means as far as they go on up to a million points."""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp
from hyphc import Tree, baselines
from hyphc.fit.weighted_leaves import expanded
from hyphc.similarity import Features

from ..harness.timing import timed

ALL_DISTANCES = 100_000  # points: beyond, Genie gets neighbours


def genie(X: np.ndarray) -> Tree:
    """Genie's tree; of more than 100 000 points that of their approximate neighbours."""
    import genieclust

    if len(X) > ALL_DISTANCES:
        return _genie_of_neighbours(X)
    return Tree(np.asarray(genieclust.Genie(n_clusters=2, coarser=True).fit(X).children_))


def _genie_of_neighbours(X: np.ndarray) -> Tree:
    """Genie on the spanning tree of 15 approximate neighbours, with the edges that join what they leave apart.

    In more than 20 dimensions its own spanning tree takes all n² distances: hours for a million points.
    """
    from genieclust import core
    from pynndescent import NNDescent
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    neighbours, distances = NNDescent(X, n_neighbors=16, low_memory=True, n_jobs=-1).neighbor_graph
    n = len(X)
    rows = np.repeat(np.arange(n), 16)
    graph = sp.csr_array((np.maximum(distances.ravel(), 1e-9), (rows, neighbours.ravel())), shape=(n, n))
    n_parts, part = connected_components(graph, directed=False)
    some = np.unique(part, return_index=True)[1]  # one point of each part; all pairs of them are joined
    one, two = np.triu_indices(n_parts, 1)
    gaps = np.maximum(np.linalg.norm(X[some[one]] - X[some[two]], axis=1), 1e-9)
    graph = graph + sp.csr_array((gaps, (some[one], some[two])), shape=(n, n))
    spanning = minimum_spanning_tree(graph).tocoo()
    order = np.argsort(spanning.data, kind="stable")
    lengths = np.ascontiguousarray(spanning.data[order], dtype=np.float64)
    edges = np.ascontiguousarray(np.column_stack([spanning.row, spanning.col])[order], dtype=np.int64)
    merged = core.genie_from_mst(lengths, edges, n_clusters=2, gini_threshold=0.3, coarser=True)
    return Tree(np.asarray(core.get_linkage_matrix(merged["links"], lengths, edges)["children"]))


def thousand_clusters(similarity: Features) -> tuple[Tree, float]:
    """scikit-learn's tree of 1 000 clusters, whose insides are left to our bisecting k-means, which is not timed."""
    from sklearn.cluster import BisectingKMeans

    model, seconds = timed(lambda: BisectingKMeans(1_000, random_state=0).fit(similarity.X))
    merges: list[tuple[int, int]] = []

    def number(node) -> int:
        if node.left is None:
            return int(node.label)
        pair = number(node.left), number(node.right)
        merges.append(pair)
        return 999 + len(merges)

    sys.setrecursionlimit(10_000)
    number(model._bisecting_tree)
    members = [np.flatnonzero(model.labels_ == k) for k in range(1_000)]
    parts = [baselines.bisecting_kmeans(similarity.subset(index)) for index in members]
    return expanded(Tree(np.array(merges)), model.labels_.astype(np.int64), parts), seconds
