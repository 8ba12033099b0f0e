"""Validation of the rows of ``fit`` and ``predict``: an array, a CSR matrix, or a table with categorical columns; their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform
from sklearn.utils.validation import validate_data

from .._runtime.validation import require_finite, require_finite_entries
from ..similarity.inputs.foreign_inputs import is_annotated, is_graph
from ..similarity.inputs.frames import first_grouping, has_categories, is_frame, to_table
from ..similarity.inputs.input_warnings import warn_of_named_columns
from ..similarity.inputs.mixed_types import MixedTable
from ..similarity.metric_base import Metric
from ..tree import Tree
from ..tree.subtrees import called


def validate_rows(model: Any, metric: Metric, X: Any, reset: bool) -> Any:
    """Return X as the metric takes it; ``reset=True`` sets the number and names of columns of the model, False compares them."""
    if model.metric == "precomputed_distances" and np.ndim(X) == 1:
        X = squareform(X)
    if isinstance(X, MixedTable):
        return metric.validate(X, new=not reset)
    if has_categories(X) or (not reset and _fitted_table(model) is not None):
        return _as_table(model, metric, X, reset)
    if sp.issparse(X) and metric.takes_rows and not metric.takes_sparse:
        metric.check_rows(X)  # says what to do about them
    given = X
    # 64-bit indices are accepted: as_similarity converts them
    X = validate_data(
        model,
        X,
        reset=reset,
        accept_sparse="csr" if metric.takes_sparse else False,
        dtype=[np.float64, np.float32],
        accept_large_sparse=True,
        ensure_all_finite=False,  # the checks below say where
    )
    if metric.takes_rows:  # says of missing values what may be done about them
        X = metric.validate(X, new=not reset)
        if reset and is_frame(given):
            warn_of_named_columns(tuple(map(str, given.columns)), X)
    elif sp.issparse(X):
        require_finite_entries(X, "X")
    else:
        require_finite(X, "X")
    if reset and not metric.takes_rows and not sp.issparse(X) and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric={model.metric!r} takes a square matrix; X has shape {X.shape}. Pass metric='auto' for features."
        )
    return X


def _fitted_table(model: Any) -> MixedTable | None:
    """Return the table of the fitted rows if it has categorical columns, else None."""
    similarity = getattr(model, "similarity_", None)
    return getattr(getattr(similarity, "source", None), "table", None)


def _as_table(model: Any, metric: Metric, X: Any, reset: bool) -> Any:
    """Return a frame with categorical columns as a table; categories of new rows have the codes of the fit."""
    if not is_frame(X):
        raise ValueError("The fitted rows have columns of categories; pass a frame with the same columns.")
    if not metric.takes_categories:
        column = first_grouping(X)
        raise ValueError(
            f"metric={model.metric!r} takes numbers, and column {column!r} holds text or categories; choose 'auto', or leave "
            "it out."
        )
    validate_data(model, X, reset=reset, skip_check_array=True)
    table = to_table(X, None if reset else _fitted_table(model))
    if reset:
        warn_of_named_columns(table.columns, table.values)
    return metric.validate(table, new=not reset)


def row_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of rows (pandas, AnnData) or of nodes (networkx); None if there are none, or they are 0, 1, ….

    Examples
    --------
    >>> row_names([[1.0], [2.0]]) is None
    True
    """
    labels = _index_labels(X)
    if labels is None or [str(label) for label in labels] == [str(i) for i in range(len(labels))]:
        return None
    return tuple(", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels)


def _index_labels(X: Any) -> list[Any] | None:
    if is_annotated(X):
        return list(X.obs_names)
    if is_graph(X):
        return list(X.nodes)
    return X.index.tolist() if hasattr(X, "iloc") else None


def extend_names(tree: Tree, new: tuple[str, ...] | None, n: int) -> tuple[str, ...] | None:
    """Return names of n leaves, the first of which are the tree's; ``new`` has the names of all, of the others, or is None."""
    if new is not None and len(new) == n:
        return new
    if tree.names is None and new is None:
        return None
    return (*(called(tree, i) for i in range(tree.n_leaves)), *(new or map(str, range(tree.n_leaves, n))))
