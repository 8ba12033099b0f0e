"""Metrics that look at nearest neighbours: the graph alone, and the default, a graph with a weak background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._shared.arrays import Floats, Ints
from .._shared.checks import require_finite, require_memory
from .._shared.rows import equal_rows
from .background import Background
from .base import Similarity
from .blend import Blend, BlendRows
from .graph import Crowding, Graph
from .lookalikes import warn_of_square_rows
from .metric import Metric, Seed, of_width, positive_weights, stacked
from .other_distances import Distance
from .scaling import ColumnScaling, column_scaling

# Neighbours of each row, and the background's strength: docs/which_similarity.md has the study that chose them.
N_NEIGHBORS = 15
BACKGROUND = 0.003
# Distances this small beside the median of the furthest neighbours' are ties: they say nothing of a dimension or a density.
TIED = 1e-6
# Sparse rows are seen by the background through so many singular vectors.
N_COMPONENTS = 50


@dataclass(frozen=True)
class Neighbors(Metric):
    """A symmetric graph of each row's nearest neighbours, by any distance of ``neighbor_graph``."""

    distance: Distance
    n_neighbors: int
    edge_weights: str = "fuzzy"
    n_jobs: int | None = None
    random_state: Seed = None

    name = "neighbors"
    words = "graph of nearest neighbours"
    takes_sparse = True

    def build(self, X: Any) -> Graph:
        from .neighbors import find, graph_of, require_edge_weights  # loads scikit-learn's neighbour searches

        require_edge_weights(self.edge_weights)
        found = find(X, self.n_neighbors, metric=self.distance, n_jobs=self.n_jobs, random_state=self.random_state)
        graph = Graph(graph_of(found.neighbours, found.distances, self.edge_weights))
        graph.source, graph.crowding, graph.recall_ = X, crowding_of(found.distances), found.recall
        return graph

    def told(self, similarity: Similarity) -> str:
        return told_recall(similarity)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return self.ties(fitted, fitted.source, of_width(new, fitted))

    def ties(self, fitted: Similarity, old: Any, new: Any) -> sp.csr_array[np.float64]:
        """Edges from each new row to its nearest old ones: all 1 in a "binary" graph, else as the new row weighs them.

        An old row's own opinion of the edge would need its neighbours anew; the weights are those of a "fuzzy" graph without it.
        """
        from .neighbors import closest_of, fuzzy_memberships, index_of

        k = min(self.n_neighbors, old.shape[0])
        if fitted._index is None:
            fitted._index = index_of(old, k, self.distance, self.n_jobs)
        neighbours, distances = closest_of(old, new, k, self.distance, fitted._index)
        weights = np.ones_like(distances) if self.edge_weights == "binary" else fuzzy_memberships(distances)
        starts = np.arange(0, weights.size + 1, weights.shape[1])
        return sp.csr_array((weights.ravel(), neighbours.ravel(), starts), shape=(new.shape[0], old.shape[0]))

    def checked(self, X: Any) -> Any:
        return checked_rows(self, X)


def crowding_of(distances: Floats) -> Crowding | None:
    """How crowded each row's neighbourhood is; None where no distance is above 0."""
    if distances.shape[1] == 0:
        return None
    furthest = distances[:, -1]
    positive = furthest[furthest > 0]
    if len(positive) == 0:
        return None
    tied = TIED * float(np.median(positive))
    dimension = _dimension(distances, tied)
    return Crowding(-dimension * np.log(np.maximum(furthest, tied)), dimension)


def _dimension(distances: Floats, tied: float) -> float:
    """The dimension in which distances to neighbours grow as they do (Levina & Bickel 2005), pooled over rows; at least 1."""
    k = distances.shape[1]
    nearer = distances[:, :-1]
    counted = nearer > tied
    if k < 3 or not counted.any():
        return 1.0
    rows, _ = np.nonzero(counted)
    growth = float(np.log(np.maximum(distances[rows, -1], tied) / nearer[counted]).mean())
    return float(max(1.0, (k - 2) / (k - 1) / max(growth, TIED)))


@dataclass(frozen=True, eq=False)
class Placed:
    """Distinct rows as the default metric sees them: how columns were scaled, and what the background sees of the rows."""

    scaling: ColumnScaling | None  # None: sparse rows are taken as they are
    axes: Floats | None  # sparse rows: their singular vectors, (d, components)
    rows: Any  # scaled, one for each leaf

    @property
    def shape(self) -> tuple[int, int]:
        """Of the rows before columns were dropped."""
        width = self.rows.shape[1] if self.scaling is None else len(self.scaling.factor)
        return self.rows.shape[0], width

    def scaled(self, X: Any) -> Any:
        """Rows as neighbours are found among."""
        return X if self.scaling is None else self.scaling(X)

    def seen(self, rows: Any) -> Floats:
        """Scaled rows as the background sees them."""
        return np.asarray(rows if self.axes is None else rows @ self.axes, dtype=np.float64)


@dataclass(frozen=True)
class Auto(Metric):
    """Columns scaled where that is right, a graph of nearest neighbours, and a weak background that joins its pieces.

    w = graph + background: the graph holds each row's nearest neighbours, its weights as in ``neighbor_graph``. The background
    is β·W/Σ‖x_i − x_j‖²·(mean squared distance − ‖x_i − x_j‖²), W the graph's total weight: the nearer, the more similar,
    and 0 on the whole. Equal rows count as one leaf of several points when neighbours are found.
    """

    n_neighbors: int | None = None
    edge_weights: str = "fuzzy"
    scale: str | bool = "auto"
    background: float = BACKGROUND
    n_jobs: int | None = None
    random_state: Seed = None

    name = "auto"
    words = "nearest neighbours with a weak background"
    takes_sparse = True
    has_neighbors = True

    def similarity(self, X: Any, weights: Floats | None = None) -> Similarity:
        rows = self.checked(X)
        self.warn(rows)
        n = rows.shape[0]
        return self._counted(rows, np.ones(n) if weights is None else positive_weights(weights, n))

    def told(self, similarity: Similarity) -> str:
        placed: Placed = similarity.source
        rows = "sparse rows as they are" if placed.scaling is None else placed.scaling.why
        return "; ".join(filter(None, [rows, told_recall(similarity)]))

    def warn(self, X: Any) -> None:
        warn_of_square_rows(X)

    def build(self, X: Any) -> Similarity:
        return self._counted(X, np.ones(X.shape[0]))

    def _counted(self, X: Any, weights: Floats) -> Blend:
        """Equal rows are one leaf while neighbours are found: a row of weight 2 is the same as two rows."""
        if not 0.0 <= self.background < np.inf:
            raise ValueError(f"background={self.background} must be a finite number of at least 0.")
        group = equal_rows(lambda index: X[index], X.shape[0])
        if group is None:
            return self._blend(self._placed(X, weights), weights, None)
        first = np.unique(group, return_index=True)[1]
        sizes = np.asarray(np.bincount(group, weights), dtype=np.float64)
        return repeated(self._blend(self._placed(X[first], sizes), sizes, None), group, weights)

    def _placed(self, X: Any, sizes: Floats) -> Placed:
        if isinstance(X, np.ndarray):
            scaling = column_scaling(X, self.scale, sizes)
            return Placed(scaling, None, scaling(X))
        n_components = min(N_COMPONENTS, min(X.shape) - 1)
        if n_components < 1:
            return Placed(None, np.ones((X.shape[1], 1)), X)
        from sklearn.decomposition import TruncatedSVD

        axes = TruncatedSVD(n_components, random_state=0).fit(X).components_.T
        return Placed(None, axes, X)

    def _blend(self, placed: Placed, sizes: Floats, like: Background | None) -> Blend:
        """The blend of rows in place; ``like`` is a background whose strength is kept."""
        graph, seen = self._graph(placed.rows, sizes), placed.seen(placed.rows)
        squares = np.einsum("ij,ij->i", seen, seen)
        kept = {"slope": 1.0, "level": None} if like is None else {"slope": like.slope, "level": like.level}
        background = Background(seen * sizes[:, None], squares=squares * sizes, sizes=sizes, **kept)
        if like is None:
            apart = background.total_square()
            background.slope = self.background * graph.total() / apart if apart > 0 else 0.0
        blend = Blend(graph, background)
        blend.metric, blend.source = self, placed
        return blend

    def _graph(self, rows: Any, sizes: Floats) -> Graph:
        n = rows.shape[0]
        wanted = N_NEIGHBORS if self.n_neighbors is None else self.n_neighbors
        if n == 1 or rows.shape[1] == 0:
            return Graph(sp.csr_array((n, n)), sizes=sizes)
        graph = self._neighbors(min(wanted, n - 1)).build(rows)
        if (sizes == 1).all():
            return graph
        weighted = graph.combined(sp.diags_array(sizes).tocsr(), sizes)
        weighted.crowding, weighted.recall_ = graph.crowding, graph.recall_
        return weighted

    def _neighbors(self, k: int) -> Neighbors:
        return Neighbors("euclidean", k, self.edge_weights, self.n_jobs, self.random_state)

    def rows(self, fitted: Similarity, new: Any) -> BlendRows:
        placed: Placed = fitted.source
        found = placed.scaled(of_width(new, fitted))
        n, width = placed.rows.shape
        if width == 0:
            return BlendRows(sp.csr_array((found.shape[0], n)), placed.seen(found))
        wanted = N_NEIGHBORS if self.n_neighbors is None else self.n_neighbors
        return BlendRows(self._neighbors(wanted).ties(fitted, placed.rows, found), placed.seen(found))

    def grown(self, fitted: Similarity, new: Any) -> Similarity:
        """Old and new rows together: neighbours are found anew, the scaling and the strength of the background are kept."""
        assert isinstance(fitted, Blend)
        placed: Placed = fitted.source
        found = placed.scaled(of_width(self.checked(new), fitted))
        whole = Placed(placed.scaling, placed.axes, stacked(placed.rows, found))
        return self._blend(whole, np.append(fitted.sizes, np.ones(found.shape[0])), fitted.background)

    def checked(self, X: Any) -> Any:
        rows = checked_rows(self, X)
        if rows.shape[0] == 0:
            raise ValueError("A similarity needs at least one point; got none.")
        return rows


def checked_rows(metric: Metric, X: Any) -> Any:
    """Dense rows checked, sparse ones as CSR."""
    if not sp.issparse(X):
        return Metric.checked(metric, X)
    rows: Any = X
    converted = sp.csr_array(rows, dtype=np.float64)
    require_finite(converted.data, "entries of X")
    return converted


def told_recall(similarity: Similarity) -> str:
    """How many of the true neighbours were found, in words; empty if all."""
    return f"about {similarity.recall_:.1%} of the nearest neighbours found" if similarity.recall_ < 1 else ""


def repeated(blend: Blend, group: Ints, weights: Floats) -> Blend:
    """The blend with a leaf for every row again: copies are as similar to others as the leaf was, and by 1 to each other."""
    counts = np.bincount(group)
    graph, sizes = blend.graph.to_csr(), blend.sizes
    ends = np.repeat(np.arange(blend.n), np.diff(graph.indptr))
    entries = float((counts[ends] * counts[graph.indices]).sum() + (counts.astype(np.float64) ** 2).sum())
    remedy = "give the distinct rows with sample_weight, which need one leaf each"
    require_memory(40 * entries, f"A graph of {len(group)} rows of which {blend.n} are distinct", remedy)
    members = sp.csr_array((weights, (np.arange(len(group)), group)), shape=(len(group), blend.n))
    single = sp.diags_array(1.0 / sizes)
    copies = members @ (single @ graph @ single + sp.eye_array(blend.n)) @ members.T
    background = blend.background
    seen, squares = (background.X / sizes[:, None])[group], (background.squares / sizes)[group]
    kept = {"slope": background.slope, "level": background.level}
    scattered = Background(seen * weights[:, None], squares=squares * weights, sizes=weights, **kept)
    whole = Blend(Graph(copies, sizes=weights), scattered)
    if blend.graph.crowding is not None:
        whole.graph.crowding = Crowding(blend.graph.crowding.density[group], blend.graph.crowding.dimension)
    whole.graph.recall_ = blend.graph.recall_
    whole.metric = blend.metric
    whole.source = Placed(blend.source.scaling, blend.source.axes, blend.source.rows[group])
    return whole
