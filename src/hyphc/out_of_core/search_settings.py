"""Searches of a fit by parts: for the sample, a part and the tree above, what a fit of all rows at once would do.

Beyond ``LARGE`` rows that is a quick start and sweeps. More search in the sample and above the parts would take longer than the
rest, for trees that cost a little less and, under cosines, tell the classes of planted data apart less well.
"""

from __future__ import annotations

import numpy as np

from .._runtime.run_control import Clock
from ..baselines.first_tree import quick_tree
from ..continuous.solver import EmbedSettings
from ..fit.deduplicate import Distinct
from ..fit.plan import plan_fit
from ..fit.run import carry_out
from ..fit.weighted_leaves import twins
from ..search.coarsening import coarsen
from ..search.refine import refine_stage
from ..search.search_context import LARGE
from ..similarity import Similarity
from ..tree import Tree
from .job import Problem

SWEEPS = 100  # of a tree at most; they end by themselves long before
LEVELS = (16, 128)  # leaves of subtrees that are moved as one, on levels above those of a large tree


def searched(problem: Problem, similarity: Similarity, seed: int, n_jobs: int, sweeps: int = SWEEPS) -> Tree:
    """The tree of some leaves of a problem; if it has many rows, by at most so many sweeps."""
    if similarity.n == 1:
        return Tree(np.empty((0, 2), np.int64))
    distinct = Distinct(similarity, twins(similarity))
    if problem.n > LARGE:
        start = quick_tree(distinct.similarity, n_jobs)
        return distinct.tree(refined(problem, start, distinct.similarity, seed, n_jobs, sweeps))
    plan = plan_fit(distinct.similarity, EmbedSettings(), effort=problem.recipe.effort)
    return carry_out(plan, distinct, Clock(), seed, n_jobs).tree


def refined(problem: Problem, tree: Tree, similarity: Similarity, seed: int, n_jobs: int, sweeps: int = SWEEPS) -> Tree:
    """A tree of some leaves of a problem, improved; if it has many rows, by at most so many sweeps."""
    limit = sweeps if problem.n > LARGE else None
    return refine_stage(Clock(), tree, similarity, seed, n_jobs, max_sweeps=limit, effort=problem.recipe.effort)


def swept_above(problem: Problem, tree: Tree, similarity: Similarity, seed: int, n_jobs: int) -> Tree:
    """A tree of some leaves of a problem, improved by moves of its larger subtrees, which sweeps of many leaves hardly try."""
    for size in LEVELS:
        level = coarsen(tree, similarity, size)
        tree = level.expand(refined(problem, level.tree, level.similarity, seed, n_jobs))
    return tree
