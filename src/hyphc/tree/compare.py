"""Comparison of two trees of the same leaves: agreement by several measures, and the largest differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._runtime.arrays import Floats
from .core import Tree, TreeLike, as_tree
from .distances import check_trees, robinson_foulds_distance, triplet_distance
from .transfer_distance import in_other, largest_transfers, transfer_distances

__all__ = ["Comparison", "Difference", "compare"]

# Up to so many leaves all pairs are compared for the cophenetic correlation; of more, so many random pairs.
ALL_PAIRS_UP_TO = 2_000
N_PAIRS = 1_000_000


@dataclass(frozen=True)
class Difference:
    """A cluster of one tree that the other does not have: its node, its number of leaves, and how many leaves would have to be
    put in or taken out to make it a cluster of the other."""

    node: int
    size: int
    moves: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of ``compare``; ``print(comparison)`` describes it.

    Attributes
    ----------
    n_leaves, n_common : int
        Leaves, and clusters that both trees have, of the n − 2 that can differ.
    robinson_foulds : float
        The share of clusters that only one of them has: 0 for the same tree, 1 for nothing in common.
    triplet : float
        The share of triplets of leaves of which they join different pairs first; 2/3 is chance.
    transfer : float
        How nearly the clusters of each are clusters of the other, on average: 1 for the same tree. See ``transfer_agreement``.
    cophenetic : float
        The correlation of the heights at which pairs of leaves are joined; NaN where one tree joins all at one height.
    only_in_first, only_in_second : tuple of Difference
        The largest clusters that the other tree does not have, largest first.
    """

    n_leaves: int
    n_common: int
    robinson_foulds: float
    triplet: float
    transfer: float
    cophenetic: float
    only_in_first: tuple[Difference, ...]
    only_in_second: tuple[Difference, ...]

    def __str__(self) -> str:
        rows = [
            ("clusters", f"{self.n_common} of {max(0, self.n_leaves - 2)}", "are in both trees"),
            ("Robinson-Foulds", f"{self.robinson_foulds:.4f}", "share of clusters that only one tree has; 0 is equal"),
            ("triplets", f"{self.triplet:.4f}", "share of triplets joined differently; 0 is equal, 2/3 chance"),
            ("transfer", f"{self.transfer:.4f}", "how nearly clusters of one are clusters of the other; 1 is equal"),
            ("cophenetic", f"{self.cophenetic:.4f}", "correlation of the heights at which pairs join; 1 is equal"),
        ]
        width = max(len(value) for _, value, _ in rows)
        return "\n".join(f"{what:<16} {value:>{width}}  {meaning}" for what, value, meaning in rows)


def compare(tree_a: TreeLike, tree_b: TreeLike, *, n_differences: int = 10) -> Comparison:
    """Compare two trees of the same leaves: what they have in common, and the largest clusters that only one has.

    Parameters
    ----------
    tree_a, tree_b : Tree or linkage matrix, n leaves
        Leaf i is the same in both, unless both trees have names: then leaves are matched by name, and nodes of the second are
        those of ``matched(tree_a, tree_b)``, which keeps the order of its merges.
    n_differences : int
        How many clusters are listed of each tree.

    Notes
    -----
    O(n log³ n), but for triplets, see ``triplet_distance``. Of more than 2 000 leaves a million random pairs, always the same,
    stand for all in the cophenetic correlation.

    Examples
    --------
    >>> print(compare(Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 1], [2, 3], [4, 5]])))
    clusters         1 of 2  are in both trees
    Robinson-Foulds  0.5000  share of clusters that only one tree has; 0 is equal
    triplets         0.5000  share of triplets joined differently; 0 is equal, 2/3 chance
    transfer         0.5000  how nearly clusters of one are clusters of the other; 1 is equal
    cophenetic       0.5855  correlation of the heights at which pairs join; 1 is equal
    """
    one = as_tree(tree_a)
    two = matched(one, as_tree(tree_b))
    agreements = [_agreement(one, two), _agreement(two, one)]
    return Comparison(
        one.n_leaves,
        int(in_other(one, two)[:-1].sum()),
        robinson_foulds_distance(one, two),
        triplet_distance(one, two),
        float(np.mean(agreements)),
        _cophenetic_correlation(one, two),
        _differences(one, two, n_differences),
        _differences(two, one, n_differences),
    )


def matched(tree: Tree, other: Tree) -> Tree:
    """Return the other tree with its leaves numbered as in ``tree``, by name where both have names."""
    check_trees(tree, other)
    if tree.names is None or other.names is None or tree.names == other.names:
        return other
    number = {name: leaf for leaf, name in enumerate(tree.names)}
    if len(number) < tree.n_leaves or sorted(number) != sorted(other.names):
        odd = sorted(set(tree.names).symmetric_difference(other.names))[:3] or "repeated names"
        raise ValueError(f"The trees' names do not match one to one; look at {odd}.")
    return other.with_leaves_numbered([number[name] for name in other.names], tree.names)


def _agreement(tree: Tree, other: Tree) -> float:
    """Return the mean transfer agreement of all clusters but the root."""
    shares = transfer_distances(tree, other)[:-1] / largest_transfers(tree)[:-1]
    return 1.0 - float(shares.mean()) if len(shares) else 1.0


def _differences(tree: Tree, other: Tree, count: int) -> tuple[Difference, ...]:
    moves, sizes = transfer_distances(tree, other), tree.sizes[tree.n_leaves :]
    differing = np.flatnonzero(moves > 0)
    largest = differing[np.argsort(-sizes[differing], kind="stable")][:count]
    return tuple(Difference(int(tree.n_leaves + t), int(sizes[t]), int(moves[t])) for t in largest)


def _cophenetic_correlation(one: Tree, two: Tree) -> float:
    n = one.n_leaves
    if n <= ALL_PAIRS_UP_TO:
        i, j = np.triu_indices(n, 1)
    else:
        i, step = np.random.default_rng(0).integers([[0], [1]], [[n], [n]], size=(2, N_PAIRS))
        j = (i + step) % n
    first, second = (_joined_at(tree, i, j) for tree in (one, two))
    if n < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _joined_at(tree: Tree, i: np.ndarray, j: np.ndarray) -> Floats:
    return tree.heights[np.asarray(tree.lca(i, j)) - tree.n_leaves]
