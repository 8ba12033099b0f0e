"""HTML of a tree for notebooks: one line of facts, and a drawing of its top."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .._runtime import palette
from .._runtime.abbreviate import abbreviate
from .._runtime.arrays import Ints
from .core import Tree
from .layout import Layout, layout
from .prunings import own_clusters
from .subtrees import called

TIPS = 40
LETTERS = 32
# pixels: the drawing, a line of it, and the text beside it
_WIDTH, _LINE, _TEXT = 360, 14, 240
_NO_CLUSTER = "currentColor"  # of branches above the clusters, and of outliers


def tree_html(tree: Tree, labels: Ints | None = None, names: Sequence[str] | None = None) -> str:
    """Return HTML without scripts: the top of the tree in the colours of its clusters; names are escaped.

    ``labels`` are the clusters of the leaves, −1 for outliers, by default the tree's own; ``names`` those of all nodes.
    """
    shown = layout(tree, TIPS)
    colours = _branch_colours(tree, own_clusters(tree).labels if labels is None else labels, shown)
    height = _LINE * len(shown.tips) + 6
    facts = f"Tree of {tree.n_leaves:,} leaves".replace(",", "\u202f") if tree.n_leaves > 1 else "Tree of one leaf"
    facts += f", height {tree.heights[-1]:.4g}, {tree.n_clusters} flat clusters" if tree.n_leaves > 1 else ""
    facts += "; heights near 0 drawn larger" if shown.raised else ""
    more = "" if tree.n_leaves <= TIPS else f"; its top, {TIPS} clusters with their numbers of leaves"
    return (
        f'<div><p style="margin:0 0 4px">{facts}{more}</p>'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _TEXT}" height="{height}" '
        f'viewBox="0 0 {_WIDTH + _TEXT} {height}" fill="none" stroke="currentColor" role="img" '
        f'style="max-width:100%;height:auto">'
        f"{_paths(tree, shown, colours)}{_texts(tree, shown, names)}</svg></div>"
    )


def _branch_colours(tree: Tree, labels: Ints, shown: Layout) -> list[str]:
    """Return the colour of each branch: that of the cluster that holds all leaves below it."""
    counts = np.bincount(labels[labels >= 0])
    slots = palette.slots(counts)
    table = [*palette.hexes(palette.cluster_colors(int(slots.max(initial=-1)) + 1)), _NO_CLUSTER]
    in_order, colours = labels[tree.leaf_order()], []
    for node in shown.ends.tolist():
        first = int(tree._first[node])
        below = in_order[first : first + int(tree.sizes[node])]
        label = int(below[0]) if (below == below[0]).all() else -1
        colours.append(table[max(slots[label], -1)] if label >= 0 else _NO_CLUSTER)
    return colours


def _paths(tree: Tree, shown: Layout, colours: Sequence[str]) -> str:
    """Return a path for each colour."""
    steps = _steps(tree, shown)
    drawn = {
        colour: "".join(step for step, own in zip(steps, colours, strict=True) if own == colour) for colour in colours
    }
    return "".join(f'<path d="{path}" stroke="{colour}" stroke-width="1.3"/>' for colour, path in drawn.items())


def _steps(tree: Tree, shown: Layout) -> list[str]:
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 0.0
    scale = (_WIDTH - 12) / top if top > 0 else 0.0
    steps = []
    for corners in shown.lines.tolist():
        (y0, h0), (y1, h1), (_, h2) = corners
        x0, x1, x2 = (_WIDTH - 6 - scale * h for h in (h0, h1, h2))
        steps.append(f"M{x0:.1f} {_y(y0):.1f}L{x1:.1f} {_y(y1):.1f}H{x2:.1f}")
    return steps


def _texts(tree: Tree, shown: Layout, names: Sequence[str] | None) -> str:
    tips = shown.tips.tolist()
    called_tips = abbreviate(
        [called(tree, v) if v < tree.n_leaves else names[v] if names else "" for v in tips], LETTERS
    )
    sizes = ["" if v < tree.n_leaves else f"({tree.sizes[v]})" for v in tips]
    captions = [f"{name} {size}".strip() for name, size in zip(called_tips, sizes, strict=True)]
    style = 'font-size="11" fill="currentColor" stroke="none" font-family="sans-serif"'
    return "".join(
        f'<text x="{_WIDTH}" y="{_y(slot) + 4:.1f}" {style}>{escape(_printable(name))}</text>'
        for slot, name in enumerate(captions)
    )


def _y(slot: float) -> float:
    return _LINE * (slot + 0.5) + 3


def _printable(text: str) -> str:
    """Return the text without control characters, which SVG forbids."""
    return "".join(c if c.isprintable() else " " for c in text)
