"""Stage 3 of the search, the ratchet: sweeps under perturbed weights, then under the true weights, fused with the best tree.

A local optimum under the true weights is none under perturbed weights, where whole groups of subtrees move together as no series
of improving moves, nor a few random ones, would move them. Sweeps under the true weights then repair or undo most of it. The
result is better in some parts and worse in others; fusion keeps only the former, each independently, so that a round gains
in all parts of a large tree at once.
"""

from __future__ import annotations

import numpy as np

from .._runtime.parallel import thread_map
from ..similarity import Similarity
from ..similarity.metric_base import with_weights
from ..tree import Tree
from .multilevel import sweep_tree
from .search_context import SearchContext
from .spr_sweep import sweep_all_sizes
from .tree_fusion import fuse

TOGETHER = 2  # perturbed trees of a round; not the number of threads, on which no result may depend
FACTORS = np.array([0.5, 1.0, 2.0])  # weights of a perturbed point, equally likely
SHARES = (0.3, 1.0)  # fractions of points that are perturbed, one for each tree of a round
# Up to so many leaves all subtrees are tried among all leaves; levels take less time from here on and end as low.
ALL_SIZES_UP_TO = 4_000
MOST_ROUNDS = 5  # of a default search
FEATURE_ROUNDS = 14_000  # leaves with features, over which one round takes as long as is worth it


def n_rounds(similarity: Similarity, effort: float) -> int:
    """Return the number of rounds without a time budget; with edges the budget of visits may end them sooner."""
    rounds = MOST_ROUNDS if similarity.has_edges else min(FEATURE_ROUNDS / similarity.n, MOST_ROUNDS)
    return int(effort * rounds)


def ratchet(tree: Tree, similarity: Similarity, context: SearchContext) -> Tree:
    """Return the tree fused with ``TOGETHER`` perturbed and re-optimised copies."""
    jobs = list(zip(context.draw_seeds(TOGETHER), SHARES, strict=True))
    singles = [context.single_threaded() for _ in jobs]
    found = thread_map(
        lambda k: _perturb(tree, similarity, singles[k], *jobs[k]), range(TOGETHER), context.n_jobs, context.stop
    )
    context.visits += sum(single.visits for single in singles)
    for other in found:
        tree = fuse(tree, other, similarity)
    return tree


def _perturb(tree: Tree, similarity: Similarity, context: SearchContext, seed: int, share: float) -> Tree:
    """Return the tree after sweeps under perturbed weights of its points, then under the true weights."""
    rng = np.random.default_rng(seed)
    factors = np.where(rng.random(similarity.n) < share, rng.choice(FACTORS, similarity.n), 1.0)
    sweep = sweep_all_sizes if similarity.n <= ALL_SIZES_UP_TO else sweep_tree
    moved = sweep(tree, with_weights(similarity, factors), context, rounds=1)
    return sweep(moved, similarity, context, rounds=2)
