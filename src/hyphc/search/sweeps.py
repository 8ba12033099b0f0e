"""Stage 1 of the search: each subtree is pruned and regrafted where the cost is least, until none gains."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .._runtime.arrays import Ints
from ..similarity import Similarity
from ..tree import Tree
from .large import swept_by_levels
from .run import Run, ScratchPool, is_large
from .state import cost_of, depth_first, scale_of, state_of, take_up, tree_of
from .sweep import sweep

# A tree is tried as a whole so often before other stages gain more in the time.
FIRST_ROUNDS = 2
SETTLED = 3e-5  # a round of sweeps that gains a smaller share of the cost is the last: elsewhere the time gains more


@dataclass
class _Course:
    """How far the sweeps of a tree have come."""

    cost: float
    left: float  # rounds
    sweeps: int = 0
    last: float = np.inf  # the cost before the last sweep
    before: float = np.inf  # and before the round
    tried: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # subtrees to try next

    def goes_on(self, scale: float, n_nodes: int) -> bool:
        """Whether there is something to try: what is left of a round, or all in another round."""
        # in float32 moves that gain next to nothing could go on for ever
        if len(self.tried) and self.cost < self.last:
            return True
        if self.left <= 0 or not self.before - self.cost > SETTLED * scale:
            return False
        self.before, self.left = self.cost, self.left - 1
        self.tried, self.last = np.arange(n_nodes), np.inf
        return True


def swept(
    tree: Tree, similarity: Similarity, run: Run, max_sweeps: int | None = None, rounds: int | None = None
) -> Tree:
    """Try all subtrees, then again those near which something changed, until nothing does; and all again.

    Ends when a round of this has gained next to nothing, or after so many sweeps or rounds. Large trees are swept level by level.
    """
    if is_large(similarity):
        return swept_by_levels(tree, similarity, run, partial(swept, rounds=1), max_sweeps)
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = ScratchPool(state, run.n_jobs, run.stop)
    highest, most = similarity.maximum(), np.inf if max_sweeps is None else max_sweeps
    with run.trail.level("sweeps") as level:
        course = _Course(cost_of(state), np.inf if rounds is None else rounds)
        take_up(state, level.found)
        run.take_up(level.found)
        level.take_up(course)
        while not run.late() and course.sweeps < most and course.goes_on(scale_of(state), 2 * similarity.n - 1):
            course.tried = sweep(state, pool, course.tried, 0.0, run)
            course.sweeps, course.cost, course.last = course.sweeps + 1, cost_of(state), course.cost
            run.swept(course.sweeps, lambda: tree_of(state, leaves, highest, tree.names), similarity)
            run.keep(level, state, **vars(course))
    return tree_of(state, leaves, highest, tree.names)
