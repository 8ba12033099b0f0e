"""Readers of points to cluster (tables, arrays, graphs), and readers and writers of trees (NPZ, Newick, JSON, linkage NPY)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .columns import ColumnsError
    from .points import Points
    from .read import read_points
    from .trees import match_leaves, read_tree, unique_names, write_tree

# Lazy imports: reading a tree does not load SciPy.
_HOME = {
    "ColumnsError": "columns",
    "Points": "points",
    "match_leaves": "trees",
    "read_points": "read",
    "read_tree": "trees",
    "unique_names": "trees",
    "write_tree": "trees",
}

__all__ = ["ColumnsError", "Points", "match_leaves", "read_points", "read_tree", "unique_names", "write_tree"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
