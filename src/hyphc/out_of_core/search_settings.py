"""Searches of an out-of-core fit: for the sample, a part and the top tree, as a fit of all rows in memory would search.

Beyond ``LARGE`` rows that is a quick start and sweeps. More search in the sample and above the parts would take longer than the
rest, for trees that cost a little less and, under cosines, separate the classes of planted data less well.
"""

from __future__ import annotations

import numpy as np

from .._runtime.run_control import Clock
from ..baselines.coarsening import coarsen
from ..baselines.first_tree import quick_tree
from ..continuous.solver import EmbedSettings
from ..fit.deduplicate import DistinctPoints
from ..fit.plan import plan_fit
from ..fit.run import run_plan
from ..fit.weighted_leaves import twins
from ..search.refine import refine_stage
from ..search.search_context import LARGE
from ..similarity import Similarity
from ..tree import Tree
from .job import Job

SWEEPS = 100  # of a tree at most; they end by themselves long before
LEVELS = (16, 128)  # leaves of subtrees that are moved as one, on levels above those of a large tree


def search_tree(job: Job, similarity: Similarity, seed: int, n_jobs: int, sweeps: int = SWEEPS) -> Tree:
    """Return a tree of some leaves of a job; if the job has many rows, by at most ``sweeps`` sweeps."""
    if similarity.n == 1:
        return Tree(np.empty((0, 2), np.int64))
    distinct = DistinctPoints(similarity, twins(similarity))
    if job.n > LARGE:
        start = quick_tree(distinct.similarity, n_jobs)
        return distinct.expand_tree(refine_tree(job, start, distinct.similarity, seed, n_jobs, sweeps))
    plan = plan_fit(distinct.similarity, EmbedSettings(), effort=job.settings.effort)
    return run_plan(plan, distinct, Clock(), seed, n_jobs).tree


def refine_tree(job: Job, tree: Tree, similarity: Similarity, seed: int, n_jobs: int, sweeps: int = SWEEPS) -> Tree:
    """Return an improved tree of some leaves of a job; if the job has many rows, by at most ``sweeps`` sweeps."""
    limit = sweeps if job.n > LARGE else None
    return refine_stage(Clock(), tree, similarity, seed, n_jobs, max_sweeps=limit, effort=job.settings.effort)


def refine_coarse_levels(job: Job, tree: Tree, similarity: Similarity, seed: int, n_jobs: int) -> Tree:
    """Return a tree improved by moves of its larger subtrees, which sweeps of many leaves rarely try."""
    for size in LEVELS:
        level = coarsen(tree, similarity, size)
        tree = level.expand(refine_tree(job, level.tree, level.similarity, seed, n_jobs))
    return tree
