"""Similarities of all kinds behind one interface, and the metrics that build them from data."""

from .background import Background
from .base import Similarity
from .blend import Blend
from .build import SimilarityLike, as_similarity, check_similarity
from .dense import Dense
from .distances import similarity_from_distances
from .features import Features
from .graph import Graph
from .scaling import standardize, unit_rows

__all__ = [
    "Background",
    "Blend",
    "Dense",
    "Features",
    "Graph",
    "Similarity",
    "SimilarityLike",
    "as_similarity",
    "check_similarity",
    "similarity_from_distances",
    "standardize",
    "unit_rows",
]
