"""The three kinds of similarity behind one small interface: w_ij ≥ 0 for i ≠ j.

| kind | what it holds | memory |
|---|---|---|
| ``Features`` | X (n, d), w_ij = offset + scale·⟨x_i, x_j⟩ | O(n d) |
| ``Dense`` | the n × n matrix | O(n²) |
| ``Graph`` | a symmetric CSR matrix, absent edges are 0 | O(n + edges) |

A leaf may stand for ``sizes[i]`` points. Then X holds sums of rows, w_ij = offset·sizes_i·sizes_j + scale·⟨x_i, x_j⟩,
and matrices hold similarities summed over both groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._shared.arrays import Floats, Ints
from .._shared.checks import CHUNK_BYTES, as_floats, require_finite, require_memory

# Rounding makes (W + W.T) differ in the last digits when a product was computed in another order; more is a mistake.
_SYMMETRY_RTOL = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-8}
# ⟨x, y⟩ of unit rows in float32 may exceed 1 by a few ulp: a similarity this far below 0, relative to the largest, is 0.
_NEGATIVE_RTOL = 1e-6
CACHED_ENTRIES = 1 << 17  # of features looked at together: a megabyte


class Similarity(ABC):
    """Non-negative similarities between ``n`` leaves, each standing for ``sizes[i]`` points."""

    def __init__(self, n: int, sizes: npt.ArrayLike | None) -> None:
        if n < 1:
            raise ValueError("A similarity needs at least one point; got none.")
        self.n = n
        self.sizes = np.ones(n) if sizes is None else np.array(sizes, dtype=np.float64)
        if self.sizes.shape != (n,) or not (np.isfinite(self.sizes) & (self.sizes > 0)).all():
            raise ValueError(f"sizes must be {n} positive finite numbers, one for each leaf.")

    @abstractmethod
    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        """w_ij for arrays of leaves i and j; 0 where i = j."""

    @abstractmethod
    def rows(self, index: npt.ArrayLike) -> Floats:
        """The rows ``index`` of the similarity matrix, (len(index), n) float64, with zeros where i = j."""

    @abstractmethod
    def degrees(self) -> Floats:
        """Σ_j w_ij for each leaf, without n² memory for features and graphs."""

    @abstractmethod
    def maximum(self) -> float:
        """An upper bound on the largest similarity: attained for matrices, by Cauchy–Schwarz for features."""

    @abstractmethod
    def subset(self, index: npt.ArrayLike) -> Self:
        """The similarity of the leaves ``index`` alone, of the same kind."""

    def total(self) -> float:
        """Σ_{i<j} w_ij."""
        return float(self.degrees().sum() / 2)

    def block(self, index: npt.ArrayLike) -> Floats:
        """The square matrix of the leaves ``index``, (B, B) float64, zero on the diagonal."""
        index = np.asarray(index)
        return self.pairs(index[:, None], index[None, :])

    def to_dense(self) -> Floats:
        """All similarities, (n, n) float64; raises MemoryError when that does not fit."""
        require_memory(8 * self.n**2, f"The {self.n} x {self.n} matrix", "use a subset or a neighbour graph")
        return self.rows(np.arange(self.n))

    def row_chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Slices of rows and their similarities, about 64 MB at a time."""
        step = max(1, CHUNK_BYTES // (8 * self.n))
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            yield rows, self.rows(np.arange(rows.start, rows.stop))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n})"


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

    # Checking every pair costs n²·d; above this only the Cauchy–Schwarz condition can vouch for w ≥ 0.
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
        if self.offset >= largest * (1 - _NEGATIVE_RTOL):
            return
        if self.offset >= 0 and self.scale >= 0 and self.X.min(initial=0.0) >= 0:
            return
        if self.n > self.MAX_CHECKED:
            raise ValueError(
                f"offset={self.offset:.6g} does not ensure similarities >= 0; with rows of squared length up to "
                f"{largest / max(abs(self.scale), 1e-300):.6g} choose offset >= {largest:.6g}."
            )
        for rows, weights in self.row_chunks():
            if weights.min() < -_NEGATIVE_RTOL * largest:
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
        """⟨x_i, x_j⟩ for vectors of leaves, few rows at a time: they stay in the cache, and memory does not grow with d."""
        products = np.empty(len(i))
        step = max(1, CACHED_ENTRIES // max(1, self.X.shape[1]))
        for at in range(0, len(i), step):
            some = slice(at, at + step)
            products[some] = np.einsum("td,td->t", self.X[i[some]], self.X[j[some]], dtype=np.float64)
        return products

    def block(self, index: npt.ArrayLike) -> Floats:
        return self._outer(np.asarray(index), np.asarray(index))

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


class Dense(Similarity):
    """A full symmetric matrix of similarities, float32 or float64; its diagonal is ignored."""

    def __init__(self, W: npt.ArrayLike, *, sizes: npt.ArrayLike | None = None) -> None:
        self.W = as_floats(W, "The similarity matrix")
        if self.W.ndim != 2 or self.W.shape[0] != self.W.shape[1]:
            raise ValueError(f"A similarity matrix must be square; got shape {self.W.shape}.")
        require_finite(self.W, "w")
        super().__init__(len(self.W), sizes)
        self.W = _non_negative_matrix(self.W)
        _require_symmetric(self.W)

    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        i, j = np.broadcast_arrays(i, j)
        return np.asarray(np.where(i == j, 0.0, self.W[i, j]), dtype=np.float64)

    def rows(self, index: npt.ArrayLike) -> Floats:
        index = np.asarray(index)
        weights = self.W[index].astype(np.float64)
        weights[np.arange(len(index)), index] = 0.0
        return np.asarray(weights)

    def degrees(self) -> Floats:
        return np.asarray(self.W.sum(axis=1, dtype=np.float64) - self.W.diagonal())

    def maximum(self) -> float:
        return max(float(weights.max()) for _, weights in self.row_chunks())

    def subset(self, index: npt.ArrayLike) -> Dense:
        index = np.asarray(index)
        return Dense(self.W[np.ix_(index, index)], sizes=self.sizes[index])


class Graph(Similarity):
    """A sparse symmetric matrix: both directions stored, no diagonal, absent edges are 0. It need not be connected."""

    def __init__(self, adjacency: Any, *, sizes: npt.ArrayLike | None = None) -> None:
        matrix = sp.csr_array(adjacency, dtype=np.float64, copy=True)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"A graph's matrix must be square; got shape {matrix.shape}.")
        matrix.sum_duplicates()
        require_finite(matrix.data, "edge weights")
        matrix = sp.csr_array(matrix - sp.diags_array(matrix.diagonal()))
        matrix.data[_is_rounding(matrix.data)] = 0.0
        matrix.eliminate_zeros()
        matrix.sort_indices()
        super().__init__(matrix.shape[0], sizes)
        _require_valid_edges(matrix)
        self.indptr = matrix.indptr.astype(np.int64)
        self.indices = matrix.indices.astype(np.int32)
        self.data = matrix.data

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.data) // 2

    def to_csr(self) -> sp.csr_array[np.float64]:
        """The graph as a SciPy CSR array that shares its memory."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=(self.n, self.n))

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """Each undirected edge once: arrays i < j and w."""
        i = np.repeat(np.arange(self.n), np.diff(self.indptr))
        once = i < self.indices
        return i[once], self.indices[once].astype(np.int64), self.data[once]

    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        i, j = np.broadcast_arrays(i, j)
        if i.size == 0:
            return np.zeros(i.shape)
        picked: Any = self.to_csr()[i.ravel(), j.ravel()]
        if hasattr(picked, "toarray"):  # newer releases of SciPy answer with a sparse array
            picked = picked.toarray()
        return np.asarray(picked).reshape(i.shape)

    def rows(self, index: npt.ArrayLike) -> Floats:
        return self.to_csr()[np.asarray(index)].toarray()

    def degrees(self) -> Floats:
        return np.asarray(self.to_csr().sum(axis=1))

    def maximum(self) -> float:
        return float(self.data.max(initial=0.0))

    def subset(self, index: npt.ArrayLike) -> Graph:
        index = np.asarray(index)
        return Graph(self.to_csr()[index][:, index], sizes=self.sizes[index])


def _is_rounding(weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where a weight is below 0 by rounding alone, as (1 + cosine) / 2 of opposite rows can be."""
    return np.asarray((weights < 0) & (weights >= -_NEGATIVE_RTOL * weights.max(initial=0.0)))


def _non_negative_matrix(W: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The matrix, with 0 for what rounding put below it; its diagonal may be anything."""
    if W.min(initial=0.0) >= 0:
        return W
    apart = W - np.diag(np.diag(W))
    if apart.min() >= 0:
        return W
    apart[_is_rounding(apart)] = 0.0
    if apart.min() < 0:
        i, j = np.unravel_index(int(apart.argmin()), W.shape)
        raise ValueError(
            f"w[{i}, {j}] = {W[i, j]:.6g} is negative; similarities are >= 0: turn distances into similarities with "
            "similarity_from_distances, or shift correlations to (1 + r) / 2."
        )
    return np.asarray(apart)


def _require_symmetric(W: npt.NDArray[Any]) -> None:
    tolerance = _SYMMETRY_RTOL[W.dtype] * float(W.max(initial=0.0))
    step = max(1, CHUNK_BYTES // (8 * len(W)))
    for start in range(0, len(W), step):
        rows = slice(start, start + step)
        difference = np.abs(W[rows] - W[:, rows].T)
        if difference.max() > tolerance:
            i, j = np.unravel_index(int(difference.argmax()), difference.shape)
            i += start
            raise ValueError(
                f"w[{i}, {j}] = {W[i, j]:.6g} but w[{j}, {i}] = {W[j, i]:.6g}; similarities are symmetric: pass (W + W.T) / 2."
            )


def _require_valid_edges(matrix: sp.csr_array[np.float64]) -> None:
    if matrix.nnz and matrix.data.min() < 0:
        e = int(matrix.data.argmin())
        i = int(np.searchsorted(matrix.indptr, e, side="right")) - 1
        raise ValueError(f"Edge ({i}, {matrix.indices[e]}) has weight {matrix.data[e]:.6g}; weights are >= 0.")
    difference = sp.coo_array(abs(matrix - matrix.T))
    tolerance = _SYMMETRY_RTOL[np.dtype(np.float64)] * float(matrix.data.max(initial=0.0))
    if difference.nnz and difference.data.max() > tolerance:
        e = int(difference.data.argmax())
        i, j = int(difference.coords[0][e]), int(difference.coords[1][e])
        raise ValueError(
            f"w[{i}, {j}] = {matrix[i, j]:.6g} but w[{j}, {i}] = {matrix[j, i]:.6g}; a graph is undirected here: pass "
            "A.maximum(A.T) or (A + A.T) / 2."
        )
