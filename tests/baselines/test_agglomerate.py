"""Agglomeration along the edges of a graph: against the naive algorithm, with weights, duplicates and components."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, baselines, dasgupta_cost, datasets
from hyphc.baselines import agglomerate
from hyphc.baselines.agglomerate import graph_agglomeration
from hyphc.similarity import Graph
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from oracles import clusters


def closeness(W: np.ndarray, sizes: np.ndarray) -> list[list[Fraction]]:
    """w_ij + ¼·Σ_k w_ik·w_kj / (|k|·w̄) along edges, w̄ the mean over all pairs of points with one."""
    n = len(W)
    edges = [(i, j) for i in range(n) for j in range(n) if W[i, j] > 0]
    mean = Fraction(sum(int(W[e]) for e in edges), max(1, sum(int(sizes[i] * sizes[j]) for i, j in edges)))
    result = [[Fraction(0)] * n for _ in range(n)]
    for i, j in edges:
        shared = sum(Fraction(int(W[i, k] * W[k, j]), int(sizes[k])) for k in range(n))
        result[i][j] = int(W[i, j]) + shared / (4 * mean)
    return result


def naive_clusters(W: np.ndarray, sizes: np.ndarray) -> set[frozenset[int]]:
    """Merge the closest pair of all, until no two clusters are connected; every cluster there ever was."""
    w = closeness(W, sizes)
    present = [frozenset([i]) for i in range(len(W))]
    seen = set(present)
    while True:
        ranked = []
        for A, B in combinations(present, 2):
            total = sum(w[i][j] for i in A for j in B)
            points = int(sum(sizes[i] for i in A)) * int(sum(sizes[j] for j in B))
            low, high = sorted([max(A), max(B)])
            if total > 0:
                ranked.append((-total / points, high, low, A, B))
        if not ranked:
            return seen
        *_, A, B = min(ranked)
        present = [C for C in present if C not in (A, B)] + [A | B]
        seen.add(A | B)


@st.composite
def whole_graphs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Small graphs with whole weights (so many ties) and sizes that are powers of two; often in several parts."""
    n = draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    W = np.triu(rng.integers(1, draw(st.sampled_from([2, 4])), size=(n, n)), 1)
    W *= rng.random((n, n)) < draw(st.sampled_from([0.1, 0.3, 1.0]))
    sizes = 2.0 ** rng.integers(0, draw(st.sampled_from([1, 3])), size=n)
    return (W + W.T).astype(float), sizes


@given(whole_graphs())
def test_every_merge_along_edges_is_that_of_the_naive_algorithm(example):
    W, sizes = example
    tree = graph_agglomeration(Graph(sp.csr_array(W), sizes=sizes))
    naive = naive_clusters(W, sizes)
    assert naive <= clusters(tree)
    # beyond them there are only joins of whole parts, which cost nothing
    parts = [A for A in naive if not any(A < B for B in naive)]
    assert all(any(A <= B for B in parts) or all(not A & B or B <= A for B in parts) for A in clusters(tree))


def test_triangles_counted_by_many_threads_are_those_of_the_definition(monkeypatch):
    monkeypatch.setattr(agglomerate, "ROWS", 3)
    rng = np.random.default_rng(0)
    for n in (2, 7, 40):
        A = np.triu(rng.integers(0, 4, (n, n)) * (rng.random((n, n)) < 0.3), 1).astype(float)
        A[0, 1:] = 1.0  # a hub
        graph = Graph(sp.csr_array(A + A.T), sizes=1.0 + rng.integers(0, 2, n))
        W = graph.to_csr().toarray() * 2.0 ** -np.frexp(graph.maximum())[1]
        together = (W > 0) * (graph.sizes[:, None] * graph.sizes)
        closeness = W * W.sum() + agglomerate.TRIANGLES * together.sum() * (W / graph.sizes) @ W
        assert_allclose(agglomerate._closeness(graph, graph.indices.astype(np.int64)), closeness[W > 0])


@given(whole_graphs())
def test_the_unit_of_the_weights_does_not_matter(example):
    W, sizes = example
    tree = graph_agglomeration(Graph(sp.csr_array(W), sizes=sizes))
    for unit in (2.0**-600, 2.0**400):
        assert graph_agglomeration(Graph(sp.csr_array(W * unit), sizes=sizes)) == tree


@given(st.integers(2, 60), st.integers(0, 2**31))
def test_real_weights_give_a_tree_with_heights_like_any_other(n, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.2), 1)
    tree = graph_agglomeration(Graph(sp.csr_array(W + W.T), sizes=rng.random(n) + 0.1))
    assert tree.n_leaves == n
    assert (np.diff(tree.heights) >= 0).all()


def test_duplicates_as_one_weighted_leaf_are_merged_like_the_leaf():
    W = np.array([[0, 4, 1, 0], [4, 0, 2, 0], [1, 2, 0, 6], [0, 0, 6, 0.0]])
    tree = graph_agglomeration(Graph(sp.csr_array(W), sizes=[1, 1, 1, 8.0]))
    assert tree == Tree([[0, 1], [4, 2], [5, 3]])
    assert graph_agglomeration(Graph(sp.csr_array(W))) == Tree([[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_graphs_with_and_without_edges(n):
    for W in (np.zeros((n, n)), np.ones((n, n))):
        assert graph_agglomeration(Graph(sp.csr_array(W))).n_leaves == n


def depth(tree: Tree) -> int:
    depths = np.zeros(2 * tree.n_leaves - 1, dtype=int)
    for t in range(tree.n_leaves - 2, -1, -1):
        depths[tree.children[t]] = depths[tree.n_leaves + t] + 1
    return int(depths.max())


def test_parts_that_no_edge_connects_are_joined_in_balance_at_the_top():
    assert depth(graph_agglomeration(Graph(sp.csr_array((1024, 1024))))) == 10
    graph = Graph(sp.block_diag([np.ones((3, 3)), np.ones((5, 5)), np.zeros((4, 4))], format="csr"))
    tree = graph_agglomeration(graph)
    assert {frozenset(range(3)), frozenset(range(3, 8)), frozenset(range(8, 12))} <= clusters(tree)


def test_the_tree_is_far_cheaper_than_a_random_one_and_the_same_every_time():
    graph = as_similarity(datasets.planted_graph(2000, 7.0, random_state=0).data, "precomputed")
    tree = graph_agglomeration(graph)
    random = baselines.random_tree(2000, random_state=0)
    assert dasgupta_cost(tree, graph) < 0.5 * dasgupta_cost(random, graph)
    again = graph_agglomeration(graph)
    assert np.array_equal(tree.children, again.children)
    assert np.array_equal(tree.heights, again.heights)


@pytest.mark.parametrize(("name", "most"), [("polblogs", 262), ("citeseer", 79), ("cora_ml", 280)])
def test_the_papers_graphs_cost_less_than_by_linkage_on_distances(name, most, needs_data):
    graph = as_similarity(datasets.load(name).data, "precomputed")
    assert dasgupta_cost(graph_agglomeration(graph), graph, units="mean") < most


def star(n: int) -> sp.coo_array:
    return sp.coo_array((np.ones(n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n))), shape=(n, n))


def path(n: int, weights: np.ndarray) -> sp.coo_array:
    return sp.coo_array((weights, (np.arange(n - 1), np.arange(1, n))), shape=(n, n))


def two_hubs(n: int) -> sp.coo_array:
    ends = np.concatenate([np.zeros(n - 2, dtype=int), np.ones(n - 2, dtype=int)])
    return sp.coo_array((np.ones(2 * n - 4), (ends, np.tile(np.arange(2, n), 2))), shape=(n, n))


N_LARGE = 100_000
LARGE = {
    "star": star(N_LARGE),
    "two hubs": two_hubs(N_LARGE),
    "even path": path(N_LARGE, np.ones(N_LARGE - 1)),
    "rising path": path(N_LARGE, np.arange(1.0, N_LARGE)),
}


@pytest.mark.parametrize("shape", LARGE)
def test_hubs_and_chains_of_a_hundred_thousand_nodes_take_seconds(shape):
    graph = Graph(LARGE[shape] + LARGE[shape].T)
    graph_agglomeration(Graph(sp.csr_array(np.ones((3, 3)))))  # compiled
    begin = time.process_time()
    tree = graph_agglomeration(graph)
    assert time.process_time() - begin < 10
    assert tree.n_leaves == N_LARGE


def test_a_star_is_taken_leaf_by_leaf_which_is_optimal():
    graph = Graph(star(50) + star(50).T)
    assert dasgupta_cost(graph_agglomeration(graph), graph) == 50 * 51 / 2 - 1


def test_other_similarities_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"merges along edges; got Features\(n=3\): .* as_similarity\(X\)"):
        graph_agglomeration(as_similarity(np.eye(3), "cosine"))
