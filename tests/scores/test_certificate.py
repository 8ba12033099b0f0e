"""The optimality gap: bounds over subsets against all trees, its interval, and what the reports say."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, baselines, cost_bounds, dasgupta_cost, datasets, exact_tree, optimality_gap
from hyphc.cli.report import gap_row, room_rows, score, score_rows
from hyphc.scores.bounds import CostBounds
from hyphc.scores.certificate import graph_part
from hyphc.scores.confidence import betting_interval
from hyphc.scores.subset_bound import LARGEST_SHARE, random_subsets
from hyphc.similarity import Dense, Features, Graph, Similarity
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from certificate_instances import EVERY_SUBSET, LITTLE, instances
from enumeration import all_trees, cluster_sizes, nested_trees, tree_shapes
from strategies import (
    KINDS,
    NON_NEGATIVE,
    chain,
    magnitude,
    random_tree,
    similarity_of_kind,
    tree_and_similarity,
    weight_matrix,
    with_sizes,
)

kinds = st.sampled_from(["features", "dense", "graph"])


def restricted_cost(tree: Tree, W: np.ndarray, subset: tuple[int, ...]) -> float:
    """Cost of the tree that is left when all leaves but the subset are removed."""
    clusters = [cluster & set(subset) for cluster in oracles.leaf_sets(tree)]
    return sum(
        W[i, j] * min(len(cluster) for cluster in clusters if {i, j} <= cluster) for i, j in combinations(subset, 2)
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_exact_tree_is_the_best_of_all_trees(n: int) -> None:
    trees = np.array([cluster_sizes(nested, n) for nested in nested_trees(tuple(range(n)))])
    for kind in KINDS:
        for seed in range(6):
            similarity = similarity_of_kind(kind, n, seed)
            best = (trees * similarity.to_dense()).sum(axis=(1, 2)).min() / 2
            assert_allclose(dasgupta_cost(exact_tree(similarity), similarity), best, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_leaves_that_stand_for_several_points_count_as_many(seed: int) -> None:
    W, sizes = weight_matrix(5, seed, "real"), np.random.default_rng(seed).integers(1, 6, size=5)
    similarity = Dense(W, sizes=sizes)
    best = min(oracles.dasgupta_cost(tree, W, sizes) for tree in all_trees(5))
    assert_allclose(dasgupta_cost(exact_tree(similarity), similarity), best, rtol=1e-12)
    tree = random_tree(5, seed)
    gaps = [optimality_gap(tree, similarity, k=k, n_subsets=EVERY_SUBSET, effort=LITTLE).gap for k in (3, 4, 5)]
    assert_allclose(gaps[-1], oracles.dasgupta_cost(tree, W, sizes) / best - 1, rtol=1e-9, atol=1e-12)
    assert gaps[0] >= gaps[1] - 1e-12 >= gaps[2] - 2e-12


@given(st.integers(7, 12), st.integers(0, 2**31), kinds)
@settings(max_examples=50)
def test_no_tree_found_otherwise_beats_the_exact_tree(n: int, seed: int, kind: str) -> None:
    similarity = similarity_of_kind(kind, n, seed)
    best = dasgupta_cost(exact_tree(similarity), similarity)
    others = [random_tree(n, seed), baselines.average_linkage(similarity), baselines.complete_linkage(similarity)]
    assert best <= min(dasgupta_cost(tree, similarity) for tree in others) * (1 + 1e-12)
    assert best >= cost_bounds(similarity).lower * (1 - 1e-12)


@given(tree_and_similarity(min_leaves=3, max_leaves=12, kinds=NON_NEGATIVE))
@settings(max_examples=60)
def test_over_all_subsets_the_bound_holds_never_rises_with_k_and_is_the_true_gap_at_k_equal_n(
    case: tuple[Tree, Similarity],
) -> None:
    tree, similarity = case
    cost, best = dasgupta_cost(tree, similarity), dasgupta_cost(exact_tree(similarity), similarity)
    true_gap = cost / best - 1 if best > 0 else 0.0
    results = [
        optimality_gap(tree, similarity, k=k, n_subsets=EVERY_SUBSET, effort=LITTLE) for k in range(3, similarity.n + 1)
    ]
    gaps = np.array([result.gap for result in results])
    tolerance = 1e-9 * (1 + gaps[0])
    assert all(result.exact and result.confidence_interval == (result.gap, result.gap) for result in results)
    assert (gaps >= true_gap - tolerance).all()
    assert (np.diff(gaps) <= tolerance).all()
    assert_allclose(gaps[-1], true_gap, atol=tolerance)
    assert_allclose([result.lower_bound for result in results], cost / (1 + gaps))


@given(tree_and_similarity(min_leaves=3, max_leaves=9, kinds=("blend",)), st.booleans())
@settings(max_examples=60)
def test_of_a_blend_no_tree_costs_less_than_the_bound_which_rises_to_the_least_cost(
    case: tuple[Tree, Similarity], weighted: bool
) -> None:
    tree, similarity = case
    n = similarity.n
    if weighted:
        similarity = with_sizes(similarity, np.arange(n) % 3 + 1.0)
    best = dasgupta_cost(exact_tree(similarity), similarity)
    bounds = [
        optimality_gap(tree, similarity, k=k, n_subsets=EVERY_SUBSET, effort=LITTLE).lower_bound
        for k in range(3, n + 1)
    ]
    rounding = 1e-11 * (1 + magnitude(similarity))
    assert max(bounds) <= best + rounding
    assert (np.diff(bounds) >= -rounding).all()
    assert_allclose(bounds[-1], best, atol=rounding)


@given(tree_and_similarity(min_leaves=3, max_leaves=9, kinds=NON_NEGATIVE), st.integers(3, 9))
@settings(max_examples=30)
def test_the_mean_over_subsets_is_that_of_the_definition(case: tuple[Tree, Similarity], k: int) -> None:
    tree, similarity = case
    n, W = similarity.n, similarity.to_dense()
    k = min(k, n)
    excesses = [
        restricted_cost(tree, W, S) - dasgupta_cost(exact_tree(W[np.ix_(S, S)]), W[np.ix_(S, S)])
        for S in combinations(range(n), k)
    ]
    bound = comb(n, 3) / comb(k, 3) * np.mean(excesses)
    result = optimality_gap(tree, Dense(W), k=k, n_subsets=EVERY_SUBSET)
    excess = min(bound, result.cost - 2 * similarity.total())
    assert_allclose(result.cost - result.lower_bound, excess, rtol=1e-9, atol=1e-9 * (1 + result.cost))


@given(tree_and_similarity(min_leaves=3, max_leaves=10, kinds=NON_NEGATIVE))
@settings(max_examples=30)
def test_with_triplets_it_is_the_triplet_bound(case: tuple[Tree, Similarity]) -> None:
    tree, similarity = case
    result = optimality_gap(tree, similarity, k=3, n_subsets=EVERY_SUBSET, effort=LITTLE)
    lower = max(cost_bounds(similarity).lower, 2 * similarity.total())
    if graph_part(similarity) is None:
        assert_allclose(result.lower_bound, lower, rtol=1e-9, atol=1e-12)
    else:  # spreading metrics may see more
        assert result.lower_bound >= lower * (1 - 1e-9)


def test_the_interval_is_informative_and_narrows_with_the_sample() -> None:
    tree, similarity, bound, _ = instances()[3]
    widths = [
        np.ptp(optimality_gap(tree, similarity, k=7, n_subsets=m, random_state=0).confidence_interval)
        for m in (50, 400, 3_000)
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]
    assert widths[2] < bound


@pytest.mark.parametrize(("p", "size"), [(0.5, 200), (0.02, 200), (0.002, 1000)])
def test_the_betting_interval_covers_rare_large_values_where_a_normal_approximation_does_not(
    p: float, size: int
) -> None:
    rng = np.random.default_rng(0)
    misses = normal_misses = 0
    for _ in range(300):
        values = (rng.random(size) < p).astype(float)
        low, high = betting_interval(values, 0.99)
        misses += not low <= p <= high
        normal_misses += abs(values.mean() - p) > 2.576 * values.std() / size**0.5
    assert misses <= 8  # 3 expected at most
    if p < 0.5:
        assert normal_misses > 8


def test_the_betting_interval_is_nearly_as_narrow_as_a_normal_one_on_a_large_sample() -> None:
    values = np.random.default_rng(0).beta(2, 20, size=4_000)
    low, high = betting_interval(values, 0.99)
    assert high - low < 1.5 * 2 * 2.576 * values.std() / 4_000**0.5


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_costs_of_two_trees_differ_by_no_more_than_the_stated_share(n: int) -> None:
    pairs = np.triu_indices(n, 1)
    everything = np.array([cluster_sizes(nested, n)[pairs] for nested in nested_trees(tuple(range(n)))])
    shapes = [cluster_sizes(nested, n)[pairs] for nested in tree_shapes(n)]
    largest = max(np.maximum(everything - sizes, 0).sum(axis=1).max() for sizes in shapes)
    assert largest == pytest.approx(LARGEST_SHARE[n] * comb(n, 3), rel=1e-12)


@pytest.mark.parametrize("n", [12, 40, 2_000])
def test_random_subsets_are_uniform_and_never_repeat_a_leaf(n: int) -> None:
    subsets = random_subsets(n, 12, 20_000, np.random.default_rng(0))
    assert subsets.shape == (20_000, 12)
    assert (np.diff(np.sort(subsets, axis=1), axis=1) > 0).all()
    share = np.bincount(subsets.ravel(), minlength=n) / 20_000
    assert_allclose(share, 12 / n, atol=6 * (12 / n / 20_000) ** 0.5)


def test_the_result_is_a_function_of_the_seed_whatever_the_number_of_threads() -> None:
    similarity = as_similarity(np.random.default_rng(0).normal(size=(60, 4)), "cosine")
    tree = baselines.average_linkage(similarity)
    one = optimality_gap(tree, similarity, k=8, n_subsets=333, random_state=7, n_jobs=1)
    assert one == optimality_gap(tree, similarity, k=8, n_subsets=333, random_state=7, n_jobs=2)
    assert one.n_subsets == 333
    assert one != optimality_gap(tree, similarity, k=8, n_subsets=333, random_state=8)


def test_features_matrix_and_graph_of_one_similarity_give_one_gap() -> None:
    features = as_similarity(np.random.default_rng(0).normal(size=(60, 3)), "cosine")
    W, tree = features.to_dense(), random_tree(60, 0)
    results = [
        optimality_gap(tree, similarity, k=6, n_subsets=200, effort=LITTLE, random_state=0)
        for similarity in (features, Dense(W), Graph(sp.csr_array(W)))
    ]
    assert_allclose([result.gap for result in results], results[0].gap, rtol=1e-9)
    assert [result.weak for result in results] == [False] * 3
    assert len({result.worst_subsets for result in results}) == 1


def test_the_worst_subsets_show_a_misplaced_leaf() -> None:
    groups = np.repeat([0, 1], 10)
    W = np.where(groups[:, None] == groups, 1.0, 0.1)
    tree = baselines.average_linkage(W)
    swapped = np.array([tree.leaf_order()[0], tree.leaf_order()[-1]])
    children = np.array(tree.children)
    children[tree.children == swapped[0]], children[tree.children == swapped[1]] = swapped[1], swapped[0]
    result = optimality_gap(Tree(children), W, k=6, random_state=0)
    assert (
        optimality_gap(tree, W, k=6, random_state=0).worst_subsets == ()
    )  # ties apart, the tree is optimal everywhere
    assert len(result.worst_subsets) == len(set(result.worst_subsets)) == 5
    assert all(set(swapped) & set(subset) for subset in result.worst_subsets)


def test_an_optimal_tree_of_a_perfect_hierarchy_is_certified_as_such() -> None:
    result = optimality_gap(chain(30), np.minimum.outer(*2 * [1.0 / np.arange(1, 31)]), k=5, random_state=0)
    assert result.gap == 0.0
    assert result.confidence_interval[0] == 0.0
    assert result.lower_bound <= result.cost


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_leaves_have_one_tree(n: int) -> None:
    result = optimality_gap(exact_tree(np.ones((n, n))), np.ones((n, n)))
    assert (result.gap, result.exact, result.lower_bound) == (0.0, True, result.cost)


def test_similarities_of_zero_leave_no_gap() -> None:
    result = optimality_gap(chain(30), np.zeros((30, 30)), k=5, random_state=0)
    assert (result.gap, result.confidence_interval, result.lower_bound) == (0.0, (0.0, 0.0), 0.0)


def test_units_scale_the_cost_and_the_lower_bound_alike() -> None:
    W, tree = weight_matrix(20, 0, "real"), random_tree(20, 0)
    pairs, ordered, mean = (
        optimality_gap(tree, W, k=5, units=units, random_state=0) for units in ("pairs", "ordered", "mean")
    )
    assert pairs.gap == ordered.gap == mean.gap
    for name in ("cost", "lower_bound"):
        assert_allclose(getattr(ordered, name), 2 * getattr(pairs, name))
        assert_allclose(getattr(mean, name), getattr(pairs, name) / as_similarity(W, "precomputed").total())
    assert_allclose(pairs.cost, dasgupta_cost(tree, W))


def sparse_graph() -> Graph:
    rng = np.random.default_rng(0)
    i, j = rng.integers(300, size=(2, 900))
    A = sp.coo_array((np.ones(900), (i, j)), shape=(300, 300)).tocsr()
    return Graph(A + A.T)


def test_where_nothing_is_certified_no_figure_looks_like_a_proof() -> None:
    graph = sparse_graph()
    result = optimality_gap(baselines.average_linkage(graph), graph, n_subsets=100, effort=LITTLE, random_state=0)
    assert result.weak
    for told in (str(result), repr(result), *gap_row(result)):
        assert "%" not in told
        assert f"{result.lower_bound:.6g}" not in told
    for told in (str(result), repr(result), gap_row(result)[2]):
        assert re.search("(?i)nothing (could be )?certified.*the graph is sparse", told)
    assert gap_row(result)[1] == "unknown"
    assert room_rows(result) == []
    assert result.confidence_interval[1] > 1
    assert result.lower_bound >= cost_bounds(graph).lower * (1 - 1e-12)


def test_too_few_subsets_are_named_as_the_reason() -> None:
    similarity, tree = as_similarity(np.random.default_rng(0).normal(size=(60, 3)), "cosine"), random_tree(60, 0)
    few = optimality_gap(tree, similarity, k=6, n_subsets=2, random_state=0)
    assert few.weak
    assert "2 subsets of 6 leaves are too few" in str(few)
    many = optimality_gap(tree, similarity, k=6, n_subsets=2_000, random_state=0)
    assert (many.weak, many.reason) == (False, "")
    assert repr(many).startswith(f"OptimalityGap(gap={many.gap!r}, confidence_interval=(")


def test_bounds_within_their_error_are_no_bounds() -> None:
    graph = sparse_graph()
    estimated, exact = cost_bounds(graph, n_triplets=20, random_state=0), cost_bounds(graph)
    assert (exact.lower_certified, exact.upper_certified) == (True, True)
    assert not estimated.lower_certified
    tree = baselines.average_linkage(graph)
    result = replace(score(tree, graph, None, 0), bounds=estimated)
    rows = {what: (value, text) for what, value, text in score_rows(result)}
    assert rows["lower bound"] == (
        "unknown",
        "nothing could be certified: the sampled triplets leave an error as large as the bound",
    )
    assert not CostBounds(-197216.0, 1.0, 9.7e5, 0.1).lower_certified
    assert not CostBounds(-1.0, 1.0).lower_certified
    assert CostBounds(0.0, 0.0).lower_certified


def test_printing_it_says_what_it_means() -> None:
    W, tree = weight_matrix(20, 0, "real"), random_tree(20, 0)
    sampled = str(optimality_gap(tree, W, k=5, n_subsets=100, confidence=0.95, random_state=0))
    assert "by estimate" in sampled
    assert "with 95 % confidence" in sampled
    assert "100 random subsets of 5 leaves" in sampled
    assert "certified" not in sampled
    assert "all 1140 subsets of 3 leaves" in str(optimality_gap(tree, W, k=3))
    assert str(optimality_gap(random_tree(6, 0), W[:6, :6])).startswith("Exactly")


def test_a_linkage_matrix_is_a_tree() -> None:
    W, tree = weight_matrix(8, 0, "real"), random_tree(8, 0)
    assert optimality_gap(tree.to_linkage(), W, k=5).gap == pytest.approx(optimality_gap(tree, W, k=5).gap, rel=1e-12)


def test_weights_of_groups_are_bounded_with_their_sizes() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 5, size=40).astype(float)
    X = np.abs(rng.normal(size=(40, 3))) * sizes[:, None]
    for similarity in (Features(X, offset=0.1, scale=1.0, sizes=sizes), Dense(X @ X.T, sizes=sizes)):
        tree = random_tree(40, 0)
        exact = optimality_gap(tree, similarity, k=3, n_subsets=EVERY_SUBSET)
        sampled = optimality_gap(tree, similarity, k=3, n_subsets=2_000, random_state=0)
        low, high = sampled.confidence_interval
        assert low <= exact.gap <= high


@pytest.mark.parametrize("n_subsets", [1, 2, 5])
def test_a_handful_of_subsets_gives_a_wide_interval_and_no_error(n_subsets: int) -> None:
    W = weight_matrix(30, 0, "real")
    result = optimality_gap(random_tree(30, 0), W, k=4, n_subsets=n_subsets, random_state=0)
    low, high = result.confidence_interval
    assert 0 <= low <= high
    assert result.lower_bound >= 0


def test_bad_calls_name_the_value_and_the_remedy() -> None:
    W, tree = weight_matrix(20, 0, "real"), random_tree(20, 0)
    with pytest.raises(ValueError, match="k=2 must lie between 3"):
        optimality_gap(tree, W, k=2)
    with pytest.raises(ValueError, match="k=21 must lie between 3"):
        optimality_gap(tree, W, k=21)
    with pytest.raises(ValueError, match="n_subsets=0"):
        optimality_gap(tree, W, n_subsets=0)
    with pytest.raises(ValueError, match="confidence=1"):
        optimality_gap(tree, W, confidence=1)
    with pytest.raises(ValueError, match="units='euros'"):
        optimality_gap(tree, W, units="euros")
    with pytest.raises(ValueError, match="20 leaves but the similarity 19"):
        optimality_gap(tree, W[:19, :19])
    with pytest.raises(ValueError, match="up to 24 leaves; got 25"):
        exact_tree(np.ones((25, 25)))


@pytest.mark.slow
def test_a_tree_of_a_million_planted_points_is_certified() -> None:
    planted = datasets.planted(1_000_000, 32, random_state=0)
    result = optimality_gap(planted.tree, as_similarity(planted.data, "cosine"), random_state=0, n_jobs=-1)
    assert 0 < result.gap < result.confidence_interval[1] < 0.2
