"""Layout of the top of a tree in a picture, in a single pass without recursion.

Points that are not equal must not look like duplicates, which have height 0. A third of the merges of a neighbour graph have
heights of a millionth of the root's (the nearest neighbour of a point has the largest possible weight); to scale they would
be drawn at 0. So pictures draw them at ``LEAST_DRAWN`` of the root's height at least, with a note at the axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._runtime.arrays import Floats, Ints
from .core import Tree

# Merges of points that are not equal are drawn at least this share of the root's height: a few points of print.
LEAST_DRAWN = 0.025
# Heights below this share of the root's are the rounding of 0.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Layout:
    """The shown part of a tree: one slot a tip, merges in the middle of their children.

    ``tips`` are nodes from left to right (leaves, or clusters whose inside is not shown). Branch b leads down to ``ends[b]``
    along ``lines[b]``, three points (slot, height). ``raised`` says whether a height was below ``least`` and is drawn there;
    ``zero_is_equal`` whether merges at height 0 are of equal points, and were left there.
    """

    tips: Ints
    ends: Ints
    lines: Floats
    least: float
    raised: bool
    zero_is_equal: bool


def layout(
    tree: Tree,
    max_leaves: int | None = None,
    max_depth: int | None = None,
    *,
    to_scale: bool = False,
    share: float = LEAST_DRAWN,
) -> Layout:
    """Undo the highest merges until ``max_leaves`` tips show, but none that lies ``max_depth`` levels down; O(tips).

    With ``to_scale`` a tip takes as many slots as it has leaves, so that tips stand beside a table of all leaves. Merges of
    points that are not equal stand at least at ``share`` of the root's height.
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
    least = share * float(tree.heights[-1]) if n > 1 else 0.0
    drawn = np.concatenate([links[:, 0], tips]).astype(np.int64)
    raised = bool((drawn_heights(tree, drawn, least) > node_heights(tree, drawn)).any())
    lines = _lines(tree, links, slot, least)
    return Layout(np.array(tips, dtype=np.int64), links[:, 1:].ravel(), lines, least, raised, zero_is_equal(tree))


def _lines(tree: Tree, links: Ints, slot: dict[int, float], least: float) -> Floats:
    """Return lines across from each merge to above its child, then down to the child: (2·merges, 3, 2)."""
    parents, ends = np.repeat(links[:, 0], 2), links[:, 1:].ravel()
    heights = drawn_heights(tree, np.concatenate([parents, ends]), least)
    top, bottom = heights[: len(parents)], heights[len(parents) :]
    middle = np.array([slot[v] for v in parents.tolist()], dtype=np.float64)
    below = np.array([slot[v] for v in ends.tolist()], dtype=np.float64)
    corners = [np.column_stack([middle, top]), np.column_stack([below, top]), np.column_stack([below, bottom])]
    return np.stack(corners, axis=1)


def node_heights(tree: Tree, nodes: Ints) -> Floats:
    """Return the heights of nodes; leaves have 0."""
    return np.concatenate([[0.0], tree.heights])[np.maximum(nodes - tree.n_leaves + 1, 0)]


def drawn_heights(tree: Tree, nodes: Ints, least: float) -> Floats:
    """Return where nodes stand in a picture: leaves and merges of equal points at 0, other merges at ``least`` or above."""
    heights = node_heights(tree, nodes)
    top = float(tree.heights[-1]) if tree.n_leaves > 1 else 0.0
    apart = nodes >= tree.n_leaves
    if zero_is_equal(tree):
        apart &= heights > ROUNDING * top
    return np.where(apart, np.maximum(heights, least), heights)


def zero_is_equal(tree: Tree) -> bool:
    """Return whether a merge at height 0 is one of equal points, as far as the tree can tell.

    Heights of fits to a graph or a matrix begin at the largest similarity of two points, which need not be equal. Such trees
    carry split weights, but no squared distances.
    """
    return tree.split_weights is None or tree.split_squares is not None
