"""Abstract base class of metrics: a metric builds a similarity from rows, and relates new rows to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.validation import as_floats, has_missing, require_finite, require_finite_entries
from .base import Similarity
from .inputs.input_warnings import warn_of_one_wide_column
from .inputs.missing_values import require_not_infinite

Seed = int | np.random.RandomState | None


class Metric(ABC):
    """Abstract similarity measure between two rows."""

    name: ClassVar[str]
    words: ClassVar[str]  # description for messages
    takes_rows: ClassVar[bool] = True  # False: X is square, the similarities themselves
    takes_sparse: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False  # whether entries may be NaN
    takes_categories: ClassVar[bool] = False  # whether columns may hold categories
    has_neighbors: ClassVar[bool] = False  # whether a neighbour graph can be built by it
    stands_alone: ClassVar[bool] = True  # whether it makes a similarity without a neighbour graph

    def similarity(self, X: Any, weights: Floats | None = None) -> Similarity:
        """Return the similarity of the rows, with multiplicities ``weights``; it stores this metric and what new rows need."""
        rows = self.check_rows(X)
        self.warn(rows)
        made = self.build(rows) if weights is None else self.build_weighted(rows, weights)
        made.metric = self
        return made

    def describe(self, similarity: Similarity) -> str:
        """Describe the decisions taken while the similarity was built, and the recall of a neighbour search unless it is 1."""
        return f"about {similarity.recall_:.1%} of the nearest neighbours found" if similarity.recall_ < 1 else ""

    def warn(self, X: Any) -> None:
        """Warn if the rows probably are not what this metric takes."""
        warn_of_one_wide_column(X)

    @abstractmethod
    def build(self, X: Any) -> Similarity:
        """Return the similarity of checked rows."""

    def build_weighted(self, X: Any, weights: Floats) -> Similarity:
        """Return the similarity of checked rows, row i counted ``weights[i]`` times."""
        return with_weights(self.build(X), weights)

    @abstractmethod
    def rows(self, fitted: Similarity, new: Any) -> Any:
        """Return the argument of ``Similarity.extended`` for new rows, given like those of ``build``."""

    def extend(self, fitted: Similarity, new: Any) -> Similarity:
        """Return the similarity of old and new rows together, rebuilt from all rows where they are stored."""
        rows = self.check_rows(new)
        stored = fitted.source is not None
        whole = self.build(stack_rows(fitted.source, rows)) if stored else fitted.extended(self.rows(fitted, rows))
        whole.metric = self
        return whole

    def check_rows(self, X: Any) -> Any:
        """Return the rows as an array (n, d) or CSR matrix of finite numbers, NaN only where the metric takes missing values.

        Similarities and distances of pairs are returned as they are.
        """
        if not self.takes_rows:
            return X
        if sp.issparse(X):
            return self._check_sparse(X)
        rows = as_rows(X)
        if self.takes_missing:
            require_not_infinite(rows)
            return rows
        if has_missing(rows):
            i, j = np.argwhere(np.isnan(rows))[0].tolist()
            raise ValueError(
                f"X[{i}, {j}] is NaN, and {self.words} needs all values; metric='auto' skips what is missing, sklearn.impute "
                "fills it in."
            )
        require_finite(rows, "X")
        return rows

    def _check_sparse(self, X: Any) -> sp.csr_array[np.float64]:
        if not self.takes_sparse:
            raise ValueError(
                f"Sparse features cannot be used with metric={self.name!r}; give n_neighbors, reduce them with "
                "sklearn.decomposition.TruncatedSVD, or pass metric='precomputed' if X holds similarities."
            )
        rows = sp.csr_array(X, dtype=np.float64)
        require_finite_entries(rows, "X")
        return rows

    def validate(self, X: Any, new: bool = False) -> Any:
        """Return checked rows in which each row has a value and, unless they are new rows, each column too."""
        return self.check_rows(X)


def as_rows(X: Any) -> npt.NDArray[Any]:
    """Return X as an array (n, d) of floats."""
    rows = as_floats(X, "X")
    if rows.ndim != 2:
        remedy = "; pass X.reshape(-1, 1) if X is one column, X.reshape(1, -1) if it is one row" * (rows.ndim == 1)
        raise ValueError(f"Features must have shape (n, d); got {rows.shape}{remedy}.")
    return rows


# Of a point, as of its inverse: products of three numbers of points, and of a square, stay within the range of a float64.
LARGEST_WEIGHT = 1e20


def with_weights(similarity: Similarity, weights: npt.ArrayLike) -> Similarity:
    """Return the similarity with leaf i counted ``weights[i]`` times; its metric and source are kept."""
    factor = check_weights(weights, similarity.n)
    taken = similarity.combined(sp.diags_array(factor).tocsr(), factor * similarity.sizes)
    taken.metric, taken.source = similarity.metric, similarity.source
    taken.local_part.recall_ = similarity.local_part.recall_
    return taken


def check_weights(weights: npt.ArrayLike, n: int) -> Floats:
    """Return the weights of n points; raise unless there are n of them, all positive."""
    factor = np.asarray(weights, dtype=np.float64)
    if factor.shape != (n,):
        raise ValueError(f"{n} points need as many weights; got shape {factor.shape}.")
    is_wrong = ~((factor >= 1 / LARGEST_WEIGHT) & (factor <= LARGEST_WEIGHT))
    if is_wrong.any():
        i = int(is_wrong.argmax())
        if factor[i] > 0:
            limits = f"between {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
            raise ValueError(
                f"weights[{i}] = {factor[i]:g} is no number of points; multiply all, so that they lie {limits}."
            )
        raise ValueError(
            f"weights[{i}] = {factor[i]} is not a positive number; leave out points of weight 0 and place them with predict."
        )
    return factor


def stack_rows(old: Any, new: Any) -> Any:
    """Return the rows of both, dense or sparse."""
    return np.concatenate([old, new]) if isinstance(old, np.ndarray) else sp.csr_array(sp.vstack([old, new]))


def check_width(new: Any, fitted: Similarity) -> Any:
    """Return new rows; raise unless they have as many columns as the fitted ones."""
    old: Any = fitted.features() if fitted.source is None else fitted.source
    if new.shape[1] != old.shape[1]:
        raise ValueError(
            f"X has {new.shape[1]} columns but the fitted rows have {old.shape[1]}; pass the same columns."
        )
    return new
