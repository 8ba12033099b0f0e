"""The paper's protocol, and the settings released with its code, each step of which is a named option of `Protocol`.

Pairs with random third points, in batches. Leaves are free points of the disk of which only the directions count; they start near
the origin, where a short step turns them far, and drift outwards as they turn, which calms them. Their common norm is learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Literal, NamedTuple, get_args

import numpy as np

from .._kernels.continuous import paper_steps as kernels
from .._runtime.arrays import Floats, Ints, zero_record
from ..similarity import Dense, Similarity
from .descent import NORM_BOUNDS, DescentRun, Monitor
from .manifolds import MAX_NORM, Circle
from .objective import Map
from .sampling import EXPLICIT_COST, pair_of_number

EPOCHS = 50
# Similarities are looked up for so many triplets at a time, and threads may be so many times ahead of the steps.
CHUNK, AHEAD = 1 << 15, 16
MAX_MATRIX = 8192  # points: half a gigabyte

Scale = Literal["riemannian", "euclidean"]
Start = Literal["uniform", "normal"]


class Setting(NamedTuple):
    """Learning rate, temperature, triplets of a batch, third points per pair and epoch, and the epochs after which to halve."""

    rate: float
    tau: float
    batch: int
    thirds_per_pair: float = 1.0
    halved_after: tuple[int, ...] = ()

    def factor(self, epoch: int) -> float:
        """Return what the temperature, or temperature and learning rate, are multiplied by in an epoch."""
        return float(0.5 ** sum(epoch >= after for after in self.halved_after))


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The steps of a protocol. The defaults are the paper's text and, where it is silent, the released code.

    Parameters
    ----------
    settings : tuple of Setting
        One run each; the best decoded tree is kept.
    beta2, eps : float
        Adam's second decay rate, and what is added to the root of the second moment. The loss is then the mean over a batch.
    counted : int
        By how much the counter of Adam's bias corrections advances in a step. In the released code leaves and scale share it.
    scale : {"riemannian", "euclidean"}
        The learned scale as a point of the one-dimensional Poincaré ball, moved by the same Riemannian Adam as the leaves, or
        as a number, moved by Adam.
    init_scale : float
        Where the scale starts. It acts within (0.01, 0.999); outside, a Riemannian one has no gradient.
    start : {"uniform", "normal"}
        Distribution of the coordinates of leaves at the start: on (−init_size, init_size), or of that standard deviation.
    init_size : float
    anneal_rate : bool
        Whether the learning rate is halved along with the temperature.
    redraw : bool
        Whether every epoch draws new third points. Otherwise triplets are drawn once, and reshuffled.
    third_may_repeat : bool
        Whether the third point is drawn from all points, those of the pair included. A point's similarity to itself is then the
        bound ``Similarity.maximum``: 1 for cosine.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(PROTOCOLS["released-zoo"], beta2=0.99).settings[0].rate
    0.001
    """

    settings: tuple[Setting, ...]
    beta2: float = 0.999
    eps: float = 1e-8
    counted: int = 1
    scale: Scale = "riemannian"
    init_scale: float = 0.05
    start: Start = "uniform"
    init_size: float = 0.05
    anneal_rate: bool = False
    redraw: bool = False
    third_may_repeat: bool = False

    def __post_init__(self) -> None:
        for name, values in (("scale", get_args(Scale)), ("start", get_args(Start))):
            if getattr(self, name) not in values:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose {values[0]!r} or {values[1]!r}.")
        if not (0.0 < self.beta2 < 1.0 and 0.0 <= self.eps < np.inf):
            raise ValueError(
                f"beta2={self.beta2} must lie between 0 and 1, and eps={self.eps} be finite and at least 0."
            )
        if not (0.0 < self.init_scale < 1.0 and 0.0 < self.init_size < 0.7):  # a corner lies inside the disk
            raise ValueError(f"init_scale={self.init_scale} must be below 1, init_size={self.init_size} below 0.7.")
        if self.counted < 1 or not self.settings:
            raise ValueError(f"counted={self.counted} must be at least 1, and settings not be empty.")

    def at(self, setting: Setting, epoch: int) -> tuple[float, float]:
        """Return temperature and learning rate of a setting in an epoch."""
        factor = setting.factor(epoch)
        return setting.tau * factor, setting.rate * (factor if self.anneal_rate else 1.0)

    def initial_leaves(self, n: int, rng: np.random.Generator) -> Floats:
        """Return points (n, 2) to start from."""
        drawn = rng.uniform(-1.0, 1.0, size=(n, 2)) if self.start == "uniform" else rng.normal(size=(n, 2))
        points = self.init_size * drawn
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return np.asarray(points * np.minimum(1.0, MAX_NORM / lengths))


# The paper: 50 epochs of all pairs with one third point each, drawn once, the best of nine settings by decoded cost. Batches are
# not in its text.
GRID = tuple(Setting(rate, tau, 256) for rate, tau in product((1e-3, 5e-4, 1e-4), (1e-1, 5e-2, 1e-2)))
# Its code: the settings for zoo, iris and glass, whose triplets of an epoch are given here per pair: 100 000, 50 000, 900 000.
# Zoo's halving, after 50 epochs, comes after the last.
RELEASED = {
    "zoo": Setting(1e-3, 1e-1, 256, 100_000 / 5_050, (50,)),
    "iris": Setting(5e-4, 5e-2, 512, 50_000 / 11_175, (30,)),
    "glass": Setting(1e-4, 5e-2, 512, 900_000 / 22_791, (10, 20, 30, 40)),
}
_RELEASED = Protocol(settings=tuple(RELEASED.values()), anneal_rate=True, third_may_repeat=True)
PROTOCOLS = {
    "paper": Protocol(settings=GRID),
    "released": _RELEASED,
    **{f"released-{name}": replace(_RELEASED, settings=(setting,)) for name, setting in RELEASED.items()},
}


class Triplets(NamedTuple):
    """Triplets (t, 3), their weights (w_ij, w_ik, w_jk) and their spread penalties (t,), or none of these."""

    ijk: Ints
    weights: Floats
    penalties: Floats


class Pairs:
    """Pairs, each with third points: drawn once and reshuffled for each epoch, or drawn for each epoch.

    Σ_{i<j<k} L_ijk = ⅓ Σ_{i<j} Σ_{k≠i,j} L_ijk, so the triplets of all pairs stand for (n − 2)/3 times as many.

    Parameters
    ----------
    n_triplets : int, optional
        Of an epoch; by default all pairs, once. All pairs come equally often, and the rest of an epoch is drawn at random.
    redraw, third_may_repeat : bool
        As of `Protocol`.
    """

    def __init__(
        self,
        similarity: Similarity,
        penalty: float,
        mapping: Map,
        n_triplets: int | None = None,
        redraw: bool = False,
        third_may_repeat: bool = False,
    ) -> None:
        n = similarity.n
        self._n_all = n * (n - 1) // 2
        self._penalty, self._mapping = penalty, mapping
        self._redraw, self._third_may_repeat = redraw, third_may_repeat
        self._with_itself = similarity.maximum() if third_may_repeat else 0.0
        self.n_triplets = self._n_all if n_triplets is None else n_triplets
        # An epoch of all pairs needs O(n²) memory as it is, and reading a matrix is ten times as fast as computing from features.
        dense = self.n_triplets >= self._n_all and n <= MAX_MATRIX
        self._similarity = Dense(similarity.to_dense(), sizes=similarity.sizes) if dense else similarity
        self.multiplicity = self._n_all * (n - 2) / 3
        self._rest = self._thirds = np.empty(0, np.int64)

    def epoch(self, rng: np.random.Generator) -> Iterator[Triplets]:
        """Yield chunks of triplets in random order."""
        if self._redraw or not len(self._thirds):
            self._draw(rng)
        order = rng.permutation(self.n_triplets)
        for start in range(0, len(order), AHEAD * CHUNK):
            ijk = self._triplets(order[start : start + AHEAD * CHUNK])
            yield from self._mapping(self.weighted, [ijk[at : at + CHUNK] for at in range(0, len(ijk), CHUNK)])

    def _draw(self, rng: np.random.Generator) -> None:
        """Draw the pairs beyond whole rounds of all, and a third point for every triplet (32 bits each)."""
        self._rest = rng.integers(self._n_all, size=self.n_triplets % self._n_all)
        n_choices = self._similarity.n - (0 if self._third_may_repeat else 2)
        self._thirds = rng.integers(n_choices, size=self.n_triplets, dtype=np.int32)

    def _triplets(self, chosen: Ints) -> Ints:
        """Return triplets (t, 3) by their numbers in the draw."""
        beyond = chosen - (self.n_triplets - len(self._rest))
        number = chosen % self._n_all
        number[beyond >= 0] = self._rest[beyond[beyond >= 0]]
        i, j = pair_of_number(number)
        k = self._thirds[chosen].astype(np.int64)
        if not self._third_may_repeat:
            k += k >= i  # i < j: step over i, then over j
            k += k >= j
        return np.column_stack([i, j, k])

    def weighted(self, ijk: Ints) -> Triplets:
        """Return triplets with their weights and penalties."""
        i, j, k = ijk.T
        sizes = self._similarity.sizes
        w = np.column_stack([self._similarity.pairs(a, b) for a, b in ((i, j), (i, k), (j, k))])
        if self._third_may_repeat:
            w[i == k, 1] = w[j == k, 2] = self._with_itself
        w *= np.column_stack([sizes[k], sizes[j], sizes[i]])
        penalties = self._penalty * sizes[i] * sizes[j] * sizes[k] if self._penalty > 0.0 else np.empty(0)
        return Triplets(ijk, w, penalties)


class LearnedLeaves:
    """Free points, the learned scale that is their common norm, and Adam's moments of both, moved in place."""

    def __init__(self, start: Floats, protocol: Protocol) -> None:
        self._n, self._protocol = len(start), protocol
        self._tiles = np.zeros((-(-self._n // kernels.TILE), kernels.TILE_NUMBERS // kernels.TILE, kernels.TILE))
        lengths = np.linalg.norm(start, axis=1)
        for row, numbers, padding in (
            (kernels.X, start[:, 0], 0.5),
            (kernels.Y, start[:, 1], 0.0),
            (kernels.UNIT_X, start[:, 0] / lengths, 1.0),
            (kernels.UNIT_Y, start[:, 1] / lengths, 0.0),
            (kernels.INVERSE_SQUARE, 1.0 / lengths**2, 4.0),
        ):
            filled = np.full(self._tiles.shape[0] * kernels.TILE, padding)
            filled[: self._n] = numbers
            self._tiles[:, row // kernels.TILE] = filled.reshape(-1, kernels.TILE)
        self._bounds = kernels.Bounds(*NORM_BOUNDS, MAX_NORM)
        self._norm = zero_record(kernels.NORM)
        self._norm.length = protocol.init_scale
        self.n_steps = 0

    @property
    def angles(self) -> Floats:
        x, y = (self._tiles[:, row // kernels.TILE].ravel()[: self._n] for row in (kernels.X, kernels.Y))
        return np.asarray(np.arctan2(y, x))

    @property
    def radius(self) -> float:
        return 2.0 * float(np.arctanh(np.clip(self._norm.length, self._bounds.low, self._bounds.high)))

    def step(self, triplets: Triplets, multiplicity: float, batch: int, tau: float, rate: float) -> float:
        """Take a step for each batch; return the sum of the losses of all triplets that the batches estimate."""
        steps = self._protocol
        adam = steps.beta2, steps.eps * multiplicity, steps.counted, steps.scale == "riemannian"
        rule = kernels.Rule(batch, multiplicity, tau, rate, *adam)
        total = kernels.paper_steps(self._tiles.ravel(), self._norm, self.n_steps, *triplets, rule, self._bounds)
        self.n_steps += -(-len(triplets.ijk) // batch)
        return float(total)


def paper_runs(
    protocol: Protocol,
    similarity: Similarity,
    penalty: float,
    max_iter: int | None,
    max_triplets: int | None,
    watch: Monitor,
    mapping: Map,
    rng: np.random.Generator,
) -> list[DescentRun]:
    """Return the runs of a protocol, one for each setting of its grid; an iteration is an epoch."""
    n = similarity.n
    n_epochs = EPOCHS if max_iter is None else max_iter
    n_epochs = 0 if n < 3 else n_epochs
    most = np.inf if max_triplets is None else max(1, max_triplets // max(1, n_epochs))
    runs: list[DescentRun] = []
    for thirds, group in groupby(protocol.settings, lambda setting: setting.thirds_per_pair):
        if runs and watch.clock.should_stop():
            break
        settings = tuple(group)
        n_triplets = int(min(most, round(thirds * n * (n - 1) / 2)))
        pairs = Pairs(similarity, penalty, mapping, n_triplets, protocol.redraw, protocol.third_may_repeat)
        starts = [LearnedLeaves(protocol.initial_leaves(n, rng), protocol) for _ in settings]
        runs += _run_together(pairs, protocol, settings, starts, n_epochs, watch, mapping, rng)
    return runs


def _run_together(
    pairs: Pairs,
    protocol: Protocol,
    settings: tuple[Setting, ...],
    leaves: list[LearnedLeaves],
    n_epochs: int,
    watch: Monitor,
    mapping: Map,
    rng: np.random.Generator,
) -> list[DescentRun]:
    """Return runs on the same triplets: drawing them and looking up similarities costs as much as some of the steps."""
    work = EXPLICIT_COST * pairs.n_triplets
    runs = [watch.begin(Circle(), one.angles, one.radius, n_epochs, work) for one in leaves]
    alive = list(range(len(runs)))
    for epoch in range(n_epochs):
        totals, before = np.zeros(len(runs)), [one.n_steps for one in leaves]
        for chunk in pairs.epoch(rng):

            def step(r: int, chunk: Triplets = chunk, epoch: int = epoch) -> float:
                setting = settings[r]
                return leaves[r].step(chunk, pairs.multiplicity, setting.batch, *protocol.at(setting, epoch))

            totals[alive] += list(mapping(step, alive))
            for r in alive:
                runs[r].n_triplets += len(chunk.ijk)
            if watch.clock.should_stop():
                break
        ended = set()
        for r in alive:
            mean = totals[r] / max(1, leaves[r].n_steps - before[r])
            tau, _ = protocol.at(settings[r], epoch)
            if watch.after(epoch, runs[r], leaves[r].angles, leaves[r].radius, tau, mean):
                ended.add(r)
        alive = [r for r in alive if r not in ended and not watch.clock.should_stop()]
        if not alive:
            break
    return runs
