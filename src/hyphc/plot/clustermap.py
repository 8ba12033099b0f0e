"""Heat map of a table in leaf order beside its tree, with annotation strips; many rows are averaged in runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from .._runtime import palette
from .._runtime.arrays import Floats, Ints
from .._runtime.table_columns import parse_columns
from .._runtime.validation import require_choice
from ..baselines.linkage import correlation_linkage
from ..tree import Tree
from ..tree.layout import layout
from .common import (
    BRANCH_COLOR,
    GREY_IS_MISSING,
    LINE_HEIGHT,
    MISSING_COLOR,
    Groups,
    Scale,
    apply_layout,
    color_column,
    draw_lines,
    groups_of,
    height_label,
    names_of,
    require_at_least,
    tree_from,
    write_along,
)
from .glyphs import LONGEST_NAME, printable

# About the pixels of a figure: more rows, and more branches, could not be distinguished.
MAX_ROWS, MAX_TIPS = 1000, 400
MOST_NAMES = 110  # rows whose names are written
# Standard deviations at which colours end; of columns as they are, the share of values within the ends.
ENDS, WITHIN = 2.5, 0.98
FONT = 8.0
LETTER = 0.62  # width of a letter, as a share of the font's size
# Points of print: a strip, the gap between parts, the tree of columns, a title, a scale's bar, a line that says what is left out.
STRIP, GAP, COLUMN_TREE, TITLE, BAR, NOTE = 11.0, 5.0, 48.0, 20.0, 9.0, 14.0
TREE_SHARE = 0.2  # of the whole width


def clustermap(
    X: Any,
    tree: Any,
    *,
    annotations: Any = None,
    labels: npt.ArrayLike | None = None,
    columns: Literal["similar", "given"] = "similar",
    standardize: bool = True,
    names: Sequence[str] | None = None,
    max_rows: int = MAX_ROWS,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a table with its rows in leaf order, the tree to the left, and annotation strips between.

    Parameters
    ----------
    X : frame, table of names and columns, or array (n, d)
        Numbers; NaN is grey. Need not be what was clustered.
    tree : Tree, linkage matrix, fitted HypHC or EmbedResult
        Of the rows.
    annotations : frame, table of names and columns, or one column, optional
        A strip for each, under its own name and in its own colours: classes by colour, numbers on a scale, grey where missing.
    labels : array (n,), optional
        The colours of the branches and of the first strip. Default: the model's clusters, or an automatic cut.
    columns : {"similar", "given"}
        Correlated columns side by side, with their tree above (average linkage, up to 1 000 columns), or as they come.
    standardize : bool
        Colours are standard deviations from each column's mean, or the numbers themselves.
    names : sequence of str, optional
        Of the rows, written at the right of up to 110 of them; the picture says when some are not. Default: the tree's.
    max_rows : int
        Above so many rows each line of the picture is the mean of a run of neighbouring ones, as it says beside the table.
    title : str, optional
    ax : Axes, optional
        The table is drawn into it, the rest around it.

    Returns
    -------
    Axes
        Of the table; the others are its ``child_axes``.

    Notes
    -----
    O(n d + d³), the last for ordered columns alone.
    """
    require_choice("columns", columns, ("similar", "given"))
    require_at_least("max_rows", max_rows, 1)
    source, tree = tree, tree_from(tree)
    called, values = _table(X, tree.n_leaves)
    shown = _zscore(values) if standardize else values
    ordered = correlation_linkage(values) if columns == "similar" and tree.n_leaves > 2 else None
    order = np.arange(len(called)) if ordered is None else ordered.leaf_order()
    strips = [groups_of(source, tree, labels)]
    if annotations is not None:
        beside = parse_columns(annotations, tree.n_leaves, "annotations")
        strips += [color_column(column, k) for k, column in enumerate(beside, labels is not None)]
    leaves, rows = tree.leaf_order(), names_of(tree, names)
    unnamed = rows is not None and tree.n_leaves > MOST_NAMES
    left_out = _left_out(tree.n_leaves, max_rows, unnamed)
    frame = TableAxes(
        _new_axes() if ax is None else ax,
        tree=TREE_SHARE,
        left=len(strips) * STRIP,
        above=(0.0 if ordered is None else COLUMN_TREE) + (0.0 if title is None else TITLE),
        below=_length([*called, *(groups.title for groups in strips)]) + NOTE,
        right=(0.0 if rows is None or unnamed else _length(rows)) + (0.0 if rows is None and not left_out else NOTE),
        legends=_legend_widths(strips),
    )
    cells = run_means(shown[leaves][:, order], max_rows)
    picture = _draw_table(frame.ax, cells, tree.n_leaves, standardize)
    _draw_strips(frame, strips, leaves, max_rows)
    _draw_tree(frame, tree, strips)
    if ordered is not None:
        _draw_column_tree(frame, ordered)
    if title is not None:
        (written,), style = printable([title], None)
        frame.ax.set_title(written, **style, y=1.0, pad=GAP + (0.0 if ordered is None else COLUMN_TREE))
    write_along(frame.ax, "x", [called[c] for c in order.tolist()], frame.width / len(called), FONT)
    frame.ax.yaxis.tick_right()
    frame.ax.yaxis.set_label_position("right")
    if left_out:
        frame.ax.set_ylabel(left_out, fontsize=FONT, color=BRANCH_COLOR)
    elif rows is not None:
        write_along(frame.ax, "y", [rows[leaf] for leaf in leaves.tolist()], frame.height / len(rows), FONT)
    _draw_legends(frame, strips, picture, "standard deviations" if standardize else "value")
    return frame.ax


def _left_out(n: int, max_rows: int, unnamed: bool) -> str:
    """Return the caption on rows that are averaged or not named."""
    run = f"a line is the mean of about {n / max_rows:.3g} rows, a strip shows one of them" if n > max_rows else ""
    names = f"names are shown of up to {MOST_NAMES} rows" if unnamed else ""
    return "; ".join(filter(None, (run, names)))


def _new_axes() -> Axes:
    figure = plt.figure(figsize=(11.0, 8.0))
    return figure.add_axes((0.015, 0.015, 0.97, 0.97))


def _length(names: Sequence[str]) -> float:
    """Return the length of the longest name, in points."""
    return LETTER * FONT * min(LONGEST_NAME, max(map(len, names), default=0)) + GAP


def _legend_widths(strips: Sequence[Groups]) -> float:
    entries = [name for groups in strips if not isinstance(groups, Scale) for name in groups.names]
    return max(_length([*entries, *(groups.title for groups in strips)]) + 24.0, 70.0)


class TableAxes:
    """The axes of the table and the space around it, in points."""

    def __init__(
        self, ax: Axes, *, tree: float, left: float, above: float, below: float, right: float, legends: float
    ) -> None:
        apply_layout(ax)
        figure: Any = ax.figure
        self.figure = figure
        room, scale = ax.get_position(), 72.0 / figure.dpi * np.array(figure.bbox.size)
        width, height = room.width * scale[0], room.height * scale[1]
        self.ax, self.tree, self.right, self.legends = ax, tree * width, right, legends
        before = self.tree + left + 2 * GAP
        self.width = max(width - before - right - legends - 2 * GAP, 0.2 * width)
        self.height = max(height - above - below, 0.2 * height)
        corner = room.x0 + before / scale[0], room.y0 + below / scale[1]
        ax.set_position((*corner, self.width / scale[0], self.height / scale[1]))

    def inset(self, x: float, y: float, width: float, height: float) -> Axes:
        """Return axes whose corner lies at (x, y) from that of the table."""
        return self.ax.inset_axes((x / self.width, y / self.height, width / self.width, height / self.height))


def _table(X: Any, n: int) -> tuple[list[str], Floats]:
    found = parse_columns(X, n, "X", classes=False)
    text = [column.name for column in found if column.numbers is None and column.classes != ("False", "True")]
    if text:
        raise ValueError(f"X has a column of text, {text[0]!r}; leave it out, or pass it among the annotations.")
    if not found:
        raise ValueError("X has no columns; pass at least one.")
    numbers = [column.codes if column.numbers is None else column.numbers for column in found]
    return [column.name for column in found], np.column_stack(numbers).astype(np.float64)  # type: ignore[arg-type]


def _zscore(values: Floats) -> Floats:
    """Return z-scores of the columns; 0 in a constant column, NaN stays."""
    known = np.ma.masked_invalid(values)
    deviation = np.ma.filled(known.std(axis=0), 0.0)
    return np.ma.filled((known - known.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), np.nan)


def run_means(values: Floats, max_rows: int) -> Floats:
    """Return means of runs of adjacent rows, at most ``max_rows`` of them; NaN where a run has no value."""
    n = len(values)
    if n <= max_rows:
        return values
    starts = np.arange(max_rows) * n // max_rows
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts, axis=0)
    counts = np.add.reduceat(known.astype(np.float64), starts, axis=0)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _draw_table(ax: Axes, cells: Floats, n: int, standardize: bool) -> Any:
    low, high = _ends(cells, standardize)
    diverging = low < 0 < high
    colours = ListedColormap(palette.diverging().tolist()) if diverging else matplotlib.colormaps["viridis"]
    cmap = colours.with_extremes(bad=MISSING_COLOR)
    extent = (-0.5, cells.shape[1] - 0.5, n - 0.5, -0.5)
    picture = ax.imshow(cells, aspect="auto", cmap=cmap, vmin=low, vmax=high, extent=extent, interpolation="nearest")
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[])
    return picture


def _ends(cells: Floats, standardize: bool) -> tuple[float, float]:
    """Return the limits of the colour scale: symmetric around 0 for numbers of either sign."""
    known = cells[np.isfinite(cells)]
    if len(known) == 0:
        return 0.0, 1.0
    if standardize:
        reach = min(ENDS, float(np.abs(known).max())) or 1.0
        return -reach, reach
    low, high = (float(q) for q in np.quantile(known, [1 - WITHIN, WITHIN]))
    if low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _draw_strips(frame: TableAxes, strips: Sequence[Groups], leaves: Ints, max_rows: int) -> None:
    """Draw columns of colour to the left of the table, the clusters outermost; names below them."""
    n = len(leaves)
    lines = min(n, max_rows)
    middle = (np.arange(lines) * 2 + 1) * n // (2 * lines)
    for k, groups in enumerate(strips):
        strip = frame.inset(-GAP - (len(strips) - k) * STRIP, 0.0, STRIP - 2.0, frame.height)
        colours = groups.colors()[groups.codes[leaves[middle]]]
        strip.imshow(colours[:, None, :], aspect="auto", extent=(0, 1, n - 0.5, -0.5), interpolation="nearest")
        strip.spines[:].set_visible(False)
        (name,), style = printable([groups.title])
        strip.set_xticks([0.5], [name], rotation=90, fontsize=FONT, **style)
        strip.tick_params(length=0)
        strip.set_yticks([])


def _draw_tree(frame: TableAxes, tree: Tree, strips: Sequence[Groups]) -> None:
    beside = frame.inset(-2 * GAP - len(strips) * STRIP - frame.tree, 0.0, frame.tree, frame.height)
    part = layout(tree, MAX_TIPS, to_scale=True)
    draw_lines(beside, part.lines[..., ::-1], strips[0].branch_colors(tree, part.ends), 0.7)
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 1.0
    low = float(part.lines[..., 1].min(initial=top)) if len(part.tips) < tree.n_leaves else 0.0
    beside.set(xlim=(top + 0.02 * (top - low or 1.0), low), ylim=(tree.n_leaves - 0.5, -0.5), yticks=[])
    beside.set_xlabel(height_label(part), fontsize=FONT - 1)
    beside.tick_params(labelsize=FONT - 1)
    beside.spines[["top", "left", "right"]].set_visible(False)


def _draw_column_tree(frame: TableAxes, tree: Tree) -> None:
    above = frame.inset(0.0, frame.height + 2.0, frame.width, COLUMN_TREE - GAP)
    draw_lines(above, layout(tree).lines, [BRANCH_COLOR], 0.7)
    above.set(xlim=(-0.5, tree.n_leaves - 0.5), ylim=(0.0, 1.03 * float(tree.heights[-1]) or 1.0))
    above.axis("off")


def _draw_legends(frame: TableAxes, strips: Sequence[Groups], picture: Any, label: str) -> None:
    """Draw legends at the right, from the top down: the scale of the table, then that of each strip."""
    x, y, line = frame.width + frame.right + GAP, frame.height, 1.25 * FONT * LINE_HEIGHT
    scale = min(6 * line, 0.25 * frame.height)
    bar = _bar(frame, (x, y), scale, label)
    frame.figure.colorbar(picture, cax=bar)
    if np.ma.getmaskarray(picture.get_array()).any():
        bar.set_xlabel(GREY_IS_MISSING, loc="left", fontsize=FONT - 1)
    y -= scale + 3 * line
    for groups in strips:
        if isinstance(groups, Scale):
            groups.colorbar(frame.figure, cax=_bar(frame, (x, y), scale, groups.title), label="")
            y -= scale + 3 * line
        elif len(entries := groups.legend_entries()) > 1:
            frame.ax.add_artist(_legend(frame, groups, entries, (x, y)))
            y -= (len(entries) + 2) * line


def _bar(frame: TableAxes, corner: tuple[float, float], height: float, label: str) -> Axes:
    """Return axes for a colour bar, below its name."""
    (name,), style = printable([label])
    bar = frame.inset(corner[0], corner[1] - height - FONT * LINE_HEIGHT, BAR, height)
    bar.set_title(name, loc="left", fontsize=FONT, pad=3.0, **style)
    bar.tick_params(labelsize=FONT - 1)
    return bar


def _legend(frame: TableAxes, groups: Groups, entries: list[Line2D], corner: tuple[float, float]) -> Legend:
    font: Any = {"family": printable(groups.names)[1]["fontfamily"], "size": FONT}
    style: Any = {"frameon": False, "alignment": "left", "borderaxespad": 0.0, "handletextpad": 0.2}
    style |= {"loc": "upper left", "bbox_to_anchor": (corner[0] / frame.width, corner[1] / frame.height)}
    title, texts = printable([groups.title])[0][0], [str(entry.get_label()) for entry in entries]
    return Legend(
        frame.ax, entries, texts, title=title.replace("$", r"\$"), prop=font, title_fontproperties=font, **style
    )
