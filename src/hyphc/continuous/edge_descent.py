"""The run on a graph's edges with leaves on the circle: compiled steps, many in a call, or one at a time on several threads."""

from __future__ import annotations

import numpy as np

from .._kernels.continuous import edge_steps as kernels
from .._runtime.arrays import Floats
from .descent import DescentRun, Monitor, Schedule, descend
from .manifolds import Chart, Circle
from .sampling import THIRDS, Edges

# Steps of one call, after which leaves are sorted again to sample near third points: an older order gives worse samples.
TOGETHER = 4
# Steps after which the tree is decoded and scored, which takes as long as three steps.
SCORED = 16
# A task has at least so many edges, and a step at most so many tasks: their gradients are added up in order.
CHUNK_EDGES, MAX_CHUNKS = 2048, 16
# Beyond, the compiled steps would lose digits of close angles: sech ρ is down to 4e-9.
MAX_RHO = 20.0


def fits_edge_steps(schedule: Schedule, penalty: float) -> bool:
    """Return whether the compiled steps apply: the radius is given and not too large, and there is no penalty."""
    return not schedule.learned and schedule.largest_radius <= MAX_RHO and penalty == 0.0


class EdgeDescent:
    """Compiled steps on the edges of a graph: a function of the seed, however many are taken at once and on which threads."""

    def __init__(self, sampler: Edges, params: Floats, schedule: Schedule, n_iter: int, seed: int) -> None:
        n, n_drawn = len(params), sampler.edges.n_drawn
        self._sampler, self._seed, self.n_triplets = sampler, seed, 0
        self.chart: Chart = Circle()
        self.radius, self.temperature, _ = schedule.at(0.0)
        done = np.arange(n_iter) / max(1, n_iter - 1)
        self.schedule = np.array([schedule.at(share) for share in done.tolist()]).reshape(n_iter, 3)
        half = 0.5 * params
        self.leaves = kernels.LeafArrays(params.copy(), np.zeros(n), np.zeros(n), np.cos(half), np.sin(half))
        self._by_angle = np.zeros((min(MAX_CHUNKS, max(1, -(-n_drawn // CHUNK_EDGES))), n))

    @property
    def params(self) -> Floats:
        """Angles."""
        return self.leaves.angles

    def steps(self, first: int, stop: int) -> list[float]:
        """Take steps first … stop − 1, and return the loss that each estimates."""
        self.radius, self.temperature, _ = self.schedule[stop - 1].tolist()
        self.n_triplets += (stop - first) * THIRDS * self._sampler.edges.n_drawn
        if first % TOGETHER == 0:
            self._circular = self._sampler.circular(self.leaves.angles)
        if self._sampler.mapping is not map and len(self._by_angle) > 1:
            return [self._step_on_threads(t) for t in range(first, stop)]
        about = self._sampler.edges, self.leaves, self._circular, first, self._seed, self.schedule[first:stop]
        return list(kernels.edge_steps(*about, self._by_angle).tolist())

    def _step_on_threads(self, t: int) -> float:
        step = kernels.Step(t, self._seed, *self.schedule[t].tolist())
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
    """Return one run: ``descend`` by compiled steps, with other random numbers, several times as fast."""
    descent = EdgeDescent(sampler, params, schedule, n_iter, int(rng.integers(2**62)))
    scored = max(TOGETHER, min(SCORED, n_iter // 20 // TOGETHER * TOGETHER))
    each = 1 if watch.clock.has_listeners else TOGETHER  # callbacks are called after every step
    return descend(descent, n_iter, watch, sampler.work, each, scored)
