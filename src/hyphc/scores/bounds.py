"""Triplet bounds on the cost of every tree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._kernels.scores import triplets as kernels
from .._runtime.arrays import Floats, Ints
from .._runtime.parallel import thread_map
from ..similarity import Graph, Similarity, SimilarityLike, check_similarity
from ..similarity.base import by_kind
from .costs import Units, in_units

EXACT_UP_TO = 2_500  # points: 2.6e9 triplets, about two seconds on two cores
DEFAULT_SAMPLE = 1_000_000  # triplets: standard errors of a few hundredths of a per cent, in about a second
ERRORS = 3.0  # standard errors: an estimate that is not larger is an estimate of nothing


@dataclass(frozen=True)
class CostBounds:
    """Bounds on Dasgupta's cost that hold for every binary tree, in the units asked for.

    ``lower_error`` and ``upper_error`` are standard errors of the estimates; both are 0 when the bounds are exact.
    """

    lower: float
    upper: float
    lower_error: float = 0.0
    upper_error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether every triplet was counted."""
        return self.lower_error == 0.0 and self.upper_error == 0.0

    @property
    def lower_certified(self) -> bool:
        """Whether the lower bound says something: it is not negative and, as an estimate, above 0 by some standard errors."""
        return self.lower >= 0.0 and (self.lower_error == 0.0 or self.lower > ERRORS * self.lower_error)

    @property
    def upper_certified(self) -> bool:
        """Whether the upper bound says something: as an estimate, it is more than some standard errors."""
        return self.upper_error == 0.0 or self.upper > ERRORS * self.upper_error


def cost_bounds(
    similarity: SimilarityLike,
    *,
    units: Units = "pairs",
    n_triplets: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = -1,
) -> CostBounds:
    """Return triplet bounds on the cost of every binary tree.

    C(T) = Σ_{i<j<k} (w_ij + w_ik + w_jk − w_ijk(T)) + 2·Σ_{i<j} w_ij, where w_ijk(T) is the similarity of the pair that T joins
    first. The largest of the three in its place bounds C from below, the smallest from above.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix; every leaf a single point
    units : as in ``dasgupta_cost``
    n_triplets : int, optional
        Estimate from so many random triplets. Default: exact for graphs of any size (O(edges^1.5) time) and up to 2 500 points
        otherwise (O(n³) time), above that from 1 000 000 triplets.
    random_state : int, RandomState or None
        Draws the triplets.
    n_jobs : int or None
        Threads of the exact sum; the result does not depend on it.

    Examples
    --------
    >>> cost_bounds([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    CostBounds(lower=15.0, upper=17.0, lower_error=0.0, upper_error=0.0)
    """
    similarity = check_similarity(similarity)
    if (similarity.sizes != 1).any():
        raise ValueError("cost_bounds takes leaves that are single points; expand weighted leaves first.")
    if n_triplets is not None and n_triplets < 2:
        raise ValueError(f"n_triplets={n_triplets} gives no standard error; choose n_triplets >= 2.")
    exact = n_triplets is None and (similarity.is_sparse or similarity.n <= EXACT_UP_TO)
    if similarity.n < 3 or exact:
        low, high = exact_extremes(similarity, n_jobs) if similarity.n > 2 else (0.0, 0.0)
        low_error = high_error = 0.0
    else:
        low, high, low_error, high_error = _sampled_extremes(similarity, n_triplets or DEFAULT_SAMPLE, random_state)
    # each pair lies in n − 2 triplets, and twice more in the pair term
    everything = similarity.n * similarity.total()
    values = (everything - high, everything - low, high_error, low_error)
    return CostBounds(*(in_units(value, similarity, units) if value else 0.0 for value in values))


@by_kind
def exact_extremes(similarity: Similarity, n_jobs: int | None) -> tuple[float, float]:
    """Return Σ over triplets of the smallest and of the largest of three similarities."""
    W = similarity.to_dense()
    # chunks of about equal work: rows up to i hold i³/6 triplets
    edges = (similarity.n * np.linspace(0, 1, 65) ** (1 / 3)).astype(np.int64)
    parts = thread_map(lambda rows: kernels.matrix_extremes(W, *rows), pairwise(edges.tolist()), n_jobs)
    smallest, largest = np.sum(parts, axis=0)
    return float(smallest), float(largest)


@exact_extremes.register
def _(graph: Graph, n_jobs: int | None) -> tuple[float, float]:
    """Use max(a, b, c) = a + b + c − (minima of pairs) + min(a, b, c): only wedges and triangles need to be visited."""
    triangles = kernels.triangle_minima(*_later_neighbours(graph))
    wedges = _wedge_minima(graph)
    return triangles, (graph.n - 2) * graph.total() - wedges + triangles


def _later_neighbours(graph: Graph) -> tuple[Ints, npt.NDArray[np.int32], Floats]:
    """Return each edge from its end of lower degree to the other, so that no row is longer than √(2·edges)."""
    by_degree = np.argsort(np.diff(graph.indptr), kind="stable")
    upper = sp.csr_array(sp.triu(graph.to_csr()[by_degree][:, by_degree], k=1, format="csr"))
    return upper.indptr.astype(np.int64), upper.indices.astype(np.int32), upper.data


def _wedge_minima(graph: Graph) -> float:
    """Return Σ over pairs of edges with a common end of the smaller weight: in a row sorted downwards, entry r counts r times."""
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    descending = graph.data[np.lexsort((-graph.data, row))]
    rank = np.arange(len(row)) - np.repeat(graph.indptr[:-1], np.diff(graph.indptr))
    return float(rank @ descending)


def _sampled_extremes(
    similarity: Similarity, n_triplets: int, random_state: int | np.random.RandomState | None
) -> tuple[float, float, float, float]:
    """Return estimates of Σ min and Σ max over all triplets, and their standard errors."""
    i, j, k = _distinct_triplets(similarity.n, n_triplets, check_random_state(random_state))
    weights = np.stack([similarity.pairs(i, j), similarity.pairs(i, k), similarity.pairs(j, k)])
    scale = comb(similarity.n, 3)
    smallest, largest = weights.min(axis=0), weights.max(axis=0)
    errors = (scale * float(values.std(ddof=1)) / n_triplets**0.5 for values in (smallest, largest))
    return scale * float(smallest.mean()), scale * float(largest.mean()), *errors


def _distinct_triplets(n: int, n_triplets: int, rng: np.random.RandomState) -> tuple[Ints, Ints, Ints]:
    """Return uniform triplets of three different points."""
    i = rng.randint(n, size=n_triplets)
    j = rng.randint(n - 1, size=n_triplets)
    j += j >= i
    k = rng.randint(n - 2, size=n_triplets)
    low, high = np.minimum(i, j), np.maximum(i, j)
    k += k >= low
    k += k >= high
    return i, j, k
