"""Disjoint subtrees (regions) of a tree that are searched in parallel: no move in one affects another."""

from __future__ import annotations

from dataclasses import dataclass

from .._kernels.search import tree_passes
from .._kernels.search.state import Agenda, BlendState, FeatureState, GraphState, State
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
    has_keys = isinstance(state, (GraphState, BlendState))
    regions = []
    for root, seed in zip(roots, context.draw_seeds(len(roots)), strict=True):
        leaves = tree_passes.leaves_below(state.nodes, scratch, root, counts[root])
        parent = int(state.nodes["parent"][root])
        agenda = new_agenda(leaves, seed)
        if has_keys:
            agenda.now.low, agenda.now.high = state.nodes["first"][root], tree_passes.key_after(state.nodes, root)
        regions.append(Region(agenda, parent, int(root), int(counts[root])))
    return regions


def close_regions(state: State) -> None:
    """Make the whole tree one region again, clear all queues, and update the sums of all nodes."""
    state.nodes["waiting"] = 0
    if isinstance(state, (GraphState, BlendState)):
        tree_passes.renumber_leaves(state.nodes, new_scratch(state))
    if isinstance(state, (FeatureState, BlendState)):
        tree_passes.update_all_sums(state, tree_passes.merge_order(state.nodes, new_scratch(state)))
