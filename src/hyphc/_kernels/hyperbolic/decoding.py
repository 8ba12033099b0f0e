"""Kernels of decoding and encoding: spanning trees of LCA depth, Cartesian trees of gaps, levels of merges.

A merge list has shape (n − 1, 2); merge t makes node n + t out of two earlier nodes, leaves being 0 … n − 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part


class Chords(NamedTuple):
    """Scratch: |x − y|² and ⟨x, x − y⟩ of one point x and each other y."""

    squares: Floats
    inner: Floats


@part(error_model="numpy")
def _squared_sinh_depths(
    point: Floats,
    alpha: float,
    coords: Floats,
    alphas: Floats,
    squares: Floats,
    m: int,
    chords: Chords,
    out: Floats,
) -> None:
    """Fill out[:m] with sinh² of the LCA depth of one point with each of m others; see `geometry.lca_depth`.

    The others are columns of coords (dim, ·) with alphas 1 − |z|² and squares |z|². The loops over them have
    neither branches nor sums, so the compiler vectorises them.
    """
    delta2, inner = chords.squares, chords.inner
    for j in range(m):
        delta2[j] = inner[j] = out[j] = 0.0
    square = 0.0
    for k in range(point.shape[0]):
        x, row = point[k], coords[k]
        square += x * x
        for j in range(m):
            chord = x - row[j]
            delta2[j] += chord * chord
            inner[j] += x * chord
    scale = 1.0 / square if square > 0.0 else 0.0
    for k in range(point.shape[0]):
        x, row = point[k], coords[k]
        for j in range(m):
            # |perp|² coordinate by coordinate loses less than |x − y|² − ⟨x, x − y⟩²/|x|² would.
            rest = (x - row[j]) - inner[j] * scale * x
            out[j] += rest * rest
    own = 4.0 * square / (alpha * alpha)  # sinh² of the radius, for an obtuse angle there
    for j in range(m):
        d, other = delta2[j], 4.0 * squares[j] / (alphas[j] * alphas[j])
        foot = 4.0 * square * out[j] / ((d if d > 0.0 else 1.0) * (d + alpha * alphas[j]))
        depth = other if squares[j] * d + alphas[j] * (d - inner[j]) <= 0.0 else foot
        out[j] = own if square * d + alpha * inner[j] <= 0.0 else depth


@part
def _comes_first(weight: float, a: int, b: int, other: float, c: int, d: int) -> bool:
    """Return whether edge ab precedes edge cd: the larger weight first, ties by the smaller end, then the other."""
    if weight != other:
        return weight > other
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@kernel
def deepest_spanning_tree(Z: Floats, alpha: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the maximum spanning tree of the LCA depths (Prim): ends of the n − 1 edges and sinh² of their depths.

    Z is (n, dim) and alpha is 1 − |z|², (n,). O(n² dim) time, O(n dim) memory. Edges are totally ordered by
    `_comes_first`, so the tree is the one that a sorted list of all pairs would give, ties included.
    """
    n, dim = Z.shape
    heads, tails, weights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    # Points outside the tree, packed to the front: number, coordinates, 1 − |z|², |z|², best edge, its end.
    number, coords, alphas, squares = np.arange(n), Z.T.copy(), alpha.copy(), np.zeros(n)
    best, end = np.full(n, -1.0), np.zeros(n, np.int64)
    for k in range(dim):
        squares += coords[k] * coords[k]
    current, chords = np.empty(n), Chords(np.empty(n), np.empty(n))
    chosen = 0
    for t in range(n - 1):
        m = n - 1 - t
        last, last_alpha = number[chosen], alphas[chosen]
        number[chosen], alphas[chosen], squares[chosen] = number[m], alphas[m], squares[m]
        best[chosen], end[chosen] = best[m], end[m]
        for k in range(dim):
            coords[k, chosen] = coords[k, m]
        _squared_sinh_depths(Z[last], last_alpha, coords, alphas, squares, m, chords, current)
        chosen = 0
        for j in range(m):
            i = number[j]
            if current[j] >= best[j] and _comes_first(current[j], last, i, best[j], end[j], i):
                best[j], end[j] = current[j], last
            top = best[chosen]
            if best[j] >= top and _comes_first(best[j], end[j], i, top, end[chosen], number[chosen]):
                chosen = j
        heads[t], tails[t] = min(number[chosen], end[chosen]), max(number[chosen], end[chosen])
        weights[t] = best[chosen]
    return heads, tails, weights


@kernel
def merges_of_gaps(leaves: Ints, gaps: Floats) -> tuple[Ints, Floats]:
    """Return the Cartesian tree of the gaps between neighbours on a line, and the gap of each merge; O(n) with a stack.

    gaps[k] ≥ 0 separates leaves[k] from leaves[k + 1]. A merge comes after all merges below it. Of equal gaps
    the left one merges first: seen from the top, a run is split at the last of its largest gaps.
    """
    n = leaves.shape[0]
    merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    waiting, waiting_gap = np.empty(n, np.int64), np.empty(n)
    depth = made = 0
    for k in range(n):
        gap = gaps[k] if k < n - 1 else np.inf
        node = leaves[k]
        while depth > 0 and waiting_gap[depth - 1] <= gap:
            depth -= 1
            merges[made, 0], merges[made, 1], heights[made] = waiting[depth], node, waiting_gap[depth]
            node = n + made
            made += 1
        waiting[depth], waiting_gap[depth] = node, gap
        depth += 1
    return merges, heights


@kernel
def neighbour_levels(children: Ints, position: Ints) -> Ints:
    """Return the level of the merge that joins each pair of neighbours in a leaf order: (n − 1,).

    A leaf has level 0, a merge one more than the higher of its children; leaf i has the place position[i].
    """
    n = position.shape[0]
    level, last, levels = np.zeros(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64), np.empty(n - 1, np.int64)
    for leaf in range(n):
        last[leaf] = position[leaf]
    for t in range(n - 1):
        a, b = children[t, 0], children[t, 1]
        level[n + t] = max(level[a], level[b]) + 1
        last[n + t] = max(last[a], last[b])
        levels[min(last[a], last[b])] = level[n + t]  # the split lies after the left child's last leaf
    return levels
