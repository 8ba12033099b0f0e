"""``Similarity``: what everything else asks of a similarity, whatever it is made of: w_ij ≥ 0 for i ≠ j.

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
        """An upper bound on the largest similarity of two points: attained for matrices, by Cauchy–Schwarz for features."""

    @abstractmethod
    def subset(self, index: npt.ArrayLike) -> Self:
        """The similarity of the leaves ``index`` alone, of the same kind."""

    @abstractmethod
    def product(self, v: Floats) -> Floats:
        """W·v with a zero diagonal, without n² memory for features and graphs."""

    @abstractmethod
    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Self:
        """Leaves that are the sums of leaves: row g of ``mix`` (g, n) says of which, how often; ``sizes`` are theirs."""

    @abstractmethod
    def extended(self, rows: Any) -> Self:
        """Old and new points together.

        ``rows`` (k, d) of features, or (k, n) similarities to the old points; the new ones then have none among themselves.
        """

    @abstractmethod
    def signatures(self) -> Callable[[Ints], Any]:
        """Leaves → rows of a matrix, dense or sparse, that are equal just for twins (``fit.weighted_leaves.twins``)."""

    @abstractmethod
    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        """Σ w_ij over ordered pairs i ≠ j, i in one group and j in another or in the same: (n_groups, n_groups)."""

    @property
    def local_part(self) -> Similarity:
        """The part that says what is near: of a blend its graph, otherwise all of it."""
        return self

    def squared_distances(self) -> Similarity | None:
        """Minus the squared distances of the points, as a similarity; None where there are no points in space."""
        return None

    def features(self) -> npt.NDArray[Any] | None:
        """The rows (n, d) behind the similarity, sums where leaves stand for several points; None where there are none."""
        return None

    @property
    def n_pairs(self) -> int:
        """Number of pairs that have a similarity."""
        return comb(self.n, 2)

    def range_of_leaves(self) -> float:
        """How much the similarities of two pairs of leaves, all their points counted, can differ at most."""
        return self.maximum()

    def total(self) -> float:
        """Σ_{i<j} w_ij."""
        return float(self.degrees().sum() / 2)

    def block(self, index: npt.ArrayLike) -> Floats:
        """The square matrix of the leaves ``index``, (B, B) float64, zero on the diagonal."""
        index = np.asarray(index)
        return self.pairs(index[:, None], index[None, :])

    def blocks(self, parts: Ints) -> Floats:
        """Similarities within each of b blocks of m leaves, (b, m, m) float64; what is on the diagonals means nothing."""
        return self.pairs(parts[:, :, None], parts[:, None, :])

    def reordered(self, leaves: Ints) -> tuple[Self, Ints]:
        """The leaves in this order, where it pays to copy them, and the order that was taken."""
        return self.subset(leaves), leaves

    def weighted_pairs(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Ordered pairs of positive similarity in chunks: arrays i, j and w."""
        for rows, weights in self.row_chunks():
            i, j = np.nonzero(weights > 0)
            yield i + rows.start, j, weights[i, j]

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


def is_rounding(weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where a weight is below 0 by rounding alone, as (1 + cosine) / 2 of opposite rows can be."""
    return np.asarray((weights < 0) & (weights >= -NEGATIVE_RTOL * weights.max(initial=0.0)))


BY_KIND: dict[str, Any] = {}  # every function that is chosen by the kind of its first argument, by its full name


def by_kind(function: Callable[..., T]) -> _SingleDispatchCallable[T]:
    """A function that each kind of similarity may have its own version of: the one table of what a new kind must bring.

    The function itself serves kinds that register none.
    """
    chosen = singledispatch(function)
    BY_KIND[f"{function.__module__}.{function.__name__}"] = chosen
    return chosen
