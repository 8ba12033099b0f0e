"""Stage 3 of the search, the ratchet: sweeps under perturbed weights, then under the true ones; what gained is fused in.

Under other weights a tree that no move improves is none such any more, and whole groups of subtrees move together as no series of
gaining moves, nor a few random ones, would move them. Back under the true weights most of it is repaired or undone. What is
left is better in some places and worse in others; fusing keeps the former only, each on its own, so that a round gains
from all parts of a large tree at once.
"""

from __future__ import annotations

import numpy as np

from .._runtime.parallel import thread_map
from ..similarity import Graph, Similarity
from ..similarity.metric_base import with_weights
from ..tree import Tree
from .search_context import Run
from .spr_sweep import swept
from .tree_fusion import fused

TOGETHER = 2  # trees made from one best tree, at the same time; not the number of threads, on which nothing may depend
FACTORS = np.array([0.5, 1.0, 2.0])  # a perturbed point counts so many times, each as likely
SHARES = (0.3, 1.0)  # of the points are perturbed, in one and the other
# A default search has rounds for so much work together, but no more than so many; a feature's leaf takes as long as five edges.
WORK, MOST_ROUNDS = 70_000, 5
EDGES_OF_A_LEAF = 5


def n_rounds(similarity: Similarity, effort: float) -> int:
    """Rounds of a search without a time budget: fewer where they take longer, in proportion to the effort."""
    n = similarity.n
    work = n + len(similarity.local_part.data) if isinstance(similarity.local_part, Graph) else EDGES_OF_A_LEAF * n
    least = 1 if similarity.has_edges else 0  # features are close to the best after their sweeps
    return int(effort * min(max(WORK / work, least), MOST_ROUNDS))


def ratcheted(tree: Tree, similarity: Similarity, run: Run) -> Tree:
    """The tree fused with some that were perturbed and searched, each from the tree given."""
    jobs = list(zip(run.seeds(TOGETHER), SHARES, strict=True))
    quiet = run.quiet()
    found = thread_map(lambda job: _perturbed(tree, similarity, quiet, *job), jobs, run.n_jobs, run.stop)
    for other in found:
        tree = fused(tree, other, similarity)
    return tree


def _perturbed(tree: Tree, similarity: Similarity, run: Run, seed: int, share: float) -> Tree:
    """The tree swept under other weights of its points, then under the true ones."""
    rng = np.random.default_rng(seed)
    factors = np.where(rng.random(similarity.n) < share, rng.choice(FACTORS, similarity.n), 1.0)
    moved = swept(tree, with_weights(similarity, factors), run, rounds=1)
    return swept(moved, similarity, run, rounds=2)
