"""From what people have (features, similarities, distances) to the ``Similarity`` that everything else takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._shared.arrays import Floats
from .base import Similarity
from .metrics import METRICS, NEIGHBOR_METRICS, Custom, Linear, Metric, Neighbors, Precomputed, Rbf, choices

MetricLike = str | Callable[[Floats], npt.ArrayLike]
SimilarityLike = Similarity | npt.ArrayLike | Any  # Any: SciPy's sparse matrices share no public base type


def as_similarity(
    X: Any,
    metric: MetricLike = "cosine",
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
        return _neighbors(metric, n_neighbors, edge_weights, n_jobs, random_state).similarity(X)
    return metric_named(metric, offset=offset, scale=scale, gamma=gamma).similarity(X)


def metric_named(
    metric: MetricLike, *, offset: float | None = None, scale: float = 1.0, gamma: float | None = None
) -> Metric:
    """The metric of a name, or of a function."""
    if callable(metric):
        return Custom(metric)
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is unknown; choose one of {choices()}.")
    settings: dict[type[Metric], dict[str, Any]] = {Linear: {"offset": offset, "scale": scale}, Rbf: {"gamma": gamma}}
    kind = METRICS[metric]
    return kind(**settings.get(kind, {}))


def _neighbors(
    metric: MetricLike,
    n_neighbors: int,
    edge_weights: str,
    n_jobs: int | None,
    random_state: int | np.random.RandomState | None,
) -> Neighbors:
    if not isinstance(metric, str) or metric not in NEIGHBOR_METRICS:
        raise ValueError(f"metric={metric!r} cannot be used with n_neighbors; choose one of {NEIGHBOR_METRICS}.")
    return Neighbors(metric, n_neighbors, edge_weights, n_jobs, random_state)


def check_similarity(similarity: SimilarityLike) -> Similarity:
    """A Similarity of what functions take as one: a Similarity, or a dense or sparse matrix of similarities."""
    return similarity if isinstance(similarity, Similarity) else Precomputed().similarity(similarity)
