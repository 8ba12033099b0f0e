"""Flat clusters of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._kernels.tree import passes as kernels
from .._shared.arrays import Ints

if TYPE_CHECKING:
    from .core import Tree


def flat_clusters(tree: Tree, n_clusters: int | None, height: float | None, max_size: int | None) -> Ints:
    """``Tree.cut``: a label for each leaf, numbered from 0 in order of their smallest leaf."""
    given = {"n_clusters": n_clusters, "height": height, "max_size": max_size}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise ValueError(f"cut takes exactly one of n_clusters, height and max_size; got {chosen or 'none'}.")
    n = tree.n_leaves
    if n_clusters is not None:
        if not 1 <= n_clusters <= n:
            raise ValueError(f"n_clusters={n_clusters} is not between 1 and the {n} leaves; choose one that is.")
        merged = np.arange(n - 1) < n - n_clusters
    elif height is not None:
        if np.isnan(height):
            raise ValueError("height=nan cuts nowhere; pass a number.")
        merged = tree._heights <= height
    else:
        assert max_size is not None
        if max_size < 1:
            raise ValueError(f"max_size={max_size} leaves no cluster; choose max_size >= 1.")
        merged = np.asarray(tree.sizes[n:] <= max_size)
    return _numbered_by_first(kernels.cluster_roots(tree._children, merged))


def automatic_n_clusters(tree: Tree) -> int:
    """Where the heights jump most: the number of clusters, from 2 to √n, below the widest gap between successive merges.

    1 when no two of these heights differ.
    """
    n = tree.n_leaves
    most = min(n, max(2, int(np.sqrt(n))))
    top = np.concatenate([[0.0], tree.heights])[::-1][:most]  # heights of the last merges; leaves stand at 0
    gaps = top[:-1] - top[1:]
    return int(gaps.argmax()) + 2 if len(gaps) and gaps.max() > 0 else 1


def _numbered_by_first(roots: Ints) -> Ints:
    """Relabel so that groups are 0, 1, … in order of their first member."""
    _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
