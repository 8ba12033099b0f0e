"""What the stages of the search share: who listens, when to stop, working space for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from .._kernels.search.state import Scratch, State
from .._runtime.checkpointing import Frame, Level, Trail
from .._runtime.parallel import n_threads, thread_map
from .._runtime.run_control import Clock
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from .state import changing, scratch_of

PIECE = 1_024  # trials between two looks at the clock
# Large problems, by leaves or by entries of their features: one tree takes long enough.
LARGE, LARGE_FEATURES = 50_000, 10_000_000
LARGE_GRAPH = 10_000  # leaves: a small random subset of them has hardly an edge left


def is_large(similarity: Similarity) -> bool:
    """Whether the search should do with one tree and nearby moves, from a start that is good already."""
    return similarity.n > LARGE or similarity.n * similarity.n_columns > LARGE_FEATURES


def later_stages(similarity: Similarity, on_the_clock: bool) -> tuple[str, ...]:
    """The stages of a search after its sweeps; a clock is a time budget."""
    if is_large(similarity):
        return ("ratchet", "iterated") if on_the_clock else ()
    return ("other starts", "ratchet", "iterated")


@dataclass
class Run:
    """One search: threads, random numbers, the clock of the fit, and the best tree that listeners know, with its exact cost."""

    n_jobs: int | None
    rng: np.random.RandomState
    clock: Clock
    known: tuple[float, Tree]
    effort: float = 1.0
    is_quiet: bool = False
    trail: Trail = field(default_factory=Trail)

    def quiet(self) -> Run:
        """The same search on one thread, without listeners and trail: for one of several trees at once."""
        return replace(self, n_jobs=1, is_quiet=True, trail=Trail())

    def unheard(self) -> Run:
        """The same search without listeners: for a tree that need not become the best."""
        return replace(self, is_quiet=True)

    def late(self) -> bool:
        """Whether time is up or somebody has ended the fit."""
        return self.clock.late()

    def stop(self) -> None:
        """Let all stages end at their next look at the clock."""
        self.clock.stop()

    def tell(self, stage: str, tree: Tree, cost: float) -> None:
        """Tell listeners of a tree."""
        if cost < self.known[0]:
            self.known = cost, tree
        cost, best = self.known
        self.clock.tell(stage, cost, lambda: best)

    def swept(self, number: int, tree: Callable[[], Tree], similarity: Similarity) -> None:
        """Count a sweep, and tell listeners of the tree it left."""
        if self.is_quiet:
            return
        self.clock.steps += 1
        if self.clock.listened:
            found = tree()
            self.tell(f"sweep {number}", found, dasgupta_cost(found, similarity))

    def seeds(self, count: int) -> list[int]:
        """Seeds for so many tasks."""
        return [int(seed) for seed in self.rng.randint(2**31 - 1, size=count)]

    def marks(self) -> dict[str, Any]:
        """Random state and effort spent, for a trail."""
        _, keys, place, *_ = self.rng.get_state()
        return {"random": np.append(keys, np.uint32(place)), "steps": self.clock.steps}

    def take_up(self, found: Frame) -> None:
        """Go on with the marks that were kept, if there are any."""
        if "random" in found:
            self.rng.set_state(("MT19937", found["random"][:-1], int(found["random"][-1]), 0, 0.0))
            self.clock.steps = int(found["steps"])

    def keep(self, level: Level, state: State, **values: Any) -> None:
        """Keep a state between two steps; not after a step that was cut short, which no later process would repeat."""
        if not self.late():
            level.keep(**changing(state), **values, **self.marks())


class ScratchPool:
    """As many working spaces as threads, handed out to whichever task runs."""

    def __init__(self, state: State, n_jobs: int | None, abort: Callable[[], object] | None = None) -> None:
        self.n_jobs, self.abort = n_jobs, abort
        self.free: SimpleQueue[Scratch] = SimpleQueue()
        for _ in range(n_threads(n_jobs)):
            self.free.put(scratch_of(state))

    def map(self, function: Callable[[Any, Scratch], object], items: Sequence[Any]) -> None:
        """Call function(item, scratch) for all items."""

        def call(item: Any) -> None:
            scratch = self.free.get()
            try:
                function(item, scratch)
            finally:
                self.free.put(scratch)

        thread_map(call, items, self.n_jobs, self.abort)


def pieces(n_items: int, run: Run, first: int = 0) -> Iterator[slice]:
    """Slices of at most ``PIECE`` items, until all are done or time is up."""
    for begin in range(first, n_items, PIECE):
        if run.late():
            return
        yield slice(begin, min(begin + PIECE, n_items))
