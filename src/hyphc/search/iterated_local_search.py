"""Stage 4 of the search, iterated local search: random moves in one region, local search there, undo if the cost rose."""

from __future__ import annotations

import numpy as np

from .._kernels.search import local_search
from .._kernels.search.state import Scratch, State
from .._runtime.checkpointing import Scope
from ..similarity import Similarity
from ..tree import Tree
from .regions import Region, close_regions, open_regions, pack_agendas, restore_agendas
from .search_context import BATCH, ScratchPool, SearchContext, batches, is_large
from .state import build_state, new_agenda, renumber_depth_first, restore_state, tree_from_state

TRIALS, LEAST_TRIALS, MOST_TRIALS = 8, 5_000, 30_000  # per leaf, at least, at most
# Subtrees of at most 1/REGIONS of the leaves are searched in parallel, if that is at least so many leaves.
REGIONS, SMALLEST_REGION = 8, 50
LARGE_TREE_REGION = 1_024  # leaves, in large trees
STRETCH = 8 * BATCH  # trials of each region between two checkpoints


def run_iterated_search(tree: Tree, similarity: Similarity, context: SearchContext) -> Tree:
    """Return the tree after iterated local search: half the trials within subtrees of n/8 leaves in parallel, half above them.

    In large trees all trials are within small subtrees.
    """
    n = similarity.n
    trials = int(context.effort * np.clip(TRIALS * n, LEAST_TRIALS, MOST_TRIALS))
    ordered, permuted, leaves = renumber_depth_first(tree, similarity)
    state = build_state(ordered, permuted)
    pool = ScratchPool(state, context.n_jobs, context.stop)
    limit, smallest = n // REGIONS, 0.0
    with context.checkpoints.scope("iterated") as scope:
        if is_large(similarity):  # near the top of a large tree one perturbation takes seconds to repair
            _search_regions(state, pool, LARGE_TREE_REGION, trials, context, scope)
            return tree_from_state(state, leaves, similarity.maximum(), tree.names)
        if limit >= SMALLEST_REGION:
            trials //= 2
            if not int(scope.saved.get("above", 0)):
                _search_regions(state, pool, limit, trials, context, scope)
            smallest = limit * float(similarity.sizes.mean())
        whole = Region(new_agenda(np.arange(n), context.draw_seeds(1)[0]), 2 * n - 1, 2 * n - 2, n)
        _search(state, pool, [whole], [trials], smallest, context, scope, above=1)
    return tree_from_state(state, leaves, similarity.maximum(), tree.names)


def _search_regions(
    state: State, pool: ScratchPool, limit: int, trials: int, context: SearchContext, scope: Scope
) -> None:
    """Search the subtrees of at most ``limit`` leaves in parallel, with trials in proportion to their leaves."""
    n = len(state.nodes) // 2
    regions = open_regions(state, limit, context)
    shares = [int(trials * region.n_leaves / n) for region in regions]
    _search(state, pool, regions, shares, 0.0, context, scope, above=0)
    close_regions(state)


def _search(
    state: State,
    pool: ScratchPool,
    regions: list[Region],
    trials: list[int],
    smallest: float,
    context: SearchContext,
    scope: Scope,
    above: int,
) -> None:
    """Run the trials of each region, regions in parallel; ``above`` is 1 for the region above the small subtrees."""
    first = 0
    if scope.saved and int(scope.saved["above"]) == above:
        restore_state(state, scope.saved)
        restore_agendas(regions, scope.saved)
        context.restore(scope.saved)
        first = int(scope.saved["first"])

    def work(job: tuple[Region, int, int], scratch: Scratch) -> None:
        region, begin, end = job
        for batch in batches(end, context, begin):
            local_search.search_region(
                state, scratch, region.agenda, region.region_parent, smallest, batch.stop - batch.start
            )

    for begin in range(first, max(trials, default=0), STRETCH):
        ends = [min(share, begin + STRETCH) for share in trials]
        pool.map(work, [(region, begin, end) for region, end in zip(regions, ends, strict=True)])
        context.save(scope, state, above=above, first=begin + STRETCH, **pack_agendas(regions))
