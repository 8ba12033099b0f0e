"""Similarities evaluated in closed form from features, without an n × n array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import as_floats, require_finite
from .background import Background
from .base import NEGATIVE_RTOL, Similarity

CACHED_ENTRIES = 1 << 17  # of features looked at together: a megabyte


class Features(Similarity):
    """w_ij = offset·sizes_i·sizes_j + scale·⟨x_i, x_j⟩, kept as X: never an n × n array.

    Parameters
    ----------
    X : array (n, d), float32 or float64 (other numbers become float64)
    offset, scale : float
        w ≥ 0 must be sure: offset ≥ |scale|·max‖x‖², or no negative number in X, is enough for any n; otherwise all pairs
        are checked while n is small.

    Examples
    --------
    >>> Features([[1.0, 0.0], [0.0, 1.0]], offset=0.5, scale=0.5).pairs(0, 1)
    array(0.5)
    """

    # Checking every pair costs n²·d; above this only the Cauchy–Schwarz condition is checked for w ≥ 0.
    MAX_CHECKED = 5_000

    def __init__(self, X: npt.ArrayLike, *, offset: float, scale: float, sizes: npt.ArrayLike | None = None) -> None:
        self.X = as_floats(X, "X")
        if self.X.ndim != 2:
            raise ValueError(f"Features must have shape (n, d); got {self.X.shape}.")
        require_finite(self.X, "X")
        super().__init__(len(self.X), sizes)
        self.offset, self.scale = float(offset), float(scale)
        self._squares = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        self._require_non_negative()

    def _require_non_negative(self) -> None:
        largest = abs(self.scale) * float((self._squares / self.sizes**2).max())
        if self.offset >= largest * (1 - NEGATIVE_RTOL):
            return
        if self.offset >= 0 and self.scale >= 0 and self.X.min(initial=0.0) >= 0:
            return
        if self.n > self.MAX_CHECKED:
            raise ValueError(
                f"offset={self.offset:.6g} does not ensure similarities >= 0; with rows of squared length up to "
                f"{largest / max(abs(self.scale), 1e-300):.6g} choose offset >= {largest:.6g}."
            )
        for rows, weights in self.row_chunks():
            if weights.min() < -NEGATIVE_RTOL * largest:
                i, j = np.unravel_index(int(weights.argmin()), weights.shape)
                raise ValueError(
                    f"w[{rows.start + i}, {j}] = {weights.min():.6g} is negative; choose offset >= "
                    f"{self.offset - weights.min():.6g}."
                )

    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        i, j = np.broadcast_arrays(i, j)
        products = self._products(i.ravel(), j.ravel()).reshape(i.shape)
        weights = self.offset * self.sizes[i] * self.sizes[j] + self.scale * products
        return np.asarray(np.where(i == j, 0.0, weights))

    def _products(self, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> Floats:
        """Return ⟨x_i, x_j⟩ for vectors of leaves, in blocks of rows that fit the cache; memory does not grow with d."""
        products = np.empty(len(i))
        step = max(1, CACHED_ENTRIES // max(1, self.X.shape[1]))
        for at in range(0, len(i), step):
            some = slice(at, at + step)
            products[some] = np.einsum("td,td->t", self.X[i[some]], self.X[j[some]], dtype=np.float64)
        return products

    def block(self, index: npt.ArrayLike) -> Floats:
        return self._outer(np.asarray(index), np.asarray(index))

    def blocks(self, parts: Ints) -> Floats:
        rows, sizes = self.X[parts].astype(np.float64, copy=False), self.sizes[parts]
        products = rows @ rows.transpose(0, 2, 1)
        return np.asarray(self.offset * sizes[:, :, None] * sizes[:, None, :] + self.scale * products)

    def rows(self, index: npt.ArrayLike) -> Floats:
        return self._outer(np.asarray(index), np.arange(self.n))

    def _outer(self, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> Floats:
        products = self.X[i].astype(np.float64) @ self.X[j].astype(np.float64).T
        weights = self.offset * np.outer(self.sizes[i], self.sizes[j]) + self.scale * products
        weights[i[:, None] == j[None, :]] = 0.0
        return np.asarray(weights)

    def degrees(self) -> Floats:
        products = np.einsum("ij,j->i", self.X, self._row_sum(), dtype=np.float64) - self._squares
        return np.asarray(self.offset * self.sizes * (self.sizes.sum() - self.sizes) + self.scale * products)

    def total(self) -> float:
        sums = self.sizes.sum() ** 2 - self.sizes @ self.sizes
        products = self._row_sum() @ self._row_sum() - self._squares.sum()
        return float(self.offset * sums + self.scale * products) / 2

    def _row_sum(self) -> Floats:
        return np.asarray(self.X.sum(axis=0, dtype=np.float64))

    def maximum(self) -> float:
        lengths = np.sqrt(self._squares) / self.sizes
        return self.offset + abs(self.scale) * float(lengths.max()) ** 2

    def subset(self, index: npt.ArrayLike) -> Features:
        index = np.asarray(index)
        return Features(self.X[index], offset=self.offset, scale=self.scale, sizes=self.sizes[index])

    def range_of_leaves(self) -> float:
        return self.maximum() * float(self.sizes.max()) ** 2

    def squared_distances(self) -> Background | None:
        # a leaf of several points stores only the sum of their rows, not the distances between them
        return Background(self.X, slope=1.0, level=0.0) if (self.sizes == 1).all() else None

    def features(self) -> npt.NDArray[Any]:
        return self.X

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Number of values stored for a leaf: the columns of X."""
        return int(self.X.shape[1])

    def product(self, v: Floats) -> Floats:
        own = self.offset * self.sizes * self.sizes + self.scale * self._squares
        return np.asarray(
            self.offset * self.sizes * (self.sizes @ v) + self.scale * (self.X @ (self.X.T @ v)) - own * v
        )

    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Features:
        rows = np.asarray(mix.astype(self.X.dtype) @ self.X)
        return Features(rows, offset=self.offset, scale=self.scale, sizes=sizes)

    def extended(self, rows: Any) -> Features:
        X = np.concatenate([self.X, np.asarray(rows).astype(self.X.dtype)])
        return Features(X, offset=self.offset, scale=self.scale, sizes=np.append(self.sizes, np.ones(len(rows))))

    def are_similarities_positive(self, rows: npt.NDArray[Any]) -> bool:
        """Return whether similarities of the leaves to new rows (k, d) are surely at least 0, by Cauchy–Schwarz."""
        longest = np.sqrt(float((self._squares / self.sizes**2).max()))
        new = np.sqrt(float(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).max(initial=0.0)))
        return bool(self.offset >= abs(self.scale) * longest * new * (1 - NEGATIVE_RTOL))

    def signatures(self) -> Callable[[Ints], Any]:
        own = self.offset * self.sizes**2 + self.scale * self._squares
        # a row more similar to others than to its copies has no twin: its number makes its signature unique
        apart = np.where(own >= self.maximum() * self.sizes**2 * (1 - 1e-6), 0.0, 1.0 + np.arange(self.n))
        return lambda index: np.column_stack([self.X[index] / self.sizes[index, None], apart[index]])

    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(n_groups), side="right")
        rows = np.stack([self.X[part].sum(axis=0, dtype=np.float64) for part in np.split(order, ends[:-1])])
        points = np.bincount(group, self.sizes, minlength=n_groups)
        own = np.bincount(group, self.offset * self.sizes**2 + self.scale * self._squares, minlength=n_groups)
        sums = self.offset * np.outer(points, points) + self.scale * (rows @ rows.T)
        sums[np.diag_indices(n_groups)] -= own
        return np.asarray(sums)
