"""Legends of a clustermap: the colour bar of the table and the colours of the strips, beside the table or below it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from .._runtime.abbreviate import abbreviate
from .common import GREY_IS_MISSING, LINE_HEIGHT, SMALLEST_FONT, Groups, Scale
from .figure_style import LEGEND_LINE, font
from .glyphs import LONGEST_NAME, printable
from .table_axes import GAP, LETTER, USUAL_FONT, TableAxes

BAR = 9.0  # points: width of a colour bar
SCALE_LINES, SCALE_SHARE = 6, 0.18  # height of a colour bar, in lines and as a share of the table, at most
MOST_COLUMNS = 2  # of a legend beside a table; longer ones have a smaller font
LINE_SPACING = 0.85  # of further lines of a name, as a share of the lines of a legend
MOST_LINES = 3  # of a name: longer names are shortened
# Letters of a line of a name beside a table: the first that leaves room for the table.
LINE_LETTERS = (LONGEST_NAME, 22, 17)
LONGEST_SCALE_TITLE = len("z-score by column")


def wrap_names(names: Sequence[str], letters: int) -> list[str]:
    """Return names in lines of so many letters, shortened where they need more than ``MOST_LINES`` lines.

    Examples
    --------
    >>> wrap_names(["north", "a hospital of the south"], 12)
    ['north', 'a hospital\\nof the south']
    """
    texts = printable(abbreviate(names, MOST_LINES * letters), None)[0]
    return [text if len(text) <= letters else textwrap.fill(text, letters) for text in texts]


def _more_lines(text: str) -> float:
    """Return what the second and further lines of a text add to its height, in lines of a legend."""
    return LINE_SPACING * text.count("\n")


def _width(texts: Sequence[str], size: float) -> float:
    """Return the width of the widest line of these texts, in points."""
    return LETTER * size * max((len(line) for text in texts for line in text.split("\n")), default=0)


class _Strips:
    """The titles and entries of the legends of all strips, in lines of so many letters."""

    def __init__(self, strips: Sequence[Groups], letters: int) -> None:
        self.strips, self.letters = strips, letters
        self.titles = [wrap_names([groups.title], letters)[0] for groups in strips]
        self.entries = [
            [] if isinstance(groups, Scale) else groups.legend_entries(wrap_names(groups.names, letters))
            for groups in strips
        ]
        self.names = [[str(entry.get_label()) for entry in entries] for entries in self.entries]

    @property
    def shortened(self) -> bool:
        """Whether a name is longer than its lines."""
        texts = [name for groups in self.strips for name in (groups.title, *groups.names)]
        return any(len(text) > MOST_LINES * self.letters for text in texts)

    def lines(self, k: int, columns: int) -> float:
        """Return the height of a legend in so many columns, without its title, in lines."""
        parts = np.array_split(np.array([1 + _more_lines(name) for name in self.names[k]]), columns)
        return max(float(part.sum()) for part in parts)


class LegendsBeside:
    """Legends at the right of a table, if possible of at most this height and width; ``lacking`` is the height above it.

    Of the ways to wrap names and to place them in columns, the one with the largest font is chosen among those that are not
    too wide.
    """

    def __init__(self, strips: Sequence[Groups], height: float, width: float) -> None:
        usual, options = font(USUAL_FONT), []
        smallest = min(SMALLEST_FONT, usual)
        for found in (_Strips(strips, letters) for letters in LINE_LETTERS):
            for columns in range(1, MOST_COLUMNS + 1):
                wanted, lines = _n_lines(found, columns, height)
                size = max(smallest, min(usual, usual * max(1.0, lines) / wanted))
                lacking = max(0.0, 1.25 * LINE_HEIGHT * (wanted * size - lines * usual))
                options.append((found, columns, size, lacking, _needed_width(found, columns, size)))
        narrow = [option for option in options if option[4] <= width] or [min(options, key=lambda option: option[4])]
        self.strips, self.columns, self.size, self.lacking, self.width = max(narrow, key=lambda option: option[2])
        self.shortened = self.strips.shortened

    def draw(self, frame: TableAxes, picture: Any, label: str) -> None:
        """Draw legends from the top down: the scale of the table, then that of each strip."""
        x, y, line = frame.width + frame.right + GAP, frame.height, 1.25 * font(USUAL_FONT) * LINE_HEIGHT
        scale = min(SCALE_LINES * line, SCALE_SHARE * frame.height)
        bar = _bar(frame, (x, y), scale, label)
        frame.figure.colorbar(picture, cax=bar)
        if np.ma.getmaskarray(picture.get_array()).any():
            bar.set_xlabel(GREY_IS_MISSING, loc="left", fontsize=font(7.0))
        y -= scale + 3 * line
        found = self.strips
        for k, (groups, title) in enumerate(zip(found.strips, found.titles, strict=True)):
            more = _more_lines(title)
            if isinstance(groups, Scale):
                y -= more * line
                groups.colorbar(frame.figure, cax=_bar(frame, (x, y), scale, title), label="")
                y -= scale + 3 * line
            elif len(found.entries[k]) > 1:
                legend = _legend(frame, groups, title, found.entries[k], (x, y), self.columns, self.size)
                frame.ax.add_artist(legend)
                y -= (found.lines(k, self.columns) + more + 2) * 1.25 * self.size * LINE_HEIGHT


def _n_lines(found: _Strips, columns: int, height: float) -> tuple[float, float]:
    """Return the lines of all legends, and those for which this height in points has room beside titles and colour bars."""
    beside = [k for k, names in enumerate(found.names) if names]
    lines = height / (1.25 * font(USUAL_FONT) * LINE_HEIGHT)
    lines -= (min(SCALE_LINES, SCALE_SHARE * lines) + 3) * (1 + len(found.names) - len(beside))
    lines -= sum(map(_more_lines, found.titles))
    return max(1.0, sum(2 + found.lines(k, columns) for k in beside)), lines


def _needed_width(found: _Strips, columns: int, size: float) -> float:
    usual = font(USUAL_FONT)
    titles = max(_width(found.titles, usual), LETTER * usual * LONGEST_SCALE_TITLE)
    one = _width([name for names in found.names for name in names], size) + GAP + max(24.0, 3.0 * size)
    least = max(titles + GAP + 24.0, 70.0)
    return max(least, columns * one + (columns - 1) * 2.0 * size)  # matplotlib's space between columns


class LegendsBelow:
    """Legends below a narrow table, of this width in points."""

    def __init__(self, strips: Sequence[Groups], width: float) -> None:
        self.width, size = width, font(USUAL_FONT)
        self.strips = _Strips(strips, max(8, int((width - GAP - 3 * size) / (LETTER * size))))
        self.shortened = self.strips.shortened
        lines = [3, *(self._lines(k) + 2 for k in range(len(strips)))]
        self.height = LEGEND_LINE * size * sum(lines)

    def _columns(self, k: int) -> int:
        """Return the columns of a legend."""
        names, size = self.strips.names[k], font(USUAL_FONT)
        return min(max(1, int(self.width / (_width(names, size) + GAP + 3 * size))), len(names))

    def _lines(self, k: int) -> float:
        """Return the lines of a legend; those of a scale are its bar and its name."""
        more = _more_lines(self.strips.titles[k])
        return more + (self.strips.lines(k, self._columns(k)) if self.strips.names[k] else 2)

    def draw(self, frame: TableAxes, picture: Any, label: str) -> None:
        """Draw the scale of the table and the legends of the strips below the table and its names, from the top down."""
        line, found = LEGEND_LINE * font(USUAL_FONT), self.strips
        x, y = -frame.before, -(frame.below - self.height)
        frame.figure.colorbar(picture, cax=self._flat_bar(frame, (x, y), label), orientation="horizontal")
        y -= 3 * line
        for k, (groups, title) in enumerate(zip(found.strips, found.titles, strict=True)):
            if isinstance(groups, Scale):
                y -= _more_lines(title) * line
                bar = self._flat_bar(frame, (x, y), title)
                groups.colorbar(frame.figure, cax=bar, label="", orientation="horizontal")
                y -= 3 * line
            elif len(entries := found.entries[k]) > 1:
                columns = self._columns(k)
                frame.ax.add_artist(_legend(frame, groups, title, entries, (x, y), columns, font(USUAL_FONT)))
                y -= (self._lines(k) + 2) * line

    def _flat_bar(self, frame: TableAxes, corner: tuple[float, float], title: str) -> Axes:
        """Return axes for a horizontal colour bar, below its name."""
        line = LEGEND_LINE * font(USUAL_FONT)
        x = corner[0] + font(7.0)  # half of the first number stands to the left of the bar
        bar = frame.inset(x, corner[1] - 1.8 * line, 0.4 * self.width, 0.5 * line)
        bar.set_title(title, loc="left", fontsize=font(USUAL_FONT), pad=2.0, **printable([title], None)[1])
        bar.tick_params(labelsize=font(7.0), pad=1.0, length=2.0)
        return bar


Legends: TypeAlias = LegendsBeside | LegendsBelow


def _bar(frame: TableAxes, corner: tuple[float, float], height: float, title: str) -> Axes:
    """Return axes for a colour bar, below its name."""
    bar = frame.inset(corner[0], corner[1] - height - font(USUAL_FONT) * LINE_HEIGHT, BAR, height)
    bar.set_title(
        title, loc="left", fontsize=font(USUAL_FONT), pad=max(3.0, 0.4 * font(7.0)), **printable([title], None)[1]
    )
    bar.tick_params(labelsize=font(7.0))
    return bar


def _legend(
    frame: TableAxes,
    groups: Groups,
    title: str,
    entries: list[Line2D],
    corner: tuple[float, float],
    columns: int,
    size: float,
) -> Legend:
    letters: Any = {"family": printable(groups.names)[1]["fontfamily"], "size": size}
    style: Any = {"frameon": False, "alignment": "left", "borderaxespad": 0.0, "handletextpad": 0.2}
    style |= {
        "ncols": columns,
        "loc": "upper left",
        "bbox_to_anchor": (corner[0] / frame.width, corner[1] / frame.height),
    }
    texts = [str(entry.get_label()) for entry in entries]
    return Legend(
        frame.ax, entries, texts, title=title.replace("$", r"\$"), prop=letters, title_fontproperties=letters, **style
    )
