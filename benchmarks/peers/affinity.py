"""Affinity clustering (Bateni et al. 2017): rounds of Borůvka's algorithm, each cluster joining the one nearest to it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hyphc import Tree
from hyphc.similarity import Similarity

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def affinity(similarity: Similarity) -> Tree:
    """Clusters of a round are joined along their strongest edges, the strongest first: O(n²) a round, about log₂ n rounds."""
    n = similarity.n
    group = np.arange(n)  # cluster of each point
    forest = _Forest(n)
    while forest.n_merges < n - 1:
        weight, partner = _strongest_edges(similarity, group)
        first = _strongest_of_each_group(weight, group)
        # equal weights may close a cycle: the forest refuses the edge that would
        for i in first[np.argsort(-weight[first], kind="stable")]:
            forest.join(int(i), int(partner[i]))
        group = forest.groups()
        forest.round += 1
    return Tree(np.array(forest.children).reshape(-1, 2), np.array(forest.heights))


def _strongest_edges(similarity: Similarity, group: Ints) -> tuple[Floats, Ints]:
    """For each point: the largest similarity to a point of another cluster, and that point."""
    weight, partner = np.empty(similarity.n), np.empty(similarity.n, dtype=np.int64)
    for rows, weights in similarity.row_chunks():
        weights = np.where(group[rows, None] == group[None, :], -1.0, weights)
        partner[rows] = weights.argmax(axis=1)
        weight[rows] = weights.max(axis=1)
    return weight, partner


def _strongest_of_each_group(weight: Floats, group: Ints) -> Ints:
    """The point of each cluster that has its strongest edge."""
    order = np.lexsort((np.arange(len(group)), -weight, group))
    return order[np.unique(group[order], return_index=True)[1]]


class _Forest:
    """Merges so far, with union and find over points."""

    def __init__(self, n: int) -> None:
        self._above = np.arange(n)
        self._node = np.arange(n)  # node of the tree at each set's representative
        self._n, self.round = n, 1
        self.children: list[tuple[int, int]] = []
        self.heights: list[float] = []

    @property
    def n_merges(self) -> int:
        return len(self.children)

    def find(self, i: int) -> int:
        while self._above[i] != i:
            self._above[i] = self._above[self._above[i]]
            i = int(self._above[i])
        return i

    def join(self, i: int, j: int) -> None:
        a, b = self.find(i), self.find(j)
        if a != b:
            self.children.append((int(self._node[a]), int(self._node[b])))
            self.heights.append(float(self.round))
            self._above[b] = a
            self._node[a] = self._n + self.n_merges - 1

    def groups(self) -> Ints:
        return np.array([self.find(i) for i in range(self._n)])
