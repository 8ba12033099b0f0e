"""A neighbour graph plus a weak background: the graph describes neighbourhoods, the background orders merges of its
components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .background import Background
from .base import Similarity
from .graph import Graph


@dataclass(frozen=True)
class BlendRows:
    """New points for a blend: their edges (k, n) to the fitted points, and their features (k, d)."""

    edges: sp.csr_array[np.float64]
    features: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.features.shape[0], self.features.shape[1]

    def __getitem__(self, some: slice) -> BlendRows:
        return BlendRows(self.edges[some], self.features[some])


class Blend(Similarity):
    """w = graph + background, point by point: every sum over w is the sum of both.

    The similarities of the background add up to about 0, so those of far pairs are negative. A constant that every tree pays
    alike would make them positive and is left out of all that is reported.

    Parameters
    ----------
    graph : Graph
    background : Background
        Of the same leaves, with the same sizes.
    """

    has_edges = True

    def __init__(self, graph: Graph, background: Background) -> None:
        if graph.n != background.n or not np.array_equal(graph.sizes, background.sizes):
            raise ValueError(
                f"The graph has {graph.n} leaves and the background {background.n}; they must be the same."
            )
        super().__init__(graph.n, graph.sizes)
        self.graph, self.background = graph, background

    @property
    def parts(self) -> tuple[Graph, Background]:
        """The two summands."""
        return self.graph, self.background

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Number of values stored for a leaf: the background's columns."""
        return self.background.n_columns

    @property
    def recall_(self) -> float:  # type: ignore[override]
        """Fraction of true nearest neighbours that the graph holds."""
        return self.graph.recall_

    @property
    def local_part(self) -> Graph:
        return self.graph

    def squared_distances(self) -> Background:
        return self.background.squared_distances()

    @property
    def n_pairs(self) -> int:
        return self.graph.n_pairs

    def features(self) -> npt.NDArray[Any]:
        return self.background.X

    def pairs(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Floats:
        return self.graph.pairs(i, j) + self.background.pairs(i, j)

    def rows(self, index: npt.ArrayLike) -> Floats:
        return self.graph.rows(index) + self.background.rows(index)

    def blocks(self, parts: Ints) -> Floats:
        return self.graph.blocks(parts) + self.background.blocks(parts)

    def degrees(self) -> Floats:
        return self.graph.degrees() + self.background.degrees()

    def maximum(self) -> float:
        return self.graph.maximum() + self.background.maximum()

    def product(self, v: Floats) -> Floats:
        return self.graph.product(v) + self.background.product(v)

    def subset(self, index: npt.ArrayLike) -> Blend:
        return Blend(self.graph.subset(index), self.background.subset(index))

    def combined(self, mix: sp.csr_array[np.float64], sizes: Floats) -> Blend:
        return Blend(self.graph.combined(mix, sizes), self.background.combined(mix, sizes))

    def extended(self, rows: BlendRows) -> Blend:
        return Blend(self.graph.extended(rows.edges), self.background.extended(rows.features))

    def range_of_leaves(self) -> float:
        return self.graph.range_of_leaves() + self.background.range_of_leaves()

    def signatures(self) -> Callable[[Ints], Any]:
        graph, background = self.graph.signatures(), self.background.signatures()
        return lambda index: sp.csr_array(sp.hstack([graph(index), sp.csr_array(background(index))]))

    def group_sums(self, group: Ints, n_groups: int) -> Floats:
        return self.graph.group_sums(group, n_groups) + self.background.group_sums(group, n_groups)
