"""Construction of a ``Similarity`` from features, similarities or distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Similarity
from .inputs.foreign_inputs import convert_input
from .inputs.frames import is_frame
from .inputs.input_warnings import warn_of_named_columns
from .knn.other_distances import is_distance
from .metric_base import Metric
from .metrics import METRICS, NEIGHBOR_METRICS, Custom, Precomputed, choices
from .neighbor_metrics import BACKGROUND, Auto, Neighbors
from .symmetrize import require_directed

MetricLike = str | Callable[..., Any]  # of X, for similarities, or of two rows, for their distance
SimilarityLike = Similarity | npt.ArrayLike | Any  # Any: SciPy's sparse matrices share no public base type


def as_similarity(
    X: Any,
    metric: MetricLike = "auto",
    *,
    n_neighbors: int | None = None,
    edge_weights: str = "fuzzy",
    scale: str | bool = "auto",
    background: float | None = None,
    offset: float | None = None,
    gamma: float | None = None,
    directed: str | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Similarity:
    """Return the similarity to cluster, from features or from similarities.

    The choice of similarity affects the agreement with known groups more than the optimiser. ``"auto"`` finds groups of any
    shape and scales to millions of points; docs/notes/which_similarity.md compares the choices. ``"cosine"`` is the paper's, on
    standardised columns (``hyphc.similarity.standardize``).

    Parameters
    ----------
    X : array, frame or sparse matrix (n, d), or square (n, n) with ``metric="precomputed"``, or a Similarity (returned)
        Of AnnData ``obsm["X_pca"]`` if it is there, else its ``X``; a graph of networkx is a similarity, its parallel edges
        summed.
    metric : str or callable
        - ``"auto"``: columns standardised where needed, a graph of nearest neighbours, and a weak background, linear in
          squared distance, that orders merges of distant groups. NaN is missing, and columns of a frame may hold
          categories: docs/files.md.
        - ``"cosine"``: w = (1 + cos) / 2. A zero row has no direction: its cosine is 0, its similarity to every point ½.
        - ``"correlation"``, ``"spearman"``: w = (1 + r) / 2, r Pearson's correlation of two rows, or that of their ranks.
        - ``"linear"``: w = offset + ⟨x, y⟩; ``offset`` defaults to the least that makes every w ≥ 0 sure.
        - ``"rbf"``: w = exp(−gamma·‖x − y‖²), gamma = 1 / (d·var(X)) by default. Dense: O(n²) memory.
        - ``"euclidean"``: only with ``n_neighbors``, and so are ``"manhattan"``, ``"chebyshev"``, ``"canberra"``,
          ``"braycurtis"``, ``"hamming"``, ``"jaccard"``, ``"dice"`` and ``"haversine"``, which take n² distances.
        - ``"precomputed"``: X holds *similarities*, dense or sparse.
        - ``"precomputed_distances"``: X holds distances, square or condensed; w = (largest distance) − distance. Dense.
        - a callable of X, which returns the (n, n) similarities, dense; or of two rows, which returns their distance, for
          neighbours.
    n_neighbors : int, optional
        With "auto", the neighbours of each row. With a distance, "cosine" or a correlation: the symmetric graph of nearest
        neighbours alone is clustered.
    edge_weights : {"fuzzy", "self-tuned", "shared", "binary"}
        Weights of the graph, see ``hyphc.similarity.knn.search.neighbor_graph``.
    scale : "auto" or bool
        For "auto": whether columns are standardised. "auto" decides from the columns, see
        ``hyphc.similarity.scaling.column_scaling``.
    background : float, optional
        For "auto": the strength β of the background, by default 0.0001; 0 is the graph alone.
    offset, gamma : float, optional
        Of "linear" and of "rbf".
    directed : {"sum", "max", "mean"}, optional
        For "precomputed" and graphs: how to combine w_ij and w_ji where they differ. A missing edge counts as 0, so that the
        mean of a one-way edge is half its weight. None raises an error.
    n_jobs : int, optional
        Threads of the search for neighbours.
    random_state : int, RandomState or None
        Of the approximate search for neighbours.

    Examples
    --------
    >>> as_similarity([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]], "cosine").to_dense()
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    X = convert_input(X, metric, directed)
    settings: dict[str, Any] = {"n_neighbors": n_neighbors, "edge_weights": edge_weights, "scale": scale}
    settings |= {"background": background, "offset": offset, "gamma": gamma}
    if isinstance(X, Similarity):
        require_no_metric(metric, settings)
        return X
    chosen = metric_named(metric, **settings, directed=directed, n_jobs=n_jobs, random_state=random_state)
    rows = chosen.validate(X)
    if is_frame(X) and chosen.takes_rows:
        warn_of_named_columns(tuple(map(str, X.columns)), getattr(rows, "values", rows))
    return chosen.similarity(rows)


def metric_named(
    metric: MetricLike = "auto",
    *,
    n_neighbors: int | None = None,
    edge_weights: str = "fuzzy",
    scale: str | bool = "auto",
    background: float | None = None,
    offset: float | None = None,
    gamma: float | None = None,
    directed: str | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Metric:
    """Return the metric of a name, or of a function, with its settings; parameters as of ``as_similarity``."""
    if not callable(metric) and metric not in METRICS:
        raise ValueError(f"metric={metric!r} is unknown; choose one of {choices()}.")
    require_directed(directed)
    own: dict[Any, dict[str, Any]] = {
        "linear": {"offset": offset},
        "rbf": {"gamma": gamma},
        "precomputed": {"directed": directed},
        "auto": {"scale": None if scale == "auto" else scale, "background": background},
    }
    for owner, settings in own.items():
        for name, value in settings.items():
            # graphs, which "auto" also takes, may be directed
            if value is not None and metric != owner and not (name == "directed" and metric == "auto"):
                raise ValueError(f"{name}={value!r} goes with metric={owner!r}, not with {metric!r}; leave it out.")
    if metric == "auto":
        strength = BACKGROUND if background is None else background
        return Auto(n_neighbors, edge_weights, scale, strength, n_jobs, random_state)
    if n_neighbors is not None:
        if not (is_distance(metric) if callable(metric) else METRICS[metric].has_neighbors):
            raise ValueError(
                f"metric={metric!r} cannot be used with n_neighbors; choose one of {NEIGHBOR_METRICS}, or a function of two rows."
            )
        return Neighbors(metric, n_neighbors, edge_weights, n_jobs, random_state)
    if edge_weights != "fuzzy":
        raise ValueError(
            f"edge_weights={edge_weights!r} goes with a graph of neighbours; give n_neighbors, or leave it out."
        )
    if callable(metric):
        if is_distance(metric):
            raise ValueError(f"metric={metric!r} takes two rows, as a distance does; give n_neighbors.")
        return Custom(metric)
    return METRICS[metric](**own.get(metric, {}))


def require_no_metric(metric: MetricLike, settings: dict[str, Any]) -> None:
    """Raise for a metric, or for settings of one, where similarities are given and no metric is used."""
    if metric not in ("auto", "precomputed"):
        raise ValueError(f"X holds similarities, and metric={metric!r} makes them of rows; leave the metric out.")
    metric_named("precomputed", **settings)


def check_similarity(similarity: SimilarityLike) -> Similarity:
    """Return a Similarity from anything accepted as one: a Similarity, a dense or sparse matrix, or a networkx graph."""
    given = convert_input(similarity, "precomputed")
    return given if isinstance(given, Similarity) else Precomputed().similarity(given)
