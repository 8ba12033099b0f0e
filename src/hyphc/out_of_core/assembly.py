"""The tree of all rows from the trees of parts and the top tree: its cost, heights, and what cuts need."""

from __future__ import annotations

import numpy as np

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from ..scores.heights import blend_heights, mean_heights, strongest_edge
from ..similarity import Graph
from ..tree.condense import default_splits, monotone_heights
from ..tree.storage import save_mapped
from ..tree.validation import order_by_height, renumbered
from .job import Job
from .partition_trees import load_part_similarity
from .records import BackgroundStrength, Degrees, FinishedTree, Leaves, PartGraph, PartTree, TopTree

FOLDER = "tree"  # of the storage, where the tree is, to be opened by ``Tree.load``


def compute_degrees(job: Job, part: int) -> Degrees:
    """Return the degrees of a part's rows, their largest distance from the mean of all rows, and the strongest edge."""
    leaves, row_sum = job.shard(Leaves, part), job.shard(TopTree).row_sum
    sizes, leaf = np.array(leaves.sizes), np.array(leaves.leaf)
    rows = leaves.rows.astype(np.float64)
    radius = float(np.sqrt(((rows - row_sum / job.n) ** 2).sum(axis=1).max()))
    if not job.has_edges:
        own = np.einsum("ij,ij->i", rows, rows)
        degrees = 0.5 * (job.n - 1) + 0.5 * (rows @ row_sum - own)
        return Degrees(degrees=np.maximum(degrees, 0.0)[leaf], radius=np.array(radius), strongest=np.array(1.0))
    graph, across = load_part_similarity(job, part).local_part, job.shard(PartGraph, part)
    assert isinstance(graph, Graph)
    weight = graph.degrees() + np.bincount(across.leaf, across.weight, minlength=len(sizes))
    copied = 1.0 if sizes.max() > 1 else 0.0  # duplicates have similarity 1
    strongest = max(copied, strongest_edge(graph), float(across.pair_weight.max(initial=0.0)))
    return Degrees(degrees=(weight / sizes + sizes - 1)[leaf], radius=np.array(radius), strongest=np.array(strongest))


def assemble_tree(job: Job, _: int = 0) -> FinishedTree:
    """Write the tree of all rows to the storage, as memory-mapped arrays, and return its exact cost.

    C = Σ_v |v|·x(v), with x of merges below the frontier from the trees of parts, of those above it from the top tree.
    """
    n = job.n
    children, graph_splits, all_splits = _collect_merges(job)
    points = subtree_sums(children, np.ones(n))
    cost = float(points[n:] @ all_splits)
    pairs = points[children[:, 0]] * points[children[:, 1]]
    graph_splits, degrees = np.maximum(graph_splits, 0.0), _load_degrees(job)
    default = default_splits(children, points, graph_splits, degrees)
    heights = monotone_heights(children, _compute_heights(job, graph_splits / pairs, all_splits / pairs), default)
    del pairs, all_splits, points, default
    order = order_by_height(heights)
    if order is not None:
        children, heights, graph_splits = renumbered(children, order), heights[order], graph_splits[order]
    fields = {"children": children, "heights": heights, "split_weights": graph_splits, "degrees": degrees, "cost": cost}
    save_mapped(job.store.place.inside(FOLDER), fields)
    return FinishedTree(cost=np.array(cost))


def _collect_merges(job: Job) -> tuple[Ints, Floats, Floats]:
    """Return the merges of all parts and those above (n − 1, 2), and similarities across each: of the graph, and of all."""
    n, top = job.n, job.shard(TopTree)
    children, graph_splits, all_splits = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), np.empty(n - 1)
    tops, made = np.empty(len(top.sizes), dtype=np.int64), 0
    for part, shard in enumerate(job.shards(PartTree, job.n_parts())):
        own = slice(made, made + len(shard.splits))
        number = np.concatenate([job.shard(Leaves, part).ids, n + np.arange(own.start, own.stop)])
        children[own], graph_splits[own], all_splits[own] = number[shard.children], shard.graph_splits, shard.splits
        tops[top.starts[part] : top.starts[part + 1]] = number[shard.tops]
        made = own.stop
    number = np.concatenate([tops, n + np.arange(made, n - 1)])
    children[made:], graph_splits[made:], all_splits[made:] = number[top.children], top.graph_splits, top.splits
    return children, graph_splits, all_splits


def _compute_heights(job: Job, graph_means: Floats, means: Floats) -> Floats:
    """Return the heights from mean similarities across each merge, as for a fit in memory."""
    shards = list(job.shards(Degrees, job.n_parts()))
    strongest = max(float(shard.strongest) for shard in shards)
    if not job.has_edges:
        return mean_heights(means, 1.0)
    background = job.shard(BackgroundStrength)
    slope, level = float(background.slope), float(background.level)
    radius = max(float(shard.radius) for shard in shards)
    added = slope * ((2 * radius) ** 2 - level)
    return blend_heights(graph_means, means - graph_means + added, strongest, slope * level + added)


def _load_degrees(job: Job) -> Floats:
    """Return the degrees of all rows."""
    degrees = np.empty(job.n)
    for part, shard in enumerate(job.shards(Degrees, job.n_parts())):
        degrees[job.shard(Leaves, part).ids] = shard.degrees
    return degrees
