"""Flat clusters of a tree fitted by parts, and those that new rows would join."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints
from .._runtime.shard_store import Arrays
from ..fit.flat_cut import FlatCut
from ..fit.new_points import joined_clusters
from ..fit.parameter_checks import JOIN
from ..similarity import Blend
from ..similarity.blend import BlendRows
from ..tree import Tree
from .assembly import FOLDER
from .job import Job
from .npy_source import Rows
from .sample import load_sample, scale_rows
from .stages import Stage
from .top_tree import Frontier, load_frontier


def labels_stage(cut: FlatCut) -> Stage:
    """Return the stage that labels the rows; each cut of a tree is a stage of its own."""
    name = hashlib.sha256(repr(cut).encode()).hexdigest()[:12]
    return Stage(f"labels-{name}", partial(_label_rows, cut=cut), "one")


def _label_rows(job: Job, _: int, cut: FlatCut) -> Arrays:
    """Return the flat cluster of each row, and their number."""
    # unless a number is asked for, as many as the sample's tree has, found as ``HypHC`` finds it
    n_found = None if cut.n_clusters is not None else int(job.store.one("sample", 0, "n_clusters"))
    clusters = cut.find_clusters(load_tree(job), n_found)
    arrays = {"labels": cut.label_points(clusters).astype(np.int64), "n_clusters": np.array(len(clusters.nodes))}
    return arrays if cut.outliers == JOIN else {**arrays, "clusters": clusters.labels.astype(np.int64)}


def load_tree(job: Job) -> Tree:
    """The whole tree, memory-mapped."""
    return Tree.load(job.store.place.inside(FOLDER))


def count_distinct_rows(job: Job) -> int:
    """Return the number of different rows of a finished fit; rows of two parts differ."""
    return sum(len(shard["frontier"]) for shard in job.shards("fits", job.n_parts(), "frontier"))


def predict_clusters(job: Job, cut: FlatCut, raw: Rows) -> Ints:
    """The flat cluster that each new row would join at its cheapest place among the small subtrees of all parts."""
    placement = _load_placement(job.store.digest(labels_stage(cut).name), job, cut)
    sample, frontier = load_sample(job), placement.frontier
    rows: Any = scale_rows(raw, sample.columns)
    if isinstance(frontier.similarity, Blend):
        near, distances = sample.nearest(rows, job.settings.n_neighbors)
        edges = sample.ties(placement.node_of_sample[near], distances, frontier.similarity.n)
        # an edge leads to one row of a subtree, not to all of its points
        edges = sp.csr_array(edges @ sp.diags_array(1.0 / frontier.similarity.sizes))
        rows = BlendRows(edges, rows.astype(np.float64))
    joined = joined_clusters(placement.tree, placement.labels, frontier.similarity.extended(rows), 1)
    return np.asarray(placement.names[joined])


@dataclass(frozen=True, eq=False)
class _Placement:
    """The tree of small subtrees, with the cluster of each, and the subtree of each sampled row."""

    frontier: Frontier
    tree: Tree
    labels: Ints
    names: Ints
    node_of_sample: Ints


@lru_cache(maxsize=1)
def _load_placement(digest: str, job: Job, cut: FlatCut) -> _Placement:
    frontier, tree = load_frontier(job), Tree(np.array(job.store.one("top", 0, "children")))
    members = np.concatenate([shard["member"] for shard in job.shards("fits", job.n_parts(), "member")])
    kept = "labels" if cut.outliers == JOIN else "clusters"  # a new row joins a cluster, whichever points are outliers
    names, labels = np.unique(job.store.one(labels_stage(cut).name, 0, kept)[members], return_inverse=True)
    return _Placement(frontier, tree, labels, names, _nodes_of_sample(job, frontier.starts))


def _nodes_of_sample(job: Job, starts: Ints) -> Ints:
    sampled = job.store.one("sample", 0, "ids")
    node = np.full(len(sampled), -1)
    for part in range(job.n_parts()):
        leaves = job.store.read(job.stage("leaves"), part, "ids", "leaf")
        place = np.searchsorted(leaves["ids"], sampled)
        here = np.append(leaves["ids"], -1)[place] == sampled
        frontier = job.store.one("fits", part, "frontier")
        node[here] = starts[part] + frontier[leaves["leaf"][place[here]]]
    return node
