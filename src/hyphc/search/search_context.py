"""Context that the stages of a search share: run control, random numbers, working space for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from .._kernels.search.state import Scratch, State
from .._runtime.checkpointing import NoCheckpoints, Snapshot
from .._runtime.parallel import n_threads, thread_map
from .._runtime.run_control import Clock
from ..scores.costs import dasgupta_cost
from ..similarity import Graph, Similarity
from ..tree import Tree
from .state import new_scratch

BATCH = 1_024  # trials between two checks of the deadline
# Problems without edges that are large, by leaves or by entries of their features, are searched from one tree only.
LARGE, LARGE_FEATURES = 50_000, 10_000_000
BACKGROUND_UP_TO = 2_000  # leaves of a problem in which the background of a blend is evaluated
# With edges, the stages after the first sweeps run as long as they are expected to end within so many visits, for effort 1: a
# visit reads an edge or compares a position, some 50 nanoseconds. The first is per stored edge, the second in all.
VISITS_PER_EDGE, LEAST_VISITS = 100, 120_000_000


def is_large(similarity: Similarity) -> bool:
    """Return whether a problem without edges is limited to one tree and local moves."""
    if similarity.has_edges:
        return False
    return similarity.n > LARGE or similarity.n * similarity.n_columns > LARGE_FEATURES


def later_stages(similarity: Similarity, on_the_clock: bool) -> tuple[str, ...]:
    """Return the stages of a search after its sweeps; ``on_the_clock`` says whether there is a time budget."""
    if is_large(similarity):
        return ("ratchet", "iterated") if on_the_clock else ()
    return ("other starts", "ratchet", "iterated")


def without_background(similarity: Similarity) -> Similarity:
    """Return what subtrees are compared by among all leaves: the edges alone beyond ``BACKGROUND_UP_TO`` leaves."""
    return similarity if similarity.n <= BACKGROUND_UP_TO else similarity.local_part


def stored_edges(similarity: Similarity) -> int:
    """Return the number of stored edges, each counted in both directions; 0 without a graph."""
    graph = similarity.local_part
    return len(graph.data) if isinstance(graph, Graph) else 0


def budget_of_visits(similarity: Similarity, effort: float) -> float:
    """Return the visits within which a search shall end; infinity without edges."""
    if not similarity.has_edges:
        return np.inf
    return effort * max(LEAST_VISITS, VISITS_PER_EDGE * stored_edges(similarity))


@dataclass
class SearchContext:
    """One search: threads, random numbers, run control, and the best tree reported so far, with its exact cost."""

    n_jobs: int | None
    rng: np.random.RandomState
    clock: Clock
    best: tuple[float, Tree]
    effort: float = 1.0
    is_quiet: bool = False
    visits: int = 0  # edges read and positions compared so far
    checkpoints: NoCheckpoints = field(default_factory=NoCheckpoints)

    def single_threaded(self) -> SearchContext:
        """Return the context on one thread, without callbacks and checkpoints: for one of several trees in parallel."""
        return replace(self, n_jobs=1, is_quiet=True, visits=0, checkpoints=NoCheckpoints())

    def without_callbacks(self) -> SearchContext:
        """Return the context without callbacks: for a tree that need not become the best."""
        return replace(self, is_quiet=True)

    def should_stop(self) -> bool:
        """Return whether time is up or the fit was stopped."""
        return self.clock.should_stop()

    def stop(self) -> None:
        """Make all stages end at their next check."""
        self.clock.stop()

    def report(self, stage: str, tree: Tree, cost: float) -> None:
        """Report a tree; callbacks receive the best so far."""
        if cost < self.best[0]:
            self.best = cost, tree
        cost, best = self.best
        self.clock.report(stage, cost, lambda: best)

    def report_sweep(self, tree: Callable[[], Tree], similarity: Similarity) -> None:
        """Count a sweep, and report the tree after it."""
        if self.is_quiet:
            return
        self.clock.steps += 1
        if self.clock.has_listeners:
            found = tree()
            self.report(f"sweep {self.clock.steps}", found, dasgupta_cost(found, similarity))

    def draw_seeds(self, count: int) -> list[int]:
        """Return random seeds for ``count`` tasks."""
        return [int(seed) for seed in self.rng.randint(2**31 - 1, size=count)]

    def rng_state(self) -> dict[str, Any]:
        """Return the state of the generator and the number of sweeps, for a checkpoint."""
        _, keys, place, *_ = self.rng.get_state()
        return {"random": np.append(keys, np.uint32(place)), "steps": self.clock.steps, "visits": self.visits}

    def restore(self, saved: Snapshot) -> None:
        """Restore what ``rng_state`` returned, if it was saved."""
        if "random" in saved:
            self.rng.set_state(("MT19937", saved["random"][:-1], int(saved["random"][-1]), 0, 0.0))
            self.clock.steps, self.visits = int(saved["steps"]), int(saved["visits"])


class ScratchPool:
    """A pool of working spaces, one for each thread."""

    def __init__(self, state: State, n_jobs: int | None, abort: Callable[[], object] | None = None) -> None:
        self.n_jobs, self.abort = n_jobs, abort
        self._scratches = [new_scratch(state) for _ in range(n_threads(n_jobs))]
        self.free: SimpleQueue[Scratch] = SimpleQueue()
        for scratch in self._scratches:
            self.free.put(scratch)

    def visits(self) -> int:
        """Return the visits of all threads; their sum does not depend on the number of threads."""
        return sum(int(scratch.counts.visits) for scratch in self._scratches)

    def map(self, function: Callable[[Any, Scratch], object], items: Sequence[Any]) -> None:
        """Call function(item, scratch) for all items, on the threads of ``n_jobs``."""

        def call(item: Any) -> None:
            scratch = self.free.get()
            try:
                function(item, scratch)
            finally:
                self.free.put(scratch)

        thread_map(call, items, self.n_jobs, self.abort)


def batches(n_items: int, context: SearchContext) -> Iterator[slice]:
    """Yield slices of at most ``BATCH`` items, until all are done or time is up."""
    for begin in range(0, n_items, BATCH):
        if context.should_stop():
            return
        yield slice(begin, min(begin + BATCH, n_items))
