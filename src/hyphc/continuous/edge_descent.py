"""The run on a graph's edges with leaves on the circle: compiled steps, many in a call, or one at a time on several threads."""

from __future__ import annotations

import numpy as np

from .._kernels.continuous import edge_steps as kernels
from .._runtime.arrays import Floats
from .adam import minimize
from .descent import DescentRun, Monitor, Schedule
from .manifolds import Circle
from .sampling import THIRDS, Edges

# Steps of one call, after which the leaves are sorted anew for drawing third points near: an older order teaches less.
TOGETHER = 4
# Steps after which the tree is decoded and scored, at the price of three steps.
SCORED = 16
# A task has at least so many edges, and a step at most so many tasks: their gradients are added up in order.
CHUNK_EDGES, MAX_CHUNKS = 2048, 16
# Beyond, the compiled steps would lose digits of close angles: sech ρ is down to 4e-9.
MAX_RHO = 20.0


def fits_edge_steps(schedule: Schedule, penalty: float) -> bool:
    """Whether the compiled steps serve: a radius that is given and not too large, and no penalty."""
    return not schedule.learned and schedule.largest_radius <= MAX_RHO and penalty == 0.0


class EdgeDescent:
    """Leaves on their way down: steps are a function of the seed, however many are taken at once and on which threads."""

    def __init__(self, sampler: Edges, params: Floats, schedule: Schedule, n_iter: int, seed: int) -> None:
        n, n_drawn = len(params), sampler.edges.n_drawn
        self._sampler, self._seed = sampler, seed
        done = np.arange(n_iter) / max(1, n_iter - 1)
        stages = (schedule.radius, schedule.temperature, schedule.learning_rate)
        self._schedule = np.array([[stage(share) for stage in stages] for share in done.tolist()]).reshape(n_iter, 3)
        half = 0.5 * params
        self.leaves = kernels.LeafArrays(params.copy(), np.zeros(n), np.zeros(n), np.cos(half), np.sin(half))
        self._by_angle = np.zeros((min(MAX_CHUNKS, max(1, -(-n_drawn // CHUNK_EDGES))), n))

    def settings(self, t: int) -> list[float]:
        """Radius, temperature and learning rate of step t."""
        return list(self._schedule[t].tolist())

    def steps(self, first: int, stop: int) -> list[float]:
        """Steps first … stop − 1, and the loss that each estimates."""
        if first % TOGETHER == 0:
            self._circular = self._sampler.circular(self.leaves.angles)
        if self._sampler.mapping is not map and len(self._by_angle) > 1:
            return [self._step_on_threads(t) for t in range(first, stop)]
        about = self._sampler.edges, self.leaves, self._circular, first, self._seed, self._schedule[first:stop]
        return list(kernels.edge_steps(*about, self._by_angle).tolist())

    def _step_on_threads(self, t: int) -> float:
        step = kernels.Step(t, self._seed, *self.settings(t))
        n_chunks = len(self._by_angle)

        def run(chunk: int) -> float:
            about = self._sampler.edges, chunk, n_chunks, self.leaves, self._circular, step
            return float(kernels.edge_slopes(*about, self._by_angle))

        loss = sum(self._sampler.mapping(run, range(n_chunks)))
        kernels.move_leaves(self.leaves, self._by_angle, step)
        return float(loss)


def descend_on_edges(
    sampler: Edges, params: Floats, schedule: Schedule, n_iter: int, watch: Monitor, rng: np.random.Generator
) -> DescentRun:
    """One run; the same as ``descend`` with other random numbers, several times as fast."""
    descent = EdgeDescent(sampler, params, schedule, n_iter, int(rng.integers(2**62)))
    scored = max(TOGETHER, min(SCORED, n_iter // 20 // TOGETHER * TOGETHER))
    # who listens hears of every step
    each = 1 if watch.clock.has_listeners else TOGETHER
    losses: list[float] = []

    def update(round_: int) -> None:
        nonlocal losses
        losses = descent.steps(round_ * each, min(n_iter, (round_ + 1) * each))
        run.n_triplets += len(losses) * THIRDS * sampler.edges.n_drawn

    def after(round_: int) -> bool:
        last = min(n_iter, (round_ + 1) * each) - 1
        if watch.after(last, run, descent.leaves.angles, *descent.settings(last)[:2], *losses):
            return True
        if (last + 1) % TOGETHER == 0:
            level.save(steps=last + 1, **descent.leaves._asdict(), **run.to_arrays())
        return False

    with watch.clock.checkpoints.scope("edges") as level:
        radius = schedule.radius(0.0)
        run = watch.begin(Circle(), params, radius, n_iter, sampler.work, scored, found=level.saved)
        for name, array in descent.leaves._asdict().items():
            array[...] = level.saved.get(name, array)
        minimize(update, -(-n_iter // each), after, int(level.saved.get("steps", 0)) // each)
    return run
