"""Rooted binary trees: the object, its cuts and orders, its text forms, distances between two."""

from .core import Tree, TreeLike, as_tree
from .prunings import cut_scores

__all__ = ["Tree", "TreeLike", "as_tree", "cut_scores"]
