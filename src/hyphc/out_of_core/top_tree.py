"""The tree above the parts: first of parts as weighted leaves, then of small subtrees of all parts, which may change parts.

A subtree of many points is a leaf that carries the sum of their rows and of their edges, so that similarities between subtrees
are exact, and the gain of a move in this tree is its gain in the tree of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from ..fit.weighted_leaves import expanded, grouped
from ..scores.costs import splits
from ..similarity import Similarity
from ..tree import Tree
from .job import Job
from .partition_trees import build_similarity
from .records import CoarseEdges, PartGraph, PartTree, TopTree
from .search_settings import refine_coarse_levels, refine_tree, search_tree


def coarsen_edges(job: Job, part: int) -> CoarseEdges:
    """Return the summed edges between frontier subtrees, within a part and to parts with a larger number."""
    graph, own = job.shard(PartGraph, part), np.array(job.shard(PartTree, part).frontier)
    inner = sp.csr_array((graph.data, graph.indices, graph.indptr), shape=(len(own), len(own))).tocoo()
    once = inner.row < inner.col
    edges = [_sum_edges(own[inner.row[once]], own[inner.col[once]], inner.data[once])]
    others = np.unique(graph.other_part[graph.other_part > part]).tolist()
    for other in others:
        run = slice(*np.searchsorted(graph.other_part, [other, other + 1]))
        theirs = np.array(job.shard(PartTree, other).frontier)
        edges.append(_sum_edges(own[graph.leaf[run]], theirs[graph.other_leaf[run]], graph.weight[run]))
    subtree, other_subtree, weight = (np.concatenate(values) for values in zip(*edges, strict=True))
    other_part = np.repeat([part, *others], [len(ends) for ends, _, _ in edges])
    return CoarseEdges(subtree=subtree, other_part=other_part, other_subtree=other_subtree, weight=weight)


def _sum_edges(one: Ints, other: Ints, weight: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the ends and weights of edges, with those of the same two ends summed."""
    if len(one) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    summed = sp.csr_array(sp.coo_array((weight, (one, other)))).tocoo()
    return summed.row.astype(np.int64), summed.col.astype(np.int64), summed.data


class Frontier(NamedTuple):
    """Frontier subtrees of all parts as weighted leaves, the part of each, and where those of each part begin."""

    similarity: Similarity
    part: Ints
    starts: Ints


def load_frontier(job: Job) -> Frontier:
    """Return the frontier subtrees of all parts with their exact similarities."""
    shards = list(job.shards(PartTree, job.n_parts()))
    sums, squares, sizes = (
        np.concatenate([getattr(shard, name) for shard in shards]) for name in ("sums", "squares", "sizes")
    )
    counts = [len(shard.sizes) for shard in shards]
    starts = np.append(0, np.cumsum(counts))
    similarity = build_similarity(job, sums, squares, sizes, _load_graph(job, starts) if job.has_edges else None)
    return Frontier(similarity, np.repeat(np.arange(len(counts)), counts), starts)


def _load_graph(job: Job, starts: Ints) -> sp.csr_array[np.float64]:
    ends = []
    for part, shard in enumerate(job.shards(CoarseEdges, job.n_parts())):
        ends.append((starts[part] + shard.subtree, starts[shard.other_part] + shard.other_subtree, shard.weight))
    i, j, weight = (np.concatenate(values) for values in zip(*ends, strict=True))
    different = i != j  # edges within a subtree do not matter
    edges = (weight[different], (i[different], j[different]))
    upper = sp.csr_array(edges, shape=(starts[-1], starts[-1]))
    return sp.csr_array(upper + upper.T)


def fit_top_tree(job: Job, _: int = 0) -> TopTree:
    """Return the tree of the frontier, and similarities across its merges."""
    frontier = load_frontier(job)
    similarity = frontier.similarity
    tree = _repair_across_parts(job, frontier) if job.has_edges else _search_frontier(job, similarity)
    return TopTree(
        children=tree.children,
        graph_splits=splits(similarity.local_part, tree),
        splits=splits(similarity, tree),
        sizes=similarity.sizes,
        starts=frontier.starts,
        row_sum=np.asarray(similarity.features()).sum(axis=0, dtype=np.float64),
    )


def _repair_across_parts(job: Job, frontier: Frontier) -> Tree:
    """Return the tree of the parts, expanded to the frontier by theirs, improved by moves across parts.

    Trees of parts use all edges: this costs less than a tree made from the summed edges between subtrees.
    """
    seed = job.settings.seed
    parts = grouped(frontier.similarity, frontier.part)
    uppers = [Tree(np.array(shard.upper)) for shard in job.shards(PartTree, job.n_parts())]
    start = expanded(search_tree(job, parts, seed, -1), frontier.part, uppers)
    return refine_tree(job, start, frontier.similarity, seed, -1)


def _search_frontier(job: Job, similarity: Similarity) -> Tree:
    """Return the tree of the frontier without regard to parts: without edges, sums of rows give all similarities."""
    seed = job.settings.seed
    return refine_coarse_levels(job, search_tree(job, similarity, seed, -1), similarity, seed, -1)
