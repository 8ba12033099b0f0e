"""Embeddings to trees and back: every fast form against the algorithm as the paper states it."""

from __future__ import annotations

import importlib
from itertools import combinations

import numpy as np
import pytest
from hyphc import Tree, decode, encode, geometry
from hyphc.hyperbolic.decode import decode_angles
from hyphc.hyperbolic.encode import encode_angles, encode_by_height
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles import clusters
from strategies import balanced, chain, random_tree, trees

METHODS = ["auto", "exact", "circle", "greedy"]
seeds = st.integers(0, 2**32 - 1)


def cloud(seed: int, n: int, dim: int, rho_max: float) -> np.ndarray:
    """n points in all directions, of radius up to rho_max."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((n, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.tanh(rng.uniform(0.0, rho_max, (n, 1)) / 2) * directions


def on_circle(angles: np.ndarray, rho: float = 5.0) -> np.ndarray:
    return np.tanh(rho / 2) * np.column_stack([np.cos(angles), np.sin(angles)])


def algorithm_1(Z: np.ndarray, order: np.ndarray | None = None) -> Tree:
    """All pairs, the deepest LCA first, equal ones as they come; join what is not yet joined."""
    n = len(Z)
    i, j = np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2).T
    depths = geometry.lca_depth(Z[i], Z[j])
    pairs = np.arange(len(i)) if order is None else order
    root, merges, heights = list(range(n)), [], []
    for pair in sorted(pairs, key=lambda pair: -depths[pair]):
        a, b = root[i[pair]], root[j[pair]]
        if a != b:
            merges.append((a, b))
            heights.append(depths[pair])
            root = [n + len(merges) - 1 if r in (a, b) else r for r in root]
    return Tree(np.array(merges).reshape(-1, 2), geometry.distance_to_origin(Z).max() - np.array(heights))


def top_down(angles: np.ndarray) -> set[frozenset[int]]:
    """Clusters found by cutting the circle at its widest gap and every arc at its widest, the last of equals."""

    def last_widest(gaps: np.ndarray) -> int:
        return int(np.flatnonzero(gaps == gaps.max())[-1])

    order = np.argsort(angles, kind="stable")
    gaps = np.append(np.diff(angles[order]), 2 * np.pi - np.ptp(angles))
    start = last_widest(gaps) + 1
    order, gaps = np.roll(order, -start), np.roll(gaps, -start)
    found, arcs = set(), [(0, len(angles))]
    while arcs:
        first, end = arcs.pop()
        found.add(frozenset(order[first:end].tolist()))
        if end - first > 1:
            middle = first + 1 + last_widest(gaps[first : end - 1])
            arcs += [(first, middle), (middle, end)]
    return found


@given(seeds, st.integers(1, 25), st.integers(1, 4), st.sampled_from([0.5, 4.0, 15.0]))
def test_exact_decoding_is_algorithm_1_for_points_of_any_radius_and_dimension(
    seed: int, n: int, dim: int, rho_max: float
) -> None:
    Z = cloud(seed, n, dim, rho_max)
    tree, oracle = decode(Z, "exact"), algorithm_1(Z)
    assert tree == oracle
    assert_allclose(tree.heights, oracle.heights, rtol=1e-9, atol=1e-9)


@given(seeds, st.integers(1, 40), st.sampled_from([0.5, 4.0, 12.0]))
def test_all_methods_agree_on_points_of_one_radius_with_distinct_gaps(seed: int, n: int, rho: float) -> None:
    Z = on_circle(np.random.default_rng(seed).uniform(-np.pi, np.pi, n), rho)
    oracle = algorithm_1(Z)
    for method in METHODS:
        tree = decode(Z, method)
        assert tree == oracle, method
        assert_allclose(tree.heights, oracle.heights, rtol=1e-6, atol=1e-6)


@given(seeds, st.integers(1, 40), st.booleans())
def test_greedy_decoding_is_top_down_splitting_at_the_widest_gap(seed: int, n: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    Z = cloud(seed, n, 2, rho_max=5.0)
    if ties:
        Z = rng.choice([-0.5, -0.25, 0.25, 0.5], size=(n, 2))
    assert clusters(decode(Z, "greedy")) == top_down(np.arctan2(Z[:, 1], Z[:, 0]))
    angles = rng.integers(0, 12, n) / 2 if ties else rng.uniform(0, 2 * np.pi, n)
    assert clusters(decode_angles(angles)) == top_down(angles)


def test_points_of_different_radius_are_decoded_exactly_by_default_and_by_angle_when_greedy() -> None:
    Z = np.vstack([on_circle(np.array([0.0, 0.5])), on_circle(np.array([0.01]), rho=0.1)])
    assert clusters(decode(Z)) == clusters(Tree([[0, 1], [3, 2]]))
    assert clusters(decode(Z, "greedy")) == clusters(Tree([[0, 2], [3, 1]]))


@settings(max_examples=50)
@given(seeds, st.integers(2, 14))
def test_under_ties_every_order_of_the_pairs_and_every_method_give_the_same_heights(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    Z = on_circle(rng.integers(0, 8, n) * np.pi / 4)
    heights = algorithm_1(Z).heights
    for _ in range(3):
        shuffled = algorithm_1(Z, rng.permutation(n * (n - 1) // 2))
        assert_allclose(shuffled.heights, heights, atol=1e-6)
    for method in METHODS:
        assert_allclose(decode(Z, method).heights, heights, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_coinciding_points_merge_at_height_0_in_order_of_number(method: str) -> None:
    tree = decode(np.full((6, 2), 0.3), method)
    assert_array_equal(np.sort(tree.children, axis=1), np.sort(chain(6).children, axis=1))
    assert_allclose(tree.heights, 0.0, atol=1e-15)


def test_exact_ties_go_to_the_lexicographically_first_pair() -> None:
    # the four corners of a square: all sides are equally deep, to the bit
    square = 0.5 * np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    tree = decode(square, "exact")
    assert clusters(tree) == clusters(Tree([[0, 2], [4, 3], [5, 1]]))
    assert tree == algorithm_1(square)


def test_equal_gaps_merge_counter_clockwise_after_the_last_of_the_widest() -> None:
    assert decode_angles(np.arange(6) * 0.5) == chain(6)
    assert_array_equal(decode_angles([0.0, 1.0, 2.0, 3.0]).children, [[0, 1], [4, 2], [5, 3]])
    # gaps 2.5, 0.5, 2.5 and the closing 0.78...: the second 2.5 is left out, so leaf 3 comes first
    assert_array_equal(decode_angles([0.0, 2.5, 3.0, 5.5]).children, [[1, 2], [3, 0], [5, 4]])


def test_neighbours_across_the_negative_axis_are_neighbours() -> None:
    Z = on_circle(np.array([np.pi - 0.01, -np.pi + 0.01, 0.0, 2.0]))
    assert clusters(decode(Z, "circle")) >= {frozenset([0, 1])}


def test_the_sign_of_zero_does_not_matter() -> None:
    Z = np.array([[-0.5, 0.0], [-0.5, -0.0], [-0.5, 0.0], [0.5, 0.0]])
    assert decode(Z, "circle") == chain(4)


@given(seeds, st.integers(1, 30), st.floats(-100, 100))
def test_turning_the_circle_or_single_points_by_whole_turns_changes_nothing(seed: int, n: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, n)
    tree = decode_angles(angles)
    assert decode_angles(angles + shift) == tree
    assert decode_angles(angles + 2 * np.pi * rng.integers(-3, 4, n)) == tree
    assert decode(on_circle(angles)) == tree
    assert_allclose(tree.heights, np.sort(np.diff(np.sort(angles), append=np.sort(angles)[:1] + 2 * np.pi))[:-1])


@given(seeds, st.integers(1, 30))
def test_renumbering_the_points_renumbers_the_leaves(seed: int, n: int) -> None:
    Z = cloud(seed, n, 2, rho_max=8.0)
    order = np.random.default_rng(seed).permutation(n)
    for method in ("exact", "greedy"):
        renamed = {frozenset(order[list(c)].tolist()) for c in clusters(decode(Z[order], method))}
        assert renamed == clusters(decode(Z, method))


@given(trees(max_leaves=40), st.sampled_from([2.0, 10.0, 20.0]))
def test_decoding_an_encoded_tree_gives_it_back_by_every_method(tree: Tree, radius: float) -> None:
    Z = encode(tree, radius)
    for method in METHODS:
        assert decode(Z, method) == tree, method
    assert decode_angles(encode_angles(tree)) == tree


@given(trees(max_leaves=40))
def test_small_trees_survive_a_cast_to_float32(tree: Tree) -> None:
    assert decode(encode(tree).astype(np.float32), "circle") == tree


N = 100_000
BIG_TREES = {
    "chain": lambda: chain(N),
    "chain in random order": lambda: chain(N, np.random.default_rng(0).permutation(N)),
    "balanced": lambda: balanced(N),
    "random": lambda: random_tree(N, 0),
    "chain of a million": lambda: chain(1_000_000),
}


@pytest.mark.parametrize("shape", BIG_TREES)
def test_big_trees_of_every_shape_come_back(shape: str) -> None:
    tree = BIG_TREES[shape]()
    Z = encode(tree)
    assert decode(Z) == tree
    assert decode(Z, "greedy") == tree
    assert decode_angles(encode_angles(tree)) == tree
    assert decode(encode(tree, 30.0)) == tree


def test_a_chain_of_two_thousand_leaves_comes_back_through_all_pairs() -> None:
    tree = chain(2000, np.random.default_rng(1).permutation(2000))
    assert decode(encode(tree), "exact") == tree


@given(trees(min_leaves=2), st.floats(0.1, 30.0))
def test_encoded_leaves_lie_at_the_radius_in_leaf_order_with_wider_gaps_above(tree: Tree, radius: float) -> None:
    Z, order = encode(tree, radius), tree.leaf_order()
    assert Z.shape == (tree.n_leaves, 2)
    assert_allclose(geometry.distance_to_origin(Z), radius, atol=1e-3 if radius > 15 else 1e-9)
    angles = encode_angles(tree)
    assert_allclose(np.arctan2(Z[:, 1], Z[:, 0]), angles, atol=1e-15)
    gaps = np.diff(angles[order])
    assert (gaps > 0).all()
    joined_at = tree.lca(order[:-1], order[1:])
    gap_of = dict(zip(joined_at.tolist(), gaps.tolist(), strict=True))
    for node, gap in gap_of.items():
        parent = int(tree.parents[node])
        wider = 2 * np.pi - np.ptp(angles) if parent < 0 else gap_of[parent]
        assert wider > gap


def test_a_linkage_matrix_is_encoded_like_its_tree() -> None:
    tree = random_tree(20, 3)
    assert_array_equal(encode(tree.to_linkage()), encode(Tree.from_linkage(tree.to_linkage())))


@pytest.mark.parametrize("method", METHODS)
def test_one_point_is_a_tree_without_merges(method: str) -> None:
    assert decode([[0.1, 0.2]], method).n_leaves == 1
    assert decode_angles([1.0]).n_leaves == 1
    assert_allclose(encode(Tree(np.empty((0, 2), dtype=np.int64)), 1.0), [[np.tanh(0.5), 0.0]])


def test_the_points_given_are_not_modified() -> None:
    Z = cloud(0, 20, 2, rho_max=5.0)
    Z.flags.writeable = False
    for method in ("auto", "exact", "greedy"):
        assert decode(Z, method).n_leaves == 20


@pytest.mark.parametrize("shape", [(0, 2), (3,), (3, 0), (2, 2, 2), ()])
def test_arrays_that_are_not_points_get_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"Z must have shape \(n, dim\)"):
        decode(np.zeros(shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1.0, -2.0])
def test_points_outside_the_ball_get_an_error_that_names_the_first(bad: float) -> None:
    Z = np.zeros((4, 2))
    Z[2:, 1] = bad
    for method in METHODS:
        with pytest.raises(ValueError, match=r"Z\[2\] = .* is not a finite point of norm below 1"):
            decode(Z, method)


def test_methods_say_when_they_do_not_apply() -> None:
    Z = cloud(0, 5, 2, rho_max=2.0)
    with pytest.raises(ValueError, match="method='kruskal' is not known"):
        decode(Z, "kruskal")
    with pytest.raises(ValueError, match="needs points of one radius"):
        decode(Z, "circle")
    for method in ("circle", "greedy"):
        with pytest.raises(ValueError, match="needs points of the disk; Z has 3 columns"):
            decode(cloud(0, 5, 3, rho_max=2.0), method)
    Z[3] = 0.0
    with pytest.raises(ValueError, match=r"Z\[3\] is the origin"):
        decode(Z, "greedy")
    assert decode(Z).n_leaves == 5


def test_angles_that_are_not_numbers_on_a_line_get_an_error() -> None:
    for bad in ([], [[0.0, 1.0]], 1.0):
        with pytest.raises(ValueError, match="angles must have shape"):
            decode_angles(bad)
    with pytest.raises(ValueError, match=r"angles\[1\] = nan is not finite"):
        decode_angles([0.0, np.nan, np.inf])


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 31.0])
def test_a_radius_that_float64_cannot_hold_gets_an_error(radius: float) -> None:
    with pytest.raises(ValueError, match=r"is not in \(0, 30\]"):
        encode(chain(3), radius)


def test_a_tree_too_deep_for_float64_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("hyphc.hyperbolic.encode"), "GAP_RESOLUTION", 1e-3)
    assert encode(chain(50)).shape == (50, 2)
    with pytest.raises(ValueError, match="The levels of the tree add up to"):
        encode(chain(1000))


@given(trees(max_leaves=40))
def test_gaps_by_height_decode_to_the_tree_too(tree: Tree) -> None:
    assert decode(encode_by_height(tree)) == tree


@pytest.mark.parametrize("tree", [chain(200_000), balanced(200_000)], ids=["chain", "balanced"])
def test_big_trees_survive_gaps_by_height(tree: Tree) -> None:
    assert decode(encode_by_height(tree)) == tree


def test_gaps_by_height_are_wider_between_groups_than_within() -> None:
    tree = Tree([[0, 1], [2, 3], [4, 5]], heights=[0.1, 0.2, 1.0])
    angles = np.unwrap(np.arctan2(*encode_by_height(tree).T[::-1]))
    assert angles[2] - angles[1] > 2 * max(angles[1] - angles[0], angles[3] - angles[2])
