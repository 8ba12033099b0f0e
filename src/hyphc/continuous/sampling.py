"""Samplers of triplets. Each estimates the loss of all triplets and its gradient without bias.

| class | triplets of one step |
|---|---|
| ``Blocks`` | all triplets inside blocks that partition the points at random; one block: the exact loss |
| ``Edges`` | edges of a graph with third points |
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import NamedTuple, Protocol

import numpy as np

from .._kernels.continuous.edge_steps import Circular, EdgeArrays, weighted_third_points
from .._runtime.arrays import Floats, Ints
from ..similarity import Blend, Graph, Similarity
from ..similarity.base import by_kind
from .manifolds import Chart
from .objective import Map

# Third points of an edge in one step: one far, one near.
THIRDS = 2
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
    """Estimates the loss and its gradient from a sample of triplets."""

    n_triplets: int
    work: int  # of a step, in the time that a triplet of a block takes

    def __call__(
        self, chart: Chart, params: Floats, radius: float, tau: float, rng: np.random.Generator
    ) -> Evaluation: ...


class Blocks:
    """All triplets inside random blocks of size B: a pass takes n·B²/6 triplets, and each point is in one block.

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
        """Yield the blocks of a partition, as arrays (blocks, points) of one size each, one array a task."""
        start = 0
        for count, size in self._shapes:
            parts = permutation[start : start + count * size].reshape(count, size)
            start += count * size
            step = max(1, min(TASK_PAIRS // size**2, -(-count // MIN_TASKS)))
            for first in range(0, count, step):
                yield parts[first : first + step]


class Edges:
    """Edges with third points: Σ_{i<j} w_ij Σ_k s_k (1 − p_ij^k) needs only pairs with w_ij > 0.

    All edges while there are at most `MAX_EDGES`, otherwise so many drawn in proportion to weight; two third points for each,
    one of all points and one near an end in the circular order of the points, weighted by 1/(expected draws).
    """

    def __init__(self, graph: Graph, penalty: float, mapping: Map) -> None:
        i, j, weights = graph.edges()
        self.edges = EdgeArrays(i, j, weights, np.cumsum(weights), graph.sizes, min(len(i), MAX_EDGES))
        self.penalty, self.mapping = penalty, mapping
        self._chances, self._n_scales = near_probabilities(graph.n)
        self.n_triplets = THIRDS * self.edges.n_drawn
        self.work = EXPLICIT_COST * self.n_triplets

    def __call__(self, chart: Chart, params: Floats, radius: float, tau: float, rng: np.random.Generator) -> Evaluation:
        ijk, weights = self.draw(chart.angles(params), rng)
        three = np.zeros((len(ijk), 3))
        three[:, 0] = weights
        value, grad, slope = chart.triplets(params, radius, ijk, three, tau, self.penalty * weights, self.mapping)
        return Evaluation(value, grad, slope, len(ijk))

    def draw(self, angles: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return triplets (T, 3), an edge and a third point each, and weights (T,) for which the sum is unbiased."""
        i, j, w = self._draw_edges(rng)
        k, weights = weighted_third_points(i, j, self.circular(angles), int(rng.integers(2**62)))
        ijk = np.column_stack([np.repeat(i, THIRDS), np.repeat(j, THIRDS), k.ravel()])
        outside = weights.ravel() > 0.0
        return ijk[outside], (w[:, None] * weights * self.edges.sizes[k]).ravel()[outside]

    def circular(self, angles: Floats) -> Circular:
        """Return the order of the points around the circle, from which third points are drawn."""
        order = np.argsort(np.remainder(angles, 2.0 * np.pi), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return Circular(order, rank, self._chances, self._n_scales)

    def _draw_edges(self, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
        i, j, weights, cumulative, _, n_drawn = self.edges
        if n_drawn == len(i):
            return i, j, weights
        total = cumulative[-1]
        drawn = np.minimum(np.searchsorted(cumulative, rng.random(n_drawn) * total, side="right"), len(i) - 1)
        return i[drawn], j[drawn], np.full(n_drawn, total / n_drawn)


def near_probabilities(n: int) -> tuple[Floats, int]:
    """Return the probability that a near third point is d places from an end of its edge, d = 0 … n/2, and the number of scales.

    A scale s is 2^s to 2^(s+1) − 1 places, all equally likely, as are the scales, the ends and the sides of an end; they are
    so many that the two sides of a point do not overlap.
    """
    n_scales = ((n + 1) // 2).bit_length() - 1
    places = np.arange(n // 2 + 1)
    scale = np.frexp(np.maximum(places, 1))[1] - 1
    return np.where((places > 0) & (scale < n_scales), 0.25 / (max(1, n_scales) * 2.0**scale), 0.0), n_scales


class Both:
    """The samplers of two parts of a similarity: estimates are added, since the loss is linear in w."""

    def __init__(self, one: Sampler, two: Sampler) -> None:
        self._parts = one, two
        self.n_triplets = one.n_triplets + two.n_triplets
        self.work = one.work + two.work

    def __call__(self, chart: Chart, params: Floats, radius: float, tau: float, rng: np.random.Generator) -> Evaluation:
        one, two = (part(chart, params, radius, tau, rng) for part in self._parts)
        return Evaluation(
            one.value + two.value,
            one.grad + two.grad,
            one.grad_radius + two.grad_radius,
            one.n_triplets + two.n_triplets,
        )


@by_kind
def make_sampler(similarity: Similarity, block_size: int, penalty: float, mapping: Map) -> Sampler:
    """Return the sampler of a similarity, with blocks of at most ``block_size`` points."""
    return Blocks(similarity, block_size, penalty, mapping)


@make_sampler.register
def _(similarity: Graph, block_size: int, penalty: float, mapping: Map) -> Sampler:
    return Edges(similarity, penalty, mapping)


@make_sampler.register
def _(similarity: Blend, block_size: int, penalty: float, mapping: Map) -> Sampler:
    # the penalty is one of all triplets: it goes with the part that samples from all of them
    edges: Sampler = make_sampler(similarity.graph, block_size, 0.0, mapping)
    return Both(edges, make_sampler(similarity.background, block_size, penalty, mapping))


def pair_of_number(number: Ints) -> tuple[Ints, Ints]:
    """Return the pairs i < j by their numbers in the order (0, 1), (0, 2), (1, 2), (0, 3), …

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
