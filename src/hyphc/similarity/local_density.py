"""Density and intrinsic dimension of rows, estimated from the distances to their nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._runtime.arrays import Floats

# Among few points along thin curves, as arms of a spiral, far neighbours lie on the next arm: the dimension is low within few
# neighbours and rises within more. Where it rises by the factor LEAVES within 8 neighbours, and again within 15, each row has 4.
# Where it rises between 8 and 15 only (factor, neighbours of each row), more neighbours are on the same arm. Where it does not
# rise, 15 bridge gaps in an arm.
CURVE_ROWS = 1_000
NEAREST, THIN, LEAVES, FEWEST = 5, 1.2, 1.2, 4
NEAR, CURVE, RISES = 8, 1.4, ((1.15, 6), (1.025, 8))
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


def neighbors_along_curves(distances: Floats) -> int | None:
    """Return the neighbours of each row if few rows lie along thin curves that further neighbours leave, otherwise None.

    Distances, (n, k), are those of the k nearest neighbours, nearest first.
    """
    n, k = distances.shape
    if not NEAR < k < n <= CURVE_ROWS:
        return None
    tied = TIED * float(np.median(distances[:, -1]))
    nearest, near, all_of_them = (_dimension(distances[:, :m], tied) for m in (NEAREST, NEAR, k))
    if nearest < THIN and near > LEAVES * nearest and all_of_them > LEAVES * near:
        return FEWEST
    return next((m for rise, m in RISES if all_of_them > rise * near), None) if near < CURVE else None


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
