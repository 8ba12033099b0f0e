"""Plots of trees, embeddings and fits, with matplotlib.

Every function draws into ``ax``, or into a new figure, and returns the axes; ``animate`` returns the animation. Colours are safe
for colour-blind readers and dark enough for white paper. Wherever a tree is taken, a ``Tree``, a SciPy linkage matrix, a fitted
``HypHC`` or an ``EmbedResult`` will do. ``figure_style`` sets sizes, fonts and colours for journals and slides.
"""

from __future__ import annotations

try:
    import matplotlib as _matplotlib  # noqa: F401  # a clear error first
except ImportError as error:
    raise ImportError("hyphc.plot needs matplotlib: pip install hyphc[plot].") from error

from .animation import Recorder, animate
from .clustermap import clustermap
from .condensed_tree import condensed_tree
from .curves import cluster_scores, training_curve
from .dendrogram import dendrogram
from .disk import disk
from .figure_style import figure_style, save_figure
from .heatmap import heatmap
from .tanglegram import tanglegram

__all__ = [
    "Recorder",
    "animate",
    "cluster_scores",
    "clustermap",
    "condensed_tree",
    "dendrogram",
    "disk",
    "figure_style",
    "heatmap",
    "save_figure",
    "tanglegram",
    "training_curve",
]
