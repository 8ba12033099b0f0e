"""Coarser levels of a tree: the same problem with small subtrees for leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import dasgupta_cost
from hyphc.baselines.coarsening import coarsen
from hypothesis import given
from hypothesis import strategies as st

from strategies import magnitude, random_tree, tree_and_similarity, with_sizes


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
