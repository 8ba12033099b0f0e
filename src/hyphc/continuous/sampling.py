"""Which triplets a step uses. Each class estimates the whole triplet loss and its gradient without bias.

| class | triplets of one step |
|---|---|
| ``Blocks`` | all triplets inside blocks that partition the points at random; one block: the exact loss |
| ``Edges`` | edges of a graph with third points |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import NamedTuple, Protocol

import numpy as np

from .._kernels.continuous import objective as kernels
from .._shared.arrays import Floats, Ints
from ..similarity import Graph, Similarity
from ..similarity.base import by_kind
from .charts import Chart
from .objective import Map

# Third points drawn for an edge in one step, and the share of them drawn near one of its ends. Most triplets of a sparse
# graph are settled once the radius has grown; those that still teach something have a third point close by.
THIRDS = 2
NEAR = 0.5
# More edges than this are sampled, in proportion to their weights.
MAX_EDGES = 1 << 17
# A task of a pass holds at most so many pairs (2 MB of similarities); a pass has at least so many tasks, for threads to share.
TASK_PAIRS = 1 << 18
MIN_TASKS = 8
# What an explicit triplet costs, with its own logarithms and exponentials, in triplets of a block.
EXPLICIT_COST = 150


class Evaluation(NamedTuple):
    """Estimates of Σ_{ijk} (…), of its gradient for the parameters and for the radius; how many triplets they took."""

    value: float
    grad: Floats
    grad_radius: float
    n_triplets: int


class Sampler(Protocol):
    """What a step of the optimiser needs to know of the problem."""

    n_triplets: int
    work: int  # of a step, in the time that a triplet of a block takes

    def __call__(
        self, chart: Chart, params: Floats, radius: float, tau: float, rng: np.random.Generator
    ) -> Evaluation: ...


class Blocks:
    """Every point meets the triplets of one block: a pass takes n·B²/6 triplets and visits each point once.

    A triplet falls into one block of a random partition with probability Σ C(b, 3)/C(n, 3), b the sizes of the blocks; the
    inverse of that is the factor that makes the estimate unbiased. Blocks share no point: they run in any order, on any thread.
    """

    def __init__(self, similarity: Similarity, block_size: int, penalty: float, mapping: Map) -> None:
        self._similarity, self._penalty, self._mapping = similarity, penalty, mapping
        n = similarity.n
        n_blocks = max(1, -(-n // block_size))
        small, n_large = divmod(n, n_blocks)
        # (blocks, points in each): sizes differ by at most one
        self._shapes = [(n_large, small + 1), (n_blocks - n_large, small)]
        self._whole = similarity.to_dense() if n_blocks == 1 else None
        self.n_triplets = sum(count * comb(size, 3) for count, size in self._shapes)
        self.work = self.n_triplets
        self._scale = comb(n, 3) / max(self.n_triplets, 1)

    def __call__(self, chart: Chart, params: Floats, radius: float, tau: float, rng: np.random.Generator) -> Evaluation:
        sizes = self._similarity.sizes
        if self._whole is not None:
            exact = chart.block(params, radius, self._whole, tau, sizes, self._penalty, self._mapping)
            return Evaluation(*exact, self.n_triplets)
        grad = np.empty_like(params)

        def run(parts: Ints) -> tuple[float, float]:
            weights = self._similarity.blocks(parts)
            value, grad[parts], slope = chart.blocks(params[parts], radius, weights, tau, sizes[parts], self._penalty)
            return value, slope

        tasks = list(self._tasks(rng.permutation(self._similarity.n)))
        value, slope = np.array(list(self._mapping(run, tasks))).sum(axis=0).tolist()
        return Evaluation(self._scale * value, self._scale * grad, self._scale * slope, self.n_triplets)

    def _tasks(self, permutation: Ints) -> Iterator[Ints]:
        """The blocks of a partition, as arrays (blocks, points) of one size each that a thread takes at once."""
        start = 0
        for count, size in self._shapes:
            parts = permutation[start : start + count * size].reshape(count, size)
            start += count * size
            step = max(1, min(TASK_PAIRS // size**2, -(-count // MIN_TASKS)))
            for first in range(0, count, step):
                yield parts[first : first + step]


class Edges:
    """Edges with third points: Σ_{i<j} w_ij Σ_k s_k (1 − p_ij^k) needs only pairs with w_ij > 0.

    All edges while there are at most `MAX_EDGES`, otherwise so many drawn in proportion to weight; `THIRDS` third points for
    each, half of them uniform and half near an end in the circular order of the points, weighted by 1/probability.
    """

    def __init__(self, graph: Graph, penalty: float, mapping: Map) -> None:
        self._i, self._j, self._weights = graph.edges()
        self._sizes, self._penalty, self._mapping = graph.sizes, penalty, mapping
        self._cumulative = np.cumsum(self._weights)
        self._n_drawn = min(len(self._i), MAX_EDGES)
        self.n_triplets = THIRDS * self._n_drawn
        self.work = EXPLICIT_COST * self.n_triplets

    def __call__(self, chart: Chart, params: Floats, radius: float, tau: float, rng: np.random.Generator) -> Evaluation:
        ijk, weights = self.draw(chart.angles(params), rng)
        three = np.zeros((len(ijk), 3))
        three[:, 0] = weights
        value, grad, slope = chart.triplets(params, radius, ijk, three, tau, self._penalty * weights, self._mapping)
        return Evaluation(value, grad, slope, len(ijk))

    def draw(self, angles: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Triplets (T, 3), an edge and a third point each, and weights (T,) for which the sum is unbiased."""
        i, j, w = self._draw_edges(rng)
        i, j, w = np.repeat(i, THIRDS), np.repeat(j, THIRDS), np.repeat(w, THIRDS) / THIRDS
        order = np.argsort(np.remainder(angles, 2.0 * np.pi), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        k, inverse_chance = kernels.third_points(i, j, rng.random(len(i)), order, rank, NEAR)
        return np.column_stack([i, j, k]), w * inverse_chance * self._sizes[k]

    def _draw_edges(self, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
        if self._n_drawn == len(self._i):
            return self._i, self._j, self._weights
        total = self._cumulative[-1]
        drawn = np.searchsorted(self._cumulative, rng.random(self._n_drawn) * total, side="right")
        drawn = np.minimum(drawn, len(self._i) - 1)
        return self._i[drawn], self._j[drawn], np.full(self._n_drawn, total / self._n_drawn)


@by_kind
def sampler_of(
    similarity: Similarity, block_size: int, affordable: Callable[[int], int], penalty: float, mapping: Map
) -> Sampler:
    """How the triplets of a similarity are drawn; ``affordable`` tells the block that a budget leaves for so many points."""
    return Blocks(similarity, min(block_size, affordable(similarity.n)), penalty, mapping)


@sampler_of.register
def _(similarity: Graph, block_size: int, affordable: Callable[[int], int], penalty: float, mapping: Map) -> Sampler:
    return Edges(similarity, penalty, mapping)


def pair_of_number(number: Ints) -> tuple[Ints, Ints]:
    """The pairs i < j in the order (0, 1), (0, 2), (1, 2), (0, 3), …

    Examples
    --------
    >>> pair_of_number(np.array([0, 1, 2, 3]))
    (array([0, 0, 1, 0]), array([1, 2, 2, 3]))
    """
    j = ((1.0 + np.sqrt(1.0 + 8.0 * number)) / 2.0).astype(np.int64)
    # the root may round across a whole number
    j -= j * (j - 1) // 2 > number
    j += j * (j + 1) // 2 <= number
    return number - j * (j - 1) // 2, j
