"""Warnings for input that probably is not what it was passed as."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._runtime.arrays import Ints
from ..._runtime.user_warnings import warn

# A column with more than this share of the variance dominates the similarity.
WIDE_SHARE = 0.9
# Numbers of sampled pairs and triples, and thresholds: see `looks_like_distances`.
N_PAIRS, N_THIRDS = 300, 100
# Rank correlation of entries with the dissimilarity of their rows. In 300 matrices of unrelated numbers of any size it never
# exceeded this; matrices of fewer points are not tested.
CORRELATED, BY_CHANCE, FEWEST = 0.2, 5.0, 8
FEW_ZEROS = 0.1
ROUNDING = 1e-9
# Names of columns. Fewer rows than this may count up by chance.
COUNTS_FROM = 5
_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|index|key|nr|no)$", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Names of columns that record how rows were measured, not what was measured, and the suffixes of such names.
_NUISANCE = re.compile(
    "batch|plate|run|lane|chip|slide|flowcell|array|site|center|centre|lab|laboratory|hospital|scanner|instrument|machine|"
    "operator|technician|date|donor|subject|patient|replicate|cohort|study"
)
_NUMBERED = re.compile("ids?|nr|no|num|number|code|index|key")


def identifier_columns(names: Sequence[str], X: npt.NDArray[Any]) -> list[int]:
    """Return the positions of columns that count the rows, or that are named like an id and hold a distinct integer in each row.

    Examples
    --------
    >>> identifier_columns(["patient id", "age"], np.array([[7, 50], [3, 61], [9, 50], [4, 47], [1, 33]]))
    [0]
    """
    return [c for c, name in enumerate(names) if len(X) >= COUNTS_FROM and _identifies(name, X[:, c])]


def nuisance_columns(names: Sequence[str], X: npt.NDArray[Any]) -> list[int]:
    """Return the positions of columns named like a batch, plate, run, site or donor that hold few distinct integers.

    Few: each value occurs twice on average. Such numbers are codes: their differences mean nothing, and clusters of them are
    clusters of how rows were measured.

    Examples
    --------
    >>> X = np.array([[1, 50, 7], [1, 61, 7], [2, 50, 8], [2, 47, 8]])
    >>> nuisance_columns(["batch_no", "donor age", "SequencingRun"], X)
    [0, 2]
    """
    return [c for c, name in enumerate(names) if names_nuisance(name) and _holds_codes(X[:, c])]


def names_nuisance(name: str) -> bool:
    """Return whether a column is named like a batch, by the last word of its name that is not "id" or "number"."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and _NUMBERED.fullmatch(words[-1]):
        words.pop()
    return bool(words) and _NUISANCE.fullmatch(words[-1]) is not None


def _identifies(name: str, values: npt.NDArray[Any]) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):  # NaN of the signalling kind; counts beyond a float16
        if np.array_equal(values, values[0] + np.arange(len(values))):
            return True
    return bool(_IDENTIFIER.search(name)) and _is_whole(values) and len(np.unique(values)) == len(values)


def _holds_codes(values: npt.NDArray[Any]) -> bool:
    present = values[~np.isnan(values)]
    return _is_whole(present) and 2 <= len(np.unique(present)) <= len(present) / 2


def _is_whole(values: npt.NDArray[Any]) -> bool:
    with np.errstate(invalid="ignore"):
        return bool((values == np.round(values)).all())


def warn_of_one_wide_column(X: Any) -> None:
    """Warn if one column dominates, for metrics that do not scale columns."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] < 2 or len(X) < 3:
        return
    _, exponent = np.frexp(max(X.max(), -X.min()))
    variances = np.ldexp(X, -exponent).var(axis=0, dtype=np.float64)  # the square of 1e200 would overflow
    share = float(variances.max() / variances.sum()) if variances.sum() > 0 else 0.0
    if share > WIDE_SHARE:
        _warn(
            f"Column {int(variances.argmax())} carries {share:.0%} of the variance and decides the similarity nearly alone; if "
            "columns have units of their own, use metric='auto' or hyphc.similarity.standardize."
        )


def warn_of_square_rows(X: Any) -> None:
    """Warn if rows passed to the default metric look like a matrix of similarities or distances, dense or sparse."""
    matrix: Any = X
    n = int(matrix.shape[0]) if isinstance(X, np.ndarray) or sp.issparse(X) else 0
    if n < 3 or matrix.shape != (n, n):
        return
    if _is_symmetric(matrix):
        kind = "symmetric matrix"
    elif n >= FEWEST and matrix.min() >= 0 and not matrix.diagonal().any():  # a directed graph
        kind = "matrix with an empty diagonal"
    else:
        return
    _warn(
        f"X is a {kind} of {n} rows and columns but is taken as features; pass metric='precomputed' if it holds similarities, "
        "metric='precomputed_distances' if it holds distances."
    )


def _warn(message: str) -> None:
    warn(message, UserWarning, stacklevel=5)  # at the caller of the metric


def _is_symmetric(X: Any) -> bool:
    return bool(np.array_equal(X, X.T)) if isinstance(X, np.ndarray) else not (X != X.T).nnz


def warn_of_named_columns(names: Sequence[str], X: npt.NDArray[Any], source: str | None = None) -> None:
    """Warn of columns that number the rows or record how they were measured, in a frame or in the file ``source``."""
    identifiers = [names[c] for c in identifier_columns(names, X)]
    nuisances = [names[c] for c in nuisance_columns(names, X) if names[c] not in identifiers]
    if len(identifiers) + len(nuisances) in (0, len(names)):
        return
    what = [f"only number the rows ({', '.join(map(repr, identifiers))})"] * bool(identifiers)
    what += [f"say how rows were measured and not what ({', '.join(map(repr, nuisances))})"] * bool(nuisances)
    remedy = f"with X.drop(columns={identifiers + nuisances})" if source is None else f"of {source!r}"
    _warn(
        f"Rows are also clustered by columns that seem to {' and to '.join(what)}; leave them out {remedy}, or ignore this "
        "warning."
    )


def warn_of_distances(W: Any) -> None:
    """Warn if precomputed similarities look like distances."""
    if isinstance(W, np.ndarray) and W.ndim == 2 and looks_like_distances(W):
        _warn(
            "X looks like distances: its diagonal is 0, it obeys the triangle inequality, and rows with small entries between "
            "them are alike. Similarities are large for alike points; pass metric='precomputed_distances' for distances."
        )


def warn_of_similarities(D: Any) -> None:
    """Warn if precomputed distances look like similarities: the diagonal of distances is 0."""
    if D.ndim != 2 or D.shape[0] != D.shape[1] or len(D) < 3 or D.dtype.kind not in "fiu":
        return
    own = np.diagonal(D)
    if (own > 0).all() and (own >= D.max(axis=1)).all() and (own > D.mean(axis=1)).all():
        _warn(
            "X looks like similarities: every row is largest on the diagonal, where distances are 0; pass metric='precomputed' "
            "for similarities."
        )


def looks_like_distances(W: npt.NDArray[Any]) -> bool:
    """Return whether a matrix is more likely one of distances than of similarities.

    Its diagonal is 0, hardly another entry is, sampled triples obey the triangle inequality, at least by their square roots (as
    squared, cosine and correlation distances do), and pairs with small entries have similar rows: among similarities it is
    pairs with *large* entries that have.
    """
    n = len(W)
    if W.shape != (n, n) or n < FEWEST or W.dtype.kind not in "fiu":
        return False
    i, j, k = _some_triples(n)
    direct, by_i, by_j = (W[at].astype(np.float64) for at in ((i, j), np.ix_(i, k), np.ix_(j, k)))
    if not all((np.isfinite(part) & (part >= 0)).all() for part in (direct, by_i, by_j)):
        return False
    if (np.abs(np.diagonal(W)) > ROUNDING * direct.max()).any():
        return False
    if (direct == 0).mean() > FEW_ZEROS or np.ptp(direct) == 0:
        return False
    if (np.sqrt(direct)[:, None] > (np.sqrt(by_i) + np.sqrt(by_j)) * (1 + ROUNDING)).any():
        return False
    third = (k != i[:, None]) & (k != j[:, None])
    unlike = (np.abs(by_i - by_j) * third).sum(axis=1) / third.sum(axis=1)
    ranks = [np.argsort(np.argsort(values)) for values in (direct, unlike)]
    return bool(np.ptp(unlike) > 0 and np.asarray(np.corrcoef(np.stack(ranks)))[0, 1] > CORRELATED + BY_CHANCE / n)


def _some_triples(n: int) -> tuple[Ints, Ints, Ints]:
    """Return pairs i < j and third points k: all of them where there are few, else a sample."""
    rng = np.random.default_rng(0)
    if n <= N_THIRDS:
        i, j = np.triu_indices(n, 1)
        some = rng.choice(len(i), min(N_PAIRS, len(i)), replace=False)
        return i[some], j[some], np.arange(n)
    i, step = rng.integers(n, size=N_PAIRS), rng.integers(1, n, size=N_PAIRS)
    return i, (i + step) % n, rng.choice(n, N_THIRDS, replace=False)
