"""Data drawn anew, as they might have come out: columns, rows or edges of a graph.

Points come in random order, so that equal points and other ties, which a fit breaks by their order, are broken by chance.
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
    """What a fit is given, rows or a similarity, and which point each of its leaves is."""

    data: Any
    points: Ints


def draw_columns(X: Any, rng: np.random.Generator) -> Draw:
    """As many columns as there are, drawn with replacement (Felsenstein's bootstrap)."""
    n, d = X.shape
    points, columns = rng.permutation(n), rng.integers(d, size=d)
    return Draw(X[points][:, columns], points)


def draw_rows(data: Any, rng: np.random.Generator, share: float) -> Draw:
    """This share of the points, of rows or of a similarity, without replacement; at least two."""
    n = data.n if isinstance(data, Similarity) else data.shape[0]
    points = rng.permutation(n)[: max(min(2, n), round(share * n))]
    return Draw(data.subset(points) if isinstance(data, Similarity) else data[points], points)


def draw_edges(similarity: Graph | Blend, rng: np.random.Generator) -> Draw:
    """As many edges of the graph as there are, drawn with replacement: one that is drawn twice counts twice."""
    graph, points = similarity.local_part, rng.permutation(similarity.n)
    assert isinstance(graph, Graph)
    i, j, weights = graph.edges()
    times = np.bincount(rng.integers(len(weights), size=len(weights)), minlength=len(weights)) if len(weights) else i
    upper = sp.csr_array((weights * times, (i, j)), shape=(graph.n, graph.n))
    drawn = Graph(upper + upper.T, sizes=graph.sizes)
    whole = Blend(drawn, similarity.background) if isinstance(similarity, Blend) else drawn
    return Draw(whole.subset(points), points)
