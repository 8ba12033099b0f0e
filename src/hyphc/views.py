"""Plots, explorer page and tables of a fitted model. Each calls the folder that makes it by name, imported on first use."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._runtime.lazy_import import import_lazily, require_package
from ._runtime.validation import require_choice
from .similarity.graph import Graph
from .tree.notebook_repr import tree_html

PICTURES = ("dendrogram", "condensed_tree", "disk", "clustermap", "similarity", "scores")


def plot(model: Any, kind: str = "dendrogram", X: Any = None, **options: Any) -> Any:
    """Draw the fitted tree with matplotlib and return the axes; see ``HypHC.plot``."""
    require_choice("kind", kind, PICTURES)
    if (X is None) == (kind == "clustermap"):
        need = "needs the table to show" if X is None else "takes no table; leave X out"
        raise ValueError(f"kind={kind!r} {need}.")
    if kind == "clustermap":
        return import_lazily("plot", "clustermap")(X, model, **options)
    if kind == "similarity":
        if model.similarity_ is None:
            raise ValueError("kind='similarity' needs all rows in memory; this model was fitted out of core.")
        return import_lazily("plot", "heatmap")(model.similarity_, model, **options)
    return import_lazily("plot", "cluster_scores" if kind == "scores" else kind)(model, **options)


def explore(model: Any, path: str | os.PathLike[str] | None = None, X: Any = None, **options: Any) -> Any:
    """Write or show the explorer page of a fitted model; see ``HypHC.explore``."""
    given = {
        "features": X,
        "criterion": model.criterion,
        "min_size": model.min_size,
        "similarity": model.similarity_,
        "outliers": model.outliers,
        "cluster_number": model.cluster_number_,
    }
    if model.similarity_ is not None and model.embedding_.shape[1] == 2:
        given["embedding"] = model.embedding_
    return import_lazily("explorer", "explore")(model.tree_, path, **(given | options))


def html(model: Any, parameters: str) -> str:
    """Return HTML of a model for notebooks: its parameters as scikit-learn shows them and, once fitted, the top of the tree."""
    return parameters + tree_html(model.tree_, model.labels_) if hasattr(model, "tree_") else parameters


def to_pandas(model: Any, X: Any = None) -> Any:
    """Return the flat clusters of the fitted rows, or of new rows ``X``, as a frame; see ``HypHC.to_pandas``."""
    frames = require_package("pandas", "frames", "io")
    if X is not None:
        index = X.index if hasattr(X, "iloc") else None
        return frames.DataFrame({"cluster": model.predict(X)}, index=index)
    names = None if model.tree_.names is None else frames.Index(model.tree_.names, name="name")
    position = np.argsort(model.tree_.leaf_order())
    return frames.DataFrame({"cluster": model.labels_, "position": position}, index=names)


def to_networkx(model: Any) -> Any:
    """Return the clustered graph with communities as attributes of nodes; see ``HypHC.to_networkx``."""
    require_package("networkx", "graphs", "io")
    from .tree.networkx_export import community_graph

    graph = model.similarity_.local_part
    if not isinstance(graph, Graph):
        raise ValueError(
            f"{graph!r} is no graph; choose the default metric, or n_neighbors, for a graph of neighbours."
        )
    return community_graph(graph, model.tree_, model.labels_)
