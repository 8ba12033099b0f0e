"""Subset bound: the cost of a tree as an average over small subsets of its leaves, and its excess on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from sklearn.utils import check_random_state

from .._kernels.scores import subset_optimum as kernels
from .._runtime.arrays import Floats, Ints
from .._runtime.parallel import thread_map
from ..similarity import Similarity
from ..tree import Tree
from .confidence import betting_interval
from .exact_tree import least_cost_of

N_WORST = 5

# Subsets that a thread takes at a time, each chunk with random numbers of its own: never a function of n_jobs.
_CHUNK = 32
_DYNAMIC_UP_TO = 13  # leaves; above, branch and bound is quicker than the whole dynamic programme
# Up to so many leaves, subsets are drawn by ranking random numbers; above, starting again after a repeat is rare and cheaper.
_RANKED_UP_TO = 1_000
# The costs of two trees on m leaves never differ by more than this share of C(m, 3)·(largest weight): the largest
# Σ_{i<j} (difference of cluster sizes)⁺ over all pairs of trees is 1, 4, 8, 16, 26. By averaging over subsets the share never
# rises with m.
LARGEST_SHARE = {3: 1.0, 4: 1.0, 5: 8 / 10, 6: 16 / 20, 7: 26 / 35}

Draw = Callable[[int], Ints]  # from the number of a chunk to its subsets, (m, k)


@dataclass(frozen=True)
class Sample:
    """Subsets of k of n leaves: all of them if ``complete``, else independent and uniform."""

    n: int
    k: int
    draw: Draw
    n_chunks: int
    complete: bool

    def excesses(self, tree: Tree, similarity: Similarity, n_jobs: int | None) -> tuple[Ints, Floats]:
        """Return the subsets, leaves from left to right in the tree, (N, k), and C(T|S) − C(T*_S) of each, (N,)."""
        position, tables = tree._first, tree._lca_tables

        def excesses_of(c: int) -> tuple[Ints, Floats]:
            leaves = self.draw(c)
            leaves = np.take_along_axis(leaves, np.argsort(position[leaves], axis=1), axis=1)
            weights, sizes = similarity.blocks(leaves), similarity.sizes[leaves]
            costs = np.empty(len(leaves))
            kernels.restricted_costs(weights, sizes, position[leaves], *tables, costs)
            excesses = costs - least_costs(weights, sizes, costs)
            return leaves, np.where(excesses > kernels.ROUNDING * costs, excesses, 0.0)

        chunks = thread_map(excesses_of, range(self.n_chunks), n_jobs)
        return np.concatenate([leaves for leaves, _ in chunks]), np.concatenate([values for _, values in chunks])


def least_costs(weights: Floats, sizes: Floats, costs: Floats) -> Floats:
    """Return the least cost of a tree of each subset, given the costs of some trees; weights (m, k, k), sizes (m, k)."""
    if weights.shape[1] > _DYNAMIC_UP_TO:
        return np.array([least_cost_of(*subset) for subset in zip(weights, sizes, costs.tolist(), strict=True)])
    least = np.empty(len(weights))
    kernels.least_costs(weights, sizes, least)
    return least


def sample_of(n: int, k: int, n_subsets: int, random_state: int | np.random.RandomState | None) -> Sample:
    """Return all subsets if there are no more than ``n_subsets``, else so many random ones."""
    if comb(n, k) <= n_subsets:
        subsets = np.array(list(combinations(range(n), k)), dtype=np.int64)
        return Sample(n, k, lambda c: subsets[c * _CHUNK : (c + 1) * _CHUNK], -(-len(subsets) // _CHUNK), True)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

    def draw(c: int) -> Ints:  # a function of the seed and the number of the chunk
        return random_subsets(n, k, min(_CHUNK, n_subsets - c * _CHUNK), np.random.default_rng((seed, c)))

    return Sample(n, k, draw, -(-n_subsets // _CHUNK), False)


def random_subsets(n: int, k: int, m: int, rng: np.random.Generator) -> Ints:
    """Return m uniform subsets of k leaves, (m, k)."""
    if n <= _RANKED_UP_TO:
        return np.argpartition(rng.random((m, n)), k - 1, axis=1)[:, :k]
    subsets = rng.integers(n, size=(m, k))
    while True:
        ordered = np.sort(subsets, axis=1)
        repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeats.any():
            return subsets
        subsets[repeats] = rng.integers(n, size=(int(repeats.sum()), k))


def largest_excess(similarity: Similarity, k: int) -> float:
    """Return an upper bound on C(T|S) − C(T*_S), for any tree and any k leaves."""
    if (similarity.sizes == 1).all():
        return LARGEST_SHARE[min(k, 7)] * comb(k, 3) * similarity.range_of_leaves()
    largest = float(similarity.sizes.max())
    return comb(k, 3) * similarity.range_of_leaves() * largest


def excess_interval(
    sample: Sample, similarity: Similarity, excesses: Floats, confidence: float
) -> tuple[float, float, float]:
    """Return mean and interval of r·E_S[C(T|S) − C(T*_S)], r = C(n, 3) / C(k, 3), a bound on C(T) − C(T*)."""
    ratio, mean = comb(sample.n, 3) / max(comb(sample.k, 3), 1), float(excesses.mean())
    largest = 0.0 if sample.complete else largest_excess(similarity, sample.k)
    if largest == 0:
        return ratio * mean, ratio * mean, ratio * mean
    low, high = betting_interval(np.minimum(excesses / largest, 1.0), confidence)
    return ratio * mean, ratio * low * largest, ratio * high * largest


def worst_subsets(subsets: Ints, excesses: Floats) -> tuple[tuple[int, ...], ...]:
    found: dict[tuple[int, ...], None] = {}  # in order, and each subset once
    for q in np.argsort(-excesses, kind="stable"):
        if len(found) == N_WORST or excesses[q] == 0:
            break
        found[tuple(sorted(subsets[q].tolist()))] = None
    return tuple(found)
