"""What is clustered: similarities of all kinds behind one interface."""

from .build import SimilarityLike, as_similarity, check_similarity, similarity_from_distances, standardize, unit_rows
from .kinds import Dense, Features, Graph, Similarity

__all__ = [
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
