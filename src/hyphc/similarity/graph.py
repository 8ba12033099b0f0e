"""A sparse graph of similarities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import require_finite_entries, require_summable
from .base import SYMMETRY_RTOL, Similarity, is_rounding
from .local_density import LocalDensity
from .symmetrize import require_symmetric, symmetrise


class Graph(Similarity):
    """A sparse symmetric matrix: both directions stored, no diagonal, absent edges are 0. It need not be connected.

    ``directed`` says how a matrix with two weights for a pair becomes symmetric: "sum", "max" or "mean" of both; None refuses
    it. Entries that a sparse matrix holds several times are summed. ``local_density`` is known where the graph was made of rows.
    """

    is_sparse = has_edges = True
    local_density: LocalDensity | None = None

    def __init__(self, adjacency: Any, *, sizes: npt.ArrayLike | None = None, directed: str | None = None) -> None:
        matrix = sp.csr_array(adjacency, dtype=np.float64, copy=True)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"A graph's matrix must be square; got shape {matrix.shape}.")
        matrix.sum_duplicates()
        require_finite_entries(matrix, "w")
        matrix = _without_rounding(sp.csr_array(matrix - sp.diags_array(matrix.diagonal())))
        matrix = sp.csr_array(symmetrise(matrix, directed))
        matrix.sort_indices()
        require_symmetric(matrix, SYMMETRY_RTOL[np.dtype(np.float64)] * float(matrix.data.max(initial=0.0)))
        require_summable(float(matrix.data.max(initial=0.0)), matrix.shape[0], "Weights of edges")
        self._store(matrix, sizes)

    @classmethod
    def _unchecked(cls, matrix: sp.csr_array[np.float64], sizes: Floats) -> Graph:
        """Build a graph from the matrix of another: symmetric, without a diagonal, not checked again."""
        graph = cls.__new__(cls)
        matrix.sort_indices()
        graph._store(matrix, sizes)
        return graph

    def _store(self, matrix: sp.csr_array[np.float64], sizes: npt.ArrayLike | None) -> None:
        super().__init__(matrix.shape[0], sizes)
        self.indptr = matrix.indptr.astype(np.int64)
        self.indices = matrix.indices.astype(np.int32)
        self.data = matrix.data

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.data) // 2

    def to_csr(self) -> sp.csr_array[np.float64]:
        """Return the graph as a SciPy CSR array that shares its memory."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=(self.n, self.n))

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """Return each undirected edge once: arrays i < j and w."""
        i = np.repeat(np.arange(self.n), np.diff(self.indptr))
        once = i < self.indices
        return i[once], self.indices[once].astype(np.int64), self.data[once]

    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        i, j = np.broadcast_arrays(i, j)
        if i.size == 0:
            return np.zeros(i.shape)
        picked: Any = self.to_csr()[i.ravel(), j.ravel()]
        if hasattr(picked, "toarray"):  # newer releases of SciPy return a sparse array
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
        return Graph._unchecked(self.to_csr()[index][:, index], self.sizes[index])

    @property
    def n_pairs(self) -> int:
        return self.n_edges

    def product(self, v: Floats) -> Floats:
        return np.asarray(self.to_csr() @ v)

    def weighted_pairs(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        yield np.repeat(np.arange(self.n), np.diff(self.indptr)), self.indices.astype(np.int64), self.data

    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Graph:
        upper = sp.triu(mix @ self.to_csr() @ mix.T, 1, format="csr")
        return Graph._unchecked(upper + upper.T, sizes)

    def extended(self, rows: Any) -> Graph:
        across = self.edges_of_new(rows)
        sizes = np.append(self.sizes, np.ones(across.shape[0]))
        whole: Any = sp.block_array([[self.to_csr(), across.T], [across, None]], format="csr")
        return Graph._unchecked(sp.csr_array(whole, dtype=np.float64), sizes)

    def edges_of_new(self, rows: Any) -> sp.csr_array[np.float64]:
        """Return the edges (k, n) of k new points to the leaves, from the similarities ``rows`` to single points of theirs."""
        across: sp.csr_array[np.float64] = sp.csr_array(rows, dtype=np.float64) @ sp.diags_array(self.sizes)
        across.sum_duplicates()
        require_finite_entries(across, "w")
        across = _without_rounding(across)
        require_summable(float(across.data.max(initial=0.0)), self.n + across.shape[0], "Weights of edges")
        return across

    def signatures(self) -> Callable[[Ints], Any]:
        inverse = 1.0 / self.sizes
        data = np.repeat(inverse, np.diff(self.indptr)) * self.data * inverse[self.indices]
        matrix = sp.csr_array((data, self.indices, self.indptr), shape=(self.n, self.n))
        largest = np.asarray(matrix.max(axis=1).toarray()).ravel()
        complete = sp.csr_array(matrix + sp.diags_array(largest))
        return lambda index: complete[index]

    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        rows = np.repeat(group, np.diff(self.indptr))
        flat = np.bincount(rows * n_groups + group[self.indices], self.data, minlength=n_groups**2)
        return np.asarray(flat, dtype=np.float64).reshape(n_groups, n_groups)


def _without_rounding(matrix: sp.csr_array[np.float64]) -> sp.csr_array[np.float64]:
    """Return a matrix without zeros and rounding errors; raise if a weight is negative."""
    matrix.data[is_rounding(matrix.data)] = 0.0
    matrix.eliminate_zeros()
    _require_non_negative(matrix)
    return matrix


def _require_non_negative(matrix: sp.csr_array[np.float64]) -> None:
    if matrix.nnz and matrix.data.min() < 0:
        e = int(matrix.data.argmin())
        i = int(np.searchsorted(matrix.indptr, e, side="right")) - 1
        raise ValueError(f"Edge ({i}, {matrix.indices[e]}) has weight {matrix.data[e]:.6g}; weights are >= 0.")
