"""Size, fonts and colours of figures for journals and slides, and files with editable text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib
import numpy as np
from matplotlib.colors import is_color_like, to_rgb

from .._runtime import palette as default_palette
from .._runtime.arrays import Floats
from .._runtime.atomic_write import atomic_write
from .._runtime.user_warnings import warn
from .._runtime.validation import require_choice

MM_PER_INCH = 25.4
UNITS = {"mm": 1.0, "cm": 10.0, "in": MM_PER_INCH, "pt": MM_PER_INCH / 72.0}
FORMATS = ("pdf", "svg", "png")
# Fonts as TrueType outlines (Type 42), which journals ask for instead of Type 3; text of SVG files as <text>.
EDITABLE_TEXT: Any = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "hyphc"}
PNG_DPI = 300
SMALLEST_SIDE, LARGEST_SIDE = 20.0, 2000.0  # mm: below there is no room for axes, above no paper
FONT_SIZES = (3.0, 72.0)  # points
TALLEST = 235.0  # mm: the text of an A4 page; more lines are thinned, which the picture says
# Below this width the legend stands under the picture: beside it there would be little room for the tree.
NARROW = 130.0
# Parts of a figure drawn for the screen are smaller in a narrower one; their sizes are meant for this width.
USUAL_WIDTH = 180.0
# Sides in units of the font size below which axes, their names and a legend leave no room for each other.
LEAST_FONTS = (15.0, 10.0)
LETTER_WIDTH, NAME_SHARE = 0.62, 0.35  # of the font size; of the width, that of a name
LEGEND_LINE = 1.5  # height of a row of a legend, times the font size
CLIPPED = 0.02  # inches outside the sheet that show no loss

Length: TypeAlias = float | str
Colors: TypeAlias = str | Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class FigureStyle:
    """Width and height in mm, font size in points, and colours; a height of None follows from what is drawn."""

    width: float
    height: float | None
    font_size: float
    palette: Colors | None = None
    colors: Mapping[str, Colors] = field(default_factory=dict)


PRESETS = {
    "one-column": FigureStyle(85.0, None, 7.0),
    "two-columns": FigureStyle(180.0, None, 7.0),
    "slide": FigureStyle(320.0, 180.0, 14.0),
}
_CURRENT: ContextVar[FigureStyle | None] = ContextVar("hyphc figure style", default=None)


@contextmanager
def figure_style(
    preset: str | None = None,
    *,
    width: Length | None = None,
    height: Length | None = None,
    font_size: float | None = None,
    palette: Colors | None = None,
    colors: Mapping[str, Colors] | None = None,
) -> Iterator[FigureStyle]:
    """Draw the figures of a ``with`` block at a given size, with given fonts and colours.

    Parameters
    ----------
    preset : {"one-column", "two-columns", "slide"}, optional
        85 mm and 180 mm wide with a font of 7 points, or 320 mm by 180 mm with 14 points. Default: "two-columns".
    width, height : float or str, optional
        Millimetres, or a text with a unit: "85mm", "8.5cm", "3.3in", "240pt". Default: the preset's; a height that the preset
        lacks follows from what is drawn, up to 235 mm.
    font_size : float, optional
        Points. Names of leaves may be smaller, down to 5 points, where there are many.
    palette : sequence of colours, mapping or name of a matplotlib colormap, optional
        Colours of clusters, or of labels where a picture shows them. A mapping gives a colour for each class by its name.
        Default: colours that colour-blind readers tell apart.
    colors : mapping, optional
        The same for single columns of labels and annotations, by their names: ``{"site": {"north": "teal"}, "dose": "viridis"}``.

    Yields
    ------
    FigureStyle

    Notes
    -----
    Sizes apply to figures that plots create; axes given as ``ax`` keep their own. Files that matplotlib saves within the block
    have fonts of Type 42 and SVG text, as those of ``save_figure``.

    Examples
    --------
    >>> import hyphc
    >>> with hyphc.plot.figure_style("one-column", height="60mm") as style:
    ...     ax = hyphc.plot.dendrogram(hyphc.Tree([[0, 1], [2, 3]]))
    >>> [round(25.4 * side, 6) for side in ax.figure.get_size_inches().tolist()]
    [85.0, 60.0]
    """
    style = make_style(preset, width, height, font_size, palette, colors)
    sizes = ("axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
    fonts: Any = {"font.size": style.font_size, "figure.titlesize": style.font_size + 1.0}
    fonts |= dict.fromkeys((*sizes, "legend.title_fontsize"), style.font_size)
    token = _CURRENT.set(style)
    try:
        with matplotlib.rc_context({**EDITABLE_TEXT, **fonts}):
            yield style
    finally:
        _CURRENT.reset(token)


def make_style(
    preset: str | None,
    width: Length | None,
    height: Length | None,
    font_size: float | None,
    palette: Colors | None,
    colors: Mapping[str, Colors] | None,
) -> FigureStyle:
    """Return the preset with the values given, checked."""
    if preset is not None:
        require_choice("preset", preset, PRESETS)
    style = PRESETS[preset or "two-columns"]
    if width is not None:
        style = replace(style, width=_side("width", width), height=None if preset is None else style.height)
    if height is not None:
        style = replace(style, height=_side("height", height))
    if font_size is not None:
        low, high = FONT_SIZES
        if not low <= font_size <= high:
            raise ValueError(
                f"font_size={font_size} is not between {low:g} and {high:g} points; choose 5 to 9 for a journal."
            )
        style = replace(style, font_size=float(font_size))
    if palette is not None:
        check_colors("palette", palette)
    for name, chosen in (colors or {}).items():
        check_colors(f"colors[{name!r}]", chosen)
    _check_room_for_text(style)
    return replace(style, palette=palette, colors=dict(colors or {}))


def _check_room_for_text(style: FigureStyle) -> None:
    for name, side, least in (("width", style.width, LEAST_FONTS[0]), ("height", style.height, LEAST_FONTS[1])):
        needed = least * style.font_size * UNITS["pt"]
        if side is not None and side < needed:
            remedy = f"choose a {name} of at least {needed:.0f} mm, or a smaller font"
            raise ValueError(f"A {name} of {side:g} mm has no room for text of {style.font_size:g} points; {remedy}.")


def _side(name: str, value: Length) -> float:
    length = millimetres(value)
    if not SMALLEST_SIDE <= length <= LARGEST_SIDE:
        raise ValueError(
            f"{name}={value!r} is not between {SMALLEST_SIDE:g} mm and {LARGEST_SIDE:g} mm; choose a side in between."
        )
    return length


def millimetres(length: Length) -> float:
    """Return a length in millimetres; a text may have a unit.

    Examples
    --------
    >>> millimetres("8.5cm"), millimetres("72pt"), millimetres(85)
    (85.0, 25.4, 85.0)
    """
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in|pt)?\s*", str(length))
    if found is None:
        raise ValueError(f"{length!r} is no length; give millimetres, or a number with mm, cm, in or pt, such as 85mm.")
    return float(found[1]) * UNITS[found[2] or "mm"]


def check_colors(name: str, chosen: Colors) -> None:
    """Raise for colours that matplotlib does not know."""
    if isinstance(chosen, str):
        if chosen not in matplotlib.colormaps:
            raise ValueError(
                f"{name}={chosen!r} is no colormap of matplotlib; name one, such as 'viridis', or list colours."
            )
        return
    values = list(chosen.values() if isinstance(chosen, Mapping) else chosen)
    wrong = [value for value in values if not is_color_like(value)]
    if wrong or not values:
        what = f"{wrong[0]!r} is no colour" if wrong else "there is no colour"
        raise ValueError(f"{name}: {what}; give names or codes of colours, such as 'teal' or '#0072B2'.")


def current_style() -> FigureStyle | None:
    """Return the style of the innermost ``figure_style``, or None."""
    return _CURRENT.get()


def figure_inches(usual: tuple[float, float], lines: float | None = None) -> tuple[float, float]:
    """Return the size of a new figure in inches: that of the style, or the usual one.

    A height that is not given keeps the usual proportions, or holds so many ``lines`` of text.
    """
    style = current_style()
    if style is None:
        return usual
    if style.height is not None:
        height = style.height
    elif lines is not None:
        height = min(TALLEST, lines * 1.4 * style.font_size * UNITS["pt"])
    else:
        height = min(TALLEST, style.width * usual[1] / usual[0])
    return style.width / MM_PER_INCH, height / MM_PER_INCH


def inches_of(figure: Any) -> tuple[float, float]:
    """Return the width and the height in inches of a figure or a subfigure, which lacks matplotlib's functions for them."""
    width, height = (float(side) / figure.dpi for side in figure.bbox.size)
    return width, height


def make_higher(figure: Any, points: float) -> None:
    """Make a figure of the style higher, up to 235 mm, where the height is not given but follows from what is drawn.

    A subfigure keeps its height: it is a part of a figure that was made for others too.
    """
    style = current_style()
    if style is None or style.height is not None or figure is not figure.figure:
        return
    if not np.isclose(MM_PER_INCH * figure.get_figwidth(), style.width):
        return
    figure.set_figheight(
        max(figure.get_figheight(), min(TALLEST / MM_PER_INCH, figure.get_figheight() + points / 72.0))
    )


def font(usual: float) -> float:
    """Return the size of a text in points: the usual one, or the style's, one point less for small print."""
    style = current_style()
    if style is None:
        return usual
    return style.font_size if usual >= 8.0 else max(style.font_size - 1.0, min(5.0, style.font_size))


def longest_name(usual: int) -> int:
    """Return how many letters of a name are written: the usual number, or what a third of a narrow figure holds."""
    style = current_style()
    if style is None:
        return usual
    room = NAME_SHARE * style.width / (LETTER_WIDTH * style.font_size * UNITS["pt"])
    return int(np.clip(room, 8, usual))


def line_scale() -> float:
    """Return the factor by which lines and marks are thinner than usual in a narrow figure."""
    style = current_style()
    return 1.0 if style is None else float(np.clip(style.width / USUAL_WIDTH, 0.5, 1.5))


def is_narrow() -> bool:
    """Return whether the figure is so narrow that legends go below it."""
    style = current_style()
    return style is not None and style.width < NARROW


def choose_colors(title: str, names: Sequence[str], column: int | None) -> Floats | None:
    """Return the style's colours of classes, (classes, 3); None where it has none and the default ones stay.

    ``palette`` is that of clusters (``column`` None) and of labels (0). Classes that a mapping lacks are grey.
    """
    chosen = _chosen(title, column)
    if chosen is None:
        return None
    if isinstance(chosen, Mapping):
        missing = (default_palette.OTHERS,) * 3
        return np.array([to_rgb(chosen[name]) if name in chosen else missing for name in names]).reshape(-1, 3)
    if isinstance(chosen, str):
        cmap = matplotlib.colormaps[chosen]
        if cmap.N <= 32:  # a qualitative one: its colours in order
            return np.array([cmap(k % cmap.N)[:3] for k in range(len(names))]).reshape(-1, 3)
        return np.asarray(cmap(np.linspace(0.05, 0.95, len(names))))[:, :3]
    return np.array([to_rgb(chosen[k % len(chosen)]) for k in range(len(names))]).reshape(-1, 3)


def choose_ramp(title: str, column: int | None) -> Floats | None:
    """Return the style's scale of a column of numbers, (STEPS, 3), or None."""
    chosen, steps = _chosen(title, column), np.linspace(0.0, 1.0, default_palette.STEPS)
    if chosen is None:
        return None
    if isinstance(chosen, Mapping):
        raise ValueError(
            f"colors[{title!r}] has colours of classes, and the column holds numbers; name a colormap or list colours."
        )
    if isinstance(chosen, str):
        return np.asarray(matplotlib.colormaps[chosen](steps))[:, :3]
    known = np.array([to_rgb(color) for color in chosen])
    at = np.linspace(0.0, 1.0, len(known))
    return np.column_stack([np.interp(steps, at, known[:, k]) for k in range(3)])


def _chosen(title: str, column: int | None) -> Colors | None:
    style = current_style()
    if style is None:
        return None
    return style.colors.get(title, style.palette if column is None or column == 0 else None)


def save_figure(figure: Any, path: str | os.PathLike[str], *, formats: Sequence[str] | None = None) -> list[Path]:
    """Save a figure at its exact size with editable text: fonts of Type 42 in PDF, text as ``<text>`` in SVG.

    Parameters
    ----------
    figure : Figure or Axes
    path : path
        Its extension is the format, unless ``formats`` are given, which replace it.
    formats : sequence of {"pdf", "svg", "png"}, optional

    Returns
    -------
    list of Path
        Each file is written atomically. PNG files have 300 dots per inch.

    Notes
    -----
    Warns when something of the figure lies outside the sheet.
    """
    whole = getattr(figure, "figure", figure).figure
    first = Path(path)
    wanted = [first.suffix[1:].lower()] if formats is None else list(formats)
    for name in wanted:
        require_choice("format", name, FORMATS)
    _check_room(whole)
    paths = [first if formats is None else first.with_suffix(f".{name}") for name in wanted]
    with matplotlib.rc_context(EDITABLE_TEXT):
        for file_format, file_path in zip(wanted, paths, strict=True):
            undated: Any = None if file_format == "png" else {"CreationDate" if file_format == "pdf" else "Date": None}
            with atomic_write(file_path) as file:
                whole.savefig(file, format=file_format, dpi=PNG_DPI, metadata=undated)
    return paths


def _check_room(figure: Any) -> None:
    """Warn if something lies outside the figure."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    beyond = max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)
    if beyond > CLIPPED:
        size = f"{MM_PER_INCH * width:.4g} mm × {MM_PER_INCH * height:.4g} mm"
        warn(
            f"{MM_PER_INCH * beyond:.2g} mm of the picture lie outside its {size}; make it larger, or its font smaller."
        )
