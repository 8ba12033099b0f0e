"""``HypHC``: the pipeline behind scikit-learn's interface."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ._runtime.arrays import Floats, Ints
from ._runtime.base_estimator import default_parameters, fresh_fit
from ._runtime.run_control import Clock
from ._runtime.validation import require_finite
from .continuous.solver import EmbedSettings
from .fit.constrained_cuts import forced_splits
from .fit.constraints import Known, within
from .fit.deduplicate import Distinct, n_told_apart, warn_of_few_distinct
from .fit.fingerprint import facts_of
from .fit.new_points import cost_of_new, joined_by_rows, joined_clusters
from .fit.plan import FitPlan, plan_fit
from .fit.resume import part_by_part, resumed, resuming
from .fit.row_checks import checked_rows
from .fit.run import Fit, Seed, carry_out, placed
from .fit.weighted_leaves import twins, weighted
from .out_of_core.job import Problem
from .out_of_core.labels import Cut, n_distinct, tree_of
from .out_of_core.local_fit import fit_from_disk, is_on_disk, is_too_large, opened
from .out_of_core.row_sources import Source
from .out_of_core.to_memory import whole_similarity
from .parameters import Parameters
from .scores.certificate import OptimalityGap, optimality_gap
from .scores.cluster_number import ClusterNumber, number_of_clusters
from .scores.heights import with_similarity_heights
from .scores.outliers import outlier_scores
from .search import insert
from .search.ordered_dp import best_in_order
from .similarity import Similarity
from .similarity.inputs.foreign_inputs import as_given
from .similarity.metrics import metric_of
from .similarity.neighbor_metrics import Auto
from .tree import Tree
from .tree.membership import probabilities
from .tree.prunings import CONDENSED
from .views import Views, grown_names, row_names

__all__ = ["HypHC"]


class HypHC(Views, ClusterMixin, Parameters):  # type: ignore[misc]  # scikit-learn has no types
    """Hierarchical clustering that minimises Dasgupta's cost.

    A quick first tree is lowered in cost by a tree search (prune and regraft with branch and bound). The paper's method embeds
    the leaves in the Poincaré disk, minimises a differentiable version of the cost by gradient descent and decodes the best
    tree on the way: that is ``refine=False``, and a start of the search if any of its parameters is given.

    Parameters
    ----------
    n_clusters : int, "auto" or None
        Number of flat clusters in ``labels_``; "auto" is another word for None.
    distance_threshold : float, optional
        Instead of ``n_clusters``: merges at or above this height are undone, as in scikit-learn's agglomerative clustering.
        With neither, the number of clusters is found, see ``cluster_number_``.
    metric : str or callable
        As in ``as_similarity``. "auto" looks at nearest neighbours, with a weak background. "cosine" is the paper's, of the rows
        as given; "correlation" and "spearman" compare rows as profiles; "linear" and "rbf" are inner products and a Gaussian
        kernel. "precomputed" means that X holds SIMILARITIES, dense or sparse: large is alike; "precomputed_distances" takes
        distances. With ``n_neighbors`` also "euclidean", "manhattan", "chebyshev", "canberra", "braycurtis", "hamming",
        "jaccard", "dice", "haversine", or a function of two rows.
    n_neighbors : int, optional
        Of "auto", 15 by default. With a distance, "cosine" or a correlation: cluster a graph of so many nearest neighbours alone.
    edge_weights : {"fuzzy", "self-tuned", "shared", "binary"}
        Weights of the neighbour graph.
    scale : "auto" or bool
        Of "auto": whether columns are brought to one scale; "auto" decides from the columns, and ``plan_`` tells how.
    background : float, optional
        Of "auto": the strength of the background, 0.0001 by default.
    directed : {"sum", "max", "mean"}, optional
        Of "precomputed" and graphs of networkx: how w_ij and w_ji, where they differ, become one similarity. None refuses them.
    criterion : {"condensed", "dasgupta", "height", "modularity", "ncut", "sse"}
        Which clusters of the tree ``labels_`` are, see ``Tree.cut``. With "condensed" and a number that is found, those found.
    min_size : float, optional
        Points that a cluster has at least; 1 if it is not given, or what "condensed" chooses.
    outliers : {"join", "label"}
        What becomes of points that fall out of the condensed tree above the core of a cluster: they join the cluster that their
        larger sibling leads to, or have the label −1. ``predict`` always returns a cluster.
    init, n_init, n_components, temperature, max_iter, block_size, max_triplets, spread_penalty
        Of the continuous stage, as in ``embed``. If any is not its default, the search starts from a short such stage.
    constraints : Constraints, optional
        What is known beforehand: groups that stay together, points that are kept apart, clusters that the tree must have, an
        order of the points.
    refine : bool
        Whether trees are searched, as by the function ``refine``. False is the paper's method, the continuous stage alone.
        ``plan_`` says what was done.
    effort : float
        How much the search does, as a multiple of the usual; its time grows alike. docs/tree_search.md tells what it buys.
    time_budget : float, optional
        Seconds after which the fit stops with the best tree so far: the one setting by which a seeded result may vary.
    memory_limit : float or str, optional
        Bytes, or text such as "2GB", that a fit of a path or of a memory-mapped array may use; by default half of what is
        free. Rows that need more are fitted by parts, from disk: docs/dask.md.
    checkpoint : path, optional
        A folder, new or empty, in which the fit keeps where it stands, every ten seconds or so. A fit of the same data with the
        same parameters that finds it goes on from there, and ends with the same tree as if nothing had happened; the folder
        stays until you remove it. docs/reliability.md.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads; −1 is all cores. The result does not depend on it.
    verbose : int
        1 shows a line of progress on standard error: one that is overwritten on a terminal, elsewhere one every few seconds.
    callback : callable, optional
        Called with a ``Progress`` (stage, cost, seconds, share, ``tree()``) after each iteration of the continuous stage and
        each step of the search; returning True ends the fit with the best tree so far.

    Attributes
    ----------
    tree_ : Tree
        Its heights say how alike the parts of each merge are: log(w_max / w̄) for graphs and "auto", w_max − w̄ for others, w̄ the
        mean similarity across the split. It carries what cuts need.
    linkage_ : array (n − 1, 4)
        The tree as SciPy's linkage matrix.
    children_, distances_ : arrays (n − 1, 2) and (n − 1,)
        As scikit-learn's ``AgglomerativeClustering`` names them.
    labels_ : array (n,)
        Flat clusters, numbered from 0 in order of their first point; −1 for outliers if ``outliers="label"``.
    probabilities_ : array (n,)
        How firmly each point belongs to its cluster, from 0 to 1: (birth − leave) / (birth − death), with birth the height at
        which the cluster parts from the others, leave that at which the point falls out of it, or of a group inside it, death
        the lowest leave in the cluster. 1 where birth = death, 0 for points that fell out above the core of the cluster.
    outlier_scores_ : array (n,)
        How far out each point lies, from 0 to 1, in the manner of GLOSH. The default metric and neighbour graphs: 1 − r₀ / r, r
        the distance to the point's furthest neighbour in the graph, r₀ the one that the densest tenth of its cluster stays
        within; 0 where that is negative. Other metrics: (leave − death) / (top − death), with leave the height at which the
        point falls out of the condensed tree, death the lowest such height in its cluster, top the height of the tree.
        Out-of-core fits have neither of the two.
    n_leaves_, n_clusters_ : int
    cluster_number_ : ClusterNumber or None
        Where the number of clusters was found: by which rule, and which numbers came next.
    embedding_ : array (n, n_components), at least two columns after a search
        Positions in the Poincaré ball from which ``decode`` reads the tree. After a search they are placed anew: gaps between
        neighbours on the circle show the size and the height of the merge that joins them.
    cost_ : float
        Dasgupta's cost of the tree, each pair counted once.
    similarity_ : Similarity
        What was clustered.
    loss_curve_ : array
        The continuous cost at each iteration; empty without a continuous stage.
    n_iter_ : int
        Iterations of the continuous stage; without one, sweeps of the search.
    plan_ : FitPlan
        Which start, which stages, which budgets, and why; ``print(model.plan_)`` tells it in words.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Ctrl-C ends the fit, in whichever stage it is, with the best tree so far and a UserWarning; pressed again, it stops at once.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> HypHC(n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Cluster X: features (n, d), or similarities (n, n) when ``metric="precomputed"``.

        Parameters
        ----------
        X : array, frame, sparse matrix, Similarity or path
            Also AnnData, and a graph of networkx. The index of a pandas frame names the leaves of ``tree_``, as names of
            cells and nodes do, unless it only counts.
            With the default metric NaN is missing, and columns of a frame may hold text or categories: docs/missing.md.
            A path leads to rows in NPY, Parquet or Zarr. Those that need more than ``memory_limit``, and memory-mapped arrays
            that do, are fitted by parts: then ``similarity_`` is None, there is no ``plan_`` or ``linkage_``, and ``tree_``
            is on disk as long as the model is there.
        y : ignored
        sample_weight : array (n,), optional
            How many points each row stands for, all positive: 2 counts like two equal rows.

        Returns
        -------
        self

        Notes
        -----
        Nothing is left of a fit before: one that raises leaves the model unfitted.
        """
        with fresh_fit(self):
            self._check_parameters()
            if is_on_disk(X):
                source = opened(X)
                if is_too_large(source, self.memory_limit):
                    return self._fit_by_parts(source, sample_weight)
                X = source.read(0, source.shape[0])
            clock = Clock(self.time_budget, self.callback, self.verbose)
            names = row_names(X)
            X = self._checked(X, reset=True)
            n = X.n if isinstance(X, Similarity) else X.shape[0]
            self._cut().check(n)
            known = self._known(n)
            given = self.get_params(deep=False)
            with resuming(self.checkpoint, lambda: facts_of(given, X, sample_weight), clock, self.random_state) as seed:
                similarity = self._similarity(X, sample_weight, seed)
                if self.criterion == "sse" and similarity.squared_distances() is None:
                    raise ValueError(
                        f"criterion='sse' needs rows of single points; {similarity!r} has none: choose 'dasgupta'."
                    )
                with clock:
                    plan, found = self._carried_out(similarity, clock, seed, known)
            told = "" if similarity.metric is None else similarity.metric.told(similarity)
            self.plan_, self.interrupted_, self._signal_ = replace(plan, rows=told), clock.interrupted, clock.signal
            self.loss_curve_, self.n_iter_ = found.loss_curve, len(found.loss_curve) or clock.steps
            self._settle(found.tree.with_names(names), similarity, found.embedding, known)
            return self

    def _carried_out(
        self, similarity: Similarity, clock: Clock, seed: Seed, known: Known | None
    ) -> tuple[FitPlan, Fit]:
        """A tree of the similarity within what is known, and the plan by which it was found."""
        if known is None:
            plan, solve = self._unconstrained(similarity, clock, seed)
            return plan, resumed(clock, seed, solve)

        def solve_part(problem: Similarity, own: Clock) -> Tree:
            return (
                best_in_order(problem) if known.order is not None else self._unconstrained(problem, own, seed)[1]().tree
            )

        def solve_within() -> Fit:
            with part_by_part(clock, solve_part) as solved:
                return Fit(within(known, similarity, solved), None, np.empty(0))

        return replace(self._plan(similarity), within=known.words), resumed(clock, seed, solve_within)

    def _unconstrained(self, similarity: Similarity, clock: Clock, seed: Seed) -> tuple[FitPlan, Callable[[], Fit]]:
        """A plan, and how to carry it out."""
        problem = Distinct(similarity, twins(similarity) if self.refine and isinstance(self.init, str) else None)
        plan = self._plan(problem.similarity)
        return plan, lambda: carry_out(plan, problem, clock, seed, self.n_jobs)

    def _fit_by_parts(self, source: Source, sample_weight: Any) -> Self:
        """Fit rows that memory cannot hold, on threads of this process."""
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given for rows that are fitted by parts; raise memory_limit.")
        self._cut().check(source.shape[0])
        fitted = fit_from_disk(source, self.get_params(deep=False), self._cut(), default_parameters(type(self)))
        weakref.finalize(self, fitted.discard)
        self.similarity_: Any = None
        self._parts_ = fitted
        self._embedding_: Floats | None = None
        self.tree_, self.labels_, self.cost_ = fitted.tree, fitted.labels, fitted.cost
        self.n_leaves_, self.n_features_in_ = source.shape
        self.cluster_number_: ClusterNumber | None = None
        self.n_clusters_, self.interrupted_ = fitted.n_clusters, False
        self.children_, self.distances_ = self.tree_.children, self.tree_.heights
        if self._n_wanted is not None:
            warn_of_few_distinct(n_distinct(fitted.problem), self.n_clusters_)
        return self

    @classmethod
    def of_parts(cls, problem: Problem, cut: Cut) -> HypHC:
        """A model in memory of what was fitted by parts, as if it had been fitted at once."""
        recipe, similarity = problem.recipe, whole_similarity(problem)
        model = cls(
            cut.n_clusters,
            distance_threshold=cut.distance_threshold,
            metric=recipe.metric,
            scale=recipe.scale,
            criterion=cut.criterion,
            min_size=cut.min_size,
            outliers=cut.outliers,
            effort=recipe.effort,
            random_state=recipe.seed,
        )
        if recipe.metric == "auto":
            model.set_params(
                n_neighbors=recipe.n_neighbors, edge_weights=recipe.edge_weights, background=recipe.background
            )
        model.n_features_in_, model.interrupted_ = problem.source.shape[1], False
        model.plan_ = replace(plan_fit(similarity, EmbedSettings(), effort=recipe.effort), rows="fitted by parts")
        model.loss_curve_, model.n_iter_ = np.empty(0), 0
        model._settle(Tree(np.array(tree_of(problem).children)), similarity, None, is_tested=cut.n_clusters is None)
        return model

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add points to the fitted tree, one after the other, each where the cost rises least; without a tree, ``fit``.

        Parameters
        ----------
        X : array, frame, sparse matrix or Similarity
            Rows of new points. With ``metric="precomputed"``, or as a Similarity: of all points, the fitted ones first.
        y : ignored

        Returns
        -------
        self

        Notes
        -----
        Nothing else moves. ``HypHC(init=model.tree_).fit(...)`` of all points, or ``refine``, improves what many additions left.
        A neighbour graph is computed anew from all points.
        """
        if not hasattr(self, "tree_"):
            return self.fit(X)
        self._require_in_memory("partial_fit")
        similarity = self._with_new(X)
        self._check_parameters()
        self._cut().check(similarity.n)
        known = None if self.constraints is None else self.constraints.grown(similarity.n).of(similarity.n)
        names = grown_names(self.tree_, row_names(X), similarity.n)
        self._settle(insert(self.tree_, similarity).with_names(names), similarity, None, known)
        return self

    def _with_new(self, X: Any) -> Similarity:
        """Old and new points together; a similarity of all points as it is, but for the weights of the old ones."""
        old, metric = self.similarity_, metric_of(self.similarity_)
        X = self._checked(X, reset=not metric.takes_rows)
        everyone = isinstance(X, Similarity) or not metric.takes_rows
        whole = self._similarity(X) if everyone else metric.grown(old, X)
        if (whole.sizes[: old.n] == old.sizes).all():
            return whole
        return weighted(whole, np.append(old.sizes, np.ones(whole.n - old.n)))

    def predict(self, X: Any) -> Ints:
        """The flat cluster that each new point would join at its cheapest place in the tree.

        A point whose place lies above several clusters joins that of the subtree, among the largest within one cluster, to which
        it is most similar on average; none has the label −1.
        Each row is placed on its own, in O(d) time per place looked at; the tree stays as it is.

        Parameters
        ----------
        X : array, frame, sparse matrix or Similarity
            Rows like those of ``fit``. With ``metric="precomputed"``: the similarities (m, n) of new points to the fitted.
            A Similarity holds all points, the fitted ones first.

        Returns
        -------
        labels : array (m,)
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if self.similarity_ is None:
            require_finite(X, "X")
            return self._parts_.predicted(X)
        if isinstance(X, Similarity):
            return joined_clusters(self.tree_, self._clusters_.labels, X, self.n_jobs)
        rows = metric_of(self.similarity_).rows(self.similarity_, X)
        return joined_by_rows(self.tree_, self._clusters_.labels, self.similarity_, rows, self.n_jobs)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus Dasgupta's cost of new points per unit of their similarity, where the tree would have them: more is better.

        The points are inserted into the tree, each where the cost by the fitted similarity rises least, and the tree is cut down
        to them. Its cost is then measured by the default similarity of the new rows alone (``as_similarity(X)``), whatever the
        parameters of the model are, and divided by their total similarity. So scores of the same rows can be compared between
        all models, as ``GridSearchCV`` does: also between metrics, numbers of neighbours and scalings. The yardstick favours
        metrics that agree with nearest neighbours; known classes are a better judge where there are any.

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
        if not metric_of(self.similarity_).takes_rows:
            raise ValueError(f"score needs rows of features, and metric={self.metric!r} has none; take optimality_gap.")
        rows = self._checked(X, reset=False)
        return -cost_of_new(self.tree_, self._with_new(X), Auto(random_state=0).build(rows))

    def optimality_gap(self, **settings: Any) -> OptimalityGap:
        """How far the tree can be from the optimum, with a confidence interval; settings as of ``hyphc.optimality_gap``."""
        check_is_fitted(self)
        self._require_in_memory("optimality_gap")
        return optimality_gap(self.tree_, self.similarity_, **{"n_jobs": self.n_jobs, **settings})

    def _require_in_memory(self, what: str) -> None:
        if self.similarity_ is None:
            raise ValueError(f"{what} needs all rows in memory, and this model was fitted by parts from disk.")

    def _checked(self, X: Any, reset: bool) -> Any:
        """The rows as an array or CSR matrix, or a Table; a Similarity as it is."""
        X = as_given(X, self.metric, self.directed)
        if reset and isinstance(X, Similarity):
            self._require_similarity_alone()
        return X if isinstance(X, Similarity) else checked_rows(self, self._metric(), X, reset)

    def _settle(
        self,
        tree: Tree,
        similarity: Similarity,
        embedding: Floats | None,
        known: Known | None = None,
        is_tested: bool = True,
    ) -> None:
        """Set the attributes that follow from the tree; cuts of one whose splits are not tested go by heights alone."""
        fitted = with_similarity_heights(tree, similarity)
        assert fitted.cost is not None
        self.similarity_, self.cost_ = similarity, fitted.cost
        if known is not None:
            fitted = fitted.with_forced_splits(forced_splits(fitted, known))
        self.cluster_number_, fitted = self._number(similarity, fitted) if is_tested else (None, fitted)
        n_found = None if self.cluster_number_ is None else self.cluster_number_.n_clusters
        clusters = self._cut().clusters(fitted, n_found)
        self._clusters_, self.labels_, self.n_clusters_ = clusters, self._cut().labels(clusters), len(clusters.nodes)
        self.probabilities_ = probabilities(fitted, clusters, self.min_size)
        self.outlier_scores_ = outlier_scores(similarity, fitted, clusters, self.min_size)
        if self._n_wanted is not None and (known is None or known.fewest == 1):
            warn_of_few_distinct(n_told_apart(similarity, clusters.labels), self.n_clusters_)
        self.tree_ = fitted.with_n_clusters(self.n_clusters_)
        self._embedding_ = embedding
        self.linkage_, self.n_leaves_ = self.tree_.to_linkage(), self.tree_.n_leaves
        self.children_, self.distances_ = self.tree_.children, self.tree_.heights

    def _number(self, similarity: Similarity, tree: Tree) -> tuple[ClusterNumber | None, Tree]:
        """Return how many clusters are found, None where the number is given, and the tree that knows which splits are."""
        is_given = self._n_wanted is not None or self.distance_threshold is not None
        if is_given and self.criterion != CONDENSED:
            return None, tree
        number = number_of_clusters(similarity, tree, self.min_size)
        if self.criterion == CONDENSED:
            turns = np.zeros(tree.n_leaves - 1, dtype=np.int64)
            turns[number.splits] = np.arange(1, len(number.splits) + 1)
            tree = tree.with_found_splits(turns)
        return None if is_given else number, tree

    @property
    def embedding_(self) -> Floats:
        """Positions that decode to the tree: those learned, or else made for it when first asked for."""
        if not hasattr(self, "tree_"):
            raise AttributeError("This HypHC is not fitted yet and has no embedding_; call fit first.")
        if self._embedding_ is None:
            self._embedding_ = placed(self.tree_, self.n_components)
        return self._embedding_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        metric = self._metric()
        tags.input_tags.pairwise = tags.input_tags.positive_only = not metric.takes_rows
        tags.input_tags.sparse, tags.input_tags.allow_nan = metric.takes_sparse, metric.takes_missing
        return tags
