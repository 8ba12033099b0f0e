"""Any tree in, a tree of lower Dasgupta cost out: prune and regraft by branch and bound, ratchet, fusing and kicks."""

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
from .iterated_local_search import iterated
from .ratchet import n_rounds, ratcheted
from .restarts import with_other_starts
from .search_context import Run, later_stages
from .spr_sweep import FIRST_ROUNDS, swept


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
    """A tree of lower Dasgupta cost, never worse than the one given.

    1. Sweeps: each subtree is pruned and regrafted where the cost is least, until none gains.
    2. Other starts: what else is built quickly from the similarity, swept and fused with the tree: of each cluster that both
       trees have, the cheaper arrangement.
    3. Ratchet: sweeps under perturbed weights of the points, then under the true ones, fused with the best tree.
    4. Iterated search on the best tree: random moves in one part of the tree, repaired by sweeps, kept unless the cost rose.

    Problems of more than 50 000 points, or of more than 10 million entries of features, are large: sweeps look within 100 levels
    and end when what is left promises less than a hundred-thousandth, and stages 3 and 4 come only within a time budget.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    similarity : Similarity, dense matrix or sparse matrix of n points
    effort : float
        Multiplies the work of stages 3 and 4, and with it their time; docs/tree_search.md has what it buys. A time budget
        takes its place.
    max_sweeps : int, optional
        Only stage 1, with at most so many sweeps.
    time_budget : float, optional
        Seconds. Stages 3 and 4 take turns until they are over; the search also stops earlier than by default if it must.
    random_state : int, RandomState or None
        Seeds stages 3 and 4. Without a time budget, one seed gives one tree, whatever ``n_jobs`` is.
    n_jobs : int or None
        Threads (None is 1, −1 is all cores).
    callback : callable, optional
        Called with a ``Progress`` after each step; the search stops if it returns True.

    Notes
    -----
    An interrupt (Ctrl-C) ends the search with the best tree so far and a UserWarning. Trying a subtree costs O(d) per place
    looked at with features, O(n) with a matrix, and with a graph the union of the paths above its neighbours. Of 40 000 places
    in a good tree about 150 are looked at.

    Examples
    --------
    >>> W = [[0, 1, 5, 0], [1, 0, 0, 5], [5, 0, 0, 1], [0, 5, 1, 0]]
    >>> refine([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 2.0, 4]], W, random_state=0).cut(n_clusters=2)
    array([0, 1, 0, 1])
    """
    tree, similarity = check_pair(tree, similarity)
    _check_arguments(effort, max_sweeps, time_budget)
    with Clock(time_budget, callback) as clock:
        return refine_by(clock, tree, similarity, random_state, n_jobs, max_sweeps, effort)


def refine_by(
    clock: Clock,
    tree: Tree,
    similarity: Similarity,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    max_sweeps: int | None = None,
    effort: float = 1.0,
) -> Tree:
    """``refine`` as a stage of a fit, on the fit's clock."""
    best = _Best(tree, similarity)
    run = Run(n_jobs, check_random_state(random_state), clock, (best.cost, tree), effort, trail=clock.trail)
    run.tell("start", tree, best.cost)
    if tree.n_leaves < 3 or max_sweeps == 0 or run.late():
        return tree
    with run.trail.level("search") as level:
        if level.found:
            best.offer(tree_from(level.found, tree.names))
            run.take_up(level.found)
        done = int(level.found.get("done", 0))
        for number, stage in enumerate(_stages(similarity, run, max_sweeps)):
            if number < done:
                continue
            if run.late():
                break
            best.offer(_found(stage, tree, best, run, max_sweeps))
            run.tell(stage, best.tree, best.cost)
            if not run.late():
                level.keep(done=number + 1, **arrays_of(best.tree), **run.marks())
    return best.tree


class _Best:
    """The best tree so far, by its exact cost."""

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


def _stages(similarity: Similarity, run: Run, max_sweeps: int | None) -> Iterator[str]:
    """The stages of the search in order; on the clock without end."""
    yield "sweeps"
    if max_sweeps is not None:
        return
    on_the_clock = run.clock.time_budget is not None
    later = later_stages(similarity, on_the_clock)
    if "other starts" in later:
        yield "other starts"
    rounds = 1 if on_the_clock else n_rounds(similarity, run.effort)
    while later:
        yield from ("ratchet",) * rounds
        yield "iterated"
        if not on_the_clock:
            return


def _found(stage: str, tree: Tree, best: _Best, run: Run, max_sweeps: int | None) -> Tree:
    """What a stage makes of the best tree; the first and the second look at the tree given."""
    similarity = best.similarity
    if stage == "sweeps":
        return swept(tree, similarity, run, max_sweeps, FIRST_ROUNDS if max_sweeps is None else None)
    if stage == "other starts":
        return with_other_starts(best.tree, dasgupta_cost(tree, similarity), similarity, run)
    return (ratcheted if stage == "ratchet" else iterated)(best.tree, similarity, run)
