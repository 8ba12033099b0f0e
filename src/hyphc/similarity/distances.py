"""Conversion of distances to similarities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import is_valid_y, squareform

from .._runtime.validation import as_floats, require_finite
from .dense import Dense


def similarity_from_distances(
    distances: npt.ArrayLike, method: str = "reverse", *, sigma: float | None = None
) -> Dense:
    """Convert distances, square or in SciPy's condensed form, to similarities.

    ``"reverse"``: w = (largest distance) − distance. ``"gaussian"``: w = exp(−d² / (2·sigma²)), sigma the median distance by
    default. ``"inverse"``: w = 1 / (1 + d).

    Examples
    --------
    >>> similarity_from_distances([1.0, 3.0, 2.0]).W
    array([[3., 2., 0.],
           [2., 3., 1.],
           [0., 1., 3.]])
    """
    d = as_floats(distances, "distances")
    require_finite(d, "distances")
    if d.ndim == 1:
        if not is_valid_y(d):
            raise ValueError(
                f"{len(d)} distances are not n(n - 1)/2 for any n; pass SciPy's condensed form or a square."
            )
        d = squareform(d)
    if d.ndim != 2 or d.shape[0] != d.shape[1]:
        raise ValueError(f"Distances must be square or condensed; got shape {d.shape}.")
    if d.size and d.min() < 0:
        i, j = np.unravel_index(int(d.argmin()), d.shape)
        raise ValueError(f"distances[{i}, {j}] = {d.min():.6g} is negative; distances are >= 0.")
    if method == "reverse":
        return Dense(d.max(initial=0.0) - d)
    if method == "inverse":
        return Dense(1.0 / (1.0 + d))
    if method == "gaussian":
        positive = d[d > 0]
        width = sigma if sigma is not None else float(np.median(positive)) if len(positive) else 1.0
        if not width > 0:
            raise ValueError(f"sigma={sigma} must be positive.")
        return Dense(np.exp(-((d / width) ** 2) / 2))
    raise ValueError(f"method={method!r} is unknown; choose 'reverse', 'gaussian' or 'inverse'.")
