"""Any tree in, a tree of lower Dasgupta cost out."""

from .._shared.progress import Progress
from .insertion import insert
from .stages import refine

__all__ = ["Progress", "insert", "refine"]
