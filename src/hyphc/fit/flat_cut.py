"""Which flat clusters are cut from a tree: the parameters of the cut, checked and applied."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from .._runtime.arrays import Ints
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

    def find_clusters(self, tree: Tree, n_found: int | None = None) -> FlatClusters:
        """Return ``n_clusters`` flat clusters, else those that the tree carries, else the possible number next to ``n_found``."""
        if self.distance_threshold is not None:
            return flat_clusters(tree, height=float(np.nextafter(self.distance_threshold, -np.inf)))
        require_size(tree, self.min_size)
        if self.n_clusters is None and tree.found_splits is not None:
            return own_clusters(tree, self.criterion, self.min_size)
        n_clusters = (
            self.n_clusters if n_found is None else nearest_possible(tree, n_found, self.criterion, self.min_size)
        )
        return flat_clusters(tree, n_clusters, self.criterion, self.min_size)

    def label_points(self, clusters: FlatClusters) -> Ints:
        """Return the cluster of each leaf, −1 for outliers if ``outliers="label"``."""
        return np.where(clusters.joined, -1, clusters.labels) if self.outliers == LABEL else clusters.labels
