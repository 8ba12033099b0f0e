"""Disjoint subtrees (regions) of a tree that are searched in parallel: no move in one affects another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._kernels.search import tree_passes
from .._kernels.search.state import AGENDA_STATE, Agenda, BlendState, FeatureState, State
from .._runtime.checkpointing import Snapshot
from .search_context import SearchContext
from .state import new_agenda, new_scratch


@dataclass
class Region:
    """A subtree: its queue, the parent of its root, its root and its number of leaves."""

    agenda: Agenda
    region_parent: int
    root: int
    n_leaves: int


def open_regions(state: State, limit: int, context: SearchContext) -> list[Region]:
    """Return the largest subtrees of three to ``limit`` leaves; edges between regions are ignored until ``close_regions``."""
    scratch = new_scratch(state)
    counts = tree_passes.count_leaves(state.nodes)
    roots = tree_passes.largest_subtrees(state.nodes, scratch, counts, limit)
    roots = roots[counts[roots] > 2]
    regions = []
    for number, (root, seed) in enumerate(zip(roots, context.draw_seeds(len(roots)), strict=True)):
        leaves = tree_passes.leaves_below(state.nodes, scratch, root, counts[root])
        state.nodes["region"][leaves] = number + 1
        parent = int(state.nodes["parent"][root])
        regions.append(Region(new_agenda(leaves, seed), parent, int(root), int(counts[root])))
    return regions


def close_regions(state: State) -> None:
    """Make the whole tree one region again, clear all queues, and update the sums of all nodes."""
    state.nodes["region"] = 0
    state.nodes["waiting"] = 0
    if isinstance(state, (FeatureState, BlendState)):
        tree_passes.update_all_sums(state, tree_passes.merge_order(state.nodes, new_scratch(state)))


def pack_agendas(regions: list[Region]) -> dict[str, Callable[[], npt.NDArray[Any]]]:
    """Return the agendas of regions as arrays, for a checkpoint."""
    return {
        "plans": lambda: np.concatenate([region.agenda.plan for region in regions]),
        "nows": lambda: np.array([tuple(region.agenda.now) for region in regions], dtype=AGENDA_STATE),
    }


def restore_agendas(regions: list[Region], saved: Snapshot) -> None:
    """Set the agendas of the same regions to the saved arrays."""
    ends = np.cumsum([len(region.agenda.plan) for region in regions])
    for region, plan, now in zip(regions, np.split(saved["plans"], ends[:-1]), saved["nows"], strict=True):
        region.agenda.plan[...] = plan
        for name in AGENDA_STATE.names or ():
            region.agenda.now[name] = now[name]
