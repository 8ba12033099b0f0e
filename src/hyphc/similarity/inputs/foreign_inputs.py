"""Conversion of AnnData, networkx graphs and data frames, recognised by duck typing, to what metrics take."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._runtime.validation import as_floats, to_array
from ..base import Similarity
from ..metrics import Precomputed
from ..symmetrize import require_symmetric
from .frames import is_frame, require_columns
from .mixed_types import MixedTable

PCA = "X_pca"


def is_annotated(X: Any) -> bool:
    """Return whether X is an AnnData object."""
    return all(hasattr(X, name) for name in ("obs_names", "var_names", "obsm", "X"))


def is_graph(X: Any) -> bool:
    """Return whether X is a networkx graph."""
    return all(hasattr(X, name) for name in ("nodes", "edges", "adjacency", "is_directed"))


def convert_input(X: Any, metric: Any, directed: str | None = None) -> Any:
    """Return the rows of AnnData, the adjacency matrix of a networkx graph, and anything else as a frame or array.

    Of AnnData the principal components ``obsm["X_pca"]`` are taken where there are any, else ``X`` with the names of its
    variables where it is dense. Edges of a graph weigh what their attribute ``weight`` says, 1 without one; parallel edges are
    summed. ``directed`` combines the two directions of a directed graph.
    """
    if is_annotated(X):
        X = annotated_rows(X, preferred_embedding(X))
    if is_graph(X):
        if metric not in ("auto", "precomputed"):
            raise ValueError(f"A graph holds similarities, and metric={metric!r} is of rows; leave the metric out.")
        adjacency = _adjacency(X)
        if not X.is_directed():
            if directed is not None:
                raise ValueError(
                    f"The graph is undirected, with one weight for each edge; leave out directed={directed!r}."
                )
            return Precomputed().similarity(adjacency + adjacency.T)
        if directed is None:
            require_symmetric(adjacency, 0.0, list(X.nodes))
        return Precomputed(directed).similarity(adjacency)
    if directed is not None and metric != "precomputed" and not isinstance(X, Similarity):
        raise ValueError(
            f"directed={directed!r} is about similarities in two directions, and metric={metric!r} compares rows; leave it out, "
            "or pass a graph of networkx, or metric='precomputed'."
        )
    return to_rows(X)


def preferred_embedding(annotated: Any) -> str | None:
    """Return "X_pca" if the AnnData object has principal components, else None for its ``X``."""
    return PCA if PCA in annotated.obsm else None


def describe_input(X: Any) -> str:
    """Return which representation of an AnnData object is taken, for the plan of a fit; nothing for other input."""
    if not is_annotated(X):
        return ""
    key = preferred_embedding(X)
    return f"rows: {'X' if key is None else f'obsm[{key!r}]'} of the AnnData object"


def annotated_rows(annotated: Any, key: str | None) -> Any:
    """Return an embedding of an AnnData object as an array, or with None its ``X``, with names of variables where it is dense."""
    if key is not None:
        return np.asarray(annotated.obsm[key])
    if annotated.X is None:
        keys = ", ".join(map(repr, annotated.obsm))
        raise ValueError(f"The AnnData object has no X; pass one of its embeddings, adata.obsm[…]: {keys or 'none'}.")
    return annotated.X if sp.issparse(annotated.X) else annotated.to_df()


def to_rows(X: Any) -> Any:
    """Return X as a frame, a sparse matrix or an array; raise for anything else, and for entries that are no numbers."""
    if isinstance(X, Similarity | MixedTable):
        return X
    if is_frame(X):
        require_columns(X)
        return X
    array: Any = X if sp.issparse(X) else to_array(X, "X")
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: X holds {array.dtype}; take real and imaginary parts as columns."
        )
    if array.ndim > 2:
        raise ValueError(
            f"X has shape {array.shape}; pass one row a point, for instance X.reshape({array.shape[0]}, -1)."
        )
    return as_floats(array, "X") if array.dtype.kind in "OUSmMV" else array


def _adjacency(graph: Any) -> sp.csr_array[np.float64]:
    """Return the weights of edges, each in the direction in which it is listed; parallel edges are summed, loops left out."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(number[a], number[b], _weight(a, b, w)) for a, b, w in graph.edges(data="weight") if a != b]
    ends = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    weights = np.array([edge[2] for edge in edges])
    return sp.csr_array((weights, (ends[:, 0], ends[:, 1])), shape=(len(number), len(number)))


def _weight(a: Any, b: Any, value: Any) -> float:
    """Return the weight of an edge, 1 where it has none."""
    try:
        weight = 1.0 if value is None else float(value)
    except (TypeError, ValueError):
        weight = float("nan")
    if not 0 <= weight < float("inf"):
        raise ValueError(
            f"Edge ({a!r}, {b!r}) has weight {value!r}; weights are similarities, finite and >= 0: correct or remove it."
        )
    return weight
