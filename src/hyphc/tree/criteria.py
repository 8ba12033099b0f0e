"""Criteria of cuts: a score for each node of a tree, whose sum over the clusters is to be largest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._kernels.tree.passes import subtree_sums, sums_of_merges
from .._runtime.arrays import Floats
from .._runtime.validation import require_choice

if TYPE_CHECKING:
    from .core import Tree

NodeScores = Callable[["Tree"], npt.NDArray[np.float64]]
Criterion = str | NodeScores


def height_scores(tree: Tree) -> Floats:
    """Return −Σ of the heights of the merges at and below each node: the best pruning undoes the highest merges."""
    return -sums_of_merges(tree._children, tree._heights)


def dasgupta_scores(tree: Tree) -> Floats:
    """Return (n − |v|)·W_in(v): the best pruning is the two-level tree of least cost, Σ_v |v|·W_in(v) + n·W_between."""
    points = tree._sizes if tree._leaf_sizes is None else tree._points
    return np.asarray(_inside(tree, "dasgupta") * (points[-1] - points))


def modularity_scores(tree: Tree) -> Floats:
    """Return W_in(v) / W − (vol(v) / 2W)², Newman's modularity of the clusters; 0 where all weights are 0."""
    inside, volume = _inside(tree, "modularity"), _volumes(tree, "modularity")
    total = float(inside[-1])
    return inside / total - (volume / (2 * total)) ** 2 if total > 0 else np.zeros(len(inside))


def ncut_scores(tree: Tree) -> Floats:
    """Return −cut(v) / vol(v) = 2·W_in(v) / vol(v) − 1, the normalised cut; −1 where vol(v) = 0, as for a single leaf."""
    inside, volume = _inside(tree, "ncut"), _volumes(tree, "ncut")
    return 2 * np.divide(inside, volume, out=np.zeros_like(inside), where=volume > 0) - 1


def sse_scores(tree: Tree) -> Floats:
    """Return −(sum of squared distances of a node's points to their mean), which is Σ of those of its pairs / |v|."""
    squares = _carried(tree._split_squares, "squared distances across splits", "sse")
    return np.asarray(-sums_of_merges(tree._children, squares) / tree._points)


SCORES: dict[str, NodeScores] = {
    "height": height_scores,
    "dasgupta": dasgupta_scores,
    "modularity": modularity_scores,
    "ncut": ncut_scores,
    "sse": sse_scores,
}


def node_scores(tree: Tree, criterion: Criterion) -> Floats:
    """Return what each node would add to the score as a cluster, (2n − 1,)."""
    if isinstance(criterion, str):
        require_choice("criterion", criterion, SCORES)
        return SCORES[criterion](tree)
    scores = np.ascontiguousarray(criterion(tree), dtype=np.float64)
    n_nodes = 2 * tree.n_leaves - 1
    if scores.shape != (n_nodes,) or not np.isfinite(scores).all():
        raise ValueError(
            f"A criterion gives each of the {n_nodes} nodes a finite score, ({n_nodes},); this one returned {scores.shape}"
            f"{'' if np.isfinite(scores).all() else ' with NaN or infinity'}."
        )
    return scores


def default_score(tree: Tree) -> str:
    """Return "dasgupta" for a tree that carries its split weights, as fitted ones do; "height" for others."""
    return "height" if tree._split_weights is None else "dasgupta"


def _inside(tree: Tree, criterion: str) -> Floats:
    """Return W_in(v), the similarity of all pairs inside each node, from the split weights: (2n − 1,)."""
    inside = sums_of_merges(tree._children, _carried(tree._split_weights, "split weights", criterion))
    return inside if tree._leaf_weights is None else inside + subtree_sums(tree._children, tree._leaf_weights)


def _volumes(tree: Tree, criterion: str) -> Floats:
    """Return vol(v), the sum of the degrees of each node's leaves: (2n − 1,)."""
    inside = 0.0 if tree._leaf_weights is None else 2 * tree._leaf_weights
    return np.asarray(subtree_sums(tree._children, _carried(tree._degrees, "leaf degrees", criterion) + inside))


def _carried(values: Floats | None, what: str, criterion: str) -> Floats:
    if values is None:
        raise ValueError(
            f"criterion={criterion!r} needs {what}, which this tree does not carry; take the tree of a fitted model, or "
            "hyphc.scores.heights.with_similarity_heights(tree, similarity), or choose criterion='height'."
        )
    return values
