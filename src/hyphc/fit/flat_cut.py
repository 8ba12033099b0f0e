"""Flat clusters of a tree: parameters of the cut, their validation, the number of clusters, and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._runtime.arrays import Ints
from ..scores.cluster_number import ClusterNumber, number_of_clusters
from ..similarity import Similarity
from ..tree import Tree
from ..tree.condense import FlatClusters
from ..tree.prunings import CONDENSED, flat_clusters, nearest_possible, own_clusters, require_size
from .parameter_checks import JOIN, LABEL


@dataclass(frozen=True)
class FlatCut:
    """Parameters that decide which flat clusters are cut from a tree, as in ``HypHC``."""

    n_clusters: int | None = None
    distance_threshold: float | None = None
    criterion: str = CONDENSED
    min_size: float | None = None
    outliers: str = JOIN

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> FlatCut:
        """Return the cut that an estimator's parameters describe."""
        given = {field.name: parameters[field.name] for field in fields(cls)}
        if isinstance(given["n_clusters"], str):  # "auto", the only word that is allowed
            given["n_clusters"] = None
        return cls(**given)

    def check(self, n: int) -> None:
        """Raise for clusters that no tree of n points has, and for settings that would be ignored."""
        if self.distance_threshold is None:
            if self.n_clusters is not None and not 1 <= self.n_clusters <= n:
                raise ValueError(
                    f"n_clusters={self.n_clusters} is not between 1 and the {n} points; choose one that is."
                )
            return
        if self.n_clusters is not None:
            raise ValueError("Give n_clusters or distance_threshold, not both.")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("distance_threshold", "outliers") and value != field.default:
                raise ValueError(
                    f"{field.name}={value!r} goes with a number of clusters, not with distance_threshold; leave it out."
                )

    def require_rows(self, similarity: Similarity) -> None:
        """Raise for a criterion that needs rows if the similarity has none."""
        if self.criterion == "sse" and similarity.squared_distances() is None:
            raise ValueError(
                f"criterion='sse' needs rows of single points; {similarity!r} has none: choose 'dasgupta'."
            )

    def find_number(self, similarity: Similarity, tree: Tree) -> tuple[ClusterNumber | None, Tree]:
        """Return the number of clusters, None if it is given, and the tree that carries the splits found."""
        is_given = self.n_clusters is not None or self.distance_threshold is not None
        if is_given and self.criterion != CONDENSED:
            return None, tree
        number = number_of_clusters(similarity, tree, self.min_size)
        if self.criterion == CONDENSED:
            order = np.zeros(tree.n_leaves - 1, dtype=np.int64)
            order[number.splits] = np.arange(1, len(number.splits) + 1)
            tree = tree.with_found_splits(order)
        return None if is_given else number, tree

    def find_clusters(self, tree: Tree, n_found: int | None = None) -> FlatClusters:
        """Return ``n_clusters`` flat clusters, else those that the tree carries, else the possible number next to ``n_found``."""
        if self.distance_threshold is not None:
            return flat_clusters(tree, height=float(np.nextafter(self.distance_threshold, -np.inf)))
        require_size(tree, self.min_size)
        if self.n_clusters is None and tree.found_splits is not None:
            return own_clusters(tree, self.criterion, self.min_size)
        n_clusters = self.n_clusters
        if n_found is not None:
            n_clusters = nearest_possible(tree, n_found, self.criterion, self.min_size)
        return flat_clusters(tree, n_clusters, self.criterion, self.min_size)

    def label_points(self, clusters: FlatClusters) -> Ints:
        """Return the cluster of each leaf, −1 for outliers if ``outliers="label"``."""
        return np.where(clusters.joined, -1, clusters.labels) if self.outliers == LABEL else clusters.labels
