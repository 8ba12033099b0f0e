"""Density and intrinsic dimension of rows, estimated from the distances to their nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._runtime.arrays import Floats

# Few points along thin curves, as arms of a spiral, have neighbours beyond the eighth on the next arm. Curves have less than this
# dimension within eight neighbours; with more rows fifteen neighbours stay on the arm, and bridge gaps in it.
CURVE_NEIGHBORS, CURVE_DIMENSION, CURVE_ROWS = 8, 1.25, 500
# Distances below this fraction of the median distance to the k-th neighbour are ties, and are left out of dimension and density.
TIED = 1e-6


@dataclass(frozen=True, eq=False)
class LocalDensity:
    """Log density around each point of a neighbour graph, up to a constant, and the intrinsic dimension of the neighbourhoods."""

    density: Floats
    dimension: float


def estimate_local_density(distances: Floats) -> LocalDensity | None:
    """Return the log density around each row, from distances (n, k), nearest first; None where no distance is above 0."""
    if distances.shape[1] == 0:
        return None
    furthest = distances[:, -1]
    positive = furthest[furthest > 0]
    if len(positive) == 0:
        return None
    tied = TIED * float(np.median(positive))
    dimension = _dimension(distances, tied)
    return LocalDensity(-dimension * np.log(np.maximum(furthest, tied)), dimension)


def lies_along_curves(distances: Floats) -> bool:
    """Return whether few rows lie along thin curves, by the growth of the distances to their nearest neighbours, (n, k)."""
    if not CURVE_NEIGHBORS < len(distances) <= CURVE_ROWS or distances.shape[1] < CURVE_NEIGHBORS:
        return False
    return _dimension(distances[:, :CURVE_NEIGHBORS], TIED * float(np.median(distances[:, -1]))) < CURVE_DIMENSION


def _dimension(distances: Floats, tied: float) -> float:
    """Estimate the intrinsic dimension from distances to neighbours (Levina & Bickel 2005), pooled over rows; at least 1."""
    k = distances.shape[1]
    nearer = distances[:, :-1]
    counted = nearer > tied
    if k < 3 or not counted.any():
        return 1.0
    rows, _ = np.nonzero(counted)
    growth = float(np.log(np.maximum(distances[rows, -1], tied) / nearer[counted]).mean())
    return float(max(1.0, (k - 2) / (k - 1) / max(growth, TIED)))
