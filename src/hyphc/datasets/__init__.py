"""Data sets of the paper, and synthetic planted hierarchies."""

from .catalogue import Dataset
from .load import load, names, paper_similarity
from .planted import planted, planted_graph

__all__ = ["Dataset", "load", "names", "paper_similarity", "planted", "planted_graph"]
