"""Score of the best cut into k clusters, for every k."""

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
    The number of clusters that a fit finds is not where this curve is highest: it asks of every split whether chance could have
    made it (``hyphc.scores.cluster_number``), while the curve compares cuts.
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
        mark: dict[str, Any] = {"color": CLUSTERS.base[5], "linestyle": "", "markersize": 9}
        ax.plot([chosen], scores[[chosen - 1]], marker="o", label=_cluster_label(chosen, found is not None), **mark)
        if others:
            places = np.array(others) - 1
            ax.plot(others, scores[places], marker="o", fillstyle="none", label="came next", **mark)
        ax.legend(frameon=False)
    label = _AXES.get(criterion, criterion) if isinstance(criterion, str) else "score of the cut"
    ax.set(xlabel="clusters", ylabel=label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _cluster_label(k: int, found: bool) -> str:
    return f"{k} cluster{'s' * (k > 1)}{' found' if found else ''}"
