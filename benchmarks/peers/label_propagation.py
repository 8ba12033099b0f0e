"""Label propagation on all similarities at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def label_propagation(W: Floats, labels: Ints) -> Ints:
    """Harmonic functions (Zhu, Ghahramani & Lafferty 2003): what an unlabelled point (−1) believes is the mean of all others."""
    known, unknown = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    classes, codes = np.unique(labels[known], return_inverse=True)
    laplacian = np.diag(W.sum(axis=1)) - W
    given = W[np.ix_(unknown, known)] @ np.eye(len(classes))[codes]
    beliefs = np.linalg.solve(laplacian[np.ix_(unknown, unknown)], given)
    completed = labels.copy()
    completed[unknown] = classes[beliefs.argmax(axis=1)]
    return completed
