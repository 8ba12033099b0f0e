"""Methods that take points and Euclidean distances: Genie, HDBSCAN's tree, scikit-learn's bisection.

Each takes features and works on their rows; HDBSCAN and Genie, which take any distances, also w_max − w of a matrix or graph.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from hyphc import Tree
from hyphc.similarity import Features, Similarity

Floats = npt.NDArray[np.float64]


def genie(similarity: Similarity) -> Tree:
    """Genie (Gagolewski et al. 2016), by genieclust with its default threshold 0.3; merges in the order it makes them."""
    import genieclust

    model = genieclust.Genie(n_clusters=1)
    if isinstance(similarity, Features):
        model.fit(_rows(similarity))
    else:
        model = genieclust.Genie(n_clusters=1, metric="precomputed")
        model.fit(_condensed(similarity))
    return Tree(_complete_merges(np.asarray(model.children_), similarity.n))


def genie_clusters(rows: Floats, k: int) -> npt.NDArray[np.int64]:
    """Genie's partition into k clusters."""
    import genieclust

    return np.asarray(genieclust.Genie(n_clusters=k).fit_predict(rows), dtype=np.int64)


def hdbscan_tree(similarity: Similarity) -> Tree:
    """HDBSCAN's single linkage tree of mutual reachability distances, with its default min_cluster_size=5."""
    import hdbscan

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls scikit-learn by names that are deprecated
        if isinstance(similarity, Features):
            model = hdbscan.HDBSCAN().fit(_rows(similarity))
        else:
            distances = np.maximum(similarity.maximum() - similarity.to_dense(), 0.0)
            np.fill_diagonal(distances, 0.0)
            model = hdbscan.HDBSCAN(metric="precomputed").fit(distances)
    return Tree.from_linkage(model.single_linkage_tree_.to_numpy())


def sklearn_bisecting(similarity: Similarity, seed: int = 0) -> Tree:
    """scikit-learn's BisectingKMeans down to the different rows; equal rows are joined first.

    Down there every cluster gets split, whatever the order. By size, and not by inertia as is the default: rounding can give
    a single row the largest inertia of all, and then it fails.
    """
    from sklearn.cluster import BisectingKMeans
    from sklearn.exceptions import ConvergenceWarning

    rows, same = np.unique(_rows(similarity), axis=0, return_inverse=True)
    model = BisectingKMeans(len(rows), bisecting_strategy="largest_cluster", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(rows)
    leaf_of_label = np.empty(len(rows), dtype=np.int64)
    leaf_of_label[labels] = np.arange(len(rows))
    return _expanded(_nested(model._bisecting_tree, leaf_of_label), same.ravel())


def _rows(similarity: Similarity) -> Floats:
    if not isinstance(similarity, Features):
        raise ValueError(f"This method takes rows of features; got {similarity!r}.")
    return np.ascontiguousarray(similarity.X, dtype=np.float64)


def _condensed(similarity: Similarity) -> Floats:
    i, j = np.triu_indices(similarity.n, 1)
    return np.maximum(similarity.maximum() - similarity.to_dense()[i, j], 0.0)


def _complete_merges(children: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    if children.shape != (n - 1, 2):
        raise ValueError(f"The package returned merges of shape {children.shape} for {n} points.")
    return children


def _nested(root: object, leaf_of_label: npt.NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Merges of scikit-learn's tree, a list of (left, right) over its leaves; children before parents, without recursion."""
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        if node.left is not None:
            stack += [node.left, node.right]
    merges: list[tuple[int, ...]] = []
    number: dict[int, int] = {}
    for node in reversed(order):
        if node.left is None:
            number[id(node)] = int(leaf_of_label[node.label])
        else:
            merges.append((number[id(node.left)], number[id(node.right)]))
            number[id(node)] = len(leaf_of_label) + len(merges) - 1
    return merges


def _expanded(merges: list[tuple[int, ...]], group: npt.NDArray[np.int64]) -> Tree:
    """The tree over all points, given one over groups of equal points."""
    n, n_groups = len(group), int(group.max()) + 1
    children: list[tuple[int, int]] = []
    node = np.full(2 * n_groups - 1, -1)
    for point, g in enumerate(group):
        if node[g] < 0:
            node[g] = point
        else:
            children.append((int(node[g]), point))
            node[g] = n + len(children) - 1
    for t, (left, right) in enumerate(merges):
        children.append((int(node[left]), int(node[right])))
        node[n_groups + t] = n + len(children) - 1
    return Tree(np.array(children).reshape(-1, 2))
