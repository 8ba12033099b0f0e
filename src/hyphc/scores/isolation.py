"""Test whether a group lies apart: a gap around it that is wide beside the gaps within it.

Neighbour lists of 15 rows reach beyond a group of ten, so no valley of the graph shows it; and few walks run along a thin ring or
curve, so its valley carries little evidence. Single linkage shows both: a group is a cluster of single linkage if the gap g
around it, the distance to the nearest other row, is wider than every edge of its minimum spanning tree, the longest of which
has the length h. With ratio r = g / h > 1, m points in the group and n in all:

    p = log₂ n · (2n·R·B(2R, m) + 2m·r·B(r, m)),   R = r^d,   B the beta function

Along a line the spacings of points of even density are independent exponentials. One of them, at the end of a group, is r
times as long as each of the m − 1 within it with probability ∫ e^(−x)·(1 − e^(−x/r))^(m−1) dx = r·B(r, m); there are two ends,
and m groups of up to m points. In the middle both spacings beside a group must be long, 2r·B(2r, m), and there are n places; in
d dimensions a shell of volume r^d must be empty. In tails spacings grow by a factor at each of about log₂ n scales;
rows of one column may have nothing but a tail, and there the factor is its square. d is the local dimension, at most
``MOST_DIMENSIONS``. Simulated unimodal shapes confirm that p is not too small: suite ``nulls``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.special import betaln
from sklearn.metrics import pairwise_distances_argmin

from .._kernels.tree.passes import subtree_sums
from .._kernels.tree.spanning_tree import spanning_tree_merges
from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import group_equal_rows
from .._runtime.validation import row_chunks
from ..tree import Tree
from ..tree.condense import least_points

if TYPE_CHECKING:
    from ..similarity import Graph

Bools = npt.NDArray[np.bool_]

FEWEST_POINTS = 3  # two rows are a pair, not a group
LEAST_SHARE = 1 / 400  # of all points: in large data there are many pockets, and near copies of rows
MOST_ROWS = 24_000  # of more rows even thin groups show as valleys of the graph
NEARLY = 0.95  # a group is a node of the tree if so large a part of the leaves of both is the same
GRID = 2.0**-24
MOST_DIMENSIONS = 2.0  # more would make p smaller: the estimate of the local dimension is rough in small groups


def isolation_evidence(
    tree: Tree, graph: Graph, rows: Floats, dimension: float, min_size: float | None, settled: Bools | None = None
) -> Floats:
    """Return −log p of the merges that join groups to what lies apart from them, NaN for other merges: (n − 1,).

    A group takes along what it is joined to on the way up as long as that is too small to be a group. Nodes that are ``settled``,
    (2n − 1,), because their split has other evidence, are not tested.
    """
    nodes, found = isolated_groups(tree, graph, rows, dimension, settled)
    least, parents, n = least_points(tree._points, min_size), tree.parents, tree.n_leaves
    is_large = tree._points[nodes] >= (0 if min_size is None else least)
    evidence, is_isolated = np.full(n - 1, np.nan), np.zeros(2 * n - 1, dtype=np.bool_)
    is_isolated[nodes[is_large]] = True
    for node, value in zip(nodes[is_large].tolist(), found[is_large].tolist(), strict=True):
        while True:
            merge = int(parents[node]) - n
            sibling = int(tree._children[merge].sum()) - node
            if tree._points[sibling] >= least or is_isolated[sibling]:
                evidence[merge] = np.fmax(evidence[merge], value)
                break
            node = n + merge
            if parents[node] < 0:
                break
    return evidence


def isolated_groups(
    tree: Tree, graph: Graph, rows: Floats, dimension: float, settled: Bools | None = None
) -> tuple[Ints, Floats]:
    """Return the nodes of a tree that are groups of up to half of all rows apart from the others, and −log p of each.

    Groups are found by single linkage along the edges of the neighbour graph, and their gaps are then measured to all rows.
    O(n log n + edges · d) time, and O(n · d · size) for each group found; copies of a row are one row.
    """
    none = np.empty(0, dtype=np.int64), np.empty(0)
    if tree.n_leaves > MOST_ROWS:
        return none
    rows = _snap(rows)
    copies = group_equal_rows(lambda chunk: rows[chunk], tree.n_leaves)
    copies = np.arange(tree.n_leaves) if copies is None else copies
    n = int(copies.max()) + 1
    smallest, largest = max(FEWEST_POINTS, LEAST_SHARE * n), n // 2
    if smallest > largest:
        return none
    linked, edges = link_rows(graph, rows, copies)
    tail = np.log(np.log2(n)) if rows.shape[1] == 1 else 0.0

    def evidence_of(gaps: Floats, clusters: Ints) -> Floats:
        return gap_evidence(gaps / edges[clusters - n], linked._sizes[clusters], n, dimension)

    sizes = linked._sizes
    clusters = np.flatnonzero((sizes >= smallest) & (sizes <= largest) & (np.append(np.zeros(n), edges) < np.inf))
    clusters = clusters[evidence_of(edges[linked._parents[clusters] - n], clusters) > 0]
    nodes, values = [], []
    for cluster in clusters.tolist():
        is_inside = np.zeros(n, dtype=np.bool_)
        is_inside[linked.leaf_order()[linked._first[cluster] : linked._first[cluster] + sizes[cluster]]] = True
        node = nearest_node(tree, is_inside[copies])
        if node is not None and (settled is None or not settled[node]):
            gap = _gap_around(rows, is_inside[copies])
            nodes.append(node)
            values.append(float(evidence_of(np.array([gap]), np.array([cluster]))[0]) - tail)
    return np.array(nodes, dtype=np.int64), np.array(values)


def gap_evidence(ratio: Floats, m: Ints, n: int, dimension: float) -> Floats:
    """Return −log p of groups of m of n points with these ratios of the gap around them to the longest within."""
    r = np.clip(ratio, 1.0, 1e6)
    volume = r ** np.clip(dimension, 1.0, MOST_DIMENSIONS)
    inside = np.log(2.0 * n * volume) + betaln(2 * volume, m)
    at_end = np.log(2.0 * m * r) + betaln(r, m)
    return np.where(ratio > 1.0, -np.logaddexp(inside, at_end) - np.log(np.log2(n)), -np.inf)


def link_rows(graph: Graph, rows: Floats, copies: Ints) -> tuple[Tree, Floats]:
    """Return the single-linkage tree of distinct rows along the edges of a graph, and its heights, infinite between components.

    Leaves of the graph with the same number in ``copies`` are one row.
    """
    i, j, _ = graph.edges()
    differ = copies[i] != copies[j]
    i, j = i[differ], j[differ]
    lengths = np.empty(len(i))
    for chunk in row_chunks(len(i), 16 * rows.shape[1]):
        lengths[chunk] = np.linalg.norm(rows[i[chunk]] - rows[j[chunk]], axis=1)
    n, order = int(copies.max()) + 1, np.lexsort((lengths, copies[j], copies[i]))
    i, j, lengths = copies[i][order], copies[j][order], lengths[order]
    is_first = np.append(True, (np.diff(i) != 0) | (np.diff(j) != 0))[: len(i)]
    forest = minimum_spanning_tree(sp.csr_array((lengths[is_first], (i[is_first], j[is_first])), shape=(n, n))).tocoo()
    of_components = np.unique(connected_components(forest, directed=False)[1], return_index=True)[1]
    order = np.argsort(forest.data, kind="stable")
    heads = np.append(forest.row[order], of_components[:-1]).astype(np.int64)
    tails = np.append(forest.col[order], of_components[1:]).astype(np.int64)
    heights = np.append(forest.data[order], np.full(len(of_components) - 1, np.inf))
    return Tree(spanning_tree_merges(heads, tails)), heights


def nearest_node(tree: Tree, is_inside: Bools) -> int | None:
    """Return the node whose leaves are ``NEARLY`` those that are inside, (n,); None if there is none."""
    shared = subtree_sums(tree._children, is_inside.astype(np.int64))
    overlap = shared / (tree._sizes + is_inside.sum() - shared)
    node = int(overlap.argmax())
    return node if overlap[node] >= NEARLY else None


def _snap(rows: Floats) -> Floats:
    """Return centred rows on a grid of ``GRID`` of the largest absolute value, so that copies are equal after rounding errors."""
    centred = rows - rows.mean(axis=0)
    unit = max(float(np.abs(centred).max(initial=0.0)) * GRID, np.finfo(np.float64).tiny)
    return np.asarray(np.rint(centred / unit) * unit)


def _gap_around(rows: Floats, is_inside: Bools) -> float:
    """Return the distance from the rows inside to the nearest other row."""
    inside, outside = rows[is_inside], rows[~is_inside]
    return float(np.linalg.norm(inside - outside[pairwise_distances_argmin(inside, outside)], axis=1).min())
