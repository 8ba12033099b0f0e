"""The top of a tree that was fitted out of core: groups of rows with their sizes, clusters, and column moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._runtime.arrays import Ints
from ..fit.flat_cut import FlatCut
from ..scores.differences import LeafMeans
from ..scores.group_differences import GroupMoments
from ..tree import Tree
from ..tree.prunings import labels_of
from ..tree.top import top_nodes, top_of
from .job import Job
from .labels import load_labels, load_tree

# Groups of rows at most, of which a page and a picture are made: as many as a screen has room for, and fewer where columns are
# so many that their means would fill the page.
GROUPS, MEANS = 5_000, 1_000_000


@dataclass(frozen=True, eq=False)
class Overview:
    """Groups of rows of a tree, whose leaves they are.

    Attributes
    ----------
    tree : Tree
        k leaves that stand for groups of rows; a leaf is called by its first row, counted from 1.
    clusters : array (k,)
        The flat cluster of each group, −1 for outliers.
    nodes : array (clusters,)
        The node that each flat cluster is.
    moments : GroupMoments (k, d)
        Of the columns, as they are in the file.
    """

    tree: Tree
    clusters: Ints
    nodes: Ints
    moments: GroupMoments

    def features(self, columns: tuple[str, ...]) -> LeafMeans:
        """Return the means of the columns in each group, and their scatter."""
        return LeafMeans(columns, self.moments.centre, self.moments.scatter)

    def cluster_moments(self) -> GroupMoments:
        """Return the column moments of the flat clusters."""
        k = int(self.clusters.max(initial=-1)) + 1
        members = [np.flatnonzero(self.clusters == cluster).tolist() for cluster in range(k)]
        return GroupMoments.concatenate([self.moments.of_union(groups) for groups in members])


def make_overview(job: Job, cut: FlatCut, n_groups: int | None = None) -> Overview:
    """Return the overview of a finished fit; one pass over the rows, block by block, and O(n) memory for the tree."""
    labels = load_labels(job, cut)
    tree = load_tree(job).with_n_clusters(int(labels.n_clusters))
    most = max(2, min(GROUPS, MEANS // job.source.shape[1])) if n_groups is None else n_groups
    clusters = cut.find_clusters(tree, int(labels.n_clusters)).nodes
    nodes = top_nodes(tree, most, clusters)
    of = labels_of(tree, nodes)
    first = np.full(len(nodes), job.n)
    np.minimum.at(first, of, np.arange(job.n))
    sizes = tree.sizes[nodes]
    names = [
        f"row {row + 1}" if size == 1 else f"row {row + 1} and {size - 1} more"
        for row, size in zip(first.tolist(), sizes.tolist(), strict=True)
    ]
    top, merges = top_of(tree, nodes)
    number = {node: leaf for leaf, node in enumerate(nodes.tolist())}
    number |= {tree.n_leaves + merge: len(nodes) + t for t, merge in enumerate(merges.tolist())}
    return Overview(
        top.with_names(names),
        np.array(labels.labels)[first],
        np.array([number[node] for node in clusters.tolist()]),
        _moments(job, of, len(nodes)),
    )


def _moments(job: Job, of: Ints, k: int) -> GroupMoments:
    """Return the column moments of each group, joined block by block in the order of the rows."""
    found = None
    for number in range(job.n_blocks):
        rows, start = job.block(number)
        block = GroupMoments.of_rows(rows, of[start : start + len(rows)], k)
        found = block if found is None else found.join(block)
    assert found is not None
    return found
