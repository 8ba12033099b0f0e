"""How strongly each point is tied to its neighbours in a fuzzy graph."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Floats
from ..._runtime.jit import kernel, part


@part
def _scale(excess: Floats, wanted: float, steps: int, rtol: float) -> float:
    """σ with Σ exp(−e / σ) = wanted over the positive e, by Newton's method as in ``knn.edge_weights``; 0 if wanted ≤ 0."""
    largest, positive = 0.0, 0
    for value in excess:
        largest = max(largest, value)
        positive += value > 0.0
    if wanted <= 0.0 or positive == 0:
        return 0.0
    t = np.log(positive / wanted)
    for _ in range(steps):
        total, slope = 0.0, 0.0
        for value in excess:
            if value > 0.0:
                term = np.exp(-value / largest * t)
                total += term
                slope += value / largest * term
        step = np.log(total / wanted) * total / slope
        t += step
        if abs(step) <= rtol * t:
            break
    return largest / t  # type: ignore[no-any-return]


@kernel
def memberships(distances: Floats, narrowest: float, steps: int, rtol: float, ties: Floats) -> None:
    """ties[i, t] = exp(−max(0, d − ρ) / σ), row by row: ``similarity.knn.edge_weights.fuzzy_memberships`` as a loop."""
    n, k = distances.shape
    excess = np.empty(k)
    for i in range(n):
        rho, mean, within = np.inf, 0.0, 0
        for t in range(k):
            mean += distances[i, t] / k
            if 0.0 < distances[i, t] < rho:
                rho = distances[i, t]
        for t in range(k):
            excess[t] = max(distances[i, t] - rho, 0.0) if rho < np.inf else distances[i, t]
            within += excess[t] == 0.0
        sigma = max(_scale(excess, np.log2(k) - within, steps, rtol), narrowest * mean)
        for t in range(k):
            ties[i, t] = np.exp(-excess[t] / sigma) if sigma > 0.0 else 1.0
