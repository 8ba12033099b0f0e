"""``HypHC``: the pipeline behind scikit-learn's interface."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from . import baselines
from .embed import TEMPERATURE, EmbedProgress, EmbedResult, embed
from .encode import encode_by_height
from .metrics import dasgupta_cost, with_similarity_heights
from .search import Progress, refine
from .similarity import Features, Metric, Similarity, as_similarity
from .tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Callback = Callable[[EmbedProgress | Progress], Any]

# With a search to follow, the continuous stage gets this many triplets (about a second) and this share of a time budget.
TRIPLETS_BEFORE_SEARCH = 200_000_000
EMBED_SHARE = 0.2
# Above this many points so few triplets teach little: the search starts from bisecting k-means instead.
EMBED_UP_TO = 50_000
# Up to this many points average linkage takes a moment, and the result is never worse than it.
LINKAGE_UP_TO = 2_000


class HypHC(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Hierarchical clustering that minimises Dasgupta's cost through hyperbolic embeddings.

    Leaves are embedded in the Poincaré disk, a differentiable version of the cost is minimised by gradient descent, the
    best tree decoded on the way is kept, and a tree search (prune and regraft with branch and bound) lowers its cost further.

    Parameters
    ----------
    n_clusters : int, optional
        Number of flat clusters in ``labels_``.
    distance_threshold : float, optional
        Instead of ``n_clusters``: merges at or above this height are undone, as in scikit-learn's agglomerative clustering.
        With neither, the tree is cut at the widest gap between successive heights that leaves 2 to √n clusters.
    metric : {"cosine", "linear", "rbf", "euclidean", "precomputed"} or callable
        As in ``as_similarity``. "precomputed" means that X holds SIMILARITIES, dense or sparse: large is alike. Distances there
        would turn the tree inside out; convert them with ``hyphc.similarity.similarity_from_distances``.
    n_neighbors : int, optional
        Cluster a graph of so many nearest neighbours ("euclidean" or "cosine") instead of all pairs.
    edge_weights : {"fuzzy", "self-tuned", "shared", "binary"}
        Weights of that graph.
    init, n_init, n_components, temperature, max_iter, block_size, max_triplets, spread_penalty
        As in ``embed``.
    refine : bool
        Whether the tree search of ``refine`` follows the continuous optimisation, which is then kept short. False is the
        paper's method, the continuous optimisation alone.
    time_budget : float, optional
        Seconds after which the fit stops with the best tree so far: the one setting by which a seeded result may vary.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads; −1 is all cores. The result does not depend on it.
    verbose : int
        1 shows a progress bar.
    callback : callable, optional
        Called with an ``EmbedProgress`` after each iteration of the continuous stage and with a search ``Progress`` after each
        step of the search (both have ``best_cost``); returning True ends the fit with the best tree so far.

    Attributes
    ----------
    tree_ : Tree
        Heights are w_max − (mean similarity across the split), made non-decreasing from the leaves up.
    linkage_ : array (n − 1, 4)
        The tree as SciPy's linkage matrix.
    children_, distances_ : arrays (n − 1, 2) and (n − 1,)
        As scikit-learn's ``AgglomerativeClustering`` names them.
    labels_ : array (n,)
        Flat clusters, numbered from 0 in order of their first point.
    n_leaves_, n_clusters_ : int
    embedding_ : array (n, n_components), at least two columns after a search
        Positions in the Poincaré ball from which ``decode`` reads the tree. After a search they are placed anew: gaps between
        neighbours on the circle show the size and the height of the merge that joins them.
    cost_ : float
        Dasgupta's cost of the tree, each pair counted once.
    loss_curve_ : array (n_iter_,)
        The continuous cost at each iteration.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> HypHC(n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance_threshold: float | None = None,
        metric: Metric = "cosine",
        n_neighbors: int | None = None,
        edge_weights: str = "fuzzy",
        init: str | npt.ArrayLike | Tree = "auto",
        n_init: int = 1,
        n_components: int = 2,
        temperature: float | tuple[float, float] = TEMPERATURE,
        max_iter: int | None = None,
        block_size: int = 256,
        max_triplets: int | None = None,
        spread_penalty: float = 0.0,
        refine: bool = True,
        time_budget: float | None = None,
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
        self.init = init
        self.n_init = n_init
        self.n_components = n_components
        self.temperature = temperature
        self.max_iter = max_iter
        self.block_size = block_size
        self.max_triplets = max_triplets
        self.spread_penalty = spread_penalty
        self.refine = refine
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster X: features (n, d), or similarities (n, n) when ``metric="precomputed"``.

        Parameters
        ----------
        X : array, frame or sparse matrix
        y : ignored

        Returns
        -------
        self
        """
        if self.n_clusters is not None and self.distance_threshold is not None:
            raise ValueError("Give n_clusters or distance_threshold, not both.")
        clock = _Clock(self.time_budget, self.callback)
        similarity = self._similarity(X)
        result = self._embed(similarity, clock)
        tree, self.embedding_ = result.tree, result.embedding
        if self.refine and not clock.stopped:
            tree = self._refine(_cheapest_start(tree, similarity), similarity, clock)
        self.tree_ = with_similarity_heights(tree, similarity)
        if tree is not result.tree:
            self.embedding_ = _placed(self.tree_, self.n_components)
        self.cost_ = dasgupta_cost(tree, similarity)
        self.loss_curve_, self.n_iter_ = result.loss_curve, result.n_iter
        self.linkage_, self.n_leaves_ = self.tree_.to_linkage(), self.tree_.n_leaves
        self.children_, self.distances_ = self.tree_.children, self.tree_.heights
        self.labels_ = self._flat_clusters(self.tree_)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def _embed(self, similarity: Similarity, clock: _Clock) -> EmbedResult:
        max_triplets, max_iter = self.max_triplets, self.max_iter
        if self.refine and max_triplets is None:
            max_triplets = TRIPLETS_BEFORE_SEARCH
        if self.refine and max_iter is None and similarity.n > EMBED_UP_TO:
            max_iter = 0
        return embed(
            similarity,
            init=self.init,
            n_init=self.n_init,
            n_components=self.n_components,
            temperature=self.temperature,
            max_iter=max_iter,
            block_size=self.block_size,
            max_triplets=max_triplets,
            spread_penalty=self.spread_penalty,
            callback=clock.at_share(EMBED_SHARE if self.refine else 1.0),
            verbose=self.verbose,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _refine(self, tree: Tree, similarity: Similarity, clock: _Clock) -> Tree:
        def report(progress: Progress) -> Any:
            if self.verbose:
                print(f"{progress.stage:<12} cost {progress.cost:.8g} after {progress.seconds:.1f} s", file=sys.stderr)
            return clock.tell(progress)

        return refine(
            tree,
            similarity,
            time_budget=clock.left(),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            callback=report,
        )

    def _similarity(self, X: Any) -> Similarity:
        if isinstance(X, Similarity):
            return X
        takes_sparse = self.metric == "precomputed" or self.n_neighbors is not None
        # 64-bit indices are not told apart here: as_similarity converts them
        X = validate_data(self, X, accept_sparse=takes_sparse, dtype=[np.float64, np.float32], accept_large_sparse=True)
        if self.metric == "precomputed" and not sp.issparse(X) and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"metric='precomputed' takes a square matrix of similarities; X has shape {X.shape}. Pass metric='cosine' "
                "for features."
            )
        return as_similarity(
            X,
            self.metric,
            n_neighbors=self.n_neighbors,
            edge_weights=self.edge_weights,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _flat_clusters(self, tree: Tree) -> Ints:
        if self.n_clusters is not None:
            return tree.cut(n_clusters=self.n_clusters)
        if self.distance_threshold is not None:
            return tree.cut(height=np.nextafter(self.distance_threshold, -np.inf))
        return tree.cut(n_clusters=automatic_n_clusters(tree))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric == "precomputed" or self.n_neighbors is not None
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags


def automatic_n_clusters(tree: Tree) -> int:
    """Where the heights jump most: the number of clusters, from 2 to √n, below the widest gap between successive merges.

    1 when no two of these heights differ.
    """
    n = tree.n_leaves
    most = min(n, max(2, int(np.sqrt(n))))
    top = np.concatenate([[0.0], tree.heights])[::-1][:most]  # heights of the last merges; leaves stand at 0
    gaps = top[:-1] - top[1:]
    return int(gaps.argmax()) + 2 if len(gaps) and gaps.max() > 0 else 1


def _cheapest_start(tree: Tree, similarity: Similarity) -> Tree:
    """The tree, or one that costs less and takes little time: average linkage of few points, bisecting k-means of many."""
    if similarity.n <= LINKAGE_UP_TO:
        other = baselines.average_linkage(similarity)
    elif similarity.n > EMBED_UP_TO and isinstance(similarity, Features):
        other = baselines.bisecting_kmeans(similarity)
    else:
        return tree
    return min((tree, other), key=lambda candidate: dasgupta_cost(candidate, similarity))


def _placed(tree: Tree, n_components: int) -> Floats:
    """Positions that decode to the tree; coordinates beyond the disk's two are 0."""
    return np.pad(encode_by_height(tree), ((0, 0), (0, max(0, n_components - 2))))


class _Clock:
    """How much of the time budget is left, and whether the caller's callback has said that it is enough."""

    def __init__(self, time_budget: float | None, callback: Callback | None) -> None:
        if time_budget is not None and not time_budget > 0:
            raise ValueError(f"time_budget={time_budget} must be a positive number of seconds.")
        self._budget, self._begin, self._callback = time_budget, time.monotonic(), callback
        self.stopped = False

    def left(self) -> float | None:
        """Seconds left, at least 0; None without a budget."""
        return None if self._budget is None else max(0.0, self._begin + self._budget - time.monotonic())

    def tell(self, progress: EmbedProgress | Progress) -> bool:
        """Pass the news on; True once the caller wants to stop."""
        if self._callback is not None:
            self.stopped |= self._callback(progress) is True
        return self.stopped

    def at_share(self, share: float) -> Callable[[EmbedProgress], bool] | None:
        """A callback for a stage that may spend this share of the budget."""
        if self._budget is None and self._callback is None:
            return None
        deadline = np.inf if self._budget is None else self._begin + share * self._budget
        return lambda progress: self.tell(progress) or time.monotonic() >= deadline
