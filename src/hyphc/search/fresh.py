"""Stage 2 of the search: new trees, each grown from its own random subset of the points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels.search import passes
from .._shared.parallel import thread_map
from ..similarity import Similarity
from ..tree import Tree
from .run import Run, pieces, search
from .state import agenda_of, cost_of, scratch_of, state_of, tree_of

FIRST_LEVEL, GROWTH = 100, 3  # a fresh tree starts with about so many leaves and grows by this factor
FRESH, FIELD = 8, 80_000  # fresh trees: at most so many, with so many leaves together, but at least two


def fresh_tree(similarity: Similarity, run: Run) -> Tree | None:
    """The best of several fresh trees; None if time ran out before one was complete."""
    count = int(np.clip(FIELD // similarity.n, 2, FRESH))
    grown = thread_map(lambda seed: _grown(similarity, seed, run), run.seeds(count), run.n_jobs, run.stop)
    complete = [pair for pair in grown if pair is not None]
    return min(complete, key=lambda pair: pair[1])[0] if complete else None


def _grown(similarity: Similarity, seed: int, run: Run) -> tuple[Tree, float] | None:
    """A tree that is searched while it has few leaves, and again each time it has grown, and its cost; None if time ran out."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(similarity.n)
    tree, cost = Tree(np.empty((0, 2), dtype=np.int64)), 0.0
    for m in _levels(similarity.n):
        grown = _grow(tree, similarity.subset(order[:m]), int(rng.integers(2**31 - 1)), run)
        if grown is None:
            return None
        tree, cost = grown
    return _renamed(tree, order), cost


def _levels(n: int) -> list[int]:
    """Numbers of leaves, each about three times the one before, up to n."""
    levels = [n]
    while levels[0] > FIRST_LEVEL * GROWTH:
        levels.insert(0, levels[0] // GROWTH)
    return levels


def _grow(tree: Tree, similarity: Similarity, seed: int, run: Run) -> tuple[Tree, float] | None:
    """Insert the points that the tree lacks at their cheapest places and search; the new tree and its cost."""
    state, n, m = state_of(tree, similarity), similarity.n, tree.n_leaves
    scratch, agenda = scratch_of(state), agenda_of(np.arange(n), seed)
    new, spare = np.arange(m, n), np.arange(n + m - 1, 2 * n - 1)
    for piece in pieces(n - m, run):
        passes.grow(state, scratch, new[piece], spare[piece])
    if run.late():
        return None
    passes.wake_all(state.nodes, scratch, agenda, state.nodes["left"][-1])
    search(state, scratch, agenda, 2 * n - 1, 0.0, min(50 * n, 30_000), run)
    return tree_of(state, np.arange(n), similarity.maximum(), None), cost_of(state)


def _renamed(tree: Tree, leaves: npt.NDArray[np.int64]) -> Tree:
    """The tree with leaf i called leaves[i]."""
    number = np.append(leaves, np.arange(len(leaves), 2 * len(leaves) - 1))
    return Tree(number[tree.children], tree.heights)
