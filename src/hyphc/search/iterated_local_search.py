"""Stage 4 of the search: random moves in one part of the tree, repaired by sweeps, kept unless the cost rose."""

from __future__ import annotations

import numpy as np

from .._kernels.search import local_search
from .._kernels.search.state import Scratch, State
from .._runtime.checkpointing import Level
from ..similarity import Similarity
from ..tree import Tree
from .regions import Region, close_regions, open_regions, pack, unpack
from .search_context import PIECE, Run, ScratchPool, is_large, pieces
from .state import agenda_of, depth_first, state_of, take_up, tree_of

TRIALS, LEAST_TRIALS, MOST_TRIALS = 8, 5_000, 30_000  # per leaf, at least, at most
# Subtrees of at most an eighth of the leaves are searched at once, if they have so many.
REGIONS, SMALLEST_REGION = 8, 50
LARGE_TREE_REGION = 1_024  # leaves, in large trees
STRETCH = 8 * PIECE  # trials of each subtree between two moments at which the state can be kept


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
    with run.trail.level("iterated") as level:
        if is_large(similarity):  # near the top of a large tree one kick takes seconds to repair
            _search_regions(state, pool, LARGE_TREE_REGION, trials, run, level)
            return tree_of(state, leaves, similarity.maximum(), tree.names)
        if limit >= SMALLEST_REGION:
            trials //= 2
            if not int(level.found.get("above", 0)):
                _search_regions(state, pool, limit, trials, run, level)
            smallest = limit * float(similarity.sizes.mean())
        whole = Region(agenda_of(np.arange(n), run.seeds(1)[0]), 2 * n - 1, 2 * n - 2, n)
        _search(state, pool, [whole], [trials], smallest, run, level, above=1)
    return tree_of(state, leaves, similarity.maximum(), tree.names)


def _search_regions(state: State, pool: ScratchPool, limit: int, trials: int, run: Run, level: Level) -> None:
    """Search the subtrees of at most ``limit`` leaves, each with its share of the trials."""
    n = len(state.nodes) // 2
    regions = open_regions(state, limit, run)
    shares = [int(trials * region.n_leaves / n) for region in regions]
    _search(state, pool, regions, shares, 0.0, run, level, above=0)
    close_regions(state)


def _search(
    state: State,
    pool: ScratchPool,
    regions: list[Region],
    trials: list[int],
    smallest: float,
    run: Run,
    level: Level,
    above: int,
) -> None:
    """So many trials in each region, all regions at once; ``above`` is 1 for those above the small subtrees."""
    first = 0
    if level.found and int(level.found["above"]) == above:
        take_up(state, level.found)
        unpack(regions, level.found)
        run.take_up(level.found)
        first = int(level.found["first"])

    def work(job: tuple[Region, int, int], scratch: Scratch) -> None:
        region, begin, end = job
        for piece in pieces(end, run, begin):
            local_search.search(state, scratch, region.agenda, region.ceiling, smallest, piece.stop - piece.start)

    for begin in range(first, max(trials, default=0), STRETCH):
        ends = [min(share, begin + STRETCH) for share in trials]
        pool.map(work, [(region, begin, end) for region, end in zip(regions, ends, strict=True)])
        run.keep(level, state, above=above, first=begin + STRETCH, **pack(regions))
