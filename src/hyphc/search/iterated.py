"""Stage 4 of the search: random moves in one part of the tree, repaired by sweeps, kept unless the cost rose."""

from __future__ import annotations

import numpy as np

from .._kernels.search.state import Scratch, State
from ..similarity import Similarity
from ..tree import Tree
from .regions import Region, close_regions, open_regions
from .run import Run, ScratchPool, is_large, search
from .state import agenda_of, depth_first, state_of, tree_of

TRIALS, LEAST_TRIALS, MOST_TRIALS = 8, 5_000, 30_000  # per leaf, at least, at most
# Subtrees of at most an eighth of the leaves are searched at once, if they have so many.
REGIONS, SMALLEST_REGION = 8, 50
LARGE_TREE_REGION = 1_024  # leaves, in large trees


def iterated(tree: Tree, similarity: Similarity, run: Run) -> Tree:
    """Half the trials within subtrees of at most an eighth of the leaves, at the same time; half above them.

    In large trees all of it within small subtrees.
    """
    n = similarity.n
    trials = int(run.effort * np.clip(TRIALS * n, LEAST_TRIALS, MOST_TRIALS))
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = ScratchPool(state, run.n_jobs, run.stop)
    limit, smallest = n // REGIONS, 0.0
    if is_large(similarity):  # near the top of a large tree one kick takes seconds to repair
        _search_regions(state, pool, LARGE_TREE_REGION, trials, run)
        return tree_of(state, leaves, similarity.maximum(), tree.names)
    if limit >= SMALLEST_REGION:
        trials //= 2
        _search_regions(state, pool, limit, trials, run)
        smallest = limit * float(similarity.sizes.mean())
    agenda = agenda_of(np.arange(n), run.seeds(1)[0])
    pool.map(lambda share, scratch: search(state, scratch, agenda, 2 * n - 1, smallest, share, run), [trials])
    return tree_of(state, leaves, similarity.maximum(), tree.names)


def _search_regions(state: State, pool: ScratchPool, limit: int, trials: int, run: Run) -> None:
    """Search the subtrees of at most ``limit`` leaves, each with its share of the trials."""
    n = len(state.nodes) // 2

    def work(region: Region, scratch: Scratch) -> None:
        search(state, scratch, region.agenda, region.ceiling, 0.0, int(trials * region.n_leaves / n), run)

    pool.map(work, open_regions(state, limit, run))
    close_regions(state)
