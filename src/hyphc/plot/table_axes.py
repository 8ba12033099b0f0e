"""The axes of a table and the space around it for its tree, names and legends, in points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .common import apply_layout
from .figure_style import font, inches_of, longest_name
from .glyphs import LONGEST_NAME

USUAL_FONT = 8.0
LETTER = 0.62  # width of a letter, as a share of the font's size
GAP = 5.0  # points between parts
# Shares of the width: of the tree, of the narrowest tree, of the narrowest table (of the height too).
TREE, LEAST_TREE, LEAST_TABLE = 0.2, 0.12, 0.2


def name_length(names: Sequence[str]) -> float:
    """Return the length of the longest name as it is written, in points."""
    return LETTER * font(USUAL_FONT) * min(longest_name(LONGEST_NAME), max(map(len, names), default=0)) + GAP


def room_of(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of axes in points, once the layout is applied."""
    apply_layout(ax)
    room, (width, height) = ax.get_position(), inches_of(ax.figure)
    return 72.0 * room.width * width, 72.0 * room.height * height


class TableAxes:
    """The axes of the table and the space around it, in points; the tree gets narrower where the table would."""

    def __init__(self, ax: Axes, *, left: float, above: float, below: float, right: float, legends: float) -> None:
        apply_layout(ax)
        figure: Any = ax.figure
        self.figure = figure
        room, scale = ax.get_position(), 72.0 * np.array(inches_of(figure))
        width, height = room.width * scale[0], room.height * scale[1]
        self.ax, self.right, self.below = ax, right, below
        rest = width - left - right - legends
        self.tree = float(np.clip(rest - LEAST_TABLE * width, LEAST_TREE * width, TREE * width))
        before = self.before = self.tree + left - 2 * GAP
        self.whole = width
        self.width = max(rest - self.tree, LEAST_TABLE * width)
        self.height = max(height - above - below, LEAST_TABLE * height)
        corner = room.x0 + before / scale[0], room.y0 + below / scale[1]
        ax.set_position((*corner, self.width / scale[0], self.height / scale[1]))

    def inset(self, x: float, y: float, width: float, height: float) -> Axes:
        """Return axes whose corner lies at (x, y) from that of the table."""
        return self.ax.inset_axes((x / self.width, y / self.height, width / self.width, height / self.height))
