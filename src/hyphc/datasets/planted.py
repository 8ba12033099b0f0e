"""Synthetic hierarchies of any size with a known tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Ints
from ..tree import Tree
from .catalogue import Dataset, class_names_from

RandomState = int | np.random.Generator | None


def planted(
    n: int,
    d: int = 32,
    *,
    n_classes: int = 10,
    decay: float = 0.6,
    noise: float = 0.1,
    random_state: RandomState = None,
    dtype: npt.DTypeLike = np.float32,
) -> Dataset:
    """Return points sampled along a random tree, with the tree.

    All n points are split in two at a random place between ¼ and ¾, then each part again, down to single points. Each part has
    a centre: that of its parent plus decay^level times a standard normal vector, level = 0 for the first split. The points are
    the centres of the single points plus noise, in random order. Upper levels can be recovered from the points; those where
    decay^level falls to the noise cannot.

    Parameters
    ----------
    n, d : int
        Points and features.
    n_classes : int
        ``labels`` are the groups there are after splitting the largest group first until there are so many:
        ``tree.cut(n_classes, criterion="height")`` up to their numbers. A node's height is its number of points.
    decay : float, in (0, 1)
        How fast parts close in on their parent's centre.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator or None
    dtype : float32 or float64

    Notes
    -----
    O(n·d) time and memory beyond the sort of the tree: a million points in 32 dimensions take seconds.

    Examples
    --------
    >>> example = planted(200, 8, n_classes=4, random_state=0)
    >>> example.data.shape, example.tree.n_leaves, len(example.class_names)
    ((200, 8), 200, 4)
    """
    kind: Any = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype={kind} is no float32 or float64; choose one of these.")
    if d < 1:
        raise ValueError(f"d={d} leaves no features; choose d >= 1.")
    if not (0 < decay < 1 and 0 <= noise < np.inf):
        raise ValueError(f"decay={decay} must lie between 0 and 1, and noise={noise} must be finite and >= 0.")
    rng = np.random.default_rng(random_state)
    hierarchy = _Hierarchy.draw(n, n_classes, rng)
    X = np.empty((n, d), dtype=kind)
    centres = np.zeros((1, d), dtype=kind)
    for level, (first, last) in enumerate(hierarchy.parts):
        single = last - first == 1
        rows = hierarchy.order[first[single]]
        X[rows] = centres[single]
        X[rows] += noise * rng.standard_normal((len(rows), d), dtype=kind.type)
        centres = np.repeat(centres[~single], 2, axis=0)
        centres += decay**level * rng.standard_normal(centres.shape, dtype=kind.type)
    return hierarchy.dataset("planted", X, f"{n} points in {d} dimensions along a random tree.")


def planted_graph(
    n: int, mean_degree: float = 7.0, *, n_classes: int = 10, random_state: RandomState = None
) -> Dataset:
    """Return a hierarchical community graph sampled along a random tree, with the tree.

    The tree is that of ``planted``. Each of the n·mean_degree / 2 edges is drawn so: a node, one of the parts that hold it,
    from all n nodes down to the smallest, and another node of that part, all uniformly. Hence the smaller a part, the denser.
    Repeated edges are merged, so the mean degree is a little below ``mean_degree``; all weights are 1. The graph need not be
    connected.

    Examples
    --------
    >>> example = planted_graph(1000, 6.0, n_classes=5, random_state=0)
    >>> example.data.shape, example.tree.n_leaves, len(example.class_names)
    ((1000, 1000), 1000, 5)
    """
    if not (np.isfinite(mean_degree) and mean_degree >= 0):
        raise ValueError(f"mean_degree={mean_degree} is no number of edges a node; choose one >= 0.")
    rng = np.random.default_rng(random_state)
    hierarchy = _Hierarchy.draw(n, n_classes, rng)
    node, partner = hierarchy.draw_pairs(round(n * mean_degree / 2) if n > 1 else 0, rng)
    ends = hierarchy.order[np.concatenate([[node, partner], [partner, node]], axis=1)]
    adjacency = sp.csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    adjacency.data[:] = 1.0  # repeated edges were summed
    adjacency.sort_indices()
    return hierarchy.dataset(
        "planted_graph", adjacency, f"{n} nodes, {adjacency.nnz // 2} edges in nested communities."
    )


@dataclass(frozen=True)
class _Hierarchy:
    """A random binary tree whose clusters are runs of positions 0 … n − 1.

    ``parts[level]`` holds the first and one past the last position of each part at that level, from left to right;
    ``order[position]`` is the row of the data at a position, ``classes[position]`` its class.
    """

    parts: list[tuple[Ints, Ints]]
    order: Ints
    classes: Ints
    tree: Tree

    @classmethod
    def draw(cls, n: int, n_classes: int, rng: np.random.Generator) -> _Hierarchy:
        if n < 1:
            raise ValueError(f"n={n} leaves no points; choose n >= 1.")
        if not 1 <= n_classes <= n:
            raise ValueError(f"n_classes={n_classes} is not between 1 and the n={n} points; choose one that is.")
        parts = _split_parts(n, rng)
        order = rng.permutation(n)
        return cls(parts, order, *_classes_and_tree(parts, order, n_classes))

    def dataset(self, name: str, data: Any, description: str) -> Dataset:
        labels = np.empty_like(self.classes)
        labels[self.order] = self.classes
        return Dataset(
            name, data, labels, class_names=class_names_from(labels), tree=self.tree, description=description
        )

    def draw_pairs(self, n_pairs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return pairs of different positions, the second from a uniformly drawn cluster around the first."""
        depth = np.zeros(len(self.order), dtype=np.int64)  # how many parts of two or more hold a position
        for level, (first, last) in enumerate(self.parts):
            depth[first[last - first == 1]] = level
        node = rng.integers(len(self.order), size=n_pairs)
        level_of = rng.integers(depth[node])
        start, size = np.empty_like(node), np.empty_like(node)
        for level, (first, last) in enumerate(self.parts):
            here = np.flatnonzero(level_of == level)
            found = np.searchsorted(first, node[here], side="right") - 1
            start[here], size[here] = first[found], (last - first)[found]
        # One of the size − 1 others, counted round from the node itself.
        step = 1 + rng.integers(size - 1)
        return node, start + (node - start + step) % size


def _split_parts(n: int, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    parts = [(np.array([0]), np.array([n]))]
    while True:
        first, last = parts[-1]
        wide = last - first > 1
        if not wide.any():
            return parts
        first, last = first[wide], last[wide]
        size = last - first
        middle = first + np.clip((size * rng.uniform(0.25, 0.75, len(size))).astype(np.int64), 1, size - 1)
        parts.append((np.column_stack([first, middle]).ravel(), np.column_stack([middle, last]).ravel()))


def _classes_and_tree(parts: list[tuple[Ints, Ints]], order: Ints, n_classes: int) -> tuple[Ints, Tree]:
    n = len(order)
    first, last = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    wide = last - first > 1
    # Inner nodes are numbered as they come; every part but the first is a child, two of each inner node after each other.
    node = np.where(wide, n + np.cumsum(wide) - 1, order[first])
    sizes, children = (last - first)[wide], node[1:].reshape(-1, 2)
    ascending = np.argsort(sizes, kind="stable")
    rank = np.empty_like(node, shape=2 * n - 1)
    rank[:n], rank[n + ascending] = np.arange(n), np.arange(n, 2 * n - 1)
    # The last merges are the splits of the largest groups: between them lie the classes.
    borders = np.sort(first[2::2][ascending[n - n_classes :]])
    classes = np.searchsorted(borders, np.arange(n), side="right")
    return classes, Tree(rank[children[ascending]], heights=sizes[ascending])
