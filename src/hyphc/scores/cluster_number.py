"""Number of clusters: splits of the condensed tree, tested against unimodal nulls.

Two groups show as a valley between them. For a split v into two sides, with weights those of the neighbour graph,

    c(u)   weight that random walks of 8 steps inside node u carry from one of its sides to the other
    D      log(c / c(v)), c the smaller of the two sides' largest c(u): how far the walk's cross-section narrows at the split
    δ      min(highest f of either side) − (highest f at which an edge crosses), f the log density averaged over 8 steps
    N      4·c / mean degree, the points that carry the cross-section

A valley of depth Δ that is chance needs the N points to fall to N·e^(−Δ); by the Poisson law that has the probability
exp(−N·r(Δ)), r(Δ) = 1 − e^(−Δ)·(1 + Δ), and there are n/N places where it could happen:

    −log p = (N − 4)·r(Δ) − log(n / N)

Along bands and thin curves Δ is less what chance explains there (``_depth_by_chance``), and along thin curves 8 replaces 4.
Δ = √(D² + δ²) where D > 0. Where D ≤ 0 only the density is used, Δ = δ, if it falls by a factor e at least and the split is
crossed by at most √e times the weight that crosses its sides.

Groups that touch in many dimensions leave no such valley: most of their points lie at their border. Where points have rows and
their local dimension is above ``CURVES_AND_SURFACES`` the sides are also tested for two modes along a line (``bimodality``),
from the root down; elsewhere, where a line proves nothing by itself, it confirms a valley whose p-value is up to e² times too
large. Below a split that is not significant the level is that of five standard deviations and less, and only splits
of few points are tested: parts have shapes there that the search gave them. A side with most of the points of a split is the
exception. So of unimodal data few splits are tested at the level of the first.

Two slopes of one mode, as the tails of long-tailed columns, have a valley between them once the mode is split off. So below a
split that is not significant a valley counts only if one of its sides is apart from all other points below the last significant
one: the valleys between it and each group found there are significant too.

Groups of few points that a wide gap surrounds are tested by it (``isolation``).

The smallest p-value counts. Simulated unimodal shapes gave the constants; the suite ``nulls`` of the benchmarks has them,
and docs/clusters.md says how often one cluster is found in them. The clusters are those below the splits of the condensed tree
that are significant, p < 0.05, or lie above a significant one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._kernels.scores import random_walks
from .._kernels.tree import passes as kernels
from .._kernels.tree.prunings import best_pruning
from .._runtime.arrays import Floats, Ints
from .._runtime.parallel import single_blas_thread, thread_map
from ..similarity import Blend, Graph, Similarity
from ..similarity.base import by_kind
from ..similarity.knn.similarity_knn import knn_graph
from ..similarity.principal_axes import principal_axes
from ..tree import Tree
from ..tree.condense import FlatClusters, close_splits, condense, condense_at, is_split, least_points, undo
from .bimodality import FEWEST_ROWS, bimodality_p_value
from .costs import merges_of_edges, splits
from .isolation import isolation_evidence

Bools = npt.NDArray[np.bool_]

ALPHA = 0.05  # a split is real below this p-value
ENOUGH = -np.log(ALPHA)
STEPS = 8  # of the random walks, and of the averaging of densities: even
DEEPEST = 6.0  # depths beyond this, and parts that no edge joins, are all alike
KNEE = 2.15  # the rate grows linearly from here on: an empty strip is as unlikely as it is wide
LOST_POINTS = 4.0  # of N: neighbouring walks are less independent than their number
# Along thin curves, below this local dimension, chance leaves gaps that a handful of points span: so many are lost there.
THIN_CURVES, LOST_ON_CURVES = 1.3, 8.0
# Along bands, from a plane down to the second of these local dimensions, chance digs valleys deeper by so much: by nothing of up
# to the first number of points, by all of it of the second, by twice as much at most.
PLANE, BAND, DEEPER_IN_BANDS, SHORT_BAND, LONG_BAND = 2.0, 1.6, 1.5, 500, 2_000
DENSITY_FALL, WIDEST_CROSSING = 1.0, 0.5  # where D ≤ 0: least δ, and largest −log(c / x) of edges alone
BALANCED = 0.1  # cross-sections are measured at merges whose smaller side has this share of the points
HALVED = 0.25  # a side whose merges lose smaller shares of its points is measured between its halves
N_CHUNKS = 16  # of merges, for threads
# Below this local dimension shapes may be curved so that they have several modes along a line: rings, spirals, rolled-up sheets.
CURVES_AND_SURFACES = 2.2
CONFIRMED = 2.0  # evidence that a line can add to that of a valley
FAR, N_PROBES = 2.5, 50  # gap around a small group in lengths of its edges, and how many of its points are looked at
# Below a split that is not significant a side has the shape that the search gave it, and need not be convex: there a p-value
# along a line must be below that of five standard deviations, and with each further such split STRICTER times smaller, since
# there may be twice as many. Splits of more points than this show a valley in the graph if there is one.
FIVE_SIGMA, STRICTER, FEW_POINTS = 3e-7, 4.0, 1_200
MOST_POINTS = 0.9  # a side with this share of a split's points has the shape of the whole
N_COLUMNS, N_SAMPLED = 50, 5_000  # rows of more columns are tested by principal components, those of a sample
# rows that one thread projects at a time, and that are compared with probes at a time
PROJECTED, COMPARED = 20_000, 8_192


@dataclass(frozen=True, eq=False)
class ClusterNumber:
    """Number of clusters, the rule that found it, and how clear it is.

    Attributes
    ----------
    n_clusters : int
    why : str
        The rule, and the evidence for this number.
    runners_up : tuple of (int, float)
        The next smaller and the next larger number, the nearer first, each with the significance level at which it would be
        found; empty if unknown.
    p_values : array (n − 1,) or None
        For each merge, the probability of so deep a valley in unimodal data; NaN for merges that are no splits of the condensed
        tree.
    splits : array of int
        The merges that are undone to get the clusters, in the order in which cuts into more and more clusters undo them.
    """

    n_clusters: int
    why: str
    runners_up: tuple[tuple[int, float], ...] = ()
    p_values: Floats | None = field(default=None, repr=False)  # hundreds of numbers
    splits: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)


@by_kind
def number_of_clusters(similarity: Similarity, tree: Tree, min_size: float | None = None) -> ClusterNumber:
    """Return the number of clusters of a tree whose heights and weights are those of the similarity.

    Splits that are found have at least ``min_size`` points on both sides, as in ``Tree.condense``. Features and matrices are
    tested on their graph of nearest neighbours, graphs without densities by modularity.
    """
    return _test_splits(tree, knn_graph(similarity), rows_of_points(similarity), min_size)


@number_of_clusters.register
def _(similarity: Blend, tree: Tree, min_size: float | None = None) -> ClusterNumber:
    return _test_splits(tree, similarity.graph, rows_of_points(similarity), min_size)


@number_of_clusters.register
def _(graph: Graph, tree: Tree, min_size: float | None = None) -> ClusterNumber:
    return _test_splits(tree, graph, None, min_size)


def _test_splits(tree: Tree, graph: Graph, rows: Floats | None, min_size: float | None) -> ClusterNumber:
    if tree.n_leaves < 2:
        return ClusterNumber(1, "there is one point")
    if graph.local_density is None:
        return _most_modular(graph, tree, min_size)
    evidence = split_evidence(tree, graph, min_size)
    if rows is not None:
        is_flat = graph.local_density.dimension >= CURVES_AND_SURFACES
        evidence = (
            _with_lines(tree, rows, evidence, min_size) if is_flat else _confirm_along_lines(tree, rows, evidence)
        )
        if min_size is None:
            evidence = _without_near_pockets(tree, graph, rows, evidence)
        settled = np.zeros(2 * tree.n_leaves - 1, dtype=np.bool_)
        settled[tree._children[evidence > ENOUGH]] = True
        apart = isolation_evidence(tree, graph, rows, graph.local_density.dimension, min_size, settled)
        evidence = np.fmax(evidence, apart)
    found = found_splits(tree, evidence, ENOUGH, min_size)
    p_values = _p_values(evidence)
    why = _words(p_values) + ("" if tree._forced_splits is None else ", within what is known")
    return ClusterNumber(len(found) + 1, why, _runners_up(tree, evidence, min_size), p_values, found[::-1])


def rows_of_points(similarity: Similarity) -> Floats | None:
    """Return the row of each leaf's points, (n, d), by principal components where d is above ``N_COLUMNS``; None without rows."""
    sums = similarity.features()
    if sums is None or sums.shape[1] == 0:
        return None
    is_single = (similarity.sizes == 1).all()
    rows = np.asarray(sums if is_single else sums / similarity.sizes[:, None], dtype=np.float64)
    if rows.shape[1] <= N_COLUMNS:
        return rows
    with single_blas_thread():
        axes = principal_axes(rows, N_COLUMNS, N_SAMPLED)
        starts = range(0, len(rows), PROJECTED)  # the blocks do not depend on the number of threads
        return np.concatenate(thread_map(lambda start: rows[start : start + PROJECTED] @ axes, starts, n_jobs=-1))


def found_splits(tree: Tree, evidence: Floats, level: float, min_size: float | None) -> Ints:
    """Return the merges to undo: those with more evidence than ``level``, and splits of the condensed tree above them.

    Above a real split a group below the least size, which counts because it is isolated, is no cluster unless its own split is
    real. Merges that constraints forbid to undo are left out, and those that they demand are added.
    """
    forced = np.zeros(tree.n_leaves - 1, dtype=np.int64) if tree._forced_splits is None else tree._forced_splits
    possible, real = ~np.isnan(evidence) & (forced >= 0), evidence > level
    contains = _contains(tree, possible & real)
    is_large = tree._points[tree._children].min(axis=1) >= least_points(tree._points, min_size)
    parts = contains[tree._children].all(axis=1)
    undone = (possible & contains[tree.n_leaves :] & (is_large | real | parts)) | (forced > 0)
    return np.flatnonzero(close_splits(tree._children, tree._points, undone) & (forced >= 0))


def _contains(tree: Tree, merges: Bools) -> Bools:
    """Return for each node whether one of the merges lies at or below it: (2n − 1,)."""
    return np.asarray(kernels.sums_of_merges(tree._children, merges.astype(np.float64)) > 0)


def split_evidence(tree: Tree, graph: Graph, min_size: float | None) -> Floats:
    """Return −log p of each split of the condensed tree, below 0 where p would exceed 1, NaN for other merges: (n − 1,).

    Sides of ``LOST_POINTS`` or fewer carry no evidence, −inf; so trees that lose points one by one take no longer than others.
    """
    is_group = is_split(tree, min_size)
    tested = is_group & (tree._points[tree._children].min(axis=1) > LOST_POINTS)
    walks = _Walks.of(tree, graph)
    across, density = splits(graph, tree), _smooth_density(graph)
    walked, halves = _walk_crossings(walks, tested, across)
    widths = _widths(tree, walked, halves), _widths(tree, across)
    sides = tree._children
    narrowest = widths[0][sides].min(axis=1), widths[1][sides].min(axis=1)
    evidence = walks.evidence(*narrowest, walked, across, _density_depths(tree, graph, density))
    evidence = np.where(tested, evidence, np.where(is_group, -np.inf, np.nan))
    return _without_slopes(walks, evidence, widths, density[tree.leaf_order()], min_size)


def _without_slopes(
    walks: _Walks, evidence: Floats, widths: tuple[Floats, Floats], density: Floats, min_size: float | None
) -> Floats:
    """Return the evidence, lowered where two slopes of one mode are the sides of a split; ``density`` is in the order of leaves.

    Below a split that is not significant a side may have a valley that the whole has not: two tails of a distribution without
    its centre. The sides are groups only if one of them is apart from each group that is found below the next significant
    split above. O(edges) time for each side that is compared; a split that counts no longer leaves larger groups to compare with.
    """
    tree, n, evidence = walks.tree, walks.tree.n_leaves, evidence.copy()
    parents, is_lowered = tree.parents, True
    while is_lowered:
        found, is_lowered = found_splits(tree, evidence, ENOUGH, min_size), False
        groups, group_of = undo(tree, found), condense_at(tree, None, np.isin(np.arange(n - 1), found)).cluster
        with_splits_below = {int(parents[group_of[n + merge]]) - n for merge in found.tolist()}
        for merge in found[evidence[found] > ENOUGH].tolist():
            top = int(group_of[n + merge])
            while parents[top] >= 0 and not evidence[parents[top] - n] > ENOUGH:
                top = int(group_of[parents[top]])
            if top == group_of[n + merge] or merge in with_splits_below:
                continue
            sides = tree._children[merge].tolist()
            apart = max(_evidence_apart(walks, side, top, groups, widths, density) for side in sides)
            if apart <= ENOUGH:
                evidence[merge], is_lowered = apart, True
    return evidence


def _evidence_apart(
    walks: _Walks, side: int, top: int, groups: FlatClusters, widths: tuple[Floats, Floats], density: Floats
) -> float:
    """Return the smallest −log p of the valleys between a group, a node, and each other group below a node above it."""
    tree, k = walks.tree, len(groups.nodes)
    (first, last), (begin, end) = _run(tree, side), _run(tree, top)
    labels = groups.labels[tree.leaf_order()]
    own = int(labels[first])
    places, ends, weights = walks.edges(first, last)
    outside = (begin <= ends) & (ends < end) & ((ends < first) | (ends >= last))
    places, ends, weights = places[outside], ends[outside], weights[outside]
    across = np.bincount(labels[ends], weights, minlength=k).astype(np.float64)
    passes, peaks = np.full(k, -np.inf), np.full(k, -np.inf)
    np.maximum.at(passes, labels[ends], np.minimum(density[places], density[ends]))
    np.maximum.at(peaks, labels[begin:end], density[begin:end])
    arrived = walks.arrivals(first, last, begin, end)
    walked = np.bincount(labels[begin:end], arrived, minlength=k).astype(np.float64)
    others = np.setdiff1d(labels[begin:end], own)
    sections = [np.minimum(width[groups.nodes], width[side])[others] for width in widths]
    fall = np.maximum(np.minimum(peaks[others], peaks[own]) - passes[others], 0.0)
    return float(walks.evidence(sections[0], sections[1], walked[others], across[others], fall).min())


def _run(tree: Tree, node: int) -> tuple[int, int]:
    """Return the first place of a node's leaves in their order, and that after the last."""
    return int(tree._first[node]), int(tree._first[node] + tree._sizes[node])


@dataclass(frozen=True, eq=False)
class _Walks:
    """Random walks along the edges of a graph whose points are numbered in the order of a tree's leaves."""

    tree: Tree
    starts: Ints
    ends: Ints
    weights: Floats
    volumes: Floats
    dimension: float

    @classmethod
    def of(cls, tree: Tree, graph: Graph) -> _Walks:
        order, copies = tree.leaf_order(), _copies(graph)
        walk = sp.csr_array(graph.to_csr() + sp.diags_array(copies))[order][:, order]
        dimension = PLANE if graph.local_density is None else graph.local_density.dimension
        starts, ends = walk.indptr.astype(np.int64), np.asarray(walk.indices, dtype=np.int64)
        return cls(tree, starts, ends, walk.data, (graph.degrees() + copies)[order], dimension)

    def edges(self, first: int, last: int) -> tuple[Ints, Ints, Floats]:
        """Return both ends and the weights of the edges of the points from first to last."""
        starts = self.starts[first : last + 1]
        own = slice(starts[0], starts[-1])
        return np.repeat(np.arange(first, last), np.diff(starts)), self.ends[own], self.weights[own]

    def arrivals(self, first: int, last: int, begin: int, end: int) -> Floats:
        """Return the weight that walks from the points first to last carry to each of the points begin to end, (end − begin,).

        The walks end when they leave those from begin to end.
        """
        size = len(self.volumes)
        walk = sp.csr_array((self.weights, self.ends, self.starts), shape=(size, size))[begin:end, begin:end]
        volumes, chance = self.volumes[begin:end], np.zeros(end - begin)
        chance[first - begin : last - begin] = 1.0
        for _ in range(STEPS):
            chance = np.divide(np.asarray(walk @ chance), volumes, out=np.zeros_like(chance), where=volumes > 0)
        return volumes * chance

    def crossings(self, nodes: Ints, parts: Ints) -> Floats:
        """Return the weight that walks inside nodes carry from a part, a node below, to the rest: (len(nodes),)."""
        found, matrix = np.empty(len(nodes)), (self.starts, self.ends, self.weights)
        runs = self.volumes, self.tree._first, self.tree._sizes

        def fill(chunk: int) -> None:
            own = slice(chunk, None, N_CHUNKS)
            found[own] = random_walks.walk_crossings(*matrix, *runs, nodes[own], parts[own], STEPS // 2)

        thread_map(fill, range(min(N_CHUNKS, len(nodes))), n_jobs=-1)
        return found

    def evidence(
        self, cross_section: Floats, edge_section: Floats, walked: Floats, across: Floats, fall: Floats
    ) -> Floats:
        """Return −log p of valleys, from the smaller of the sides' largest crossings, those at the split, and the fall of f."""
        total, volume = float(self.tree._points[-1]), float(self.volumes.sum())
        carriers = 4 * cross_section * total / max(volume, np.finfo(np.float64).tiny)
        narrowing, fall = _log_ratio(cross_section, walked), np.minimum(fall, DEEPEST)
        wide = _log_ratio(edge_section, across) < -WIDEST_CROSSING
        by_density = np.where((fall >= DENSITY_FALL) & ~wide, fall, 0.0)
        depth = np.where(narrowing > 0, np.hypot(np.maximum(narrowing, 0.0), fall), by_density)
        depth -= _depth_by_chance(depth, self.dimension, total)
        lost = LOST_ON_CURVES if self.dimension < THIN_CURVES else LOST_POINTS
        return valley_evidence(depth, carriers, total, lost)


def _with_lines(tree: Tree, rows: Floats, evidence: Floats, min_size: float | None) -> Floats:
    """Return the evidence, raised where the sides of a split are two modes along a line; tested from the root down.

    Splits below one that is not significant are tested if they have few points, at a stricter level; a side with nearly all
    points does not count as below it. Splits with a side too small to reach the level are not tested.
    """
    condensed, n = condense(tree, min_size), tree.n_leaves
    raised, points = evidence.copy(), tree._points
    failed = {2 * n - 2: 0}  # splits above each group that are not significant
    with single_blas_thread():
        for merge in condensed.splits[::-1].tolist():
            left, right = tree._children[merge].tolist()
            above = failed[int(condensed.cluster[n + merge])]
            penalty = _penalty(above)
            fewest = max(FEWEST_ROWS, (ENOUGH + penalty) / np.log(2))  # with m points in a side p is at least 2^−m
            is_tested = above == 0 or tree._sizes[n + merge] <= FEW_POINTS
            if is_tested and tree._sizes[[left, right]].min() >= fewest:
                raised[merge] = max(evidence[merge], _line_evidence(tree, rows, merge) - penalty)
            is_real = raised[merge] > ENOUGH
            for side in (left, right):
                failed[side] = above + (not is_real and points[side] < MOST_POINTS * points[n + merge])
    return raised


def _confirm_along_lines(tree: Tree, rows: Floats, evidence: Floats) -> Floats:
    """Return the evidence, raised by at most ``CONFIRMED`` where the sides of a split are also two modes along a line.

    For shapes that may be curved, which have several modes along a line without being several groups.
    """
    raised = evidence.copy()
    with single_blas_thread():
        for merge in np.flatnonzero((evidence <= ENOUGH) & (evidence + CONFIRMED > ENOUGH)).tolist():
            raised[merge] = max(evidence[merge], min(evidence[merge] + CONFIRMED, _line_evidence(tree, rows, merge)))
    return raised


def _line_evidence(tree: Tree, rows: Floats, merge: int) -> float:
    """Return −log p of two modes along a line between the sides of a merge."""
    n, (left, right) = tree.n_leaves, tree._children[merge].tolist()
    first = min(left, right, key=lambda side: int(tree._first[side]))
    leaves = tree.leaf_order()[tree._first[n + merge] :][: tree._sizes[n + merge]]
    p = bimodality_p_value(rows[leaves], np.arange(len(leaves)) < tree._sizes[first])
    return float(-np.log(max(p, np.finfo(np.float64).tiny)))


def _penalty(n_failed: int) -> float:
    """Return how much more evidence along a line is needed below so many splits that are not significant."""
    return 0.0 if n_failed == 0 else float(np.log(ALPHA / FIVE_SIGMA) + (n_failed - 1) * np.log(STRICTER))


def _without_near_pockets(tree: Tree, graph: Graph, rows: Floats, evidence: Floats) -> Floats:
    """Return the evidence without that of small groups which no edge leaves although other points are near.

    A group below the least size counts only if it lies ``FAR`` times as far from all other points as its own neighbours from
    each other. Near copies of a row fill each other's lists of neighbours: without edges to others they look isolated.
    """
    kept, order = evidence.copy(), tree.leaf_order()
    sides = tree._points[tree._children]
    small = np.flatnonzero((sides.min(axis=1) < least_points(tree._points, None)) & (evidence > ENOUGH))
    adjacency, squares = graph.to_csr(), np.einsum("ij,ij->i", rows, rows)

    def is_near(merge: int) -> bool:
        node = int(tree._children[merge, sides[merge].argmin()])
        leaves = order[tree._first[node] : tree._first[node] + tree._sizes[node]]
        is_inside = np.zeros(tree.n_leaves, dtype=np.bool_)
        is_inside[leaves] = True
        probes = leaves[:: max(1, len(leaves) // N_PROBES)]
        edges = adjacency[probes].tocoo()
        ends = probes[edges.row], edges.col
        within = is_inside[ends[1]]
        lengths = np.linalg.norm(rows[ends[0][within]] - rows[ends[1][within]], axis=1)
        typical = float(np.median(lengths[lengths > 0])) if lengths.any() else 0.0
        return _has_near(probes, rows, squares, is_inside, FAR * typical)

    with single_blas_thread():
        is_near_others = np.array(thread_map(is_near, small.tolist(), n_jobs=-1), dtype=np.bool_)
    kept[small[is_near_others]] = -np.inf
    return kept


def _has_near(probes: Ints, rows: Floats, squares: Floats, is_inside: Bools, reach: float) -> bool:
    """Return whether a row outside is nearer to one of the probes than ``reach``; the first block with such a row decides.

    ``squares`` are the squared lengths of the rows.
    """
    directions = -2 * rows[probes]
    for begin in range(0, len(rows), COMPARED):
        block = slice(begin, begin + COMPARED)
        apart = directions @ rows[block].T
        apart += squares[block]
        apart[:, is_inside[block]] = np.inf
        nearest = float((apart.min(axis=1) + squares[probes]).min())
        if np.sqrt(max(nearest, 0.0)) < reach:
            return True
    return False


def valley_evidence(depth: Floats, carriers: Floats, n: float, lost: float = LOST_POINTS) -> Floats:
    """Return −log p of a valley of this depth in a cross-section of so many points, ``lost`` of which count for nothing."""
    places = np.log(n) - np.log(np.clip(carriers, np.finfo(np.float64).tiny, n))
    return np.asarray(np.maximum(carriers - lost, 0.0) * _rate(depth) - places)


def _depth_by_chance(depth: Floats, dimension: float, n: float) -> Floats:
    """Return how much of the depth chance explains in bands and along curves: less of deep valleys, nothing of empty strips."""
    thinness = np.clip((PLANE - dimension) / (PLANE - BAND), 0.0, 1.0)
    thinness *= np.clip(np.log(n / SHORT_BAND) / np.log(LONG_BAND / SHORT_BAND), 0.0, 2.0)
    return np.asarray(np.minimum(DEEPER_IN_BANDS * thinness * np.clip(1 - depth / DEEPEST, 0.0, 1.0), depth))


def _rate(depth: Floats) -> Floats:
    """Return 1 − e^(−Δ)·(1 + Δ), continued by its tangent from the knee on."""
    bent = np.minimum(depth, KNEE)
    return np.asarray(1 - np.exp(-bent) * (1 + bent) + KNEE * np.exp(-KNEE) * (depth - bent))


def _log_ratio(larger: Floats, smaller: Floats) -> Floats:
    """Return log(larger / smaller), at most ``DEEPEST``, and −``DEEPEST`` where the larger is 0."""
    tiny = np.finfo(np.float64).tiny
    ratio = np.log(np.maximum(larger, tiny)) - np.log(np.maximum(smaller, tiny))
    return np.where(larger > 0, np.clip(ratio, -DEEPEST, DEEPEST), -DEEPEST)


def _widths(tree: Tree, across: Floats, halves: Floats | None = None) -> Floats:
    """Return for each node the largest value of the merges at and below it, and of their halves: (2n − 1,)."""
    largest = np.concatenate([np.zeros(tree.n_leaves), kernels.lifted_heights(tree._children, across)])
    return largest if halves is None else np.maximum(largest, halves)


def _walk_crossings(walks: _Walks, tested: Bools, across: Floats) -> tuple[Floats, Floats]:
    """Return the weight of walks across merges that are tested or balanced, (n − 1,), and across halves of nodes, (2n − 1,).

    The sides of tested merges that lose their points a few at a time have no balanced merge that could say how wide they are;
    they are halved between the points that leave first and the others. O(edges · depth) time, the depth counted in balanced
    merges.
    """
    tree, n = walks.tree, walks.tree.n_leaves
    is_balanced = tree._points[tree._children].min(axis=1) >= BALANCED * tree._points[n:]
    merges = np.flatnonzero((tested | is_balanced) & (across > 0))
    nodes, cores = _halves(tree, np.unique(tree._children[tested]))
    crossings = walks.crossings(np.append(n + merges, nodes), np.append(tree._children[merges, 0], cores))
    of_merges, of_halves = np.zeros(n - 1), np.zeros(2 * n - 1)
    of_merges[merges], of_halves[nodes] = crossings[: len(merges)], crossings[len(merges) :]
    return of_merges, of_halves


def _halves(tree: Tree, nodes: Ints) -> tuple[Ints, Ints]:
    """Return the nodes that lose half of their points in smaller shares than ``HALVED``, and the core of each that is left."""
    n, points = tree.n_leaves, tree._points
    larger = tree._children[np.arange(n - 1), points[tree._children].argmax(axis=1)]
    found, cores = [], []
    for v in nodes[points[nodes] >= LOST_POINTS].tolist():
        core = v
        while core >= n and points[core] > points[v] / 2 and points[larger[core - n]] > (1 - HALVED) * points[core]:
            core = int(larger[core - n])
        if points[core] <= points[v] / 2:
            found.append(v)
            cores.append(core)
    return np.array(found, dtype=np.int64), np.array(cores, dtype=np.int64)


def _copies(graph: Graph) -> Floats:
    """Return the weight of the pairs inside each leaf, counted in both directions; copies of a row are joined by 1."""
    return np.asarray(graph.sizes * np.maximum(graph.sizes - 1, 0))


def _density_depths(tree: Tree, graph: Graph, density: Floats) -> Floats:
    """Return how far the log density falls between the sides of each merge: (n − 1,)."""
    children = tree._children
    i, j, _ = graph.edges()
    merges = merges_of_edges(graph, tree)
    passes = np.full(tree.n_leaves - 1, -np.inf)
    np.maximum.at(passes, merges[merges >= 0], np.minimum(density[i], density[j]))
    peaks = kernels.largest_below(children, density)
    return np.asarray(np.maximum(peaks[children].min(axis=1) - passes, 0.0))


def _smooth_density(graph: Graph) -> Floats:
    """Return the log density, averaged ``STEPS`` times over each point, its copies and its neighbours."""
    assert graph.local_density is not None
    density, sizes = graph.local_density.density, graph.sizes
    weights = graph.degrees() / sizes + sizes
    for _ in range(STEPS):
        density = (graph.product(density) / sizes + sizes * density) / weights
    return density


def _p_values(evidence: Floats) -> Floats:
    return np.asarray(np.exp(np.minimum(-evidence, 0.0)))


def _runners_up(tree: Tree, evidence: Floats, min_size: float | None) -> tuple[tuple[int, float], ...]:
    """Return the next smaller and the next larger number, each with the level of significance at which it would be found."""
    levels, found = np.unique(evidence[np.isfinite(evidence)]), len(found_splits(tree, evidence, ENOUGH, min_size))
    others = []
    for side in (levels[levels > ENOUGH], levels[levels <= ENOUGH][::-1]):
        for level in side:
            above = level if level > ENOUGH else np.nextafter(level, -np.inf)
            k = len(found_splits(tree, evidence, above, min_size))
            if k != found:
                others.append((abs(level - ENOUGH), k + 1, float(_p_values(level))))
                break
    return tuple((k, p) for _, k, p in sorted(others))


def _words(p_values: Floats) -> str:
    real = p_values[p_values < ALPHA]
    if len(real) == 0:
        return f"no split has p < {ALPHA:g} in unimodal data"
    return f"splits with p < {ALPHA:g} in unimodal data; the weakest has p = {real.max():.2g}"


def _most_modular(graph: Graph, tree: Tree, min_size: float | None) -> ClusterNumber:
    """Return the clusters of largest modularity among all cuts of the condensed tree: a graph alone has no density."""
    found, modularity = modular_splits(graph, tree, min_size)
    return ClusterNumber(len(found) + 1, f"the largest modularity of a cut, {modularity:.3g}", splits=found)


def modular_splits(graph: Graph, tree: Tree, min_size: float | None) -> tuple[Ints, float]:
    """Return the splits of the condensed tree to undo for the largest modularity, and that modularity.

    The order is such that the modularity of cuts into fewer clusters falls least, one merge after the other. Points that fall out
    count with the group that they join, so the modularity is that of the labels. O(n log n + edges) time.
    """
    n, children = tree.n_leaves, tree._children
    forced = np.zeros(n - 1, dtype=np.int64) if tree._forced_splits is None else tree._forced_splits
    possible = (is_split(tree, min_size) & (forced >= 0)) | (forced > 0)
    leaf = _group_leaves(tree, possible)
    inside, volume = np.zeros(n), np.zeros(n)
    np.add.at(volume, leaf, graph.degrees() + 2 * _within(tree))
    np.add.at(inside, leaf, _within(tree))
    i, j, weights = graph.edges()
    same = leaf[i] == leaf[j]
    np.add.at(inside, leaf[i[same]], weights[same])
    ends = leaf[i[~same]], leaf[j[~same]]
    between = Graph(
        sp.csr_array((np.tile(weights[~same], 2), (np.append(*ends), np.append(*ends[::-1]))), shape=(n, n))
    )
    inside = kernels.subtree_sums(children, inside) + kernels.sums_of_merges(children, splits(between, tree))
    volume = kernels.subtree_sums(children, volume)
    total = max(float(volume[-1]), np.finfo(np.float64).tiny)
    scores = 2 * inside / total - (volume / total) ** 2
    undone, best = best_pruning(children, scores, possible, forced > 0)
    merges = np.flatnonzero(undone)
    return _by_loss(tree, merges, scores[children[merges]].sum(axis=1) - scores[n + merges]), best


def _by_loss(tree: Tree, merges: Ints, losses: Floats) -> Ints:
    """Return merges in the reverse of the order in which they are made again, always that of least loss whose sides are whole."""
    above = _next_above(tree, merges)
    loss, waits = dict(zip(merges.tolist(), losses.tolist(), strict=True)), Counter(above.values())
    ready = [(loss[t], t) for t in merges.tolist() if waits[t] == 0]
    heapify(ready)
    made = []
    while ready:
        _, t = heappop(ready)
        made.append(t)
        parent = above.get(t)
        if parent is not None:
            waits[parent] -= 1
            if waits[parent] == 0:
                heappush(ready, (loss[parent], parent))
    return np.array(made[::-1], dtype=np.int64)


def _next_above(tree: Tree, merges: Ints) -> dict[int, int]:
    """Return for each of the merges the next of them above it, if there is one."""
    top = condense_at(tree, None, np.isin(np.arange(tree.n_leaves - 1), merges)).cluster
    parents = tree.parents
    groups = {t: int(top[tree.n_leaves + t]) for t in merges.tolist()}
    return {t: int(parents[v]) - tree.n_leaves for t, v in groups.items() if parents[v] >= 0}


def _group_leaves(tree: Tree, possible: Bools) -> Ints:
    """Return for each leaf the first leaf of the core of the group that it belongs to when all possible splits are undone."""
    groups = undo(tree, np.flatnonzero(possible))
    return np.asarray(tree.leaf_order()[tree._first[groups.nodes]][groups.labels])


def _within(tree: Tree) -> Floats:
    return np.zeros(tree.n_leaves) if tree._leaf_weights is None else tree._leaf_weights
