"""Curves: the score of the best cut into k clusters against k, and the continuous cost against iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from .._runtime.palette import CLUSTERS
from ..tree.criteria import NodeScores, default_score
from ..tree.prunings import CONDENSED, cut_scores
from .common import axes_or_new, tree_from

_AXES = {
    "dasgupta": "cost saved, share of the most",
    "modularity": "modularity",
    "ncut": "- normalised cut",
    "height": "- heights of the merges kept",
}


def cluster_scores(
    tree: Any,
    *,
    criterion: str | NodeScores | None = None,
    k_max: int = 30,
    min_size: float | None = None,
    n_clusters: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of the best cut into k clusters against k, with the chosen number marked.

    Parameters
    ----------
    tree : Tree, linkage matrix or fitted HypHC
    criterion, min_size
        As in ``cut_scores``; of a fitted HypHC, by default its own, unless that is "condensed", which is no score.
    k_max : int
        The largest k that is shown; more where the chosen number is larger.
    n_clusters : int, optional
        The number to mark. Default: ``tree.n_clusters``. Of a fitted HypHC that found its number, the numbers that came next are
        marked too.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    The number of clusters that a fit finds is not the maximum of this curve: the fit tests every split
    (``hyphc.scores.cluster_number``), while the curve compares cuts.
    """
    source, tree = tree, tree_from(tree)
    criterion = criterion or getattr(source, "criterion", None)
    criterion = default_score(tree) if criterion in (None, CONDENSED) else criterion
    least = getattr(source, "min_size", None) if min_size is None else min_size
    chosen = tree.n_clusters if n_clusters is None else n_clusters
    scores = cut_scores(tree, criterion, max(k_max, chosen), min_size=least or 1)
    if criterion == "dasgupta" and scores.max() > 0:
        scores = scores / scores.max()
    ax = axes_or_new(ax, (6.0, 3.6))
    k = np.arange(1, len(scores) + 1)
    ax.plot(k, scores, color=CLUSTERS.base[0], linewidth=1.2, marker="o", markersize=3)
    found = getattr(source, "cluster_number_", None) if n_clusters is None else None
    others = [other for other, _ in found.runners_up if other <= len(scores)] if found is not None else []
    if chosen <= len(scores):
        mark: dict[str, Any] = {"color": CLUSTERS.base[5], "linestyle": "", "marker": "o", "markersize": 9}
        label = f"{chosen} cluster{'s' * (chosen > 1)}{' found' * (found is not None)}"
        ax.plot([chosen], scores[[chosen - 1]], label=label, **mark)
        if others:
            ax.plot(others, scores[np.array(others) - 1], fillstyle="none", label="came next", **mark)
        ax.legend(frameon=False)
    label = _AXES.get(criterion, criterion) if isinstance(criterion, str) else "score of the cut"
    ax.set(xlabel="clusters", ylabel=label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def training_curve(fit: Any, ax: Axes | None = None) -> Axes:
    """Draw the continuous cost at each iteration, and the cost of the best decoded tree.

    Parameters
    ----------
    fit : fitted HypHC, EmbedResult, or array of losses
        Each value is an estimate from that iteration's triplets, in the units of the cost (unordered pairs).
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    losses = np.asarray(getattr(fit, "loss_curve_", getattr(fit, "loss_curve", fit)))
    if losses.ndim != 1 or losses.dtype.kind not in "fiu":
        raise ValueError(f"training_curve takes a fitted HypHC, an EmbedResult or losses; got {type(fit).__name__}.")
    ax = axes_or_new(ax, (6.0, 3.6))
    cost = getattr(fit, "cost_", getattr(fit, "cost", None))
    if len(losses):
        marker, iterations = "o" if len(losses) == 1 else None, np.arange(1, len(losses) + 1)
        ax.plot(iterations, losses, color=CLUSTERS.base[0], linewidth=1.0, marker=marker, label="continuous cost")
    else:
        ax.text(0.5, 0.5, "no iterations", transform=ax.transAxes, ha="center", va="center", color="0.4")
    if cost is not None:
        ax.axhline(cost, color=CLUSTERS.base[5], ls="--", lw=1.0, label="Dasgupta's cost of the tree kept")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    ax.set(xlabel="iteration", ylabel="cost (unordered pairs)")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
