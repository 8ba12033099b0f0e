"""Definitions, written to be obviously right rather than fast."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hyphc import Tree


def leaf_sets(tree: Tree) -> list[frozenset[int]]:
    """The leaves below each node."""
    sets = [frozenset([leaf]) for leaf in range(tree.n_leaves)]
    for a, b in tree.children:
        sets.append(sets[a] | sets[b])
    return sets


def clusters(tree: Tree) -> set[frozenset[int]]:
    return set(leaf_sets(tree))


def smallest_cluster(tree: Tree, *leaves: int) -> frozenset[int]:
    return min((s for s in leaf_sets(tree) if set(leaves) <= s), key=len)


def dasgupta_cost(tree: Tree, W: np.ndarray, sizes: np.ndarray | None = None) -> float:
    """Σ_{i<j} w_ij·|smallest cluster with i and j|."""
    sets = sorted(leaf_sets(tree), key=len)
    sizes = np.ones(tree.n_leaves) if sizes is None else sizes
    cost = 0.0
    for i, j in combinations(range(tree.n_leaves), 2):
        smallest = next(s for s in sets if i in s and j in s)
        cost += W[i, j] * sum(sizes[k] for k in smallest)
    return cost


def dendrogram_purity(tree: Tree, labels) -> float:
    sets = sorted(leaf_sets(tree), key=len)
    shares = []
    for i, j in combinations(range(tree.n_leaves), 2):
        if labels[i] == labels[j]:
            smallest = next(s for s in sets if i in s and j in s)
            shares.append(sum(labels[k] == labels[i] for k in smallest) / len(smallest))
    return float(np.mean(shares))


def first_pair(tree: Tree, i: int, j: int, k: int) -> frozenset[int]:
    """The two of three leaves that the tree joins first."""
    return min(
        (frozenset(pair) for pair in combinations((i, j, k), 2)), key=lambda pair: len(smallest_cluster(tree, *pair))
    )


def triplet_bounds(W: np.ndarray) -> tuple[float, float]:
    n = len(W)
    pairs = sum(W[i, j] for i, j in combinations(range(n), 2))
    lower = upper = 2 * pairs
    for i, j, k in combinations(range(n), 3):
        three = (W[i, j], W[i, k], W[j, k])
        lower += sum(three) - max(three)
        upper += sum(three) - min(three)
    return lower, upper


def transfer_distances(tree: Tree, other: Tree) -> list[int]:
    """For each merge the fewest leaves that differ from a cluster of the other tree."""
    return [min(len(A ^ B) for B in leaf_sets(other)) for A in leaf_sets(tree)[tree.n_leaves :]]
