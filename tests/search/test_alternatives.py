"""Several good trees: within the per cent asked for, different from each other, and what they agree on."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import Tree, alternatives, dasgupta_cost, refine
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from enumeration import all_trees
from strategies import KINDS, random_tree, similarity_of_kind


@pytest.mark.parametrize("kind", KINDS)
def test_alternatives_are_within_the_per_cent_different_and_no_worse_than_the_search(kind):
    similarity = similarity_of_kind(kind, 40, 5)
    start = random_tree(40, 0)
    one, two = (alternatives(start, similarity, within=3.0, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert [tree.to_newick() for tree in one.trees] == [tree.to_newick() for tree in two.trees]
    costs = [dasgupta_cost(tree, similarity) for tree in one.trees]
    assert one.costs == pytest.approx(costs)
    assert one.costs[0] == one.costs.min() <= dasgupta_cost(start, similarity)
    assert (one.costs <= one.costs[0] + 0.03 * abs(one.costs[0]) + 1e-9).all()
    assert len(set(one.trees)) == len(one.trees) <= min(5, one.n_found)


@pytest.mark.parametrize("kind", KINDS)
def test_what_they_agree_on_is_counted(kind):
    found = alternatives(random_tree(30, 1), similarity_of_kind(kind, 30, 2), within=5.0, random_state=1)
    clusters = [oracles.clusters(tree) for tree in found.trees]
    expected = [np.mean([A in sets for sets in clusters]) for A in oracles.leaf_sets(found.trees[0])[30:]]
    assert found.share == pytest.approx(np.array(expected))
    assert (found.transfer >= found.share - 1e-12).all()
    assert str(found).startswith(f"{len(found.trees)} of {found.n_found} trees")


@settings(max_examples=10)
@given(st.integers(3, 6))
def test_all_trees_of_a_clique_cost_the_same_and_those_chosen_differ(n):
    found = alternatives(random_tree(n, 0), np.ones((n, n)) - np.eye(n), within=0.0, n_starts=30, random_state=0)
    assert 2 <= found.n_found <= len(all_trees(n))
    assert np.ptp(found.costs) < 1e-9


def test_the_second_tree_is_the_one_furthest_from_the_first():
    W = np.ones((7, 7)) - np.eye(7)
    found = alternatives(random_tree(7, 0), W, n_trees=50, n_starts=15, within=0.0, random_state=3)
    first, *others = found.trees
    moves = [sum(_shares(first, other)) for other in others]
    assert moves[0] == pytest.approx(max(moves))


def _shares(one: Tree, two: Tree) -> list[float]:
    n = one.n_leaves
    worst = [max(1, min(len(A) - 1, n - len(A))) for A in oracles.leaf_sets(one)[n:]]
    return [m / w for m, w in zip(oracles.transfer_distances(one, two), worst, strict=True)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_problems_have_alternatives(n):
    found = alternatives(random_tree(n, 0), np.ones((n, n)) - np.eye(n), random_state=0)
    assert len(found.trees) == {1: 1, 2: 1, 3: 3}[n]
    assert found.share.shape == (n - 1,)


def test_a_listener_ends_it_with_what_there_is():
    similarity = similarity_of_kind("dense", 60, 0)
    found = alternatives(random_tree(60, 0), similarity, random_state=0, callback=lambda news: True)
    assert len(found.trees) == 1
    assert found.costs[0] >= dasgupta_cost(refine(found.trees[0], similarity, random_state=0), similarity)


@pytest.mark.parametrize("wrong", [{"n_trees": 0}, {"within": -1.0}, {"n_starts": -1}, {"within": np.nan}])
def test_mistakes_are_named(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name}={value}"):
        alternatives(random_tree(4, 0), np.ones((4, 4)), **wrong)
    with pytest.raises(ValueError, match="4 leaves but the similarity 5"):
        alternatives(random_tree(4, 0), np.ones((5, 5)))
