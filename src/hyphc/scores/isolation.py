"""Test whether a small group lies apart: a gap around it that is wide beside the gaps within it.

Neighbour lists of 15 rows reach beyond a group of ten, so no valley of the graph shows it. Single linkage does: a group is a
cluster of single linkage if the gap g around it, the distance to the nearest other row, is wider than every edge of its minimum
spanning tree, the longest of which has the length h. With ratio r = g / h > 1, m points in the group and n in all:

    p = log₂ n · (2n·R·B(2R, m) + 2m·r·B(r, m)),   R = r^d,   B the beta function

Along a line the spacings of points of even density are independent exponentials. One of them, at the end of a group, is r
times as long as each of the m − 1 within it with probability ∫ e^(−x)·(1 − e^(−x/r))^(m−1) dx = r·B(r, m); there are two ends,
and m groups of up to m points. In the middle both spacings beside a group must be long, 2r·B(2r, m), and there are n places; in
d dimensions a shell of volume r^d must be empty. In tails spacings grow by a factor at each of about log₂ n scales;
rows of one column may have nothing but a tail, and there the factor is its square. d is the local dimension, at most
``MOST_DIMENSIONS``. Simulated unimodal shapes confirm that p is not too small: suite ``nulls``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from scipy.special import betaln

from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import group_equal_rows
from .._runtime.validation import row_chunks
from ..tree import Tree
from ..tree.condense import least_points

if TYPE_CHECKING:
    from ..similarity import Graph

MOST_POINTS, FEWEST_POINTS = 60, 3  # larger groups show as valleys of the graph; two rows are a pair, not a group
LEAST_SHARE = 1 / 400  # of all points: in large data there are many pockets, and near copies of rows
GRID = 2.0**-24
MOST_DIMENSIONS = 2.0  # more would make p smaller: the estimate of the local dimension is rough in small groups


class LinkedGroups(NamedTuple):
    """Clusters of single linkage: number of distinct rows, longest edge within, shortest edge that leaves, and keys."""

    sizes: Ints
    within: Floats
    around: Floats
    keys: npt.NDArray[np.uint64]


def isolation_evidence(tree: Tree, graph: Graph, rows: Floats, dimension: float, min_size: float | None) -> Floats:
    """Return −log p of the merges that join small groups to what lies apart from them, NaN for other merges: (n − 1,).

    A group takes along what it is joined to on the way up as long as that is too small to be a group.
    """
    nodes, found = isolated_groups(tree, graph, rows, dimension)
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


def isolated_groups(tree: Tree, graph: Graph, rows: Floats, dimension: float) -> tuple[Ints, Floats]:
    """Return the nodes of a tree that are small groups apart from all other rows, and −log p of each.

    Groups are found by single linkage along the edges of the neighbour graph, and their gaps are then measured to all rows.
    O(n log n + edges · d) time, and O(n · d) for each group found.
    """
    if LEAST_SHARE * tree.n_leaves > MOST_POINTS:
        return np.empty(0, dtype=np.int64), np.empty(0)
    rows = _snap(rows)
    copies = group_equal_rows(lambda chunk: rows[chunk], tree.n_leaves)
    copies = np.arange(tree.n_leaves) if copies is None else copies
    n = int(copies.max()) + 1  # distinct rows: copies say nothing about gaps
    smallest, largest = max(FEWEST_POINTS, LEAST_SHARE * n), min(MOST_POINTS, n // 2)
    if smallest > largest:
        return np.empty(0, dtype=np.int64), np.empty(0)
    leaf_keys = np.random.default_rng(0).integers(1 << 63, size=tree.n_leaves, dtype=np.uint64)
    linked = link_groups(graph, rows, copies, leaf_keys)
    tail = np.log(np.log2(n)) if rows.shape[1] == 1 else 0.0
    evidence = gap_evidence(linked.around / linked.within, linked.sizes, n, dimension)
    fits = np.flatnonzero((linked.sizes >= smallest) & (linked.sizes <= largest) & (evidence > 0))
    node_keys = keys_of_nodes(tree, leaf_keys)
    order = np.argsort(node_keys)
    nodes = order[np.minimum(np.searchsorted(node_keys[order], linked.keys[fits]), len(order) - 1)]
    is_node = node_keys[nodes] == linked.keys[fits]
    nodes, fits = nodes[is_node], fits[is_node]
    around = np.array([_gap_around(tree, node, rows) for node in nodes.tolist()])
    return nodes, gap_evidence(around / linked.within[fits], linked.sizes[fits], n, dimension) - tail


def gap_evidence(ratio: Floats, m: Ints, n: int, dimension: float) -> Floats:
    """Return −log p of groups of m of n points with these ratios of the gap around them to the longest within."""
    r = np.clip(ratio, 1.0, 1e6)
    volume = r ** np.clip(dimension, 1.0, MOST_DIMENSIONS)
    inside = np.log(2.0 * n * volume) + betaln(2 * volume, m)
    at_end = np.log(2.0 * m * r) + betaln(r, m)
    return np.where(ratio > 1.0, -np.logaddexp(inside, at_end) - np.log(np.log2(n)), -np.inf)


def link_groups(graph: Graph, rows: Floats, copies: Ints, leaf_keys: npt.NDArray[np.uint64]) -> LinkedGroups:
    """Return the clusters of single linkage along the edges of a graph, each with the edge by which it is joined to others.

    Leaves with the same number in ``copies`` (n,) are one row. A component that no edge leaves has an infinite edge around it.
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
    edges = sp.csr_array((lengths[is_first], (i[is_first], j[is_first])), shape=(n, n))
    forest = minimum_spanning_tree(edges).tocoo()
    keys_of_rows = np.zeros(n, dtype=np.uint64)
    np.bitwise_xor.at(keys_of_rows, copies, leaf_keys)
    order = np.argsort(forest.data, kind="stable")
    starts, ends, heights = forest.row[order].tolist(), forest.col[order].tolist(), forest.data[order]
    top = list(range(n))  # the cluster of each, by union and find
    sizes, keys = np.ones(n + len(heights), dtype=np.int64), np.append(keys_of_rows, np.zeros(len(heights), np.uint64))
    around = np.full(n + len(heights), np.inf)

    def find(v: int) -> int:
        while top[v] != v:
            top[v] = top[top[v]]
            v = top[v]
        return v

    for k, (a, b) in enumerate(zip(starts, ends, strict=True)):
        joined = n + k
        one, other = find(a), find(b)
        top.append(joined)
        top[one] = top[other] = joined
        sizes[joined], keys[joined] = sizes[one] + sizes[other], keys[one] ^ keys[other]
        around[[one, other]] = heights[k]
    return LinkedGroups(sizes[n:], heights, around[n:], keys[n:])


def keys_of_nodes(tree: Tree, leaf_keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the exclusive or of the keys of each node's leaves, equal for equal sets of leaves: (2n − 1,)."""
    ordered = np.append(np.uint64(0), np.bitwise_xor.accumulate(leaf_keys[tree.leaf_order()]))
    return np.asarray(ordered[tree._first + tree._sizes] ^ ordered[tree._first])


def _snap(rows: Floats) -> Floats:
    """Return centred rows on a grid of ``GRID`` of the largest absolute value, so that copies are equal after rounding errors."""
    centred = rows - rows.mean(axis=0)
    unit = max(float(np.abs(centred).max(initial=0.0)) * GRID, np.finfo(np.float64).tiny)
    return np.asarray(np.rint(centred / unit) * unit)


def _gap_around(tree: Tree, node: int, rows: Floats) -> float:
    """Return the distance from the leaves of a node to the nearest other row."""
    first, size = int(tree._first[node]), int(tree._sizes[node])
    order = tree.leaf_order()
    others = np.append(order[:first], order[first + size :])
    return float(cdist(rows[order[first : first + size]], rows[others]).min())
