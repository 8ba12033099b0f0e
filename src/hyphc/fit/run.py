"""Run a plan: first tree, continuous stage, search, under one run control."""

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
from .deduplicate import DistinctPoints
from .plan import FitPlan

Seed = int | np.random.RandomState | None


@dataclass(frozen=True)
class FitResult:
    """Tree of all points, positions that decode to it if they were learned (n, n_components), and losses by iteration."""

    tree: Tree
    embedding: Floats | None
    loss_curve: Floats


def run_plan(
    plan: FitPlan, distinct: DistinctPoints, clock: Clock, random_state: Seed, n_jobs: int | None
) -> FitResult:
    """Return the tree that the plan leads to. Once the clock is stopped no further stage begins."""
    clock.translate = distinct.translate_progress
    similarity = distinct.similarity
    with clock.checkpoints.scope("stages") as level:
        clock.set_deadline(plan.embed_share)
        start, embedding, losses = _restore_start(level) or _make_start(plan, similarity, clock, random_state, n_jobs)
        clock.set_deadline(1.0)
        tree = start
        if not clock.stopped:
            learned = np.empty(0) if embedding is None else embedding
            level.save(**arrays_of(start), embedding=learned, losses=losses)
        if plan.search and not clock.stopped:
            tree = _cheaper(start, baselines.average_linkage(similarity), similarity) if plan.linkage else start
            is_quick = plan.start != "continuous stage"
            tree = refine_stage(clock, tree, similarity, random_state, n_jobs, effort=plan.effort, is_quick=is_quick)
    expanded = distinct.expand_tree(tree)
    return FitResult(expanded, embedding if expanded is start else None, distinct.shift_losses(losses))


def _restore_start(level: Scope) -> tuple[Tree, Floats | None, Floats] | None:
    """Return the first tree, positions and losses from a checkpoint, None if there are none."""
    if not level.saved:
        return None
    embedding = level.saved["embedding"]
    return tree_from(level.saved), embedding if embedding.size else None, level.saved["losses"]


def _make_start(
    plan: FitPlan, similarity: Similarity, clock: Clock, random_state: Seed, n_jobs: int | None
) -> tuple[Tree, Floats | None, Floats]:
    """Return the first tree, and the positions and losses of a continuous stage if the plan has one."""
    if plan.embed is not None:
        result = embed_stage(plan.embed, similarity, clock, random_state, n_jobs)
        return result.tree, result.embedding, result.loss_curve
    return quick_tree(similarity, n_jobs), None, np.empty(0)


def _cheaper(tree: Tree, other: Tree, similarity: Similarity) -> Tree:
    return min((tree, other), key=lambda candidate: dasgupta_cost(candidate, similarity))


def embed_tree(tree: Tree, n_components: int) -> Floats:
    """Return positions (n, max(2, n_components)) that decode to the tree; coordinates beyond the first two are 0."""
    return np.pad(encode_by_height(tree), ((0, 0), (0, max(0, n_components - 2))))
