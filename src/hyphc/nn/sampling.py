"""Samplers of triplets: uniform ones, the paper's pairs with a third point, edges of a graph, whole blocks.

Each sampler draws from a `Similarity` with NumPy's generator and hands out tensors; the expected `HypHCLoss` of what
it draws is the mean over all triplets. No triplet repeats a point and no list of n² pairs is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .._runtime.arrays import Ints
from ..continuous.sampling import pair_of_number
from ..similarity import Similarity, SimilarityLike, check_similarity

Seed = int | np.random.Generator | None


class _Sampler:
    """A similarity, a source of random numbers, and where tensors go."""

    def __init__(
        self,
        similarity: SimilarityLike,
        *,
        random_state: Seed = None,
        device: Any = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.similarity: Similarity = check_similarity(similarity)
        if self.similarity.n < 3:
            raise ValueError(f"{self.similarity.n} points have no triplets; at least 3 are needed.")
        self.rng = np.random.default_rng(random_state)
        self.device, self.dtype = device, dtype

    def _tensors(self, index: Ints, weights: npt.NDArray[Any]) -> tuple[Tensor, Tensor]:
        return (
            torch.from_numpy(np.ascontiguousarray(index)).to(self.device),
            torch.as_tensor(weights, dtype=self.dtype, device=self.device),
        )

    def _with_similarities(self, ijk: Ints) -> tuple[Tensor, Tensor]:
        i, j, k = ijk.T
        weights = [self.similarity.pairs(a, b) for a, b in ((i, j), (i, k), (j, k))]
        return self._tensors(ijk, np.column_stack(weights))


class TripletSampler(_Sampler):
    """Triplets drawn uniformly: ``sampler(size)`` → triplets (size, 3), similarities (size, 3).

    Examples
    --------
    >>> triplets, similarities = TripletSampler(np.ones((5, 5)), random_state=0)(100)
    >>> triplets.shape, similarities.shape, len(set(triplets[0].tolist()))
    (torch.Size([100, 3]), torch.Size([100, 3]), 3)
    """

    def __call__(self, size: int) -> tuple[Tensor, Tensor]:
        n = self.similarity.n
        i = self.rng.integers(n, size=size)
        j = _other_than(i[:, None], self.rng.integers(n - 1, size=size))
        k = _other_than(np.column_stack([i, j]), self.rng.integers(n - 2, size=size))
        return self._with_similarities(np.column_stack([i, j, k]))


class PairSampler(_Sampler):
    """The paper's epochs: every pair once, in random order, each with a third point drawn from all others.

    ``epoch(batch)`` yields (triplets, similarities) of up to ``batch`` rows. The order is that of a random
    arithmetic progression modulo the number of pairs, which visits each pair once and needs no list of them.
    """

    def epoch(self, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        n = self.similarity.n
        total = n * (n - 1) // 2
        step = _coprime(total, min(total, 2**62 // batch), self.rng)  # products below fit 64 bits
        place = int(self.rng.integers(total))
        for start in range(0, total, batch):
            size = min(batch, total - start)
            i, j = pair_of_number((place + step * np.arange(size)) % total)
            place = (place + step * size) % total
            k = _other_than(np.column_stack([i, j]), self.rng.integers(n - 2, size=size))
            yield self._with_similarities(np.column_stack([i, j, k]))


class EdgeSampler(_Sampler):
    """Edges of a graph in proportion to their weights, each with a uniformly drawn third point.

    Almost all triplets of a sparse graph have no similarity at all; the loss is also Σ_{i<j} w_ij Σ_k (1 − p_ij^k),
    so an edge with a third point stands for 3·(mean similarity of all pairs), and the similarities handed out are (3
    w̄, 0, 0). O(edges) memory.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> path = sp.diags_array([np.ones(9), np.ones(9)], offsets=[-1, 1]).tocsr()
    >>> triplets, similarities = EdgeSampler(path, random_state=0)(4)
    >>> bool(((triplets[:, 0] - triplets[:, 1]).abs() == 1).all()), round(similarities[0, 0].item(), 6)
    (True, 0.6)
    """

    def __init__(self, similarity: SimilarityLike, **settings: Any) -> None:
        super().__init__(similarity, **settings)
        if not self.similarity.is_sparse:
            raise ValueError(
                f"EdgeSampler takes a graph (a sparse matrix); got {self.similarity!r}: use TripletSampler."
            )
        i, j, weights = next(self.similarity.weighted_pairs())
        self._i, self._j, weights = i[i < j], j[i < j], weights[i < j]
        self._cumulative = np.cumsum(weights)
        if len(weights) == 0:
            raise ValueError("The graph has no edges; there is nothing to cluster.")

    def __call__(self, size: int) -> tuple[Tensor, Tensor]:
        n, total = self.similarity.n, self._cumulative[-1]
        drawn = np.searchsorted(self._cumulative, self.rng.random(size) * total, side="right")
        drawn = np.minimum(drawn, len(self._i) - 1)  # rounding of the last product
        i, j = self._i[drawn], self._j[drawn]
        k = _other_than(np.column_stack([i, j]), self.rng.integers(n - 2, size=size))
        weights = np.zeros((size, 3))
        weights[:, 0] = 3.0 * total / (n * (n - 1) / 2)
        return self._tensors(np.column_stack([i, j, k]), weights)


class BlockSampler(_Sampler):
    """Random partitions of the points into blocks: ``sampler()`` → index (b, m), weights (b, m, m), for `HypHCLoss.block`.

    All blocks have one size m ≤ ``block_size``; where m does not divide n, some points sit a pass out. Up to
    ``block_size`` points the one block is the whole set, its weights are built once, and the loss is exact.

    Examples
    --------
    >>> index, weights = BlockSampler(np.ones((10, 10)), 4, random_state=0)()
    >>> index.shape, weights.shape
    (torch.Size([3, 3]), torch.Size([3, 3, 3]))
    """

    def __init__(self, similarity: SimilarityLike, block_size: int = 64, **settings: Any) -> None:
        super().__init__(similarity, **settings)
        if block_size < 3:
            raise ValueError(f"block_size={block_size} must be at least 3: smaller blocks have no triplets.")
        n = self.similarity.n
        # fewer than six points do not split into two blocks with triplets
        self._size = max(3, n // -(-n // block_size))
        self._n_blocks = n // self._size
        self._whole = self._tensors(np.arange(n)[None], self.similarity.to_dense()[None]) if self._size == n else None

    def __call__(self) -> tuple[Tensor, Tensor]:
        if self._whole is not None:
            return self._whole
        parts = self.rng.permutation(self.similarity.n)[: self._n_blocks * self._size].reshape(-1, self._size)
        return self._tensors(parts, self.similarity.blocks(parts))


def _other_than(taken: Ints, drawn: Ints) -> Ints:
    """Shift numbers drawn from 0 … n − 1 − c past the c distinct ``taken`` (size, c) of each row: uniform over the others."""
    for column in np.sort(taken, axis=1).T:
        drawn = drawn + (drawn >= column)
    return drawn


def _coprime(total: int, below: int, rng: np.random.Generator) -> int:
    """Return a random number below ``below`` that has no common divisor with ``total``."""
    while True:
        step = int(rng.integers(1, max(2, below)))
        if gcd(step, total) == 1:
            return step
