"""Cuts for the page, the same as those of ``Tree.cut``."""

from __future__ import annotations

import numpy as np

from .._runtime.arrays import Ints
from ..tree import Tree
from ..tree.condense import is_split, split_order
from ..tree.criteria import NodeScores
from ..tree.prunings import CONDENSED, best_prunings, fewest_clusters, most_clusters, require_size
from .groups import PageTree
from .packing import Fields, encode_array

# Clusters of the largest best pruning that is looked up; with more of them the last merges are undone. 50 have 1 275 nodes.
LARGEST_K = 50


def cut_fields(tree: Tree, groups: PageTree, criterion: str | NodeScores, min_size: float | None) -> Fields:
    """Return the number of clusters at first, and the data that the page needs to cut its tree as ``Tree.cut`` does."""
    require_size(tree, min_size)
    n_shown = groups.tree.n_leaves
    if criterion == CONDENSED:
        fields = _condensed_fields(tree, n_shown, min_size)
    else:
        fields = {**_forced_fields(tree, n_shown), "larger": None, "splits": 0}
        most = min(most_clusters(tree, criterion, min_size), n_shown)
        fields["cuts"] = _pruning_fields(tree, groups, criterion, 1 if min_size is None else min_size, most)
    most = min(most_clusters(tree, criterion, min_size), n_shown, fields["most"])
    return {**fields, "found": _n_found(tree, most), "opening": max(fewest_clusters(tree), min(tree.n_clusters, most))}


def _n_found(tree: Tree, most: int) -> int | None:
    """Return the number of clusters that the fit found, where the page can show them; None otherwise."""
    if tree.found_splits is None:
        return None
    n_found = int(tree.found_splits.max(initial=0)) + 1
    return n_found if n_found <= most else None


def _condensed_fields(tree: Tree, n_shown: int, min_size: float | None) -> Fields:
    """Return the rank at which each merge of the page is undone, which child is larger, and how many ranks are splits.

    The page of a large tree has its last merges alone: it can be cut as long as these are undone.
    """
    n, order = tree.n_leaves, split_order(tree, min_size)
    hidden = np.flatnonzero(order < n - n_shown)
    order = order[: hidden[0] if len(hidden) else len(order)]
    turns = np.full(n_shown - 1, np.iinfo(np.int32).max)
    turns[order - (n - n_shown)] = np.arange(len(order))
    left, right = tree._points[tree._children[n - n_shown :]].T
    free = tree.forced_splits is None
    return {
        "fewest": fewest_clusters(tree),
        "most": 1 + len(order),
        "turns": encode_array(turns, "<i4"),
        "larger": encode_array(right > left, "<i4"),
        "splits": int(is_split(tree, min_size)[order].sum()) if free else 0,
        "cuts": {},
    }


def _pruning_fields(tree: Tree, groups: PageTree, criterion: str | NodeScores, min_size: float, most: int) -> Fields:
    """Return {k: nodes} of the best prunings, as nodes of the page's tree."""
    if criterion == "height" and min_size == 1:  # the page computes these cuts itself
        return {}
    fewest = fewest_clusters(tree)
    opening = max(fewest, min(tree.n_clusters, most))
    sizes = sorted({*range(fewest, min(LARGEST_K, most) + 1), opening})
    prunings = best_prunings(tree, sizes[-1], criterion, min_size)
    possible = [k for k in sizes if prunings.scores[k - 1] > -np.inf]
    nodes = {k: _to_page_nodes(tree, prunings.nodes(k), groups) for k in possible}
    return {k: encode_array(found, "<i4") for k, found in nodes.items() if found is not None}


def _forced_fields(tree: Tree, n_shown: int) -> Fields:
    """Return the range of cluster numbers that forced splits allow, and the rank at which each merge is undone; nothing where
    cuts are free."""
    if tree.forced_splits is None:
        return {"fewest": 1, "most": n_shown, "turns": None}
    forced = tree.forced_splits[tree.n_leaves - n_shown :]
    turns = np.argsort(np.lexsort((-np.arange(len(forced)), -forced)))
    return {
        "fewest": 1 + int((forced > 0).sum()),
        "most": 1 + int((forced >= 0).sum()),
        "turns": encode_array(turns, "<i4"),
    }


def _to_page_nodes(tree: Tree, nodes: Ints, groups: PageTree) -> Ints | None:
    """Return the nodes as the page numbers them; None if one of them lies inside a collapsed group."""
    n, k = tree.n_leaves, len(groups.sizes)
    low = nodes < 2 * n - k
    within = groups.of[tree.leaf_order()[tree._first[nodes]]]
    if (tree.sizes[nodes] < groups.sizes[within])[low].any():
        return None
    return np.where(low, within, nodes - 2 * (n - k))
