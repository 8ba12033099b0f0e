"""Iterated local search, the last stage: random moves in one region, local search there, undo if the cost rose."""

from __future__ import annotations

import numpy as np

from .._kernels.search import local_search
from .._kernels.search.state import Scratch, State
from ..similarity import Similarity
from ..tree import Tree
from .regions import Region, close_regions, open_regions
from .search_context import ScratchPool, SearchContext, batches, without_background
from .state import build_state, new_agenda, renumber_depth_first, tree_from_state

TRIALS, LEAST_TRIALS, MOST_TRIALS = 8, 5_000, 30_000  # per leaf, at least, at most
# Subtrees of at most 1/REGIONS of the leaves, and of at most so many leaves, are searched in parallel, if that is enough leaves.
REGIONS, SMALLEST_REGION, LARGEST_REGION = 8, 50, 1_024


def run_iterated_search(tree: Tree, similarity: Similarity, context: SearchContext) -> Tree:
    """Return the tree after iterated local search: half the trials within subtrees of n/8 leaves in parallel, half above them.

    Subtrees have at most ``LARGEST_REGION`` leaves. Above those of larger trees, where one perturbation takes time in proportion
    to the leaves, there are no trials.
    """
    n, similarity = similarity.n, without_background(similarity)
    trials = int(context.effort * np.clip(TRIALS * n, LEAST_TRIALS, MOST_TRIALS))
    ordered, permuted, leaves = renumber_depth_first(tree, similarity)
    state = build_state(ordered, permuted)
    pool = ScratchPool(state, context.n_jobs, context.stop)
    limit, smallest = min(n // REGIONS, LARGEST_REGION), 0.0
    if limit >= SMALLEST_REGION:
        trials //= 2
        _search_regions(state, pool, limit, trials, context)
        smallest = limit * float(similarity.sizes.mean())
    if n <= REGIONS * LARGEST_REGION:
        whole = Region(new_agenda(np.arange(n), context.draw_seeds(1)[0]), 2 * n - 1, 2 * n - 2, n)
        _search(state, pool, [whole], [trials], smallest, context)
    context.visits += pool.visits()
    return tree_from_state(state, leaves, similarity.maximum(), tree.names)


def _search_regions(state: State, pool: ScratchPool, limit: int, trials: int, context: SearchContext) -> None:
    """Search the subtrees of at most ``limit`` leaves in parallel, with trials in proportion to their leaves."""
    n = len(state.nodes) // 2
    regions = open_regions(state, limit, context)
    _search(state, pool, regions, [int(trials * region.n_leaves / n) for region in regions], 0.0, context)
    close_regions(state)


def _search(
    state: State,
    pool: ScratchPool,
    regions: list[Region],
    trials: list[int],
    smallest: float,
    context: SearchContext,
) -> None:
    """Run the trials of each region, regions in parallel."""

    def work(job: tuple[Region, int], scratch: Scratch) -> None:
        region, n_trials = job
        for batch in batches(n_trials, context):
            local_search.search_region(
                state, scratch, region.agenda, region.region_parent, smallest, batch.stop - batch.start
            )

    pool.map(work, list(zip(regions, trials, strict=True)))
