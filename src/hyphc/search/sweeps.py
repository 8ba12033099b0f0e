"""Stage 1 of the search: each subtree is pruned and regrafted where the cost is least, until none gains."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..similarity import Similarity
from ..tree import Tree
from .large import swept_by_levels
from .run import Run, ScratchPool, is_large
from .state import cost_of, depth_first, scale_of, state_of, tree_of
from .sweep import sweep

# A tree is tried as a whole so often before other stages gain more in the time.
FIRST_ROUNDS = 2
SETTLED = 3e-5  # a round of sweeps that gains a smaller share of the cost is the last: elsewhere the time gains more


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
    left = np.inf if rounds is None else rounds
    sweeps, cost, before = 0, cost_of(state), np.inf
    while left > 0 and before - cost > SETTLED * scale_of(state) and not run.late():
        before, left = cost, left - 1
        tried, last = np.arange(2 * similarity.n - 1), np.inf
        # in float32 moves that gain next to nothing could go on for ever
        while len(tried) and cost < last and not run.late() and (max_sweeps is None or sweeps < max_sweeps):
            tried = sweep(state, pool, tried, 0.0, run)
            sweeps, cost, last = sweeps + 1, cost_of(state), cost
            run.swept(sweeps, lambda: tree_of(state, leaves, similarity.maximum(), tree.names), similarity)
    return tree_of(state, leaves, similarity.maximum(), tree.names)
