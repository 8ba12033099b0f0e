"""Objects of other packages taken as they are: AnnData and graphs of networkx, told by what they have. Neither is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .metrics import Precomputed


def is_annotated(X: Any) -> bool:
    """Whether X is an AnnData object."""
    return all(hasattr(X, name) for name in ("obs_names", "var_names", "obsm", "X"))


def is_graph(X: Any) -> bool:
    """Whether X is a graph of networkx."""
    return all(hasattr(X, name) for name in ("nodes", "edges", "adjacency", "is_directed"))


def as_given(X: Any, metric: Any) -> Any:
    """Rows of annotated data, the similarity of a graph, anything else as it is.

    Of AnnData ``X`` is taken, with the names of its variables where it is dense; an embedding is asked for as
    ``adata.obsm["X_pca"]``. Edges of a graph weigh what their attribute ``weight`` says, 1 without one.
    """
    if is_annotated(X):
        if X.X is None:
            keys = ", ".join(map(repr, X.obsm))
            raise ValueError(
                f"The AnnData object has no X; pass one of its embeddings, adata.obsm[…]: {keys or 'none'}."
            )
        return X.X if sp.issparse(X.X) else X.to_df()
    if is_graph(X):
        if metric not in ("auto", "precomputed"):
            raise ValueError(f"A graph holds similarities, and metric={metric!r} is of rows; leave the metric out.")
        return Precomputed().similarity(_adjacency(X))
    return X


def _adjacency(graph: Any) -> sp.csr_array[np.float64]:
    """Weights of edges, each in both directions; loops are left out."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(number[a], number[b], 1.0 if w is None else float(w)) for a, b, w in graph.edges(data="weight") if a != b]
    ends = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    weights = np.array([edge[2] for edge in edges])
    once = sp.csr_array((weights, (ends[:, 0], ends[:, 1])), shape=(len(number), len(number)))
    if not graph.is_directed():
        return sp.csr_array(once + once.T)
    both = once.multiply(once.T > 0)
    if abs(both - both.T).max() > 0:
        raise ValueError("The graph has edges of different weights in its two directions; pass graph.to_undirected().")
    return sp.csr_array(once.maximum(once.T))
