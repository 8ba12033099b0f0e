"""Consensus of many trees: majority and greedy consensus, and the most central tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from .._kernels.tree.consensus import grow_tree
from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from .._runtime.parallel import thread_map
from .compare import matched
from .core import Tree, TreeLike, as_tree
from .multifurcating import MultiTree, ascending
from .transfer_distance import transfer_agreement

__all__ = ["central_tree", "consensus"]

# Clusters are distinguished by so many sums of random numbers of their leaves, each exact in float64: for n leaves a collision of
# two among N clusters has a chance of about N²·(n/2⁵³)⁴, below 10⁻²⁰ for a hundred trees of a million leaves.
N_SUMS, EXACT = 4, 2**53
Rule = Literal["majority", "greedy"]


def consensus(trees: Sequence[TreeLike], rule: Rule = "majority") -> MultiTree:
    """Return one tree of the clusters that many trees of the same leaves have in common.

    Parameters
    ----------
    trees : sequence of Tree or linkage matrix, n leaves each
        Leaf i is the same in all, unless they have names: then leaves are matched to those of the first tree by name.
    rule : {"majority", "greedy"}
        "majority": the clusters that more than half of the trees have; these always fit together. "greedy": the commonest
        first, any cluster that does not contradict those before it; of equally common ones the larger, then the one that
        comes first.

    Returns
    -------
    MultiTree
        Nodes have as many children as remain undecided. ``support`` is the share of trees that have each cluster, and the
        heights are their mean heights there, none below a child's.

    Notes
    -----
    O(K·n log(K·n)) for K trees, and for "greedy" the sum of the sizes of their different clusters.

    Examples
    --------
    >>> trees = [Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 1], [2, 3], [4, 5]]), Tree([[0, 2], [4, 1], [5, 3]])]
    >>> consensus(trees).to_newick(branch_lengths=False)
    '(3,(2,(0,1)0.6667)0.6667);'
    """
    if rule not in ("majority", "greedy"):
        raise ValueError(f"rule={rule!r} is unknown; choose 'majority' or 'greedy'.")
    checked = _check(trees)
    n, names = checked[0].n_leaves, checked[0].names
    if n == 1:
        return MultiTree([-1], 1, names=names)
    found = _counted(checked)
    order = np.lexsort((found.tree, -found.sizes, -found.counts))
    if rule == "majority":
        order = order[2 * found.counts[order] > len(checked)]
    members = np.concatenate([tree.leaf_order() for tree in checked])
    inner = order[found.sizes[order] < n]
    parents, taken = grow_tree(n, members, found.starts[inner], found.sizes[inner])
    chosen = np.append(order[found.sizes[order] == n], inner[taken])  # nodes n, n + 1, …: the root comes first
    parents, old = ascending(parents, n, found.sizes[chosen])
    nodes = chosen[old[n:] - n]
    support, heights = found.counts[nodes] / len(checked), _lifted(parents, found.heights[nodes], n)
    return MultiTree(parents, n, heights=heights, support=support, names=names)


def central_tree(trees: Sequence[TreeLike], n_jobs: int | None = None) -> Tree:
    """Return the one of many trees whose clusters are nearest to those of all others.

    It has the largest sum of ``transfer_agreement`` over all clusters and all trees; the first, if several have.

    Notes
    -----
    O(K²·n log³ n) for K trees, on ``n_jobs`` threads.

    Examples
    --------
    >>> trees = [Tree([[0, 2], [4, 1], [5, 3]]), Tree([[0, 1], [4, 2], [5, 3]]), Tree([[0, 1], [2, 3], [4, 5]])]
    >>> central_tree(trees) is trees[1]
    True
    """
    checked = _check(trees)
    near = thread_map(lambda one: sum(float(transfer_agreement(one, two).sum()) for two in checked), checked, n_jobs)
    return checked[int(np.argmax(near))]


def _check(trees: Sequence[TreeLike]) -> list[Tree]:
    checked = [as_tree(tree) for tree in trees]
    if not checked:
        raise ValueError("There is no tree; pass at least one.")
    return [matched(checked[0], tree) for tree in checked]


class _Clusters(NamedTuple):
    """The different clusters of many trees, without leaves: how many trees have each, its size, its mean height, the first tree
    that has it, and where it begins in that tree's leaf order, all trees' orders one after the other."""

    counts: Ints
    sizes: Ints
    heights: Floats
    tree: Ints
    starts: Ints


def _counted(trees: list[Tree]) -> _Clusters:
    n = trees[0].n_leaves
    keys = np.random.default_rng(0).integers(EXACT // n, size=(N_SUMS, n)).astype(np.float64)
    sums = [np.column_stack([subtree_sums(np.array(tree.children), key)[n:] for key in keys]) for tree in trees]
    _, first, which, counts = np.unique(
        np.concatenate(sums), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    heights = np.bincount(which.ravel(), np.concatenate([tree.heights for tree in trees])) / counts
    number, merge = np.divmod(first, n - 1)
    starts = np.stack([tree._first[n:] for tree in trees])[number, merge] + n * number
    sizes = np.stack([tree.sizes[n:] for tree in trees])[number, merge]
    return _Clusters(counts, sizes, heights, number, starts)


def _lifted(parents: Ints, heights: Floats, n: int) -> Floats:
    """Return the heights, each raised to its children's: means over different trees may lie below."""
    lifted = heights.copy()
    for v in range(n, len(parents) - 1):
        above = parents[v] - n
        lifted[above] = max(lifted[above], lifted[v - n])
    return lifted
