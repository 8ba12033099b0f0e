"""Coarser levels of a tree: the same problem with small subtrees for leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import Tree, dasgupta_cost, refine
from hyphc.search.coarsening import coarsen
from hypothesis import given
from hypothesis import strategies as st

from strategies import KINDS, chain, magnitude, random_tree, similarity_of_kind, tree_and_similarity, with_sizes


@given(tree_and_similarity(min_leaves=1), st.integers(1, 9), st.integers(0, 99))
def test_costs_of_a_level_differ_from_costs_of_the_whole_by_one_amount(case, limit, seed):
    tree, similarity = case
    similarity = with_sizes(similarity, np.random.default_rng(seed).integers(1, 5, similarity.n).astype(float))
    level = coarsen(tree, similarity, limit)
    rounding = 1e-11 * magnitude(similarity)
    inside = dasgupta_cost(tree, similarity) - dasgupta_cost(level.tree, level.similarity)
    for other in (level.tree, random_tree(level.tree.n_leaves, seed)):
        whole = dasgupta_cost(level.expand(other), similarity)
        assert whole == pytest.approx(dasgupta_cost(other, level.similarity) + inside, abs=rounding)


@given(tree_and_similarity(min_leaves=1), st.integers(1, 9))
def test_a_level_is_the_tree_above_its_largest_small_subtrees(case, limit):
    tree, similarity = case
    level = coarsen(tree, similarity, limit)
    assert level.expand(level.tree) == tree
    assert level.similarity.sizes.sum() == pytest.approx(similarity.sizes.sum())
    sizes, parent = np.asarray(tree.sizes), np.full(2 * tree.n_leaves - 1, -1)
    parent[tree.children.T] = tree.n_leaves + np.arange(tree.n_leaves - 1)
    largest = [v for v in range(len(sizes)) if sizes[v] <= limit and (parent[v] < 0 or sizes[parent[v]] > limit)]
    assert level.tree.n_leaves == len(largest)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [chain(300), random_tree(300, 0)], ids=["chain", "random"])
def test_large_trees_are_swept_on_several_levels_by_any_number_of_threads(kind, start, monkeypatch):
    monkeypatch.setattr("hyphc.search.search_context.LARGE", 40)
    monkeypatch.setattr("hyphc.search.multilevel.SMALL", 4)
    similarity = similarity_of_kind(kind, 300, 1)
    found = refine(start, similarity, random_state=0)
    assert np.array_equal(found.children, refine(start, similarity, random_state=0, n_jobs=2).children)
    assert dasgupta_cost(found, similarity) < dasgupta_cost(start, similarity)
    assert found.n_leaves == 300


def test_more_effort_goes_on_longer_and_names_are_kept(monkeypatch):
    monkeypatch.setattr("hyphc.search.search_context.LARGE", 40)
    monkeypatch.setattr("hyphc.search.multilevel.SMALL", 4)
    monkeypatch.setattr("hyphc.search.multilevel.MIN_GAIN", 0.02)
    similarity = similarity_of_kind("graph", 400, 3)
    start = Tree(random_tree(400, 3).children, names=[f"leaf {i}" for i in range(400)])
    sweeps: dict[float, list[str]] = {}
    for effort in (0.01, 100.0):
        sweeps[effort] = []
        told = sweeps[effort]
        found = refine(start, similarity, effort=effort, random_state=0, callback=lambda p, t=told: t.append(p.stage))
        assert found.names == start.names
    assert len(sweeps[100.0]) > len(sweeps[0.01])
