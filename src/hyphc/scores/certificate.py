"""How far a tree can be from the best one: exact on a few leaves, certified from random subsets on many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from sklearn.utils import check_random_state

from .._kernels.scores import subset_optimum as kernels
from .._shared.arrays import Floats, Ints
from .._shared.parallel import thread_map
from ..similarity import Background, Blend, Graph, Similarity, SimilarityLike, check_similarity
from ..similarity.base import by_kind
from ..tree import Tree, TreeLike
from .bounds import cost_bounds
from .confidence import betting_interval
from .heights import with_similarity_heights
from .metrics import Units, check_pair, dasgupta_cost, in_units

MAX_LEAVES = (
    16  # of the dynamic programme: 3^16 / 2 steps take about 60 ms, its tables 1.8 MB; each leaf more, three times that
)
DEFAULT_SUBSETS = 2_000  # at k = 12 about a second on one core, for standard errors of a few hundredths of a per cent
N_WORST = 5

# Subsets that a thread takes at a time, each chunk with random numbers of its own: never a function of n_jobs.
_CHUNK = 32
# Up to so many leaves, subsets are drawn by ranking random numbers; above, starting again after a repeat is rare and cheaper.
_RANKED_UP_TO = 1_000
# The costs of two trees on m leaves never differ by more than this share of C(m, 3)·(largest weight): the largest
# Σ_{i<j} (difference of cluster sizes)⁺ over all pairs of trees is 1, 4, 8, 16, 26. By averaging over subsets the share never
# rises with m.
_LARGEST_SHARE = {3: 1.0, 4: 1.0, 5: 8 / 10, 6: 16 / 20, 7: 26 / 35}
# A graph with fewer edges than this share of all pairs counts as sparse.
_SPARSE_BELOW = 0.25


@dataclass(frozen=True)
class OptimalityGap:
    """How much more than the best tree a tree can cost; ``print`` says what it means.

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
        Whether all subsets were counted.
    k, n_subsets : int
        Leaves in a subset, and subsets counted.
    confidence : float
        Probability that the interval holds.
    weak : bool
        Whether subsets see too few edges of a sparse graph to say much.
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

    def __str__(self) -> str:
        above = f"{_percent(self.gap)} above the cost of the best tree"
        if self.exact and self.n_subsets == 1:
            head, source = f"Exactly {above}", "the best tree itself"
        elif self.exact:
            head, source = f"At most {above}", f"all {self.n_subsets} subsets of {self.k} leaves"
        else:
            certain = f"{_percent(self.confidence_interval[1])} with {100 * self.confidence:.6g} % confidence"
            head = f"At most {above} by estimate, {certain}"
            source = f"{self.n_subsets} random subsets of {self.k} leaves"
        lines = [
            f"{head}.",
            f"Cost {self.cost:.6g}, and no tree costs less than {self.lower_bound:.6g}: from {source}.",
        ]
        if self.weak:
            lines.append(
                "The graph is sparse: small subsets see few of its edges, so this bound is weak and says little of the tree."
            )
        return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def optimality_gap(
    tree: TreeLike,
    similarity: SimilarityLike,
    *,
    k: int = 12,
    n_subsets: int | None = None,
    confidence: float = 0.99,
    units: Units = "pairs",
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> OptimalityGap:
    """Upper bound on how much more than the best tree a tree costs, C(T) / C(T*) − 1, whatever the tree came from.

    The cost is a sum over triplets of leaves, so it is an average over subsets S of k leaves; on each, the tree costs at least
    as much as the best tree of that subset alone, which dynamic programming finds. Hence, with r = C(n, 3) / C(k, 3),

        C(T) − C(T*)  ≤  r · E_S[ C(T|S) − C(T*_S) ],

    a mean of small non-negative numbers. k = 3 is the triplet bound of ``cost_bounds``; larger k is never weaker.

    Parameters
    ----------
    tree : Tree or linkage matrix
    similarity : Similarity, dense matrix or sparse matrix
    k : int, 3 … 16
        Leaves in a subset; all of them if the tree has fewer. The time grows as 3^k: half a millisecond a subset at 12, 5 at 14.
    n_subsets : int, optional
        Random subsets to draw, 2 000 by default. If there are no more than so many, each is counted and the bound is exact.
    confidence : float
        Coverage of the interval, by betting against candidate means: valid for any distribution of the differences
        (they are bounded, non-negative and skewed), not a normal approximation. See ``docs/certificate.md``.
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
    O(n_subsets·3^k) time beyond that of ``dasgupta_cost``, O(n) memory. The bound is never worse than what is known without
    subsets: that every pair lies in a cluster of two points at least and, for graphs, the exact triplet bound.

    Examples
    --------
    >>> W = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> print(optimality_gap([[0, 2, 1, 2], [1, 3, 1, 2], [4, 5, 2, 4]], W))
    Exactly 40.00 % above the cost of the best tree.
    Cost 28, and no tree costs less than 20: from the best tree itself.
    """
    tree, similarity = check_pair(tree, similarity)
    _check_options(k, n_subsets, confidence)
    n, k, limit = similarity.n, min(k, similarity.n), DEFAULT_SUBSETS if n_subsets is None else n_subsets
    cost, floor = dasgupta_cost(tree, similarity), least_cost(similarity)
    shown_cost = in_units(cost, similarity, units)
    exact = comb(n, k) <= limit
    draw, n_chunks = _enumeration(n, k) if exact else _sampling(n, k, limit, random_state)
    subsets, excesses = _subset_excesses(tree, similarity, draw, n_chunks, n_jobs)
    mean = low = high = float(excesses.mean())
    if not exact:
        low, high = _interval(excesses, _largest_excess(similarity, k), confidence)
    ratio = comb(n, 3) / max(comb(k, 3), 1)
    mean, low, high = (max(0.0, min(ratio * excess, cost - floor)) for excess in (mean, low, high))
    return OptimalityGap(
        gap=_relative(mean, cost),
        confidence_interval=(_relative(low, cost), _relative(high, cost)),
        lower_bound=in_units(cost - high, similarity, units),
        cost=shown_cost,
        worst_subsets=_worst(subsets, excesses),
        exact=exact,
        k=k,
        n_subsets=len(excesses),
        confidence=confidence,
        weak=k < n and similarity.n_pairs < _SPARSE_BELOW * comb(n, 2),
    )


def exact_tree(similarity: SimilarityLike) -> Tree:
    """A tree of least cost, by dynamic programming over all subsets of the leaves: at most 16 leaves.

    Heights are those of ``with_similarity_heights``. Of several best trees, always the same one is returned.

    Notes
    -----
    O(3^n) time, 60 ms for 16 leaves, and 28·2^n bytes, 1.8 MB.

    Examples
    --------
    >>> exact_tree([[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]).to_newick(branch_lengths=False)
    '((0,1),(2,3));'
    """
    similarity = check_similarity(similarity)
    n = similarity.n
    if n > MAX_LEAVES:
        raise ValueError(
            f"exact_tree searches all trees and takes up to {MAX_LEAVES} leaves; got {n}: build a tree with HypHC or a "
            "baseline, and ask optimality_gap how far it is from the best."
        )
    within, points, costs = np.empty(1 << n), np.empty(1 << n), np.empty(1 << n)
    parts = np.empty(1 << n, dtype=np.int32)
    kernels.within_sums(similarity.to_dense(), similarity.sizes, within, points)
    kernels.optimal_costs(within, points, costs, parts)
    return with_similarity_heights(_tree_of_splits(parts.tolist(), n), similarity)


def _tree_of_splits(parts: list[int], n: int) -> Tree:
    """The tree whose subsets S, as bit masks, split into parts[S] and the rest."""
    splits, waiting = [], [(1 << n) - 1]
    while waiting:
        mask = waiting.pop()
        if parts[mask]:
            splits.append(mask)
            waiting += [parts[mask], mask ^ parts[mask]]
    splits.reverse()  # children before their parent
    node = {1 << leaf: leaf for leaf in range(n)} | {mask: n + t for t, mask in enumerate(splits)}
    return Tree(
        np.array([(node[mask ^ parts[mask]], node[parts[mask]]) for mask in splits], dtype=np.int64).reshape(-1, 2)
    )


def _check_options(k: int, n_subsets: int | None, confidence: float) -> None:
    if not 3 <= k <= MAX_LEAVES:
        raise ValueError(f"k={k} must lie between 3, the triplet bound, and {MAX_LEAVES}: the time grows as 3^k.")
    if n_subsets is not None and n_subsets < 1:
        raise ValueError(f"n_subsets={n_subsets} leaves nothing to average; choose n_subsets >= 1.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1, for instance 0.99.")


def _enumeration(n: int, k: int) -> tuple[Callable[[int], Ints], int]:
    """All subsets as a function from the number of a chunk to its subsets, (m, k), and the number of chunks."""
    subsets = np.array(list(combinations(range(n), k)), dtype=np.int64)
    return lambda c: subsets[c * _CHUNK : (c + 1) * _CHUNK], -(-len(subsets) // _CHUNK)


def _sampling(
    n: int, k: int, n_subsets: int, random_state: int | np.random.RandomState | None
) -> tuple[Callable[[int], Ints], int]:
    """The same for independent uniform subsets; those of a chunk are a function of the seed and its number."""
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

    def draw(c: int) -> Ints:
        return _random_subsets(n, k, min(_CHUNK, n_subsets - c * _CHUNK), np.random.default_rng((seed, c)))

    return draw, -(-n_subsets // _CHUNK)


def _random_subsets(n: int, k: int, m: int, rng: np.random.Generator) -> Ints:
    """m uniform subsets of k leaves, (m, k)."""
    if n <= _RANKED_UP_TO:
        return np.argpartition(rng.random((m, n)), k - 1, axis=1)[:, :k]
    subsets = rng.integers(n, size=(m, k))
    while True:
        ordered = np.sort(subsets, axis=1)
        repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeats.any():
            return subsets
        subsets[repeats] = rng.integers(n, size=(int(repeats.sum()), k))


def _subset_excesses(
    tree: Tree, similarity: Similarity, draw: Callable[[int], Ints], n_chunks: int, n_jobs: int | None
) -> tuple[Ints, Floats]:
    """The subsets, leaves from left to right in the tree, (N, k), and C(T|S) − C(T*_S) of each, (N,)."""
    position, tables = tree._first, tree._lca_tables

    def excesses_of(c: int) -> tuple[Ints, Floats]:
        leaves = draw(c)
        leaves = np.take_along_axis(leaves, np.argsort(position[leaves], axis=1), axis=1)
        excesses = np.empty(len(leaves))
        kernels.subset_excesses(
            similarity.blocks(leaves), similarity.sizes[leaves], position[leaves], *tables, excesses
        )
        return leaves, excesses

    chunks = thread_map(excesses_of, range(n_chunks), n_jobs)
    return np.concatenate([leaves for leaves, _ in chunks]), np.concatenate([values for _, values in chunks])


def _largest_excess(similarity: Similarity, k: int) -> float:
    """What C(T|S) − C(T*_S) can be at most, for any tree and any k leaves."""
    if (similarity.sizes == 1).all():
        return _LARGEST_SHARE[min(k, 7)] * comb(k, 3) * similarity.range_of_leaves()
    largest = float(similarity.sizes.max())
    return comb(k, 3) * similarity.range_of_leaves() * largest


def _interval(excesses: Floats, largest: float, confidence: float) -> tuple[float, float]:
    if largest == 0:
        return 0.0, 0.0
    low, high = betting_interval(np.minimum(excesses / largest, 1.0), confidence)
    return low * largest, high * largest


@by_kind
def least_cost(similarity: Similarity) -> float:
    """A cost that no tree undercuts, known for sure: every pair lies in a cluster of its own points at least."""
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
    """C / (C − excess) − 1; infinite where the best tree may cost nothing at all."""
    if excess <= 0:
        return 0.0
    return excess / (cost - excess) if cost > excess else np.inf


def _worst(subsets: Ints, excesses: Floats) -> tuple[tuple[int, ...], ...]:
    found: dict[tuple[int, ...], None] = {}  # in order, and each subset once
    for q in np.argsort(-excesses, kind="stable"):
        if len(found) == N_WORST or excesses[q] == 0:
            break
        found[tuple(sorted(subsets[q].tolist()))] = None
    return tuple(found)
