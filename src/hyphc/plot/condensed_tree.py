"""Icicle plot of the condensed tree, flat clusters in their colours."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patheffects import Normal, Stroke

from .._runtime.arrays import Floats, Ints
from ..tree import Tree
from ..tree.condense import CondensedTree
from ..tree.icicle_layout import Icicles, cluster_cores, enclosing, icicles, merges_between, visible_condensed
from ..tree.prunings import CONDENSED, flat_clusters, own_clusters, require_size
from .common import (
    AXES_SHARE,
    BRANCH_COLOR,
    LINE_HEIGHT,
    MIXED_COLOR,
    add_legend,
    axes_or_new,
    cluster_groups,
    draw_lines,
    inches_for,
    points_per_unit,
    tree_from,
    wrap_caption,
)
from .figure_style import LETTER_WIDTH, font, is_narrow, make_higher

SIZE_FONT = 8.0
DIGIT_WIDTH = 0.65  # of the font size
SPLIT_SHADE = 0.6  # lines at the splits of a cluster have its colour, darkened by this factor
MARGIN = 0.01  # of the width, beside the icicles
HEADROOM = 0.06  # of the height of the picture, for the sizes of groups below the root
FOOTROOM = 0.04  # below the lowest icicle, where the axis does not begin at 0
FROM_ZERO = 0.25  # the axis begins at 0 where the lowest icicle ends below this share of the root's height
HALO = [Stroke(linewidth=2.0, foreground="white", alpha=0.8), Normal()]  # keeps text legible on lines and colours


def condensed_tree(
    tree: Any,
    *,
    min_size: float | None = None,
    n_clusters: int | None = None,
    sizes: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the condensed tree: an icicle for each group, from where it splits off down to where it splits or ends.

    The width at each height is the number of points still in the group; points that fall out narrow it. Flat clusters have their
    colours, the groups above them are grey. A dashed line shows the cut where the clusters are those below the highest splits.

    Parameters
    ----------
    tree : Tree, linkage matrix, fitted HypHC, EmbedResult or CondensedTree
        Groups stand in ``leaf_order()``.
    min_size : float, optional
        Minimum number of points on each side of a split, see ``Tree.condense``. Default: that of the model or condensed tree,
        else the default of ``Tree.condense``. Merges between two clusters are always drawn as splits.
    n_clusters : int, optional
        Colour the clusters of ``Tree.cut(n_clusters, min_size=min_size)``. Default: the model's clusters, or an automatic cut.
    sizes : bool
        Whether the group of each cluster has its number of points written above it, or upright inside it, where there is room; a
        line below the picture says of how many it is not written. Points that fell out above the group are not counted.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    Groups of less than 1 / 2 000 of all points are drawn as points that fall out, unless they are clusters. Leaves count by
    their ``leaf_sizes``. A group of one leaf is drawn down to height 0, others to the height at which their last points leave.
    """
    source, tree = tree, tree_from(tree)
    min_size = getattr(source, "min_size", None) if min_size is None else min_size
    require_size(tree, min_size)
    labels, cores = _clusters(source, tree, min_size, n_clusters)
    between = merges_between(tree, cores)
    condensed = visible_condensed(tree, min_size, between)
    picture, groups = icicles(condensed), cluster_groups(tree, labels)
    of_cluster = enclosing(tree, picture.nodes, cores)
    ax = axes_or_new(ax, (8.0, 4.5))
    colors = groups.colors()[groups.codes[tree.leaf_order()[tree._first[cores]]]]
    _draw_icicles(ax, picture, of_cluster, colors)
    level = _cut_level(condensed, np.flatnonzero(between), float(picture.ends.min()))
    cut = "" if level is None else f"{len(cores)}{chr(10) if is_narrow() else ' '}clusters"
    _set_limits(ax, picture, cut)
    if level is not None:
        _draw_cut(ax, level, cut)
    add_legend(ax, groups)
    if sizes:
        _write_sizes(ax, picture, of_cluster)
    return ax


def _clusters(source: Any, tree: Tree, min_size: float | None, n_clusters: int | None) -> tuple[Ints, Ints]:
    """Return the label of each leaf, and the node at the core of each cluster."""
    if n_clusters is None and (labels := getattr(source, "labels_", None)) is not None:
        return labels, cluster_cores(tree, np.unique(labels, return_inverse=True)[1])
    if n_clusters is None:
        found = own_clusters(tree, CONDENSED, min_size)
    else:
        found = flat_clusters(tree, n_clusters, CONDENSED, min_size)
    return found.labels, found.nodes


def _draw_icicles(ax: Axes, picture: Icicles, of_cluster: Ints, colors: Floats) -> None:
    """Draw each group in the colour of its cluster, or in grey, and a line along the tops of the two groups of each split."""
    fills = np.vstack([colors, MIXED_COLOR])[of_cluster]
    lines = np.vstack([SPLIT_SHADE * colors, BRANCH_COLOR])[of_cluster]
    outlines = PolyCollection(picture.corners, facecolors=fills, edgecolors=fills, linewidths=0.5)
    ax.add_collection(outlines, autolim=False)
    left, right = picture.middles[1::2] - picture.points[1::2] / 2, picture.middles[2::2] + picture.points[2::2] / 2
    ends = np.stack([np.column_stack([x, picture.tops[1::2]]) for x in (left, right)], axis=1)
    draw_lines(ax, ends, lines[picture.parents[1::2]], 0.8)


def _set_limits(ax: Axes, picture: Icicles, cut: str) -> None:
    letters = max(map(len, cut.split("\n")))
    room = LETTER_WIDTH * font(SIZE_FONT) * letters / (AXES_SHARE * 72.0 * inches_for(ax))
    top, lowest = float(picture.tops[0]), float(picture.ends.min())
    base = lowest - FOOTROOM * (top - lowest) if lowest > FROM_ZERO * top else 0.0
    height = top - base if top > base else 1.0
    right = (1 + max(MARGIN, room)) * picture.width
    ax.set(
        xlim=(-MARGIN * picture.width, right), ylim=(base, base + (1 + HEADROOM) * height), ylabel="height", xticks=[]
    )
    ax.set_xlabel(f"width: points ({_number(picture.points[0])} at the top)", fontsize=font(8.0), color=BRANCH_COLOR)
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _cut_level(condensed: CondensedTree, undone: Ints, lowest: float) -> float | None:
    """Return the middle between the undone splits and the highest other one; None where no line has all of them above it."""
    splits, heights = condensed.splits, condensed.tree.heights
    kept = len(splits) - len(undone)
    if len(undone) == 0 or not np.array_equal(splits[kept:], undone):
        return None
    above, below = float(heights[undone[0]]), float(heights[splits[kept - 1]]) if kept else lowest
    return (above + below) / 2 if above > below else None


def _draw_cut(ax: Axes, level: float, text: str) -> None:
    ax.axhline(level, color=BRANCH_COLOR, linewidth=0.8, linestyle=(0, (5, 4)))
    style: Any = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "bottom", "fontsize": font(SIZE_FONT)}
    ax.text(1.0, level, text, color="0.2", path_effects=HALO, **style)


def _write_sizes(ax: Axes, picture: Icicles, of_cluster: Ints) -> None:
    """Write how many points the group of each cluster has: above the group, or upright inside one that is narrow.

    The label of the x axis says of how many groups the number is not written.
    """
    across, up = points_per_unit(ax)
    width, length = picture.points * across, (picture.tops - picture.ends) * up
    parents = np.append(-1, of_cluster[picture.parents[1:]])
    tops = np.flatnonzero((of_cluster >= 0) & (parents < 0)).tolist()
    size, left_out = font(SIZE_FONT), []
    for k in tops:
        text = _number(picture.points[k])
        needed = len(text) * DIGIT_WIDTH * size
        style: Any = {"ha": "center", "va": "bottom", "fontsize": size, "path_effects": HALO}
        if needed > width[k]:
            if size > width[k] or needed + size > length[k]:
                left_out.append(k)
                continue
            style |= {"va": "top", "rotation": 90}
        ax.text(picture.middles[k], picture.tops[k], text, **style)
    if left_out:
        _say_sizes_left_out(ax, picture.points[left_out], len(tops))


def _say_sizes_left_out(ax: Axes, points: Floats, n_clusters: int) -> None:
    """Say below the picture for how many clusters there is no room for the number of points, and how many they have."""
    least, most = _number(points.min()), _number(points.max())
    of = f"{least} to {most} points" if least != most else f"{least} point{'s' * (least != '1')}"
    said = f"no room for the sizes of {len(points)} of {n_clusters} clusters, {of}"
    caption = wrap_caption(f"{ax.get_xlabel()}; {said}", ax)
    ax.set_xlabel(caption)
    if is_narrow():
        make_higher(ax.figure, LINE_HEIGHT * font(8.0) * caption.count("\n"))


def _number(points: float) -> str:
    """Return a number of points in digits, or with a fraction where leaves stand for fractions of points."""
    return f"{points:.0f}" if points >= 100 or points == round(points) else f"{points:.3g}"
