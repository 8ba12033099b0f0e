"""The explorer: a tree as one self-contained HTML page."""

from .inline import Page
from .page import MAX_LEAVES, MAX_VALUES, explore

__all__ = ["MAX_LEAVES", "MAX_VALUES", "Page", "explore"]
