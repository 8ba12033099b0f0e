"""Helpers of the tests of certificates: trees whose bound over all subsets and whose true gap are known."""

from __future__ import annotations

from hyphc import Tree, baselines, dasgupta_cost, exact_tree, optimality_gap
from hyphc.similarity import Similarity

from strategies import random_tree, similarity_of_kind

EVERY_SUBSET = 10**9
LITTLE = 1e-3  # effort, where packings are not what is tested


def instances() -> list[tuple[Tree, Similarity, float, float]]:
    """Trees with their bound at k = 7 over all subsets and their true gap: good, middling, bad; all three kinds."""
    found = []
    for seed, kind in enumerate(["features", "dense", "graph", "features", "graph"]):
        similarity = similarity_of_kind(kind, 14, 27 + seed)  # 3 or more features, real weights, ties, mostly zeros
        tree = baselines.average_linkage(similarity) if seed < 3 else random_tree(14, seed)
        bound = optimality_gap(tree, similarity, k=7, n_subsets=EVERY_SUBSET, effort=LITTLE).gap
        best = dasgupta_cost(exact_tree(similarity), similarity)
        found.append((tree, similarity, bound, dasgupta_cost(tree, similarity) / best - 1))
    return found
