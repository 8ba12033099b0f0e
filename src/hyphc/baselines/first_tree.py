"""The fastest tree of a similarity, from which searches start."""

from __future__ import annotations

from typing import Literal

from ..similarity import Similarity
from ..tree import Tree
from .agglomerate import agglomerated_tree
from .bisection import bisecting_kmeans
from .linkage import average_linkage

Quick = Literal["average linkage", "agglomeration along edges", "bisecting k-means"]

# Up to this many leaves of a graph the search ends as low from SciPy's average linkage, which need not be compiled.
FEW = 1_000


def quick_method(similarity: Similarity) -> Quick:
    """Return the method by which ``quick_tree`` builds the tree."""
    if not similarity.has_edges:
        return "bisecting k-means"
    return "average linkage" if similarity.n <= FEW else "agglomeration along edges"


def quick_tree(similarity: Similarity, n_jobs: int | None = -1) -> Tree:
    """Return a good tree that is made quickly, to start a search from; it need not have heights.

    Examples
    --------
    >>> from hyphc import as_similarity
    >>> quick_tree(as_similarity([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], "cosine")).cut(n_clusters=2)
    array([0, 0, 1])
    """
    method = quick_method(similarity)
    if method == "bisecting k-means":
        return bisecting_kmeans(similarity, n_jobs=n_jobs)
    return average_linkage(similarity) if method == "average linkage" else agglomerated_tree(similarity)
