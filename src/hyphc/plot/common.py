"""What the pictures share: the tree of what was passed, groups of leaves, their colours, the legend, fresh axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from .._kernels.tree.passes import smallest_leaves
from .._shared.arrays import Floats, Ints
from .._shared.text import visible
from ..tree import Tree, TreeLike, as_tree
from ..tree.checks import check_names

# Okabe and Ito's colours; wine instead of yellow, which does not show on white, and of black.
BASE_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255")
# From the eighth group on the colours come again, darker and with another marker.
MARKERS = ("o", "s", "^")
SHADES = (1.0, 0.5, 0.75)
BRANCH_COLOR = (0.45, 0.45, 0.45)
MISSING_COLOR = (0.72, 0.72, 0.72)
# Support from which on a cluster is marked as sure, and as fair; the fills of these marks and of all others.
SUPPORT_STEPS, SUPPORT_FILLS = (0.95, 0.8), ("black", "0.6", "white")
LINE_HEIGHT = 1.35  # a line of text takes this many times its font size
MAX_GROUPS = len(BASE_COLORS) * len(MARKERS)


@dataclass(frozen=True)
class Groups:
    """Leaves by colour: ``codes`` (n,) count groups from 0; −1 is a leaf without one (missing, or of a rare group)."""

    codes: Ints
    names: tuple[str, ...]
    title: str
    n_rare: int = 0

    def colors(self) -> Floats:
        """A colour for each group and, last, that of leaves without one: (groups + 1, 3)."""
        return np.array([*(group_color(k) for k in range(len(self.names))), MISSING_COLOR])

    def branch_colors(self, tree: Tree, nodes: Ints) -> Floats:
        """A colour for each of the nodes, (nodes, 3): that of its leaves' group when they share one, else grey."""
        lowest = smallest_leaves(np.array(tree.children), self.codes)
        highest = -smallest_leaves(np.array(tree.children), -self.codes)
        palette = np.vstack([self.colors()[:-1], BRANCH_COLOR])
        return np.asarray(palette[np.where(lowest == highest, lowest, -1)[nodes]])

    def legend_entries(self) -> list[Line2D]:
        entries = [_entry(group_color(k), group_marker(k), name) for k, name in enumerate(self.names)]
        if (self.codes < 0).any():
            rest = f"{self.n_rare} others" if self.n_rare else "none"
            entries.append(_entry(MISSING_COLOR, "o", rest))
        return entries


def group_color(k: int) -> tuple[float, float, float]:
    r, g, b = to_rgb(BASE_COLORS[k % len(BASE_COLORS)])
    shade = SHADES[k // len(BASE_COLORS) % len(SHADES)]
    return shade * r, shade * g, shade * b


def group_marker(k: int) -> str:
    return MARKERS[k // len(BASE_COLORS) % len(MARKERS)]


def tree_of(source: Any) -> Tree:
    """The tree of a fitted model, a result of ``embed``, a linkage matrix, or the tree itself."""
    for attribute in ("tree_", "tree"):
        if isinstance(found := getattr(source, attribute, None), Tree):
            return found
    if hasattr(source, "fit"):
        raise ValueError(f"{type(source).__name__} is not fitted; call fit before plotting it.")
    linkage: TreeLike = source
    return as_tree(linkage)


def groups_of(source: Any, tree: Tree, labels: npt.ArrayLike | None) -> Groups:
    """Groups by label; without labels, the clusters of the model or of an automatic cut of the tree."""
    if labels is not None:
        return _grouped(np.asarray(labels), tree.n_leaves, "label")
    clusters = getattr(source, "labels_", None)
    if clusters is None:
        clusters = tree.cut(n_clusters=tree.n_clusters)
    return _grouped(np.asarray(clusters), tree.n_leaves, "cluster")


def _grouped(labels: npt.NDArray[Any], n: int, title: str) -> Groups:
    if labels.shape != (n,):
        raise ValueError(f"labels have shape {labels.shape} and the tree {n} leaves; give one label for each leaf.")
    if labels.dtype == object:
        labels = np.array([-1 if label is None else label for label in labels], dtype=object).astype(str)
    values, codes = np.unique(labels, return_inverse=True)
    missing = np.array([value == -1 or str(value) == "-1" for value in values.tolist()])
    counts = np.where(missing, -1, np.bincount(codes, minlength=len(values)))
    kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_GROUPS])
    kept = kept[~missing[kept]]
    number = np.full(len(values), -1)
    number[kept] = np.arange(len(kept))
    n_rare = len(values) - int(missing.sum()) - len(kept)
    return Groups(number[codes], tuple(str(value) for value in values[kept]), title, n_rare)


def names_of(tree: Tree, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names given, or the tree's own, or None."""
    return tree.names if names is None else check_names(names, tree.n_leaves)


def shortened(name: str, length: int = 28) -> str:
    """The name as matplotlib writes it: no mathematics between dollars, no character that SVG cannot hold."""
    short = visible(name if len(name) <= length else name[: length - 1] + "…")
    return short.replace("$", r"\$")


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure of this size in inches."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def add_legend(ax: Axes, groups: Groups, side: Literal["left", "right"] = "right") -> None:
    """A legend beside the axes, in columns when it is long; none for a single group."""
    entries = groups.legend_entries()
    if len(entries) > 1:
        ax.legend(
            handles=entries,
            title=groups.title,
            loc="center left" if side == "right" else "center right",
            bbox_to_anchor=(1.01 if side == "right" else -0.01, 0.5),
            frameon=False,
            ncols=1 + (len(entries) - 1) // 14,
        )


def mark_support(ax: Axes, places: npt.ArrayLike, support: npt.ArrayLike, area: float = 22.0) -> None:
    """A dot at each of the places (m, 2): black where support is high, grey where it is fair, hollow where it is low.

    Where nothing is known there is none. A line above the axes says what they mean.
    """
    points, values = np.asarray(places, dtype=np.float64), np.asarray(support, dtype=np.float64)
    steps = [*SUPPORT_STEPS, 0.0]
    for k, least in enumerate(steps):
        chosen = (values >= least) & (values < (steps[k - 1] if k else np.inf))
        style: Any = {"facecolors": SUPPORT_FILLS[k], "edgecolors": "0.25", "linewidths": 0.7, "zorder": 3}
        ax.scatter(points[chosen, 0], points[chosen, 1], s=area, **style)
    told = f"● support ≥ {SUPPORT_STEPS[0]}   ◐ ≥ {SUPPORT_STEPS[1]}   ○ less"
    ax.text(0.0, 1.0, told, transform=ax.transAxes, ha="left", va="bottom", fontsize=8, color=BRANCH_COLOR)


def settle_layout(ax: Axes) -> None:
    """Let the figure place its axes now, so that room for text can be measured."""
    figure: Any = ax.figure
    figure.figure.draw_without_rendering()  # the figure of a subfigure is the whole one


def points_per_unit(ax: Axes, axis: str) -> float:
    """Printer's points for one data unit along the axis "x" or "y", as the axes stand now."""
    low, high = ax.get_xlim() if axis == "x" else ax.get_ylim()
    pixels = ax.bbox.width if axis == "x" else ax.bbox.height
    return float(pixels / abs(high - low) * 72.0 / ax.figure.dpi)


def _entry(color: tuple[float, float, float], marker: str, label: str) -> Line2D:
    return Line2D([], [], color=color, marker=marker, linestyle="", label=shortened(label))
