"""Where the shown part of a tree stands in a picture: the top of it, in a single pass without recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._shared.arrays import Floats, Ints
from .core import Tree


@dataclass(frozen=True)
class Layout:
    """The shown part of a tree: one slot a tip, merges in the middle of their children.

    ``tips`` are nodes from left to right (leaves, or clusters whose inside is not shown). Branch b leads down to ``ends[b]``
    along ``lines[b]``, three points (slot, height).
    """

    tips: Ints
    ends: Ints
    lines: Floats


def layout(
    tree: Tree, max_leaves: int | None = None, max_depth: int | None = None, *, to_scale: bool = False
) -> Layout:
    """Undo the highest merges until ``max_leaves`` tips show, but none that lies ``max_depth`` levels down; O(tips).

    With ``to_scale`` a tip takes as many slots as it has leaves, so that tips stand beside a table of all leaves.
    """
    n, children = tree.n_leaves, tree.children
    lowest = n if max_leaves is None else max(n, 2 * n - max_leaves)  # merges are in order of height
    tips: list[int] = []
    shown: list[tuple[int, int, int]] = []
    waiting = [(2 * n - 2, 0)]
    while waiting:  # depth first, so that tips come from left to right
        v, level = waiting.pop()
        if v >= lowest and (max_depth is None or level < max_depth):
            a, b = children[v - n].tolist()
            shown.append((v, a, b))
            waiting += [(b, level + 1), (a, level + 1)]
        else:
            tips.append(v)
    middles = tree._first[tips] + (tree.sizes[tips] - 1) / 2 if to_scale else np.arange(float(len(tips)))
    slot = dict(zip(tips, middles.tolist(), strict=True))
    for v, a, b in reversed(shown):  # children come after their parent in this list
        slot[v] = 0.5 * (slot[a] + slot[b])
    links = np.array(shown, dtype=np.int64).reshape(-1, 3)
    return Layout(np.array(tips, dtype=np.int64), links[:, 1:].ravel(), _lines(tree, links, slot))


def _lines(tree: Tree, links: Ints, slot: dict[int, float]) -> Floats:
    """Across from each merge to above its child, then down to the child: (2·merges, 3, 2)."""
    parents, ends = np.repeat(links[:, 0], 2), links[:, 1:].ravel()
    heights = node_heights(tree, np.concatenate([parents, ends]))
    top, bottom = heights[: len(parents)], heights[len(parents) :]
    middle = np.array([slot[v] for v in parents.tolist()], dtype=np.float64)
    below = np.array([slot[v] for v in ends.tolist()], dtype=np.float64)
    corners = [np.column_stack([middle, top]), np.column_stack([below, top]), np.column_stack([below, bottom])]
    return np.stack(corners, axis=1)


def node_heights(tree: Tree, nodes: Ints) -> Floats:
    """Heights of nodes; leaves stand at 0."""
    return np.concatenate([[0.0], tree.heights])[np.maximum(nodes - tree.n_leaves + 1, 0)]
