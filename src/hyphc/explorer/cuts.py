"""The cuts that a page holds: what ``Tree.cut`` answers for few clusters, so that page, files and plots say the same."""

from __future__ import annotations

import numpy as np

from .._shared.arrays import Ints
from ..tree import Tree
from ..tree.cut import NodeScores, best_prunings, default_criterion, fewest_clusters, most_clusters
from .groups import Groups
from .packing import Fields, packed

# Clusters of the largest cut that is looked up; with more of them the last merges are undone. 50 cuts have 1 275 nodes.
LARGEST_K = 50


def cut_fields(tree: Tree, groups: Groups | None, criterion: str | NodeScores | None, min_size: float) -> Fields:
    """With how many clusters the page opens, and {k: nodes} of the best cuts, as nodes of the page's tree."""
    criterion = default_criterion(tree) if criterion is None else criterion
    n_shown = tree.n_leaves if groups is None else len(groups.sizes)
    most = min(most_clusters(tree, min_size), n_shown)
    if most == 0:
        raise ValueError(f"min_size={min_size} is more than the {tree._points[-1]:g} points; choose at most that.")
    fewest = fewest_clusters(tree)
    opening = max(fewest, min(tree.n_clusters, most))
    limits = {"opening": opening, **_forced_fields(tree, n_shown)}
    if criterion == "height" and min_size == 1:  # the page knows by itself which merges are last
        return {**limits, "cuts": {}}
    sizes = sorted({*range(fewest, min(LARGEST_K, most) + 1), opening})
    prunings = best_prunings(tree, sizes[-1], criterion, min_size)
    possible = [k for k in sizes if prunings.scores[k - 1] > -np.inf]
    nodes = {k: _on_page(tree, prunings.nodes(k), groups) for k in possible}
    return {**limits, "cuts": {k: packed(found, "<i4") for k, found in nodes.items() if found is not None}}


def _forced_fields(tree: Tree, n_shown: int) -> Fields:
    """How many clusters the tree's forced splits allow, and when each merge of the page is undone: first what must be, last
    what must not; nothing where cuts are free."""
    if tree.forced_splits is None:
        return {"fewest": 1, "most": n_shown, "turns": None}
    forced = tree.forced_splits[tree.n_leaves - n_shown :]
    turns = np.argsort(np.lexsort((-np.arange(len(forced)), -forced)))
    return {"fewest": 1 + int((forced > 0).sum()), "most": 1 + int((forced >= 0).sum()), "turns": packed(turns, "<i4")}


def _on_page(tree: Tree, nodes: Ints, groups: Groups | None) -> Ints | None:
    """The nodes as the page numbers them; None if one of them is a part of a group that the page shows as a leaf."""
    if groups is None:
        return nodes
    n, k = tree.n_leaves, len(groups.sizes)
    low = nodes < 2 * n - k
    within = groups.of[tree.leaf_order()[tree._first[nodes]]]
    if (tree.sizes[nodes] < groups.sizes[within])[low].any():
        return None
    return np.where(low, within, nodes - 2 * (n - k))
