"""Symmetrisation of directed similarities: w_ij and w_ji are combined by a named rule, or an error is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from .._runtime.validation import require_choice

# A matrix and its transpose, dense or sparse, to the symmetric matrix of either rule.
DIRECTED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda there, back: there + back,
    "max": lambda there, back: there.maximum(back) if hasattr(there, "maximum") else np.maximum(there, back),
    "mean": lambda there, back: there / 2 + back / 2,  # halves first: the sum of two large numbers may be infinite
}


def require_directed(directed: str | None) -> None:
    """Raise unless ``directed`` is None or one of ``DIRECTED``."""
    if directed is not None:
        require_choice("directed", directed, DIRECTED)


def symmetrise(matrix: Any, directed: str | None) -> Any:
    """Return the matrix with both weights of each pair combined as ``directed`` says; None leaves it as it is.

    Examples
    --------
    >>> symmetrise(np.array([[0.0, 3.0], [1.0, 0.0]]), "mean")
    array([[0., 2.],
           [2., 0.]])
    """
    require_directed(directed)
    return matrix if directed is None else DIRECTED[directed](matrix, matrix.T)


def require_symmetric(matrix: sp.csr_array[np.float64], tolerance: float, nodes: Sequence[Any] | None = None) -> None:
    """Raise for the pair of a sparse matrix whose weights differ most, if by more than the tolerance; ``nodes`` are names."""
    difference = sp.coo_array(abs(matrix - matrix.T))
    if difference.nnz and difference.data.max() > tolerance:
        e = int(difference.data.argmax())
        i, j = int(difference.row[e]), int(difference.col[e])
        raise_asymmetric(i, j, float(matrix[i, j]), float(matrix[j, i]), nodes)


def raise_asymmetric(i: int, j: int, there: float, back: float, nodes: Sequence[Any] | None = None) -> NoReturn:
    """Raise an error for a pair with different weights that lists the rules."""
    a, b = (i, j) if nodes is None else (nodes[i], nodes[j])
    choices = ", ".join(f"{name!r}" for name in DIRECTED)
    raise ValueError(
        f"w[{a!r}, {b!r}] = {there:.6g} but w[{b!r}, {a!r}] = {back:.6g}: the similarities are directed, and clusters need one "
        f"for each pair; choose directed= one of {choices} in HypHC or as_similarity."
    )
