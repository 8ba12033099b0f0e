"""``Similarity``, the abstract base class of all kinds of similarity: w_ij ≥ 0 for i ≠ j.

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
from collections.abc import Callable, Iterator
from functools import singledispatch
from math import comb
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import CHUNK_BYTES, require_memory

if TYPE_CHECKING:
    from functools import _SingleDispatchCallable

T = TypeVar("T")

# Rounding makes (W + W.T) differ in the last digits when a product was computed in another order; more is a mistake.
SYMMETRY_RTOL = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-8}

# ⟨x, y⟩ of unit rows in float32 may exceed 1 by a few ulp: a similarity this far below 0, relative to the largest, is 0.
NEGATIVE_RTOL = 1e-6


class Similarity(ABC):
    """Non-negative similarities between ``n`` leaves, each standing for ``sizes[i]`` points.

    ``metric`` is the one that made it, and ``source`` the rows that the metric needs again for new points; both are None for a
    similarity made by hand. ``recall_`` is the share of true nearest neighbours that a search among the rows found.
    """

    is_sparse = False  # most pairs are 0, and only the others are stored
    has_edges = False  # there is a graph along whose edges leaves can be merged
    is_matrix = False  # scoring a tree reads n² numbers
    n_columns = 0  # numbers that a leaf carries and that a trial of the search reads
    metric: Any = None
    source: Any = None
    recall_: float = 1.0
    _index: Any = None  # of the source, for searches; made when first needed, and again after unpickling

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_index"}

    def __init__(self, n: int, sizes: npt.ArrayLike | None) -> None:
        if n < 1:
            raise ValueError("A similarity needs at least one point; got none.")
        self.n = n
        self.sizes = np.ones(n) if sizes is None else np.array(sizes, dtype=np.float64)
        if self.sizes.shape != (n,) or not (np.isfinite(self.sizes) & (self.sizes > 0)).all():
            raise ValueError(f"sizes must be {n} positive finite numbers, one for each leaf.")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the similarity matrix: (n, n)."""
        return self.n, self.n

    @abstractmethod
    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        """Return w_ij for arrays of leaves i and j; 0 where i = j."""

    @abstractmethod
    def rows(self, index: npt.ArrayLike) -> Floats:
        """Return the rows ``index`` of the similarity matrix, (len(index), n) float64, with zeros where i = j."""

    @abstractmethod
    def degrees(self) -> Floats:
        """Return Σ_j w_ij for each leaf, without n² memory for features and graphs."""

    @abstractmethod
    def maximum(self) -> float:
        """Return an upper bound on the largest similarity of two points: attained for matrices, by Cauchy–Schwarz for
        features."""

    @abstractmethod
    def subset(self, index: npt.ArrayLike) -> Self:
        """Return the similarity of the leaves ``index`` alone, of the same kind."""

    @abstractmethod
    def product(self, v: Floats) -> Floats:
        """Return W·v with a zero diagonal, without n² memory for features and graphs."""

    @abstractmethod
    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Self:
        """Return the similarity of sums of leaves: row g of ``mix`` (g, n) holds the multiplicity of each old leaf in new leaf
        g, which stands for ``sizes[g]`` points."""

    @abstractmethod
    def extended(self, rows: Any) -> Self:
        """Return the similarity of old and new points together.

        ``rows`` (k, d) of features, or (k, n) similarities to the old points; the new ones then have none among themselves.
        """

    @abstractmethod
    def signatures(self) -> Callable[[Ints], Any]:
        """Return a function from leaves to rows of a matrix, dense or sparse, that are equal just for twins
        (``fit.weighted_leaves.twins``)."""

    @abstractmethod
    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        """Return Σ w_ij over ordered pairs i ≠ j, i in one group and j in another or in the same: (n_groups, n_groups)."""

    @property
    def local_part(self) -> Similarity:
        """The part that describes neighbourhoods: the graph of a blend, otherwise the similarity itself."""
        return self

    def squared_distances(self) -> Similarity | None:
        """Return minus the squared distances of the points, as a similarity; None where there are no points in space."""
        return None

    def features(self) -> npt.NDArray[Any] | None:
        """Return the rows (n, d) behind the similarity, sums where leaves stand for several points; None where there are none."""
        return None

    @property
    def n_pairs(self) -> int:
        """Number of pairs that have a similarity."""
        return comb(self.n, 2)

    def range_of_leaves(self) -> float:
        """Return an upper bound on the difference between the similarities of two pairs of leaves, summed over all their
        points."""
        return self.maximum()

    def total(self) -> float:
        """Return Σ_{i<j} w_ij."""
        return float(self.degrees().sum() / 2)

    def block(self, index: npt.ArrayLike) -> Floats:
        """Return the square matrix of the leaves ``index``, (B, B) float64, zero on the diagonal."""
        index = np.asarray(index)
        return self.pairs(index[:, None], index[None, :])

    def blocks(self, parts: Ints) -> Floats:
        """Return the similarities within each of b blocks of m leaves, (b, m, m) float64; the diagonals are undefined."""
        return self.pairs(parts[:, :, None], parts[:, None, :])

    def reordered(self, leaves: Ints) -> tuple[Self, Ints]:
        """Return the similarity with its leaves in this order, where copying pays, and the order that was applied."""
        return self.subset(leaves), leaves

    def weighted_pairs(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield ordered pairs of positive similarity in chunks: arrays i, j and w."""
        for rows, weights in self.row_chunks():
            i, j = np.nonzero(weights > 0)
            yield i + rows.start, j, weights[i, j]

    def to_dense(self) -> Floats:
        """Return all similarities, (n, n) float64; raise MemoryError when they do not fit."""
        require_memory(8 * self.n**2, f"The {self.n} x {self.n} matrix", "use a subset or a neighbour graph")
        return self.rows(np.arange(self.n))

    def row_chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of rows and their similarities, about 64 MB at a time."""
        step = max(1, CHUNK_BYTES // (8 * self.n))
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            yield rows, self.rows(np.arange(rows.start, rows.stop))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n})"


def is_rounding(weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where a weight is negative by rounding alone, as (1 + cosine) / 2 of opposite rows can be."""
    return np.asarray((weights < 0) & (weights >= -NEGATIVE_RTOL * weights.max(initial=0.0)))


BY_KIND: dict[str, Any] = {}  # every function that is chosen by the kind of its first argument, by its full name


def by_kind(function: Callable[..., T]) -> _SingleDispatchCallable[T]:
    """Decorate a function to dispatch on the kind of similarity; the registry lists what a new kind must implement.

    The function itself serves kinds that register none.
    """
    chosen = singledispatch(function)
    BY_KIND[f"{function.__module__}.{function.__name__}"] = chosen
    return chosen
