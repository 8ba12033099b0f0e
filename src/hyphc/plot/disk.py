"""The tree in the Poincaré disk, as geodesic arcs through hyperbolic LCAs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.patches import Circle

from .._runtime.arrays import Floats
from ..hyperbolic.encode import encode_by_height
from ..hyperbolic.geometry import check_ball
from ..tree import Tree
from .common import (
    LINE_HEIGHT,
    Groups,
    add_legend,
    axes_or_new,
    groups_of,
    mark_support,
    names_of,
    points_per_unit,
    tree_from,
    write_note,
)
from .glyphs import printable

# An arc shorter than this share of the disk's radius differs from its chord by less than a pixel.
STRAIGHT = 0.03
ARC_POINTS = 24
MARKED = 100  # clusters whose support is marked: more would hide the tree


def disk(
    tree: Any,
    *,
    embedding: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
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
    names : sequence of str, optional
        Written outside the circle where there is room; the picture says of how many there was none. Default: the tree's names.
    support : bool
        Whether the largest clusters are marked by how sure they are, where the tree carries support (``Tree.with_support``).
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
        _mark_support(ax, shown, points)
    written = names_of(shown, names)
    if written is not None:
        _write_names(ax, points, written)
    return ax


def _mark_support(ax: Axes, tree: Tree, points: Floats) -> None:
    """Mark the support of the largest clusters except the root."""
    assert tree.support is not None
    n = tree.n_leaves
    largest = n + np.argsort(-tree.sizes[n:-1], kind="stable")[:MARKED]
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


def _write_names(ax: Axes, points: Floats, names: tuple[str, ...]) -> None:
    """Write names around the circle, rotated to point outwards, and left out where they would overlap."""
    size = 7.0
    side = min(points_per_unit(ax)) * 2.08
    written, style = printable(names)
    style |= {"fontsize": size, "rotation_mode": "anchor", "va": "center"}
    longest = 0.62 * size * max(map(len, written))
    # what is left of half a side beyond 1.05 holds the longest name
    reach = 1.05 / max(0.4, 1.0 - 2.0 * longest / side)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
    room = LINE_HEIGHT * size * 2.0 * reach / side / 1.03
    angles = np.arctan2(points[:, 1], points[:, 0])
    order = np.argsort(angles, kind="stable")
    first = last = angles[order[0]] - 2.0 * np.pi
    n_shown = 0
    for leaf in order.tolist():
        angle = angles[leaf]
        if angle - last < room or first + 4.0 * np.pi - angle < room:
            continue
        last, n_shown = angle, n_shown + 1
        leftward = abs(angle) > 0.5 * np.pi
        turned = {"rotation": np.degrees(angle) + 180.0 * leftward, "ha": "right" if leftward else "left"}
        ax.text(1.03 * np.cos(angle), 1.03 * np.sin(angle), written[leaf], **turned, **style)
    if n_shown < len(names):
        write_note(ax, 0.0, 0.0, f"{n_shown} of {len(names)} names are shown")
