"""Rows as ``fit`` and ``predict`` are given them, checked: an array or CSR matrix, or a table with columns of categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform
from sklearn.utils.validation import validate_data

from .._runtime.validation import require_finite, require_finite_entries
from ..similarity.inputs.frames import first_grouping, has_categories, is_frame, to_table
from ..similarity.inputs.input_warnings import warn_of_named_columns
from ..similarity.inputs.mixed_types import MixedTable
from ..similarity.metric_base import Metric


def checked_rows(model: Any, metric: Metric, X: Any, reset: bool) -> Any:
    """X as the metric takes it. The model learns number and names of the columns, or with ``reset=False`` compares them."""
    if model.metric == "precomputed_distances" and np.ndim(X) == 1:
        X = squareform(X)
    if isinstance(X, MixedTable):
        return metric.validate(X, new=not reset)
    if has_categories(X) or (not reset and _fitted_table(model) is not None):
        return _as_table(model, metric, X, reset)
    if sp.issparse(X) and metric.takes_rows and not metric.takes_sparse:
        metric.check_rows(X)  # says what to do about them
    given = X
    # 64-bit indices are not told apart here: as_similarity converts them
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
    """The columns of the fitted rows, if some of them hold categories."""
    similarity = getattr(model, "similarity_", None)
    return getattr(getattr(similarity, "source", None), "table", None)


def _as_table(model: Any, metric: Metric, X: Any, reset: bool) -> Any:
    """A frame with columns of categories; those of new rows are coded as they were in the fit."""
    if not is_frame(X):
        raise ValueError("The fitted rows have columns of categories; pass a frame with the same columns.")
    if not metric.takes_missing:
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
