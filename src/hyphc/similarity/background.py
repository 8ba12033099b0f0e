"""A weak similarity of all pairs, linear in their squared distance, evaluated in closed form from features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import as_floats, require_finite, row_chunks
from .base import Similarity
from .group_sums import indicator

# The points of a leaf whose squared distances from their mean are this small beside their squared lengths are copies.
ROUNDING = 1e-12


class Background(Similarity):
    """w_ij = slope·(level − ‖x_i − x_j‖²), kept as X and the squared lengths of its rows: never an n × n array.

    A constant added to all similarities costs every tree the same, so ``level`` ranks no tree above another. By default it is
    the mean squared distance: then the similarities sum to 0, and far pairs have negative ones. Where a method needs w ≥ 0 it
    adds ``shift()``, and takes it away again.

    Parameters
    ----------
    X : array (n, d)
        One row a leaf; the sum of the rows of its points where it stands for several.
    slope : float
        At least 0.
    level : float, optional
    squares : array (n,), optional
        The sum of ‖x‖² over the points of each leaf. Default: each leaf is a single point.
    sizes : array (n,), optional

    Examples
    --------
    >>> Background([[0.0], [1.0], [3.0]], slope=1.0).to_dense()
    array([[ 0.        ,  3.66666667, -4.33333333],
           [ 3.66666667,  0.        ,  0.66666667],
           [-4.33333333,  0.66666667,  0.        ]])
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        *,
        slope: float,
        level: float | None = None,
        squares: npt.ArrayLike | None = None,
        sizes: npt.ArrayLike | None = None,
    ) -> None:
        self.X = as_floats(X, "X").astype(np.float64, copy=False)
        if self.X.ndim != 2:
            raise ValueError(f"Features must have shape (n, d); got {self.X.shape}.")
        require_finite(self.X, "X")
        super().__init__(len(self.X), sizes)
        lengths = np.einsum("ij,ij->i", self.X, self.X)
        self.squares = lengths if squares is None else np.array(squares, dtype=np.float64)
        if not 0.0 <= slope < np.inf:
            raise ValueError(f"slope={slope} must be a finite number of at least 0.")
        self.slope = float(slope)
        self.level = self.mean_square() if level is None else float(level)

    def mean_square(self) -> float:
        """Return the mean squared distance of two points in different leaves."""
        n_points = float(self.sizes.sum())
        pairs = (n_points**2 - float(self.sizes @ self.sizes)) / 2
        return self.total_square() / pairs if pairs > 0 else 0.0

    def total_square(self) -> float:
        """Return Σ ‖x − y‖² over pairs of points in different leaves."""
        row = self.X.sum(axis=0)
        whole = self.sizes.sum() * self.squares.sum() - float(row @ row)
        inside = float(np.sum(self.sizes * self.squares)) - float(np.einsum("ij,ij->", self.X, self.X))
        return max(0.0, float(whole - inside))

    def shift(self) -> float:
        """Return the least constant that makes the similarity of every two points non-negative."""
        return max(0.0, self.from_furthest())

    def from_furthest(self) -> float:
        """Return the constant that makes similarities count from the largest possible distance, whatever the level."""
        centre = self.X.sum(axis=0) / self.sizes.sum()
        chunks = row_chunks(self.n, 8.0 * (self.n_columns + 1))
        radius = max(float(self._reaches(chunk, centre).max()) for chunk in chunks)
        return self.slope * ((2 * radius) ** 2 - self.level)

    def _reaches(self, chunk: slice, centre: Floats) -> Floats:
        """Return bounds on the distance of the points of each leaf from the centre."""
        rows, squares = self.X[chunk], self.squares[chunk]
        means = rows / self.sizes[chunk, None]
        # ‖x − mean‖² summed over the points of a leaf: none of them is further from it than all together
        scatter = squares - np.einsum("ij,ij->i", rows, means)
        scatter[scatter <= ROUNDING * squares] = 0.0
        means -= centre
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", means, means)) + np.sqrt(scatter))

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Number of values stored for a leaf: the columns of X."""
        return int(self.X.shape[1])

    def features(self) -> npt.NDArray[Any]:
        return self.X

    def _weights(self, counts: Floats, crossed: Floats, products: Floats) -> Floats:
        """Return similarities from s_i·s_j, s_j·q_i + s_i·q_j and ⟨x_i, x_j⟩."""
        return np.asarray(self.slope * (self.level * counts - crossed + 2.0 * products))

    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        i, j = np.broadcast_arrays(i, j)
        s, q = self.sizes, self.squares
        products = np.einsum("...d,...d->...", self.X[i], self.X[j])
        return np.where(i == j, 0.0, self._weights(s[i] * s[j], s[j] * q[i] + s[i] * q[j], products))

    def rows(self, index: npt.ArrayLike) -> Floats:
        return self._outer(np.asarray(index), np.arange(self.n))

    def block(self, index: npt.ArrayLike) -> Floats:
        return self._outer(np.asarray(index), np.asarray(index))

    def _outer(self, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> Floats:
        s, q = self.sizes, self.squares
        crossed = np.outer(q[i], s[j]) + np.outer(s[i], q[j])
        weights = self._weights(np.outer(s[i], s[j]), crossed, self.X[i] @ self.X[j].T)
        weights[i[:, None] == j[None, :]] = 0.0
        return weights

    def blocks(self, parts: Ints) -> Floats:
        s, q, rows = self.sizes[parts], self.squares[parts], self.X[parts]
        crossed = q[:, :, None] * s[:, None, :] + s[:, :, None] * q[:, None, :]
        return self._weights(s[:, :, None] * s[:, None, :], crossed, rows @ rows.transpose(0, 2, 1))

    def degrees(self) -> Floats:
        s, q, x = self.sizes, self.squares, self.X
        n, total, row = s.sum() - s, q.sum() - q, x.sum(axis=0)
        products = x @ row - np.einsum("ij,ij->i", x, x)
        return self._weights(s * n, n * q + s * total, products)

    def maximum(self) -> float:
        return self.slope * self.level

    def range_of_leaves(self) -> float:
        return (self.maximum() + self.shift()) * float(self.sizes.max()) ** 2

    def product(self, v: Floats) -> Floats:
        s, q, x = self.sizes, self.squares, self.X
        own = self._weights(s * s, 2.0 * s * q, np.einsum("ij,ij->i", x, x))
        return self._weights(s * (s @ v), q * (s @ v) + s * (q @ v), x @ (x.T @ v)) - own * v

    def squared_distances(self) -> Background:
        return Background(self.X, slope=1.0, level=0.0, squares=self.squares, sizes=self.sizes)

    def subset(self, index: npt.ArrayLike) -> Background:
        index = np.asarray(index)
        return self._like(self.X[index], self.squares[index], self.sizes[index])

    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Background:
        return self._like(np.asarray(mix @ self.X), np.asarray(mix @ self.squares), sizes)

    def extended(self, rows: Any) -> Background:
        new = np.asarray(rows, dtype=np.float64)
        squares = np.append(self.squares, np.einsum("ij,ij->i", new, new))
        return self._like(np.concatenate([self.X, new]), squares, np.append(self.sizes, np.ones(len(new))))

    def _like(self, X: Floats, squares: Floats, sizes: Floats) -> Background:
        return Background(X, slope=self.slope, level=self.level, squares=squares, sizes=sizes)

    def signatures(self) -> Callable[[Ints], Any]:
        # a point is nearest to its copies
        return lambda index: np.column_stack([self.X[index], self.squares[index]]) / self.sizes[index, None]

    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        mix = indicator(group, n_groups)
        x, q, s = np.asarray(mix @ self.X), np.asarray(mix @ self.squares), np.asarray(mix @ self.sizes)
        sums = self._weights(np.outer(s, s), np.outer(q, s) + np.outer(s, q), x @ x.T)
        own = self._weights(self.sizes**2, 2.0 * self.sizes * self.squares, np.einsum("ij,ij->i", self.X, self.X))
        sums[np.diag_indices(n_groups)] -= np.asarray(mix @ own)
        return sums
