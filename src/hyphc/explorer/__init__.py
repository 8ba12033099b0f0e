"""A tree as one HTML page that opens in any browser, without a network."""

from .inline import Page
from .page import MAX_LEAVES, MAX_VALUES, explore

__all__ = ["MAX_LEAVES", "MAX_VALUES", "Page", "explore"]
