"""Optimality gap of a tree: exact on a few leaves, bounded by subsets and by spreading metrics on many."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import comb
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.validation import check_effort
from ..similarity import Background, Blend, Dense, Graph, Similarity, SimilarityLike
from ..similarity.base import by_kind
from ..tree import Tree, TreeLike
from .bounds import cost_bounds
from .costs import Units, check_pair, cost_of, in_units
from .gap_by_level import LooseLevel, loosest_levels
from .spreading_metrics import SpreadingBound, spreading_bound
from .subset_bound import Sample, excess_interval, sample_of, worst_subsets

DEFAULT_K = 13
LARGEST_K = 20  # by branch and bound about half a second a subset; up to so many leaves the best tree itself is found
DEFAULT_SUBSETS = 2_000  # two seconds on one core at k = 13, for standard errors of a few hundredths of a per cent

# A graph with fewer edges than this share of all pairs counts as sparse. For others subsets are sharp, and packings slow.
_SPARSE_BELOW = 0.25
_SMALL = 200  # leaves up to which a dense graph is packed too
_WEAK_ABOVE = 1.0  # a gap of more than 100 %: the best tree may cost less than half, and nothing of use is certified

# Methods that certify a gap, and how they are described.
METHODS = {
    "best tree": "the best tree itself",
    "subsets": "{subsets}",
    "spreading": "spreading metrics, packings of paths at {levels} levels",
    "spreading and subsets": "spreading metrics for the graph and {subsets} for the background",
    "pairs": "pairs and triplets of leaves",
}


@dataclass(frozen=True, repr=False)
class OptimalityGap:
    """Bound on how much more than the best tree a tree costs; ``print`` explains it.

    Attributes
    ----------
    gap : float
        Estimated upper bound on C(T) / C(T*) − 1; the bound itself when ``exact``, and the true gap when also k = n.
    confidence_interval : (float, float)
        Holds that bound with probability at least ``confidence``, so the true gap is at most the upper end. Both ends are
        ``gap`` when exact.
    lower_bound : float
        What the upper end says about the best tree: C(T*) ≥ lower_bound = cost / (1 + confidence_interval[1]).
    cost : float
        C(T), in the units asked for, as ``lower_bound``.
    worst_subsets : tuple of tuples of int
        Up to five of the subsets seen on which the tree is furthest from optimal, worst first.
    exact : bool
        Whether the bound is deterministic: all subsets were counted, or packings decide.
    k, n_subsets : int
        Leaves in a subset, and subsets counted.
    confidence : float
        Probability that the interval holds.
    weak : bool
        Whether nothing of use could be certified: the upper end of the interval is above 100 %. ``print`` and ``repr`` then
        show the reason instead of values that look like a proof; the attributes have the values.
    reason : str
        Why nothing could be certified; empty if something was.
    method : {"best tree", "subsets", "spreading", "spreading and subsets", "pairs"}
        What decided: the bound that certifies most.
    loose_levels : tuple of LooseLevel
        For graphs, up to three levels at which the tree's clusters leave most between them beyond what every tree must leave.
    n_levels : int
        Levels at which paths were packed.
    """

    gap: float
    confidence_interval: tuple[float, float]
    lower_bound: float
    cost: float
    worst_subsets: tuple[tuple[int, ...], ...]
    exact: bool
    k: int
    n_subsets: int
    confidence: float
    weak: bool
    method: str
    loose_levels: tuple[LooseLevel, ...]
    n_levels: int
    reason: str = ""

    def __repr__(self) -> str:
        if self.weak:
            return f"OptimalityGap(nothing certified: {self.reason}; cost={self.cost:.6g})"
        return f"OptimalityGap({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields(self))})"

    def __str__(self) -> str:
        if self.weak:
            return (
                f"Nothing could be certified of this tree, of cost {self.cost:.6g}: the best may cost less than half of that, "
                f"or nearly as much; {self.reason}."
            )
        above = f"{_percent(self.gap)} above the cost of the best tree"
        if self.method == "best tree":
            head = f"Exactly {above}"
        elif self.exact:
            head = f"At most {above}, for certain"
        else:
            certain = f"{_percent(self.confidence_interval[1])} with {100 * self.confidence:.6g} % confidence"
            head = f"At most {above} by estimate, {certain}"
        drawn = f"all {self.n_subsets}" if self.exact else f"{self.n_subsets} random"
        source = METHODS[self.method].format(subsets=f"{drawn} subsets of {self.k} leaves", levels=self.n_levels)
        lines = [
            f"{head}.",
            f"Cost {self.cost:.6g}, and no tree costs less than {self.lower_bound:.6g}: from {source}.",
        ]
        for level in self.loose_levels[:1]:
            lines.append(
                f"Most room at clusters of up to {level.t:.6g}: edges of weight {level.cut:.6g} run between them, and every "
                f"tree leaves {level.bound:.6g} at least."
            )
        return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def optimality_gap(
    tree: TreeLike,
    similarity: SimilarityLike,
    *,
    k: int | None = None,
    n_subsets: int | None = None,
    confidence: float = 0.99,
    effort: float = 1.0,
    time_budget: float | None = None,
    units: Units = "pairs",
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> OptimalityGap:
    """Return an upper bound on how much more than the best tree a tree costs, C(T) / C(T*) − 1.

    Two bounds are found, and the one that certifies more is reported. **Subsets**, sharp on dense similarities: the cost is a sum
    over triplets of leaves, so it is an average over subsets S of k leaves; on each, the tree costs at least as much as the
    best tree of that subset alone, which dynamic programming or branch and bound finds. Hence, with r = C(n, 3) / C(k, 3),

        C(T) − C(T*)  ≤  r · E_S[ C(T|S) − C(T*_S) ],

    a mean of small non-negative numbers. k = 3 is the triplet bound of ``cost_bounds``; larger k is never weaker.
    **Spreading metrics**, sharper on sparse graphs: see ``spreading_bound``; they are deterministic. Costs of a blend
    add, and so do lower bounds: its graph is bounded by packings, and its background by subsets where that is better.

    Parameters
    ----------
    tree : Tree or linkage matrix
    similarity : Similarity, dense matrix or sparse matrix
    k : int, 3 … 20, optional
        Leaves in a subset; all of them if the tree has fewer. By default all of up to 20, so that the best tree is found, and
        13 of more. A millisecond a subset at 13, some 10 at 16, some hundreds at 20.
    n_subsets : int, optional
        Random subsets to draw, 2 000 by default. If there are no more than so many, each is counted and the bound is exact.
    confidence : float
        Coverage of the interval, by betting against candidate means: valid for any distribution of the differences
        (they are bounded, non-negative and skewed), not a normal approximation. See ``docs/notes/certificate.md``.
    effort : float
        Of the spreading metrics: 1 is up to a minute for a large graph, 0.1 some seconds. Other similarities ignore it.
    time_budget : float, optional
        Seconds that the packings may take, at most; the result then depends on the machine.
    units : as in ``dasgupta_cost``, for ``cost`` and ``lower_bound``
    random_state : int, RandomState or None
        Draws the subsets.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    OptimalityGap

    Notes
    -----
    O(n_subsets·3^k) time at most beyond that of ``dasgupta_cost`` and ``spreading_bound``, O(n) memory. The bound is never
    worse than what is known without either: that every pair lies in a cluster of two points at least and, for graphs, the
    exact triplet bound.

    Examples
    --------
    >>> W = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> print(optimality_gap([[0, 2, 1, 2], [1, 3, 1, 2], [4, 5, 2, 4]], W))
    Exactly 40.00 % above the cost of the best tree.
    Cost 28, and no tree costs less than 20: from the best tree itself.
    """
    tree, similarity = check_pair(tree, similarity)
    if k is None:
        k = LARGEST_K if similarity.n <= LARGEST_K else DEFAULT_K
    _check_options(k, n_subsets, confidence)
    check_effort(effort)
    k = min(k, similarity.n)
    cost = cost_of(similarity, tree)
    shown_cost = in_units(cost, similarity, units)
    sample = sample_of(similarity.n, k, DEFAULT_SUBSETS if n_subsets is None else n_subsets, random_state)
    graph = graph_part(similarity) if k < similarity.n else None
    spread = spreading_bound(graph, effort=effort, time_budget=time_budget, n_jobs=n_jobs) if graph else None
    subsets, excesses = sample.excesses(tree, similarity, n_jobs)
    best = _least_excess(tree, similarity, sample, excesses, spread, confidence, n_jobs)
    limit = _relative(best.high, cost)
    weak = limit > _WEAK_ABOVE and k < similarity.n
    return OptimalityGap(
        gap=_relative(best.mean, cost),
        confidence_interval=(_relative(best.low, cost), limit),
        lower_bound=in_units(cost - best.high, similarity, units),
        cost=shown_cost,
        worst_subsets=worst_subsets(subsets, excesses),
        exact=sample.complete or best.low == best.high,
        k=k,
        n_subsets=len(excesses),
        confidence=confidence,
        weak=weak,
        reason=_why_weak(similarity, _relative(best.mean, cost), k, len(excesses)) if weak else "",
        method=best.method,
        loose_levels=loosest_levels(tree, graph, spread) if graph and spread else (),
        n_levels=len(spread.packings) if spread else 0,
    )


class _Excess(NamedTuple):
    """Bound on how much more than the best tree a tree costs: an estimate, and an interval of it."""

    method: str
    mean: float
    low: float
    high: float


def _least_excess(
    tree: Tree,
    similarity: Similarity,
    sample: Sample,
    excesses: Floats,
    spread: SpreadingBound | None,
    confidence: float,
    n_jobs: int | None,
) -> _Excess:
    """Return the bound that certifies most."""
    cost = cost_of(similarity, tree)
    rest = similarity.background if isinstance(similarity, Blend) and spread else None
    # two intervals hold together if each misses half as often
    each = confidence if rest is None else (1 + confidence) / 2
    method = "best tree" if sample.k == similarity.n else "subsets"
    bounds = [_Excess(method, *excess_interval(sample, similarity, excesses, each))]
    bounds.append(_Excess("pairs", *[cost - least_cost(similarity)] * 3))
    if spread is not None:
        bounds.append(_Excess("spreading", *[cost - spread.lower - (least_cost(rest) if rest else 0.0)] * 3))
    if spread is not None and rest is not None:
        of_graph = cost - cost_of(rest, tree) - spread.lower
        interval = excess_interval(sample, rest, sample.excesses(tree, rest, n_jobs)[1], each)
        bounds.append(_Excess("spreading and subsets", *(of_graph + end for end in interval)))
    method, *ends = min(bounds, key=lambda bound: bound.high)
    return _Excess(method, *(max(0.0, end) for end in ends))


def _why_weak(similarity: Similarity, estimate: float, k: int, n_subsets: int) -> str:
    """Return why the best bound leaves more than 100 %, and what may help."""
    if _is_sparse(similarity.n, similarity.n_pairs):
        return "the graph is sparse, where proofs are hard (a larger effort may find one)"
    if estimate <= _WEAK_ABOVE:
        return f"{n_subsets} subsets of {k} leaves are too few for the confidence asked for (draw more: n_subsets)"
    return f"subsets of {k} leaves show no more (larger ones may: k)"


def _is_sparse(n: int, n_pairs: int) -> bool:
    return n_pairs < _SPARSE_BELOW * comb(n, 2)


@by_kind
def graph_part(similarity: Similarity) -> Graph | None:
    """Return the part of a similarity that spreading metrics can bound, if there is one; costs of parts add."""
    return None


@graph_part.register
def _(similarity: Graph) -> Graph | None:
    return similarity if similarity.n <= _SMALL or _is_sparse(similarity.n, similarity.n_edges) else None


@graph_part.register
def _(similarity: Blend) -> Graph | None:
    return graph_part(similarity.graph)


@graph_part.register
def _(similarity: Dense) -> Graph | None:
    if not _is_sparse(similarity.n, int(np.count_nonzero(similarity.W)) // 2):
        return None
    return Graph(sp.csr_array(similarity.W), sizes=similarity.sizes)


def _check_options(k: int, n_subsets: int | None, confidence: float) -> None:
    if not 3 <= k <= LARGEST_K:
        raise ValueError(
            f"k={k} must lie between 3, the triplet bound, and {LARGEST_K}: the time grows as 2^k or faster."
        )
    if n_subsets is not None and n_subsets < 1:
        raise ValueError(f"n_subsets={n_subsets} leaves nothing to average; choose n_subsets >= 1.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1, for instance 0.99.")


@by_kind
def least_cost(similarity: Similarity) -> float:
    """Return a cost that no tree undercuts: every pair lies in a cluster of its own points at least."""
    return float(similarity.sizes @ similarity.degrees())


@least_cost.register
def _(similarity: Graph) -> float:
    pairs = float(similarity.sizes @ similarity.degrees())
    return max(pairs, cost_bounds(similarity).lower) if (similarity.sizes == 1).all() else pairs


@least_cost.register
def _(similarity: Background) -> float:
    # with the constant that leaves no similarity negative; a constant costs every tree the same
    shift, sizes = similarity.shift(), similarity.sizes
    n_points = float(sizes.sum())
    others = sizes * (n_points - sizes)
    clique = (n_points**3 - float((sizes**3).sum())) / 3
    return float(sizes @ (similarity.degrees() + shift * others)) - shift * clique


@least_cost.register
def _(similarity: Blend) -> float:
    return sum(least_cost(part) for part in similarity.parts)


def _relative(excess: float, cost: float) -> float:
    """Return C / (C − excess) − 1; infinite where the best tree may cost nothing at all."""
    if excess <= 0:
        return 0.0
    return excess / (cost - excess) if cost > excess else np.inf
