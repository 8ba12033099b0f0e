"""From what people have (features, similarities, distances) to the ``Similarity`` that everything else takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import is_valid_y, squareform

from .._shared.arrays import Floats
from .._shared.checks import as_floats, require_finite, require_memory
from .kinds import Dense, Features, Graph, Similarity

Metric = str | Callable[[Floats], npt.ArrayLike]

SIMILARITY_METRICS = ("cosine", "linear", "rbf", "precomputed")
NEIGHBOR_METRICS = ("cosine", "euclidean")

SimilarityLike = Similarity | npt.ArrayLike | Any  # Any: SciPy's sparse matrices share no public base type


def as_similarity(
    X: Any,
    metric: Metric = "cosine",
    *,
    n_neighbors: int | None = None,
    edge_weights: str = "fuzzy",
    offset: float | None = None,
    scale: float = 1.0,
    gamma: float | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Similarity:
    """The similarity to cluster, from features or from similarities.

    Which similarity one clusters decides more than the optimiser whether known groups come out. ``"cosine"`` is the paper's;
    standardise the columns first when their units differ. A neighbour graph follows groups of any shape and scales to millions of
    points: ``metric="euclidean", n_neighbors=15`` brought known classes out best in the study of ``docs/which_similarity.md``.

    Parameters
    ----------
    X : array, frame or sparse matrix (n, d), or square (n, n) with ``metric="precomputed"``, or a Similarity (returned)
    metric : str or callable
        - ``"cosine"``: w = (1 + cos) / 2. A zero row has no direction: its cosine is 0, its similarity to every point ½.
        - ``"linear"``: w = offset + scale·⟨x, y⟩; ``offset`` defaults to the least that makes every w ≥ 0 sure.
        - ``"rbf"``: w = exp(−gamma·‖x − y‖²), gamma = 1 / (d·var(X)) by default. Dense: O(n²) memory.
        - ``"precomputed"``: X holds *similarities* (not distances: see ``similarity_from_distances``), dense or sparse.
        - ``"euclidean"``: only with ``n_neighbors``.
        - a callable: called with X, returns the (n, n) similarities. Dense.
    n_neighbors : int, optional
        Build a symmetric graph of so many nearest neighbours instead, by Euclidean or cosine distance.
    edge_weights : {"fuzzy", "self-tuned", "shared", "binary"}
        Weights of that graph, see ``hyphc.similarity.neighbors.neighbor_graph``.

    Examples
    --------
    >>> as_similarity([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]).to_dense()
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    if isinstance(X, Similarity):
        return X
    if n_neighbors is not None:
        if metric not in NEIGHBOR_METRICS:
            raise ValueError(f"metric={metric!r} cannot be used with n_neighbors; choose one of {NEIGHBOR_METRICS}.")
        from .neighbors import neighbor_graph  # loads scikit-learn's neighbour searches

        return Graph(
            neighbor_graph(
                X, n_neighbors, metric=metric, edge_weights=edge_weights, n_jobs=n_jobs, random_state=random_state
            )
        )
    if metric == "precomputed":
        return Graph(X) if sp.issparse(X) else Dense(X)
    if sp.issparse(X):
        raise ValueError(
            f"Sparse features cannot be used with metric={metric!r}; give n_neighbors, reduce them with "
            "sklearn.decomposition.TruncatedSVD, or pass metric='precomputed' if X holds similarities."
        )
    features = as_floats(X, "X")
    if features.ndim != 2:
        raise ValueError(f"Features must have shape (n, d); got {features.shape}.")
    require_finite(features, "X")
    if callable(metric):
        return _dense_from(metric, features)
    return _from_features(features, metric, offset, scale, gamma)


def _from_features(
    X: npt.NDArray[Any], metric: str, offset: float | None, scale: float, gamma: float | None
) -> Similarity:
    if metric == "cosine":
        return Features(unit_rows(X), offset=0.5, scale=0.5)
    if metric == "linear":
        longest = float(np.einsum("ij,ij->i", X, X, dtype=np.float64).max(initial=0.0))
        return Features(X, offset=abs(scale) * longest if offset is None else offset, scale=scale)
    if metric == "rbf":
        from sklearn.metrics.pairwise import rbf_kernel

        width = default_gamma(X) if gamma is None else gamma
        if not width > 0:
            raise ValueError(f"gamma={gamma} must be positive.")
        return _dense_from(lambda rows: rbf_kernel(rows, gamma=width), X)
    if metric == "euclidean":
        raise ValueError("metric='euclidean' is a distance; give n_neighbors, or use metric='rbf' for similarities.")
    raise ValueError(f"metric={metric!r} is unknown; choose one of {SIMILARITY_METRICS}, or a callable.")


def default_gamma(X: npt.NDArray[Any]) -> float:
    """1 / (d·var(X)), as scikit-learn's "scale"."""
    variance = float(X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _dense_from(kernel: Callable[[Floats], npt.ArrayLike], X: npt.NDArray[Any]) -> Dense:
    n = len(X)
    require_memory(16 * n * n, f"A dense similarity of {n} points", "set n_neighbors for a sparse graph")
    matrix = np.asarray(kernel(X))
    if matrix.shape != (n, n):
        raise ValueError(f"The metric returned shape {matrix.shape}; it must return the ({n}, {n}) similarities.")
    return Dense(matrix)


def check_similarity(similarity: SimilarityLike) -> Similarity:
    """A Similarity of what functions take as one: a Similarity, or a dense or sparse matrix of similarities."""
    return as_similarity(similarity, metric="precomputed")


def similarity_from_distances(
    distances: npt.ArrayLike, method: str = "reverse", *, sigma: float | None = None
) -> Dense:
    """Similarities from distances, square or in SciPy's condensed form.

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


def unit_rows(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rows scaled to length 1; zero rows stay zero."""
    largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
    scaled = X / np.where(largest > 0, largest, 1)  # first by the largest entry: squares of 1e200 would overflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1))


def standardize(X: npt.ArrayLike) -> Floats:
    """Columns with mean 0 and standard deviation 1 (the population's); constant columns are dropped.

    Examples
    --------
    >>> standardize([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.],
           [ 1.]])
    """
    features = as_floats(X, "X").astype(np.float64)
    require_finite(features, "X")
    varies = np.ptp(features, axis=0) > 0
    centred = features[:, varies] - features[:, varies].mean(axis=0)
    return np.asarray(centred / centred.std(axis=0))
