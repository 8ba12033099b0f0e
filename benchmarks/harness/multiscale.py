"""pvclust's approximately unbiased p-value, tried and not offered: shares of refits at several sizes of draws, extrapolated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Floats = npt.NDArray[np.float64]


def approximately_unbiased(shares: Floats, scales: Floats, n_refits: int) -> Floats:
    """Shimodaira's p-value of each cluster: (m,).

    With draws of r·d columns of d, the share of refits with the cluster is modelled as Φ(−(v·√r + c/√r)), v the signed distance
    of the data from where the cluster ends and c the curvature there; the p-value is Φ(−(v − c)). v and c by weighted least
    squares of the normal quantiles, as pvclust does; where fewer than two shares lie strictly between 0 and 1, their mean.

    Parameters
    ----------
    shares : array (scales, m)
    scales : array (scales,)
        r of each row.
    n_refits : int
        Refits behind each share.
    """
    values = shares.mean(axis=0)
    for c in range(shares.shape[1]):
        inside = (shares[:, c] > 0) & (shares[:, c] < 1)
        if inside.sum() < 2:
            continue
        share, r = shares[inside, c], scales[inside]
        z = -norm.ppf(share)
        weights = np.sqrt(n_refits / (share * (1 - share))) * norm.pdf(z)
        terms = np.column_stack([np.sqrt(r), 1 / np.sqrt(r)])
        (distance, curvature), *_ = np.linalg.lstsq(terms * weights[:, None], z * weights)
        values[c] = norm.sf(distance - curvature)
    return values
