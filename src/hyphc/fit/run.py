"""A plan carried out: start, continuous stage, search, all on one clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import baselines
from .._runtime.arrays import Floats
from .._runtime.checkpointing import Scope
from .._runtime.run_control import Clock
from ..baselines.first_tree import quick_tree
from ..continuous.solver import embed_stage
from ..hyperbolic.encode import encode_by_height
from ..scores.costs import dasgupta_cost
from ..search.refine import refine_stage
from ..similarity import Similarity
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .deduplicate import Distinct
from .plan import FitPlan

Seed = int | np.random.RandomState | None


@dataclass(frozen=True)
class Fit:
    """What came of a plan: the tree of all points, positions that decode to it if they were learned, and the losses."""

    tree: Tree
    embedding: Floats | None
    loss_curve: Floats


def carry_out(plan: FitPlan, problem: Distinct, clock: Clock, random_state: Seed, n_jobs: int | None) -> Fit:
    """Do what the plan says. Once the clock is stopped no further stage begins."""
    clock.translate = problem.news
    similarity = problem.similarity
    with clock.checkpoints.scope("stages") as level:
        clock.set_deadline(plan.embed_share)
        start, embedding, losses = _taken_up(level) or _start(plan, similarity, clock, random_state, n_jobs)
        clock.set_deadline(1.0)
        tree = start
        if not clock.stopped:
            learned = np.empty(0) if embedding is None else embedding
            level.save(**arrays_of(start), embedding=learned, losses=losses)
        if plan.search and not clock.stopped:
            tree = _cheaper(start, baselines.average_linkage(similarity), similarity) if plan.linkage else start
            tree = refine_stage(clock, tree, similarity, random_state, n_jobs, effort=plan.effort)
    everyone = problem.tree(tree)
    return Fit(everyone, embedding if everyone is start else None, problem.curve(losses))


def _taken_up(level: Scope) -> tuple[Tree, Floats | None, Floats] | None:
    """The start that an earlier process has made, if one has."""
    if not level.saved:
        return None
    embedding = level.saved["embedding"]
    return tree_from(level.saved), embedding if embedding.size else None, level.saved["losses"]


def _start(
    plan: FitPlan, similarity: Similarity, clock: Clock, random_state: Seed, n_jobs: int | None
) -> tuple[Tree, Floats | None, Floats]:
    """The first tree, and the positions and losses of a continuous stage."""
    if plan.embed is not None:
        result = embed_stage(plan.embed, similarity, clock, random_state, n_jobs)
        return result.tree, result.embedding, result.loss_curve
    return quick_tree(similarity, n_jobs), None, np.empty(0)


def _cheaper(tree: Tree, other: Tree, similarity: Similarity) -> Tree:
    return min((tree, other), key=lambda candidate: dasgupta_cost(candidate, similarity))


def placed(tree: Tree, n_components: int) -> Floats:
    """Positions that decode to the tree; coordinates beyond the disk's two are 0."""
    return np.pad(encode_by_height(tree), ((0, 0), (0, max(0, n_components - 2))))
