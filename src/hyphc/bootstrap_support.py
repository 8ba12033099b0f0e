"""Bootstrap support of the splits of a tree: bootstrap proportion and transfer bootstrap expectation.

Columns and edges are drawn with replacement, rows without. Points of a sample are in random order, so that ties, which a fit
breaks by order, are broken at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from ._runtime.arrays import Floats, Ints
from ._runtime.parallel import thread_map
from ._runtime.progress import Callback
from ._runtime.run_control import Clock
from ._runtime.validation import require_choice
from .estimator import HypHC
from .fit.run import solve
from .similarity import Similarity
from .similarity.blend import Blend
from .similarity.graph import Graph
from .tree import Tree, TreeLike, as_tree
from .tree.transfer_distance import in_other, restricted, transfer_agreement

__all__ = ["Support", "support"]

Resample = Literal["columns", "rows", "edges"]
Draw = tuple[Any, Ints]  # resampled rows or similarity, and the original number of each of its points
Drawing = Callable[..., Draw]

CONFIDENCE = 0.95
ROW_SHARE = 0.8
_WORDS = {
    "columns": "columns drawn with replacement",
    "rows": "rows drawn without replacement",
    "edges": "edges drawn with replacement",
}


@dataclass(frozen=True, eq=False, repr=False)
class Support:
    """The result of ``support``; arrays (n − 1,) are in the order of the tree's merges.

    Attributes
    ----------
    tree : Tree
        The tree whose clusters were looked for.
    share : array (n − 1,)
        The share of refits that have the cluster, leaf for leaf.
    transfer : array (n − 1,)
        The mean over refits of 1 − δ / min(|A| − 1, n − |A|), δ the leaves that must be moved to make a cluster of the refit
        the cluster A. At least ``share``; much more informative for large clusters, in which single leaves often move.
    n_refits : array (n − 1,)
        Refits with two or more leaves of the cluster and one other. Where there were none, ``share`` and ``transfer`` are NaN.
    resample : {"columns", "rows", "edges"}
    n_resamples : int
        Refits that were done: fewer than were asked for after an interrupt or a time budget.
    interrupted : bool
        Whether Ctrl-C ended it.
    trees : tuple of Tree
        The refits, if they were kept: for ``hyphc.consensus``.
    """

    tree: Tree
    share: Floats
    transfer: Floats
    n_refits: Ints
    resample: Resample
    n_resamples: int
    interrupted: bool = False
    trees: tuple[Tree, ...] = field(default=())

    def interval(self, which: Literal["share", "transfer"] = "share", confidence: float = CONFIDENCE) -> Floats:
        """Return Wilson's score interval of each share, or of each mean transfer, (n − 1, 2).

        With z the normal quantile, N refits, mean p: (p + z²/2N ± z·√(p(1 − p)/N + z²/4N²)) / (1 + z²/N). For transfer that is
        too wide rather than too narrow: no variable between 0 and 1 varies more than one that is only ever 0 or 1.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence} must lie between 0 and 1; 0.95 is usual.")
        z, p = float(ndtri(0.5 + confidence / 2)), getattr(self, which)
        n = np.maximum(self.n_refits, 1)
        middle, reach = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        ends = np.column_stack([middle - reach, middle + reach]) / (1 + z**2 / n)[:, None]
        return np.asarray(np.clip(ends, 0.0, 1.0))

    def of_nodes(self, nodes: npt.ArrayLike) -> Floats:
        """Return the transfer support of nodes of the tree, as of ``Tree.clusters``; leaves have 1."""
        return np.asarray(np.append(np.ones(self.tree.n_leaves), self.transfer)[np.asarray(nodes)])

    def n_stable(self, nodes: npt.ArrayLike, threshold: float = 0.8) -> int:
        """Return how many of these nodes of the tree have at least so much transfer support."""
        return int((self.of_nodes(nodes) >= threshold).sum())

    def __repr__(self) -> str:
        inner = slice(0, max(0, len(self.share) - 1))  # without the root
        known = ~np.isnan(self.share[inner])
        often, near = ((values[inner][known] >= CONFIDENCE).sum() for values in (self.share, self.transfer))
        return (
            f"{self.n_resamples} refits, {_WORDS[self.resample]}: of {int(known.sum())} clusters {often} are in "
            f"{CONFIDENCE:.0%} of them, and {near} have a transfer support of {CONFIDENCE}"
        )


class _Refit(NamedTuple):
    """Whether a refit has each cluster of the tree, and transfer agreements, (n − 1,), NaN where undefined; the refit if kept."""

    found: Floats
    agreement: Floats
    tree: Tree | None


def support(
    tree: TreeLike,
    X: Any,
    *,
    resample: Resample = "columns",
    n_resamples: int = 100,
    row_share: float = ROW_SHARE,
    keep_trees: bool = False,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    time_budget: float | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    **parameters: Any,
) -> Support:
    """Return the support of each cluster of a tree: resample the data, refit, and measure how often each cluster recurs.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
        Usually ``model.tree_``; any tree of the rows will do.
    X : array, frame, sparse matrix or Similarity
        What ``HypHC(**parameters).fit`` takes.
    resample : {"columns", "rows", "edges"}
        - "columns": as many columns as there are, with replacement; for many similar features, such as genes. Clusters that
          depend on a few columns are not in most of these samples.
        - "rows": a share of the rows, without replacement; the tree is cut down to them.
        - "edges": of a graph, or of the graph that the default metric makes, as many edges as there are, with replacement.
    n_resamples : int
    row_share : float
        Of "rows": the share of them that is drawn.
    keep_trees : bool
        Whether ``trees`` of the result holds the refits, for ``hyphc.consensus``; not with "rows", whose trees have fewer leaves.
    sample_weight : array (n,), optional
        As of ``HypHC.fit``: how many points each row stands for.
    random_state : int, RandomState or None
        The result depends on the seed and not on ``n_jobs``.
    n_jobs : int or None
        Refits at the same time (None is 1, −1 is all cores).
    time_budget : float, optional
        Seconds after which no further refit starts, and unfinished ones are discarded.
    verbose, callback
        As in ``HypHC``; called after each refit.
    **parameters
        Of ``HypHC``: those of the fit that made the tree.

    Returns
    -------
    Support

    Notes
    -----
    Refits start from scratch, because a short search from the tree would stay near it. docs/notes/support.md reports how well
    support separates real clusters from chance. Comparing a refit takes O(n log³ n), less than its fit. Ctrl-C ends with
    the refits done until then.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(12, 30)) + np.repeat([[0.0], [4.0]], 6, axis=0)
    >>> model = HypHC(n_clusters=2, random_state=0).fit(X)
    >>> found = support(model.tree_, X, n_resamples=20, random_state=0)
    >>> found.n_stable(model.tree_.clusters(2))
    2
    """
    tree = as_tree(tree)
    model = HypHC(**{**parameters, "n_jobs": 1})
    data, weights = _data(resample, X, model, sample_weight)
    _check(tree, data, n_resamples, row_share)
    ways: dict[str, Drawing] = {"columns": draw_columns, "edges": draw_edges}
    ways["rows"] = partial(draw_rows, share=row_share)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_resamples).tolist()
    with Clock(time_budget, callback, verbose, on_interrupt="support is of the refits done until then") as clock:

        def refit(number: int) -> _Refit | None:
            if clock.should_stop():
                return None
            made = _refit(model, ways[resample], data, weights, seeds[number], clock)
            if clock.should_stop():
                return None
            clock.report(f"refit {number + 1} of {n_resamples}", np.nan, lambda: made[0], (number + 1) / n_resamples)
            return _compare(tree, *made, keep_trees and resample != "rows")

        refits = thread_map(refit, range(n_resamples), n_jobs, clock.stop)
    return _summarize(tree, [one for one in refits if one is not None], resample, clock.interrupted)


def _data(resample: Resample, X: Any, model: HypHC, sample_weight: npt.ArrayLike | None) -> tuple[Any, Floats | None]:
    """Return the rows or the similarity to resample, and weights of rows; raise if they cannot be resampled in this way."""
    require_choice("resample", resample, _WORDS)
    data = model._validate_rows(X, reset=True)
    if isinstance(data, Similarity) or not model._make_metric().takes_rows or resample == "edges":
        data, sample_weight = model._compute_similarity(data, sample_weight), None
    if resample == "columns" and isinstance(data, Similarity):
        raise ValueError("resample='columns' draws features, and X holds similarities: choose 'rows', or 'edges'.")
    if resample == "edges" and not isinstance(data, Graph | Blend):
        raise ValueError("resample='edges' needs a graph, and all pairs of X are similar: choose 'columns' or 'rows'.")
    if sample_weight is None:
        return data, None
    weights = np.asarray(_check_sample_weight(sample_weight, data, dtype=np.float64))
    wrong = np.flatnonzero(~(weights > 0))
    if len(wrong):
        raise ValueError(f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}; leave out points of weight 0.")
    return data, weights


def _check(tree: Tree, data: Any, n_resamples: int, row_share: float) -> None:
    if tree.n_leaves != data.shape[0]:
        raise ValueError(
            f"The tree has {tree.n_leaves} leaves and X {data.shape[0]} points; give the X that the tree was made from."
        )
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, Integral) or n_resamples < 1:
        raise ValueError(f"n_resamples={n_resamples!r} must be a whole number of at least 1; 100 is usual.")
    if not isinstance(row_share, Real) or not 0 < row_share < 1:
        raise ValueError(f"row_share={row_share!r} must lie between 0 and 1; 0.8 is usual.")


def _refit(
    model: HypHC, draw: Drawing, data: Any, weights: Floats | None, seed: int, clock: Clock
) -> tuple[Tree, Ints]:
    """Return the tree of a sample, and the original number of each of its leaves."""
    drawn, points = draw(data, rng=np.random.default_rng(seed))
    own = HypHC(**{**model.get_params(), "random_state": seed})
    known = None
    if own.constraints is not None:
        known = own.constraints.restrict(points, data.shape[0]).resolve(len(points))
    similarity = own._compute_similarity(drawn, None if weights is None else weights[points])
    _, found = solve(own._make_settings(), similarity, clock.for_subproblem(), seed, known)
    return found.tree, points


def _compare(tree: Tree, refit: Tree, points: Ints, keep: bool) -> _Refit:
    n, m = tree.n_leaves, len(points)
    few, nodes = restricted(tree, points)
    merges = nodes[n:] - m  # below 0: one leaf or none is left
    is_defined = (merges >= 0) & (merges < m - 2)
    found, agreement = np.full((2, n - 1), np.nan)
    found[is_defined] = in_other(few, refit)[merges[is_defined]]
    agreement[is_defined] = transfer_agreement(few, refit)[merges[is_defined]]
    return _Refit(found, agreement, refit.with_leaves_numbered(points) if keep else None)


def _summarize(tree: Tree, refits: list[_Refit], resample: Resample, interrupted: bool) -> Support:
    shape = (len(refits), tree.n_leaves - 1)
    found, agreement = (np.reshape([getattr(one, name) for one in refits], shape) for name in ("found", "agreement"))
    n_refits = (~np.isnan(found)).sum(axis=0)
    n_refits[-1:] = len(refits)
    with np.errstate(invalid="ignore"):
        share, transfer = (np.nansum(values, axis=0) / n_refits for values in (found, agreement))
    share[-1:] = transfer[-1:] = 1.0  # every tree has the root
    trees = tuple(one.tree for one in refits if one.tree is not None)
    return Support(tree, share, transfer, n_refits, resample, len(refits), interrupted, trees)


def draw_columns(X: Any, rng: np.random.Generator) -> Draw:
    """Return d columns drawn with replacement (Felsenstein's bootstrap)."""
    n, d = X.shape
    points, columns = rng.permutation(n), rng.integers(d, size=d)
    return X[points][:, columns], points


def draw_rows(data: Any, rng: np.random.Generator, share: float) -> Draw:
    """Return a share of the points of rows or a similarity, without replacement; at least two."""
    n = data.shape[0]
    points = rng.permutation(n)[: max(min(2, n), round(share * n))]
    return data.subset(points) if isinstance(data, Similarity) else data[points], points


def draw_edges(similarity: Graph | Blend, rng: np.random.Generator) -> Draw:
    """Return as many edges of the graph as it has, drawn with replacement; one drawn twice has twice its weight."""
    graph, points = similarity.local_part, rng.permutation(similarity.n)
    assert isinstance(graph, Graph)
    i, j, weights = graph.edges()
    times = np.bincount(rng.integers(len(weights), size=len(weights)), minlength=len(weights)) if len(weights) else i
    upper = sp.csr_array((weights * times, (i, j)), shape=(graph.n, graph.n))
    drawn = Graph(upper + upper.T, sizes=graph.sizes)
    resampled = Blend(drawn, similarity.background) if isinstance(similarity, Blend) else drawn
    return resampled.subset(points), points
