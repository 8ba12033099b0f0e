"""The similarity matrix in leaf order, averaged in blocks when there are many points."""

from __future__ import annotations

from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import require_choice
from ..similarity import Similarity, SimilarityLike, check_similarity
from ..tree.ordering import order_leaves
from .common import apply_layout, axes_or_new, require_at_least, tree_from

# About the pixels of a figure: more blocks could not be distinguished.
MAX_BLOCKS = 1000
# Few pairs are much more alike than all others: the colours end at this quantile of the mean similarities.
BRIGHTEST = 0.998


def heatmap(
    similarity: SimilarityLike,
    tree: Any,
    *,
    order: Literal["similar", "tree"] = "similar",
    max_blocks: int = MAX_BLOCKS,
    ax: Axes | None = None,
) -> Axes:
    """Draw the similarity matrix with rows and columns in leaf order: clusters are bright squares on the diagonal.

    Parameters
    ----------
    similarity : Similarity, dense matrix or sparse matrix of n points
    tree : Tree, linkage matrix, fitted HypHC or EmbedResult
    order : {"similar", "tree"}
        Children flipped by ``order_leaves`` so that similar leaves stand side by side, or as the tree has them.
    max_blocks : int
        Above so many points each pixel is the mean similarity between two blocks of neighbouring leaves.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    O(n d + B² d) for features and O(n + m + B²) for a graph, B the number of blocks: nothing of size n².
    """
    require_choice("order", order, ("similar", "tree"))
    require_at_least("max_blocks", max_blocks, 1)
    points, shown = check_similarity(similarity), tree_from(tree)
    if points.n != shown.n_leaves:
        raise ValueError(f"The tree has {shown.n_leaves} leaves and the similarity {points.n} points; they must match.")
    leaves = (order_leaves(shown, points) if order == "similar" else shown).leaf_order()
    means = block_means(points, leaves, min(max_blocks, points.n))
    ax = axes_or_new(ax, (6.4, 5.4))
    cmap = matplotlib.colormaps["viridis"].with_extremes(bad="0.85")
    top = float(np.nanquantile(means, BRIGHTEST)) if np.isfinite(means).any() else 1.0
    extent = (0.0, float(points.n), float(points.n), 0.0)
    picture = ax.imshow(means, cmap=cmap, vmin=min(0.0, top) if points.is_sparse else None, vmax=top, extent=extent)
    ax.set(xlabel="leaf, in leaf order", ylabel="leaf, in leaf order")
    side = points.n / len(means)
    title = "similarity" if side == 1 else f"mean similarity of blocks of about {side:.0f} × {side:.0f} leaves"
    ax.figure.colorbar(picture, ax=ax, label=title, extend="max" if np.nanmax(means, initial=0.0) > top else "neither")
    apply_layout(ax)  # a square between a label and a colour bar is placed in two steps
    return ax


def block_means(similarity: Similarity, leaves: Ints, n_blocks: int) -> Floats:
    """Return the mean similarity of pairs of points between runs of ``leaves``: (n_blocks, n_blocks), NaN without a pair.

    Runs differ in length by at most one leaf.
    """
    starts = np.arange(n_blocks) * similarity.n // n_blocks
    sizes = similarity.sizes[leaves]
    points = np.add.reduceat(sizes, starts)
    pairs = np.outer(points, points)
    np.fill_diagonal(pairs, points**2 - np.add.reduceat(sizes**2, starts))
    alone = np.diff(np.append(starts, similarity.n)) == 1
    pairs[alone, alone] = 0.0  # s² − s² of one leaf may leave its rounding
    block = np.empty(similarity.n, dtype=np.int64)
    block[leaves] = np.searchsorted(starts, np.arange(similarity.n), side="right") - 1
    sums = similarity.group_sums(block, n_blocks)
    return np.asarray(np.divide(sums, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0))
