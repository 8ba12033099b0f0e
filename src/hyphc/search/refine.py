"""Tree search: lower the Dasgupta cost of any tree by SPR sweeps, restarts, a ratchet and iterated local search."""

from __future__ import annotations

from dataclasses import dataclass

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
from .multilevel import sweep_tree
from .ratchet import n_rounds, ratchet
from .restarts import starts_of
from .search_context import SearchContext, budget_of_visits, is_large, later_stages
from .tree_fusion import fuse

FIRST_ROUNDS = 2  # of sweeps without edges, before other stages gain more in the same time


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

    1. Sweeps: each subtree is pruned and regrafted where the cost is least, until little is gained. With edges, small subtrees
       are tried among all leaves and larger ones in a coarse problem, and sweeps begin from the tree given with its upper part
       bisected along edges.
    2. Other starts: the tree as it was given, or a quickly built one, improved by sweeps and fused with the best: for each
       cluster that both trees contain, the cheaper arrangement is used.
    3. Ratchet: sweeps under perturbed weights of the points, then under the true weights, fused with the best tree.
    4. Iterated local search on the best tree: random moves in one region, local search there, undone if the cost rose.

    With edges, stages 2 to 4 run as long as they end within 100 visits of each edge, or 120 million in all; a visit reads an edge
    or compares a position. Without edges, problems of more than 50 000 points, or of more than 10 million entries of features,
    are large: moves climb at most 100 levels, sweeps end when the expected gain is below 10⁻⁵ of the cost, and stages 3 and 4
    run only within a time budget.

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
    is_quick: bool = False,
) -> Tree:
    """Run ``refine`` as a stage of a fit, under the run control of the fit; ``is_quick`` as in ``starts_of``."""
    best = _Best(tree, similarity)
    context = SearchContext(
        n_jobs, check_random_state(random_state), clock, (best.cost, tree), effort, checkpoints=clock.checkpoints
    )
    context.report("start", tree, best.cost)
    if tree.n_leaves < 3 or max_sweeps == 0 or context.should_stop():
        return tree
    has_one_start = max_sweeps is not None or is_large(similarity)
    starts = [tree] if has_one_start else starts_of(tree, similarity, n_jobs, is_quick)
    done = _Done()
    with context.checkpoints.scope("search") as scope:
        if scope.saved:
            best.offer(tree_from(scope.saved, tree.names))
            context.restore(scope.saved)
            scope.restore(done)
        while not context.should_stop():
            stage = _next_stage(done, similarity, context, max_sweeps, len(starts))
            if stage is None:
                break
            before = context.visits
            best.offer(_run_stage(stage, starts, best, context, max_sweeps))
            context.report(stage, best.tree, best.cost)
            done.add(stage, context.visits - before)
            if not context.should_stop():
                scope.save(**vars(done), **arrays_of(best.tree), **context.rng_state())
    return best.tree


@dataclass
class _Done:
    """Stages that are done."""

    starts: int = 0  # that were improved by sweeps
    ratchets: int = 0
    iterated: int = 0
    sweep_visits: int = 0  # of the first start
    ratchet_visits: int = 0  # of the last round

    def add(self, stage: str, visits: int) -> None:
        """Count a stage, which took so many visits."""
        if stage == "ratchet":
            self.ratchets, self.ratchet_visits = self.ratchets + 1, visits
        elif stage == "iterated":
            self.iterated += 1
        else:
            self.starts += 1
            self.sweep_visits = self.sweep_visits or visits


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


def _next_stage(
    done: _Done, similarity: Similarity, context: SearchContext, max_sweeps: int | None, n_starts: int
) -> str | None:
    """Return the next stage; None when the search is over.

    Another start takes about as many visits as the first one, the first round of the ratchet twice as many, and each other round
    as many as the one before: stages that would exceed the budget are left out. With a time budget, rounds of the ratchet and of
    iterated search alternate without end.
    """
    if done.starts == 0:
        return "sweeps"
    if max_sweeps is not None:
        return None
    on_the_clock = context.clock.time_budget is not None
    left = np.inf if on_the_clock else budget_of_visits(similarity, context.effort) - context.visits
    if done.starts < n_starts and left >= done.sweep_visits:
        return "other starts"
    if not later_stages(similarity, on_the_clock):
        return None
    if on_the_clock:
        return "ratchet" if done.ratchets == done.iterated else "iterated"
    if done.ratchets < n_rounds(similarity, context.effort) and left >= (done.ratchet_visits or 2 * done.sweep_visits):
        return "ratchet"
    return "iterated" if done.iterated == 0 and left >= 0 else None


def _run_stage(stage: str, starts: list[Tree], best: _Best, context: SearchContext, max_sweeps: int | None) -> Tree:
    """Return the tree that a stage finds."""
    similarity = best.similarity
    if stage == "sweeps":
        rounds = np.inf if max_sweeps is not None or similarity.has_edges else FIRST_ROUNDS
        return sweep_tree(starts[0], similarity, context, rounds, np.inf if max_sweeps is None else max_sweeps)
    if stage == "other starts":
        quiet = context.without_callbacks()
        other = sweep_tree(starts[1], similarity, quiet, np.inf if similarity.has_edges else FIRST_ROUNDS)
        context.visits = quiet.visits
        return fuse(best.tree, other, similarity)
    return (ratchet if stage == "ratchet" else run_iterated_search)(best.tree, similarity, context)
