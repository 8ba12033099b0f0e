"""Search over trees: subtrees pruned and regrafted. What depends on the kind of similarity is in one file a kind."""

from . import blend, dense, features, graph

__all__ = ["blend", "dense", "features", "graph"]
