"""Any tree in, a tree of lower Dasgupta cost out."""

from .._runtime.progress import Progress
from .insertion import insert
from .refine import refine

__all__ = ["Progress", "insert", "refine"]
