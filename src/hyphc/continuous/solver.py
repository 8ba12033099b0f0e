"""``embed``: leaves in the Poincaré ball by gradient descent on the continuous cost, and the best decoded tree."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Floats
from .._runtime.driver import run_steps
from .._runtime.parallel import n_threads, single_blas_thread
from .._runtime.progress import Callback
from .._runtime.run_control import Clock
from ..hyperbolic.decode import decode
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity, SimilarityLike, check_similarity
from ..tree import Tree
from .descent import DescentRun, Monitor, Range, SampledDescent, Schedule, descend
from .edge_descent import descend_on_edges, fits_edge_steps
from .init import initial_directions
from .manifolds import Ball, Chart, Circle, Sphere
from .objective import Map
from .paper_presets import PROTOCOLS, Protocol, paper_runs
from .sampling import Edges, Sampler, make_sampler

__all__ = ["EmbedResult", "EmbedSettings", "embed", "embed_stage"]

Seed = int | np.random.Generator | np.random.RandomState | None

# One setting for all data, found on the paper's sets; docs/notes/continuous.md has the measurements.
TEMPERATURE = (0.7, 0.5)
RADIUS = (1.0, 10.0)
LEARNING_RATE = (0.3, 5e-4)
MAX_ITER = {"blocks": 600, "edges": 4000}
MAX_TRIPLETS = 4 * 10**9
# Started from a tree, the schedules begin after this share of a run, so that the tree is not lost.
WARM_START = 0.7
# Blocks are made smaller before a triplet budget shortens the run, but not below this.
MIN_BLOCK = 16
WHOLE = {"n_init": 1, "n_components": 1, "block_size": 3, "max_iter": 0, "max_triplets": 1}  # with their least values

# Settings that a preset leaves to the caller; it fixes all others.
WITH_PRESET = ("preset", "n_init", "max_iter", "max_triplets", "spread_penalty", "patience")


def is_equal(value: object, default: object) -> bool:
    """Return whether two settings, numbers, strings, arrays or trees, are equal."""
    return bool(np.array_equal(np.asarray(value, dtype=object), np.asarray(default, dtype=object)))


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbedSettings:
    """Parameters of ``embed``, apart from the similarity and those of run control."""

    init: str | npt.ArrayLike | Tree = "auto"
    n_init: int = 1
    n_components: int = 2
    normalized: bool = True
    temperature: Range = TEMPERATURE
    radius: Range | Literal["learned"] = RADIUS
    learning_rate: Range = LEARNING_RATE
    max_iter: int | None = None
    block_size: int = 256
    max_triplets: int | None = None
    spread_penalty: float = 0.0
    patience: int | None = None
    preset: str | Protocol | None = None

    def __post_init__(self) -> None:
        for name, least in WHOLE.items():
            value = getattr(self, name)
            if value is None and getattr(EmbedSettings, name) is None:  # the default
                continue
            if isinstance(value, bool) or value != int(value) or value < least:
                raise ValueError(f"{name}={value} must be a whole number of at least {least}.")
        self._check_preset()
        if not 0.0 <= self.spread_penalty < np.inf:
            raise ValueError(f"spread_penalty={self.spread_penalty} must be a finite number of at least 0.")

    def _check_preset(self) -> None:
        """Raise for an unknown preset, and for a setting beside it that it fixes."""
        if self.preset is None:
            return
        if not isinstance(self.preset, Protocol) and self.preset not in PROTOCOLS:
            raise ValueError(f"preset={self.preset!r} is unknown; choose None or one of {tuple(PROTOCOLS)}.")
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in WITH_PRESET and not is_equal(value, one.default):
                raise ValueError(f"{one.name}={value!r} is fixed by preset={self.preset!r}; leave out one of the two.")

    @property
    def protocol(self) -> Protocol | None:
        """The steps of the preset."""
        return PROTOCOLS[self.preset] if isinstance(self.preset, str) else self.preset


@dataclass(frozen=True)
class EmbedResult:
    """What `embed` found. ``decode(embedding) == tree`` always holds.

    Attributes
    ----------
    tree : Tree
        Decoded tree of least cost seen in the run.
    embedding : array (n, n_components)
        The positions it was decoded from, in the open unit ball.
    cost : float
        Its Dasgupta cost, over unordered pairs.
    loss_curve : array (n_iter,)
        The continuous cost C_HypHC at each iteration, estimated from that iteration's triplets, in the units of ``cost``.
    n_iter : int
    n_triplets : int
        Triplets visited, with repetition, by all runs.
    """

    tree: Tree
    embedding: Floats
    cost: float
    loss_curve: Floats
    n_iter: int
    n_triplets: int


def embed(
    similarity: SimilarityLike,
    *,
    init: str | npt.ArrayLike | Tree = "auto",
    n_init: int = 1,
    n_components: int = 2,
    normalized: bool = True,
    temperature: Range = TEMPERATURE,
    radius: Range | Literal["learned"] = RADIUS,
    learning_rate: Range = LEARNING_RATE,
    max_iter: int | None = None,
    block_size: int = 256,
    max_triplets: int | None = None,
    spread_penalty: float = 0.0,
    patience: int | None = None,
    preset: str | Protocol | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> EmbedResult:
    """Embed leaves by minimising the continuous cost, and keep the best tree decoded on the way.

    Leaves are points of one radius in the disk, so the parameters are n angles. The radius grows during the run: at a small
    one depths are nearly linear, the loss is smooth and leaves can pass each other; at a large one the cost is nearly that of
    the decoded tree. The optimiser is Riemannian Adam, which on a circle is Adam on the angles: the circle is flat, its
    exponential map an addition.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix, n points
    init : {"auto", "random", "pca", "spectral"}, array (n, n_components) or Tree
        Directions to start from. "auto" is "random". "pca" and "spectral" directions get some noise, so that seeds differ. A
        tree enters through ``encode``, and the run starts late in its schedules; the result is never worse than that tree.
    n_init : int
        Runs from different random numbers; the best is kept.
    n_components : int
        2 is the fast path; otherwise points are unit vectors times a radius and trees are decoded in O(n²). 1 is legal but
        has only two directions.
    normalized : bool
        False frees the radius of each leaf (any dimension; ``radius[0]`` is where they start).
    temperature, radius, learning_rate : float or (first, last)
        τ and the learning rate go from first to last geometrically, the radius linearly. ``radius="learned"`` optimises the
        radius along with the leaves, up to ρ = 7.6.
    max_iter : int, optional
        Iterations of a run. Default: 600 passes over the points, or 4000 steps on a graph. 0 decodes the start.
    block_size : int
        A pass takes all triplets inside random blocks of at most this size. Up to this n the gradient is exact.
    max_triplets : int, optional
        Budget of a run, by default 4·10⁹ (seconds). A pass takes n·block_size²/6 triplets; where the budget falls short blocks
        shrink first, since more passes gain more than larger blocks, then the run: any n gets a tree in any time.
    spread_penalty : float
        λ of the hinge that penalises equal depths of a triplet's LCAs, relative to the mean similarity.
    patience : int, optional
        Stop after so many iterations without a better decoded tree.
    preset : {"paper", "released", "released-zoo", "released-iris", "released-glass"} or Protocol, optional
        The paper's protocol in place of ours: every pair with one random third point, drawn once, in batches of 256, 50 epochs
        (an iteration is an epoch), normalised points with a learned scale, and the best of three learning rates × three
        temperatures by decoded cost. "released" are the settings that came with its code, for zoo, iris and glass: 4 to 40 third
        points a pair, temperature and learning rate halved on the way; the best of the three, or the one that is named. A
        ``hyphc.continuous.paper_presets.Protocol`` changes any single step. Only ``n_init``, ``max_iter``, ``max_triplets`` (of
        one setting; pairs are then drawn at random), ``patience``, ``spread_penalty`` and what follows apply; others raise.
    callback : callable, optional
        Called with a `Progress` after each iteration; returning True ends the call with the best so far.
    verbose : int
        1 shows a line of progress.
    random_state : int, Generator, RandomState or None
    n_jobs : int, optional
        Threads. None is 1, −1 all cores. The result does not depend on it.

    Returns
    -------
    EmbedResult

    Notes
    -----
    Ctrl-C ends the call with the best so far and a UserWarning. No n² memory for features and graphs.

    Examples
    --------
    >>> from hyphc import as_similarity
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> embed(as_similarity(X, "cosine"), random_state=0).tree.cut(2)
    array([0, 0, 1, 1])
    """
    given = locals()
    settings = EmbedSettings(**{field.name: given[field.name] for field in fields(EmbedSettings)})
    points = check_similarity(similarity)
    with Clock(None, callback, verbose) as clock:
        return embed_stage(settings, points, clock, random_state, n_jobs)


def embed_stage(
    settings: EmbedSettings, similarity: Similarity, clock: Clock, random_state: Seed, n_jobs: int | None
) -> EmbedResult:
    """Run ``embed`` as a stage of a fit, under the fit's run control. What is finished of it is saved after each run."""
    with _threads(n_jobs) as mapping:
        state = run_steps(_EmbedStage(settings, similarity, clock, random_state, mapping), _EmbedState(), clock)
    tree = decode(state.embedding)
    cost = dasgupta_cost(tree, similarity)
    return EmbedResult(tree, state.embedding, cost, state.losses, len(state.losses), state.n_triplets)


@dataclass
class _EmbedState:
    """The state between two runs: how many have ended, triplets of all, and the best of them."""

    n_init: int = 0
    n_triplets: int = 0
    cost: float = np.inf
    embedding: Floats = field(default_factory=lambda: np.empty(0))
    losses: Floats = field(default_factory=lambda: np.empty(0))


class _EmbedStage:
    """``n_init`` independent runs, a step each; with a preset a step is the whole grid of its settings."""

    name = "embedding"

    def __init__(
        self, settings: EmbedSettings, similarity: Similarity, clock: Clock, random_state: Seed, mapping: Map
    ) -> None:
        n = similarity.n
        self._settings, self._similarity, self._clock, self._mapping = settings, similarity, clock, mapping
        self._penalty = settings.spread_penalty * similarity.total() / max(1, n * (n - 1) // 2)
        self._protocol = settings.protocol
        self._generators = _generators(random_state, settings.n_init)

    def is_done(self, state: _EmbedState) -> bool:
        return state.n_init >= self._settings.n_init

    def step(self, state: _EmbedState) -> None:
        n_runs = 1 if self._protocol is None else len(self._protocol.settings)
        best, counts = DescentRun(state.cost, state.embedding), (n_runs * self._settings.n_init, n_runs * state.n_init)
        watch = Monitor(self._similarity, self._clock, self._settings.patience, *counts, best)
        for run in self._run(watch, self._generators[state.n_init]):
            state.n_triplets += run.n_triplets
            if run.cost < state.cost:
                state.cost, state.embedding, state.losses = run.cost, run.embedding, np.array(run.losses)
        state.n_init += 1

    def _run(self, watch: Monitor, rng: np.random.Generator) -> list[DescentRun]:
        """Return a run from one start, or the runs of a preset."""
        settings, similarity, penalty, mapping = self._settings, self._similarity, self._penalty, self._mapping
        if self._protocol is not None:
            limits = settings.max_iter, settings.max_triplets
            return paper_runs(self._protocol, similarity, penalty, *limits, watch, mapping, rng)
        sampler, n_iter = _plan(similarity, settings, penalty, mapping)
        chart: Chart = Ball() if not settings.normalized else Circle() if settings.n_components == 2 else Sphere()
        warm = WARM_START if isinstance(settings.init, Tree) else 0.0
        schedule = Schedule(settings.temperature, settings.radius, settings.learning_rate, warm)
        directions = initial_directions(similarity, settings.init, settings.n_components, rng)
        params = _initial_parameters(chart, directions, schedule.at(0.0)[0], rng)
        if isinstance(sampler, Edges) and isinstance(chart, Circle) and fits_edge_steps(schedule, penalty):
            return [descend_on_edges(sampler, params, schedule, n_iter, watch, rng)]
        return [descend(SampledDescent(sampler, chart, params, schedule, n_iter, rng), n_iter, watch, sampler.work)]


def _plan(similarity: Similarity, settings: EmbedSettings, penalty: float, mapping: Map) -> tuple[Sampler, int]:
    """Return the sampler, and the number of iterations that the budget of triplets leaves."""
    usual = MAX_ITER["edges" if similarity.is_sparse else "blocks"]
    n_iter = usual if settings.max_iter is None else settings.max_iter
    budget = MAX_TRIPLETS if settings.max_triplets is None else settings.max_triplets

    affordable = max(MIN_BLOCK, int(np.sqrt(6.0 * budget / max(1, n_iter * similarity.n))))
    sampler: Sampler = make_sampler(similarity, min(settings.block_size, affordable), penalty, mapping)
    if similarity.n < 3 or sampler.n_triplets == 0:
        return sampler, 0
    return sampler, min(n_iter, max(1, budget // sampler.n_triplets))


def _initial_parameters(chart: Chart, directions: Floats, radius: float, rng: np.random.Generator) -> Floats:
    """Return the parameters of a chart for unit vectors, at the first radius where that is part of them."""
    if isinstance(chart, Circle):
        return np.arctan2(directions[:, 1], directions[:, 0])
    if isinstance(chart, Ball):
        # radii that differ, so that no two leaves start at one place
        return np.tanh(0.5 * radius * rng.uniform(0.5, 1.0, size=(len(directions), 1))) * directions
    return directions


@contextmanager
def _threads(n_jobs: int | None) -> Iterator[Map]:
    """Yield a `map` on n_jobs threads. BLAS gets one thread throughout: blocks are small, and its sums then never vary."""
    workers = n_threads(n_jobs)
    with single_blas_thread():
        if workers == 1:
            yield map
        else:
            with ThreadPoolExecutor(workers) as pool:
                yield pool.map


def _generators(random_state: Seed, n: int) -> list[np.random.Generator]:
    """Return independent generators, one for each run; a caller's generator moves on by one draw."""
    if isinstance(random_state, np.random.Generator):
        entropy: int | None = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        entropy = int(random_state.randint(2**31 - 1))
    else:
        entropy = random_state
    return [np.random.default_rng(seed) for seed in np.random.SeedSequence(entropy).spawn(n)]
