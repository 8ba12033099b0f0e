"""Tree search: lower the Dasgupta cost of any tree by SPR sweeps, restarts, a ratchet and iterated local search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.utils import check_random_state

from .._runtime.progress import Callback
from .._runtime.run_control import Clock
from .._runtime.validation import check_effort
from ..scores.costs import check_pair, dasgupta_cost
from ..similarity import Similarity, SimilarityLike
from ..tree import Tree, TreeLike
from ..tree.storage import arrays_of, tree_from
from .iterated_local_search import run_iterated_search
from .ratchet import n_rounds, ratchet
from .restarts import fuse_other_starts
from .search_context import SearchContext, later_stages
from .spr_sweep import FIRST_ROUNDS, sweep_tree


def refine(
    tree: TreeLike,
    similarity: SimilarityLike,
    *,
    effort: float = 1.0,
    max_sweeps: int | None = None,
    time_budget: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Tree:
    """Return a tree of lower Dasgupta cost, never worse than the one given.

    1. Sweeps: each subtree is pruned and regrafted where the cost is least, until none gains.
    2. Other starts: quickly built trees, improved by sweeps and fused with the tree: for each cluster that both trees contain,
       the cheaper arrangement is used.
    3. Ratchet: sweeps under perturbed weights of the points, then under the true weights, fused with the best tree.
    4. Iterated local search on the best tree: random moves in one region, local search there, undone if the cost rose.

    Problems of more than 50 000 points, or of more than 10 million entries of features, are large: moves climb at most 100
    levels, sweeps end when the expected gain is below 10⁻⁵ of the cost, and stages 3 and 4 run only within a time budget.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    similarity : Similarity, dense matrix or sparse matrix of n points
    effort : float
        Multiplies the work of stages 3 and 4, and with it their time; docs/tree_search.md reports the gains. A time budget
        replaces it.
    max_sweeps : int, optional
        Run only stage 1, with at most so many sweeps.
    time_budget : float, optional
        Seconds. Stages 3 and 4 alternate until they have passed; earlier stages are cut short if necessary.
    random_state : int, RandomState or None
        Seeds stages 3 and 4. Without a time budget, the tree depends on the seed and not on ``n_jobs``.
    n_jobs : int or None
        Threads (None is 1, −1 is all cores).
    callback : callable, optional
        Called with a ``Progress`` after each step; the search stops if it returns True.

    Notes
    -----
    An interrupt (Ctrl-C) ends the search with the best tree so far and a UserWarning. Trying a subtree costs O(d) per
    position with features, O(n) with a matrix, and the length of the union of the paths above its neighbours with a graph. Of
    40 000 positions in a good tree about 150 are evaluated.

    Examples
    --------
    >>> W = [[0, 1, 5, 0], [1, 0, 0, 5], [5, 0, 0, 1], [0, 5, 1, 0]]
    >>> refine([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 2.0, 4]], W, random_state=0).cut(n_clusters=2)
    array([0, 1, 0, 1])
    """
    tree, similarity = check_pair(tree, similarity)
    _check_arguments(effort, max_sweeps, time_budget)
    with Clock(time_budget, callback) as clock:
        return refine_stage(clock, tree, similarity, random_state, n_jobs, max_sweeps, effort)


def refine_stage(
    clock: Clock,
    tree: Tree,
    similarity: Similarity,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    max_sweeps: int | None = None,
    effort: float = 1.0,
) -> Tree:
    """Run ``refine`` as a stage of a fit, under the run control of the fit."""
    best = _Best(tree, similarity)
    context = SearchContext(
        n_jobs, check_random_state(random_state), clock, (best.cost, tree), effort, checkpoints=clock.checkpoints
    )
    context.report("start", tree, best.cost)
    if tree.n_leaves < 3 or max_sweeps == 0 or context.should_stop():
        return tree
    with context.checkpoints.scope("search") as scope:
        if scope.saved:
            best.offer(tree_from(scope.saved, tree.names))
            context.restore(scope.saved)
        done = int(scope.saved.get("done", 0))
        for number, stage in enumerate(_stages(similarity, context, max_sweeps)):
            if number < done:
                continue
            if context.should_stop():
                break
            best.offer(_run_stage(stage, tree, best, context, max_sweeps))
            context.report(stage, best.tree, best.cost)
            if not context.should_stop():
                scope.save(done=number + 1, **arrays_of(best.tree), **context.rng_state())
    return best.tree


class _Best:
    """The best tree so far, by exact cost."""

    def __init__(self, tree: Tree, similarity: Similarity) -> None:
        self.similarity = similarity
        self.tree, self.cost = tree, dasgupta_cost(tree, similarity)

    def offer(self, tree: Tree) -> None:
        cost = dasgupta_cost(tree, self.similarity)
        if cost < self.cost:
            self.tree, self.cost = tree, cost


def _check_arguments(effort: float, max_sweeps: int | None, time_budget: float | None) -> None:
    check_effort(effort)
    if max_sweeps is not None and max_sweeps < 0:
        raise ValueError(f"max_sweeps={max_sweeps} is negative; choose max_sweeps >= 0.")
    if time_budget is not None and not time_budget >= 0:
        raise ValueError(f"time_budget={time_budget} is not a number of seconds >= 0.")


def _stages(similarity: Similarity, context: SearchContext, max_sweeps: int | None) -> Iterator[str]:
    """Yield the stages of the search in order; with a time budget, without end."""
    yield "sweeps"
    if max_sweeps is not None:
        return
    on_the_clock = context.clock.time_budget is not None
    later = later_stages(similarity, on_the_clock)
    if "other starts" in later:
        yield "other starts"
    rounds = 1 if on_the_clock else n_rounds(similarity, context.effort)
    while later:
        yield from ("ratchet",) * rounds
        yield "iterated"
        if not on_the_clock:
            return


def _run_stage(stage: str, tree: Tree, best: _Best, context: SearchContext, max_sweeps: int | None) -> Tree:
    """Return the tree that a stage finds; the first two stages use the given tree."""
    similarity = best.similarity
    if stage == "sweeps":
        return sweep_tree(tree, similarity, context, max_sweeps, FIRST_ROUNDS if max_sweeps is None else None)
    if stage == "other starts":
        return fuse_other_starts(best.tree, dasgupta_cost(tree, similarity), similarity, context)
    return (ratchet if stage == "ratchet" else run_iterated_search)(best.tree, similarity, context)
