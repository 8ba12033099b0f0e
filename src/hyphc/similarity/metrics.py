"""Metrics on rows in closed form or dense, and the registry of all metrics.

The similarity keeps the metric that made it. ``METRICS`` names them: every list of choices, help text and error derives from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.validation import has_missing, require_memory, require_squares
from .base import Similarity
from .dense import Dense
from .distances import similarity_from_distances
from .features import Features
from .graph import Graph
from .inputs.input_warnings import warn_of_distances, warn_of_similarities
from .knn.other_distances import DISTANCES
from .metric_base import Metric, check_width, stack_rows
from .neighbor_metrics import Auto
from .row_transforms import DIRECTIONS, pairwise_correlations
from .scaling import unit_rows


class Cosine(Metric):
    """w = (1 + cos) / 2. A zero row has no direction: its cosine is 0, its similarity to every point ½."""

    name = "cosine"
    words = "(1 + cosine) / 2"
    has_neighbors = True

    def build(self, X: npt.NDArray[Any]) -> Similarity:
        return Features(unit_rows(DIRECTIONS[self.name](X)), offset=0.5, scale=0.5)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return unit_rows(DIRECTIONS[self.name](check_width(new, fitted)))


class Correlation(Cosine):
    """w = (1 + r) / 2, r Pearson's correlation of two rows. A constant row has none: its similarity to every point is ½.

    With missing values r is that of the columns that both rows have (pairwise complete observations), as in pandas.
    """

    name = "correlation"
    words = "(1 + Pearson's correlation of two rows) / 2"
    takes_missing = True

    def build(self, X: npt.NDArray[Any]) -> Similarity:
        """Return the similarity; with missing values that of the columns that two rows share, as a matrix of O(n²) memory."""
        if not has_missing(X):
            return super().build(X)
        return _to_dense(lambda rows: (1 + pairwise_correlations(rows, rows)) / 2, X)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        if isinstance(fitted, Dense):
            return (1 + pairwise_correlations(check_width(new, fitted), fitted.source)) / 2
        if has_missing(new):
            raise ValueError(
                "New rows have missing values, and the fitted ones had none; fill them in, or fit with metric='auto'."
            )
        return super().rows(fitted, new)


class Spearman(Cosine):
    """w = (1 + ρ) / 2, ρ Spearman's correlation of two rows: that of their ranks."""

    name = "spearman"
    words = "(1 + Spearman's correlation of two rows) / 2"

    def warn(self, X: Any) -> None:
        """Do nothing: ranks do not depend on the width of a column."""


@dataclass(frozen=True)
class Linear(Metric):
    """w = offset + ⟨x, y⟩; ``offset`` defaults to the least that makes every w ≥ 0 sure."""

    offset: float | None = None

    name = "linear"
    words = "inner product, shifted to be at least 0"

    def build(self, X: npt.NDArray[Any]) -> Features:
        longest = float(np.einsum("ij,ij->i", X, X, dtype=np.float64).max(initial=0.0))
        return Features(X, offset=longest if self.offset is None else self.offset, scale=1.0)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return check_width(new, fitted)


@dataclass(frozen=True)
class Rbf(Metric):
    """w = exp(−gamma·‖x − y‖²), gamma = 1 / (d·var(X)) by default. Dense: O(n²) memory."""

    gamma: float | None = None

    name = "rbf"
    words = "exp(-gamma * squared distance)"

    def build(self, X: npt.NDArray[Any]) -> Dense:
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma={self.gamma} must be positive.")
        require_squares(X, "X")
        return _to_dense(lambda rows: self._kernel(rows, rows, X), X)

    def rows(self, fitted: Similarity, new: Any) -> Floats:
        require_squares(new, "X", smallest=False)
        return self._kernel(check_width(new, fitted), fitted.source, fitted.source)

    def _kernel(self, rows: Any, others: Any, fitted: Any) -> Floats:
        from sklearn.metrics.pairwise import rbf_kernel

        gamma = default_gamma(fitted) if self.gamma is None else self.gamma
        # far from 0 the squares that scikit-learn subtracts from each other are nearly equal, and digits are lost
        centre = fitted.mean(axis=0)
        return np.asarray(rbf_kernel(rows - centre, others - centre, gamma=gamma))


class Euclidean(Metric):
    """Distances: only with ``n_neighbors``."""

    name = "euclidean"
    words = "Euclidean distance"
    has_neighbors = True
    stands_alone = False

    def build(self, X: Any) -> Similarity:
        raise ValueError(f"metric={self.name!r} is a distance; give n_neighbors, or use metric='rbf' for similarities.")

    def rows(self, fitted: Similarity, new: Any) -> Any:
        raise ValueError(f"metric={self.name!r} is a distance and makes no similarity without n_neighbors.")


def _distance(name: str, words: str) -> type[Metric]:
    """Return a metric class like ``Euclidean`` for another distance."""
    return type(name.capitalize(), (Euclidean,), {"name": name, "words": words, "__doc__": Euclidean.__doc__})


@dataclass(frozen=True)
class Precomputed(Metric):
    """X holds *similarities* (not distances: see ``similarity_from_distances``), dense or sparse.

    ``directed`` says how the two weights of a pair become one; None refuses weights that differ.
    """

    directed: str | None = None

    name = "precomputed"
    words = "similarities as given"
    takes_rows = False
    takes_sparse = True

    def build(self, X: Any) -> Similarity:
        return Graph(X, directed=self.directed) if sp.issparse(X) else Dense(X, directed=self.directed)

    def warn(self, X: Any) -> None:
        warn_of_distances(np.asarray(X) if not sp.issparse(X) else X)

    def rows(self, fitted: Similarity, new: Any) -> Any:
        return _check_pairs(new, fitted, "similarities")


class PrecomputedDistances(Metric):
    """X holds distances, square or in SciPy's condensed form; w = (largest distance) − distance. Dense."""

    name = "precomputed_distances"
    words = "largest distance - distance"
    takes_rows = False

    def warn(self, X: Any) -> None:
        warn_of_similarities(np.asarray(X))

    def build(self, X: Any) -> Dense:
        dense = similarity_from_distances(X)
        dense.source = float(dense.W.diagonal().max(initial=0.0))  # the largest distance
        return dense

    def rows(self, fitted: Similarity, new: Any) -> Any:
        distances = _check_pairs(new, fitted, "distances")
        return np.maximum(fitted.source - distances, 0.0)  # further away than any two fitted points: not similar at all


def _check_pairs(new: Any, fitted: Similarity, what: str) -> Any:
    """Return similarities or distances (m, n) of new points to the n fitted ones; raise for another number of columns."""
    if new.shape[1] != fitted.n:
        raise ValueError(f"X has {new.shape[1]} columns; pass {what} to each of the {fitted.n} fitted points.")
    return new


@dataclass(frozen=True)
class Custom(Metric):
    """A function of X that returns the (n, n) similarities. Dense."""

    function: Callable[[Floats], npt.ArrayLike]

    name = "callable"
    words = "similarities of the given function"

    def build(self, X: npt.NDArray[Any]) -> Dense:
        return _to_dense(self.function, X)

    def rows(self, fitted: Similarity, new: Any) -> Floats:
        whole = stack_rows(fitted.source, check_width(new, fitted))
        return np.asarray(self.function(whole))[fitted.n :, : fitted.n]


_ALL: list[type[Metric]] = [Auto, Cosine, Correlation, Spearman, Linear, Rbf, Euclidean]
_ALL += [_distance(name, words) for name, words in DISTANCES.items()]
_ALL += [Precomputed, PrecomputedDistances]
METRICS = {kind.name: kind for kind in _ALL}

NEIGHBOR_METRICS = tuple(name for name, kind in METRICS.items() if kind.has_neighbors)


def get_metric(similarity: Similarity) -> Metric:
    """Return the metric that built a similarity; one built by hand takes rows like its own, or similarities."""
    if similarity.metric is not None:
        return similarity.metric  # type: ignore[no-any-return]
    return Precomputed() if similarity.features() is None else Linear()


def choices() -> str:
    """Return all values of ``metric``, for errors and help texts."""
    return f"{', '.join(map(repr, METRICS))} or a callable: of X, for similarities, or of two rows, for a distance"


def default_gamma(X: npt.NDArray[Any]) -> float:
    """Return 1 / (d·var(X)), as scikit-learn's "scale"."""
    variance = float(X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _to_dense(kernel: Callable[[Floats], npt.ArrayLike], X: npt.NDArray[Any]) -> Dense:
    n = len(X)
    require_memory(16 * n * n, f"A dense similarity of {n} points", "set n_neighbors for a sparse graph")
    matrix = np.asarray(kernel(X))
    if matrix.shape != (n, n):
        raise ValueError(f"The metric returned shape {matrix.shape}; it must return the ({n}, {n}) similarities.")
    dense = Dense(matrix)
    dense.source = X
    return dense
