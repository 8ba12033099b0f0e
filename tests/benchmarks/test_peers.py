"""Methods of other libraries that the benchmarks compare with: adapted as their authors define them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.peers import flat
from benchmarks.peers.affinity import affinity
from hyphc import as_similarity, dasgupta_cost, dendrogram_purity
from hyphc.similarity import Graph, similarity_from_distances
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import cophenet, linkage
from sklearn.metrics import adjusted_rand_score

LABELS = np.repeat(np.arange(3), [20, 15, 10])
CENTRES = np.array([[6.0, 0, 0], [0, 6.0, 0], [0, 0, 6.0]])
X = CENTRES[LABELS] + np.random.default_rng(0).normal(size=(45, 3))
# equal points are no reason to fail
WITH_EQUAL = np.vstack([X, X[:5], X[:2]])


def load(module: str, *packages: str):
    for package in packages:
        pytest.importorskip(package)
    return __import__(f"benchmarks.peers.{module}", fromlist=["*"])


def test_affinity_joins_every_point_with_its_most_similar_one_in_the_first_round():
    similarity = as_similarity(X, "cosine")
    group = affinity(similarity).cut(height=1.0)
    nearest = similarity.to_dense().argmax(axis=1)
    assert (group == group[nearest]).all()
    assert len(set(group)) > 1


def test_affinity_ends_in_one_tree_for_equal_points_and_graphs_in_parts():
    assert affinity(as_similarity(np.ones((9, 2)), "cosine")).n_leaves == 9
    assert affinity(Graph(sp.block_diag([np.ones((3, 3)), np.ones((4, 4))]))).cut(2).tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert dendrogram_purity(affinity(as_similarity(X, "cosine")), LABELS) == 1.0


@pytest.mark.parametrize("name", ["paris", "louvain"])
def test_communities_are_trees_of_graphs_in_parts_and_of_all_pairs(name):
    peer = getattr(load("communities", "sknetwork"), name)
    parts = Graph(sp.block_diag([np.ones((k, k)) for k in (4, 6, 5)]))
    expected = sum((k**3 - k) / 3 for k in (4, 6, 5))  # of cliques, whatever their trees
    assert dasgupta_cost(peer(parts), parts) == expected
    assert peer(as_similarity(X, "cosine")).n_leaves == 45


@pytest.mark.parametrize("method", ["ward", "average"])
def test_trees_of_linkages_are_scipys(method):
    tree = flat.linkage_tree(X, method)
    assert_allclose(cophenet(tree.to_linkage()), cophenet(linkage(X, method)))


def test_flat_peers_find_clear_groups():
    assert adjusted_rand_score(flat.kmeans(X, 3), LABELS) == 1.0
    assert adjusted_rand_score(flat.spectral(X, 3), LABELS) == 1.0
    found = flat.hdbscan(X)
    assert set(found) == {-1, 0, 1, 2} or set(found) == {0, 1, 2}
    assert adjusted_rand_score(found[found >= 0], LABELS[found >= 0]) == 1.0


@pytest.mark.parametrize(("name", "package"), [("louvain", "sknetwork"), ("leiden", "leidenalg")])
def test_communities_are_the_parts_of_a_graph_in_cliques(name, package):
    peer = getattr(load("communities", "sknetwork", package), f"{name}_clusters")
    parts = Graph(sp.block_diag([np.ones((k, k)) for k in (4, 6, 5)]))
    assert adjusted_rand_score(peer(parts), np.repeat([0, 1, 2], (4, 6, 5))) == 1.0


def test_a_cut_of_genies_tree_is_genies_partition():
    genieclust = pytest.importorskip("genieclust")
    peers = load("distances")
    tree = peers.genie(as_similarity(X, "linear"))
    expected = genieclust.Genie(n_clusters=3).fit_predict(X)
    assert adjusted_rand_score(tree.cut(n_clusters=3), expected) == 1.0
    assert peers.genie(as_similarity(WITH_EQUAL, "linear")).n_leaves == len(WITH_EQUAL)


@pytest.mark.parametrize(("package", "options"), [("evoc", (3,)), ("fast_hdbscan", ())])
def test_clusterings_for_embeddings_find_clear_groups(package, options):
    truth = np.repeat([0, 1, 2], 100)
    rows = 10 * np.eye(8)[[0, 3, 6]][truth] + np.random.default_rng(0).normal(size=(300, 8))
    found = getattr(load("embeddings", package), package)(rows, *options)
    assert found.shape == (300,)
    assert adjusted_rand_score(found[found >= 0], truth[found >= 0]) == 1.0


def test_hdbscans_tree_takes_rows_and_matrices():
    peers = load("distances", "hdbscan")
    assert dendrogram_purity(peers.hdbscan_tree(as_similarity(X, "linear")), LABELS) > 0.9
    assert peers.hdbscan_tree(as_similarity(as_similarity(X, "cosine").to_dense(), "precomputed")).n_leaves == 45


def test_scikit_learns_bisection_goes_down_to_equal_rows():
    peers = load("distances")
    tree = peers.sklearn_bisecting(as_similarity(WITH_EQUAL, "linear"))
    assert tree.n_leaves == len(WITH_EQUAL)
    assert tree.sizes[tree.lca(0, 50)] == 3  # rows 0, 45 and 50 are one point
    assert dendrogram_purity(tree, np.concatenate([LABELS, LABELS[:5], LABELS[:2]])) > 0.95


def test_methods_of_rows_refuse_what_has_none():
    peers = load("distances")
    with pytest.raises(ValueError, match="takes rows of features"):
        peers.sklearn_bisecting(as_similarity(np.ones((3, 3)), "precomputed"))


def test_ufit_keeps_an_ultrametric_that_is_one_already(monkeypatch):
    ufit = load("ufit", "higra", "torch").ufit
    monkeypatch.setattr("benchmarks.peers.ufit.MAX_STEPS", 80)
    distances = cophenet(linkage(X, "average"))
    tree = ufit(similarity_from_distances(distances))
    assert dendrogram_purity(tree, LABELS) == 1.0


def test_ufit_takes_near_and_random_edges_where_all_pairs_are_too_many(monkeypatch):
    ufit = load("ufit", "higra", "torch").ufit
    monkeypatch.setattr("benchmarks.peers.ufit.MAX_STEPS", 20)
    monkeypatch.setattr("benchmarks.peers.ufit.COMPLETE_UP_TO", 10)
    assert dendrogram_purity(ufit(as_similarity(X, "cosine")), LABELS) > 0.9


@pytest.mark.parametrize("n", [1, 2, 3])
def test_ufit_takes_few_points_and_graphs(n):
    ufit = load("ufit", "higra", "torch").ufit
    assert ufit(as_similarity(X[:n], "cosine")).n_leaves == n
    parts = Graph(sp.block_diag([np.ones((4, 4)), np.ones((6, 6))]))
    assert ufit(parts).cut(2).tolist() == [0] * 4 + [1] * 6


def test_ghhc_separates_clear_groups_and_follows_its_seed(monkeypatch):
    ghhc = load("ghhc", "torch").ghhc
    monkeypatch.setattr("benchmarks.peers.ghhc.STEPS", 60)
    similarity = as_similarity(X, "cosine")
    tree = ghhc(similarity, 1)
    assert dendrogram_purity(tree, LABELS) > 0.9
    assert tree == ghhc(similarity, 1)
    with pytest.raises(ValueError, match="by their features"):
        ghhc(as_similarity(np.ones((3, 3)), "precomputed"))
