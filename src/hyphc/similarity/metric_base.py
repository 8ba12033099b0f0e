"""What a metric is: it makes a similarity of rows, and says what new rows are to a similarity that it made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.validation import as_floats, has_missing, require_finite
from .base import Similarity
from .inputs.input_warnings import warn_of_one_wide_column

Seed = int | np.random.RandomState | None


class Metric(ABC):
    """How similar two rows are."""

    name: ClassVar[str]
    words: ClassVar[str]  # what it is, for people
    takes_rows: ClassVar[bool] = True  # False: X is square, the similarities themselves
    takes_sparse: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False  # whether entries may be NaN, and columns categories
    has_neighbors: ClassVar[bool] = False  # whether a neighbour graph can be built by it
    stands_alone: ClassVar[bool] = True  # whether it makes a similarity without a neighbour graph

    def similarity(self, X: Any, weights: Floats | None = None) -> Similarity:
        """The similarity of the rows, each counted ``weights`` times; it keeps this metric and what it needs of the rows."""
        rows = self.checked(X)
        self.warn(rows)
        made = self.build(rows)
        made.metric = self
        return made if weights is None else counted(made, weights)

    def told(self, similarity: Similarity) -> str:
        """What it decided by itself when it made the similarity, in words; empty if nothing."""
        return ""

    def warn(self, X: Any) -> None:
        """Warn of rows that are likely to be something else than what this metric takes."""
        warn_of_one_wide_column(X)

    @abstractmethod
    def build(self, X: Any) -> Similarity:
        """The similarity of rows that have been checked."""

    @abstractmethod
    def rows(self, fitted: Similarity, new: Any) -> Any:
        """What ``Similarity.extended`` takes, for new rows given like those of ``build``."""

    def grown(self, fitted: Similarity, new: Any) -> Similarity:
        """Old and new rows together, as if all had been there at first where that is not too dear."""
        rows = self.checked(new)
        whole = self.build(stacked(fitted.source, rows)) if fitted.source is not None else self._extended(fitted, rows)
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
        features = as_rows(X)
        require_no_gaps(self, features)
        require_finite(features, "X")
        return features

    def admitted(self, X: Any, new: bool = False) -> Any:
        """What a door lets in: checked rows that have some value each, as has each column unless these are new rows."""
        return self.checked(X)


def as_rows(X: Any) -> npt.NDArray[Any]:
    """X as an array (n, d) of floats."""
    features = as_floats(X, "X")
    if features.ndim != 2:
        remedy = (
            "; pass X.reshape(-1, 1) if X is one column, X.reshape(1, -1) if it is one row"
            if features.ndim == 1
            else ""
        )
        raise ValueError(f"Features must have shape (n, d); got {features.shape}{remedy}.")
    return features


def require_no_gaps(metric: Metric, X: npt.NDArray[Any]) -> None:
    """Raise for the first missing entry, and say which metric takes such."""
    if has_missing(X):
        i, j = np.argwhere(np.isnan(X))[0].tolist()
        raise ValueError(
            f"X[{i}, {j}] is NaN, and {metric.words} needs all values; metric='auto' skips what is missing, sklearn.impute fills "
            "it in."
        )


# Of a point, as of its inverse: products of three numbers of points, and of a square, stay within the range of a float64.
LARGEST_WEIGHT = 1e20


def counted(similarity: Similarity, weights: npt.ArrayLike) -> Similarity:
    """Each leaf taken ``weights[i]`` times; what made the similarity is kept."""
    factor = positive_weights(weights, similarity.n)
    taken = similarity.combined(sp.diags_array(factor).tocsr(), factor * similarity.sizes)
    taken.metric, taken.source = similarity.metric, similarity.source
    taken.near.recall_ = similarity.near.recall_
    return taken


def positive_weights(weights: npt.ArrayLike, n: int) -> Floats:
    """The weights of n points, if there are as many and all are positive."""
    factor = np.asarray(weights, dtype=np.float64)
    if factor.shape != (n,):
        raise ValueError(f"{n} points need as many weights; got shape {factor.shape}.")
    wrong = np.flatnonzero(~((factor >= 1 / LARGEST_WEIGHT) & (factor <= LARGEST_WEIGHT)))
    if len(wrong):
        i = int(wrong[0])
        if factor[i] > 0:
            limits = f"between {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
            raise ValueError(
                f"weights[{i}] = {factor[i]:g} is no number of points; multiply all, so that they lie {limits}."
            )
        raise ValueError(
            f"weights[{i}] = {factor[i]} is not a positive number; leave out points of weight 0 and place them with predict."
        )
    return factor


def stacked(old: Any, new: Any) -> Any:
    """Rows of both, dense or sparse."""
    return np.concatenate([old, new]) if isinstance(old, np.ndarray) else sp.csr_array(sp.vstack([old, new]))


def of_width(new: Any, fitted: Similarity) -> Any:
    """New rows, if they have as many columns as the fitted ones."""
    old: Any = fitted.features() if fitted.source is None else fitted.source
    if new.shape[1] != old.shape[1]:
        raise ValueError(
            f"X has {new.shape[1]} columns but the fitted rows have {old.shape[1]}; pass the same columns."
        )
    return new
