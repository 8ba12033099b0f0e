"""Heights of graph and blend trees: readable, monotone, of no unit, and good for a threshold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity
from hyphc.baselines import graph_agglomeration
from hyphc.scores.heights import with_similarity_heights, with_split_weights
from hyphc.similarity import Background, Blend, Graph, Similarity
from hyphc.tree.condense import is_split
from hyphc.tree.criteria import node_scores
from hyphc.tree.prunings import labels_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

import oracles
from strategies import random_tree, weight_matrix

MOONS = make_moons(150, noise=0.05, random_state=0)[0]
DIGITS = load_digits().data[:300]


def similarity_of(kind: str, n: int, seed: int) -> Similarity:
    graph = Graph(sp.csr_array(weight_matrix(n, seed, "zeros")))
    if kind == "graph":
        return graph
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return Blend(graph, Background(X, slope=0.01))


def heights_by_definition(tree: Tree, similarity: Similarity) -> list[float]:
    """log(w_max / w̄) of each merge, w̄ the mean across; splits are raised to splits, others capped by splits."""
    W, n, sets = similarity.to_dense(), tree.n_leaves, oracles.leaf_sets(tree)
    largest = W.max(initial=0.0)
    if isinstance(similarity, Blend):  # counted from the furthest pair there can be: twice as far out as any point
        background = similarity.background
        radius = np.linalg.norm(background.X - background.X.mean(axis=0), axis=1).max()
        squared = ((background.X[:, None] - background.X[None]) ** 2).sum(axis=2)
        seen = background.slope * ((2 * radius) ** 2 - squared)
        W = similarity.graph.to_dense() + np.where(seen > 1e-12 * seen.max(), seen, 0.0)  # but for rounding
        largest = similarity.graph.maximum() + background.slope * (2 * radius) ** 2
    means = [W[np.ix_(sorted(sets[a]), sorted(sets[b]))].mean() for a, b in tree.children.tolist()]
    own = [np.log(largest / w) if w > 0 else np.nan for w in means]
    above = max([h for h in own if not np.isnan(h)], default=0.0) + 1
    own = [max(above if np.isnan(h) else h, 0.0) for h in own]
    is_group = is_split(with_split_weights(tree, similarity), None)
    raised = []
    for t in range(n - 1):
        groups = [sets[n + u] for u in range(t + 1) if is_group[u] and sets[n + u] <= sets[n + t]]
        hidden = [any(sets[n + u] <= group for group in groups) for u in range(t + 1)]
        seen = [u for u in range(t + 1) if sets[n + u] <= sets[n + t] and (is_group[u] or not hidden[u])]
        raised.append(max(own[u] for u in seen))
    above_it = [[u for u in range(n - 1) if is_group[u] and sets[n + u] >= sets[n + t]] for t in range(n - 1)]
    return [min([raised[t], *(raised[u] for u in above_it[t])]) for t in range(n - 1)]


@given(st.sampled_from(["graph", "blend"]), st.integers(2, 12), st.integers(0, 2**31))
@settings(max_examples=50)
def test_heights_are_logarithms_of_the_mean_similarity_across(kind, n, seed):
    similarity, tree = similarity_of(kind, n, seed), random_tree(n, seed)
    made = with_similarity_heights(tree, similarity)
    assert_allclose(made.heights, np.sort(heights_by_definition(tree, similarity)), rtol=1e-9, atol=1e-9)
    assert made == tree


@given(st.sampled_from(["graph", "blend"]), st.integers(1, 12), st.integers(0, 2**31))
@settings(max_examples=50)
def test_heights_are_finite_and_no_parent_lies_below_a_child(kind, n, seed):
    made = with_similarity_heights(random_tree(n, seed), similarity_of(kind, n, seed))
    assert np.isfinite(made.heights).all()
    assert (made.heights >= 0).all()
    heights = np.concatenate([np.zeros(n), made.heights])
    assert (heights[n:, None] >= heights[made.children]).all()


@given(st.sampled_from(["graph", "blend"]), st.integers(2, 12), st.integers(0, 2**31), st.floats(1e-6, 1e6))
@settings(max_examples=50)
def test_all_weights_times_a_number_change_no_height(kind, n, seed, factor):
    similarity, tree = similarity_of(kind, n, seed), random_tree(n, seed)
    graph = similarity if kind == "graph" else similarity.graph
    scaled = Graph(factor * graph.to_csr())
    if kind == "blend":
        scaled = Blend(scaled, Background(similarity.background.X, slope=factor * similarity.background.slope))
    heights = [with_similarity_heights(tree, w).heights for w in (similarity, scaled)]
    assert_allclose(heights[0], heights[1], rtol=1e-9, atol=1e-9)


def test_an_outlier_does_not_hide_the_order_in_which_groups_part():
    """Two pairs of groups; one point is then unlike all others, and stays where it is in the tree."""
    pairs = np.where(np.equal.outer([0, 0, 1, 1], [0, 0, 1, 1]), 0.1, 0.01) + 0.9 * np.eye(4)
    W = np.kron(pairs, np.ones((9, 9))) * (1 - np.eye(36))
    tree = HypHC(metric="precomputed", random_state=0).fit(sp.csr_array(W)).tree_
    W[0] = W[:, 0] = 1e-9 * (W[0] > 0.5)
    alone = with_similarity_heights(tree, Graph(sp.csr_array(W)))
    assert alone == tree
    assert adjusted_rand_score(alone.cut(2, criterion="condensed"), np.repeat([0, 1], 18)) == 1.0
    assert adjusted_rand_score(alone.cut(4, criterion="condensed"), np.repeat(range(4), 9)) == 1.0
    assert alone.heights[-1] < np.log(1 / 1e-9)


def test_heights_of_neighbour_graphs_and_blends_spread():
    graph = as_similarity(DIGITS, "euclidean", n_neighbors=15)
    trees = [graph_agglomeration(graph), *(HypHC(random_state=0, background=b).fit(DIGITS).tree_ for b in (0, 0.003))]
    for heights in (tree.heights for tree in trees):
        low, middle, high = np.quantile(heights, [0.1, 0.5, 0.9])
        assert low < 0.8 * middle < 0.64 * high
        assert (np.abs(heights[:, None] - heights) < 0.01 * heights[-1]).mean() < 0.25


def parts(n_parts: int, size: int = 12) -> Graph:
    blocks = [weight_matrix(size, seed, "real") for seed in range(n_parts)]
    return Graph(sp.block_diag(blocks, format="csr"))


@pytest.mark.parametrize("n_parts", [2, 5])
def test_components_of_a_graph_are_joined_one_unit_above_all_else(n_parts):
    tree = graph_agglomeration(parts(n_parts))
    inside, joining = tree.heights[: -n_parts + 1], tree.heights[-n_parts + 1 :]
    assert_allclose(joining, inside.max() + 1)
    assert adjusted_rand_score(tree.cut(height=inside.max()), np.repeat(np.arange(n_parts), 12)) == 1.0


def test_a_graph_without_edges_still_has_heights():
    tree = with_similarity_heights(random_tree(6, 0), Graph(sp.csr_array((6, 6))))
    assert_allclose(tree.heights, 1.0)


def test_components_of_a_blend_are_joined_by_distance():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) + np.array([c, 0.0]) for c in (0.0, 100.0, 1000.0)])
    tree = HypHC(random_state=0, scale=False).fit(X).tree_
    assert adjusted_rand_score(tree.cut(3, criterion="height"), np.repeat([0, 1, 2], 40)) == 1.0
    assert adjusted_rand_score(tree.cut(2, criterion="height"), np.repeat([0, 0, 1], 40)) == 1.0
    assert tree.heights[-1] > tree.heights[-2] > tree.heights[-3] + 1


def test_copies_of_a_row_meet_at_the_bottom():
    X = np.repeat(MOONS[:50], 2, axis=0)
    tree = HypHC(random_state=0).fit(X).tree_
    assert_allclose(tree.heights[:50], 0.0, atol=1e-9)
    assert adjusted_rand_score(tree.cut(50, criterion="height"), np.repeat(np.arange(50), 2)) == 1.0


# --- thresholds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X", [MOONS, make_blobs(120, centers=4, random_state=1)[0], np.round(MOONS, 1)], ids=["moons", "blobs", "copies"]
)
def test_a_threshold_cuts_as_scipy_does(X):
    model = HypHC(random_state=0).fit(X)
    Z = model.linkage_
    assert is_valid_linkage(Z)
    assert is_monotonic(Z)
    heights = np.unique(Z[:, 2])
    for threshold in [
        0.0,
        heights[0],
        *np.quantile(heights, [0.2, 0.5, 0.9]),
        heights[-2],
        heights[-1],
        heights[-1] * 2,
    ]:
        kept = fcluster(Z, threshold, criterion="distance")
        assert adjusted_rand_score(model.tree_.cut(height=threshold), kept) == 1.0
        cut = model.tree_.cut(height=np.nextafter(threshold, -np.inf))
        assert cut.max() + 1 == (Z[:, 2] >= threshold).sum() + 1


def test_the_estimator_undoes_merges_at_or_above_its_threshold():
    heights = HypHC(random_state=0).fit(MOONS).tree_.heights
    for threshold in (heights[-1], heights[-1] + 1e-9, (heights[-3] + heights[-2]) / 2, heights[100]):
        model = HypHC(distance_threshold=threshold, random_state=0).fit(MOONS)
        assert model.n_clusters_ == (heights >= threshold).sum() + 1
        expected = fcluster(model.linkage_, np.nextafter(threshold, -np.inf), criterion="distance")
        assert adjusted_rand_score(model.labels_, expected) == 1.0


def test_distances_are_the_heights_of_the_linkage():
    model = HypHC(random_state=0).fit(MOONS)
    assert_array_equal(model.distances_, model.linkage_[:, 2])
    assert_array_equal(model.distances_, model.tree_.heights)


# --- what trees carry ------------------------------------------------------------------------------------------------


def test_a_tree_of_a_blend_carries_the_weights_of_its_graph():
    blend = as_similarity(MOONS)
    tree = with_split_weights(random_tree(150, 0), blend)
    alone = with_split_weights(random_tree(150, 0), blend.graph)
    assert_array_equal(tree.split_weights, alone.split_weights)
    assert_array_equal(tree.degrees, alone.degrees)
    assert tree.leaf_weights is None


def test_pairs_inside_a_weighted_row_count_in_cuts():
    weights = np.random.default_rng(0).integers(1, 4, 150)
    tree = HypHC(random_state=0).fit(MOONS, sample_weight=weights).tree_
    assert_array_equal(tree.leaf_weights, weights * (weights - 1) / 2)
    assert_array_equal(tree.leaf_sizes, weights)


# --- nested layers ---------------------------------------------------------------------------------------------------


def prunings(tree: Tree, node: int | None = None) -> list[frozenset[int]]:
    """Every set of nodes that holds each leaf below ``node`` once."""
    node = 2 * tree.n_leaves - 2 if node is None else node
    if node < tree.n_leaves:
        return [frozenset([node])]
    left, right = (prunings(tree, child) for child in tree.children[node - tree.n_leaves].tolist())
    return [frozenset([node]), *(a | b for a in left for b in right)]


def is_coarser(coarse: np.ndarray, fine: np.ndarray) -> bool:
    return len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == len(set(fine.tolist()))


@given(st.integers(2, 8), st.integers(0, 2**31), st.sampled_from(["height", "dasgupta", "modularity", "ncut", "own"]))
@settings(max_examples=50)
def test_each_layer_is_the_best_pruning_of_the_next_finer_one(n, seed, criterion):
    rng = np.random.default_rng(seed)
    own = rng.normal(size=2 * n - 1)
    tree = with_split_weights(random_tree(n, seed), weight_matrix(n, seed, "real"))
    chosen = (lambda _: own) if criterion == "own" else criterion
    numbers = rng.choice(np.arange(1, n + 1), size=rng.integers(1, n + 1), replace=False)
    layers = tree.layers(numbers, criterion=chosen)
    assert [labels.max() + 1 for labels in layers] == numbers.tolist()
    order = np.argsort(-numbers)
    assert_array_equal(layers[order[0]], tree.cut(numbers[order[0]], criterion=chosen))
    scores, sets = node_scores(tree, chosen), oracles.leaf_sets(tree)
    by_labels = {labels_of(tree, np.array(sorted(p, key=lambda v: min(sets[v])))).tobytes(): p for p in prunings(tree)}
    for finer, coarser in pairwise(order):
        assert is_coarser(layers[coarser], layers[finer])
        nodes = by_labels[layers[coarser].tobytes()]
        rivals = [
            p
            for labels, p in by_labels.items()
            if len(p) == numbers[coarser] and is_coarser(np.frombuffer(labels, dtype=np.int64), layers[finer])
        ]
        best = max(scores[list(p)].sum() for p in rivals)
        assert_allclose(scores[list(nodes)].sum(), best, atol=1e-9 * (1 + np.abs(scores).sum()))


def test_layers_come_in_the_order_asked_for_and_keep_the_size_of_clusters():
    tree = HypHC(random_state=0).fit(DIGITS).tree_
    layers = tree.layers([2, 20, 5, 10], min_size=5)
    assert [labels.max() + 1 for labels in layers] == [2, 20, 5, 10]
    for coarse, fine in ((0, 2), (2, 3), (3, 1)):
        assert is_coarser(layers[coarse], layers[fine])
    assert all(np.bincount(labels).min() >= 5 for labels in layers)
    assert_array_equal(layers[1], tree.cut(20, min_size=5))
    assert tree.layers([]) == []
    assert_array_equal(tree.layers([3, 3])[1], tree.cut(3))


def test_layers_by_height_are_the_cuts():
    tree = random_tree(30, 1)
    for k, labels in zip((2, 9, 30), tree.layers([2, 9, 30]), strict=True):
        assert_array_equal(labels, tree.cut(k))


@pytest.mark.parametrize("numbers", [[3, 0], [100], [-1]])
def test_layers_that_cannot_be_are_refused(numbers):
    with pytest.raises(ValueError, match=r"is not between 1 and the 10 leaves"):
        random_tree(10, 0).layers(numbers)
