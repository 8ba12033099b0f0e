"""Association of flat clusters with a nuisance column: are groups batches?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime.table_columns import is_missing_value

N_PERMUTATIONS = 999  # p-values of at least 0.001
ROWS_A_CLASS = 5  # on average, of whole numbers that are classes, as plates are, and no counts
N_BINS = 5  # classes of a column of numbers, of about equal size
SIGNIFICANT, STRONG = 0.01, 0.1  # p-value and adjusted mutual information from which on groups follow the column


@dataclass(frozen=True)
class Association:
    """How much flat clusters have in common with a column that was not clustered by.

    Attributes
    ----------
    adjusted_mutual_information : float
        1 if clusters and classes are the same, about 0 if they are independent.
    p_value : float
        Share of random permutations of the column with at least this mutual information, the column itself counted.
    n_rows : int
        Rows that have a value and a cluster.
    n_classes : int
        Classes of the column; numbers of more than 5 values are put into 5 classes of about equal size, but for whole numbers of
        at least 5 rows each on average, which are classes themselves.
    """

    adjusted_mutual_information: float
    p_value: float
    n_rows: int
    n_classes: int

    @property
    def is_clear(self) -> bool:
        """Whether groups follow the column: a p-value below 0.01, and an adjusted mutual information of at least 0.1."""
        return self.p_value < SIGNIFICANT and self.adjusted_mutual_information >= STRONG


def cluster_association(clusters: npt.ArrayLike, column: npt.ArrayLike, random_state: int = 0) -> Association:
    """Test flat clusters against a column, such as a batch, a plate or a site, by 999 permutations of it.

    Parameters
    ----------
    clusters : array (n,) of int
        Labels; −1 is left out.
    column : array (n,)
        Classes or numbers; NaN, None and "" are left out.
    random_state : int
        Of the permutations.

    Returns
    -------
    Association

    Notes
    -----
    The margins of the table of clusters and classes are the same for all permutations, so that comparing mutual information is
    comparing adjusted mutual information. O(n) time and memory for each permutation.

    Examples
    --------
    >>> found = cluster_association([0] * 20 + [1] * 20, ["a"] * 20 + ["b"] * 20)
    >>> round(found.adjusted_mutual_information, 6), found.p_value
    (1.0, 0.001)
    """
    from sklearn.metrics import adjusted_mutual_info_score

    labels, values = np.asarray(clusters), np.asarray(column, dtype=object)
    if labels.shape != values.shape or labels.ndim != 1:
        raise ValueError(
            f"clusters have shape {labels.shape} and the column {values.shape}; give a value for each row."
        )
    kept = (labels >= 0) & np.array([not (is_missing_value(value) or value == "") for value in values], dtype=bool)
    if not kept.any():
        raise ValueError("No row has both a cluster and a value of the column; choose another column.")
    one, two = np.unique(labels[kept], return_inverse=True)[1], _classes(values[kept])
    rng, n_classes = np.random.default_rng(random_state), int(two.max()) + 1
    observed = _sum_of_logs(one, two, n_classes)
    chance = [_sum_of_logs(one, rng.permutation(two), n_classes) for _ in range(N_PERMUTATIONS)]
    least = observed - 1e-9 * max(1.0, abs(observed))  # sums in another order differ by rounding
    p_value = (1 + sum(value >= least for value in chance)) / (N_PERMUTATIONS + 1)
    # of two sets that are not divided at all scikit-learn says 1: they say nothing about each other
    shared = 0.0 if n_classes == 1 or one.max() == 0 else float(adjusted_mutual_info_score(one, two))
    return Association(shared, p_value, int(kept.sum()), n_classes)


def _classes(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return numbers of classes; those of many different numbers by quantiles."""
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return np.asarray(np.unique(values.astype(str), return_inverse=True)[1], dtype=np.int64)
    n_values = len(np.unique(numbers))
    are_classes = (numbers == np.floor(numbers)).all() and n_values * ROWS_A_CLASS <= len(numbers)
    if n_values > N_BINS and not are_classes:
        edges = np.unique(np.quantile(numbers, np.arange(1, N_BINS) / N_BINS))
        numbers = np.searchsorted(edges, numbers, side="right").astype(np.float64)
    return np.asarray(np.unique(numbers, return_inverse=True)[1], dtype=np.int64)


def _sum_of_logs(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64], n_classes: int) -> float:
    """Return Σ c log c over the counts of the table, which is the mutual information but for its margins."""
    counts = np.bincount(one * n_classes + two)
    counts = counts[counts > 0].astype(np.float64)
    return float(counts @ np.log(counts))
