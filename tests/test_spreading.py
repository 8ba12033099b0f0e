from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import dasgupta_cost, exact_tree
from hyphc.scores.packing import load_packings, save_packings, verify
from hyphc.scores.spreading import SpreadingBound, spreading_bound
from hyphc.similarity import Graph
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import all_trees
from strategies import random_tree

SMALL = 1e-3  # effort: less than a million arcs


def random_graph(n: int, seed: int) -> Graph:
    """Weights with and without ties, few and many edges, often several components; every other one with weighted leaves."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.9), 1) * 1.0
    if seed % 3 == 1:
        W *= rng.integers(1, 4, size=(n, n))
    elif seed % 3 == 2:
        W *= rng.lognormal(sigma=2, size=(n, n))
    sizes = None
    if seed % 2:
        sizes = rng.integers(1, 7, size=n) if seed % 4 == 1 else rng.lognormal(sigma=1, size=n)
    return Graph(sp.csr_array(W + W.T), sizes=sizes)


def cut_profile(tree_sizes: np.ndarray, splits: np.ndarray, t: float) -> float:
    return float(splits[tree_sizes > t].sum())


def assert_proves(bound: SpreadingBound, graph: Graph) -> None:
    """Every packing passes the verifier, and the sum of their curves is the bound."""
    for packing in bound.packings:
        verify(packing, graph)
    assert (np.diff(bound.cuts) <= 1e-9 * graph.total()).all()
    assert bound.lower == pytest.approx(float(bound.cuts @ np.diff(bound.levels)), rel=1e-12)


@pytest.mark.parametrize("seed", range(240))
def test_no_tree_of_a_small_graph_costs_less_than_the_bound(seed: int) -> None:
    graph = random_graph(2 + seed % 11, seed)
    bound = spreading_bound(graph, effort=SMALL, keep=True)
    best = dasgupta_cost(exact_tree(graph), graph)
    assert bound.lower <= best * (1 + 1e-12)
    assert_proves(bound, graph)
