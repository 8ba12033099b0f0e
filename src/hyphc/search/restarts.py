"""Starts of the search in graphs and blends: the tree given, and one whose upper part is built top down.

Agglomeration finds small clusters best, bisection large ones. So groups of up to ``GROUP`` leaves of the tree given become the
leaves of a coarse problem, and that is bisected from the top, as in multilevel graph partitioning. Where data have structure at
all scales both starts end nearly alike; where they have little, the bisected one ends some per cent lower.
"""

from __future__ import annotations

from ..baselines.bisection import bisecting_kmeans
from ..baselines.coarsening import coarsen
from ..baselines.first_tree import quick_tree
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from .multilevel import sweep_tree
from .search_context import SearchContext

GROUP = 8  # leaves of a group that is not bisected


def starts_of(tree: Tree, similarity: Similarity, context: SearchContext, is_quick: bool = False) -> list[Tree]:
    """Return the trees to start from, the most promising first.

    Without edges these are the tree given, and the quick tree if that is cheaper. With edges they are the cheaper of the two and
    its bisected variant, in the order of their costs after a round of sweeps in the coarse problem. ``is_quick`` says that the
    tree given is the quick tree, or cheaper.
    """
    starts = [tree]
    if not is_quick:
        quick = quick_tree(similarity, context.n_jobs)
        if dasgupta_cost(quick, similarity) < dasgupta_cost(tree, similarity):
            starts.append(quick.with_names(tree.names))
    return _with_bisected(starts[-1], similarity, context) if similarity.has_edges else starts


def _with_bisected(tree: Tree, similarity: Similarity, context: SearchContext) -> list[Tree]:
    """Return the tree and the one whose groups of up to ``GROUP`` leaves are joined by bisection, the more promising first."""
    level = coarsen(tree, similarity, GROUP)
    if level.tree.n_leaves < 3:
        return [tree]
    quiet = context.without_callbacks()
    bisected = bisecting_kmeans(level.similarity.local_part, objective="reward", n_jobs=context.n_jobs)
    costs = [
        dasgupta_cost(sweep_tree(start, level.similarity, quiet, rounds=1), level.similarity)
        for start in (level.tree, bisected)
    ]
    context.visits = quiet.visits
    starts = [tree, level.expand(bisected).with_names(tree.names)]
    return starts if costs[0] <= costs[1] else starts[::-1]
