"""Encoding of trees: leaves on a circle of the Poincaré disk, with gaps between neighbours that grow with their merges."""

from __future__ import annotations

import numpy as np

from .._kernels.hyperbolic import decoding as kernels
from .._runtime.arrays import Floats
from ..tree import TreeLike, as_tree
from .decode import decode

# 1 − |z| = 9e-5: far enough out for depths to order gaps well, far enough in to survive a cast to float32.
DEFAULT_RADIUS = 10.0
# 1 − |z| = 1.9e-13, 1700 spacings of float64: rounded points stay in the disk, their radius within 1e-3.
MAX_RADIUS = 30.0
# float64: rounding the angle, its cosine and sine, their product with |z|, and arctan2 on the way back move a
# gap by less than half of this (docs/decoding.md), so gaps this far apart keep their order.
GAP_RESOLUTION = 2.0**-47


def encode(tree: TreeLike, radius: float = DEFAULT_RADIUS) -> Floats:
    """Return points of one hyperbolic radius in the disk that decode to the tree: decode(encode(T)) == T.

    Leaves lie on the circle in leaf order. The gap between neighbours is proportional to the level of the
    merge that joins them (a leaf has level 0, a merge one more than the higher of its children), and the gap
    that closes the circle is one step wider still. So the gap of a merge is wider than every gap below it, which
    decides the Cartesian tree; equal gaps belong to merges of which neither lies below the other.

    Parameters
    ----------
    tree : Tree or SciPy linkage matrix
        n leaves.
    radius : float
        Distance of the points to the origin, in (0, 30]. The default, 10, has |z| = 0.99991.

    Returns
    -------
    array of shape (n, 2), float64
        Point i stands for leaf i. Keep them in float64: float32 loses chains of 10 000 leaves.

    Notes
    -----
    O(n). With L the sum of all levels, unequal gaps differ by at least 2π/L, and that must exceed
    `GAP_RESOLUTION`. It does for every tree of up to 40 million leaves: a chain has L ≈ n²/2, the most there
    is. Beyond that, a tree whose levels add up to too much is an error.

    Examples
    --------
    >>> from hyphc import Tree, decode
    >>> tree = Tree([[0, 1], [3, 2]])
    >>> decode(encode(tree)) == tree
    True
    """
    if not 0.0 < radius <= MAX_RADIUS:
        raise ValueError(f"radius={radius} is not in (0, {MAX_RADIUS:g}]; float64 coordinates hold no more.")
    return _on_circle(encode_angles(tree), radius)


def _on_circle(angles: Floats, radius: float) -> Floats:
    return np.asarray(np.tanh(0.5 * radius) * np.column_stack([np.cos(angles), np.sin(angles)]))


def encode_by_height(tree: TreeLike, radius: float = DEFAULT_RADIUS) -> Floats:
    """Return points as of `encode`, with gaps that grow with sizes and heights, for pictures.

    The gap of a merge is proportional to √size·(¼ + height / largest height). Sizes grow and heights do not fall on the way
    up, so a parent's gap is wider than its children's. Where rounding would hide that, as in chains of millions of leaves,
    the result is that of `encode`.

    Examples
    --------
    >>> from hyphc import Tree, decode
    >>> tree = Tree([[0, 1], [3, 2]], heights=[1.0, 5.0])
    >>> decode(encode_by_height(tree)) == tree
    True
    """
    tree = as_tree(tree)
    n = tree.n_leaves
    if n < 3:
        return encode(tree, radius)
    relative = tree.heights / tree.heights[-1] if tree.heights[-1] > 0 else np.zeros(n - 1)
    gaps = np.sqrt(tree.sizes[n:]) * (0.25 + relative)
    between = np.empty(n - 1)
    between[tree._first[tree.children[:, 1]] - 1] = gaps
    places = np.concatenate([[0.0], np.cumsum(between)])
    closing = 1.1 * gaps[-1]  # the gap that closes the circle is the widest
    angles = (places - 0.5 * places[-1]) * (2 * np.pi / (places[-1] + closing))
    points = _on_circle(angles[tree._first[:n]], radius)
    return points if decode(points) == tree else encode(tree, radius)


def encode_angles(tree: TreeLike) -> Floats:
    """Return the angles of `encode`, (n,) float64 in (−π, π), for which decode_angles(encode_angles(T)) == T; O(n).

    Examples
    --------
    >>> from hyphc import Tree
    >>> (encode_angles(Tree([[0, 1], [3, 2]])) / np.pi * 6).round(9)  # gaps 1, 2 and, closing the circle, 3
    array([-3., -1.,  3.])
    """
    tree = as_tree(tree)
    position = tree._first[: tree.n_leaves]
    levels = kernels.neighbour_levels(tree._children, position)
    closing = int(levels.max(initial=0)) + 1
    places = np.concatenate([[0], np.cumsum(levels)])  # whole numbers, so that gaps do not accumulate rounding
    total = int(places[-1]) + closing
    step = 2.0 * np.pi / total
    if step < GAP_RESOLUTION:
        raise ValueError(f"The levels of the tree add up to {total}; float64 angles cannot keep such gaps apart.")
    return np.asarray((places - 0.5 * places[-1])[position] * step)
