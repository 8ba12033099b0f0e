"""Metrics based on nearest neighbours: the graph alone, and the default "auto", a graph with a weak background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import group_equal_rows
from .._runtime.validation import has_missing, require_memory
from .background import Background
from .base import Similarity
from .blend import Blend, BlendRows
from .graph import Graph
from .inputs.frames import has_categories, to_table
from .inputs.input_warnings import warn_of_square_rows
from .inputs.missing_values import (
    MaskedRows,
    describe_missing,
    find_masked_neighbors,
    require_values,
)
from .inputs.mixed_types import MixedTable, column_shares, mixed_scaling, source_columns
from .knn.edge_weights import compute_memberships, knn_to_graph, require_edge_weights
from .knn.other_distances import Distance
from .knn.search import EXACT_LIMIT, NeighborLists, build_index, find, query_rows, to_seed, warn_of_low_recall
from .local_density import estimate_local_density, neighbors_along_curves
from .metric_base import Metric, Seed, check_weights, check_width, stack_rows
from .scaling import ColumnScaling, column_scaling, compute_moments, require_scale

# Neighbours of each row, and the background's strength: docs/notes/which_similarity.md has the study that chose them.
N_NEIGHBORS = 15
# Of few rows each has a sixth of them, and at least so many: with half of all rows as neighbours no group would stand apart.
SHARE_OF_ROWS, FEWEST_NEIGHBORS = 6, 4
BACKGROUND = 1e-4
# Singular vectors of sparse rows that the background uses.
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

    def __post_init__(self) -> None:
        require_edge_weights(self.edge_weights)

    def build(self, X: Any) -> Graph:
        return self.build_graph(X, self.find_neighbors(X))

    def build_graph(self, X: Any, found: NeighborLists) -> Graph:
        """Return the graph of rows and their neighbours."""
        graph = Graph(knn_to_graph(found.neighbours, found.distances, self.edge_weights))
        graph.source, graph.local_density, graph.recall_ = X, estimate_local_density(found.distances), found.recall
        return graph

    def find_neighbors(self, X: Any) -> NeighborLists:
        """Return the nearest other rows of each row."""
        return find(X, self.n_neighbors, metric=self.distance, n_jobs=self.n_jobs, random_state=self.random_state)

    def query(self, fitted: Similarity, old: Any, new: Any, k: int) -> tuple[Ints, Floats]:
        """Return the k old rows nearest to each new one, and their distances: both (m, k)."""
        if fitted._index is None:
            fitted._index = build_index(old, k, self.distance, self.n_jobs)
        return query_rows(old, new, k, self.distance, fitted._index)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return self.edges_to_fitted(fitted, fitted.source, check_width(new, fitted))

    def edges_to_fitted(self, fitted: Similarity, old: Any, new: Any) -> sp.csr_array[np.float64]:
        """Return edges from each new row to its nearest old ones: 1 in a "binary" graph, else fuzzy memberships of the new row.

        The reverse memberships would need a new search for the old rows; the weights are those of a "fuzzy" graph without them.
        """
        k = min(self.n_neighbors, old.shape[0])
        neighbours, distances = self.query(fitted, old, new, k)
        weights = np.ones_like(distances) if self.edge_weights == "binary" else compute_memberships(distances)
        starts = np.arange(0, weights.size + 1, weights.shape[1])
        return sp.csr_array((weights.ravel(), neighbours.ravel(), starts), shape=(new.shape[0], old.shape[0]))


@dataclass(frozen=True)
class MaskedNeighbors(Neighbors):
    """Nearest neighbours of rows with missing entries, by the columns that both rows have; ``shares`` weighs the columns."""

    shares: Any = None

    def find_neighbors(self, X: Any) -> NeighborLists:
        seed = to_seed(self.random_state)
        found = NeighborLists(*find_masked_neighbors(X, self.shares, self.n_neighbors, EXACT_LIMIT, seed, self.n_jobs))
        warn_of_low_recall(found.recall)
        return found

    def query(self, fitted: Similarity, old: Any, new: Any, k: int) -> tuple[Ints, Floats]:
        return MaskedRows(old, self.shares).query(new, k)


def default_neighbors(n: int) -> int:
    """Return how many neighbours each of n rows gets unless a number is asked for: 15, or a sixth of fewer than 90 rows."""
    return min(N_NEIGHBORS, max(FEWEST_NEIGHBORS, n // SHARE_OF_ROWS))


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Distinct rows prepared by the default metric: the scaling of columns, and the projection used by the background."""

    scaling: ColumnScaling | None  # None for sparse rows, which are not scaled
    axes: Floats | None  # sparse rows: their singular vectors, (d, components)
    rows: Any  # scaled, one for each leaf; NaN is missing
    table: MixedTable | None = None  # without rows: the columns, if some of them hold categories
    n_neighbors: int = N_NEIGHBORS  # of each row: as requested, or fewer for rows along curves

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the rows before columns were dropped or one-hot encoded."""
        if self.table is not None:
            return self.rows.shape[0], self.table.shape[1]
        width = self.rows.shape[1] if self.scaling is None else len(self.scaling.factor)
        return self.rows.shape[0], width

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value of the rows is missing."""
        return isinstance(self.rows, np.ndarray) and has_missing(self.rows)

    @property
    def shares(self) -> Floats:
        """Weight of each column of the rows."""
        if self.table is None or self.scaling is None:
            return np.ones(self.rows.shape[1])
        return column_shares(source_columns(self.table.categories)[self.scaling.factor > 0])

    def transform(self, X: Any) -> Any:
        """Return rows scaled as for the neighbour search."""
        return X if self.scaling is None else self.scaling(X.one_hot() if isinstance(X, MixedTable) else X)

    def background_features(self, rows: Any) -> Floats:
        """Return the features of scaled rows for the background: missing values become column means, 0."""
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
    takes_categories = True
    has_neighbors = True

    def describe(self, similarity: Similarity) -> str:
        scaled: ScaledRows = similarity.source
        rows = "sparse rows as they are" if scaled.scaling is None else scaled.scaling.why
        gaps = "" if scaled.scaling is None else describe_missing(scaled.rows)
        is_fewer = self.n_neighbors is None and scaled.n_neighbors < default_neighbors(scaled.rows.shape[0])
        curves = f"{scaled.n_neighbors} neighbours of each row, since rows lie along curves" if is_fewer else ""
        return "; ".join(filter(None, [rows, gaps, curves, super().describe(similarity)]))

    def warn(self, X: Any) -> None:
        warn_of_square_rows(X)

    def build(self, X: Any) -> Similarity:
        return self.build_weighted(X, np.ones(X.shape[0]))

    def build_weighted(self, X: Any, weights: Floats) -> Blend:
        """Return the blend; equal rows are one leaf while neighbours are searched, and a row of weight 2 equals two rows."""
        weights = check_weights(weights, X.shape[0])
        if not 0.0 <= self.background < np.inf:
            raise ValueError(f"background={self.background} must be a finite number of at least 0.")
        group = group_equal_rows(_comparable(X), X.shape[0])
        if group is None:
            return self._blend(self._scale(X, weights), weights, None)
        first = np.unique(group, return_index=True)[1]
        sizes = np.asarray(np.bincount(group, weights), dtype=np.float64)
        return repeat_leaves(self._blend(self._scale(X[first], sizes), sizes, None), group, weights)

    def _scale(self, X: Any, sizes: Floats) -> ScaledRows:
        if isinstance(X, MixedTable):
            require_scale(self.scale)
            expanded = X.one_hot()
            scaling = mixed_scaling(compute_moments(expanded, sizes), X.categories, self.scale)
            return ScaledRows(scaling, None, scaling(expanded), X[:0])
        if isinstance(X, np.ndarray):
            scaling = column_scaling(X, self.scale, sizes)
            return ScaledRows(scaling, None, scaling(X))
        if self.scale is True:
            raise ValueError(
                "scale=True is of dense rows, and X is sparse: its columns are taken as they are; leave it out."
            )
        n_components = min(N_COMPONENTS, min(X.shape) - 1)
        if n_components < 1:
            return ScaledRows(None, np.ones((X.shape[1], 1)), X)
        from sklearn.decomposition import TruncatedSVD

        axes = TruncatedSVD(n_components, random_state=0).fit(X).components_.T
        return ScaledRows(None, axes, X)

    def _blend(self, scaled: ScaledRows, sizes: Floats, like: Background | None) -> Blend:
        """Return the blend of scaled rows; ``like`` is a background whose strength is kept."""
        (graph, n_neighbors), features = self._graph(scaled, sizes), scaled.background_features(scaled.rows)
        squares = np.einsum("ij,ij->i", features, features)
        kept = {"slope": 1.0, "level": None} if like is None else {"slope": like.slope, "level": like.level}
        sums = features if (sizes == 1).all() else features * sizes[:, None]  # not copied: there may be gigabytes
        background = Background(sums, squares=squares * sizes, sizes=sizes, **kept)
        if like is None:
            apart = background.total_square()
            background.slope = self.background * graph.total() / apart if apart > 0 else 0.0
        blend = Blend(graph, background)
        blend.metric, blend.source = self, replace(scaled, n_neighbors=n_neighbors)
        return blend

    def _graph(self, scaled: ScaledRows, sizes: Floats) -> tuple[Graph, int]:
        """Return the graph, and the number of neighbours of each row in it."""
        rows, n = scaled.rows, scaled.rows.shape[0]
        wanted = default_neighbors(n) if self.n_neighbors is None else self.n_neighbors
        if n == 1 or rows.shape[1] == 0:
            return Graph(sp.csr_array((n, n)), sizes=sizes), wanted
        metric = self._neighbors(min(wanted, n - 1), scaled)
        found = metric.find_neighbors(rows)
        if self.n_neighbors is None and rows.shape[1] > 1:
            wanted = neighbors_along_curves(found.distances) or wanted
            found = found._replace(neighbours=found.neighbours[:, :wanted], distances=found.distances[:, :wanted])
        graph = metric.build_graph(rows, found)
        if (sizes == 1).all():
            return graph, wanted
        weighted = graph.combined(sp.diags_array(sizes).tocsr(), sizes)
        weighted.local_density, weighted.recall_ = graph.local_density, graph.recall_
        return weighted, wanted

    def _neighbors(self, k: int, scaled: ScaledRows, new: Any = None) -> Neighbors:
        settings = ("euclidean", k, self.edge_weights, self.n_jobs, self.random_state)
        gaps = scaled.has_missing or (isinstance(new, np.ndarray) and has_missing(new))
        return MaskedNeighbors(*settings, scaled.shares) if gaps else Neighbors(*settings)

    def rows(self, fitted: Similarity, new: Any) -> BlendRows:
        scaled: ScaledRows = fitted.source
        found = scaled.transform(check_width(self.check_rows(new), fitted))
        edges = sp.csr_array((found.shape[0], scaled.rows.shape[0]))
        if scaled.rows.shape[1] > 0:
            edges = self._neighbors(scaled.n_neighbors, scaled, found).edges_to_fitted(fitted, scaled.rows, found)
        return BlendRows(edges, scaled.background_features(found))

    def extend(self, fitted: Similarity, new: Any) -> Similarity:
        """Return the similarity of old and new rows: neighbours are searched again, scaling and background strength are kept."""
        assert isinstance(fitted, Blend)
        scaled: ScaledRows = fitted.source
        found = scaled.transform(check_width(self.check_rows(new), fitted))
        whole = replace(scaled, rows=stack_rows(scaled.rows, found))
        return self._blend(whole, np.append(fitted.sizes, np.ones(found.shape[0])), fitted.background)

    def check_rows(self, X: Any) -> Any:
        rows = X if isinstance(X, MixedTable) else to_table(X) if has_categories(X) else super().check_rows(X)
        if rows.shape[0] == 0:
            raise ValueError("A similarity needs at least one point; got none.")
        return rows

    def validate(self, X: Any, new: bool = False) -> Any:
        rows = self.check_rows(X)
        values = rows.values if isinstance(rows, MixedTable) else rows
        if isinstance(values, np.ndarray) and has_missing(values):
            require_values(values, getattr(rows, "columns", None), in_columns=not new)
        return rows


def _comparable(X: Any) -> Callable[[Ints], Any]:
    """Return a function from an index to rows that are equal just where those of X are, missing values included."""
    values = X.values if isinstance(X, MixedTable) else X
    if isinstance(values, np.ndarray) and has_missing(values):
        return lambda index: np.hstack([np.nan_to_num(values[index]), np.isnan(values[index])])
    return lambda index: values[index]


def repeat_leaves(blend: Blend, group: Ints, weights: Floats) -> Blend:
    """Return the blend with one leaf for each original row: copies keep the leaf's similarities and have 1 among each other."""
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
    features, squares = (background.X / sizes[:, None])[group], (background.squares / sizes)[group]
    kept = {"slope": background.slope, "level": background.level}
    scattered = Background(features * weights[:, None], squares=squares * weights, sizes=weights, **kept)
    whole = Blend(Graph(copies, sizes=weights), scattered)
    local = blend.graph.local_density
    whole.graph.local_density = local and replace(local, density=local.density[group])
    whole.graph.recall_ = blend.graph.recall_
    whole.metric, whole.source = blend.metric, replace(blend.source, rows=blend.source.rows[group])
    return whole
