"""Run a fit: collapse duplicates, plan, make the first tree, search; under constraints, below each required cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import baselines
from .._runtime.arrays import Floats, Ints
from .._runtime.checkpointing import Scope
from .._runtime.run_control import Clock
from ..baselines.first_tree import quick_tree
from ..continuous.solver import EmbedSettings, embed_stage
from ..hyperbolic.encode import encode_by_height
from ..scores.costs import dasgupta_cost
from ..search.ordered_dp import best_in_order
from ..search.refine import refine_stage
from ..similarity import Similarity
from ..similarity.metric_base import Seed
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .constrained_tree import Subproblem, build_constrained_tree
from .constraints import ResolvedConstraints
from .deduplicate import DistinctPoints
from .plan import FitPlan, plan_fit
from .weighted_leaves import twins


@dataclass(frozen=True)
class FitSettings:
    """Parameters of ``HypHC`` that decide how the tree of a similarity is found."""

    embed: EmbedSettings
    refine: bool
    effort: float
    time_budget: float | None
    n_jobs: int | None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> FitSettings:
        """Return the settings that follow from the estimator's parameters, checked."""
        embed = {field.name: parameters[field.name] for field in fields(EmbedSettings) if field.name in parameters}
        refine, effort = parameters["refine"], parameters["effort"]
        if not refine and effort != 1:
            raise ValueError(f"effort={effort!r} is of the search, and refine=False leaves it out; leave out one.")
        return cls(EmbedSettings(**embed), refine, effort, parameters["time_budget"], parameters["n_jobs"])

    def collapse_duplicates(self, similarity: Similarity) -> DistinctPoints:
        """Return the distinct points, unless a continuous stage alone, a preset or a given start needs every point."""
        is_allowed = self.refine and self.embed.preset is None and isinstance(self.embed.init, str)
        return DistinctPoints(similarity, twins(similarity) if is_allowed else None)

    def make_plan(self, similarity: Similarity) -> FitPlan:
        """Return the start, stages and budgets of a fit of distinct points."""
        return plan_fit(similarity, self.embed, refine=self.refine, effort=self.effort, time_budget=self.time_budget)


@dataclass(frozen=True)
class FitResult:
    """Tree of all points, positions that decode to it if they were learned (n, n_components), and losses by iteration."""

    tree: Tree
    embedding: Floats | None
    loss_curve: Floats


def solve(
    settings: FitSettings,
    similarity: Similarity,
    clock: Clock,
    seed: Seed,
    constraints: ResolvedConstraints | None = None,
) -> tuple[FitPlan, FitResult]:
    """Return the plan of a fit and its result: restored from the checkpoint if it is there, else computed and saved."""
    if constraints is None:
        distinct = settings.collapse_duplicates(similarity)
        plan = settings.make_plan(distinct.similarity)
    else:
        plan = replace(settings.make_plan(similarity), within=constraints.description)
    with clock.checkpoints.scope("fit") as level:
        if "children" in level.saved:
            clock.steps = int(level.saved["steps"])
            return plan, FitResult(*_restore_tree(level), level.saved["loss_curve"])
        level.save(seconds=clock.seconds, seed=seed)
        if constraints is None:
            result = run_plan(plan, distinct, clock, seed, settings.n_jobs)
        else:
            tree = _solve_constrained(settings, similarity, constraints, clock, seed)
            result = FitResult(tree, None, np.empty(0))
        if not clock.stopped:
            arrays = _tree_arrays(result.tree, result.embedding)
            level.save_now(seconds=clock.seconds, seed=seed, steps=clock.steps, **arrays, loss_curve=result.loss_curve)
    return plan, result


def _solve_constrained(
    settings: FitSettings, similarity: Similarity, constraints: ResolvedConstraints, clock: Clock, seed: Seed
) -> Tree:
    """Return the tree with all required clusters; subproblems that an earlier process has solved are restored."""
    solved: list[Ints] = []  # the merges of each subproblem
    with clock.checkpoints.scope("parts") as level:
        restored = []
        if level.saved:
            restored = np.split(level.saved["merges"], np.cumsum(level.saved["counts"])[:-1])
            clock.steps = int(level.saved["steps"])

        def solve_next(subproblem: Subproblem) -> Tree:
            if len(solved) < len(restored):
                solved.append(restored[len(solved)])
                return Tree(solved[-1])
            own = clock.for_subproblem(subproblem.translate_progress, subproblem.share)
            own.checkpoints = clock.checkpoints
            if constraints.order is not None:
                tree = best_in_order(subproblem.similarity)
            else:
                distinct = settings.collapse_duplicates(subproblem.similarity)
                tree = run_plan(settings.make_plan(distinct.similarity), distinct, own, seed, settings.n_jobs).tree
            clock.steps += own.steps
            solved.append(tree.children)
            if not clock.should_stop():
                # concatenated only when they are written: there may be many subproblems
                level.save(
                    merges=lambda: np.concatenate(solved), counts=lambda: list(map(len, solved)), steps=clock.steps
                )
            return tree

        return build_constrained_tree(constraints, similarity, solve_next)


def run_plan(
    plan: FitPlan, distinct: DistinctPoints, clock: Clock, random_state: Seed, n_jobs: int | None
) -> FitResult:
    """Return the tree that the plan leads to. Once the clock is stopped no further stage begins."""
    clock.translate = distinct.translate_progress
    similarity = distinct.similarity
    with clock.checkpoints.scope("stages") as level:
        clock.set_deadline(plan.embed_share)
        if level.saved:
            (start, embedding), losses = _restore_tree(level), level.saved["losses"]
        else:
            start, embedding, losses = _make_start(plan, similarity, clock, random_state, n_jobs)
        clock.set_deadline(1.0)
        tree = start
        if not clock.stopped:
            level.save(**_tree_arrays(start, embedding), losses=losses)
        if plan.search and not clock.stopped:
            if plan.linkage:
                other = baselines.average_linkage(similarity)
                tree = min(start, other, key=lambda candidate: dasgupta_cost(candidate, similarity))
            is_quick = plan.start != "continuous stage"
            tree = refine_stage(clock, tree, similarity, random_state, n_jobs, effort=plan.effort, is_quick=is_quick)
    expanded = distinct.expand_tree(tree)
    return FitResult(expanded, embedding if expanded is start else None, distinct.shift_losses(losses))


def _make_start(
    plan: FitPlan, similarity: Similarity, clock: Clock, random_state: Seed, n_jobs: int | None
) -> tuple[Tree, Floats | None, Floats]:
    """Return the first tree, and the positions and losses of a continuous stage if the plan has one."""
    if plan.embed is not None:
        result = embed_stage(plan.embed, similarity, clock, random_state, n_jobs)
        return result.tree, result.embedding, result.loss_curve
    return quick_tree(similarity, n_jobs), None, np.empty(0)


def _tree_arrays(tree: Tree, embedding: Floats | None) -> dict[str, Floats | Ints]:
    """Return a tree and its positions as arrays, which are empty if there are no positions."""
    return {**arrays_of(tree), "embedding": np.empty(0) if embedding is None else embedding}


def _restore_tree(level: Scope) -> tuple[Tree, Floats | None]:
    """Return the tree and positions that were saved as ``_tree_arrays``."""
    embedding = level.saved["embedding"]
    return tree_from(level.saved), embedding if embedding.size else None


def embed_tree(tree: Tree, n_components: int) -> Floats:
    """Return positions (n, max(2, n_components)) that decode to the tree; coordinates beyond the first two are 0."""
    return np.pad(encode_by_height(tree), ((0, 0), (0, max(0, n_components - 2))))
