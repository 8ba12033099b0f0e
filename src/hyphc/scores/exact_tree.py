"""Trees of least cost for up to 24 leaves, by branch and bound over subsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._kernels.scores import branch_and_bound as kernels
from .._kernels.scores.subset_optimum import ROUNDING, within_sums
from .._runtime.arrays import Floats, Records, zero_record
from .._runtime.run_control import Clock
from ..similarity import SimilarityLike, check_similarity
from ..tree import Tree
from .costs import dasgupta_cost
from .heights import with_similarity_heights

MAX_LEAVES = 24  # 33·2^24 bytes are 550 MB, and each leaf more doubles them
_FEW = 8  # leaves, at most, of subsets that are solved at once: fewer leave weak bounds, more cost more than they save
_FIRST_SHARE = 1 / 16  # of what is left between both bounds, the first budget; it doubles from pass to pass
_CHUNK = 3e7  # splits between two looks at the clock


@dataclass(frozen=True, eq=False)
class ExactSearch:
    """What a search for the best tree has found.

    Attributes
    ----------
    tree : Tree
        The best tree found.
    cost : float
        Its cost, in pairs.
    lower_bound : float
        What no tree undercuts.
    proven : bool
        Whether no tree is better: the search came to its end.
    """

    tree: Tree
    cost: float
    lower_bound: float
    proven: bool


def exact_tree(similarity: SimilarityLike, *, time_budget: float | None = None) -> Tree:
    """Return a tree of least cost, of at most 24 leaves; raise an error if the time is not enough to prove it.

    Heights are those of ``with_similarity_heights``. Of several best trees, always the same one is returned.

    Examples
    --------
    >>> exact_tree([[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]).to_newick(branch_lengths=False)
    '((0,1),(2,3));'
    """
    found = exact_search(similarity, time_budget=time_budget)
    if not found.proven:
        raise ValueError(
            f"time_budget={time_budget} s end before the tree found, of cost {found.cost:.6g}, is proven best: no tree costs "
            f"less than {found.lower_bound:.6g}. Allow more, or take what exact_search returns."
        )
    return found.tree


def exact_search(similarity: SimilarityLike, *, time_budget: float | None = None) -> ExactSearch:
    """Return the best tree of at most 24 leaves, or the best found in the time, and a lower bound on the cost.

    The least cost of a tree on a subset S of the leaves is

        f(S) = min over splits A ∪ B = S of f(A) + f(B) + |S|·w(A, B).

    Bounds of f take the place of its values but for small subsets: the mean over the subsets with one leaf less, as in
    ``optimality_gap``. Only subsets that could be clusters of a tree below a budget are split, and budgets grow until a tree
    is found that none undercuts.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix
        At most 24 leaves, of any size; similarities may be negative.
    time_budget : float, optional
        Seconds; the first bounds, some seconds for 24 leaves, are always found.

    Notes
    -----
    33·2^n bytes, n·2^n steps for the bounds, and 2^|S| for each subset S that is split: from a few for dense similarities to
    most of 3^n / 2 where many trees are nearly as good as the best.

    Examples
    --------
    >>> found = exact_search(np.ones((18, 18)))
    >>> found.cost, found.lower_bound, found.proven
    (1938.0, 1938.0, True)
    """
    similarity = check_similarity(similarity)
    if similarity.n > MAX_LEAVES:
        raise ValueError(
            f"exact_tree proves the best of all trees for up to {MAX_LEAVES} leaves; got {similarity.n}: build a tree with "
            "HypHC or a baseline, and ask optimality_gap how far it is from the best."
        )
    search = _Search(similarity.to_dense(), similarity.sizes)
    lower, _ = search.run(np.inf, Clock(time_budget).should_stop)
    tree = with_similarity_heights(search.best, similarity)
    cost = dasgupta_cost(tree, similarity)
    return ExactSearch(tree, cost, min(lower, cost), search.proven)


def least_cost_of(W: Floats, sizes: Floats, upper: float) -> float:
    """Return the least cost of a tree of few leaves, W (k, k), given that some tree costs no more than ``upper``."""
    lower, found = _Search(W, sizes).run(upper, lambda: False)
    return min(lower, found)


class _Search:
    """Tables of all subsets, and passes over them with growing budgets."""

    def __init__(self, W: Floats, sizes: Floats) -> None:
        self.n, n_subsets = len(W), 1 << len(W)
        within, pairs, spare, bounds = (np.empty(n_subsets) for _ in range(4))
        within_sums(W, sizes, within, spare)
        if (sizes == 1).all():
            np.multiply(within, 2.0, out=pairs)
        else:
            within_sums(W * np.add.outer(sizes, sizes), sizes, pairs, spare)
        self.tables = kernels.Tables(within, pairs, bounds, spare, np.empty(n_subsets, dtype=np.int8))
        # a negative similarity makes pieces worth keeping together: then all count as connected
        joined = W > 0 if W.min(initial=0.0) >= 0 else np.ones(W.shape, dtype=bool)
        self.leaves = kernels.SubsetLeaves(
            np.asarray(sizes), joined @ (np.int64(1) << np.arange(self.n, dtype=np.int64))
        )
        self.rounding = ROUNDING * float(np.abs(W).sum()) * float(sizes.sum())
        self.proven, self.best = False, Tree(np.empty((0, 2), dtype=np.int64))

    def run(self, upper: float, late: Callable[[], bool]) -> tuple[float, float]:
        """Return bound and cost of the best tree found, equal unless time runs out or no tree costs less than ``upper``."""
        bounds, everything = self.tables.bounds, (1 << self.n) - 1
        few = min(_FEW, max(3, self.n // 2 - 2))
        self._pass(lambda run: kernels.first_bounds(few, self.leaves, self.tables, run), 0, lambda: False)
        cost = self._descend(np.inf)
        share = _FIRST_SHARE
        while not self._is_proven(min(cost, upper)) and not late():
            lower = float(bounds[everything])
            self.tables.budgets[everything] = lower + min(1.0, share) * (min(cost, upper) - lower)
            self._pass(lambda run: kernels.pass_budgets_down(self.leaves, self.tables, run), everything, late)
            self._pass(lambda run: kernels.tighten(self.leaves, self.tables, run), 0, late)
            if late():
                break
            cost = self._descend(cost)
            share *= 2
        return float(bounds[everything]), cost

    def _is_proven(self, cost: float) -> bool:
        self.proven = bool(self.tables.bounds[-1] >= cost - self.rounding)
        return self.proven

    def _pass(self, part: Callable[[Records], None], begin: int, late: Callable[[], bool]) -> None:
        run = zero_record(kernels.PASS)
        run.subset, run.rounding = begin, self.rounding
        end = 0 if begin else len(self.tables.bounds)
        while run.subset != end and not late():
            run.pause = run.work + _CHUNK
            part(run)

    def _descend(self, cost: float) -> float:
        """Find the tree that is best by the bounds, keep it if it costs less than the best so far, and return the lower cost."""
        splits = _splits(lambda subset: int(kernels.best_split(subset, self.leaves, self.tables)), self.n)
        within = self.tables.within
        found = sum(
            _points(whole, self.leaves.sizes) * float(within[whole] - within[part] - within[whole ^ part])
            for whole, part in splits
        )
        if found < cost or self.best.n_leaves != self.n:
            self.best = _tree_of_splits(splits, self.n)
        return min(found, cost)


def _points(subset: int, sizes: Floats) -> float:
    return float(sum(size for leaf, size in enumerate(sizes.tolist()) if subset >> leaf & 1))


def _splits(part_of: Callable[[int], int], n: int) -> list[tuple[int, int]]:
    """Return the subsets, as bit masks, and one part of each, children before their parent."""
    splits, waiting = list[tuple[int, int]](), [(1 << n) - 1]
    while waiting:
        subset = waiting.pop()
        if subset & (subset - 1):
            part = part_of(subset)
            splits.append((subset, part))
            waiting += [part, subset ^ part]
    return splits[::-1]


def _tree_of_splits(splits: list[tuple[int, int]], n: int) -> Tree:
    node = {1 << leaf: leaf for leaf in range(n)} | {subset: n + t for t, (subset, _) in enumerate(splits)}
    return Tree(np.array([(node[s ^ part], node[part]) for s, part in splits], dtype=np.int64).reshape(-1, 2))
