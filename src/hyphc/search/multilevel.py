"""Multilevel sweeps of graphs and blends: small subtrees among all leaves, larger ones in a coarse problem.

A trial takes time in proportion to the edges of the subtree, so trying all subtrees takes the depth of the tree times as long as
trying the leaves. In the coarse problem, whose leaves are small subtrees, most edges are merged: large subtrees are tried at a
fraction of the time, and find nearly the same positions. A coarse problem has a coarser one of its own.

A background orders merges of distant groups. It is evaluated in coarse problems of at most ``BACKGROUND_UP_TO`` leaves; above,
subtrees are compared by their edges alone.
"""

from __future__ import annotations

import numpy as np

from .._kernels.search import tree_passes
from .._kernels.search.state import BlendState
from ..baselines.coarsening import coarsen
from ..scores.costs import dasgupta_cost
from ..similarity import Similarity
from ..tree import Tree
from .search_context import ScratchPool, SearchContext, stored_edges, without_background
from .spr_sweep import limit_trials, sweep_all_sizes, sweep_once, sweep_regions
from .state import build_state, cost_scale, renumber_depth_first, tree_from_state

SMALL = 32  # maximum leaves of a subtree tried in the full tree; larger ones are tried in the coarse problem
ALL_SIZES_UP_TO = 2 * SMALL  # leaves of a problem that has no coarse one
# Sweeps of small subtrees before large ones are tried again: one of all, one of those re-queued.
SWEEPS = 2
# Rounds end when reading every edge once gains less than this fraction of the cost.
LEAST_RATE = 5e-5


def sweep_tree(
    tree: Tree, similarity: Similarity, context: SearchContext, rounds: float = np.inf, max_sweeps: float = np.inf
) -> Tree:
    """Return the tree after rounds of sweeps, in levels where there are edges. Rounds end when one gains little."""
    if not similarity.has_edges or similarity.n <= ALL_SIZES_UP_TO:
        return sweep_all_sizes(tree, similarity, context, rounds, max_sweeps)
    fine = without_background(similarity)
    n_edges, number, sweeps = stored_edges(similarity), 0, 0.0
    best, cost = tree, dasgupta_cost(tree, similarity)
    while number < rounds and sweeps < max_sweeps and not context.should_stop():
        before, n_sweeps = context.visits, min(SWEEPS, max_sweeps - sweeps)
        tree, scale = _sweep_small(best, fine, context, n_sweeps, is_first=number == 0)
        number, sweeps = number + 1, sweeps + n_sweeps
        if sweeps < max_sweeps and not context.should_stop():
            tree = _sweep_large(tree, similarity, context)
        gain = cost - dasgupta_cost(tree, similarity)
        if gain > 0:  # moves by edges alone may raise the background's part
            best, cost = tree, cost - gain
        if gain * n_edges <= LEAST_RATE / context.effort * scale * (context.visits - before):
            break
    return best


def _sweep_small(
    tree: Tree, similarity: Similarity, context: SearchContext, n_sweeps: float, is_first: bool
) -> tuple[Tree, float]:
    """Try subtrees of up to ``SMALL`` leaves, then those re-queued; return the tree, and a scale of gains."""
    ordered, permuted, leaves = renumber_depth_first(tree, similarity)
    state = build_state(ordered, permuted)
    if not isinstance(state, BlendState):
        state = limit_trials(state)
    pool, highest, scale = ScratchPool(state, context.n_jobs, context.stop), similarity.maximum(), cost_scale(state)
    tried = np.arange(2 * similarity.n - 1)
    if is_first:
        sweep_regions(state, pool, context)
    while n_sweeps > 0 and len(tried) and not context.should_stop():
        small = tried[tree_passes.count_leaves(state.nodes)[tried] <= SMALL]
        tried = sweep_once(state, pool, small, 0.0, context)
        n_sweeps -= 1
        context.report_sweep(lambda: tree_from_state(state, leaves, highest, tree.names), similarity)
    context.visits += pool.visits()
    return tree_from_state(state, leaves, highest, tree.names), scale


def _sweep_large(tree: Tree, similarity: Similarity, context: SearchContext) -> Tree:
    """Try larger subtrees in the coarse problem, whose leaves have up to ``SMALL`` leaves; return the tree."""
    level, quiet = coarsen(tree, similarity, SMALL), context.without_callbacks()
    if level.tree.n_leaves > similarity.n / 2:  # a caterpillar tree cannot be coarsened
        tree = sweep_all_sizes(tree, similarity, quiet, rounds=1, max_sweeps=1)
    else:
        tree = level.expand(sweep_tree(level.tree, level.similarity, quiet, rounds=1)).with_names(tree.names)
    context.visits = quiet.visits
    return tree
