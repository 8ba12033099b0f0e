"""Trees for other programs: nested JSON as d3 reads it, and annotation files of iTOL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._runtime.sanitize import visible

if TYPE_CHECKING:
    from .core import Tree


def to_d3(tree: Tree, names: Sequence[str]) -> str:
    """Return the text of ``Tree.to_d3``; trees may be as deep as they have leaves, so no function recurses."""
    n, sizes, heights = tree.n_leaves, tree.sizes.tolist(), tree.heights.tolist()
    children, parts, stack = tree.children.tolist(), list[str](), list[int | str]([2 * tree.n_leaves - 2])
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node < n:
            parts.append(f'{{"name": {json.dumps(names[node])}, "size": 1}}')
        else:
            parts.append(f'{{"name": "", "size": {sizes[node]}, "height": {heights[node - n]!r}, "children": [')
            left, right = children[node - n]
            stack += ["]}", right, ", ", left]
    return "".join(parts)


def itol_color_strip(names: Sequence[str], classes: Sequence[str], colours: Sequence[str], title: str) -> str:
    """Return a DATASET_COLORSTRIP of iTOL: a colour, "#rrggbb", and a class for each leaf, separated by tabs."""
    lines = ["DATASET_COLORSTRIP", "SEPARATOR TAB", f"DATASET_LABEL\t{_cell(title)}", "COLOR\t#0072B2", "DATA"]
    lines += ["\t".join(map(_cell, row)) for row in zip(names, colours, classes, strict=True)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a cell on one line without tabs."""
    return " ".join(visible(text).split())
