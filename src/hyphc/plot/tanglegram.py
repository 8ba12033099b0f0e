"""Two trees side by side, equal leaves joined by lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from .._runtime.arrays import Floats
from ..tree import Tree
from ..tree.compare import matched
from ..tree.layout import LEAST_DRAWN, layout
from ..tree.ordering import untangle
from ..tree.transfer_distance import in_other
from .common import (
    BRANCH_COLOR,
    LINE_HEIGHT,
    SMALLEST_FONT,
    add_legend,
    axes_or_new,
    draw_lines,
    groups_of,
    names_of,
    points_per_unit,
    tree_from,
    wrap_label,
    write_note,
)
from .dendrogram import LARGEST_FONT
from .figure_style import font
from .glyphs import printable

# The left tree takes 0 … 1, the right one 1 + GAP … 2 + GAP.
GAP = 0.7
LONGEST_TITLE = 60  # characters
# Leaves whose names a figure has room for, where its height follows from them; lines of text for its axis, legend and titles.
MOST_NAMED, LINES_BESIDES = 80, 10
DIFFERENCE_COLOR = "#d62728"


def tanglegram(
    tree: Any,
    other: Any,
    *,
    labels: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    titles: tuple[str, str] | None = None,
    mark_differences: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw two trees of the same leaves side by side; children are flipped to reduce crossings.

    Parameters
    ----------
    tree, other : Tree, linkage matrix, fitted HypHC or EmbedResult
        Leaf i is the same in both, unless both trees have names: then leaves are matched by name.
    labels : array (n,), optional
        Colours of the lines, by the leaves of ``tree``. Default: clusters of ``tree``.
    names : sequence of str, optional
        Names of the leaves of ``tree``; written as far as there is room. Default: the tree's, or numbers.
    titles : (str, str), optional
        Written above the two trees.
    mark_differences : bool
        Whether branches to clusters that the other tree does not have are drawn in red.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    O(n log² n). Each tree has its own scale of heights.
    """
    source, left, right = tree, tree_from(tree), tree_from(other)
    left, right, n_crossings = untangle(left, matched(left, right))
    groups = groups_of(source, left, labels)
    n_lines = left.n_leaves + LINES_BESIDES if left.n_leaves <= MOST_NAMED else None
    ax = axes_or_new(ax, (7.5, float(np.clip(0.14 * left.n_leaves, 3.5, 9.0))), n_lines)
    raised = []
    for shown, facing, flip in ((left, right, False), (right, left, True)):
        part = layout(shown)
        raised.append(part.raised)
        lines = np.stack([_place(shown, part.lines[..., 1], flip), part.lines[..., 0]], axis=-1)
        colors, widths = groups.branch_colors(shown, part.ends), np.full(len(part.ends), _width(left, 1.2))
        if mark_differences:
            differs = np.append(np.zeros(shown.n_leaves, dtype=bool), ~in_other(shown, facing))[part.ends]
            colors[differs] = to_rgb(DIFFERENCE_COLOR)
            widths[differs] *= 1.5
        draw_lines(ax, lines, colors, widths)
    here, there = left._first[: left.n_leaves], right._first[: left.n_leaves]
    # the names' white boxes cover where lines begin
    joins = [[(1.04, a), (0.96 + GAP, b)] for a, b in zip(here.tolist(), there.tolist(), strict=True)]
    alpha = float(np.clip(30.0 / np.sqrt(left.n_leaves) / 3.0, 0.15, 0.9))
    draw_lines(ax, joins, groups.colors()[groups.codes], _width(left, 1.0), alpha)
    ax.set(xlim=(-0.02, 2.02 + GAP), ylim=(left.n_leaves - 0.4, -0.6))
    _headings(ax, titles, n_crossings)
    add_legend(ax, groups)
    _scales(ax, left, right, any(raised))
    _write_names(ax, left, here, names_of(left, names))
    return ax


def _width(tree: Tree, widest: float) -> float:
    return float(np.clip(60.0 / tree.n_leaves, 0.3, widest))


def _highest(tree: Tree) -> float:
    return float(tree.heights[-1]) if tree.n_leaves > 1 and tree.heights[-1] > 0 else 1.0


def _place(tree: Tree, heights: Floats, flip: bool) -> Floats:
    """Return the positions of heights on the x axis."""
    share = heights / _highest(tree)
    return np.asarray(1.0 + GAP + share if flip else 1.0 - share)


def _scales(ax: Axes, left: Tree, right: Tree, raised: bool) -> None:
    ticks, texts = [], []
    for tree, flip in ((left, False), (right, True)):
        values = np.array([0.0, 0.5, 1.0]) * _highest(tree)
        ticks += _place(tree, values, flip).tolist()
        texts += [f"{value:.3g}" for value in values]
    ax.set_xticks(ticks, texts)
    least = f" (drawn at least {LEAST_DRAWN:.1%} of the root's, unless 0)" if raised else ""
    ax.set_xlabel(f"height, each tree on its own scale{least}")
    wrap_label(ax, "x")
    ax.set_yticks([])
    ax.spines[["left", "right", "top", "bottom"]].set_visible(False)


def _headings(ax: Axes, titles: tuple[str, str] | None, n_crossings: int) -> None:
    whole = 2.04 + GAP
    for text, x in zip(titles or ("", ""), (0.52, 1.52 + GAP), strict=True):
        (title,), style = printable([text], LONGEST_TITLE)
        ax.text(x / whole, 1.01, title, transform=ax.transAxes, ha="center", va="bottom", **style)
    write_note(ax, 0.5, 1.01, f"{n_crossings} crossing{'' if n_crossings == 1 else 's'}", ha="center")


def _write_names(ax: Axes, tree: Tree, slots: npt.NDArray[np.int64], names: tuple[str, ...] | None) -> None:
    """Write names to the right of the left tree's leaves; none when the slots are too narrow for text."""
    x_points, y_points = points_per_unit(ax)
    room = y_points / LINE_HEIGHT
    if room < SMALLEST_FONT:
        note = f"names need a figure {SMALLEST_FONT / room:.1f} times as high"
        above: Any = {"xycoords": "axes fraction", "xytext": (0.0, 14.0), "textcoords": "offset points"}
        ax.annotate(note, (0.5, 1.0), ha="center", va="bottom", fontsize=font(8.0), color=BRANCH_COLOR, **above)
        return
    size = min(font(LARGEST_FONT), room)
    called = [str(leaf) for leaf in range(tree.n_leaves)] if names is None else names
    written, style = printable(called, max(3, int(0.8 * GAP * x_points / (0.65 * size))))
    style |= {"fontsize": size, "va": "center", "ha": "left", "bbox": {"fc": "white", "ec": "none", "pad": 0.3}}
    for name, slot in zip(written, slots.tolist(), strict=True):
        ax.text(1.02, slot, name, **style)
