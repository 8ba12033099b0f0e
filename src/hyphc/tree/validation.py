"""Validation of the arrays of a tree: nodes joined once, children before parents, monotone heights, weights not negative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._kernels.tree import passes as kernels
from .._runtime.arrays import Floats, Ints

Values = npt.NDArray[Any] | None
T = TypeVar("T")

# 1 − w of equal points rounds to a few ulp below 0; a number this far below 0, relative to the largest, is not a mistake.
ROUNDING = 1e-9
_MOST = 2.0**53  # beyond, floats skip whole numbers; no tree has so many nodes


def check_children(children: npt.ArrayLike) -> Ints:
    """Return a fresh (n − 1, 2) array of merges, or raise an error that names the first invalid one."""
    raw = np.asarray(children)
    if raw.size == 0:
        raw = raw.reshape(-1, 2)
    if raw.ndim != 2 or raw.shape[1] != 2:
        raise ValueError(f"children must have shape (n - 1, 2); got {raw.shape}.")
    # a float above the largest node number would wrap around; NaN and infinity are no numbers of nodes either
    if raw.dtype.kind not in "iuf" or not (np.abs(raw) < _MOST).all() or not np.array_equal(raw, np.floor(raw)):
        raise ValueError("children must hold node numbers: whole numbers, none missing.")
    merges = np.array(raw, dtype=np.int64, order="C")
    n = len(merges) + 1
    outside = np.flatnonzero((merges < 0).any(axis=1) | (merges >= n + np.arange(n - 1)[:, None]).any(axis=1))
    if len(outside):
        t = outside[0]
        raise ValueError(
            f"Merge {t} joins {merges[t].tolist()}, but may only join nodes 0 to {n + t - 1}: children come before parents."
        )
    counts = np.bincount(merges.ravel(), minlength=2 * n - 2)
    if (counts > 1).any():
        node = int(np.argmax(counts > 1))
        raise ValueError(f"Node {node} is joined {counts[node]} times; every node but the root is joined once.")
    return merges


def check_finite_heights(heights: npt.ArrayLike) -> Floats:
    """Return a fresh array of heights, all finite and none negative."""
    levels = np.array(heights, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(levels) & (levels >= 0)))
    if len(bad):
        raise ValueError(f"Merge {bad[0]} has height {levels.flat[bad[0]]}; heights must be finite and not negative.")
    return levels


def check_heights(heights: npt.ArrayLike, merges: Ints) -> Floats:
    """Return a fresh array of heights, one for each merge, none below a child's."""
    levels = check_finite_heights(heights)
    if levels.shape != (len(merges),):
        raise ValueError(f"heights must have shape ({len(merges)},), one for each merge; got {levels.shape}.")
    lifted = kernels.lifted_heights(merges, levels)
    below = np.flatnonzero(levels < lifted)
    if len(below):
        t = below[0]
        raise ValueError(
            f"Merge {t} at height {levels[t]} lies below a child at {lifted[t]}; raise it to at least that."
        )
    return levels


def order_by_height(levels: Floats) -> Ints | None:
    """Return the stable order of merges by height, in which children stay before their parents; None if they are in it."""
    return None if (np.diff(levels) >= 0).all() else np.argsort(levels, kind="stable")


def renumbered(merges: Ints, order: Ints) -> Ints:
    """Return the merges in the given order, with their nodes renumbered."""
    n = len(merges) + 1
    new_id = np.arange(2 * n - 1)
    new_id[n + order] = np.arange(n, 2 * n - 1)
    return np.asarray(new_id[merges[order]])


def by_height(merges: Ints, levels: Floats, carried: Sequence[Values]) -> tuple[Ints, Floats, Sequence[Values]]:
    """Return merges in order of their heights, these heights, and the other arrays over merges in that order."""
    order = order_by_height(levels)
    if order is None:
        return merges, levels, carried
    moved = [None if values is None else values[order] for values in carried]
    return renumbered(merges, order), levels[order], moved


def given(check: Callable[..., T], value: Any, *about: Any) -> T | None:
    """Return what a check makes of a value; None for None."""
    return None if value is None else check(value, *about)


def check_weights(values: npt.ArrayLike, n: int, what: str, each: str) -> Floats:
    """Return a fresh array of n finite numbers, none negative but by rounding, which becomes 0."""
    weights = _one_for_each(what, values, n, each)
    least = -ROUNDING * float(np.abs(weights[np.isfinite(weights)]).max(initial=0.0))
    good = np.isfinite(weights) & (weights >= least)
    _require(what, weights, good, "sums of similarities are finite and not negative")
    return np.maximum(weights, 0.0)


def check_support(values: npt.ArrayLike, n: int) -> Floats:
    """Return a fresh array of n shares from 0 to 1, NaN where unknown."""
    support = _one_for_each("support", values, n, "merge")
    good = ~((support < 0) | (support > 1))
    _require("support", support, good, "support lies between 0 and 1, NaN where it is unknown")
    return support


def check_forced_splits(values: npt.ArrayLike, merges: Ints) -> Ints | None:
    """Return a fresh array of 1, 0 and −1 that some cut can follow; None when all are 0."""
    array = _one_for_each("forced_splits", values, len(merges), "merge")
    if not np.isin(array, (-1, 0, 1)).all():
        raise ValueError("forced_splits must be 1 (undo the merge), -1 (keep it) or 0 (either) for each merge.")
    forced, n = array.astype(np.int64), len(merges) + 1
    below = np.append(np.zeros(n, dtype=np.int64), forced)[merges]
    inner = merges >= n
    odd = (inner & (((forced < 0)[:, None] & (below >= 0)) | ((forced < 1)[:, None] & (below > 0)))).any(axis=1)
    if odd.any():
        t = int(odd.argmax())
        raise ValueError(
            f"forced_splits contradict each other at merge {t}: below a merge that is kept all are, above one that is undone too."
        )
    return forced if forced.any() else None


def check_found_splits(values: npt.ArrayLike, merges: Ints, leaf_sizes: Floats | None) -> Ints:
    """Return a fresh array: 0 for merges that are kept, for others the turn in which they are undone, 1, 2, …

    Before a merge is undone, its smaller side is one cluster.
    """
    array = _one_for_each("found_splits", values, len(merges), "merge")
    undone = np.flatnonzero(array)
    if not np.array_equal(np.sort(array[undone]), np.arange(1, len(undone) + 1)):
        raise ValueError("found_splits must be 0 (kept) for each merge, or the turn in which it is undone: 1, 2, …")
    points = kernels.subtree_sums(merges, np.ones(len(merges) + 1) if leaf_sizes is None else leaf_sizes)
    turns = np.where(array > 0, array, np.inf)
    earliest = np.append(np.full(len(merges) + 1, np.inf), -kernels.lifted_heights(merges, -turns))
    left, right = merges.T
    odd = earliest[np.where(points[left] >= points[right], right, left)] < turns
    if odd.any():
        raise ValueError(
            f"found_splits keep merge {int(odd.argmax())} and undo one in its smaller side; undo both, the upper one first."
        )
    return array.astype(np.int64)


def check_n_clusters(n_clusters: int, n: int) -> int:
    """Return a number of clusters that n leaves can have."""
    if not 1 <= n_clusters <= n:
        raise ValueError(f"n_clusters={n_clusters} is not between 1 and the {n} leaves; choose one that is.")
    return int(n_clusters)


def check_cost(cost: float) -> float:
    """Return a cost that is a number."""
    if np.isnan(cost):
        raise ValueError("cost is NaN; pass a number, or leave it out.")
    return float(cost)


def check_leaf_sizes(values: npt.ArrayLike, n: int) -> Floats | None:
    """Return a fresh array of n positive finite numbers; None when all are 1."""
    sizes = _one_for_each("leaf_sizes", values, n, "leaf")
    _require("leaf_sizes", sizes, np.isfinite(sizes) & (sizes > 0), "a leaf stands for a positive number of points")
    return None if (sizes == 1).all() else sizes


def _require(what: str, values: Floats, good: npt.NDArray[np.bool_], rule: str) -> None:
    """Raise an error for the first value that is not good, and state the rule."""
    if not good.all():
        raise ValueError(f"{what}[{good.argmin()}] is {values[good.argmin()]}; {rule}.")


def _one_for_each(what: str, values: npt.ArrayLike, n: int, each: str) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{what} must have shape ({n},), one for each {each}; got {array.shape}.")
    return array


def check_names(names: Iterable[str], n: int) -> tuple[str, ...]:
    """Return the n names as a tuple."""
    checked = tuple(map(str, names))
    if len(checked) != n:
        raise ValueError(f"Got {len(checked)} names for {n} leaves; give one for each.")
    return checked


def check_node(node: int, n: int) -> int:
    """Return a node of a tree of n leaves."""
    return int(check_nodes(node, n))


def check_nodes(nodes: npt.ArrayLike, n: int) -> Ints:
    """Return nodes of a tree of n leaves, or raise an error that names the first invalid one."""
    checked = np.asarray(nodes)
    if checked.dtype.kind not in "iu":
        raise ValueError(f"Nodes are whole numbers; got an array of {checked.dtype}.")
    bad = (checked < 0) | (checked >= 2 * n - 1)
    if bad.any():
        raise ValueError(f"Node {checked[bad].flat[0]} does not exist; nodes are 0 to {2 * n - 2}.")
    return checked.astype(np.int64, copy=False)
