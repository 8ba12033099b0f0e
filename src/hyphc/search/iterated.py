"""Stage 3 of the search: random moves in one part of the tree, repaired by sweeps, kept unless the cost rose."""

from __future__ import annotations

import numpy as np

from .._kernels import spr_batch
from .._kernels.spr_state import State
from ..kinds import Similarity
from ..tree import Tree
from .run import Run, ScratchPool, search
from .state import agenda_of, depth_first, scratch_of, state_of, tree_of

EFFORT = 100, 5_000, 300_000  # trials: per leaf, at least, at most
REGIONS, SMALLEST_REGION = (
    8,
    50,
)  # subtrees of at most an eighth of the leaves are searched at once, if they have so many


def iterated(tree: Tree, similarity: Similarity, run: Run) -> Tree:
    """Half the effort within subtrees of at most an eighth of the leaves, at the same time; half above them."""
    n = similarity.n
    effort = int(np.clip(EFFORT[0] * n, *EFFORT[1:]))
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = ScratchPool(state, run.n_jobs, run.stop)
    limit, smallest = n // REGIONS, 0.0
    if limit >= SMALLEST_REGION:
        effort //= 2
        _search_regions(state, pool, limit, effort, run)
        smallest = limit * float(similarity.sizes.mean())
    agenda = agenda_of(np.arange(n), run.seeds(1)[0])
    pool.map(lambda share, scratch: search(state, scratch, agenda, 2 * n - 1, smallest, share, run), [effort])
    return tree_of(state, leaves, similarity.maximum(), tree.names)


def _search_regions(state: State, pool: ScratchPool, limit: int, effort: int, run: Run) -> None:
    """Search the largest subtrees of at most ``limit`` leaves, each on its own: no move of one concerns another."""
    n = len(state.nodes) // 2
    scratch = scratch_of(state)
    counts = spr_batch.count_leaves(state.nodes)
    roots = spr_batch.largest_subtrees(state.nodes, scratch, counts, limit)
    roots = roots[counts[roots] > 2]
    tasks = []
    for number, (root, seed) in enumerate(zip(roots, run.seeds(len(roots)), strict=True)):
        leaves = spr_batch.leaves_below(state.nodes, scratch, root, counts[root])
        state.nodes["region"][leaves] = number + 1
        tasks.append((agenda_of(leaves, seed), int(state.nodes["parent"][root]), int(effort * counts[root] / n)))
    pool.map(lambda task, scratch: search(state, scratch, task[0], task[1], 0.0, task[2], run), tasks)
    state.nodes["region"] = 0
