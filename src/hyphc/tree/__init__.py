"""Rooted binary trees: the object, its cuts and orders, its text forms, distances between two."""

from .core import Tree, TreeLike, as_tree

__all__ = ["Tree", "TreeLike", "as_tree"]
