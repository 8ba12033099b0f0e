"""``HypHC``: parameters, ``fit``, ``predict`` and ``partial_fit`` behind scikit-learn's interface."""

from __future__ import annotations

import os
import weakref
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import __version__, views
from ._runtime.arrays import Floats, Ints
from ._runtime.base_estimator import check_parameter_names, default_parameters, fresh_fit
from ._runtime.progress import Callback
from ._runtime.run_control import Clock
from ._runtime.validation import require_finite
from .continuous.solver import TEMPERATURE, EmbedSettings
from .fit.constrained_tree import forced_splits
from .fit.constraints import Constraints, ResolvedConstraints, resolve_constraints
from .fit.deduplicate import count_distinct, warn_of_few_distinct
from .fit.flat_cut import FlatCut
from .fit.model_file import load_model, save_model
from .fit.new_points import (
    ClusterAssigner,
    assign_clusters,
    compute_insertion_cost,
    mean_similarities,
    mean_similarities_of_rows,
)
from .fit.parameter_checks import JOIN, check_values
from .fit.plan import plan_fit
from .fit.resume import open_checkpoint
from .fit.row_checks import extend_names, row_names, validate_rows
from .fit.run import FitSettings, embed_tree, solve
from .fit.weighted_leaves import weighted
from .out_of_core.job import Job
from .out_of_core.labels import count_distinct_rows, load_tree
from .out_of_core.local_fit import fit_out_of_core, is_on_disk, is_too_large, open_source
from .out_of_core.row_sources import Source
from .out_of_core.to_memory import load_similarity
from .scores.certificate import OptimalityGap, optimality_gap
from .scores.cluster_number import ClusterNumber
from .scores.differences import Differences, differences
from .scores.heights import with_similarity_heights
from .scores.outliers import outlier_scores
from .search import insert
from .similarity import Similarity
from .similarity.build import MetricLike, metric_named, require_no_metric
from .similarity.inputs.foreign_inputs import convert_input, describe_input
from .similarity.metric_base import Metric, Seed
from .similarity.metrics import get_metric
from .similarity.neighbor_metrics import Auto
from .tree import Tree
from .tree.membership import probabilities
from .tree.prunings import CONDENSED

__all__ = ["HypHC"]

METRIC_SETTINGS = ("n_neighbors", "edge_weights", "scale", "background")
PREDICT_ROWS = 65_536  # new rows whose neighbours are in memory at a time


class HypHC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Hierarchical clustering that minimises Dasgupta's cost.

    A tree search (subtree prune and regraft, with branch and bound) lowers the cost of a quick first tree. ``refine=False`` is
    the continuous stage alone: an embedding in the Poincaré disk by gradient descent on the paper's continuous cost, decoded to
    the best tree on the way, with our sampling and schedule and any metric. It is also the start of the search if any of its
    parameters is given. The paper's own protocol is ``HypHC(metric="cosine", preset="paper", refine=False)``.

    Parameters
    ----------
    n_clusters : int, "auto" or None
        Number of flat clusters in ``labels_``; "auto" is the same as None.
    distance_threshold : float, optional
        Instead of ``n_clusters``: merges at or above this height are undone, as in scikit-learn's agglomerative clustering.
        With neither, the number of clusters is found, see ``cluster_number_``.
    metric : str or callable
        As in ``as_similarity``: "auto" (nearest neighbours with a weak background), "cosine" (the paper's, of the rows as given),
        "correlation", "spearman", "linear", "rbf", "precomputed" (X holds SIMILARITIES, dense or sparse: large is alike) or
        "precomputed_distances". With ``n_neighbors`` also "euclidean", "manhattan", "chebyshev", "canberra", "braycurtis",
        "hamming", "jaccard", "dice", "haversine", or a function of two rows.
    n_neighbors : int, optional
        For "auto" 15 by default. With a distance, "cosine" or a correlation the graph of nearest neighbours alone is clustered.
    edge_weights : {"fuzzy", "self-tuned", "shared", "binary"}
        Weights of the neighbour graph.
    scale : "auto" or bool
        For "auto": whether columns are standardised; "auto" decides from the columns, and ``plan_`` has the decision.
    background : float, optional
        For "auto": the strength of the background, 0.0001 by default.
    directed : {"sum", "max", "mean"}, optional
        For "precomputed" and graphs of networkx: combine w_ij and w_ji where they differ. None raises an error for them.
    criterion : {"condensed", "dasgupta", "height", "modularity", "ncut", "sse"}
        How the tree is cut into ``labels_``, see ``Tree.cut``.
    min_size : float, optional
        Minimum cluster size. Default: 1, or chosen by "condensed".
    outliers : {"join", "label"}
        Points that fall out of the condensed tree above the core of a cluster join the cluster that their larger sibling leads
        to, or have the label −1. ``predict`` always returns a cluster.
    init, n_init, n_components, temperature, max_iter, block_size, max_triplets, spread_penalty
        Of the continuous stage, as in ``embed``. If any is not its default, the search starts from a short such stage.
    preset : {"paper", "released", "released-zoo", "released-iris", "released-glass"}, optional
        The paper's protocol, or the settings released with its code, as the continuous stage, see ``embed``. Of its parameters
        only ``n_init``, ``max_iter``, ``max_triplets`` and ``spread_penalty`` may then be given. The search follows unless
        ``refine=False``; the paper's similarity is ``metric="cosine"`` of standardised columns.
    constraints : Constraints, optional
        Groups that stay together, points that are kept apart, clusters that the tree must have, an order of the points.
    refine : bool
        Whether to run the tree search, as the function ``refine`` does; False is the continuous stage alone.
    effort : float
        Amount of search relative to the default; time is proportional to it. docs/tree_search.md reports the gains.
    time_budget : float, optional
        Seconds after which the fit stops with the best tree so far: the one setting by which a seeded result may vary.
    memory_limit : float or str, optional
        Bytes, or text such as "2GB", that a fit of a path or of a memory-mapped array may use; by default half of the free
        memory. Rows that need more are fitted out of core: docs/dask.md.
    checkpoint : path, optional
        A folder, new or empty, in which the fit saves its state about every ten seconds. A later fit of the same data with the
        same parameters resumes from it, to the same tree; the folder stays until you remove it. docs/reliability.md.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads; −1 is all cores. The result does not depend on it.
    verbose : int
        1 shows progress on standard error: a line that is overwritten on a terminal, elsewhere one every few seconds.
    callback : callable, optional
        Called with a ``Progress`` (stage, cost, seconds, share, ``tree()``) after each iteration of the continuous stage and
        each step of the search; returning True ends the fit with the best tree so far.

    Attributes
    ----------
    tree_ : Tree
        Its heights are log(w_max / w̄) for graphs and "auto", w_max − w̄ for others, w̄ the mean similarity across the split.
    linkage_ : array (n − 1, 4)
        The tree as SciPy's linkage matrix.
    children_, distances_ : arrays (n − 1, 2) and (n − 1,)
        As scikit-learn's ``AgglomerativeClustering`` names them.
    labels_ : array (n,)
        Flat clusters, numbered from 0 in order of their first point; −1 for outliers if ``outliers="label"``.
    probabilities_ : array (n,)
        Membership strength from 0 to 1: (birth − leave) / (birth − death), with birth the height at which the cluster separates
        from the others, leave that at which the point falls out of it, or of a group inside it, death the lowest leave in the
        cluster. 1 where birth = death, 0 for points that fell out above the core. Not after a fit out of core.
    outlier_scores_ : array (n,)
        From 0 to 1, in the manner of GLOSH. Of the default metric and neighbour graphs: 1 − r₀ / r, at least 0, with r the
        distance to the point's furthest neighbour in the graph, r₀ the largest r in the densest tenth of its cluster. Of others:
        (leave − death) / (top − death), with leave the height at which the point falls out of the condensed tree, death the
        lowest such height in its cluster, top the height of the tree. Not after a fit out of core.
    n_leaves_, n_clusters_ : int
    cluster_number_ : ClusterNumber or None
        The rule by which the number of clusters was found, and the runners-up; None if the number was given.
    embedding_ : array (n, n_components), at least two columns after a search
        Positions in the Poincaré ball that ``decode`` to the tree. After a search they are computed from the tree: gaps between
        neighbours on the circle show the size and the height of the merge that joins them.
    cost_ : float
        Dasgupta's cost of the tree, each pair counted once.
    similarity_ : Similarity
        The similarity that was clustered.
    loss_curve_ : array
        The continuous cost at each iteration; empty without a continuous stage.
    n_iter_ : int
        Iterations of the continuous stage; without one, sweeps of the search.
    plan_ : FitPlan
        Start, stages and budgets, and the reasons; ``print(model.plan_)`` describes them.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Ctrl-C ends the fit, in any stage, with the best tree so far and a UserWarning; pressed again, it stops at once.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> HypHC(n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

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
        preset: str | None = None,
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
        self.preset = preset
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

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Cluster X: features (n, d), or similarities (n, n) when ``metric="precomputed"``.

        Parameters
        ----------
        X : array, frame, sparse matrix, Similarity or path
            Also AnnData, whose ``obsm["X_pca"]`` is taken if it is there, else its ``X`` (``plan_`` says which), and a graph of
            networkx. The index of a pandas frame, unless it only counts, names the leaves of
            ``tree_``, as names of cells and nodes do.
            With the default metric NaN is missing, and columns of a frame may hold text or categories: docs/files.md.
            A path leads to rows in NPY, Parquet or Zarr. Rows there, or of a memory-mapped array, that need more than
            ``memory_limit`` are fitted out of core: then ``similarity_`` is None, there is no ``plan_`` or ``linkage_``, and
            ``tree_`` is on disk as long as the model exists.
        y : ignored
        sample_weight : array (n,), optional
            How many points each row stands for, all positive: 2 counts like two equal rows.

        Notes
        -----
        Attributes of an earlier fit are removed first: a fit that raises leaves the model unfitted.
        """
        with fresh_fit(self):
            self._check_parameters()
            if is_on_disk(X):
                source = open_source(X)
                if is_too_large(source, self.memory_limit):
                    return self._fit_out_of_core(source, sample_weight)
                X = source.read(0, source.shape[0])
            clock = Clock(self.time_budget, self.callback, self.verbose)
            names, taken = row_names(X), describe_input(X)
            X = self._validate_rows(X, reset=True)
            self._make_cut().check(X.shape[0])
            constraints = resolve_constraints(self.constraints, X.shape[0], self.init, self._make_cut().n_clusters)
            with open_checkpoint(self.get_params(deep=False), X, sample_weight, clock) as seed:
                similarity = self._compute_similarity(X, sample_weight, seed)
                self._make_cut().require_rows(similarity)
                with clock:
                    plan, result = solve(self._make_settings(), similarity, clock, seed, constraints)
            scaling = "" if similarity.metric is None else similarity.metric.describe(similarity)
            self.plan_ = replace(plan, rows="; ".join(filter(None, [taken, scaling])))
            self.interrupted_, self._signal_ = clock.interrupted, clock.signal
            self.loss_curve_, self.n_iter_ = result.loss_curve, len(result.loss_curve) or clock.steps
            self._set_fitted_attributes(result.tree.with_names(names), similarity, result.embedding, constraints)
            return self

    def _check_parameters(self) -> None:
        """Raise for impossible values, and for settings that another one makes void."""
        check_values(self.get_params(deep=False))
        self._make_settings()
        self._make_metric()

    def _make_settings(self) -> FitSettings:
        """Return the parameters of the continuous stage and the search."""
        return FitSettings.from_parameters(self.get_params(deep=False))

    def _make_cut(self) -> FlatCut:
        """Return the parameters of the cut into flat clusters."""
        return FlatCut.from_parameters(self.get_params(deep=False))

    def _make_metric(self, seed: Seed = None) -> Metric:
        """Return the metric; ``seed`` replaces ``random_state``, as for a fit with a checkpoint."""
        settings = {name: getattr(self, name) for name in (*METRIC_SETTINGS, "directed", "n_jobs")}
        return metric_named(self.metric, **settings, random_state=self.random_state if seed is None else seed)

    def _validate_rows(self, X: Any, reset: bool) -> Any:
        """Return the rows as an array, CSR matrix or table; a Similarity unchanged."""
        X = convert_input(X, self.metric, self.directed)
        if not isinstance(X, Similarity):
            rows = validate_rows(self, self._make_metric(), X, reset)
            scaling = None if reset else getattr(self, "_column_scaling_", None)
            return rows if scaling is None else scaling(rows)
        if reset:
            require_no_metric(self.metric, {name: getattr(self, name) for name in METRIC_SETTINGS})
        return X

    def _compute_similarity(self, X: Any, sample_weight: npt.ArrayLike | None = None, seed: Seed = None) -> Similarity:
        """Return the similarity of validated rows by the metric; a Similarity unchanged except for weights."""
        if isinstance(X, Similarity):
            return X if sample_weight is None else weighted(X, np.asarray(sample_weight, dtype=np.float64))
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        return self._make_metric(seed).similarity(X, weights)

    def _set_fitted_attributes(
        self,
        tree: Tree,
        similarity: Similarity,
        embedding: Floats | None,
        constraints: ResolvedConstraints | None = None,
        is_tested: bool = True,
    ) -> None:
        """Set heights, clusters, scores and all else that follows from the tree; untested splits are cut by height alone."""
        cut, fitted = self._make_cut(), with_similarity_heights(tree, similarity)
        self.similarity_: Any = similarity  # None after a fit out of core
        self.cost_: Any = fitted.cost
        if constraints is not None:
            fitted = fitted.with_forced_splits(forced_splits(fitted, constraints))
        self.cluster_number_: ClusterNumber | None = None
        if is_tested:
            self.cluster_number_, fitted = self._make_cut().find_number(similarity, fitted)
        n_found = None if self.cluster_number_ is None else self.cluster_number_.n_clusters
        self._clusters_ = clusters = self._make_cut().find_clusters(fitted, n_found)
        self.labels_, self.n_clusters_ = cut.label_points(clusters), len(clusters.nodes)
        self.probabilities_ = probabilities(fitted, clusters, self.min_size)
        self.outlier_scores_ = outlier_scores(similarity, fitted, clusters, self.min_size)
        if cut.n_clusters is not None and (constraints is None or constraints.min_clusters == 1):
            warn_of_few_distinct(count_distinct(similarity, clusters.labels), self.n_clusters_)
        self.tree_ = fitted.with_n_clusters(self.n_clusters_)
        self._embedding_ = embedding
        self._set_tree_attributes()

    def _set_tree_attributes(self) -> None:
        """Set the attributes that are the tree in other forms, and what assigns new points to its clusters."""
        self._assigner_ = ClusterAssigner(self.tree_, self._clusters_.labels, self.similarity_)
        self.linkage_, self.n_leaves_ = self.tree_.to_linkage(), self.tree_.n_leaves
        self.children_, self.distances_ = self.tree_.children, self.tree_.heights

    def _fit_out_of_core(self, source: Source, sample_weight: Any) -> Self:
        """Fit rows that do not fit into memory, on threads of this process."""
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given for rows that are fitted out of core; raise memory_limit.")
        cut = self._make_cut()
        cut.check(source.shape[0])
        fitted = fit_out_of_core(source, self.get_params(deep=False), cut, default_parameters(type(self)))
        weakref.finalize(self, fitted.discard)
        self.similarity_ = self._embedding_ = self.cluster_number_ = None
        self._out_of_core_, self.interrupted_ = fitted, False
        self.tree_, self.labels_, self.cost_ = fitted.tree, fitted.labels, fitted.cost
        self.n_leaves_, self.n_features_in_ = source.shape
        self.n_clusters_ = fitted.n_clusters
        self.children_, self.distances_ = self.tree_.children, self.tree_.heights
        if cut.n_clusters is not None:
            warn_of_few_distinct(count_distinct_rows(fitted.job), self.n_clusters_)
        return self

    @classmethod
    def from_out_of_core(cls, job: Job, cut: FlatCut) -> HypHC:
        """Return a model in memory of a tree that was fitted out of core, with all attributes of a fit in memory."""
        settings, similarity = job.settings, load_similarity(job)
        names = ("metric", "scale", "effort", *(METRIC_SETTINGS if settings.metric == "auto" else ()))
        parameters = asdict(cut) | {name: getattr(settings, name) for name in names}
        model = cls(**parameters, random_state=settings.seed)
        model.n_features_in_, model.interrupted_ = job.source.shape[1], False
        model.plan_ = replace(plan_fit(similarity, EmbedSettings(), effort=settings.effort), rows="fitted out of core")
        model.loss_curve_, model.n_iter_ = np.empty(0), 0
        tree = Tree(np.array(load_tree(job).children))
        model._set_fitted_attributes(tree, similarity, None, is_tested=cut.n_clusters is None)
        return model

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add points to the fitted tree, one after the other, each where the cost rises least; without a tree, ``fit``.

        Parameters
        ----------
        X : array, frame, sparse matrix or Similarity
            Rows of new points. With ``metric="precomputed"``, or as a Similarity: of all points, the fitted ones first.
        y : ignored

        Notes
        -----
        Nothing else moves; ``HypHC(init=model.tree_).fit(...)`` of all points, or ``refine``, improves the tree after many
        additions. A neighbour graph is recomputed from all points.
        """
        if not hasattr(self, "tree_"):
            return self.fit(X)
        self._require_in_memory("partial_fit")
        similarity = self._extend_similarity(X)
        self._check_parameters()
        self._make_cut().check(similarity.n)
        constraints = None if self.constraints is None else self.constraints.extend(similarity.n).resolve(similarity.n)
        names = extend_names(self.tree_, row_names(X), similarity.n)
        tree = insert(self.tree_, similarity).with_names(names)
        self._set_fitted_attributes(tree, similarity, None, constraints)
        return self

    def _extend_similarity(self, X: Any) -> Similarity:
        """Return the similarity of old and new points; a given one of all points unchanged except for old weights."""
        old, metric = self.similarity_, get_metric(self.similarity_)
        X = self._validate_rows(X, reset=not metric.takes_rows)
        has_all_points = isinstance(X, Similarity) or not metric.takes_rows
        extended = self._compute_similarity(X) if has_all_points else metric.extend(old, X)
        if (extended.sizes[: old.n] == old.sizes).all():
            return extended
        return weighted(extended, np.append(old.sizes, np.ones(extended.n - old.n)))

    def predict(self, X: Any) -> Ints:
        """Return the flat cluster that each new point would join at its cheapest position in the tree.

        A point whose position lies above several clusters joins that of the subtree, among the largest within one cluster, to
        which it is most similar on average; none has the label −1. Rows are inserted independently of each other, in O(d) time
        per position tested; the tree does not change.

        Parameters
        ----------
        X : array, frame, sparse matrix or Similarity
            Rows like those of ``fit``. With ``metric="precomputed"``: the similarities (m, n) of new points to the fitted.
            A Similarity holds all points, the fitted ones first.
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        if self.similarity_ is None:
            require_finite(X, "X")
            return self._out_of_core_.predict(X)
        if isinstance(X, Similarity):
            return assign_clusters(self.tree_, self._clusters_.labels, X, self.n_jobs)
        metric = get_metric(self.similarity_)
        chunks = (X[k : k + PREDICT_ROWS] for k in range(0, X.shape[0], PREDICT_ROWS))
        return np.concatenate(
            [self._assigner_.assign(metric.rows(self.similarity_, chunk), self.n_jobs) for chunk in chunks]
        )

    def transform(self, X: Any) -> Floats:
        """Return the mean similarity of each row to the points of each flat cluster: (m, n_clusters).

        The similarity is the fitted one, so this is defined for features, graphs and matrices alike: Σ_j w_ij / |C| over the
        fitted points j of cluster C. Larger is nearer. With the default metric it is the share of a row's neighbours in the
        cluster, weighed by the size of the cluster, plus the background, which may be negative. Rows are compared with fitted
        points, not with each other; a fitted row counts as a new one. O(n_clusters) products with the similarity.

        Parameters
        ----------
        X : array, frame, sparse matrix or Similarity
            As of ``predict``, which looks at positions in the tree, and may choose another cluster than the most similar.

        Notes
        -----
        Columns are called "hyphc0", "hyphc1", … (``get_feature_names_out``); ``set_output(transform="pandas")`` or "polars"
        returns frames with these names.

        Examples
        --------
        >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
        >>> HypHC(n_clusters=2, metric="cosine", random_state=0).fit(X).transform([[1.0, 0.0]]).round(2)
        array([[1.  , 0.52]])
        """
        check_is_fitted(self)
        self._require_in_memory("transform")
        X = self._validate_rows(X, reset=False)
        if isinstance(X, Similarity):
            return mean_similarities(self._clusters_.labels, self.n_clusters_, X)
        rows = get_metric(self.similarity_).rows(self.similarity_, X)
        return mean_similarities_of_rows(self._clusters_.labels, self.n_clusters_, self.similarity_, rows)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of ``transform``, for scikit-learn."""
        return int(self.n_clusters_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model, parameters and all attributes, to one file that ``load`` reads; atomically, without pickle.

        The file is a ZIP of NPY arrays and JSON. It holds the rows, or the similarities, that new points are compared with.
        ``callback`` is not stored. A metric that is a function cannot be: keep such a model with joblib.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> import os, tempfile
        >>> model = HypHC(n_clusters=2, random_state=0).fit([[0.0, 1.0], [0.1, 1.0], [5.0, 0.0], [5.1, 0.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "model.npz"))
        ...     HypHC.load(os.path.join(folder, "model.npz")).predict([[5.0, 0.1]])
        array([1])
        """
        check_is_fitted(self)
        self._require_in_memory("save")
        save_model(path, self.get_params(deep=False), vars(self), __version__)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the model of a file that ``save`` wrote: the same labels, tree and predictions.

        No code in the file is run. A damaged file, another one, and one of a later version of hyphc raise a ValueError.
        """
        parameters, attributes = load_model(path)
        try:
            model = cls(**parameters)
        except TypeError as error:  # a parameter of a later version
            raise ValueError(
                f"{os.fspath(path)!r} does not fit this version of hyphc ({error}); update hyphc."
            ) from None
        for name, value in attributes.items():
            setattr(model, name, value)
        model._set_tree_attributes()
        return model

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus Dasgupta's cost of new points inserted into the tree, per unit of their similarity: higher is better.

        The points are inserted into the tree, each where the cost by the fitted similarity rises least, and the tree is cut down
        to them. Its cost by the default similarity of the new rows alone (``as_similarity(X)``), whatever the parameters of the
        model are, is divided by their total similarity. So scores of the same rows can be compared between all models, as
        ``GridSearchCV`` does, also of different metrics. They favour metrics that agree with nearest neighbours; known classes
        are a better judge where there are any.

        Parameters
        ----------
        X : array, frame or sparse matrix
            Rows like those of ``fit``.
        y : ignored

        Returns
        -------
        float
            Between −m for m points and −2. NaN where the points have no similarity at all, as a single one.
        """
        check_is_fitted(self)
        self._require_in_memory("score")
        if not get_metric(self.similarity_).takes_rows:
            raise ValueError(f"score needs rows of features, and metric={self.metric!r} has none; take optimality_gap.")
        rows = self._validate_rows(X, reset=False)
        return -compute_insertion_cost(self.tree_, self._extend_similarity(X), Auto(random_state=0).build(rows))

    def optimality_gap(self, **settings: Any) -> OptimalityGap:
        """Return a bound on how far the tree is from the optimum, with a confidence interval, as ``hyphc.optimality_gap``."""
        check_is_fitted(self)
        self._require_in_memory("optimality_gap")
        return optimality_gap(self.tree_, self.similarity_, **{"n_jobs": self.n_jobs, **settings})

    def _require_in_memory(self, what: str) -> None:
        if self.similarity_ is None:
            raise ValueError(f"{what} needs all rows in memory, and this model was fitted out of core.")

    @property
    def embedding_(self) -> Floats:
        """Positions that decode to the tree: learned by the continuous stage, or computed from the tree on first access."""
        if not hasattr(self, "tree_"):
            raise AttributeError("This HypHC is not fitted yet and has no embedding_; call fit first.")
        if self._embedding_ is None:
            self._embedding_ = embed_tree(self.tree_, self.n_components)
        return self._embedding_

    def plot(self, kind: str = "dendrogram", X: Any = None, **options: Any) -> Any:
        """Draw the fitted tree, coloured by its clusters unless ``labels`` are given; needs matplotlib.

        Parameters
        ----------
        kind : {"dendrogram", "condensed_tree", "disk", "clustermap", "similarity", "scores"}
            The function of ``hyphc.plot`` that draws: ``dendrogram``, ``condensed_tree``, ``disk``, ``clustermap`` (a
            table beside the tree), ``heatmap`` (the similarity matrix) or ``cluster_scores``.
        X : array or frame (n, d)
            Of "clustermap": the table to show.
        options
            As of that function.

        Returns
        -------
        Axes
        """
        check_is_fitted(self)
        return views.plot(self, kind, X, **options)

    def explore(self, path: str | os.PathLike[str] | None = None, X: Any = None, **options: Any) -> Any:
        """Write a page in which the fitted tree can be explored to a path, or return it to be shown in a notebook.

        Parameters
        ----------
        path : path, optional
        X : array or frame (n, d), optional
            The table that was clustered, or another of the same rows: the page's features.
        options
            As of ``hyphc.explore``.

        Returns
        -------
        Path or Page
        """
        check_is_fitted(self)
        return views.explore(self, path, X, **options)

    def differences(self, X: Any, **options: Any) -> Differences:
        """Return the columns of a table in which clusters differ most; options as of ``hyphc.differences``."""
        check_is_fitted(self)
        return differences(self.tree_, X, **options)

    def to_networkx(self) -> Any:
        """Return the clustered graph as a networkx.Graph, with communities as attributes of its nodes; needs networkx.

        Nodes 0, 1, … have a ``label``, their ``cluster``, the communities ``level1``, ``level2``, … of nested cuts into 2, 4, 8,
        … clusters, and their ``position`` in the leaf order; edges a ``weight``. ``networkx.write_gexf`` writes it for Gephi.
        Of the default metric and of neighbour graphs it is the graph of nearest neighbours.
        """
        check_is_fitted(self)
        self._require_in_memory("to_networkx")
        return views.to_networkx(self)

    def to_pandas(self, X: Any = None) -> Any:
        """Return a frame, indexed by row names, with the "cluster" of each row and its "position" in the leaf order of the tree.

        For new rows ``X``, the cluster that they would join alone.
        """
        check_is_fitted(self)
        return views.to_pandas(self, X)

    def _html_repr(self) -> str:
        return views.html(self, str(super()._html_repr()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        metric = self._make_metric()
        tags.input_tags.pairwise = tags.input_tags.positive_only = not metric.takes_rows
        tags.input_tags.sparse, tags.input_tags.allow_nan = metric.takes_sparse, metric.takes_missing
        return tags
