"""Tree search: lower the Dasgupta cost of a tree, and insert points."""

from .._runtime.progress import Progress
from .insertion import insert
from .refine import refine

__all__ = ["Progress", "insert", "refine"]
