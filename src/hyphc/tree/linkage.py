"""Conversion between trees and SciPy linkage matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import lifted_heights
from .._runtime.arrays import Floats, Ints
from .validation import ROUNDING, check_children, check_finite_heights

if TYPE_CHECKING:
    from .core import Tree


def merges_of(Z: npt.ArrayLike) -> tuple[Ints, Floats]:
    """Return the merges of a linkage matrix and their heights, lifted where they lie below a child's."""
    linkage = np.asarray(Z, dtype=np.float64)
    if linkage.ndim != 2 or linkage.shape[1] != 4:
        raise ValueError(f"A linkage matrix has shape (n - 1, 4); got {linkage.shape}.")
    merges = check_children(linkage[:, :2])
    heights = linkage[:, 2]
    with np.errstate(invalid="ignore"):  # NaN of the signalling kind, refused below
        heights = np.where((heights < 0) & (heights >= -ROUNDING * np.abs(heights).max(initial=0.0)), 0.0, heights)
    return merges, lifted_heights(merges, check_finite_heights(heights))


def linkage_of(tree: Tree) -> Floats:
    """Return the linkage matrix: smaller child first, heights, sizes."""
    return np.column_stack([np.sort(tree.children, axis=1), tree.heights, tree.sizes[tree.n_leaves :]])
