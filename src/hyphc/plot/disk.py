"""The tree in the Poincaré disk, as geodesic arcs through hyperbolic LCAs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.patches import Circle

from .._runtime.abbreviate import abbreviate
from .._runtime.arrays import Floats, Ints
from ..hyperbolic.encode import encode_by_height
from ..hyperbolic.geometry import check_ball
from ..scores.describe import Descriptions
from ..tree import Tree
from .common import (
    LINE_HEIGHT,
    MOST_NAMES,
    Groups,
    add_legend,
    axes_or_new,
    groups_of,
    informative_support,
    mark_support,
    names_of,
    node_names_of,
    points_per_unit,
    pure_nodes,
    shorten_group_name,
    tree_from,
    write_note,
)
from .figure_style import LETTER_WIDTH, font, is_narrow, line_scale
from .glyphs import printable

# An arc shorter than this share of the disk's radius differs from its chord by less than a pixel.
STRAIGHT = 0.03
ARC_POINTS = 24
# Radii at which names and the lines to those that moved stand.
LINES_FROM, LINES_TO, NAMES_AT = 1.01, 1.07, 1.08
MOST_GROUPS = 40  # groups whose names are written
BELOW_NAMES = -0.03  # share of the side, where the note on names begins
NAME_SHARE, SHORTEST_NAME = 0.28, 8  # of the side of the picture, at most; letters of a name, at least
LOWEST_NOTE = -0.3  # share of the side: below names that reach further a note would leave no room for the circle
MARKED = 100  # clusters whose support is marked in a figure of usual width: more would hide the tree


def disk(
    tree: Any,
    *,
    embedding: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    names: Sequence[str] | Descriptions | None = None,
    support: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree in the Poincaré disk, as the paper does.

    Leaves stand where the embedding has them; a merge stands at the hyperbolic lowest common ancestor of its two children, the
    point of the geodesic between them nearest the origin; branches are geodesics. A branch has the colour of the leaves
    below it when they share one.

    Parameters
    ----------
    tree : Tree, linkage matrix, fitted HypHC or EmbedResult
    embedding : array (n, 2), optional
        Leaves in the open unit disk. Default: the model's, and for a tree without one positions that decode to it.
    labels : array (n,), optional
        Colours: numbers or strings, −1, None or NaN for a leaf without label, which is grey. Default: the model's clusters,
        or an automatic cut.
    names : sequence of str or Descriptions, optional
        Written outside the circle, spread where leaves stand close; the picture says when there is no room for all.
        ``hyphc.describe(tree, …)`` names the groups of trees of more than 60 leaves. Default: the tree's names, up to 60 leaves.
    support : bool
        Whether to mark the support of the largest clusters, if the tree has it (``Tree.with_support``).
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    O(n) time and memory, not recursive.
    """
    shown = tree_from(tree)
    points = _positions(tree, shown, embedding)
    groups = groups_of(tree, shown, labels)
    ax = axes_or_new(ax, (7.0, 6.0))
    Artists(ax, groups).update(shown, points)
    if support and shown.support is not None:
        _mark_support(ax, shown, points, groups)
    of_leaves, of_nodes = names_of(shown, names), node_names_of(names)
    if of_nodes is not None and shown.n_leaves > MOST_NAMES:
        _write_group_names(ax, shown, points, groups, of_nodes)
    elif of_leaves is not None and (shown.n_leaves <= MOST_NAMES or names is not None):
        fitting = abbreviate(of_leaves, _letters_beside(ax)) if is_narrow() else of_leaves
        written = _write_names(ax, points, tuple(fitting))
        if written < shown.n_leaves:
            _write_below_names(ax, f"{written} of {shown.n_leaves} names are shown")
    elif of_leaves is not None:
        write_note(ax, 0.0, 0.0, f"names are written of up to {MOST_NAMES} leaves", va="top")
    return ax


def _mark_support(ax: Axes, tree: Tree, points: Floats, groups: Groups) -> None:
    """Mark the support of the largest clusters, where it says something."""
    assert tree.support is not None
    n = tree.n_leaves
    largest = n + np.argsort(-tree.sizes[n:-1], kind="stable")[: int(MARKED * min(1.0, line_scale() ** 2))]
    largest = largest[informative_support(tree, largest, groups)]
    mark_support(ax, poincare(klein_nodes(tree, points)[largest]), tree.support[largest - n], area=14.0)


class Artists:
    """The circle, legend, branches and leaves of a disk; the last two are redrawn for each frame of an animation."""

    def __init__(self, ax: Axes, groups: Groups) -> None:
        ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor="0.8", linewidth=0.8))
        ax.set(xlim=(-1.04, 1.04), ylim=(-1.04, 1.04), aspect="equal")
        ax.axis("off")
        add_legend(ax, groups)
        self._groups = groups
        n = len(groups.codes)
        width, area = float(np.clip(12.0 / np.sqrt(n), 0.4, 0.9)), float(np.clip(6000.0 / n, 1.5, 40.0))
        width, area = width * line_scale() ** 0.5, area * line_scale() ** 2
        self._branches = LineCollection([], linewidths=width, zorder=1)
        ax.add_collection(self._branches, autolim=False)
        self._leaves: list[tuple[npt.NDArray[np.bool_], PathCollection]] = []
        colors = groups.colors()
        for k in range(-2, len(groups.names)):
            members = groups.codes == k
            if members.any():
                points = ax.scatter([], [], s=area, color=colors[k], marker=groups.marker(max(k, 0)), linewidths=0)
                points.set_zorder(2)
                self._leaves.append((members, points))

    def update(self, tree: Tree, points: Floats) -> None:
        """Move leaves to ``points``, (n, 2), and draw the tree between them."""
        nodes = klein_nodes(tree, points)
        self._branches.set_segments(arcs(tree, nodes))
        colors: Any = self._groups.branch_colors(tree, tree.children.ravel())  # matplotlib's type hints lack arrays
        self._branches.set_color(colors)
        for members, leaves in self._leaves:
            leaves.set_offsets(points[members])


def klein_nodes(tree: Tree, points: Floats) -> Floats:
    """Return every node in the Klein model, k = 2z / (1 + |z|²), (2n − 1, 2): a merge at the LCA of its two children.

    Geodesics of the Klein model are chords, so the LCA is the point of a straight segment nearest the origin. Plain numbers:
    each merge needs its children's, and a chain of merges leaves nothing to vectorise.
    """
    leaves = 2.0 * points / (1.0 + np.sum(points**2, axis=1, keepdims=True))
    x, y = leaves.T.tolist()
    for a, b in tree.children.tolist():
        dx, dy = x[b] - x[a], y[b] - y[a]
        square = dx * dx + dy * dy
        share = min(1.0, max(0.0, -(x[a] * dx + y[a] * dy) / square)) if square > 0.0 else 0.0
        x.append(x[a] + share * dx)
        y.append(y[a] + share * dy)
    return np.column_stack([x, y])


def poincare(klein: Floats) -> Floats:
    """Return z = k / (1 + √(1 − |k|²)); points that rounding put on or beyond the circle stay on it."""
    rest = np.sqrt(np.maximum(0.0, 1.0 - np.sum(klein**2, axis=-1, keepdims=True)))
    return np.asarray(klein / (1.0 + rest))


def arcs(tree: Tree, nodes: Floats) -> list[Floats]:
    """Return the 2n − 2 branches as polylines in the Poincaré disk, in the order of ``tree.children``; short ones are
    straight."""
    start = np.repeat(nodes[tree.n_leaves :], 2, axis=0)
    end = nodes[tree.children.ravel()]
    ends = poincare(np.stack([start, end], axis=1))  # (branches, 2, 2)
    lines = list(ends)
    curved = np.flatnonzero(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > STRAIGHT)
    # The map to the disk is a square root at the circle: steps shrink quadratically at both ends to even that out.
    steps = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, ARC_POINTS))[:, None]
    chords = start[curved, None] * (1.0 - steps) + end[curved, None] * steps
    for branch, line in zip(curved.tolist(), poincare(chords), strict=True):
        lines[branch] = line
    return lines


def _positions(source: Any, tree: Tree, embedding: npt.ArrayLike | None) -> Floats:
    if embedding is None:
        known = getattr(source, "embedding_", getattr(source, "embedding", None))
        if known is None or known.shape[1] != 2:
            return encode_by_height(tree)
        embedding = known
    points = check_ball("embedding", embedding)[0]
    if points.shape != (tree.n_leaves, 2):
        raise ValueError(f"embedding has shape {points.shape}; pass one of shape ({tree.n_leaves}, 2).")
    return points


def _write_group_names(ax: Axes, tree: Tree, points: Floats, groups: Groups, names: tuple[str, ...]) -> None:
    """Write the names of the largest groups, one for each node of one colour below one of several, at its middle leaf."""
    pure, parents = pure_nodes(tree, groups), np.asarray(tree._parents)
    tops = np.flatnonzero(pure & (parents >= 0) & ~pure[parents])
    tops = tops[np.argsort(-tree.sizes[tops], kind="stable")]
    named = [v for v in tops.tolist() if v >= tree.n_leaves and names[v]][:MOST_GROUPS]
    written = 0
    if named:
        middles, longest = [tree.members(v)[tree.sizes[v] // 2] for v in named], _letters_beside(ax)
        written = _write_names(ax, points[middles], tuple(shorten_group_name(names[v], longest) for v in named))
    if written < len(tops):
        which = ", the largest" if written == len(named) else ""
        _write_below_names(ax, f"names of {written} of {len(tops)} groups{which}")


def _write_below_names(ax: Axes, note: str) -> None:
    """Write a note below the circle, and below the names, which may reach beyond the axes."""
    lowest = min((name.get_window_extent().y0 for name in ax.texts), default=ax.bbox.y0)
    below = float(np.clip((lowest - ax.bbox.y0) / ax.bbox.height, LOWEST_NOTE, 0.0))
    write_note(ax, 0.0, BELOW_NAMES + below, note, va="top")


def _letters_beside(ax: Axes) -> int:
    """Return how many letters of a name have room beside the circle."""
    room = NAME_SHARE * min(points_per_unit(ax)) * 2.08  # points
    return max(SHORTEST_NAME, int(room / (LETTER_WIDTH * font(7.0))))


def _write_names(ax: Axes, points: Floats, names: tuple[str, ...]) -> int:
    """Write names around the circle, pointing outwards, with a thin line to those that had to move; return how many.

    Where there is no room for all, those that would overlap are left out.
    """
    size = font(7.0)
    side = min(points_per_unit(ax)) * 2.08
    written, style = printable(names)
    style |= {"fontsize": size, "rotation_mode": "anchor", "va": "center"}
    text = LETTER_WIDTH * size * max(map(len, written))
    # what is left of half a side beyond the names' radius holds the longest name
    reach = NAMES_AT / max(0.35, 1.0 - 2.0 * text / side)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
    room = LINE_HEIGHT * size * 2.0 * reach / side / NAMES_AT
    angles = np.arctan2(points[:, 1], points[:, 0])
    order = np.argsort(angles, kind="stable")
    if len(order) * room > 2.0 * np.pi:
        order = order[_apart(angles[order], room)]
        places = angles[order]
    else:
        order, places = _spread(angles, order, room)
    _draw_name_lines(ax, angles[order], places, 0.25 * room)
    for leaf, angle in zip(order.tolist(), places.tolist(), strict=True):
        leftward = bool(np.cos(angle) < 0)
        turned = {"rotation": np.degrees(angle) + 180.0 * leftward, "ha": "right" if leftward else "left"}
        ax.text(NAMES_AT * np.cos(angle), NAMES_AT * np.sin(angle), written[leaf], **turned, **style)
    return len(order)


def _draw_name_lines(ax: Axes, angles: Floats, places: Floats, least: float) -> None:
    """Draw a line from each leaf to its name where that was moved by more than the least angle."""
    moved = np.abs(places - angles) > least
    ends = np.stack([angles, places], axis=1)[moved]  # (moved, 2)
    lines = np.stack([np.cos(ends), np.sin(ends)], axis=2) * np.array([LINES_FROM, LINES_TO])[:, None]
    ax.add_collection(LineCollection(list(lines), colors="0.7", linewidths=0.5, zorder=0), autolim=False)


def _apart(angles: Floats, room: float) -> list[int]:
    """Return the positions of sorted angles, chosen in order, that keep ``room`` from each other around the circle."""
    chosen: list[int] = []
    for k, angle in enumerate(angles.tolist()):
        if not chosen or (angle - angles[chosen[-1]] >= room and angles[chosen[0]] + 2.0 * np.pi - angle >= room):
            chosen.append(k)
    return chosen


def _spread(angles: Floats, order: Ints, room: float) -> tuple[Ints, Floats]:
    """Return leaves around the circle and angles nearest to theirs, by squares, that keep ``room`` from each other.

    Isotonic regression of angle minus rank times room: adjacent violators are pooled to their mean, from the largest gap on.
    """
    gaps = np.diff(angles[order], append=angles[order[0]] + 2.0 * np.pi)
    order = np.roll(order, -1 - int(gaps.argmax()))
    ranks = room * np.arange(len(order))
    turns = 2.0 * np.pi * (angles[order] < angles[order[0]])  # leaves beyond ±π, where angles jump
    unrolled = angles[order] + turns
    pools: list[tuple[float, int]] = []
    for value in (unrolled - ranks).tolist():
        mean, count = value, 1
        while pools and pools[-1][0] >= mean:
            before, size = pools.pop()
            mean, count = (mean * count + before * size) / (count + size), count + size
        pools.append((mean, count))
    places = np.repeat([mean for mean, _ in pools], [count for _, count in pools]) + ranks
    if places[-1] - places[0] > 2.0 * np.pi - room:  # the ends overlap: space evenly
        steps = np.arange(len(order)) - 0.5 * (len(order) - 1)
        places = unrolled.mean() + 2.0 * np.pi / len(order) * steps
    return order, places - turns
