"""Helpers that plots share: the tree of the argument, groups of leaves, colours, legends, axes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.text import Text

from .._kernels.tree.passes import smallest_leaves, subtree_sums
from .._runtime import palette
from .._runtime.abbreviate import GAP, abbreviate_end
from .._runtime.arrays import Floats, Ints
from .._runtime.table_columns import TableColumn, label_classes
from ..scores.describe import BETWEEN, Descriptions
from ..tree import Tree, as_tree
from ..tree.layout import Layout
from ..tree.prunings import own_clusters
from ..tree.validation import check_names
from .figure_style import (
    LEGEND_LINE,
    LETTER_WIDTH,
    choose_colors,
    choose_ramp,
    figure_inches,
    font,
    inches_of,
    is_narrow,
    line_scale,
    make_higher,
)
from .glyphs import printable

# From the eighth group on colours repeat, in other shades and with another marker.
MARKERS = ("o", "s", "^")
BRANCH_COLOR, OTHERS_COLOR, MISSING_COLOR = ((grey,) * 3 for grey in (palette.BRANCH, palette.OTHERS, palette.MISSING))
MIXED_COLOR = (palette.MIXED,) * 3
# Support from which on a cluster is marked as sure, and as fair; the fills of these marks and of all others.
SUPPORT_STEPS, SUPPORT_FILLS = (0.95, 0.8), ("black", "0.6", "white")
AXES_SHARE = 0.8  # of the room for axes and the text around them, about that of the axes themselves
LINE_HEIGHT = 1.35  # a line of text takes this many times its font size
SMALLEST_FONT = 5.0  # points
MOST_NAMES = 60  # leaves of a tree whose own names are written unless names are given; above, those of groups
USUAL_ROWS = 2  # of a legend below a narrow figure for which its usual height has room
# width of a letter of a label, as a share of its font; letters of a line, at least
LABEL_LETTER, LEAST_LABEL = 0.52, 14
GREY_IS_MISSING = "grey: missing"


@dataclass(frozen=True)
class Groups:
    """Leaves by colour: ``codes`` (n,) count groups from 0; −1 is a missing value, −2 one of ``n_rare`` rare groups.

    ``column`` chooses the palette: None is that of clusters, others count labels and annotations from 0; ``own_colors`` are those
    of a ``figure_style``.
    """

    codes: Ints
    names: tuple[str, ...]
    title: str
    n_rare: int = 0
    column: int | None = None
    own_colors: Floats | None = None

    def colors(self) -> Floats:
        """Return a colour for each group, then those of rare groups and of missing values: (groups + 2, 3)."""
        m = len(self.names)
        if self.own_colors is not None:
            return np.vstack([self.own_colors, OTHERS_COLOR, MISSING_COLOR])
        own = palette.cluster_colors(m) if self.column is None else palette.class_colors(self.column, m)
        return np.vstack([own, OTHERS_COLOR, MISSING_COLOR])

    def branch_colors(self, tree: Tree, nodes: Ints) -> Floats:
        """Return a colour for each of the nodes, (nodes, 3): that of its leaves' group when they share one, else grey."""
        lowest = smallest_leaves(np.array(tree.children), self.codes)
        highest = -smallest_leaves(np.array(tree.children), -self.codes)
        colors = np.vstack([self.colors()[:-2], BRANCH_COLOR])
        return np.asarray(colors[np.where(lowest == highest, np.maximum(lowest, -1), -1)[nodes]])

    def marker(self, k: int) -> str:
        return MARKERS[k // len(palette.CLUSTERS.base) % len(MARKERS)]

    def legend_entries(self, names: Sequence[str] | None = None) -> list[Line2D]:
        """Return a marker for each group, with its name or the one given, for rare groups, and for missing values."""
        colors = self.colors()
        written = printable(self.names)[0] if names is None else names
        entries = [_entry(colors[k], self.marker(k), name) for k, name in enumerate(written)]
        if self.n_rare:
            entries.append(_entry(OTHERS_COLOR, MARKERS[0], f"{self.n_rare} others"))
        if (self.codes == -1).any():
            entries.append(_entry(MISSING_COLOR, MARKERS[0], "missing"))
        return entries


@dataclass(frozen=True)
class Scale(Groups):
    """Leaves by a number: ``codes`` are steps of a scale from ``low`` to ``high``; a branch has the colour of the mean."""

    values: Floats = field(default_factory=lambda: np.empty(0))
    low: float = 0.0
    high: float = 1.0

    def colors(self) -> Floats:
        ramp = palette.ramp(self.column or 0) if self.own_colors is None else self.own_colors
        return np.vstack([ramp, OTHERS_COLOR, MISSING_COLOR])

    def branch_colors(self, tree: Tree, nodes: Ints) -> Floats:
        known = np.isfinite(self.values)
        children = np.array(tree.children)
        sums = subtree_sums(children, np.where(known, self.values, 0.0))
        counts = subtree_sums(children, known.astype(np.float64))
        with np.errstate(invalid="ignore"):
            means = (sums / counts)[nodes]
        return np.asarray(self.colors()[_steps(means, self.low, self.high)])

    def marker(self, k: int) -> str:
        return MARKERS[0]

    def colorbar(self, figure: Any, **options: Any) -> None:
        """Draw a colour bar beside the axes, with a note below if values are missing."""
        colours = ListedColormap(self.colors()[:-2].tolist())
        mapped = ScalarMappable(Normalize(self.low, self.high), colours)
        bar = figure.colorbar(mapped, **{"label": self.title, **options})
        if (self.codes < 0).any():
            bar.ax.set_xlabel(GREY_IS_MISSING, loc="left", fontsize=font(7.0))


def _steps(values: Floats, low: float, high: float) -> Ints:
    """Return the step of each value, −1 where there is none."""
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    known, steps = np.isfinite(share), palette.STEPS
    return np.where(known, np.clip(np.where(known, share, 0.0) * steps, 0, steps - 1), -1).astype(np.int64)


def scale_of(name: str, numbers: Floats, column: int = 0) -> Scale:
    """Return the scale of a numeric column, from its minimum to its maximum."""
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    steps, names = _steps(numbers, low, high), ("",) * palette.STEPS
    return Scale(steps, names, name, 0, column, choose_ramp(name, column), numbers, low, high)


def color_column(column: TableColumn, number: int) -> Groups:
    """Return a column as groups, or as a scale, in the colours of the column with this number."""
    if column.numbers is not None:
        return scale_of(column.name, column.numbers, number)
    assert column.codes is not None
    return _group_codes(column.codes, column.classes, column.name, number)


def tree_from(source: Any) -> Tree:
    """Return the tree of a fitted model, a result of ``embed``, a linkage matrix, or the tree itself."""
    for attribute in ("tree_", "tree"):
        if isinstance(found := getattr(source, attribute, None), Tree):
            return found
    if hasattr(source, "fit"):
        raise ValueError(f"{type(source).__name__} is not fitted; call fit before plotting it.")
    return as_tree(source)


def groups_of(source: Any, tree: Tree, labels: npt.ArrayLike | None) -> Groups:
    """Return groups by label; without labels, the clusters of the model or of an automatic cut of the tree."""
    if labels is None:
        clusters = getattr(source, "labels_", None)
        return cluster_groups(tree, own_clusters(tree).labels if clusters is None else clusters)
    name, values = str(getattr(labels, "name", None) or "label"), _check_labels(labels, tree)
    if values.dtype.kind == "f" and _measures(values):
        return scale_of(name, values.astype(np.float64))
    return _group_codes(*label_classes(values), name, 0)


def cluster_groups(tree: Tree, clusters: npt.ArrayLike) -> Groups:
    """Return flat clusters, one label a leaf, as groups in the palette of clusters."""
    return _group_codes(*label_classes(_check_labels(clusters, tree)), "cluster", None)


def _check_labels(labels: npt.ArrayLike, tree: Tree) -> npt.NDArray[Any]:
    values, n = np.asarray(labels), tree.n_leaves
    if values.shape != (n,):
        raise ValueError(f"labels have shape {values.shape} and the tree {n} leaves; give one label for each leaf.")
    return values


def _measures(values: npt.NDArray[Any]) -> bool:
    """Return whether numbers are quantitative: more distinct values than a palette has colours, and not all integers."""
    known = np.unique(values[np.isfinite(values)])
    return len(known) > len(palette.CLUSTERS.base) and bool((known != np.round(known)).any())


def _group_codes(codes: Ints, classes: Sequence[str], title: str, column: int | None) -> Groups:
    """Return class codes, −1 missing, as groups: the most frequent have colours, the others share one."""
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    present = int((counts > 0).sum())
    slots = palette.slots(counts)
    names = tuple(name for name, slot in zip(classes, slots.tolist(), strict=True) if slot >= 0)
    chosen = choose_colors(title, names, column)
    return Groups(np.append(slots, -1)[codes], names, title, present - len(names), column, chosen)


def names_of(tree: Tree, names: Sequence[str] | Descriptions | None) -> tuple[str, ...] | None:
    """Return the names of the leaves: those given, or the tree's own, or None."""
    if isinstance(names, Descriptions):
        _check_described(tree, names)
        return names.names[: tree.n_leaves] if tree.names is None else tree.names
    return tree.names if names is None else check_names(names, tree.n_leaves)


def node_names_of(names: Sequence[str] | Descriptions | None) -> tuple[str, ...] | None:
    """Return the names of all nodes, empty where there is none; None unless nodes are described."""
    return names.names if isinstance(names, Descriptions) else None


def shorten_group_name(name: str, length: int) -> str:
    """Return the first terms of a group's name that have room in ``length`` letters, with an ellipsis where some are left out.

    Of a first term that is longer its last word stays, as it says "high" or "low".

    Examples
    --------
    >>> shorten_group_name("bill depth low, body mass high", 24)
    'bill depth low…'
    >>> shorten_group_name("flipper length low, body mass high", 16)
    'flipper le… low…'
    """
    if len(name) <= length:
        return name
    first, *others = name.split(BETWEEN)
    more = len(GAP) if others else 0
    if len(first) > length - more:
        start, _, last = first.rpartition(" ")
        side = f" {last}" if start and len(last) + 4 < length else ""
        room = length - more - len(side)
        return abbreviate_end(start if side else first, room) + side + (GAP if others and side else "")
    shown = first
    for term in others:
        if len(shown) + len(BETWEEN) + len(term) + len(GAP) > length:
            break
        shown += BETWEEN + term
    return shown + GAP


def _check_described(tree: Tree, described: Descriptions) -> None:
    if not np.array_equal(tree.children, described.tree.children):
        other = f"another tree, of {described.tree.n_leaves} leaves"
        raise ValueError(
            f"names describe {other}, not this one of {tree.n_leaves}; pass describe(tree, …) of the tree drawn."
        )


def ordinal(k: int) -> str:
    """Return "2nd", "3rd", "4th", … of a number."""
    ending = "th" if k % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


def write_along(ax: Axes, axis: Literal["x", "y"], names: Sequence[str], room: float, largest: float) -> None:
    """Write names along an axis in a font that fits their room, in points each, up to the largest size.

    If the smallest font does not fit, only every second, third, … name is written, and the label of the axis states that.
    """
    smallest = min(SMALLEST_FONT, largest)
    size = float(np.clip(room / LINE_HEIGHT, smallest, largest))
    step = max(1, int(np.ceil(smallest * LINE_HEIGHT / room)))
    written, style = printable(names[::step])
    along = ax.xaxis if axis == "x" else ax.yaxis
    along.set_ticks(np.arange(0, len(names), step), written, **style)
    along.set_tick_params(labelsize=size, length=0, rotation=90 if axis == "x" else 0)
    if step > 1:
        along.set_label_text(f"every {ordinal(step)} name is shown", fontsize=font(8.0), color=BRANCH_COLOR)


def write_note(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    ha: Literal["left", "center"] = "left",
    va: Literal["top", "bottom"] = "bottom",
) -> Text:
    """Write a line of small print at a position in shares of the axes; return it."""
    return ax.text(x, y, text, transform=ax.transAxes, ha=ha, va=va, fontsize=font(8.0), color=BRANCH_COLOR)


def wrap_label(ax: Axes, axis: Literal["x", "y"]) -> None:
    """Break the label of an axis into lines that are not longer than the axes, once the layout is applied."""
    apply_layout(ax)
    label, side = (ax.xaxis.label, ax.bbox.width) if axis == "x" else (ax.yaxis.label, ax.bbox.height)
    letters = int(72.0 / ax.figure.dpi * side / (LABEL_LETTER * float(label.get_fontsize())))
    label.set_text(textwrap.fill(label.get_text(), max(LEAST_LABEL, letters)))


def inches_for(ax: Axes) -> float:
    """Return the width that axes and the text around them have: that of the figure, or that of one of several axes."""
    return inches_of(ax.figure)[0] if len(ax.figure.axes) == 1 else float(ax.bbox.width) / ax.figure.dpi / AXES_SHARE


def wrap_caption(text: str, ax: Axes) -> str:
    """Return small print below axes in lines that are not longer than there is room for."""
    letters = int(72.0 * inches_for(ax) / (LETTER_WIDTH * font(8.0)))
    return textwrap.fill(text, max(20, letters - 6))


def draw_lines(ax: Axes, lines: Iterable[Any], colors: Any, widths: Any, alpha: float | None = None) -> None:
    """Draw polylines, each an array of points; the limits of the axes stay as they are."""
    ax.add_collection(LineCollection(list(lines), colors=colors, linewidths=widths, alpha=alpha), autolim=False)


def height_label(part: Layout) -> str:
    """Return what the axis of heights says, with the rule by which low merges were raised, where any was."""
    if not part.raised:
        return "height"
    return f"height (drawn at least {part.least:.2g}{' unless 0' if part.zero_is_equal else ''})"


def axes_or_new(ax: Axes | None, size: tuple[float, float], lines: float | None = None) -> Axes:
    """Return the axes given, or those of a new figure of this size in inches, or of the size of the ``figure_style``.

    A style without a height makes room for so many ``lines`` of text.
    """
    return plt.subplots(figsize=figure_inches(size, lines), layout="constrained")[1] if ax is None else ax


def add_legend(ax: Axes, groups: Groups, side: Literal["left", "right"] = "right") -> None:
    """Draw a legend beside the axes, in columns when it is long, or below a narrow figure; none for a single group."""
    below = is_narrow() and len(ax.figure.axes) == 1
    if isinstance(groups, Scale):
        place: Any = {"location": "bottom", "pad": 0.08} if below else {"location": side, "pad": 0.02}
        groups.colorbar(ax.figure, ax=ax, shrink=0.6, **place)
        return
    entries = groups.legend_entries()
    if len(entries) < 2:
        return
    options: Any = {"handles": entries, "title": groups.title.replace("$", r"\$"), "frameon": False}
    options["prop"] = {"family": printable(groups.names)[1]["fontfamily"], "size": font(10.0)}
    if below:
        figure: Any = ax.figure
        columns = _legend_columns([str(entry.get_label()) for entry in entries], 72.0 * inches_of(figure)[0])
        make_higher(figure, max(0, -(-len(entries) // columns) - USUAL_ROWS) * LEGEND_LINE * font(10.0))
        tight: Any = {"handletextpad": 0.2, "columnspacing": 1.0}
        figure.legend(loc="outside lower center", ncols=columns, **tight, **options)
        return
    ax.legend(
        loc="center left" if side == "right" else "center right",
        bbox_to_anchor=(1.01 if side == "right" else -0.01, 0.5),
        ncols=1 + (len(entries) - 1) // 14,
        **options,
    )


def _legend_columns(names: Sequence[str], width: float) -> int:
    """Return the largest number of columns of a legend, each as wide as its longest name, that have room in this width."""
    letters = np.array([len(name) for name in names])
    for columns in range(len(names), 1, -1):
        longest = [int(part.max()) for part in np.array_split(letters, columns)]
        if sum(LETTER_WIDTH * most + 4.0 for most in longest) * font(10.0) <= width:
            return columns
    return 1


def pure_nodes(tree: Tree, groups: Groups) -> npt.NDArray[np.bool_]:
    """Return for every node whether all its leaves are in one group, (2n − 1,)."""
    children = np.array(tree.children)
    return np.asarray(smallest_leaves(children, groups.codes) == -smallest_leaves(children, -groups.codes))


def informative_support(tree: Tree, nodes: Ints, groups: Groups) -> npt.NDArray[np.bool_]:
    """Return for which nodes support says something: sure ones, and unsure ones that are groups or hold several.

    Not the root, which every tree has, nor doubtful splits within a group, which only repeat that it has no parts.
    """
    assert tree.support is not None
    n, pure = tree.n_leaves, pure_nodes(tree, groups)
    parents = np.asarray(tree._parents)[nodes]
    within = pure[nodes] & (parents >= 0) & pure[parents]
    known = np.asarray(tree.support)[nodes - n]
    return np.asarray((parents >= 0) & np.isfinite(known) & ((known >= SUPPORT_STEPS[-1]) | ~within))


def mark_support(ax: Axes, places: npt.ArrayLike, support: npt.ArrayLike, area: float = 22.0) -> None:
    """Draw a dot at each of the positions (m, 2): black where support is high, grey where it is fair, hollow where it is low.

    Where nothing is known there is none. A line above the axes says what they mean.
    """
    points, values = np.asarray(places, dtype=np.float64).reshape(-1, 2), np.asarray(support, dtype=np.float64)
    if len(values) == 0:
        return
    steps = [*SUPPORT_STEPS, 0.0]
    for k, least in enumerate(steps):
        chosen = (values >= least) & (values < (steps[k - 1] if k else np.inf))
        style: Any = {"facecolors": SUPPORT_FILLS[k], "edgecolors": "0.25", "linewidths": 0.7, "zorder": 3}
        ax.scatter(points[chosen, 0], points[chosen, 1], s=area * line_scale() ** 2, **style)
    high, fair = SUPPORT_STEPS
    write_note(ax, 0.0, 1.0, f"● support ≥ {high}  ◐ ≥ {fair}  ○ less (groups only)")


def apply_layout(ax: Axes) -> None:
    """Apply the figure's layout now, so that room for text can be measured."""
    figure: Any = ax.figure
    figure.figure.draw_without_rendering()  # the figure of a subfigure is the whole one


def points_per_unit(ax: Axes) -> tuple[float, float]:
    """Return typographic points per data unit along x and y, once the layout is applied."""
    apply_layout(ax)
    (left, right), (bottom, top), inch = ax.get_xlim(), ax.get_ylim(), 72.0 / ax.figure.dpi
    return ax.bbox.width / abs(right - left) * inch, ax.bbox.height / abs(top - bottom) * inch


def require_at_least(name: str, value: int | None, least: int) -> None:
    """Raise an error for a limit below which nothing is shown; None is no limit."""
    if value is not None and value < least:
        raise ValueError(f"{name}={value} shows nothing; choose {name} >= {least}.")


def _entry(color: Any, marker: str, label: str) -> Line2D:
    return Line2D([], [], color=color, marker=marker, linestyle="", label=label.replace("$", r"\$"))
