"""Disjoint subtrees of a tree, searched at the same time: no move of one concerns another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._kernels.search import tree_passes
from .._kernels.search.state import NOW, Agenda, BlendState, FeatureState, State
from .._runtime.checkpointing import Frame
from .search_context import Run
from .state import agenda_of, scratch_of


@dataclass
class Region:
    """A subtree: its queue, the node it hangs from, its root and its number of leaves."""

    agenda: Agenda
    ceiling: int
    root: int
    n_leaves: int


def open_regions(state: State, limit: int, run: Run) -> list[Region]:
    """The largest subtrees of three to ``limit`` leaves. Leaves of a graph see only edges inside, until ``close_regions``."""
    scratch = scratch_of(state)
    counts = tree_passes.count_leaves(state.nodes)
    roots = tree_passes.largest_subtrees(state.nodes, scratch, counts, limit)
    roots = roots[counts[roots] > 2]
    regions = []
    for number, (root, seed) in enumerate(zip(roots, run.seeds(len(roots)), strict=True)):
        leaves = tree_passes.leaves_below(state.nodes, scratch, root, counts[root])
        state.nodes["region"][leaves] = number + 1
        parent = int(state.nodes["parent"][root])
        regions.append(Region(agenda_of(leaves, seed), parent, int(root), int(counts[root])))
    return regions


def close_regions(state: State) -> None:
    """The whole tree is one region again, nothing waits, and nodes above the regions know what changed below."""
    state.nodes["region"] = 0
    state.nodes["waiting"] = 0
    if isinstance(state, (FeatureState, BlendState)):
        tree_passes.settle_all(state, tree_passes.merge_order(state.nodes, scratch_of(state)))


def pack(regions: list[Region]) -> dict[str, Callable[[], npt.NDArray[Any]]]:
    """The agendas of regions as arrays, for a trail."""
    return {
        "plans": lambda: np.concatenate([region.agenda.plan for region in regions]),
        "nows": lambda: np.array([tuple(region.agenda.now) for region in regions], dtype=NOW),
    }


def unpack(regions: list[Region], found: Frame) -> None:
    """Set the agendas of the same regions to what was kept."""
    ends = np.cumsum([len(region.agenda.plan) for region in regions])
    for region, plan, now in zip(regions, np.split(found["plans"], ends[:-1]), found["nows"], strict=True):
        region.agenda.plan[...] = plan
        for name in NOW.names or ():
            region.agenda.now[name] = now[name]
