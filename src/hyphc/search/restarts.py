"""Starts of the search in graphs and blends: the tree given, and one whose upper part is built top down.

Agglomeration finds small clusters best, bisection large ones. So groups of up to ``GROUP`` leaves of the tree given become the
leaves of a coarse problem, and that is bisected from the top, as in multilevel graph partitioning. Where data have structure at
all scales both starts end nearly alike; where they have little, the bisected one ends some per cent lower. So it is tried first.
"""

from __future__ import annotations

from ..baselines.bisection import bisecting_kmeans
from ..baselines.coarsening import coarsen
from ..baselines.first_tree import quick_tree
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree

GROUP = 8  # leaves of a group that is not bisected


def starts_of(tree: Tree, similarity: Similarity, n_jobs: int | None, is_quick: bool = False) -> list[Tree]:
    """Return the trees to start from, in the order in which sweeps improve them.

    Without edges these are the tree given, and the quick tree if that is cheaper. With edges they are the bisected variant of the
    cheaper of the two, and that tree itself. ``is_quick`` says that the tree given is the quick tree, or cheaper.
    """
    starts = [tree]
    if not is_quick:
        quick = quick_tree(similarity, n_jobs)
        if dasgupta_cost(quick, similarity) < dasgupta_cost(tree, similarity):
            starts.append(quick.with_names(tree.names))
    return [bisected_above_groups(starts[-1], similarity, n_jobs), starts[-1]] if similarity.has_edges else starts


def bisected_above_groups(tree: Tree, similarity: Similarity, n_jobs: int | None) -> Tree:
    """Return the tree with its subtrees of up to ``GROUP`` leaves joined by bisection along edges."""
    level = coarsen(tree, similarity, GROUP)
    if level.tree.n_leaves < 3:
        return tree
    bisected = bisecting_kmeans(level.similarity.local_part, objective="reward", n_jobs=n_jobs)
    return level.expand(bisected).with_names(tree.names)
