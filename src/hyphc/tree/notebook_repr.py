"""HTML of a tree for notebooks: one line of facts, and a drawing of its top."""

from __future__ import annotations

from html import escape

from .._runtime.abbreviate import abbreviate
from .core import Tree
from .layout import Layout, layout
from .subtrees import called

TIPS = 40
LETTERS = 24
# pixels: the drawing, a line of it, and the text beside it
_WIDTH, _LINE, _TEXT = 360, 14, 190


def tree_html(tree: Tree) -> str:
    """Return HTML without scripts, in the colours of the page around it; names are escaped."""
    shown = layout(tree, TIPS)
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
        f'<path d="{_path(tree, shown)}" stroke-width="1"/>{_texts(tree, shown)}</svg></div>'
    )


def _path(tree: Tree, shown: Layout) -> str:
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 0.0
    scale = (_WIDTH - 12) / top if top > 0 else 0.0
    steps = []
    for corners in shown.lines.tolist():
        (y0, h0), (y1, h1), (_, h2) = corners
        x0, x1, x2 = (_WIDTH - 6 - scale * h for h in (h0, h1, h2))
        steps.append(f"M{x0:.1f} {_y(y0):.1f}L{x1:.1f} {_y(y1):.1f}H{x2:.1f}")
    return "".join(steps)


def _texts(tree: Tree, shown: Layout) -> str:
    names = [called(tree, v) if v < tree.n_leaves else f"({tree.sizes[v]})" for v in shown.tips.tolist()]
    style = 'font-size="11" fill="currentColor" stroke="none" font-family="sans-serif"'
    return "".join(
        f'<text x="{_WIDTH}" y="{_y(slot) + 4:.1f}" {style}>{escape(_printable(name))}</text>'
        for slot, name in enumerate(abbreviate(names, LETTERS))
    )


def _y(slot: float) -> float:
    return _LINE * (slot + 0.5) + 3


def _printable(text: str) -> str:
    """Return the text without control characters, which SVG forbids."""
    return "".join(c if c.isprintable() else " " for c in text)
