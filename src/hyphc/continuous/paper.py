"""The paper's protocol: its sampling, its parameters, its grid.

Every pair with one random third point, in batches. Leaves are free points of the disk of which only the directions count; they
start near the origin, where a short step turns them far, and drift outwards as they turn, which calms them. Their common norm is
learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._kernels.continuous.paper_steps import NORM, Bounds, paper_steps
from .._shared.arrays import Floats, Ints, one_of
from ..similarity import Dense, Similarity
from .adam import minimize
from .charts import MAX_NORM, Circle
from .objective import Map
from .run import NORM_BOUNDS, Run, Watch
from .sampling import EXPLICIT_COST, pair_of_number

# 50 epochs of all pairs, the better of nine settings by decoded cost. The paper does not state its batches.
EPOCHS, BATCH = 50, 256
RATES = (1e-3, 5e-4, 1e-4)
TEMPERATURES = (1e-1, 5e-2, 1e-2)
N_RUNS = len(RATES) * len(TEMPERATURES)
SPREAD = 1e-3  # leaves start at about this distance from the origin

# Similarities are looked up for so many triplets at a time, and threads may be so many times ahead of the steps.
CHUNK, AHEAD = 128 * BATCH, 16
MAX_MATRIX = 8192  # points: half a gigabyte


class Triplets(NamedTuple):
    """Triplets (t, 3), their weights (w_ij, w_ik, w_jk) and their spread penalties."""

    ijk: Ints
    weights: Floats
    penalties: Floats


class Pairs:
    """All pairs, each with one third point drawn from all the others.

    Σ_{i<j<k} L_ijk = ⅓ Σ_{i<j} Σ_{k≠i,j} L_ijk, so the triplets of all pairs stand for (n − 2)/3 times as many.
    """

    def __init__(self, similarity: Similarity, penalty: float, mapping: Map, n_pairs: int | None = None) -> None:
        n = similarity.n
        self._n_all = n * (n - 1) // 2
        self._penalty, self._mapping = penalty, mapping
        # An epoch of all pairs needs O(n²) memory as it is, and a matrix answers ten times as fast as features do.
        all_pairs = n_pairs is None and n <= MAX_MATRIX
        self._similarity = Dense(similarity.to_dense(), sizes=similarity.sizes) if all_pairs else similarity
        self.n_triplets = self._n_all if n_pairs is None else min(n_pairs, self._n_all)
        self.multiplicity = self._n_all * (n - 2) / 3

    def epoch(self, rng: np.random.Generator) -> Iterator[Triplets]:
        """Chunks of triplets in random order; the third point is never one of the pair."""
        n = self._similarity.n
        if self.n_triplets == self._n_all:
            number = rng.permutation(self._n_all)
        else:
            number = rng.integers(self._n_all, size=self.n_triplets)
        for start in range(0, self.n_triplets, AHEAD * CHUNK):
            i, j = pair_of_number(number[start : start + AHEAD * CHUNK])
            k = rng.integers(n - 2, size=len(i))
            k += k >= i  # i < j: step over i, then over j
            k += k >= j
            ijk = np.column_stack([i, j, k])
            yield from self._mapping(self.weighted, [ijk[at : at + CHUNK] for at in range(0, len(ijk), CHUNK)])

    def weighted(self, ijk: Ints) -> Triplets:
        """Triplets with what the loss needs to know of them."""
        i, j, k = ijk.T
        sizes = self._similarity.sizes
        w = np.column_stack([self._similarity.pairs(a, b) for a, b in ((i, j), (i, k), (j, k))])
        w *= np.column_stack([sizes[k], sizes[j], sizes[i]])
        return Triplets(ijk, w, self._penalty * sizes[i] * sizes[j] * sizes[k])


class Leaves:
    """Free points, their common norm and Adam's moments of both, moved in place."""

    def __init__(self, start: Floats) -> None:
        self._z = np.ascontiguousarray(start.T)
        self._first, self._second = np.zeros_like(self._z), np.zeros(len(start))
        self._bounds = Bounds(*NORM_BOUNDS, MAX_NORM)
        self._norm = one_of(NORM)
        self._norm.length = self._bounds.low
        self._n_steps = 0

    @property
    def angles(self) -> Floats:
        return np.asarray(np.arctan2(self._z[1], self._z[0]))

    @property
    def radius(self) -> float:
        return 2.0 * float(np.arctanh(self._norm.length))

    def step(self, triplets: Triplets, multiplicity: float, batch: int, tau: float, rate: float) -> float:
        """A step for each batch; the sum of the whole losses that the batches estimate."""
        state = self._z, self._first, self._second, self._norm, self._n_steps
        total = paper_steps(*state, *triplets, batch, multiplicity, tau, rate, self._bounds)
        self._n_steps += -(-len(triplets.ijk) // batch)
        return float(total)


def paper_runs(
    similarity: Similarity,
    penalty: float,
    max_iter: int | None,
    max_triplets: int | None,
    watch: Watch,
    mapping: Map,
    rng: np.random.Generator,
) -> list[Run]:
    """The paper's grid, one run a setting; an iteration is an epoch."""
    n_epochs = EPOCHS if max_iter is None else max_iter
    n_epochs = 0 if similarity.n < 3 else n_epochs
    per_epoch = None if max_triplets is None else max(1, max_triplets // max(1, n_epochs))
    pairs = Pairs(similarity, penalty, mapping, per_epoch)
    runs: list[Run] = []
    for rate in RATES:
        for tau in TEMPERATURES:
            if not (runs and watch.clock.late()):
                leaves = Leaves(SPREAD * rng.normal(size=(similarity.n, 2)))
                runs.append(_run(pairs, leaves, rate, tau, n_epochs, watch, rng))
    return runs


def _run(
    pairs: Pairs, leaves: Leaves, rate: float, tau: float, n_epochs: int, watch: Watch, rng: np.random.Generator
) -> Run:
    run = watch.begin(Circle(), leaves.angles, leaves.radius, n_epochs, EXPLICIT_COST * pairs.n_triplets)
    n_batches = -(-pairs.n_triplets // BATCH)
    mean = 0.0

    def update(epoch: int) -> None:
        nonlocal mean
        mean = sum(leaves.step(chunk, pairs.multiplicity, BATCH, tau, rate) for chunk in pairs.epoch(rng)) / n_batches
        run.n_triplets += pairs.n_triplets

    minimize(update, n_epochs, lambda t: watch.after(t, run, leaves.angles, leaves.radius, tau, mean))
    return run
