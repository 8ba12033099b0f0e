"""k-nearest-neighbour search and the symmetric, weighted graph built from it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._runtime.arrays import Floats, Ints
from ..._runtime.user_warnings import warn
from ..._runtime.validation import require_choice
from ..row_transforms import DIRECTIONS
from .edge_weights import knn_to_graph, require_edge_weights
from .exact import TREE_DIMENSIONS, ExactIndex, exact_candidates, rank_candidates
from .other_distances import DISTANCES, Distance, find_by_distance
from .row_preparation import (
    LARGE_EXPONENT,
    Points,
    check_dense,
    check_points,
    coarse_mean,
    large_exponent,
    to_euclidean,
    unit_vectors,
)

if TYPE_CHECKING:
    from .ivf_index import InvertedFile

METRICS = ("euclidean", *DIRECTIONS, *DISTANCES)
KNOWN = ("euclidean", "cosine")  # metrics that our own searches implement

# Exact search takes n²·d steps, two to five seconds of CPU time at 20 000 points. The inverted file takes a sixth of that, but
# misses a few neighbours, and its kernels must be compiled once.
EXACT_LIMIT = 20_000
# Sparse rows up to this number are searched exactly, which takes minutes; beyond, so many times k candidates are found in the
# space of so many singular vectors.
EXACT_SPARSE_LIMIT, SPARSE_COMPONENTS, SPARSE_CANDIDATES = 100_000, 128, 6
# A recall below this is warned of.
POOR_RECALL = 0.9


def neighbor_graph(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: Distance = "euclidean",
    edge_weights: str = "fuzzy",
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> sp.csr_array[np.float64]:
    """Return the weighted graph that joins each point with its nearest neighbours.

    Two points are joined when either is among the ``n_neighbors`` = k nearest of the other. A tree of this graph follows
    groups of any shape, such as a curved series of developmental stages, where similarities of all pairs depend on the
    distance alone. Small k (5 to 10) keeps rare groups apart, large k (30 to 100) gives smoother, larger ones.

    Parameters
    ----------
    X : array, frame or sparse matrix (n, d)
        One row a point. Sparse rows, such as TF-IDF or counts, are never made dense.
    n_neighbors : int
        k, between 1 and n − 1. A point is not its own neighbour; its duplicates are neighbours at distance 0.
    metric : str or callable
        ``"euclidean"`` after scaling the columns to one unit; ``"cosine"`` (1 − cos) where only proportions matter, as in
        word or gene counts. A row of zeros has no direction: it lies at distance 1 from every other row, and at 0 from
        other rows of zeros. ``"correlation"`` and ``"spearman"`` (1 − r) likewise. Others, see ``METRICS``, and functions of two
        rows that return their distance, are exact and take n² distances.
    edge_weights : {"fuzzy", "self-tuned", "shared", "binary"}
        All weights lie in (0, 1], depend on ratios of distances only, and adapt to how crowded a neighbourhood is.

        - ``"fuzzy"``, as in UMAP: the membership of the nearest neighbour is 1, and those of all k sum to log2(k), so a cell
          of a rare type is as well connected as one of a common type. The best first choice. Needs k ≥ 3; with less, only
          the nearest neighbour counts. a = exp(−(d_ij − ρ_i) / σ_i), ρ_i the smallest distance above 0; the directed
          memberships a and b of an edge give a + b − ab.
        - ``"self-tuned"`` (Zelnik-Manor & Perona 2004): exp(−d² / (s_i·s_j)), s_i the distance to the k-th neighbour.
          Keeps more of the actual distances: for groups that differ clearly in distance and less in density.
        - ``"shared"``: the share of common neighbours, |N_i ∩ N_j| / (k + 1), each point counted as one of its own. Spurious
          edges share few: for noisy data with many columns, such as single-cell counts.
        - ``"binary"``: 1 on each edge. The plain graph, for comparison or when distances mean nothing beyond their order.
    n_jobs : int, optional
        Threads, −1 for all cores; the result does not depend on it. Dense exact search in more than six dimensions uses
        scikit-learn's own threads.
    random_state : int, RandomState or None
        Seed of the approximate search, None is 0; the exact ones draw nothing.

    Returns
    -------
    csr_array (n, n), float64
        Symmetric, sorted indices, no diagonal, every stored weight > 0.

    Notes
    -----
    Neighbours are exact up to 20 000 points (sparse rows: 100 000), and for any n in up to six dimensions. Beyond, an inverted
    file is searched: each point probes the nearest cells, as many as hold 95 % of the true neighbours of 500 sampled points; then
    one NN-descent pass follows, or two if the recall is below 99 %. Rows of 256 columns or more are searched in the space of
    their 64 or 128 leading principal components, if 2k candidates there hold 99.5 % of the true neighbours, and sparse rows in
    that of their 128 leading singular vectors; the candidates are compared exactly. The recall on the sample is kept as
    ``recall_`` of a similarity, and warned of below 90 %.
    Distances of the neighbours found are computed from differences, so that duplicates lie at exactly 0.
    Of points at equal distance, those with smaller indices come first; among more than eight at the k-th distance, which of them
    are neighbours is arbitrary, but repeatable.
    Memory O(n·(d + k)), never n².

    Examples
    --------
    >>> neighbor_graph([[0.0], [1.0], [5.0], [6.5]], 1, edge_weights="binary").toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    require_edge_weights(edge_weights)
    return knn_to_graph(*nearest(X, n_neighbors, metric=metric, n_jobs=n_jobs, random_state=random_state), edge_weights)


class NeighborLists(NamedTuple):
    """Neighbours of each row and their distances, both (n, k), nearest first, and the estimated recall."""

    neighbours: Ints
    distances: Floats
    recall: float


def nearest(
    X: Any,
    n_neighbors: int,
    *,
    metric: Distance = "euclidean",
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Ints, Floats]:
    """Return the nearest other rows of each row, and their distances on a common scale: both (n, k), nearest first."""
    return find(X, n_neighbors, metric=metric, n_jobs=n_jobs, random_state=random_state)[:2]


def find(
    X: Any,
    n_neighbors: int,
    *,
    metric: Distance = "euclidean",
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> NeighborLists:
    """Return ``nearest`` with its recall: 1 where the search is exact."""
    if not callable(metric):
        require_choice("metric", metric, METRICS)
    points, metric = _to_known_metric(check_points(X), metric)
    n = points.shape[0]
    k = operator.index(n_neighbors)
    if k < 1:
        raise ValueError(f"n_neighbors={k} leaves no edges; choose n_neighbors >= 1.")
    if n == 1:
        return NeighborLists(np.empty((1, 0), dtype=np.int64), np.empty((1, 0)), 1.0)
    if k >= n:
        raise ValueError(f"n_neighbors={k} is too many for n={n} points; choose n_neighbors <= {n - 1}.")
    if metric not in KNOWN:
        return _find_by_other_distance(points, k, metric, n_jobs)
    if is_small(points):
        points, everyone = to_euclidean(points, metric), np.arange(n)
        found = NeighborLists(*rank_candidates(points, everyone, exact_candidates(points, everyone, k, n_jobs), k), 1.0)
    else:
        found = _approximate(points, k, metric, to_seed(random_state), n_jobs)
    # of unit vectors: ‖x − y‖² = 2(1 − cos), without the cancellation in 1 − cos
    return found._replace(distances=found.distances**2 / 2) if metric == "cosine" else found


def _to_known_metric(points: Points, metric: Distance) -> tuple[Points, Any]:
    """Return rows and a metric of ``KNOWN`` that give the wanted distance, or both unchanged if there is none."""
    return (DIRECTIONS[metric](points), "cosine") if metric in DIRECTIONS else (points, metric)


def _find_by_other_distance(points: Points, k: int, metric: Distance, n_jobs: int | None) -> NeighborLists:
    """Return the k nearest other rows by a distance of scikit-learn or of the user."""
    n = points.shape[0]
    neighbours, distances = find_by_distance(points, points, min(k + 1, n), metric, n_jobs)
    own = neighbours == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True  # displaced by duplicates: drop any of them
    others = ~own
    return NeighborLists(neighbours[others].reshape(n, -1), distances[others].reshape(n, -1), 1.0)


def query_rows(
    X: Any, new: Any, n_neighbors: int, metric: Distance, index: NeighborIndex | None = None
) -> tuple[Ints, Floats]:
    """Return the ``n_neighbors`` rows of X nearest to each row of ``new``, and their distances: both (m, k), nearest first.

    Exact without an ``index`` of X, see ``build_index``.
    """
    if index is not None and index.has_room_for(new):
        neighbours, distances = index.query(new)
        short = np.flatnonzero(neighbours[:, -1] < 0)
        if len(short):
            neighbours[short], distances[short] = query_rows(X, new[short], n_neighbors, metric)
        return neighbours, distances
    (X, _), (new, metric) = _to_known_metric(X, metric), _to_known_metric(new, metric)
    if metric not in KNOWN:
        return find_by_distance(X, check_points(new), n_neighbors, metric, None)
    both = check_points(np.concatenate([X, new]) if isinstance(X, np.ndarray) else sp.vstack([X, new]))
    points = to_euclidean(both, metric)
    neighbours, distances = ExactIndex(points[: X.shape[0]], None).query(points[X.shape[0] :], n_neighbors)
    return neighbours, distances**2 / 2 if metric == "cosine" else distances


class NeighborIndex:
    """Index of dense rows for nearest-neighbour queries of new ones: an inverted file, or an exact one."""

    def __init__(self, X: Floats, k: int, metric: Distance, n_jobs: int | None, is_exact: bool = False) -> None:
        self._k, self._metric = k, metric
        self._exact: ExactIndex | None = None
        self._centre: Floats | None = None
        if is_exact:
            # of about unit size around 0, as scikit-learn subtracts squares from each other
            exponent = int(np.frexp(max(X.max(), -X.min()))[1])
            self._exponent, self._centre = exponent, coarse_mean(np.ldexp(X.astype(np.float64), -exponent))
            self._exact = ExactIndex(self._to_euclidean(X.astype(np.float64)), n_jobs)
        else:
            from .ivf_index import InvertedFile

            self._exponent = large_exponent(X)
            self._file: InvertedFile = InvertedFile(self._to_euclidean(X), k, 0, n_jobs)

    def has_room_for(self, new: Floats) -> bool:
        """Return whether differences to new rows can be squared without overflow, in the units of the index."""
        if self._metric != "euclidean":
            return True
        return int(np.frexp(max(new.max(), -new.min()))[1]) - self._exponent <= LARGE_EXPONENT

    def query(self, new: Floats) -> tuple[Ints, Floats]:
        """Return the k nearest rows of each new row, and their distances: both (m, k), nearest first."""
        queries = self._to_euclidean(check_dense(new))
        if self._exact is None:
            neighbours, distances = self._file.query(queries)
        else:
            neighbours, distances = self._exact.query(queries.astype(np.float64, copy=False), self._k)
        if self._metric == "euclidean":
            return neighbours, np.ldexp(distances, self._exponent)
        return neighbours, distances**2 / 2

    def neighbors(self) -> Ints:
        """Return the k nearest other rows of each row, nearest first: (n, k)."""
        return self._file.neighbours()[0]

    def _to_euclidean(self, rows: Floats) -> Floats:
        if self._metric == "euclidean":
            scaled = np.ldexp(rows, -self._exponent) if self._exponent else rows
            return scaled if self._centre is None else scaled - self._centre
        units: Any = unit_vectors(_to_known_metric(rows, self._metric)[0])
        return units if units.shape[1] > rows.shape[1] else np.hstack([units, np.zeros((len(units), 1), units.dtype)])


def build_index(X: Any, n_neighbors: int, metric: Distance, n_jobs: int | None = None) -> NeighborIndex | None:
    """Return the index for ``query_rows``, exact for few rows or columns; None where rows are sparse or the metric has none."""
    if sp.issparse(X) or (metric not in KNOWN and metric not in DIRECTIONS):
        return None
    return NeighborIndex(check_dense(X), n_neighbors, metric, n_jobs, is_exact=is_small(X))


def is_small(points: Any) -> bool:
    """Return whether points are searched exactly."""
    n, d = points.shape
    if sp.issparse(points):
        return bool(n <= EXACT_SPARSE_LIMIT)
    return bool(n <= EXACT_LIMIT or d <= TREE_DIMENSIONS)


def _approximate(points: Points, k: int, metric: str, seed: int, n_jobs: int | None) -> NeighborLists:
    """Return approximate k nearest other points of each, by an inverted file."""
    from .ivf_index import InvertedFile
    from .reduced_search import find_by_components

    if not isinstance(points, np.ndarray):
        found = _approximate_sparse(to_euclidean(points, metric), k, seed, n_jobs)
    else:
        exponent = large_exponent(points)
        scaled = np.ldexp(points, -exponent) if exponent else points
        scaled = unit_vectors(scaled) if metric == "cosine" else scaled  # type: ignore[assignment]
        by_components = find_by_components(scaled, k, seed, n_jobs)
        if by_components is not None:
            found = NeighborLists(*by_components)
        else:
            search = InvertedFile(scaled, k, seed, n_jobs)
            neighbours, distances = search.neighbours()
            found = NeighborLists(neighbours, distances, search.recall(distances))
    warn_of_low_recall(found.recall)
    return found


def warn_of_low_recall(recall: float) -> None:
    """Warn if an approximate search missed many neighbours."""
    if recall < POOR_RECALL:
        warn(
            f"The approximate search found {recall:.0%} of the true neighbours in a sample: the rows have little structure "
            "in so many columns. Fewer columns (PCA, TruncatedSVD) make it better.",
            stacklevel=6,
        )


def _approximate_sparse(points: Points, k: int, seed: int, n_jobs: int | None) -> NeighborLists:
    """Return candidates found in the space of the leading singular vectors, ranked by exact distances."""
    from sklearn.decomposition import TruncatedSVD

    from .ivf_index import SAMPLE, InvertedFile

    n = points.shape[0]
    n_components = min(SPARSE_COMPONENTS, min(points.shape) - 1)
    reduced = np.ascontiguousarray(TruncatedSVD(n_components, random_state=seed).fit_transform(points))
    candidates, _ = InvertedFile(reduced, min(SPARSE_CANDIDATES * k, n - 1), seed, n_jobs).neighbours()
    neighbours, distances = rank_candidates(points, np.arange(n), candidates, k)
    sample = np.random.default_rng(seed).choice(n, min(SAMPLE, n), replace=False)
    _, truth = rank_candidates(points, sample, exact_candidates(points, sample, k, n_jobs), k)
    return NeighborLists(neighbours, distances, float((distances[sample] <= truth[:, -1:]).mean()))


def to_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return the seed of an approximate search; None is 0."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return 0 if random_state is None else operator.index(random_state)
