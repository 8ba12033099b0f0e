"""Dendrograms of any size, truncated by number of tips and by depth in one pass without recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.ticker import MaxNLocator

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import require_choice
from ..scores.describe import Descriptions
from ..tree import Tree
from ..tree.layout import Layout, drawn_heights, layout, node_heights
from .common import (
    Groups,
    add_legend,
    apply_layout,
    axes_or_new,
    draw_lines,
    groups_of,
    height_label,
    informative_support,
    mark_support,
    names_of,
    node_names_of,
    points_per_unit,
    require_at_least,
    shorten_group_name,
    tree_from,
    wrap_label,
    write_along,
)
from .figure_style import font, is_narrow, line_scale, longest_name
from .glyphs import LONGEST_NAME

Orientation = Literal["top", "bottom", "left", "right"]

# Where the root is → where the names are.
FACING: dict[str, Any] = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}
LARGEST_FONT = 9.0
LINES_BESIDES = 8  # of text, for the axis, the legend and the title of a figure whose height follows from its tips


def dendrogram(
    tree: Any,
    *,
    max_leaves: int | None = 100,
    max_depth: int | None = None,
    labels: npt.ArrayLike | None = None,
    names: Sequence[str] | Descriptions | None = None,
    orientation: Orientation = "top",
    support: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a dendrogram, or the top of one: a collapsed cluster is a triangle with its size in brackets.

    When all that is shown lies high up, the axis of heights begins just below it. Duplicates are joined at height 0; other merges
    are drawn a little above it however low they are, and the axis then says from which height on it is to scale.

    Parameters
    ----------
    tree : Tree, linkage matrix, fitted HypHC or EmbedResult
        Leaves come in ``leaf_order()``; ``hyphc.ordering.order_leaves`` puts similar ones side by side.
    max_leaves : int or None
        The highest merges are shown until there are so many tips; None shows all.
    max_depth : int, optional
        Only merges fewer than so many levels below the root are shown.
    labels : array (n,), optional
        Colours: numbers or strings, −1, None or NaN for a leaf without label, which is grey. A branch has the colour that all
        leaves below it share, a triangle that of most of its leaves. Default: the model's clusters, or an automatic cut.
    names : sequence of str or Descriptions, optional
        Default: the tree's names, or numbers. ``hyphc.describe(tree, …)`` names collapsed clusters as well as leaves. Without
        room for all, only every second, third, … is written, and the picture states that.
    orientation : {"top", "bottom", "left", "right"}
        Where the root is.
    support : bool
        Whether to mark the support of merges, if the tree has it (``Tree.with_support``): all of at least 0.8, and of the
        others those that are groups of one colour or contain several.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    require_at_least("max_leaves", max_leaves, 1)
    require_at_least("max_depth", max_depth, 0)
    require_choice("orientation", orientation, FACING)
    source, tree = tree, tree_from(tree)
    part, groups = layout(tree, max_leaves, max_depth), groups_of(source, tree, labels)
    upright = orientation in ("top", "bottom")
    # a narrow figure as wide as many leaves would want it is too flat for names and legend
    long_side = float(np.clip(0.14 * len(part.tips), 6.0, 6.0 if upright and is_narrow() else 12.0))
    lines = None if upright else len(part.tips) + LINES_BESIDES
    ax = axes_or_new(ax, (long_side, 4.5) if upright else (6.0, long_side), lines)
    colors = groups.branch_colors(tree, part.ends)
    width = float(np.clip(60.0 / len(part.tips), 0.3, 1.2)) * line_scale() ** 0.5
    draw_lines(ax, _turn(part.lines, upright), colors, width)
    base = _base(tree, part)
    _draw_triangles(ax, tree, part, groups, base, upright)
    _set_limits(ax, tree, part, base, orientation)
    add_legend(ax, groups, "left" if orientation == "left" else "right")  # leaves' names take the other side
    if support and tree.support is not None:
        inner = np.flatnonzero(part.ends >= tree.n_leaves)
        inner = inner[informative_support(tree, part.ends[inner], groups)]
        places = _turn(part.lines[inner, 2], upright)
        mark_support(ax, places, tree.support[part.ends[inner] - tree.n_leaves])
    _write_tips(ax, _tip_names(tree, part.tips, names), orientation)
    return ax


def _base(tree: Tree, part: Layout) -> float:
    """Return the start of the height axis: 0, or a little below what is shown when the rest of the tree is not."""
    closed = part.tips[part.tips >= tree.n_leaves]
    if len(closed) == 0:
        return 0.0
    top, lowest = tree.heights[-1], node_heights(tree, closed).min()
    return max(0.0, float(lowest - 0.2 * (top - lowest)))


def _draw_triangles(ax: Axes, tree: Tree, part: Layout, groups: Groups, base: float, upright: bool) -> None:
    slots = np.flatnonzero(part.tips >= tree.n_leaves)
    if len(slots) == 0:
        return
    heights = drawn_heights(tree, part.tips[slots], part.least)
    corners = np.full((len(slots), 3, 2), base)
    corners[:, :, 0] = slots[:, None] + np.array([0.0, -0.4, 0.4])
    corners[:, 0, 1] = heights
    colors = groups.colors()[_commonest(tree, part.tips, groups)[slots]]
    style: Any = {"facecolors": colors, "edgecolors": colors, "alpha": 0.7, "linewidths": 0.8}
    ax.add_collection(PolyCollection(list(_turn(corners, upright)), **style), autolim=False)


def _commonest(tree: Tree, tips: Ints, groups: Groups) -> Ints:
    """Return the most frequent group below each tip; tips together hold all leaves, in leaf order."""
    n_codes = len(groups.colors())
    tip_of_leaf, order = np.repeat(np.arange(len(tips)), tree.sizes[tips]), tree.leaf_order()
    codes = groups.codes[order] % n_codes  # negative codes count from the end
    points = None if tree.leaf_sizes is None else tree.leaf_sizes[order]
    counts = np.bincount(tip_of_leaf * n_codes + codes, points, len(tips) * n_codes).reshape(-1, n_codes)
    return np.asarray(counts.argmax(axis=1))


def _set_limits(ax: Axes, tree: Tree, part: Layout, base: float, orientation: Orientation) -> None:
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 0.0
    height = top - base if top > base else 1.0
    across, up, label = (-0.6, len(part.tips) - 0.4), (base, base + 1.03 * height), height_label(part)
    if orientation in ("top", "bottom"):
        ax.set(xlim=across, ylim=up if orientation == "top" else up[::-1], ylabel=label)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
    else:
        ax.set(ylim=across[::-1], xlim=up if orientation == "right" else up[::-1], xlabel=label)
        ax.spines[["top", "left", "right"]].set_visible(False)


def _write_tips(ax: Axes, shown: Sequence[str], orientation: Orientation) -> None:
    upright = orientation in ("top", "bottom")
    axis = ax.xaxis if upright else ax.yaxis
    axis.set_ticks([])
    x, y = points_per_unit(ax)
    write_along(ax, "x" if upright else "y", shown, x if upright else y, font(LARGEST_FONT))
    axis.set_ticks_position(FACING[orientation])
    axis.set_label_position(FACING[orientation])
    heights = ax.yaxis if upright else ax.xaxis
    wrap_label(ax, "y" if upright else "x")
    # as many numbers as now: others, of another width, would move the label off a figure saved with other dots per inch
    heights.set_major_locator(MaxNLocator(int(np.clip(heights.get_tick_space(), 1, 9)), steps=[1, 2, 2.5, 5, 10]))
    apply_layout(ax)


def _tip_names(tree: Tree, tips: Ints, names: Sequence[str] | Descriptions | None) -> list[str]:
    """Return what is written at the tips: the name of a leaf or its number, the name of a cluster and its size in brackets."""
    of_leaves, of_nodes = names_of(tree, names), node_names_of(names)
    n, written = tree.n_leaves, []
    for v in tips.tolist():
        if v < n:
            written.append(str(v) if of_leaves is None else of_leaves[v])
        else:
            name, count = "" if of_nodes is None else of_nodes[v], f" ({tree._points[v]:.12g})"
            written.append(f"{shorten_group_name(name, longest_name(LONGEST_NAME) - len(count))}{count}".lstrip())
    return written


def _turn(corners: Floats, upright: bool) -> Floats:
    """Return (slot, height) as (x, y), or as (y, x)."""
    return corners if upright else corners[..., ::-1]
