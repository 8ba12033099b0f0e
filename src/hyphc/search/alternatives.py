"""Several near-optimal trees: multi-start search, then a diverse selection within a tolerance of the best cost."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from .._runtime.arrays import Floats
from .._runtime.parallel import thread_map
from .._runtime.progress import Callback
from .._runtime.run_control import Clock
from ..baselines import random_tree
from ..scores.costs import check_pair, dasgupta_cost
from ..similarity import Similarity, SimilarityLike
from ..tree import Tree, TreeLike
from ..tree.transfer_distance import in_other, transfer_agreement
from .multilevel import sweep_tree
from .refine import refine_stage
from .search_context import SearchContext

__all__ = ["Alternatives", "alternatives"]


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives:
    """Result of ``alternatives``.

    Attributes
    ----------
    trees : tuple of Tree
        The cheapest first, then each the most different from those before it.
    costs : array (trees,)
        Dasgupta's cost of each, pairs counted once.
    share : array (n − 1,)
        For each merge of the first tree, the fraction of the trees that contain its cluster.
    transfer : array (n − 1,)
        Mean transfer agreement of that cluster with the trees, from 0 to 1; see ``transfer_agreement``.
    n_found : int
        Distinct trees within the tolerance, from which these were chosen.
    """

    trees: tuple[Tree, ...]
    costs: Floats
    share: Floats
    transfer: Floats
    n_found: int

    def __repr__(self) -> str:
        above = 100 * (self.costs.max() / self.costs[0] - 1) if self.costs[0] > 0 else 0.0
        common = int((self.share[:-1] == 1).sum())
        return (
            f"{len(self.trees)} of {self.n_found} trees, at most {above:.3g} % above the cheapest; "
            f"{common} of {max(0, len(self.share) - 1)} clusters are in all of them"
        )


def alternatives(
    tree: TreeLike,
    similarity: SimilarityLike,
    *,
    n_trees: int = 5,
    within: float = 1.0,
    n_starts: int = 20,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    time_budget: float | None = None,
    callback: Callback | None = None,
) -> Alternatives:
    """Return a diverse selection of trees of nearly the least cost: what the objective alone does not decide.

    The search runs from the given tree and from random trees. Among trees that cost at most ``within`` per cent more than the
    cheapest, the cheapest is selected first, then repeatedly the tree furthest from all selected ones by transfer distance.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
        A good tree, for instance ``model.tree_``; it is refined, and the cheapest result is no worse.
    similarity : Similarity, dense matrix or sparse matrix of n points
        For instance ``model.similarity_``.
    n_trees : int
        Maximum number of trees.
    within : float
        Per cent above the cheapest.
    n_starts : int
        Random trees to start from, improved by sweeps only.
    random_state, n_jobs, callback
        As in ``refine``; the result depends on the seed and not on ``n_jobs``.
    time_budget : float, optional
        Seconds after which no further start is searched.

    Examples
    --------
    >>> W = [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]  # a ring: two ways to pair neighbours are as good
    >>> found = alternatives(Tree([[0, 1], [2, 3], [4, 5]]), W, within=0.0, random_state=0)
    >>> len(found.trees), found.share.tolist()
    (2, [0.5, 0.5, 1.0])
    """
    tree, similarity = check_pair(tree, similarity)
    _check(n_trees, within, n_starts)
    rng = check_random_state(random_state)
    seeds = rng.randint(2**31 - 1, size=n_starts + 1).tolist()
    on_interrupt = "the trees are those found until then"
    with Clock(time_budget, callback, on_interrupt=on_interrupt) as clock:
        first = refine_stage(clock, tree, similarity, seeds[0], n_jobs)
        others = thread_map(lambda seed: _search_from_random(similarity, seed, clock), seeds[1:], n_jobs, clock.stop)
    found = _deduplicate([first, *(other for other in others if other is not None)])
    costs = np.array([dasgupta_cost(one, similarity) for one in found])
    good = np.flatnonzero(costs <= costs.min() + within / 100 * abs(costs.min()) + _rounding(costs))
    cheapest = good[np.argsort(costs[good], kind="stable")]
    chosen = _choose_diverse([found[k] for k in cheapest], n_trees)
    return _summarize([found[k] for k in cheapest[chosen]], costs[cheapest[chosen]], len(good))


def _check(n_trees: int, within: float, n_starts: int) -> None:
    for name, value, least in (("n_trees", n_trees, 1), ("n_starts", n_starts, 0)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number of at least {least}.")
    if not isinstance(within, Real) or not 0 <= within < np.inf:
        raise ValueError(f"within={within!r} must be a number of per cent, at least 0.")


def _search_from_random(similarity: Similarity, seed: int, clock: Clock) -> Tree | None:
    """Return a random tree improved by sweeps; None if time ran out."""
    if clock.should_stop():
        return None
    start = random_tree(similarity, random_state=seed)
    context = SearchContext(1, check_random_state(seed), clock.for_subproblem(), (np.inf, start), is_quiet=True)
    found = sweep_tree(start, similarity, context) if similarity.n > 2 else start
    return None if clock.should_stop() else found


def _deduplicate(trees: list[Tree]) -> list[Tree]:
    """Return the distinct trees in order."""
    return list(dict.fromkeys(trees))


def _rounding(costs: Floats) -> float:
    """Return the rounding error of costs: sums in another order differ by this much."""
    return 1e-12 * float(np.abs(costs).max())


def _choose_diverse(trees: list[Tree], count: int) -> list[int]:
    """Return indices by farthest-first traversal, beginning with the first tree."""
    chosen, nearest = [0], np.full(len(trees), np.inf)
    while len(chosen) < min(count, len(trees)):
        last = trees[chosen[-1]]
        nearest = np.minimum(nearest, [float((1 - transfer_agreement(last, one)).sum()) for one in trees])
        nearest[chosen] = -np.inf
        chosen.append(int(nearest.argmax()))
    return chosen


def _summarize(trees: list[Tree], costs: Floats, n_found: int) -> Alternatives:
    share = np.mean([in_other(trees[0], one) for one in trees], axis=0)
    transfer = np.mean([transfer_agreement(trees[0], one) for one in trees], axis=0)
    return Alternatives(tuple(trees), costs, share, transfer, n_found)
