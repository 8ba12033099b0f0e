"""Stage 3 of the search, the ratchet: sweeps under perturbed weights, then under the true weights, fused with the best tree.

A local optimum under the true weights is none under perturbed weights, where whole groups of subtrees move together as no series
of improving moves, nor a few random ones, would move them. Sweeps under the true weights then repair or undo most of it. The
result is better in some parts and worse in others; fusion keeps only the former, each independently, so that a round gains
in all parts of a large tree at once.
"""

from __future__ import annotations

import numpy as np

from .._runtime.parallel import thread_map
from ..similarity import Graph, Similarity
from ..similarity.metric_base import with_weights
from ..tree import Tree
from .search_context import SearchContext
from .spr_sweep import sweep_tree
from .tree_fusion import fuse

TOGETHER = 2  # perturbed trees of a round; not the number of threads, on which no result may depend
FACTORS = np.array([0.5, 1.0, 2.0])  # weights of a perturbed point, equally likely
SHARES = (0.3, 1.0)  # fractions of points that are perturbed, one for each tree of a round
# Total work of all rounds of a default search, and the maximum number of rounds; a leaf with features costs as much as 5 edges.
WORK, MOST_ROUNDS = 70_000, 5
EDGES_OF_A_LEAF = 5


def n_rounds(similarity: Similarity, effort: float) -> int:
    """Return the number of rounds without a time budget: fewer where they take longer, in proportion to the effort."""
    n = similarity.n
    work = n + len(similarity.local_part.data) if isinstance(similarity.local_part, Graph) else EDGES_OF_A_LEAF * n
    least = 1 if similarity.has_edges else 0  # features are close to the best after their sweeps
    return int(effort * min(max(WORK / work, least), MOST_ROUNDS))


def ratchet(tree: Tree, similarity: Similarity, context: SearchContext) -> Tree:
    """Return the tree fused with ``TOGETHER`` perturbed and re-optimised copies."""
    jobs = list(zip(context.draw_seeds(TOGETHER), SHARES, strict=True))
    single = context.single_threaded()
    found = thread_map(lambda job: _perturb(tree, similarity, single, *job), jobs, context.n_jobs, context.stop)
    for other in found:
        tree = fuse(tree, other, similarity)
    return tree


def _perturb(tree: Tree, similarity: Similarity, context: SearchContext, seed: int, share: float) -> Tree:
    """Return the tree after sweeps under perturbed weights of its points, then under the true weights."""
    rng = np.random.default_rng(seed)
    factors = np.where(rng.random(similarity.n) < share, rng.choice(FACTORS, similarity.n), 1.0)
    moved = sweep_tree(tree, with_weights(similarity, factors), context, rounds=1)
    return sweep_tree(moved, similarity, context, rounds=2)
