"""Distances between two trees on the same leaves: Robinson-Foulds and triplets."""

from __future__ import annotations

from .._kernels.tree.triplets import shared_triplets
from .core import Tree, TreeLike, as_tree
from .lca import is_cluster_of


def robinson_foulds_distance(first: TreeLike, second: TreeLike, *, normalized: bool = True) -> float:
    """Return how many clusters are in one tree and not in the other, or their share of all 2(n − 2) that could differ.

    Rooted; the root and the leaves, which all trees share, do not count. O(n) time and memory.

    Examples
    --------
    >>> a = Tree([[0, 1], [2, 3], [4, 5]])
    >>> b = Tree([[0, 1], [4, 2], [5, 3]])
    >>> robinson_foulds_distance(a, b, normalized=False)
    2.0
    """
    first, second = check_trees(first, second)
    n_different = 2.0 * (~is_cluster_of(first, second._children)).sum()
    return float(n_different / max(1, 2 * (first.n_leaves - 2)) if normalized else n_different)


def triplet_distance(first: TreeLike, second: TreeLike, *, normalized: bool = True) -> float:
    """Return of how many triplets of leaves two trees join different pairs first, or their share of all.

    Time is the smaller of the two trees' sums of cluster sizes: O(n log n) when either is balanced, O(n²) when both are
    chains. Memory is O(n).

    Examples
    --------
    >>> triplet_distance(Tree([[0, 1], [3, 2]]), Tree([[0, 2], [3, 1]]))
    1.0
    """
    first, second = check_trees(first, second)
    n = first.n_leaves
    n_triplets = n * (n - 1) * (n - 2) // 6
    if n_triplets == 0:
        return 0.0
    if second.sizes.sum() < first.sizes.sum():
        first, second = second, first
    positions = second._first[first.leaf_order()]
    twice, about = shared_triplets(first._shape, positions, *second._lca_tables)
    n_different = n_triplets - exact_count(twice, about) // 2
    return n_different / n_triplets if normalized else float(n_different)


def exact_count(low_bits: int, about: float) -> int:
    """Return the number that is ``low_bits`` modulo 2⁶⁴ and nearest ``about``, which may be off by less than 2⁶³.

    Examples
    --------
    >>> exact_count(5, 3.7e19) == 5 + 2 * 2**64
    True
    """
    return int(low_bits) + round((int(about) - int(low_bits)) / 2**64) * 2**64


def check_trees(first: TreeLike, second: TreeLike) -> tuple[Tree, Tree]:
    """Return both as trees, if they have the same number of leaves."""
    first, second = as_tree(first), as_tree(second)
    if first.n_leaves != second.n_leaves:
        raise ValueError(
            f"The trees have {first.n_leaves} and {second.n_leaves} leaves; compare trees on the same leaves."
        )
    return first, second
