"""A full matrix of similarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import CHUNK_BYTES, as_floats, require_finite, require_summable
from .base import SYMMETRY_RTOL, Similarity, is_rounding
from .symmetrize import raise_asymmetric, symmetrise


class Dense(Similarity):
    """A full symmetric matrix of similarities, float32 or float64; its diagonal is ignored.

    ``directed`` says how a matrix with two weights for a pair becomes symmetric: "sum", "max" or "mean" of both; None refuses it.
    """

    is_matrix = True

    def __init__(self, W: npt.ArrayLike, *, sizes: npt.ArrayLike | None = None, directed: str | None = None) -> None:
        self.W = as_floats(W, "The similarity matrix")
        if self.W.ndim != 2 or self.W.shape[0] != self.W.shape[1]:
            raise ValueError(f"A similarity matrix must be square; got shape {self.W.shape}.")
        require_finite(self.W, "w")
        super().__init__(len(self.W), sizes)
        self.W = symmetrise(_non_negative_matrix(self.W), directed)
        _require_symmetric(self.W)
        require_summable(float(self.W.max(initial=0.0)), self.n, "Similarities")

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

    def product(self, v: Floats) -> Floats:
        return np.asarray(self.W @ v - self.W.diagonal() * v)

    def blocks(self, parts: Ints) -> Floats:
        return self.W[parts[:, :, None], parts[:, None, :]].astype(np.float64, copy=False)

    def reordered(self, leaves: Ints) -> tuple[Dense, Ints]:
        return self, np.arange(self.n)  # to copy a matrix would cost more than order in memory gains

    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Dense:
        # rounding may differ between the two triangles of a product: one of them serves for both
        whole = np.triu(np.asarray(mix @ (mix @ self.rows(np.arange(self.n))).T), 1)
        return Dense(whole + whole.T, sizes=sizes)

    def extended(self, rows: Any) -> Dense:
        across = (rows if isinstance(rows, np.ndarray) else rows.toarray()) * self.sizes
        sizes = np.append(self.sizes, np.ones(len(across)))
        return Dense(np.block([[self.W, across.T], [across, np.zeros((len(across), len(across)))]]), sizes=sizes)

    def signatures(self) -> Callable[[Ints], Any]:
        return self._signatures_of

    def _signatures_of(self, index: Ints) -> Floats:
        # with the largest entry of each row on its diagonal, the rows of a similarity matrix are equal just for twins
        rows = self.rows(index) / (self.sizes[index, None] * self.sizes)
        rows[np.arange(len(index)), index] = rows.max(axis=1, initial=0.0)
        return np.asarray(rows)

    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        sums = np.zeros((n_groups, n_groups))
        for rows, weights in self.row_chunks():
            across = np.stack([np.bincount(group, row, minlength=n_groups) for row in weights])
            np.add.at(sums, group[rows], across)
        return sums


def _non_negative_matrix(W: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the matrix with entries that rounding made negative set to 0; the diagonal is not checked."""
    if W.min(initial=0.0) >= 0:
        return W
    apart = W - np.diag(np.diag(W))
    if apart.min() >= 0:
        return W
    apart[is_rounding(apart)] = 0.0
    if apart.min() < 0:
        i, j = np.unravel_index(int(apart.argmin()), W.shape)
        raise ValueError(
            f"w[{i}, {j}] = {W[i, j]:.6g} is negative; similarities are >= 0: turn distances into similarities with "
            "similarity_from_distances, or shift correlations to (1 + r) / 2."
        )
    return np.asarray(apart)


def _require_symmetric(W: npt.NDArray[Any]) -> None:
    tolerance = SYMMETRY_RTOL[W.dtype] * float(W.max(initial=0.0))
    step = max(1, CHUNK_BYTES // (8 * len(W)))
    for start in range(0, len(W), step):
        rows = slice(start, start + step)
        difference = np.abs(W[rows] - W[:, rows].T)
        if difference.max() > tolerance:
            i, j = np.unravel_index(int(difference.argmax()), difference.shape)
            a, b = int(i) + start, int(j)
            raise_asymmetric(a, b, float(W[a, b]), float(W[b, a]))
