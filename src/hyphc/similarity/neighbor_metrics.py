"""Metrics that look at nearest neighbours: the graph alone, and the default, a graph with a weak background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import group_equal_rows
from .._runtime.validation import has_missing, require_finite_entries, require_memory
from .background import Background
from .base import Similarity
from .blend import Blend, BlendRows
from .graph import Crowding, Graph
from .inputs.frames import has_categories, table_of
from .inputs.input_warnings import warn_of_square_rows
from .inputs.missing_values import (
    PartlyKnown,
    find_with_gaps,
    require_not_infinite,
    require_values,
    require_values_below,
    told_gaps,
)
from .inputs.mixed_types import Table, blocks_of, column_shares, mixed_scaling
from .knn.other_distances import Distance
from .metric_base import Metric, Seed, as_rows, of_width, positive_weights, stacked
from .scaling import ColumnScaling, column_scaling, moments_of, require_scale

if TYPE_CHECKING:
    from .knn.search import Found

# Neighbours of each row, and the background's strength: docs/which_similarity.md has the study that chose them.
N_NEIGHBORS = 15
BACKGROUND = 1e-4
# Along thin curves, as arms of a spiral, neighbours beyond the eighth lie on the next arm. Curves are what has less than this
# dimension within eight neighbours, in at most so many rows: with more of them fifteen neighbours stay on the arm.
CURVE_NEIGHBORS, CURVE_DIMENSION, CURVE_ROWS = 8, 1.25, 10_000
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
        self.check()
        return self.graph_of_found(X, self.found(X))

    def check(self) -> None:
        """Raise for edge weights that are unknown, before neighbours are searched."""
        from .knn.edge_weights import require_edge_weights

        require_edge_weights(self.edge_weights)

    def graph_of_found(self, X: Any, found: Found) -> Graph:
        """Return the graph of rows and the neighbours that were found for them."""
        from .knn.edge_weights import graph_of

        graph = Graph(graph_of(found.neighbours, found.distances, self.edge_weights))
        graph.source, graph.crowding, graph.recall_ = X, crowding_of(found.distances), found.recall
        return graph

    def found(self, X: Any) -> Found:
        """The nearest others of each row."""
        from .knn.search import find

        return find(X, self.n_neighbors, metric=self.distance, n_jobs=self.n_jobs, random_state=self.random_state)

    def closest(self, fitted: Similarity, old: Any, new: Any, k: int) -> tuple[Ints, Floats]:
        """The old rows nearest to each new one, and their distances."""
        from .knn.search import closest_of, index_of

        if fitted._index is None:
            fitted._index = index_of(old, k, self.distance, self.n_jobs)
        return closest_of(old, new, k, self.distance, fitted._index)

    def told(self, similarity: Similarity) -> str:
        return told_recall(similarity)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return self.ties(fitted, fitted.source, of_width(new, fitted))

    def ties(self, fitted: Similarity, old: Any, new: Any) -> sp.csr_array[np.float64]:
        """Edges from each new row to its nearest old ones: all 1 in a "binary" graph, else as the new row weighs them.

        An old row's own opinion of the edge would need its neighbours anew; the weights are those of a "fuzzy" graph without it.
        """
        from .knn.edge_weights import fuzzy_memberships

        k = min(self.n_neighbors, old.shape[0])
        neighbours, distances = self.closest(fitted, old, new, k)
        weights = np.ones_like(distances) if self.edge_weights == "binary" else fuzzy_memberships(distances)
        starts = np.arange(0, weights.size + 1, weights.shape[1])
        return sp.csr_array((weights.ravel(), neighbours.ravel(), starts), shape=(new.shape[0], old.shape[0]))

    def checked(self, X: Any) -> Any:
        return checked_rows(self, X)


@dataclass(frozen=True)
class NeighborsWithGaps(Neighbors):
    """Nearest neighbours of rows with missing entries, by the columns that two rows share; ``shares`` is what each counts."""

    shares: Any = None

    def found(self, X: Any) -> Found:
        from .knn.search import EXACT_LIMIT, Found, seed_of, warn_of_poor

        seed = seed_of(self.random_state)
        found = Found(*find_with_gaps(X, self.shares, self.n_neighbors, EXACT_LIMIT, seed, self.n_jobs))
        warn_of_poor(found.recall)
        return found

    def closest(self, fitted: Similarity, old: Any, new: Any, k: int) -> tuple[Ints, Floats]:
        return PartlyKnown(old, self.shares).closest(new, k)


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


def lies_along_curves(distances: Floats) -> bool:
    """Return whether few rows lie along thin curves, by the growth of the distances to their nearest neighbours, (n, k)."""
    if not CURVE_NEIGHBORS < len(distances) <= CURVE_ROWS or distances.shape[1] < CURVE_NEIGHBORS:
        return False
    return _dimension(distances[:, :CURVE_NEIGHBORS], TIED * float(np.median(distances[:, -1]))) < CURVE_DIMENSION


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
    rows: Any  # scaled, one for each leaf; NaN is missing
    table: Table | None = None  # without rows: the columns, if some of them hold categories
    n_neighbors: int = N_NEIGHBORS  # of each row: as many as asked for, or those of rows along curves

    @property
    def shape(self) -> tuple[int, int]:
        """Of the rows before columns were dropped or expanded."""
        if self.table is not None:
            return self.rows.shape[0], self.table.shape[1]
        width = self.rows.shape[1] if self.scaling is None else len(self.scaling.factor)
        return self.rows.shape[0], width

    @property
    def shares(self) -> Floats:
        """What each column of the rows counts."""
        if self.table is None or self.scaling is None:
            return np.ones(self.rows.shape[1])
        return column_shares(blocks_of(self.table.categories)[self.scaling.factor > 0])

    def scaled(self, X: Any) -> Any:
        """Rows as neighbours are found among."""
        return X if self.scaling is None else self.scaling(X.expanded() if isinstance(X, Table) else X)

    def seen(self, rows: Any) -> Floats:
        """Scaled rows as the background sees them: with the means of columns, 0, where a value is missing."""
        if self.axes is not None:
            return np.asarray(rows @ self.axes, dtype=np.float64)
        return np.asarray(np.nan_to_num(rows) if has_missing(rows) else rows, dtype=np.float64)


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
    takes_missing = True
    has_neighbors = True

    def similarity(self, X: Any, weights: Floats | None = None) -> Similarity:
        rows = self.checked(X)
        self.warn(rows)
        n = rows.shape[0]
        return self._counted(rows, np.ones(n) if weights is None else positive_weights(weights, n))

    def told(self, similarity: Similarity) -> str:
        placed: Placed = similarity.source
        rows = "sparse rows as they are" if placed.scaling is None else placed.scaling.why
        gaps = "" if placed.scaling is None else told_gaps(placed.rows)
        is_fewer = self.n_neighbors is None and placed.n_neighbors == CURVE_NEIGHBORS
        curves = f"{CURVE_NEIGHBORS} neighbours of each row, since rows lie along curves" if is_fewer else ""
        return "; ".join(filter(None, [rows, gaps, curves, told_recall(similarity)]))

    def warn(self, X: Any) -> None:
        warn_of_square_rows(X)

    def build(self, X: Any) -> Similarity:
        return self._counted(X, np.ones(X.shape[0]))

    def _counted(self, X: Any, weights: Floats) -> Blend:
        """Equal rows are one leaf while neighbours are found: a row of weight 2 is the same as two rows."""
        if not 0.0 <= self.background < np.inf:
            raise ValueError(f"background={self.background} must be a finite number of at least 0.")
        group = group_equal_rows(_comparable(X), X.shape[0])
        if group is None:
            return self._blend(self._placed(X, weights), weights, None)
        first = np.unique(group, return_index=True)[1]
        sizes = np.asarray(np.bincount(group, weights), dtype=np.float64)
        return repeated(self._blend(self._placed(X[first], sizes), sizes, None), group, weights)

    def _placed(self, X: Any, sizes: Floats) -> Placed:
        if isinstance(X, Table):
            require_scale(self.scale)
            expanded = X.expanded()
            scaling = mixed_scaling(moments_of(expanded, sizes), X.categories, self.scale)
            return Placed(scaling, None, scaling(expanded), X[:0])
        if isinstance(X, np.ndarray):
            scaling = column_scaling(X, self.scale, sizes)
            return Placed(scaling, None, scaling(X))
        if self.scale is True:
            raise ValueError(
                "scale=True is of dense rows, and X is sparse: its columns are taken as they are; leave it out."
            )
        n_components = min(N_COMPONENTS, min(X.shape) - 1)
        if n_components < 1:
            return Placed(None, np.ones((X.shape[1], 1)), X)
        from sklearn.decomposition import TruncatedSVD

        axes = TruncatedSVD(n_components, random_state=0).fit(X).components_.T
        return Placed(None, axes, X)

    def _blend(self, placed: Placed, sizes: Floats, like: Background | None) -> Blend:
        """The blend of rows in place; ``like`` is a background whose strength is kept."""
        (graph, n_neighbors), seen = self._graph(placed, sizes), placed.seen(placed.rows)
        squares = np.einsum("ij,ij->i", seen, seen)
        kept = {"slope": 1.0, "level": None} if like is None else {"slope": like.slope, "level": like.level}
        background = Background(seen * sizes[:, None], squares=squares * sizes, sizes=sizes, **kept)
        if like is None:
            apart = background.total_square()
            background.slope = self.background * graph.total() / apart if apart > 0 else 0.0
        blend = Blend(graph, background)
        blend.metric, blend.source = self, replace(placed, n_neighbors=n_neighbors)
        return blend

    def _graph(self, placed: Placed, sizes: Floats) -> tuple[Graph, int]:
        """Return the graph, and how many neighbours each row has in it."""
        rows, n = placed.rows, placed.rows.shape[0]
        wanted = N_NEIGHBORS if self.n_neighbors is None else self.n_neighbors
        if n == 1 or rows.shape[1] == 0:
            return Graph(sp.csr_array((n, n)), sizes=sizes), wanted
        metric = self._neighbors(min(wanted, n - 1), placed)
        metric.check()
        found = metric.found(rows)
        if self.n_neighbors is None and rows.shape[1] > 1 and lies_along_curves(found.distances):
            wanted, nearest = CURVE_NEIGHBORS, np.s_[:, :CURVE_NEIGHBORS]
            found = found._replace(neighbours=found.neighbours[nearest], distances=found.distances[nearest])
        graph = metric.graph_of_found(rows, found)
        if (sizes == 1).all():
            return graph, wanted
        weighted = graph.combined(sp.diags_array(sizes).tocsr(), sizes)
        weighted.crowding, weighted.recall_ = graph.crowding, graph.recall_
        return weighted, wanted

    def _neighbors(self, k: int, placed: Placed, new: Any = None) -> Neighbors:
        settings = ("euclidean", k, self.edge_weights, self.n_jobs, self.random_state)
        gaps = any(isinstance(rows, np.ndarray) and has_missing(rows) for rows in (placed.rows, new))
        return NeighborsWithGaps(*settings, placed.shares) if gaps else Neighbors(*settings)

    def rows(self, fitted: Similarity, new: Any) -> BlendRows:
        placed: Placed = fitted.source
        found = placed.scaled(of_width(self.checked(new), fitted))
        n, width = placed.rows.shape
        if width == 0:
            return BlendRows(sp.csr_array((found.shape[0], n)), placed.seen(found))
        ties = self._neighbors(placed.n_neighbors, placed, found).ties(fitted, placed.rows, found)
        return BlendRows(ties, placed.seen(found))

    def grown(self, fitted: Similarity, new: Any) -> Similarity:
        """Old and new rows together: neighbours are found anew, the scaling and the strength of the background are kept."""
        assert isinstance(fitted, Blend)
        placed: Placed = fitted.source
        found = placed.scaled(of_width(self.checked(new), fitted))
        whole = replace(placed, rows=stacked(placed.rows, found))
        return self._blend(whole, np.append(fitted.sizes, np.ones(found.shape[0])), fitted.background)

    def checked(self, X: Any) -> Any:
        rows = X if isinstance(X, Table) else table_of(X) if has_categories(X) else self._checked_numbers(X)
        if rows.shape[0] == 0:
            raise ValueError("A similarity needs at least one point; got none.")
        return rows

    def _checked_numbers(self, X: Any) -> Any:
        if sp.issparse(X):
            return checked_rows(self, X)
        rows = as_rows(X)
        require_not_infinite(rows)
        return rows

    def admitted(self, X: Any, new: bool = False) -> Any:
        rows = self.checked(X)
        values = rows.values if isinstance(rows, Table) else rows
        if isinstance(values, np.ndarray) and has_missing(values):
            require_values(values)
            if not new:
                require_values_below(values, rows.columns if isinstance(rows, Table) else None)
        return rows


def _comparable(X: Any) -> Callable[[Ints], Any]:
    """Rows of an index that are equal where those of X are, with the same values missing."""
    values = X.values if isinstance(X, Table) else X
    if isinstance(values, np.ndarray) and has_missing(values):
        return lambda index: np.hstack([np.nan_to_num(values[index]), np.isnan(values[index])])
    return lambda index: values[index]


def checked_rows(metric: Metric, X: Any) -> Any:
    """Dense rows checked, sparse ones as CSR."""
    if not sp.issparse(X):
        return Metric.checked(metric, X)
    rows: Any = X
    converted = sp.csr_array(rows, dtype=np.float64)
    require_finite_entries(converted, "X")
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
    whole.source = replace(blend.source, rows=blend.source.rows[group])
    return whole
