"""A confidence interval for the mean of bounded, skewed numbers that holds for every sample size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._runtime.arrays import Floats

# The bets lean on a guessed variance of 1/4 (the largest there is) with this weight against one for each number seen. Any value
# is valid; a small one lets the bets grow early when the numbers are much smaller than their bound.
_PRIOR_WEIGHT = 0.05
# A bet may lose at most this share of the capital at once.
_LARGEST_STAKE = 0.9
_BISECTIONS = 60  # halvings of [0, 1]: to the last digit of float64


def betting_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """Return an interval for the mean of independent draws in [0, 1] by betting (Waudby-Smith & Ramdas 2024, hedged capital).

    Against each candidate mean m two gamblers start with capital 1 and bet on the next draw being above, or below, m:

        K±_t(m) = Π_{s≤t} (1 ± λ_s·(x_s − m)),     λ_s a function of x_1 … x_{s−1} alone.

    If m is the mean, both are non-negative martingales, and by Ville's inequality each ever reaches 2/α with probability at most
    α/2. The interval holds every m that neither gambler has refuted; it covers the mean with probability at least 1 − α for any
    distribution on [0, 1] and any number of draws, and narrows with their variance as a normal approximation does.

    Parameters
    ----------
    values : array (N,), N ≥ 1, in [0, 1], in the order drawn
    confidence : float, 1 − α

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> low, high = betting_interval(np.full(1000, 0.25), 0.99)
    >>> bool(0.2 < low < 0.25 < high < 0.3)
    True
    """
    log_target = np.log(2 / (1 - confidence))
    bets = _bets(values, log_target)

    def refuted(m: float, sign: float) -> bool:
        stakes = np.minimum(bets, _LARGEST_STAKE / (m if sign > 0 else 1 - m))
        return bool(np.cumsum(np.log1p(sign * stakes * (values - m))).max() >= log_target)

    mean = float(values.mean())
    return _boundary(lambda m: refuted(m, 1.0), mean, 0.0), _boundary(lambda m: refuted(m, -1.0), mean, 1.0)


def _bets(values: Floats, log_target: float) -> Floats:
    """Return λ_s = √(2·log(2/α) / (N·v)), v the variance of the earlier draws: the best constant bet if v is the true one."""
    n = len(values)
    seen = np.arange(1, n + 1) + _PRIOR_WEIGHT
    means = (_PRIOR_WEIGHT / 2 + np.cumsum(values)) / seen
    variances = (_PRIOR_WEIGHT / 4 + np.cumsum((values - means) ** 2)) / seen
    before = np.concatenate([[0.25], variances[:-1]])
    return np.asarray(np.sqrt(2 * log_target / (n * before)))


def _boundary(refuted: Callable[[float], bool], mean: float, end: float) -> float:
    """Return where candidates from the mean towards 0 or 1 begin to be refuted: capital never falls on the way, so bisect."""
    if mean == end:
        return end
    inside, outside = mean, end
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        if middle == outside:  # few draws refute nothing, up to the last digit
            break
        if refuted(middle):
            outside = middle
        else:
            inside = middle
    return outside
