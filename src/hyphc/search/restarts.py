"""Stage 2 of the search: fuse the tree with quickly built ones, each improved by sweeps."""

from __future__ import annotations

from collections.abc import Callable

from ..baselines.bisection import bisecting_kmeans
from ..baselines.first_tree import quick_tree
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .search_context import LARGE_GRAPH, SearchContext
from .spr_sweep import FIRST_ROUNDS, sweep_tree
from .tree_fusion import fuse


def fuse_other_starts(tree: Tree, given: float, similarity: Similarity, context: SearchContext) -> Tree:
    """Return the tree fused with other starts: the quick tree if cheaper than ``given`` and, for graphs, bisection.

    Which of the two a graph needs does not follow from their costs: agglomeration finds small clusters best, bisection large
    ones.
    """

    def quick() -> Tree | None:
        start = quick_tree(similarity, context.n_jobs)
        return start if dasgupta_cost(start, similarity) < given else None

    def bisected() -> Tree | None:
        is_small = similarity.is_sparse and similarity.n <= LARGE_GRAPH
        return bisecting_kmeans(similarity, objective="reward", n_jobs=context.n_jobs) if is_small else None

    starts: tuple[Callable[[], Tree | None], ...] = (quick, bisected)
    with context.checkpoints.scope("starts") as scope:
        done = int(scope.saved.get("done", 0))
        tree = tree_from(scope.saved, tree.names) if scope.saved else tree
        for number in range(done, len(starts)):
            start = None if context.should_stop() else starts[number]()
            if start is not None and not context.should_stop():
                tree = fuse(
                    tree, sweep_tree(start, similarity, context.without_callbacks(), rounds=FIRST_ROUNDS), similarity
                )
            if not context.should_stop():
                scope.save(done=number + 1, **arrays_of(tree))
    return tree
