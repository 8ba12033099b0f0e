"""Heat map of a table in leaf order beside its tree, with annotation strips; many rows are averaged in runs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
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
    SMALLEST_FONT,
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
from .figure_style import LEGEND_LINE, figure_inches, font, inches_of, is_narrow, make_higher
from .glyphs import LONGEST_NAME, printable

# About the pixels of a figure: more rows, and more branches, could not be distinguished.
MAX_ROWS, MAX_TIPS = 1000, 400
MOST_COLUMNS = 60  # columns shown before only distinctive ones are
# Changes of group that are drawn as a gap, as wide as so many points; more would hide the table.
MOST_GAPS, GAP_WIDTH = 60, 1.5
MOST_NAMES = 110  # rows whose names are written
# Standard deviations at which colours end; of columns as they are, the share of values within the ends.
ENDS, WITHIN = 2.5, 0.98
USUAL_FONT = 8.0
LETTER = 0.62  # width of a letter, as a share of the font's size
# Points of print: a strip, the gap between parts, the tree of columns, a title, a scale's bar, a line that says what is left out.
STRIP, GAP, COLUMN_TREE, TITLE, BAR, NOTE = 11.0, 5.0, 48.0, 20.0, 9.0, 14.0
MOST_LEGEND_COLUMNS = 2  # beside a table; longer legends have a smaller font
USUAL_LINES = 8  # of the legends below a narrow figure for which its usual height has room
TREE_SHARE = 0.2  # of the whole width


def clustermap(
    X: Any,
    tree: Any,
    *,
    annotations: Any = None,
    labels: npt.ArrayLike | None = None,
    columns: Literal["auto", "similar", "given", "distinctive"] = "auto",
    standardize: bool | Literal["rows", "columns"] = True,
    max_columns: int = MOST_COLUMNS,
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
    columns : {"auto", "similar", "given", "distinctive"}
        "similar": correlated columns side by side, with their tree above (average linkage, up to 1 000 columns). "given": as they
        come. "distinctive": those in which each group of ``labels`` differs most from the rest, by the standardised difference of
        means (as in ``hyphc.differences``), group by group in the order of the rows; the picture says how many are shown.
        "auto": "distinctive" for more than ``max_columns``, else "similar", but "given" where some columns are numbers and others
        yes or no.
    standardize : bool, "columns" or "rows"
        Colours are standard deviations from the mean of the column (True is the same) or of the row, or the numbers themselves.
    max_columns : int
        How many distinctive columns are shown, at most.
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
    require_choice("columns", columns, ("auto", "similar", "given", "distinctive"))
    require_at_least("max_rows", max_rows, 1)
    require_at_least("max_columns", max_columns, 1)
    scale_title = _scale_title(standardize)
    source, tree = tree, tree_from(tree)
    table = _read_table(X, tree.n_leaves)
    groups = groups_of(source, tree, labels)
    shown = _choose_columns(table, tree, groups, columns, max_columns)
    strips = [groups, *_annotation_strips(annotations, tree.n_leaves, labels is not None)]
    rows = _name_rows(tree, names, max_rows)
    ax = _new_axes() if ax is None else ax
    if is_narrow():
        make_higher(ax.figure, max(0.0, _legend_height(strips) - USUAL_LINES * LEGEND_LINE * font(USUAL_FONT)))
    frame = _make_frame(ax, shown, strips, rows, title)
    leaves = tree.leaf_order()
    cells = run_means(_standardize(table.values, standardize)[leaves][:, shown.order], max_rows)
    picture = _draw_table(frame.ax, cells, tree.n_leaves, bool(standardize))
    _draw_strips(frame, strips, leaves, max_rows)
    _draw_tree(frame, tree, strips)
    _draw_gaps(frame, groups.codes[leaves])
    if shown.tree is not None:
        _draw_column_tree(frame, shown.tree)
    if title is not None:
        _write_title(frame.ax, title, shown)
    _write_columns(frame, shown, len(table.names))
    _write_rows(frame, rows, leaves)
    draw_legends = _draw_legends_below if is_narrow() else _draw_legends_beside
    draw_legends(frame, strips, picture, scale_title)
    return frame.ax


@dataclass(frozen=True)
class Table:
    """The columns of the table: their names, values (n, d), and whether all are numbers, or all are yes or no."""

    names: list[str]
    values: Floats
    comparable: bool


@dataclass(frozen=True)
class ShownColumns:
    """The columns that are shown, from left to right: their numbers in the table, names, and tree if they have one."""

    order: Ints
    names: list[str]
    tree: Tree | None


@dataclass(frozen=True)
class RowNames:
    """Names of the leaves, None where they are not written; the caption on what is left out; whether the leaves have names."""

    names: tuple[str, ...] | None
    caption: str
    exist: bool


def _choose_columns(table: Table, tree: Tree, groups: Groups, columns: str, max_columns: int) -> ShownColumns:
    """Return the columns to show and their order, as the option ``columns`` of ``clustermap`` says."""
    if columns == "auto":
        columns = "distinctive" if len(table.names) > max_columns else "similar" if table.comparable else "given"
    order, ordered = np.arange(len(table.names)), None
    if columns == "distinctive":
        order = distinctive_columns(tree, table.values, groups, max_columns)
    elif columns == "similar" and tree.n_leaves > 2:
        ordered = correlation_linkage(table.values)
        order = order if ordered is None else ordered.leaf_order()
    return ShownColumns(order, [table.names[c] for c in order.tolist()], ordered)


def _annotation_strips(annotations: Any, n: int, labelled: bool) -> list[Groups]:
    """Return a strip for each annotation; the first palette is that of labels, where there are some."""
    if annotations is None:
        return []
    return [color_column(column, k) for k, column in enumerate(parse_columns(annotations, n, "annotations"), labelled)]


def _name_rows(tree: Tree, names: Sequence[str] | None, max_rows: int) -> RowNames:
    """Return the names of up to ``MOST_NAMES`` rows, and the caption on rows that are averaged or not named."""
    found, n = names_of(tree, names), tree.n_leaves
    unnamed = found is not None and n > MOST_NAMES
    run = f"a line is the mean of about {n / max_rows:.3g} rows, a strip shows one of them" if n > max_rows else ""
    left_out = f"names are shown of up to {MOST_NAMES} rows" if unnamed else ""
    return RowNames(None if unnamed else found, "; ".join(filter(None, (run, left_out))), found is not None)


def _make_frame(
    ax: Axes, shown: ShownColumns, strips: Sequence[Groups], rows: RowNames, title: str | None
) -> TableAxes:
    """Return the axes of the table, with the room around it that its tree, names and legends need."""
    narrow = is_narrow()
    return TableAxes(
        ax,
        tree=TREE_SHARE,
        left=len(strips) * STRIP,
        above=_tree_height(shown) + (0.0 if title is None else TITLE),
        below=_length([*shown.names, *(strip.title for strip in strips)])
        + NOTE
        + (_legend_height(strips) + 2 * NOTE if narrow else 0.0),
        right=(0.0 if rows.names is None else _length(rows.names)) + (2 * NOTE if rows.exist or rows.caption else 0.0),
        legends=0.0 if narrow else _legend_widths(strips, *_fit_legends(strips, ax.figure)),
    )


def _tree_height(shown: ShownColumns) -> float:
    """Return the room for the tree of the columns, in points."""
    return 0.0 if shown.tree is None else COLUMN_TREE


def _write_title(ax: Axes, title: str, shown: ShownColumns) -> None:
    (written,), style = printable([title], None)
    ax.set_title(written, **style, y=1.0, pad=GAP + _tree_height(shown))


def _write_columns(frame: TableAxes, shown: ShownColumns, n_columns: int) -> None:
    """Write the names of the columns below the table, and how many columns and names are left out."""
    axis = frame.ax.xaxis
    write_along(frame.ax, "x", shown.names, frame.width / len(shown.names), font(USUAL_FONT))
    if len(shown.names) < n_columns:
        said = f"{len(shown.names)} of {n_columns} columns: those in which groups differ most from the rest"
        text = "; ".join(filter(None, (said, frame.ax.get_xlabel())))
        axis.set_label_text(_wrap(text, frame.width), fontsize=font(7.0), color=BRANCH_COLOR)
    if is_narrow():
        axis.label.set(x=0.0, ha="left")  # a line wider than the table leaves the names of strips free


def _write_rows(frame: TableAxes, rows: RowNames, leaves: Ints) -> None:
    """Write the names of the rows at the right of the table, or what is left out."""
    axis = frame.ax.yaxis
    axis.tick_right()
    axis.set_label_position("right")
    if rows.caption:
        axis.set_label_text(_wrap(rows.caption, frame.height), fontsize=font(USUAL_FONT), color=BRANCH_COLOR)
    elif rows.names is not None:
        names = [rows.names[leaf] for leaf in leaves.tolist()]
        write_along(frame.ax, "y", names, frame.height / len(names), font(USUAL_FONT))


def _scale_title(standardize: bool | str) -> str:
    """Return what the colours of the table are, for the title of its colour bar."""
    if not isinstance(standardize, bool):
        require_choice("standardize", standardize, ("rows", "columns"))
    return f"z-score by {'row' if standardize == 'rows' else 'column'}" if standardize else "value"


def _standardize(values: Floats, standardize: bool | str) -> Floats:
    """Return the values, or their z-scores by column or by row."""
    if not standardize:
        return values
    return _zscore(values.T).T if standardize == "rows" else _zscore(values)


def distinctive_columns(tree: Tree, values: Floats, groups: Groups, most: int) -> Ints:
    """Return the columns in which each group differs most from the rest, group by group in leaf order.

    Every group has the same number of columns, at least one; a column goes to the first group that has it. The largest groups
    come first where there are more of them than columns.
    """
    codes = groups.codes
    order = list(dict.fromkeys(code for code in codes[tree.leaf_order()].tolist() if code >= 0))
    largest = sorted(order, key=lambda code: -int((codes == code).sum()))[:most]
    effects = {code: _effects(values, codes == code) for code in largest}
    ranks = {code: np.argsort(-effect, kind="stable").tolist() for code, effect in effects.items()}
    taken: dict[int, list[int]] = {code: [] for code in order if code in effects}
    used: set[int] = set()
    while len(used) < min(most, values.shape[1]):
        before = len(used)
        for code, own in taken.items():
            column = next((c for c in ranks[code] if c not in used), None)
            if column is not None and len(used) < most:
                own.append(column)
                used.add(column)
        if len(used) == before:
            break
    found = [column for own in taken.values() for column in own]
    return np.array(found or range(min(most, values.shape[1])), dtype=np.int64)


def _effects(values: Floats, inside: npt.NDArray[np.bool_]) -> Floats:
    """Return |mean inside − mean outside| / pooled standard deviation of every column, 0 where it is not defined."""
    one, other = np.ma.masked_invalid(values[inside]), np.ma.masked_invalid(values[~inside])
    free = one.count(axis=0) + other.count(axis=0) - 2
    squares = one.var(axis=0) * one.count(axis=0) + other.var(axis=0) * other.count(axis=0)
    spread = np.ma.sqrt(squares / np.maximum(free, 1))
    return np.asarray(np.ma.filled(np.abs(one.mean(axis=0) - other.mean(axis=0)) / spread, 0.0), dtype=np.float64)


def _draw_gaps(frame: TableAxes, codes: Ints) -> None:
    """Draw a white line across the table and its strips wherever the group of adjacent rows changes."""
    ends = np.flatnonzero(np.diff(codes)) + 0.5
    if len(ends) > MOST_GAPS:
        return
    beside: list[Any] = [axes for axes in frame.ax.child_axes if axes.images]
    for axes in (frame.ax, *beside):
        for end in ends.tolist():
            axes.axhline(end, color="white", linewidth=GAP_WIDTH)


def _wrap(text: str, length: float, least: int = 20) -> str:
    """Return a caption in lines of at most this length in points, or of the least number of letters."""
    return textwrap.fill(text, max(least, int(length / (0.55 * font(7.0)))))


def clustermap_inches() -> tuple[float, float]:
    """Return the size of the figure in inches; higher than wide where the legends go below."""
    return figure_inches((8.0, 13.0) if is_narrow() else (11.0, 8.0))


def _new_axes() -> Axes:
    figure = plt.figure(figsize=clustermap_inches())
    return figure.add_axes((0.015, 0.015, 0.97, 0.97))


def _length(names: Sequence[str]) -> float:
    """Return the length of the longest name, in points."""
    return LETTER * font(USUAL_FONT) * min(LONGEST_NAME, max(map(len, names), default=0)) + GAP


def _legend_widths(strips: Sequence[Groups], columns: int, size: float) -> float:
    entries = [name for groups in strips if not isinstance(groups, Scale) for name in groups.names]
    titles = (_scale_title(True), *(groups.title for groups in strips))
    least = max(_length(titles) + 24.0, 70.0)
    one = (_length(entries) - GAP) * size / font(USUAL_FONT) + GAP + max(24.0, 3.0 * size)
    return max(least, columns * one + (columns - 1) * 2.0 * size)  # matplotlib's space between columns


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
        self.ax, self.tree, self.right, self.legends, self.below = ax, tree * width, right, legends, below
        before = self.before = self.tree + left + 2 * GAP
        self.width = max(width - before - right - legends - 2 * GAP, 0.2 * width)
        self.height = max(height - above - below, 0.2 * height)
        corner = room.x0 + before / scale[0], room.y0 + below / scale[1]
        ax.set_position((*corner, self.width / scale[0], self.height / scale[1]))

    def inset(self, x: float, y: float, width: float, height: float) -> Axes:
        """Return axes whose corner lies at (x, y) from that of the table."""
        return self.ax.inset_axes((x / self.width, y / self.height, width / self.width, height / self.height))


def _read_table(X: Any, n: int) -> Table:
    """Return the columns of the table; text is an error."""
    found = parse_columns(X, n, "X", classes=False)
    text = [column.name for column in found if column.numbers is None and column.classes != ("False", "True")]
    if text:
        raise ValueError(f"X has a column of text, {text[0]!r}; leave it out, or pass it among the annotations.")
    if not found:
        raise ValueError("X has no columns; pass at least one.")
    numbers = [column.codes if column.numbers is None else column.numbers for column in found]
    table = np.column_stack(numbers).astype(np.float64)  # type: ignore[arg-type]
    return Table([column.name for column in found], table, len({column.numbers is None for column in found}) == 1)


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
        strip.set_xticks([0.5], [name], rotation=90, fontsize=font(USUAL_FONT), **style)
        strip.tick_params(length=0)
        strip.set_yticks([])


def _draw_tree(frame: TableAxes, tree: Tree, strips: Sequence[Groups]) -> None:
    beside = frame.inset(-2 * GAP - len(strips) * STRIP - frame.tree, 0.0, frame.tree, frame.height)
    part = layout(tree, MAX_TIPS, to_scale=True)
    draw_lines(beside, part.lines[..., ::-1], strips[0].branch_colors(tree, part.ends), 0.7)
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 1.0
    low = float(part.lines[..., 1].min(initial=top)) if len(part.tips) < tree.n_leaves else 0.0
    beside.set(xlim=(top + 0.02 * (top - low or 1.0), low), ylim=(tree.n_leaves - 0.5, -0.5), yticks=[])
    beside.set_xlabel(_wrap(height_label(part), frame.tree, 10), fontsize=font(7.0))
    beside.tick_params(labelsize=font(7.0))
    beside.spines[["top", "left", "right"]].set_visible(False)


def _draw_column_tree(frame: TableAxes, tree: Tree) -> None:
    above = frame.inset(0.0, frame.height + 2.0, frame.width, COLUMN_TREE - GAP)
    draw_lines(above, layout(tree).lines, [BRANCH_COLOR], 0.7)
    above.set(xlim=(-0.5, tree.n_leaves - 0.5), ylim=(0.0, 1.03 * float(tree.heights[-1]) or 1.0))
    above.axis("off")


def _fit_legends(strips: Sequence[Groups], figure: Any) -> tuple[int, float]:
    """Return the columns of legends beside a table and their font size for which the figure has room."""
    height = 72.0 * inches_of(figure)[1]
    usual, beside = font(USUAL_FONT), [groups for groups in strips if not isinstance(groups, Scale)]
    lines = height / (1.25 * usual * LINE_HEIGHT) - 9 * (1 + len(strips) - len(beside)) - 2 * len(beside)
    for columns in range(1, MOST_LEGEND_COLUMNS + 1):
        wanted = sum(-(-len(groups.legend_entries()) // columns) for groups in beside)
        if wanted <= lines:
            return columns, usual
    return columns, max(SMALLEST_FONT, usual * max(lines, 1.0) / wanted)


def _draw_legends_beside(frame: TableAxes, strips: Sequence[Groups], picture: Any, label: str) -> None:
    """Draw legends at the right, from the top down: the scale of the table, then that of each strip."""
    columns, size = _fit_legends(strips, frame.figure)
    x, y, line = frame.width + frame.right + GAP, frame.height, 1.25 * font(USUAL_FONT) * LINE_HEIGHT
    scale = min(6 * line, 0.25 * frame.height)
    bar = _bar(frame, (x, y), scale, label)
    frame.figure.colorbar(picture, cax=bar)
    if np.ma.getmaskarray(picture.get_array()).any():
        bar.set_xlabel(GREY_IS_MISSING, loc="left", fontsize=font(7.0))
    y -= scale + 3 * line
    for groups in strips:
        if isinstance(groups, Scale):
            groups.colorbar(frame.figure, cax=_bar(frame, (x, y), scale, groups.title), label="")
            y -= scale + 3 * line
        elif len(entries := groups.legend_entries()) > 1:
            frame.ax.add_artist(_legend(frame, groups, entries, (x, y), columns, size))
            y -= (-(-len(entries) // columns) + 2) * 1.25 * size * LINE_HEIGHT


def _lines_of(groups: Groups, width: float) -> tuple[int, int]:
    """Return the rows and columns of a legend of this width; those of a scale are its bar and its name."""
    if isinstance(groups, Scale):
        return 2, 1
    entries = [str(entry.get_label()) for entry in groups.legend_entries()]
    columns = max(1, int(width / (_length(entries) + 3 * font(USUAL_FONT))))
    return -(-len(entries) // columns), min(columns, len(entries))


def _legend_height(strips: Sequence[Groups]) -> float:
    width = 72.0 * clustermap_inches()[0]
    lines = [3, *(_lines_of(groups, width)[0] + 2 for groups in strips)]
    return LEGEND_LINE * font(USUAL_FONT) * sum(lines)


def _draw_legends_below(frame: TableAxes, strips: Sequence[Groups], picture: Any, label: str) -> None:
    """Draw the scale of the table and the legends of the strips below the table and its names, from the top down."""
    line, width = LEGEND_LINE * font(USUAL_FONT), 72.0 * clustermap_inches()[0]
    x, y = -frame.before, -(frame.below - _legend_height(strips))
    bars = [(picture, label, None), *((None, groups.title, groups) for groups in strips)]
    for mapped, title, groups in bars:
        if groups is None or isinstance(groups, Scale):
            bar = frame.inset(x, y - 1.8 * line, 0.4 * width, 0.5 * line)
            bar.set_title(printable([title])[0][0], loc="left", fontsize=font(USUAL_FONT), pad=2.0)
            bar.tick_params(labelsize=font(7.0), pad=1.0, length=2.0)
            if groups is None:
                frame.figure.colorbar(mapped, cax=bar, orientation="horizontal")
            else:
                groups.colorbar(frame.figure, cax=bar, label="", orientation="horizontal")
            y -= 3 * line
        elif len(entries := groups.legend_entries()) > 1:
            rows, columns = _lines_of(groups, width)
            frame.ax.add_artist(_legend(frame, groups, entries, (x, y), columns, font(USUAL_FONT)))
            y -= (rows + 2) * line


def _bar(frame: TableAxes, corner: tuple[float, float], height: float, label: str) -> Axes:
    """Return axes for a colour bar, below its name."""
    (name,), style = printable([label])
    bar = frame.inset(corner[0], corner[1] - height - font(USUAL_FONT) * LINE_HEIGHT, BAR, height)
    bar.set_title(name, loc="left", fontsize=font(USUAL_FONT), pad=3.0, **style)
    bar.tick_params(labelsize=font(7.0))
    return bar


def _legend(
    frame: TableAxes, groups: Groups, entries: list[Line2D], corner: tuple[float, float], columns: int, size: float
) -> Legend:
    letters: Any = {"family": printable(groups.names)[1]["fontfamily"], "size": size}
    style: Any = {"frameon": False, "alignment": "left", "borderaxespad": 0.0, "handletextpad": 0.2}
    style |= {
        "ncols": columns,
        "loc": "upper left",
        "bbox_to_anchor": (corner[0] / frame.width, corner[1] / frame.height),
    }
    title, texts = printable([groups.title])[0][0], [str(entry.get_label()) for entry in entries]
    return Legend(
        frame.ax, entries, texts, title=title.replace("$", r"\$"), prop=letters, title_fontproperties=letters, **style
    )
