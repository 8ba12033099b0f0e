"""Resampled data: bootstrap samples of columns or edges, subsamples of rows.

Points are in random order, so that ties, which a fit breaks by order, are broken at random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints
from ..similarity import Similarity
from ..similarity.blend import Blend
from ..similarity.graph import Graph


class Draw(NamedTuple):
    """Resampled rows or similarity, and the original number of each of its points."""

    data: Any
    points: Ints


def draw_columns(X: Any, rng: np.random.Generator) -> Draw:
    """Return d columns drawn with replacement (Felsenstein's bootstrap)."""
    n, d = X.shape
    points, columns = rng.permutation(n), rng.integers(d, size=d)
    return Draw(X[points][:, columns], points)


def draw_rows(data: Any, rng: np.random.Generator, share: float) -> Draw:
    """Return a share of the points of rows or a similarity, without replacement; at least two."""
    n = data.n if isinstance(data, Similarity) else data.shape[0]
    points = rng.permutation(n)[: max(min(2, n), round(share * n))]
    return Draw(data.subset(points) if isinstance(data, Similarity) else data[points], points)


def draw_edges(similarity: Graph | Blend, rng: np.random.Generator) -> Draw:
    """Return as many edges of the graph as it has, drawn with replacement; one drawn twice has twice its weight."""
    graph, points = similarity.local_part, rng.permutation(similarity.n)
    assert isinstance(graph, Graph)
    i, j, weights = graph.edges()
    times = np.bincount(rng.integers(len(weights), size=len(weights)), minlength=len(weights)) if len(weights) else i
    upper = sp.csr_array((weights * times, (i, j)), shape=(graph.n, graph.n))
    drawn = Graph(upper + upper.T, sizes=graph.sizes)
    resampled = Blend(drawn, similarity.background) if isinstance(similarity, Blend) else drawn
    return Draw(resampled.subset(points), points)
