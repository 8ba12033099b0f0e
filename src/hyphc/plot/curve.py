"""Continuous cost against iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .._runtime.palette import CLUSTERS
from .common import axes_or_new


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
        marker = "o" if len(losses) == 1 else None
        ax.plot(
            np.arange(1, len(losses) + 1),
            losses,
            color=CLUSTERS.base[0],
            linewidth=1.0,
            marker=marker,
            label="continuous cost",
        )
    else:
        ax.text(0.5, 0.5, "no iterations", transform=ax.transAxes, ha="center", va="center", color="0.4")
    if cost is not None:
        ax.axhline(
            cost, color=CLUSTERS.base[5], linestyle="--", linewidth=1.0, label="Dasgupta's cost of the tree kept"
        )
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    ax.set(xlabel="iteration", ylabel="cost (unordered pairs)")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
