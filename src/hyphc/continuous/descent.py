"""Gradient descent: schedules, a monitor that keeps the best decoded leaves, and the loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from .._kernels.continuous.circle_cost import features_cost_of_gaps
from .._kernels.continuous.edge_steps import NOISE
from .._runtime.arrays import Floats
from .._runtime.run_control import Clock
from ..hyperbolic.decode import circle_order, decode
from ..scores.costs import dasgupta_cost
from ..similarity import Features, Similarity
from ..similarity.base import by_kind
from .adam import RiemannianAdam
from .manifolds import Chart, Circle
from .objective import check_radius, check_temperature
from .sampling import Sampler

Range = float | tuple[float, float]

# A learned radius is a norm |z| moved by Adam, within these bounds (ρ = 0.02 and 7.6, the reference's limit).
NORM_BOUNDS = (0.01, 0.999)
NORM_RATE = 0.01
# What decoding and scoring a tree costs, in triplets a point: scoring waits until steps have cost as much.
SCORE_COST = 1000


class Schedule:
    """Temperature, radius and learning rate as functions of the share of the run that is done."""

    def __init__(self, temperature: Range, radius: Range | str, learning_rate: Range, start: float) -> None:
        self.learned = isinstance(radius, str)  # then the radius is not a function of time
        if self.learned and radius != "learned":
            raise ValueError(f"radius={radius!r} is unknown; pass a number, a pair of numbers or 'learned'.")
        self._tau = tuple(map(check_temperature, _pair(temperature)))
        self._radius = (1.0, 1.0) if isinstance(radius, str) else tuple(map(check_radius, _pair(radius)))
        self._rate = _pair(learning_rate)
        if not all(0.0 < rate < np.inf for rate in self._rate):
            raise ValueError(f"learning_rate={learning_rate} must be positive.")
        self._start = start

    def at(self, done: float) -> tuple[float, float, float]:
        """Return radius, temperature and learning rate after this share of the run."""
        share = self._start + (1.0 - self._start) * done
        first, last = self._radius
        return first + (last - first) * share, _interpolate(self._tau, share), _interpolate(self._rate, share)

    @property
    def largest_radius(self) -> float:
        return max(self._radius)


class LearnedNorm:
    """|z| of all leaves as one parameter of plain Adam; the hyperbolic radius is 2 artanh|z|."""

    def __init__(self, radius: float) -> None:
        self._norm = np.clip(np.array([np.tanh(0.5 * radius)]), *NORM_BOUNDS)
        self._adam = RiemannianAdam(Circle(), self._norm)  # a line is as flat as a circle

    @property
    def radius(self) -> float:
        return 2.0 * float(np.arctanh(self._norm[0]))

    def step(self, grad_radius: float, learning_rate: float) -> None:
        grad = np.array([grad_radius * 2.0 / (1.0 - self._norm[0] ** 2)])
        self._norm = np.clip(self._adam.step(self._norm, grad, learning_rate), *NORM_BOUNDS)


@dataclass
class DescentRun:
    """Best leaves so far and the history of a run."""

    cost: float
    embedding: Floats
    losses: list[float] = field(default_factory=list)
    n_triplets: int = 0
    decoded_cost: float = np.inf  # of the last tree that was scored
    since_best: int = 0  # iterations
    done: float = 0.0  # share of the run


class Monitor:
    """Score decoded trees, keep copies of the best leaves, report progress and decide when a run ends.

    Runs are consecutive or interleaved.

    Parameters
    ----------
    patience : int, optional
        Iterations without a better tree after which a run ends.
    n_runs, n_finished : int
        Runs of the whole stage, and those that have ended.
    best : DescentRun, optional
        Of those that have ended.
    """

    def __init__(
        self,
        similarity: Similarity,
        clock: Clock,
        patience: int | None = None,
        n_runs: int = 1,
        n_finished: int = 0,
        best: DescentRun | None = None,
    ) -> None:
        self._similarity, self.clock = similarity, clock
        self._patience = np.inf if patience is None else patience
        self._n_runs, self._n_finished = n_runs, n_finished
        self._begun: list[DescentRun] = []
        self._best = DescentRun(np.inf, np.empty(0)) if best is None else best
        # C_HypHC = triplets + Σ_{i<j} w_ij (s_i + s_j)
        self._constant = float(similarity.sizes @ similarity.degrees())

    def begin(
        self, chart: Chart, params: Floats, radius: float, n_iter: int, step_work: int, together: int = 1
    ) -> DescentRun:
        """Begin a run of ``n_iter`` iterations, scored after multiples of ``together``; return it."""
        self._chart, self._n_iter = chart, n_iter
        n = self._similarity.n
        work = n * (SCORE_COST + (n if self._similarity.is_matrix else 0))
        interval = min(max(1, work // max(1, step_work)), max(1, n_iter // 20))
        self._interval = -(-interval // together) * together
        cost = self._score(params, radius)
        run = DescentRun(cost, chart.points(params, radius).copy(), decoded_cost=cost)
        self._begun.append(run)
        return run

    def after(self, t: int, run: DescentRun, params: Floats, radius: float, tau: float, *values: float) -> bool:
        """Record the iterations up to t, whose losses are ``values``; return whether the run should end."""
        run.losses += [value + self._constant for value in values]
        run.since_best, run.done = run.since_best + len(values), (t + 1) / self._n_iter
        scored = (t + 1) % self._interval == 0 or t + 1 == self._n_iter
        if scored:
            run.decoded_cost = self._score(params, radius)
            if run.decoded_cost < run.cost:
                run.cost, run.embedding = run.decoded_cost, self._chart.points(params, radius).copy()
                run.since_best = 0
        if run.cost < self._best.cost:
            self._best = run
        if self.clock.has_listeners:
            self._report(t, run, params, radius, tau)
        if scored and run.since_best >= self._patience:
            run.done = 1.0
            return True
        return self.clock.should_stop()

    def _report(self, t: int, run: DescentRun, params: Floats, radius: float, tau: float) -> None:
        self.clock.report(
            "embedding",
            self._best.cost,
            partial(decode, self._best.embedding),
            (self._n_finished + sum(begun.done for begun in self._begun)) / self._n_runs,
            iteration=t,
            max_iter=self._n_iter,
            loss=run.losses[-1],
            decoded_cost=run.decoded_cost,
            radius=radius,
            temperature=tau,
            embedding=self._chart.points(params, radius).copy(),
        )

    def _score(self, params: Floats, radius: float) -> float:
        if isinstance(self._chart, Circle):
            return float(cost_on_circle(self._similarity, params, radius))
        return dasgupta_cost(self._chart.tree(params, radius), self._similarity)


@by_kind
def cost_on_circle(similarity: Similarity, angles: Floats, radius: float) -> float:
    """Return Dasgupta's cost of the tree decoded from angles."""
    return dasgupta_cost(Circle().tree(angles, radius), similarity)


@cost_on_circle.register
def _(similarity: Features, angles: Floats, radius: float) -> float:
    leaves, gaps = circle_order(angles)
    return float(
        features_cost_of_gaps(similarity.X, similarity.sizes, leaves, gaps, similarity.offset, similarity.scale)
    )


class Descent(Protocol):
    """Leaves that move by steps, and the radius and temperature of the last step."""

    chart: Chart
    radius: float
    temperature: float
    n_triplets: int  # of all steps so far

    @property
    def params(self) -> Floats:
        """Parameters of the leaves."""

    def steps(self, first: int, stop: int) -> list[float]:
        """Take steps first … stop − 1, and return the loss that each estimates."""


class SampledDescent:
    """Riemannian Adam with one sample of triplets a step."""

    def __init__(
        self, sampler: Sampler, chart: Chart, params: Floats, schedule: Schedule, n_iter: int, rng: np.random.Generator
    ) -> None:
        self._sampler, self._schedule, self._n_iter, self._rng = sampler, schedule, n_iter, rng
        self.chart, self.params, self.n_triplets = chart, params, 0
        self.radius, self.temperature, _ = schedule.at(0.0)
        self._norm = LearnedNorm(self.radius) if schedule.learned and chart.has_radius else None
        if self._norm is not None:
            self.radius = self._norm.radius
        self._adam = RiemannianAdam(chart, params)

    def steps(self, first: int, stop: int) -> list[float]:
        """Take steps first … stop − 1, and return the loss that each estimates."""
        return [self._step(t / max(1, self._n_iter - 1)) for t in range(first, stop)]

    def _step(self, done: float) -> float:
        chart, norm = self.chart, self._norm
        radius, self.temperature, rate = self._schedule.at(done)
        self.radius = radius if norm is None else norm.radius
        seen = self._sampler(chart, self.params, self.radius, self.temperature, self._rng)
        params = self._adam.step(self.params, seen.grad, rate)
        self.params = chart.move(params, NOISE * rate * chart.noise(params, self._rng))
        self.n_triplets += seen.n_triplets
        if norm is not None:
            norm.step(seen.grad_radius, min(rate, NORM_RATE))
        return seen.value


def descend(descent: Descent, n_iter: int, watch: Monitor, work: int, each: int = 1, scored: int = 1) -> DescentRun:
    """Take ``n_iter`` steps, ``each`` at a time, scored after multiples of ``scored``, and return the run.

    ``work`` is what a step costs, see ``Sampler``.
    """
    run = watch.begin(descent.chart, descent.params, descent.radius, n_iter, work, scored)
    for first in range(0, n_iter, each):
        stop = min(n_iter, first + each)
        losses = descent.steps(first, stop)
        run.n_triplets = descent.n_triplets
        if watch.after(stop - 1, run, descent.params, descent.radius, descent.temperature, *losses):
            break
    return run


def _pair(value: Range) -> tuple[float, float]:
    first, last = (value, value) if np.ndim(value) == 0 else tuple(value)  # type: ignore[arg-type]
    return float(first), float(last)  # type: ignore[arg-type]


def _interpolate(ends: tuple[float, ...], share: float) -> float:
    return float(ends[0] * (ends[1] / ends[0]) ** share)
