"""Tree search: exact accounting, optimal on small problems, never worse, the same for every number of threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, dasgupta_cost, exact_tree, insert, refine
from hyphc._kernels.search import dispatch, local_search, tree_passes
from hyphc.search import Progress
from hyphc.search.state import build_state, new_agenda, new_scratch, state_cost, tree_from_state
from hyphc.similarity import Background, Blend, Dense, Features, Graph
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from strategies import KINDS, chain, magnitude, random_tree, similarity_of_kind, tree_and_similarity, with_sizes


def all_insertions(tree, leaf):
    """Every tree that arises by grafting ``leaf`` (the next number) into the tree."""
    n = tree.n_leaves
    up = lambda v: v + (v >= n)  # noqa: E731
    for place in range(2 * n - 1):
        merges, number = [], {v: up(v) for v in range(n)}
        for t, (a, b) in enumerate(tree.children.tolist()):
            for c in (a, b):
                if c == place:
                    merges.append((number[c], leaf))
                    number[c] = n + len(merges)
            merges.append((number[a], number[b]))
            number[n + t] = n + len(merges)
        if place == 2 * n - 2:
            merges.append((number.get(place, place), leaf))
        yield Tree(np.array(merges))


@given(tree_and_similarity(min_leaves=3), st.integers(0, 2**31 - 2), st.booleans())
@settings(max_examples=150)
def test_the_change_of_cost_that_the_search_reports_is_the_exact_one_and_never_positive(case, seed, weighted):
    tree, similarity = case
    if weighted:
        similarity = with_sizes(similarity, np.random.default_rng(seed).integers(1, 5, similarity.n).astype(float))
    n = tree.n_leaves
    state = build_state(tree, similarity)
    scratch, agenda = new_scratch(state), new_agenda(np.arange(n), seed)
    tree_passes.queue_all(state.nodes, scratch, agenda, 2 * n - 2)
    cost, rounding = dasgupta_cost(tree, similarity), 1e-11 * magnitude(similarity)
    for smallest in [np.inf] * 10 + [0.0] * 10:
        change = local_search.search_region(state, scratch, agenda, 2 * n - 1, smallest, 7)
        found = tree_from_state(state, np.arange(n), 1.0, None)
        assert change <= rounding
        cost += change
        assert dasgupta_cost(found, similarity) == pytest.approx(cost, abs=rounding)
        assert state_cost(state) == pytest.approx(cost, abs=rounding)


def places_below(nodes, v):
    """All nodes strictly below v."""
    found, stack = [], [v]
    while stack:
        u = stack.pop()
        if nodes[u].left >= 0:
            found += [nodes[u].left, nodes[u].right]
            stack += [nodes[u].left, nodes[u].right]
    return found


@njit
def aim(state, scratch, A, region_parent):
    return dispatch.prepare_weights(state, scratch, A, region_parent)


@njit
def weight(state, scratch, A, v):
    return dispatch.weight(state, scratch, A, v)


@njit
def floor_below(state, scratch, v, a, acc, w, cap, reach):
    return dispatch.lower_bound_below(state, scratch, v, a, acc, w, cap, reach)


def graft_costs(state, scratch, A):
    """acc(v) and f(v) of every place v for the loose leaf A, by the definition."""
    nodes = state.nodes
    a, root = nodes[A].points, nodes[-1].left
    acc, f = {root: 0.0}, {}
    for v in [root, *places_below(nodes, root)]:
        w = weight(state, scratch, A, v)
        f[v] = acc[v] + (nodes[v].points + a) * w
        if nodes[v].left >= 0:
            for c, o in ((nodes[v].left, nodes[v].right), (nodes[v].right, nodes[v].left)):
                other = weight(state, scratch, A, o)
                acc[c] = acc[v] + a * nodes[v].cut + (nodes[v].points + a) * other
    return acc, f


def hang_loose(nodes, A):
    """Let ``prepare_weights`` find the region of a leaf that is not part of the tree."""
    root = nodes["left"][-1]
    nodes["parent"][A] = root
    if "order" in nodes.dtype.names:
        nodes["first"][A] = nodes["last"][A] = nodes["last"][root]


def narrow_features(n, seed):
    """Rows that differ by little from one direction."""
    rng = np.random.default_rng(seed)
    return as_similarity(1.0 + rng.choice([0.02, 0.3]) * rng.normal(size=(n, 4)), "cosine")


@given(st.sampled_from([*KINDS, "narrow"]), st.integers(4, 25), st.integers(0, 2**31 - 2), st.booleans())
@settings(max_examples=100)
def test_no_place_below_a_node_costs_less_than_the_bound_says(kind, n, seed, weighted):
    rng = np.random.default_rng(seed)
    similarity = narrow_features(n, seed) if kind == "narrow" else similarity_of_kind(kind, n, seed)
    if weighted:
        similarity = with_sizes(similarity, rng.integers(1, 5, n).astype(float))
    state = build_state(random_tree(n - 1, seed), similarity)
    scratch, agenda = new_scratch(state), new_agenda(np.arange(n - 1), seed)
    local_search.search_region(
        state, scratch, agenda, 2 * n - 1, 0.0, int(rng.integers(40))
    )  # some moves, kept and undone
    nodes, A = state.nodes, n - 1
    hang_loose(nodes, A)
    cap, reach = aim(state, scratch, A, 2 * n - 1)
    acc, f = graft_costs(state, scratch, A)
    for v in acc:
        w = weight(state, scratch, A, v)
        bound = floor_below(state, scratch, v, nodes[A].points, acc[v], w, max(cap, 1e-300), reach)
        below = [f[u] for u in places_below(nodes, v)]
        assert bound <= min(below, default=np.inf) + 1e-12 * magnitude(similarity)


@given(tree_and_similarity(min_leaves=2), st.integers(0, 100))
@settings(max_examples=60)
def test_refine_is_never_worse_and_keeps_the_leaves(case, seed):
    tree, similarity = case
    refined = refine(tree, similarity, random_state=seed, max_sweeps=seed % 3)
    assert refined.n_leaves == tree.n_leaves
    assert dasgupta_cost(refined, similarity) <= dasgupta_cost(tree, similarity) + 1e-12 * magnitude(similarity)


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_tree_is_the_best_of_all_trees_on_five_leaves(kind):
    similarity = similarity_of_kind(kind, 5, 4)
    sizes = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    for problem in (similarity, with_sizes(similarity, sizes)):
        trees = [Tree([[0, 1]])]
        for leaf in range(2, 5):
            trees = [larger for tree in trees for larger in all_insertions(tree, leaf)]
        assert len(trees) == 105
        least = min(dasgupta_cost(tree, problem) for tree in trees)
        assert dasgupta_cost(exact_tree(problem), problem) == pytest.approx(least, abs=1e-12 * magnitude(problem))


@given(tree_and_similarity(min_leaves=3, max_leaves=9), st.booleans())
@settings(max_examples=120)
def test_insert_finds_the_cheapest_of_all_places(case, weighted):
    _, similarity = case
    n = similarity.n
    if weighted:
        similarity = with_sizes(similarity, np.arange(n) % 3 + 1.0)
    smaller = refine(random_tree(n - 1, n), similarity.subset(np.arange(n - 1)), max_sweeps=1)
    cheapest = min(dasgupta_cost(larger, similarity) for larger in all_insertions(smaller, n - 1))
    inserted = dasgupta_cost(insert(smaller, similarity), similarity)
    assert inserted == pytest.approx(cheapest, abs=1e-12 * magnitude(similarity))


def test_insert_takes_the_order_given_and_rejects_other_points():
    similarity = similarity_of_kind("features", 6, 0)
    tree = Tree([[0, 1], [3, 2]])
    assert insert(tree, similarity, [5, 3, 4]).n_leaves == 6
    assert insert(tree, similarity.subset([0, 1, 2])) is tree
    for wrong in ([3, 4], [3, 4, 4], [2, 3, 4]):
        with pytest.raises(ValueError, match="each of the points 3 to 5 once"):
            insert(tree, similarity, wrong)
    with pytest.raises(ValueError, match="only 2 points"):
        insert(tree, similarity.subset([0, 1]))


@pytest.mark.parametrize("kind", KINDS)
def test_one_seed_gives_one_tree_for_every_number_of_threads(kind):
    similarity = similarity_of_kind(kind, 410, 2)
    tree = random_tree(similarity.n, 0)
    one, two = (refine(tree, similarity, random_state=5, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.children, two.children)
    assert np.array_equal(one.heights, two.heights)


@pytest.mark.parametrize("kind", KINDS)
def test_regions_searched_at_the_same_time_keep_exact_account(kind):
    similarity = similarity_of_kind(kind, 410, 5)
    tree = refine(random_tree(410, 1), similarity, max_sweeps=1)
    refined = refine(tree, similarity, random_state=0, n_jobs=2)
    costs = []
    refine(tree, similarity, random_state=0, n_jobs=2, callback=lambda progress: costs.append(progress.cost))
    assert costs[-1] == pytest.approx(dasgupta_cost(refined, similarity), abs=1e-12 * magnitude(similarity))
    assert costs[-1] < costs[0]


def test_a_chain_of_many_leaves_is_refined_without_recursion():
    similarity = similarity_of_kind("features", 20_000, 1)
    tree = chain(20_000)
    refined = refine(tree, similarity, time_budget=2.0, n_jobs=1)
    assert dasgupta_cost(refined, similarity) < dasgupta_cost(tree, similarity)


def test_duplicates_all_zero_weights_and_two_leaves_are_legal():
    no_edges = Graph(sp.csr_array((9, 9)))
    same = [Blend(no_edges, Background(np.ones((9, 2)), slope=1.0)), Blend(no_edges, Background(np.eye(9), slope=1.0))]
    for similarity in (Features(np.ones((9, 2)), offset=0.0, scale=1.0), Dense(np.zeros((9, 9))), *same):
        tree = random_tree(9, 0)
        cost = dasgupta_cost(refine(tree, similarity, random_state=0), similarity)
        assert cost == pytest.approx(dasgupta_cost(tree, similarity), abs=1e-12)
    pair = Tree([[0, 1]], names=["a", "b"])
    assert refine(pair, np.ones((2, 2))) is pair


@given(st.integers(3, 12), st.integers(0, 2**31 - 2), st.sampled_from([0.0, 10.0, 1e6]))
@settings(max_examples=40)
def test_a_constant_in_a_blend_changes_no_tree(n, seed, more):
    similarity = similarity_of_kind("blend", n, seed)
    background = similarity.background
    raised = Background(background.X, slope=background.slope, level=background.level + more)
    tree = random_tree(n, seed)
    found, other = (refine(tree, Blend(similarity.graph, b), random_state=0) for b in (background, raised))
    rounding = 1e-11 * (magnitude(similarity) + magnitude(Blend(similarity.graph, raised)))
    assert dasgupta_cost(found, similarity) == pytest.approx(dasgupta_cost(other, similarity), abs=rounding)


def test_a_disconnected_graph_is_joined_at_the_top():
    W = sp.block_diag([np.ones((6, 6)), np.ones((5, 5))], format="csr")
    W.setdiag(0)
    tree = refine(random_tree(11, 3), Graph(sp.csr_array(W)), random_state=0)
    assert len(set(tree.cut(n_clusters=2)[:6])) == len(set(tree.cut(n_clusters=2)[6:])) == 1


def test_names_survive_and_heights_fit_a_linkage():
    similarity = similarity_of_kind("dense", 12, 0)
    names = [f"leaf {i}" for i in range(12)]
    tree = refine(Tree(random_tree(12, 0).children, names=names), similarity, random_state=0)
    assert tree.names == tuple(names)
    assert Tree.from_linkage(tree.to_linkage()) == tree


def test_a_time_budget_ends_the_search_and_so_can_a_callback(set_tick):
    set_tick(0.01)
    similarity = similarity_of_kind("features", 1_500, 0)
    tree = random_tree(1_500, 0)
    rounds: list[str] = []  # without a budget there is one round
    refine(tree, similarity, time_budget=5.0, random_state=0, callback=lambda progress: rounds.append(progress.stage))
    assert rounds.count("iterated") >= 1
    seen: list[Progress] = []
    refine(tree, similarity, random_state=0, callback=lambda progress: seen.append(progress) or len(seen) == 2)
    assert len(seen) <= 4
    assert all(later.cost <= earlier.cost * (1 + 1e-12) for earlier, later in pairwise(seen))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_large_problems_are_searched_region_by_region_with_any_number_of_threads(kind, seed, monkeypatch):
    monkeypatch.setattr("hyphc.search.search_context.LARGE", 100)
    monkeypatch.setattr("hyphc.search.spr_sweep.REGION", 32)
    similarity, start = similarity_of_kind(kind, 300, seed), random_tree(300, seed)
    stages: list[str] = []
    one = refine(start, similarity, random_state=0, callback=lambda progress: stages.append(progress.stage))
    assert similarity.has_edges or not {"ratchet", "iterated"} & set(stages)
    assert np.array_equal(one.children, refine(start, similarity, random_state=0, n_jobs=2).children)
    longer = refine(one, similarity, time_budget=0.3, random_state=0)
    costs = [dasgupta_cost(tree, similarity) for tree in (start, one, longer)]
    assert costs[2] <= costs[1] + 1e-12 * magnitude(similarity) < costs[0]


def test_an_interrupt_keeps_the_best_tree():
    similarity = similarity_of_kind("features", 300, 0)
    tree = random_tree(300, 0)

    def interrupt(progress: Progress) -> None:
        if progress.stage == "ratchet":
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="Interrupted"):
        refined = refine(tree, similarity, random_state=0, callback=interrupt)
    assert dasgupta_cost(refined, similarity) < dasgupta_cost(tree, similarity)


def test_wrong_arguments_are_named():
    tree, W = random_tree(4, 0), np.ones((5, 5))
    with pytest.raises(ValueError, match="4 leaves but the similarity 5"):
        refine(tree, W)
    with pytest.raises(ValueError, match="max_sweeps=-1"):
        refine(tree, W[:4, :4], max_sweeps=-1)
    with pytest.raises(ValueError, match="time_budget=-2"):
        refine(tree, W[:4, :4], time_budget=-2)
