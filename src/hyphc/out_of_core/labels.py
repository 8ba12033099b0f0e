"""Flat clusters of a tree that was fitted out of core, and those that new rows would join."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints
from ..fit.flat_cut import FlatCut
from ..fit.new_points import assign_clusters
from ..fit.parameter_checks import JOIN
from ..similarity import Blend
from ..similarity.blend import BlendRows
from ..tree import Tree
from .array_sources import Rows
from .assembly import FOLDER
from .job import Job
from .records import Labels, Leaves, PartTree, SampleTree, TopTree
from .sample import load_sample, scale_rows
from .stages import Stage
from .top_tree import Frontier, load_frontier


def labels_stage(cut: FlatCut) -> Stage:
    """Return the stage that labels the rows; each cut of a tree is a stage of its own."""
    name = hashlib.sha256(repr(cut).encode()).hexdigest()[:12]
    return Stage(Labels, partial(_label_rows, cut=cut), f"{Labels.stage}-{name}", Labels.title)


def _label_rows(job: Job, _: int, cut: FlatCut) -> Labels:
    """Return the flat cluster of each row, and their number."""
    # if no number is given, that of the sample's tree, found as by ``HypHC``
    n_found = None if cut.n_clusters is not None else int(job.shard(SampleTree).n_clusters)
    clusters = cut.find_clusters(load_tree(job), n_found)
    return Labels(
        labels=cut.label_points(clusters).astype(np.int64),
        n_clusters=np.array(len(clusters.nodes)),
        clusters=None if cut.outliers == JOIN else clusters.labels.astype(np.int64),
    )


def load_labels(job: Job, cut: FlatCut) -> Labels:
    """Return the labels of a cut, memory-mapped."""
    return Labels.load(job.store, labels_stage(cut).name, 0)


def load_tree(job: Job) -> Tree:
    """Return the tree of all rows, memory-mapped."""
    return Tree.load(job.store.place.inside(FOLDER))


def count_distinct_rows(job: Job) -> int:
    """Return the number of distinct rows of a finished fit; rows of two parts differ."""
    return sum(len(shard.frontier) for shard in job.shards(PartTree, job.n_parts()))


def predict_clusters(job: Job, cut: FlatCut, raw: Rows) -> Ints:
    """Return the flat cluster that each new row would join at its cheapest position among the frontier subtrees."""
    placement = _load_placement(job.store.digest(labels_stage(cut).name), job, cut)
    sample, frontier = load_sample(job), placement.frontier
    rows: Any = scale_rows(raw, sample.columns)
    if isinstance(frontier.similarity, Blend):
        neighbors, distances = sample.find_neighbors(rows, job.settings.n_neighbors)
        edges = sample.weight_edges(placement.node_of_sample[neighbors], distances, frontier.similarity.n)
        # an edge leads to one row of a subtree, not to all of its points
        edges = sp.csr_array(edges @ sp.diags_array(1.0 / frontier.similarity.sizes))
        rows = BlendRows(edges, rows.astype(np.float64))
    joined = assign_clusters(placement.tree, placement.labels, frontier.similarity.extended(rows), 1)
    return np.asarray(placement.names[joined])


@dataclass(frozen=True, eq=False)
class _Placement:
    """The tree of frontier subtrees, the cluster of each, and the subtree of each sampled row."""

    frontier: Frontier
    tree: Tree
    labels: Ints
    names: Ints
    node_of_sample: Ints


@lru_cache(maxsize=1)
def _load_placement(digest: str, job: Job, cut: FlatCut) -> _Placement:
    frontier, tree = load_frontier(job), Tree(np.array(job.shard(TopTree).children))
    members = np.concatenate([shard.member for shard in job.shards(PartTree, job.n_parts())])
    found = load_labels(job, cut)
    clusters = found.labels if cut.outliers == JOIN else found.clusters  # new rows join a cluster, never the outliers
    names, labels = np.unique(clusters[members], return_inverse=True)
    return _Placement(frontier, tree, labels, names, _nodes_of_sample(job, frontier.starts))


def _nodes_of_sample(job: Job, starts: Ints) -> Ints:
    """Return the frontier subtree of each sampled row."""
    sampled = job.shard(SampleTree).ids
    node = np.full(len(sampled), -1)
    for part in range(job.n_parts()):
        leaves, frontier = job.shard(Leaves, part), job.shard(PartTree, part).frontier
        position = np.searchsorted(leaves.ids, sampled)
        here = np.append(leaves.ids, -1)[position] == sampled
        node[here] = starts[part] + frontier[leaves.leaf[position[here]]]
    return node
