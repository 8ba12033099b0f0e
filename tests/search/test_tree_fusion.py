"""Fusing and the ratchet: the cheapest tree made of two, exact accounts, never worse, the same for every number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import Tree, as_similarity, dasgupta_cost, refine
from hyphc._kernels.search import tree_fusion as kernels
from hyphc._runtime.run_control import Clock
from hyphc.search.ratchet import n_rounds, ratchet
from hyphc.search.restarts import starts_of
from hyphc.search.search_context import SearchContext
from hyphc.search.tree_fusion import fuse
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import KINDS, chain, magnitude, random_tree, similarity_of_kind, tree_and_similarity, with_sizes


def clusters(tree):
    """The leaf set of each node."""
    sets = [frozenset([leaf]) for leaf in range(tree.n_leaves)]
    for a, b in tree.children.tolist():
        sets.append(sets[a] | sets[b])
    return sets


def cheapest_mixture(one, two, similarity):
    """The cost of the cheapest tree that arranges each common cluster as one of two trees does, by the definition."""
    dense = np.asarray(similarity.to_dense())
    arrangements = [
        {s: (sets[a], sets[b]) for s, (a, b) in zip(sets[t.n_leaves :], t.children.tolist(), strict=True)}
        for t in (one, two)
        for sets in [clusters(t)]
    ]
    common = set(arrangements[0]) & set(arrangements[1])

    def least(cluster, tree):
        """Of the arrangement of a cluster in a tree, below it the cheapest."""
        if len(cluster) == 1:
            return 0.0
        left, right = (sorted(part) for part in arrangements[tree][cluster])
        own = similarity.sizes[sorted(cluster)].sum() * dense[np.ix_(left, right)].sum()
        return own + sum(best(part, tree) for part in arrangements[tree][cluster])

    def best(cluster, tree):
        return min(least(cluster, 0), least(cluster, 1)) if cluster in common else least(cluster, tree)

    return best(frozenset(range(one.n_leaves)), 0)


def related(tree, seed):
    """A tree that shares many clusters with another: some random moves away from it."""
    similarity = similarity_of_kind("dense", tree.n_leaves, seed)
    return refine(tree, similarity, max_sweeps=1) if seed % 2 else random_tree(tree.n_leaves, seed)


def a_run(tree, similarity, seed=0, n_jobs=1):
    return SearchContext(n_jobs, np.random.RandomState(seed), Clock(), (dasgupta_cost(tree, similarity), tree))


@given(tree_and_similarity(min_leaves=1, max_leaves=12), st.integers(0, 2**31 - 2), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_fused_tree_is_the_cheapest_that_can_be_made_of_both(case, seed, weighted):
    tree, similarity = case
    if weighted:
        similarity = with_sizes(similarity, np.random.default_rng(seed).integers(1, 5, similarity.n).astype(float))
    other = related(tree, seed)
    found = dasgupta_cost(fuse(tree, other, similarity), similarity)
    assert found == pytest.approx(cheapest_mixture(tree, other, similarity), abs=1e-11 * magnitude(similarity))


@given(st.integers(2, 40), st.integers(0, 1000), st.booleans())
@settings(max_examples=40, deadline=None)
def test_twins_are_the_nodes_with_the_same_leaves(n, seed, near):
    one = random_tree(n, seed)
    two = refine(one, similarity_of_kind("dense", n, seed), max_sweeps=1) if near else random_tree(n, seed + 1)
    number = {leaves: v for v, leaves in enumerate(clusters(one))}
    twins = kernels.match_clusters(np.array(one.children), one._first, np.array(one.sizes), np.array(two.children))
    assert twins.tolist() == [number.get(leaves, -1) for leaves in clusters(two)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 30, 200])
def test_no_fused_tree_is_worse_than_either(kind, n):
    similarity = similarity_of_kind(kind, n, 1)
    for seed in range(2):
        one, two = (refine(random_tree(n, s), similarity, max_sweeps=2) for s in (seed, seed + 100))
        found = fuse(one, two, similarity)
        least = min(dasgupta_cost(tree, similarity) for tree in (one, two))
        assert dasgupta_cost(found, similarity) <= least + 1e-11 * magnitude(similarity)


def test_a_chain_fused_with_its_reverse_and_equal_trees_stay_as_they_are():
    W = np.ones((50, 50)) - np.eye(50)
    tree = chain(50)
    assert fuse(tree, chain(50, np.arange(50)[::-1]), as_similarity(W, "precomputed")) is tree
    assert fuse(tree, Tree(tree.children), as_similarity(W, "precomputed")) is tree


def test_halves_that_are_better_in_different_trees_are_both_kept():
    W = np.zeros((8, 8))
    for a, b in ((0, 1), (2, 3), (4, 5), (6, 7)):
        W[a, b] = W[b, a] = 1.0
    good, bad = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
    halves = lambda left, right: Tree(  # noqa: E731
        [*left, *(np.array(right) + 4), [8, 9], [10, 11], [12, 13]]
    )
    found = fuse(halves(good, bad), halves(bad, good), as_similarity(W, "precomputed"))
    assert found == halves(good, good)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_ratchet_is_never_worse_and_the_same_for_every_number_of_threads(kind, weighted):
    similarity = similarity_of_kind(kind, 150, 3)
    if weighted:
        similarity = with_sizes(similarity, np.arange(150) % 3 + 1.0)
    tree = refine(random_tree(150, 0), similarity, max_sweeps=1)
    one, two = (ratchet(tree, similarity, a_run(tree, similarity, 5, n_jobs)) for n_jobs in (1, 2))
    assert np.array_equal(one.children, two.children)
    assert dasgupta_cost(one, similarity) <= dasgupta_cost(tree, similarity) + 1e-11 * magnitude(similarity)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ratchet_gains_where_no_single_move_does(kind):
    gained = 0
    for seed in range(3):
        similarity = similarity_of_kind(kind, 120, seed)
        tree = refine(random_tree(120, seed), similarity, max_sweeps=100)
        run = a_run(tree, similarity, seed)
        found = tree
        for _ in range(4):
            found = ratchet(found, similarity, run)
        gained += dasgupta_cost(found, similarity) < dasgupta_cost(tree, similarity) * (1 - 1e-9)
    assert gained >= 1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_and_edgeless_problems_are_searched_with_any_effort(n):
    tree = random_tree(n, 0)
    for W in (np.zeros((n, n)), np.ones((n, n)) - np.eye(n)):
        assert refine(tree, W, effort=3, random_state=0).n_leaves == n
    sparse = as_similarity(np.zeros((20, 20)), "precomputed")
    assert refine(random_tree(20, 0), sparse, random_state=0).n_leaves == 20


def test_more_effort_is_more_rounds_and_large_problems_have_fewer():
    small, large = similarity_of_kind("features", 60, 0), similarity_of_kind("features", 5_000, 0)
    assert n_rounds(small, 1.0) > n_rounds(large, 1.0) >= 1
    assert n_rounds(small, 4.0) == 4 * n_rounds(small, 1.0)
    assert n_rounds(small, 0.01) == 0


@pytest.mark.parametrize("visits", [0, 10**12])
def test_with_edges_later_stages_run_within_the_budget_of_visits(visits, monkeypatch):
    monkeypatch.setattr("hyphc.search.search_context.LEAST_VISITS", visits)
    monkeypatch.setattr("hyphc.search.search_context.VISITS_PER_EDGE", 0)
    similarity, stages = similarity_of_kind("graph", 200, 0), []
    refine(random_tree(200, 0), similarity, random_state=0, callback=lambda progress: stages.append(progress.stage))
    later = [stage for stage in stages if stage in ("other starts", "ratchet", "iterated")]
    assert later == ([] if visits == 0 else ["other starts", *["ratchet"] * 5, "iterated"])


@pytest.mark.parametrize("effort", [0, -1.0, np.inf, np.nan])
def test_an_effort_that_is_none_is_named(effort):
    with pytest.raises(ValueError, match=f"effort={effort} is not a positive number"):
        refine(random_tree(4, 0), np.ones((4, 4)), effort=effort)


@pytest.mark.parametrize("kind", KINDS)
def test_a_poor_start_is_replaced_by_one_of_the_search_itself(kind):
    similarity = similarity_of_kind(kind, 80, 2)
    tree = random_tree(80, 0)
    starts = starts_of(tree, similarity, 1)
    assert len(starts) == 2
    assert dasgupta_cost(starts[1], similarity) < dasgupta_cost(tree, similarity)
