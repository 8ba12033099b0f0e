"""Metrics: how similar two rows are, each told in one place.

A metric makes a similarity of rows (``build``), and says what new rows are to a similarity that it made (``rows``). The
similarity keeps the metric that made it. ``METRICS`` names them: every list of choices, help text and error derives from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._shared.arrays import Floats
from .._shared.checks import as_floats, require_finite, require_memory
from .base import Similarity
from .dense import Dense
from .features import Features
from .graph import Graph
from .scaling import unit_rows

Seed = int | np.random.RandomState | None


class Metric(ABC):
    """How similar two rows are."""

    name: ClassVar[str]
    words: ClassVar[str]  # what it is, for people
    takes_rows: ClassVar[bool] = True  # False: X is square, the similarities themselves
    takes_sparse: ClassVar[bool] = False
    has_neighbors: ClassVar[bool] = False  # whether a neighbour graph can be built by it
    stands_alone: ClassVar[bool] = True  # whether it makes a similarity without a neighbour graph

    def similarity(self, X: Any) -> Similarity:
        """The similarity of the rows, which keeps this metric and what it needs of the rows."""
        made = self.build(self.checked(X))
        made.metric = self
        return made

    @abstractmethod
    def build(self, X: Any) -> Similarity:
        """The similarity of rows that have been checked."""

    @abstractmethod
    def rows(self, fitted: Similarity, new: Any) -> Any:
        """What ``Similarity.extended`` takes, for new rows given like those of ``build``."""

    def grown(self, fitted: Similarity, new: Any) -> Similarity:
        """Old and new rows together, as if all had been there at first where that is not too dear."""
        rows = self.checked(new)
        whole = self.build(_stacked(fitted.source, rows)) if fitted.source is not None else self._extended(fitted, rows)
        whole.metric = self
        return whole

    def _extended(self, fitted: Similarity, new: Any) -> Similarity:
        return fitted.extended(self.rows(fitted, new))

    def checked(self, X: Any) -> Any:
        """The rows as a finite array (n, d)."""
        if sp.issparse(X):
            raise ValueError(
                f"Sparse features cannot be used with metric={self.name!r}; give n_neighbors, reduce them with "
                "sklearn.decomposition.TruncatedSVD, or pass metric='precomputed' if X holds similarities."
            )
        features = as_floats(X, "X")
        if features.ndim != 2:
            raise ValueError(f"Features must have shape (n, d); got {features.shape}.")
        require_finite(features, "X")
        return features


class Cosine(Metric):
    """w = (1 + cos) / 2. A zero row has no direction: its cosine is 0, its similarity to every point ½."""

    name = "cosine"
    words = "(1 + cosine) / 2"
    has_neighbors = True

    def build(self, X: npt.NDArray[Any]) -> Features:
        return Features(unit_rows(X), offset=0.5, scale=0.5)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return unit_rows(_of_width(new, fitted))


@dataclass(frozen=True)
class Linear(Metric):
    """w = offset + scale·⟨x, y⟩; ``offset`` defaults to the least that makes every w ≥ 0 sure."""

    offset: float | None = None
    scale: float = 1.0

    name = "linear"
    words = "inner product, shifted to be at least 0"

    def build(self, X: npt.NDArray[Any]) -> Features:
        longest = float(np.einsum("ij,ij->i", X, X, dtype=np.float64).max(initial=0.0))
        offset = abs(self.scale) * longest if self.offset is None else self.offset
        return Features(X, offset=offset, scale=self.scale)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return _of_width(new, fitted)


@dataclass(frozen=True)
class Rbf(Metric):
    """w = exp(−gamma·‖x − y‖²), gamma = 1 / (d·var(X)) by default. Dense: O(n²) memory."""

    gamma: float | None = None

    name = "rbf"
    words = "exp(-gamma * squared distance)"

    def build(self, X: npt.NDArray[Any]) -> Dense:
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma={self.gamma} must be positive.")
        return _dense_of(lambda rows: self._kernel(rows, rows, X), X)

    def rows(self, fitted: Similarity, new: Any) -> Floats:
        return self._kernel(_of_width(new, fitted), fitted.source, fitted.source)

    def _kernel(self, rows: Any, others: Any, fitted: Any) -> Floats:
        from sklearn.metrics.pairwise import rbf_kernel

        return np.asarray(rbf_kernel(rows, others, gamma=default_gamma(fitted) if self.gamma is None else self.gamma))


class Euclidean(Metric):
    """Distances: only with ``n_neighbors``."""

    name = "euclidean"
    words = "Euclidean distance"
    has_neighbors = True
    stands_alone = False

    def build(self, X: Any) -> Similarity:
        raise ValueError("metric='euclidean' is a distance; give n_neighbors, or use metric='rbf' for similarities.")

    def rows(self, fitted: Similarity, new: Any) -> Any:
        raise ValueError("metric='euclidean' is a distance and makes no similarity without n_neighbors.")


class Precomputed(Metric):
    """X holds *similarities* (not distances: see ``similarity_from_distances``), dense or sparse."""

    name = "precomputed"
    words = "similarities as given"
    takes_rows = False
    takes_sparse = True

    def build(self, X: Any) -> Similarity:
        return Graph(X) if sp.issparse(X) else Dense(X)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        if new.shape[1] != fitted.n:
            raise ValueError(
                f"X has {new.shape[1]} columns; pass similarities to each of the {fitted.n} fitted points."
            )
        return new

    def checked(self, X: Any) -> Any:
        return X


@dataclass(frozen=True)
class Neighbors(Metric):
    """A symmetric graph of each row's nearest neighbours, by Euclidean or cosine distance."""

    distance: str
    n_neighbors: int
    edge_weights: str = "fuzzy"
    n_jobs: int | None = None
    random_state: Seed = None

    name = "neighbors"
    words = "graph of nearest neighbours"
    takes_sparse = True

    def build(self, X: Any) -> Graph:
        from .neighbors import neighbor_graph  # loads scikit-learn's neighbour searches

        graph = Graph(
            neighbor_graph(
                X,
                self.n_neighbors,
                metric=self.distance,
                edge_weights=self.edge_weights,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            )
        )
        graph.source = X
        return graph

    def rows(self, fitted: Similarity, new: Any) -> Any:
        """Edges from each new point to its nearest old ones: all 1 in a "binary" graph, else as the point itself weighs them.

        An old point's own opinion of the edge would need its neighbours anew; the weights are those of a "fuzzy" graph
        without it.
        """
        from .neighbors import closest_of, fuzzy_memberships

        old = fitted.source
        neighbours, distances = closest_of(
            old, _of_width(new, fitted), min(self.n_neighbors, old.shape[0]), self.distance
        )
        ties = np.ones_like(distances) if self.edge_weights == "binary" else fuzzy_memberships(distances)
        starts = np.arange(0, ties.size + 1, ties.shape[1])
        return sp.csr_array((ties.ravel(), neighbours.ravel(), starts), shape=(new.shape[0], old.shape[0]))

    def checked(self, X: Any) -> Any:
        if not sp.issparse(X):
            return super().checked(X)
        rows: Any = X
        return sp.csr_array(rows)


@dataclass(frozen=True)
class Custom(Metric):
    """A function of X that returns the (n, n) similarities. Dense."""

    function: Callable[[Floats], npt.ArrayLike]

    name = "callable"
    words = "similarities of the given function"

    def build(self, X: npt.NDArray[Any]) -> Dense:
        return _dense_of(self.function, X)

    def rows(self, fitted: Similarity, new: Any) -> Floats:
        whole = _stacked(fitted.source, _of_width(new, fitted))
        return np.asarray(self.function(whole))[fitted.n :, : fitted.n]


METRICS: dict[str, type[Metric]] = {kind.name: kind for kind in (Cosine, Linear, Rbf, Euclidean, Precomputed)}

NEIGHBOR_METRICS = tuple(name for name, kind in METRICS.items() if kind.has_neighbors)


def metric_of(similarity: Similarity) -> Metric:
    """The metric that made a similarity; one made by hand takes rows like its own, or similarities."""
    if similarity.metric is not None:
        return similarity.metric  # type: ignore[no-any-return]
    return Precomputed() if similarity.features() is None else Linear()


def choices() -> str:
    """All that ``metric`` may be, for errors and help texts."""
    return f"{', '.join(map(repr, METRICS))} or a callable"


def default_gamma(X: npt.NDArray[Any]) -> float:
    """1 / (d·var(X)), as scikit-learn's "scale"."""
    variance = float(X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _dense_of(kernel: Callable[[Floats], npt.ArrayLike], X: npt.NDArray[Any]) -> Dense:
    n = len(X)
    require_memory(16 * n * n, f"A dense similarity of {n} points", "set n_neighbors for a sparse graph")
    matrix = np.asarray(kernel(X))
    if matrix.shape != (n, n):
        raise ValueError(f"The metric returned shape {matrix.shape}; it must return the ({n}, {n}) similarities.")
    dense = Dense(matrix)
    dense.source = X
    return dense


def _stacked(old: Any, new: Any) -> Any:
    """Rows of both, dense or sparse."""
    return np.concatenate([old, new]) if isinstance(old, np.ndarray) else sp.csr_array(sp.vstack([old, new]))


def _of_width(new: Any, fitted: Similarity) -> Any:
    """New rows, if they have as many columns as the fitted ones."""
    old: Any = fitted.features() if fitted.source is None else fitted.source
    if new.shape[1] != old.shape[1]:
        raise ValueError(
            f"X has {new.shape[1]} columns but the fitted rows have {old.shape[1]}; pass the same columns."
        )
    return new
