"""The tree of a part. The cost inside a part does not depend on where it is in the tree of all rows: parts are independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.tree.passes import subtree_sums
from .._runtime.arrays import Floats, Ints
from ..fit.weighted_leaves import clusters_of_nodes, collapsed, expanded
from ..scores.costs import splits
from ..similarity import Background, Blend, Features, Graph, Similarity
from ..similarity.group_sums import indicator
from ..tree import Tree
from ..tree.prunings import by_smallest_leaf, labels_of, tops
from .job import Job
from .partition import sum_leaves
from .records import BackgroundStrength, Leaves, PartGraph, PartTree
from .search_settings import SWEEPS, search_tree

# A leaf with more than so many times as much weight of edges to other parts as to its own may move by itself.
STRAY = 0.5


class Fineness(NamedTuple):
    """Subtrees of all parts that move as one in the tree above: one for so many rows, and this many at most."""

    rows_each: int
    most: int


# Where sums of rows tell all, finer subtrees make purer trees. With edges leaves that belong elsewhere are single anyway, and a
# search of fewer subtrees is more thorough.
BY_SUMS, WITH_EDGES = Fineness(2, 250_000), Fineness(16, 60_000)
# So many subtrees there are if there are as many rows, and no more than have so many numbers in the sums of their rows: one task
# holds these a few times.
FEWEST, MOST_NUMBERS = 2_500, 1 << 24

# Without edges only small subtrees are kept of a part's tree, and a few sweeps make these as good.
FEW_SWEEPS = 4


def compute_background(job: Job, _: int = 0) -> BackgroundStrength:
    """Return the slope and level of the background from all edges and all rows.

    As in ``metric="auto"``: β·W / Σ‖x − y‖² with W the total weight of the graph, and the mean squared distance.
    """
    shards = list(job.shards(PartGraph, job.n_parts()))
    edges, n, same, squares = np.sum([shard.totals for shard in shards], axis=0).tolist()
    row_sum = np.sum([shard.row_sum for shard in shards], axis=0)
    squared_distances = max(0.0, n * squares - float(np.dot(row_sum, row_sum)))
    pairs = (n * n - same) / 2
    slope = job.settings.background * edges / squared_distances if squared_distances > 0 else 0.0
    level = squared_distances / pairs if pairs > 0 else 0.0
    return BackgroundStrength(slope=np.array(slope), level=np.array(level))


def build_similarity(
    job: Job, sums: Floats, squares: Floats, sizes: Floats, graph: sp.csr_array[np.float64] | None
) -> Similarity:
    """Return the similarity of leaves of several points, from the sums of their rows and of their edges."""
    if graph is None:
        return Features(sums, offset=0.5, scale=0.5, sizes=sizes)
    strength = job.shard(BackgroundStrength)
    slope, level = float(strength.slope), float(strength.level)
    background = Background(sums, slope=slope, level=level, squares=squares, sizes=sizes)
    return Blend(Graph(graph, sizes=sizes), background)


def load_part_similarity(job: Job, part: int) -> Similarity:
    """Return the similarity of a part's leaves."""
    leaves = job.shard(Leaves, part)
    sizes = np.array(leaves.sizes)
    sums, squares = sum_leaves(leaves.rows, sizes)
    graph = None
    if job.has_edges:
        shard = job.shard(PartGraph, part)
        graph = sp.csr_array((shard.data, shard.indices, shard.indptr), shape=(len(sizes), len(sizes)))
    else:  # in their own precision if no row occurs twice
        sums = np.array(leaves.rows) if (sizes == 1).all() else sums
    return build_similarity(job, sums, squares, sizes, graph)


def fit_part(job: Job, part: int) -> PartTree:
    """Return the tree of a part, in two: above its frontier of small subtrees, and below it."""
    leaves, similarity = job.shard(Leaves, part), load_part_similarity(job, part)
    leaf = np.array(leaves.leaf)
    seed = (job.settings.seed + part) % 2**31
    tree = search_tree(job, similarity, seed, 1, SWEEPS if job.has_edges else FEW_SWEEPS)
    frontier = _find_frontier(job, part, tree, similarity)
    sums, squares = sum_leaves(leaves.rows, leaves.sizes)
    mix = indicator(frontier)
    children, graph_splits, split_sums, roots = _merges_below_frontier(tree, similarity, frontier, leaf)
    return PartTree(
        frontier=frontier,
        sums=np.asarray(mix @ sums),
        squares=np.asarray(mix @ squares),
        sizes=np.asarray(mix @ leaves.sizes),
        member=leaves.ids[np.unique(frontier[leaf], return_index=True)[1]],
        upper=collapsed(tree, frontier).children if job.has_edges else None,
        children=children,
        graph_splits=graph_splits,
        splits=split_sums,
        tops=roots,
    )


def frontier_size(n: int, d: int, has_edges: bool, most: int | None = None) -> float:
    """Return the maximum number of rows of a frontier subtree for n rows of d columns and at most ``most`` subtrees.

    Examples
    --------
    >>> [frontier_size(n, 32, False) for n in (1_000, 100_000, 1_000_000)], frontier_size(1_000_000, 32, True, 50_000)
    ([1.0, 2.0, 4.0], 20.0)
    """
    fine = WITH_EDGES if has_edges else BY_SUMS
    usual = max(FEWEST, min(fine.most, MOST_NUMBERS / d, n / fine.rows_each))
    return max(1.0, n / min(usual, most or np.inf))


def _find_frontier(job: Job, part: int, tree: Tree, similarity: Similarity) -> Ints:
    """Return the frontier subtree of each leaf: the largest of few points without strays, which may move by themselves."""
    strays = np.zeros(tree.n_leaves)
    if job.has_edges:
        graph = job.shard(PartGraph, part)
        across = np.bincount(graph.leaf, graph.weight, minlength=tree.n_leaves)
        strays[across > STRAY * similarity.local_part.degrees()] = 1.0
    children = np.array(tree.children)
    size = frontier_size(*job.source.shape, job.has_edges, job.settings.top_size)
    small = subtree_sums(children, similarity.sizes) <= size
    kept = small & (subtree_sums(children, strays) == 0)
    return labels_of(tree, by_smallest_leaf(tree, tops(tree, kept[tree.n_leaves :])))


def _merges_below_frontier(
    tree: Tree, similarity: Similarity, frontier: Ints, leaf: Ints
) -> tuple[Ints, Floats, Floats, Ints]:
    """Return children, graph splits and splits of the merges below the frontier, duplicates first, and the subtrees' nodes."""
    full = expanded(tree, leaf)
    n, n_copies = len(leaf), len(leaf) - tree.n_leaves
    inside = clusters_of_nodes(full, frontier[leaf])
    own = inside[n:] >= 0
    number = np.arange(2 * n - 1)
    number[n:][own] = n + np.arange(own.sum())
    roots = np.flatnonzero((inside >= 0) & (np.append(inside[full.parents[:-1]], -1) < 0))
    tops = np.empty(len(roots), dtype=np.int64)
    tops[inside[roots]] = number[roots]
    merged = full.children[:n_copies]
    copied = leaf[full.leaf_order()[full._first[n : n + n_copies]]]
    pairs, alike = full.sizes[merged].prod(axis=1), _duplicate_similarity(similarity)[copied]
    graph_splits = np.concatenate(
        [pairs * (1.0 if similarity.has_edges else alike), splits(similarity.local_part, tree)]
    )
    all_splits = np.concatenate([pairs * alike, splits(similarity, tree)])
    return number[full.children[own]], graph_splits[own], all_splits[own], tops


def _duplicate_similarity(similarity: Similarity) -> Floats:
    """Return the similarity of two duplicates of each leaf."""
    if isinstance(similarity, Blend):
        return np.full(similarity.n, 1.0 + similarity.background.slope * similarity.background.level)
    assert isinstance(similarity, Features)
    rows = similarity.X.astype(np.float64) / similarity.sizes[:, None]
    return np.asarray(similarity.offset + similarity.scale * np.einsum("ij,ij->i", rows, rows))
