"""Any tree in, a tree of lower Dasgupta cost out."""

from .insertion import insert
from .run import Progress
from .stages import refine

__all__ = ["Progress", "insert", "refine"]
