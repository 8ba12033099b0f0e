"""Stage 2 of the search: trees that are built quickly from the similarity itself."""

from __future__ import annotations

from collections.abc import Callable

from ..baselines.bisection import bisecting_kmeans
from ..baselines.first_tree import quick_tree
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .search_context import LARGE_GRAPH, Run
from .spr_sweep import FIRST_ROUNDS, swept
from .tree_fusion import fused


def with_other_starts(tree: Tree, given: float, similarity: Similarity, run: Run) -> Tree:
    """The tree fused with others: the one made soonest, if cheaper than ``given``, and graphs also split from the top; all swept.

    Which of the two a graph needs cannot be told from their own costs: agglomeration knows small clusters best, splits the
    large ones.
    """

    def own() -> Tree | None:
        start = quick_tree(similarity, run.n_jobs)
        return start if dasgupta_cost(start, similarity) < given else None

    def split() -> Tree | None:
        is_small = similarity.is_sparse and similarity.n <= LARGE_GRAPH
        return bisecting_kmeans(similarity, objective="reward", n_jobs=run.n_jobs) if is_small else None

    starts: tuple[Callable[[], Tree | None], ...] = (own, split)
    with run.trail.level("starts") as level:
        done = int(level.found.get("done", 0))
        tree = tree_from(level.found, tree.names) if level.found else tree
        for number in range(done, len(starts)):
            start = None if run.late() else starts[number]()
            if start is not None and not run.late():
                tree = fused(tree, swept(start, similarity, run.unheard(), rounds=FIRST_ROUNDS), similarity)
            if not run.late():
                level.keep(done=number + 1, **arrays_of(tree))
    return tree
