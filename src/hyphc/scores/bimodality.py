"""Test whether the two sides of a split are two modes along a line, on rows that did not choose the line.

Rows are divided into ``N_FOLDS`` folds. The direction of Fisher's discriminant, w = S⁻¹(m_l − m_r) with the covariance S within
the sides shrunk as Ledoit & Wolf (2004) do, is estimated without a fold, and the fold is projected onto it. On the projections
of the other folds three disjoint intervals of one length are chosen, left, middle and right, where the middle has fewest points
compared with both others; then the points of the fold are counted in them. Summed over folds the counts are l, m and r.

A unimodal density has at least as much mass in the middle as in the left or in the right interval. So

    p = max(P(Bin(l + m, ½) ≤ m), P(Bin(r + m, ½) ≤ m))

is a valid p-value for "unimodal along the line" as far as folds are independent. Projections of log-concave densities are
log-concave and hence unimodal, whatever the dimension, elongation or rotation: Gaussians, uniform and exponential data, tables
with a common factor. Those of curved shapes need not be: a ring has two modes along every line. The middle points of such shapes
lie off the line that joins the sides; ``is_curved`` recognises that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from .._runtime.arrays import Floats, Ints

Bools = npt.NDArray[np.bool_]

N_FOLDS = 5
N_REPEATS = 5  # divisions into folds, of whose p-values the median is reported
CLEAR = (1e-4, 0.5)  # a first p-value outside of this is reported at once
MOST_ROWS = 600  # rows of a split that are tested, drawn at random
FEWEST_ROWS = 8  # of each side: with fewer no p-value could be small
# Intervals that are compared: their lengths as shares of the range of 98 % of the projections, and how many starts each has.
LENGTHS, N_STARTS = (0.06, 0.1, 0.15, 0.2, 0.28), 40
# Of each length, how many starts further on an interval begins that does not overlap: the starts divide what the length leaves.
_STEPS_APART = [int(np.ceil((N_STARTS - 1) * length / (1 - length))) for length in LENGTHS]
TAIL = 0.01
RIDGE = 1e-9  # of the mean variance: columns may be linearly dependent
# Middle points of a curved shape have a second moment between these off the line, in units of the sides' own variance (2 for a
# ring; far larger ones belong to a third group) and a kurtosis below this one (1 for two places, 3 for a Gaussian).
CURVED_MOMENT, CURVED_KURTOSIS = (1.2, 4.0), 1.65
FEWEST_MIDDLE = 12  # middle points from which a kurtosis is estimated


class Intervals(NamedTuple):
    """Starts of three disjoint intervals, from left to right, and their common length."""

    left: float
    middle: float
    right: float
    length: float


def bimodality_p_value(rows: Floats, is_left: Bools) -> float:
    """Return the p-value of two modes in rows (n, d) that a split divides; 1 for curved shapes and for small sides.

    O(n d² + d³) time for n up to ``MOST_ROWS``. Rows are drawn and divided at random, with a fixed seed, by their rank along the
    line between the means of the sides, so the result does not depend on their order.
    """
    rng = np.random.default_rng(0)
    rows, is_left = _draw(rng, rows, is_left)
    if min(int(is_left.sum()), int((~is_left).sum())) < FEWEST_ROWS:
        return 1.0
    p_values = []
    for repeat in range(N_REPEATS):
        fold = rng.permutation(len(rows)) % N_FOLDS
        projections = project_held_out(rows, is_left, fold)
        p_values.append(valley_p_value(projections, fold))
        if repeat > 0:
            continue
        if p_values[0] < CLEAR[1] and is_curved(rows, is_left, projections, rng):
            return 1.0
        if not CLEAR[0] <= p_values[0] <= CLEAR[1]:
            break
    return float(np.median(p_values))


def project_held_out(rows: Floats, is_left: Bools, fold: Ints) -> Floats:
    """Return each row's place along the discriminant direction of the other folds, in standard deviations of the sides: (n,)."""
    projections = np.empty(len(rows))
    for k in range(N_FOLDS):
        own = fold == k
        direction, middle = discriminant(rows[~own], is_left[~own])
        projections[own] = rows[own] @ direction - middle
    return projections


def discriminant(rows: Floats, is_left: Bools) -> tuple[Floats, float]:
    """Return the discriminant direction, (d,), scaled to unit variance within the sides, and the place halfway between them."""
    means = rows[is_left].mean(axis=0), rows[~is_left].mean(axis=0)
    covariance = _shrunk_covariance(np.where(is_left[:, None], rows - means[0], rows - means[1]))
    apart = means[0] - means[1]
    direction = np.linalg.solve(covariance, apart)
    direction /= np.sqrt(max(float(direction @ covariance @ direction), np.finfo(np.float64).tiny))
    return direction, float(direction @ (means[0] + means[1])) / 2


def _shrunk_covariance(centred: Floats) -> Floats:
    """Return the covariance of rows with mean 0, shrunk towards a multiple of the identity (Ledoit & Wolf 2004)."""
    n, d = centred.shape
    covariance = centred.T @ centred / n
    scale = max(float(np.trace(covariance)) / d, np.finfo(np.float64).tiny)
    squares = float(np.sum(covariance**2))
    spread = squares - d * scale**2
    error = max(0.0, float(np.mean(np.sum(centred**2, axis=1) ** 2)) - squares) / n
    share = min(1.0, error / spread) if spread > 0 else 1.0
    covariance *= 1 - share
    covariance[np.diag_indices(d)] += (share + RIDGE) * scale
    return np.asarray(covariance)


def valley_p_value(projections: Floats, fold: Ints) -> float:
    """Return the p-value of a valley: intervals are chosen on four folds, points counted on the fifth, counts are summed."""
    left = middle = right = 0
    for k in range(N_FOLDS):
        chosen = choose_intervals(projections[fold != k])
        if chosen is None:
            continue
        held_out = np.sort(projections[fold == k])
        left += _count(held_out, chosen.left, chosen.length)
        middle += _count(held_out, chosen.middle, chosen.length)
        right += _count(held_out, chosen.right, chosen.length)
    return float(max(bdtr(middle, middle + left, 0.5), bdtr(middle, middle + right, 0.5)))


def choose_intervals(values: Floats) -> Intervals | None:
    """Return the three intervals with the clearest valley, (s − m) / √(s + m), s the smaller side; None without a valley."""
    values = np.sort(values)
    cut_off = int(TAIL * len(values))
    low, high = values[cut_off], values[-1 - cut_off]
    lengths = (high - low) * np.array(LENGTHS)
    starts = np.linspace(low, high - lengths, N_STARTS, axis=1)
    begins, ends = np.searchsorted(values, np.stack([starts, starts + lengths[:, None]]))
    counts = ends - begins
    fullest_before = np.maximum.accumulate(counts, axis=1)
    fullest_after = np.maximum.accumulate(counts[:, ::-1], axis=1)[:, ::-1]
    best, chosen = 0.0, None
    for q, apart in enumerate(_STEPS_APART):
        last = N_STARTS - apart
        smaller = np.minimum(fullest_before[q, : last - apart], fullest_after[q, 2 * apart :])
        middle = counts[q, apart:last]
        clearness = (smaller - middle) / np.sqrt(np.maximum(smaller + middle, 1))
        i = int(clearness.argmax())
        if clearness[i] > best:
            best, after = float(clearness[i]), i + 2 * apart
            places = counts[q, : i + 1].argmax(), i + apart, after + counts[q, after:].argmax()
            left, valley, right = (float(starts[q, place]) for place in places)
            chosen = Intervals(left, valley, right, float(lengths[q]))
    return chosen


def is_curved(rows: Floats, is_left: Bools, projections: Floats, rng: np.random.Generator) -> bool:
    """Return whether the points of the valley lie off the line that joins the sides, as those of a ring or an arc do.

    In the metric of the covariance within the sides the residuals from that line have unit variance in each direction. Four folds
    of the middle points choose the direction in which theirs are largest, second moment and kurtosis along it are the fifth's.
    """
    chosen = choose_intervals(projections)
    if chosen is None:
        return False
    is_middle = (projections >= chosen.middle) & (projections < chosen.middle + chosen.length)
    if is_middle.sum() < FEWEST_MIDDLE or rows.shape[1] < 2:
        return False
    residuals = _whitened_residuals(rows, is_left)[is_middle]
    fold = rng.permutation(len(residuals)) % N_FOLDS
    along = np.empty(len(residuals))
    for k in range(N_FOLDS):
        along[fold == k] = residuals[fold == k] @ np.linalg.svd(residuals[fold != k], full_matrices=False)[2][0]
    moment = float(np.mean(along**2))
    low, high = CURVED_MOMENT
    return low <= moment <= high and float(np.mean(along**4)) < CURVED_KURTOSIS * moment**2


def _whitened_residuals(rows: Floats, is_left: Bools) -> Floats:
    """Return rows in the metric of the covariance within the sides, without their component along the line of the means."""
    means = rows[is_left].mean(axis=0), rows[~is_left].mean(axis=0)
    centred = np.where(is_left[:, None], rows - means[0], rows - means[1])
    values, axes = np.linalg.eigh(_shrunk_covariance(centred))
    whiten = axes / np.sqrt(values)
    line = (means[0] - means[1]) @ whiten
    line /= max(float(np.linalg.norm(line)), np.finfo(np.float64).tiny)
    places = (rows - (means[0] + means[1]) / 2) @ whiten
    return np.asarray(places - np.outer(places @ line, line))


def _draw(rng: np.random.Generator, rows: Floats, is_left: Bools) -> tuple[Floats, Bools]:
    """Return at most ``MOST_ROWS`` distinct rows, in the order of their places between the means of the sides, the smaller first.

    Copies count once: values that a column repeats would leave gaps beside them that are no valleys.
    """
    order = np.argsort(rows @ rng.standard_normal(rows.shape[1]))  # brings equal rows together
    distinct = order[np.append(True, (rows[order[1:]] != rows[order[:-1]]).any(axis=1))]
    rows, is_left = rows[distinct], is_left[distinct]
    if is_left.all() or not is_left.any():
        return rows, is_left
    is_left = is_left if is_left.mean() <= 0.5 else ~is_left
    places = rows @ (rows[is_left].mean(axis=0) - rows[~is_left].mean(axis=0))
    drawn = np.argsort(places)[np.sort(rng.permutation(len(rows))[:MOST_ROWS])]
    return rows[drawn], is_left[drawn]


def _count(ordered: Floats, start: float, length: float) -> int:
    begin, end = np.searchsorted(ordered, (start, start + length))
    return int(end - begin)
