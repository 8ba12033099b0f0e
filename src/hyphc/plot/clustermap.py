"""Heat map of a table in leaf order beside its tree, with annotation strips; many rows are averaged in runs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.font_manager import FontProperties

from .._runtime import palette
from .._runtime.abbreviate import abbreviate
from .._runtime.arrays import Floats, Ints
from .._runtime.table_columns import parse_columns
from .._runtime.validation import require_choice
from ..baselines.linkage import correlation_linkage
from ..tree import Tree
from ..tree.layout import layout
from .clustermap_legends import Legends, LegendsBelow, LegendsBeside
from .common import (
    BRANCH_COLOR,
    LINE_HEIGHT,
    MISSING_COLOR,
    Groups,
    color_column,
    draw_lines,
    groups_of,
    height_label,
    names_of,
    require_at_least,
    tree_from,
    write_along,
)
from .figure_style import LEGEND_LINE, figure_inches, font, is_narrow, longest_name, make_higher
from .glyphs import LONGEST_NAME, printable
from .table_axes import GAP, LEAST_TABLE, LEAST_TREE, LETTER, USUAL_FONT, TableAxes, name_length, room_of

# About the pixels of a figure: more rows, and more branches, could not be distinguished.
MAX_ROWS, MAX_TIPS = 1000, 400
MOST_COLUMNS = 60  # columns shown before only distinctive ones are
# Changes of group that are drawn as a gap, as wide as so many points; more would hide the table.
MOST_GAPS, GAP_WIDTH = 60, 1.5
MOST_NAMES = 110  # rows whose names are written
# Standard deviations at which colours end; of columns as they are, the share of values within the ends.
ENDS, WITHIN = 2.5, 0.98
# Points of print: a strip, the tree of columns, a title, a line that says what is left out.
STRIP, COLUMN_TREE, TITLE, NOTE = 11.0, 48.0, 20.0, 14.0
USUAL_LINES = 8  # of the legends below a narrow figure for which its usual height has room
LEAST_HEIGHT = 0.4  # of the width: a narrow figure whose height is not given gets higher for a table of less
LEAST_LETTERS = 8  # of the names of rows
TITLE_LINE = 1.8  # height of a further line of the title, as a share of the usual font
SHORTENED = "names with … are shortened"


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

    Legends wrap names of classes into up to three lines. Names of rows and columns have up to 28 letters, fewer in a narrow
    figure or where the table needs the room; the picture says when names are shortened.
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
    frame, legends, written = _make_frame(ax, shown, strips, rows, title)
    leaves = tree.leaf_order()
    cells = run_means(_standardize(table.values, standardize)[leaves][:, shown.order], max_rows)
    picture = _draw_table(frame.ax, cells, tree.n_leaves, bool(standardize))
    _draw_strips(frame, strips, leaves, max_rows)
    _draw_tree(frame, tree, strips)
    _draw_gaps(frame, groups.codes[leaves])
    if shown.tree is not None:
        _draw_column_tree(frame, shown.tree)
    if title is not None:
        _write_title(frame, title, shown)
    names_of_all = [*shown.names, *(strip.title for strip in strips), *(rows.names or ())]
    shortened = written != rows or _names_are_shortened(names_of_all, legends)
    _write_columns(frame, shown, len(table.names), shortened)
    _write_rows(frame, written, leaves)
    legends.draw(frame, picture, scale_title)
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
) -> tuple[TableAxes, Legends, RowNames]:
    """Return the axes of the table with room around them, the legends, and the names of rows as far as there is room."""
    (width, height), left, above = room_of(ax), len(strips) * strip_width() + 4 * GAP, _tree_height(shown)
    if title is not None:
        above += TITLE + TITLE_LINE * font(USUAL_FONT) * _wrap_title(title, width).count("\n")
    right = (0.0 if rows.names is None else name_length(rows.names)) + (2 * NOTE if rows.exist or rows.caption else 0.0)
    written = [*shown.names, *(strip.title for strip in strips)]
    n_notes = 2 if max(map(len, written)) > longest_name(LONGEST_NAME) else 1
    below = name_length(written) + n_notes * max(NOTE, LINE_HEIGHT * font(7.0))
    rest = (1.0 - LEAST_TABLE - LEAST_TREE) * width - left
    legends: Legends
    if is_narrow():
        legends, width_of_legends = LegendsBelow(strips, width), 0.0
        below += legends.height + 2 * NOTE
        usual = USUAL_LINES * LEGEND_LINE * font(USUAL_FONT)
        needed = max(above + below + LEAST_HEIGHT * width, (above + below) / (1.0 - LEAST_TABLE))
        lacking = (needed - height) / ax.get_position().height
        make_higher(ax.figure, max(0.0, legends.height - usual, lacking))
    else:
        legends = LegendsBeside(strips, height - above, rest - right)
        width_of_legends = legends.width
        make_higher(ax.figure, legends.lacking / ax.get_position().height)
    if right + width_of_legends > rest and rows.names is not None:
        letters = int((rest - width_of_legends - 2 * NOTE - GAP) / (LETTER * font(USUAL_FONT)))
        names = tuple(abbreviate(rows.names, max(LEAST_LETTERS, letters)))
        rows, right = replace(rows, names=names), name_length(names) + 2 * NOTE
    return TableAxes(ax, left=left, above=above, below=below, right=right, legends=width_of_legends), legends, rows


def strip_width() -> float:
    """Return the width of a strip in points, which its name below needs too."""
    return max(STRIP, 1.25 * font(USUAL_FONT))


def _names_are_shortened(written: Sequence[str], legends: Legends) -> bool:
    longest = longest_name(LONGEST_NAME)
    return legends.shortened or any(len(name) > longest for name in written)


def _tree_height(shown: ShownColumns) -> float:
    """Return the room for the tree of the columns, in points."""
    return 0.0 if shown.tree is None else COLUMN_TREE


def _wrap_title(title: str, width: float) -> str:
    """Return the title in lines of at most this width in points."""
    letters = int(width / (LETTER * FontProperties(size=matplotlib.rcParams["axes.titlesize"]).get_size_in_points()))
    written = printable([title], None)[0][0]
    return written if len(written) <= letters else textwrap.fill(written, letters)


def _write_title(frame: TableAxes, title: str, shown: ShownColumns) -> None:
    """Write the title above the table, or above the whole picture if it is wider than the table."""
    written = frame.ax.set_title(
        _wrap_title(title, frame.whole), **printable([title], None)[1], y=1.0, pad=GAP + _tree_height(shown)
    )
    half = 36.0 / frame.figure.dpi * written.get_window_extent().width / frame.width
    left, right = -frame.before / frame.width + half, (frame.whole - frame.before) / frame.width - half
    written.set_x(float(np.clip(0.5, left, max(left, right))))


def _write_columns(frame: TableAxes, shown: ShownColumns, n_columns: int, shortened: bool) -> None:
    """Write the names of the columns below the table, and what is left out of columns and names."""
    axis = frame.ax.xaxis
    write_along(frame.ax, "x", shown.names, frame.width / len(shown.names), font(USUAL_FONT))
    thinned, fewer = frame.ax.get_xlabel(), len(shown.names) < n_columns
    said = f"{len(shown.names)} of {n_columns} columns: those in which groups differ most from the rest"
    if fewer or shortened:
        text = "; ".join(filter(None, (said * fewer, thinned, SHORTENED * shortened)))
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
        strip = frame.inset(-GAP - (len(strips) - k) * strip_width(), 0.0, strip_width() - 2.0, frame.height)
        colours = groups.colors()[groups.codes[leaves[middle]]]
        strip.imshow(colours[:, None, :], aspect="auto", extent=(0, 1, n - 0.5, -0.5), interpolation="nearest")
        strip.spines[:].set_visible(False)
        (name,), style = printable([groups.title])
        strip.set_xticks([0.5], [name], rotation=90, fontsize=font(USUAL_FONT), **style)
        strip.tick_params(length=0)
        strip.set_yticks([])


def _draw_tree(frame: TableAxes, tree: Tree, strips: Sequence[Groups]) -> None:
    beside = frame.inset(-2 * GAP - len(strips) * strip_width() - frame.tree, 0.0, frame.tree, frame.height)
    part = layout(tree, MAX_TIPS, to_scale=True)
    draw_lines(beside, part.lines[..., ::-1], strips[0].branch_colors(tree, part.ends), 0.7)
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 1.0
    low = float(part.lines[..., 1].min(initial=top)) if len(part.tips) < tree.n_leaves else 0.0
    beside.set(xlim=(top + 0.02 * (top - low or 1.0), low), ylim=(tree.n_leaves - 0.5, -0.5), yticks=[])
    beside.set_xlabel(_wrap(height_label(part), frame.tree, 6), fontsize=font(7.0))
    beside.tick_params(labelsize=font(7.0))
    beside.spines[["top", "left", "right"]].set_visible(False)


def _draw_column_tree(frame: TableAxes, tree: Tree) -> None:
    above = frame.inset(0.0, frame.height + 2.0, frame.width, COLUMN_TREE - GAP)
    draw_lines(above, layout(tree).lines, [BRANCH_COLOR], 0.7)
    above.set(xlim=(-0.5, tree.n_leaves - 0.5), ylim=(0.0, 1.03 * float(tree.heights[-1]) or 1.0))
    above.axis("off")
