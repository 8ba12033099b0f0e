"""What a fit is asked to do: the parameters, stored as scikit-learn wants them, and what follows from them, checked."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight

from ._runtime.base_estimator import check_parameter_names
from ._runtime.progress import Callback
from .continuous.solver import TEMPERATURE, EmbedSettings
from .fit.constraints import Constraints, Known
from .fit.parameter_checks import JOIN, check_values
from .fit.plan import FitPlan, plan_fit
from .fit.run import Seed
from .fit.weighted_leaves import weighted
from .out_of_core.labels import Cut
from .similarity import Similarity
from .similarity.build import MetricLike, metric_named, require_no_metric
from .similarity.metric_base import Metric
from .tree import Tree
from .tree.prunings import CONDENSED

# Parameters that concern the continuous stage alone; ``embed`` has them too.
CONTINUOUS = (
    "init",
    "n_init",
    "n_components",
    "temperature",
    "max_iter",
    "block_size",
    "max_triplets",
    "spread_penalty",
)


class Parameters(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The parameters of ``HypHC``, which tells what each is."""

    @check_parameter_names
    def __init__(
        self,
        n_clusters: int | str | None = None,
        *,
        distance_threshold: float | None = None,
        metric: MetricLike = "auto",
        n_neighbors: int | None = None,
        edge_weights: str = "fuzzy",
        scale: str | bool = "auto",
        background: float | None = None,
        directed: str | None = None,
        criterion: str = CONDENSED,
        min_size: float | None = None,
        outliers: str = JOIN,
        init: str | npt.ArrayLike | Tree = "auto",
        n_init: int = 1,
        n_components: int = 2,
        temperature: float | tuple[float, float] = TEMPERATURE,
        max_iter: int | None = None,
        block_size: int = 256,
        max_triplets: int | None = None,
        spread_penalty: float = 0.0,
        constraints: Constraints | None = None,
        refine: bool = True,
        effort: float = 1.0,
        time_budget: float | None = None,
        memory_limit: float | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.edge_weights = edge_weights
        self.scale = scale
        self.background = background
        self.directed = directed
        self.criterion = criterion
        self.min_size = min_size
        self.outliers = outliers
        self.init = init
        self.n_init = n_init
        self.n_components = n_components
        self.temperature = temperature
        self.max_iter = max_iter
        self.block_size = block_size
        self.max_triplets = max_triplets
        self.spread_penalty = spread_penalty
        self.constraints = constraints
        self.refine = refine
        self.effort = effort
        self.time_budget = time_budget
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @property
    def _n_wanted(self) -> Any:
        """How many clusters are asked for; None if the number is to be found."""
        return None if isinstance(self.n_clusters, str) and self.n_clusters == "auto" else self.n_clusters

    def _check_parameters(self) -> None:
        """Raise for values that are never possible, and for settings that another one makes void."""
        check_values(self.get_params(deep=False))
        self._settings()
        self._metric()
        if not self.refine and self.effort != 1:
            raise ValueError(f"effort={self.effort!r} is of the search, and refine=False leaves it out; leave out one.")

    def _require_similarity_alone(self) -> None:
        """Raise for settings of a metric where the similarity itself is given, and no metric used."""
        names = ("n_neighbors", "edge_weights", "scale", "background")
        require_no_metric(self.metric, {name: getattr(self, name) for name in names})

    def _known(self, n: int) -> Known | None:
        """What is known of n points, checked."""
        if self.constraints is None:
            return None
        if not isinstance(self.init, str):
            raise ValueError(
                "init= is a tree or positions of all points; with constraints parts are fitted: leave it out."
            )
        known = self.constraints.of(n)
        if self._n_wanted is not None:
            known.require_possible(self._n_wanted)
        return known

    def _metric(self, seed: Seed = None) -> Metric:
        """The metric; a fit that is kept has a seed, even if nobody gave one."""
        return metric_named(
            self.metric,
            n_neighbors=self.n_neighbors,
            edge_weights=self.edge_weights,
            scale=self.scale,
            background=self.background,
            directed=self.directed,
            n_jobs=self.n_jobs,
            random_state=self.random_state if seed is None else seed,
        )

    def _similarity(self, X: Any, sample_weight: npt.ArrayLike | None = None, seed: Seed = None) -> Similarity:
        """What the metric makes of checked rows; a similarity as it is, but for weights."""
        if isinstance(X, Similarity):
            return X if sample_weight is None else weighted(X, np.asarray(sample_weight, dtype=np.float64))
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        return self._metric(seed).similarity(X, weights)

    def _cut(self) -> Cut:
        return Cut(self._n_wanted, self.distance_threshold, self.criterion, self.min_size, self.outliers)

    def _plan(self, similarity: Similarity) -> FitPlan:
        return plan_fit(
            similarity, self._settings(), refine=self.refine, effort=self.effort, time_budget=self.time_budget
        )

    def _settings(self) -> EmbedSettings:
        """Of the continuous stage, checked."""
        return EmbedSettings(**{name: getattr(self, name) for name in CONTINUOUS})
