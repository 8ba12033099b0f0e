"""The paper's definitions and bounds, executed: LCA depths, hyperbolicity, spread, and their constants."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from hyphc import Tree, exact_tree, geometry, theory
from hyphc import dasgupta_cost as fast_dasgupta_cost
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import all_trees, nested_trees, shape, to_tree, tree_shapes
from strategies import chain, random_tree, trees, weight_matrix

seeds = st.integers(0, 2**31)


def cloud(seed: int, n: int, digits: int) -> list[mp.mpc]:
    """Points at all scales: from near the origin to 10^-digits from the boundary."""
    rng = np.random.default_rng(seed)
    depth = [mp.mpf(10) ** -mp.mpf(rng.uniform(0, digits)) for _ in range(n)]
    return [(1 - d) * mp.expjpi(2 * mp.mpf(rng.random() ** rng.integers(1, 9))) for d in depth]


@cache
def sufficient_depths(nested: object, n: int) -> list[list[mp.mpf]]:
    """LCA depths of Sarkar's embedding at the sufficient scale, to 30 digits."""
    sarkar = theory.sarkar_embedding(to_tree(nested, n), theory.sufficient_scale(n))
    with mp.workdps(sarkar.digits):
        depths = theory.point_depths(sarkar.points)
    with mp.workdps(30):
        return [[+depth for depth in row] for row in depths]


@cache
def depths_by_shape(n: int) -> dict[str, tuple[list[int], list[list[mp.mpf]]]]:
    """For each shape the leaves of its one embedded tree from left to right, and the depths of their points."""
    return {shape(nested): (leaf_list(nested), sufficient_depths(nested, n)) for nested in tree_shapes(n)}


def leaf_list(nested: object) -> list[int]:
    """Leaves in an order that depends on the shape alone."""
    if isinstance(nested, int):
        return [nested]
    return [leaf for part in sorted(nested, key=shape) for leaf in leaf_list(part)]


def labelled_embeddings(n: int):
    """Every tree on n leaves with the depths of its Sarkar embedding: that of its shape, with the leaves renamed."""
    for nested in nested_trees(tuple(range(n))):
        source, depths = depths_by_shape(n)[shape(nested)]
        place = dict(zip(leaf_list(nested), source, strict=True))
        yield nested, [[depths[place[i]][place[j]] for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("digits", [1, 10, 40])
@given(seed=seeds)
@settings(max_examples=50)
def test_the_lca_depth_lies_between_the_gromov_product_and_log_3_more(seed: int, digits: int) -> None:
    with mp.workdps(3 * digits + 30):
        x, y = cloud(seed, 2, digits)
        product, depth = theory.gromov_product(x, y), theory.lca_depth(x, y)
        rounding = mp.mpf(10) ** -(digits + 10)
        assert product - rounding <= depth <= product + theory.delta()
        assert depth <= product + mp.log(2) + rounding  # the sharp constant


def test_log_2_is_approached_so_the_constant_of_the_lca_lemma_cannot_be_smaller() -> None:
    with mp.workdps(60):
        x = 1 - mp.mpf(10) ** -25
        y = x * mp.expj(mp.mpf(10) ** -10)
        assert mp.log(2) - 1e-9 < theory.lca_depth(x, y) - theory.gromov_product(x, y) < mp.log(2)


@given(seeds)
@settings(max_examples=60)
def test_the_printed_formula_is_the_klein_form_where_the_foot_is_inside_and_less_elsewhere(seed: int) -> None:
    with mp.workdps(60):
        x, y = cloud(seed, 2, 5)
        line, depth = theory.lca_depth_of_line(x, y), theory.lca_depth(x, y)
        if depth == min(theory.distance(0, x), theory.distance(0, y)):
            assert line <= depth + mp.mpf(10) ** -40
        else:
            assert abs(line - depth) < mp.mpf(10) ** -30
        float_x, float_y = ([float(z.real), float(z.imag)] for z in (x, y))
        near = geometry.lca_depth(float_x, float_y)
        assert abs(near - depth) <= 1e-9 * (1 + depth)


@given(seeds)
@settings(max_examples=20)
def test_four_points_of_the_plane_are_log_2_hyperbolic(seed: int) -> None:
    with mp.workdps(60):
        found = theory.four_point_delta(theory.point_distances(cloud(seed, 3, 10)))
        assert -(mp.mpf(10) ** -30) <= found <= mp.log(2) + mp.mpf(10) ** -30


def test_trees_are_0_hyperbolic_and_the_euclidean_plane_is_not_hyperbolic_at_all() -> None:
    for tree in (chain(6), random_tree(6, 0)):
        assert theory.four_point_delta(theory.tree_distances(tree)) == 0
    corners = [(0, 0), (0, 1), (1, 0), (1, 1)]
    for side in (1, 10, 100):
        square = [[side * mp.hypot(a - c, b - d) for c, d in corners] for a, b in corners]
        assert theory.four_point_delta(square) > 0.4 * side
    assert theory.four_point_delta(square) > theory.delta()


@given(seeds, st.integers(2, 7))
@settings(max_examples=40)
def test_any_points_are_within_the_explicit_constant_of_a_tree(seed: int, n: int) -> None:
    with mp.workdps(60):
        points = theory.point_distances(cloud(seed, n, 12))
        tree, distances = theory.approximating_tree(points)
        assert tree.n_leaves == n
        assert abs(theory.four_point_delta(distances)) < mp.mpf(10) ** -30
        slack = mp.mpf(10) ** -30
        assert theory.is_quasi_isometric(
            [[d - slack for d in row] for row in distances], points, 0, theory.tree_constant(n) + 3 * slack
        )


def test_four_points_and_the_origin_need_a_constant_above_zero() -> None:
    with mp.workdps(60):
        points = theory.point_distances([mp.mpf("0.999") * mp.expjpi(mp.mpf(a) / 4) for a in (0, 1, 2, 3)])
        _, distances = theory.approximating_tree(points)
        assert not theory.is_quasi_isometric(distances, points, 0, 0.1)


@pytest.mark.parametrize(
    ("n", "halvings"), [(1, 0), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3), (9, 3), (10, 4), (1025, 10)]
)
def test_the_constant_counts_how_often_a_chain_can_be_halved(n: int, halvings: int) -> None:
    assert theory.tree_constant(n) == 2 * theory.delta() * halvings


def test_the_linear_form_of_spread_demands_no_less_than_the_precise_one() -> None:
    for n in range(3, 3_000):
        assert theory.linear_spread_threshold(n) >= theory.spread_threshold(n)


@given(trees(min_leaves=2, max_leaves=8), st.sampled_from([1.32, 2, 5, 20]))
@settings(max_examples=40)
def test_sarkars_embedding_has_the_stated_distortion_and_not_a_quarter_of_it(tree: Tree, scale: float) -> None:
    sarkar = theory.sarkar_embedding(tree, scale)
    with mp.workdps(sarkar.digits):
        points, of_tree = theory.point_distances(sarkar.points), theory.tree_distances(tree, mp.mpf(scale))
        assert theory.is_quasi_isometric(of_tree, points, sarkar.epsilon)
        assert not theory.is_quasi_isometric(of_tree, points, sarkar.epsilon / 4)
        assert abs(points[0][1] - theory.distance(0, sarkar.points[0])) == 0


def test_the_distortion_falls_with_the_scale_as_one_over_it() -> None:
    for scale in (5, 50, 500):
        assert theory.sarkar_embedding(chain(3), scale).epsilon * scale == pytest.approx(
            float(mp.log(mp.mpf(4) / 3)), rel=0.05
        )
    with pytest.raises(ValueError, match=r"scale=1\.3 is too short"):
        theory.sarkar_embedding(chain(3), 1.3)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_sarkars_embedding_of_every_tree_is_spread_agrees_with_it_and_decodes_to_it(n: int) -> None:
    # Renaming the leaves renames the points: one tree of each shape stands for all.
    for nested in tree_shapes(n):
        tree, depths = to_tree(nested, n), sufficient_depths(nested, n)
        assert theory.is_spread(depths)
        assert theory.is_spread(depths, theory.linear_spread_threshold(n))
        assert theory.in_lca_agreement(depths, theory.tree_depths(tree))
        assert theory.decode_depths(depths) == tree
        if n > 2:
            assert not theory.is_spread(theory.tree_depths(tree))  # unit edges are too short


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_the_depth_lemma_and_the_agreement_condition_hold_for_sarkars_embeddings(n: int) -> None:
    scale = theory.sufficient_scale(n)
    for nested in tree_shapes(n):
        tree = to_tree(nested, n)
        depths = [[scale * d for d in row] for row in theory.tree_depths(tree)]
        diameter = max(map(max, theory.tree_distances(tree, scale)))
        epsilon = theory.sarkar_embedding(tree, scale).epsilon
        assert epsilon <= 1 / mp.mpf(3 * n)
        claim = theory.depth_lemma(depths, sufficient_depths(nested, n), diameter, epsilon)
        assert claim.holds
        assert claim.measured > 0
        assert theory.agreement_condition(scale, diameter, epsilon)
        assert not theory.agreement_condition(1, diameter, epsilon)


def test_the_depth_lemma_fails_for_a_tree_that_is_no_quasi_isometry() -> None:
    with mp.workdps(40):
        points = [mp.mpf("0.9999999") * mp.expjpi(mp.mpf(a) / 100) for a in (0, 100, 1, 101)]  # two pairs
        claim = theory.depth_lemma(theory.tree_depths(chain(4)), theory.point_depths(points), 4, 0)
        assert not claim.holds


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_costs_of_every_tree_and_its_embedding_obey_the_lemma_for_several_temperatures(n: int, seed: int) -> None:
    W = weight_matrix(n, seed, ("real", "ties", "zeros")[seed]).tolist()
    with mp.workdps(30):
        for nested, depths in labelled_embeddings(n):
            assert theory.decode_depths(depths) == to_tree(nested, n)
            for tau in (0.05, 0.5, 5, 50):
                assert theory.decoding_error(depths, W, tau).holds


def theorem_holds(n: int, W: np.ndarray, taus: tuple[float, ...]) -> list[float]:
    """Check the theorem's ratio, Z* the best of all trees' Sarkar embeddings; return the ratios."""
    optimum = theory.dasgupta_cost(exact_tree(W), W.tolist())
    ratios = []
    for tau in taus:
        _, best = min(
            ((theory.hyphc_cost(depths, W.tolist(), tau), depths) for _, depths in labelled_embeddings(n)),
            key=lambda pair: pair[0],
        )
        claim = theory.approximation_ratio(theory.decode_depths(best), W.tolist(), tau, optimum)
        assert claim.holds
        ratios.append(float(claim.measured))
    return ratios


@pytest.mark.parametrize("seed", range(3))
def test_the_ratio_of_the_theorem_holds_for_the_best_embedding(seed: int) -> None:
    for n in (3, 4, 5):
        ratios = theorem_holds(n, weight_matrix(n, seed, "real"), (0.1, 1.0, 100.0))
        assert ratios[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 7])
def test_lemma_and_theorem_hold_for_every_tree_with_more_leaves(n: int) -> None:
    W = weight_matrix(n, n, "real")
    with mp.workdps(30):
        for _, depths in labelled_embeddings(n):
            assert theory.decoding_error(depths, W.tolist(), 5).holds
    theorem_holds(n, W, (0.1, 100.0))


@given(trees(min_leaves=3, max_leaves=6), seeds)
@settings(max_examples=40)
def test_the_lemma_needs_only_that_the_deepest_lca_leads_by_more_than_1(tree: Tree, seed: int) -> None:
    W = weight_matrix(tree.n_leaves, seed, "real").tolist()
    sarkar = theory.sarkar_embedding(tree, 2)
    with mp.workdps(sarkar.digits):
        depths = theory.point_depths(sarkar.points)
        leads = [2 * sorted(d)[2] - sorted(d)[2] - sorted(d)[1] for d in triples(depths)]
        assert min(leads) > 1
        assert not theory.is_spread(depths)
        for tau in (0.1, 0.3, 1):
            claim = theory.decoding_error(depths, W, tau)
            assert claim.holds
            assert claim.measured > 0


def triples(depths: list[list[mp.mpf]]) -> list[tuple[mp.mpf, mp.mpf, mp.mpf]]:
    return [(depths[i][j], depths[i][k], depths[j][k]) for i, j, k in combinations(range(len(depths)), 3)]


def on_a_circle(*angles: float) -> list[list[mp.mpf]]:
    return theory.point_depths([mp.mpf("0.999") * mp.expj(angle) for angle in angles])


def test_an_embedding_that_is_not_spread_can_break_the_lemma() -> None:
    depths = on_a_circle(0, 2.09, 4.18)  # nearly a regular triangle
    W = [[0, 1, 0.2], [1, 0, 0.5], [0.2, 0.5, 0]]
    assert not theory.is_spread(depths)
    assert not theory.decoding_error(depths, W, 0.1).holds


def test_an_embedding_that_is_not_spread_can_disagree_with_the_tree_it_decodes_to() -> None:
    depths = on_a_circle(0, 1, 1.9, 2.85)
    tree = theory.decode_depths(depths)
    assert not theory.is_spread(depths)
    assert not theory.in_lca_agreement(depths, theory.tree_depths(tree))
    assert (0, 1, 3) in theory.lca_triplets(depths)
    assert (1, 3, 0) in theory.lca_triplets(theory.tree_depths(tree))


def test_a_tree_decoded_from_an_embedding_that_is_not_spread_can_break_the_ratio() -> None:
    W = [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    depths = on_a_circle(0, 2.08, 4.18)
    tree = theory.decode_depths(depths)
    optimum = theory.dasgupta_cost(exact_tree(W), W)
    assert not theory.approximation_ratio(tree, W, 0.1, optimum).holds


def test_with_the_printed_min_two_relations_of_a_triplet_would_hold_at_once() -> None:
    depths = theory.tree_depths(chain(3))
    assert theory.lca_triplets(depths) == {(0, 1, 2)}
    uneven = on_a_circle(0, 0.1, 0.3)
    assert uneven[1][2] > min(uneven[0][1], uneven[0][2])
    assert uneven[0][1] > min(uneven[0][2], uneven[1][2])
    assert theory.lca_triplets(uneven) == {(0, 1, 2)}


@given(trees(max_leaves=8), seeds)
@settings(max_examples=40)
def test_costs_agree_with_the_fast_ones_and_the_continuous_one_tends_to_the_discrete(tree: Tree, seed: int) -> None:
    W = weight_matrix(tree.n_leaves, seed, "real")
    cost = theory.dasgupta_cost(tree, W.tolist())
    assert float(cost) == pytest.approx(fast_dasgupta_cost(tree, W), rel=1e-12)
    errors = [abs(theory.hyphc_cost(theory.tree_depths(tree), W.tolist(), tau) - cost) for tau in (1, 0.1, 0.01)]
    assert errors[2] <= errors[1] <= errors[0]
    assert errors[2] < 1e-12


@given(st.integers(3, 9), seeds, st.sampled_from([0.5, 0.01]))
@settings(max_examples=30)
def test_the_sufficient_temperature_makes_the_bound_of_the_theorem_epsilon(n: int, seed: int, epsilon: float) -> None:
    W = weight_matrix(n, seed, ("real", "ties", "zeros")[seed % 3])
    if not W.any():
        return
    tree = exact_tree(W)
    optimum = theory.dasgupta_cost(tree, W.tolist())
    bound = theory.approximation_ratio(tree, W.tolist(), theory.sufficient_temperature(n, epsilon), optimum).bound
    assert bound <= 1 + epsilon * (1 + 1e-9)


def test_on_a_perfect_matching_the_sufficient_temperature_is_also_necessary() -> None:
    W = np.kron(np.eye(3), [[0, 1], [1, 0]])
    tree, tau = exact_tree(W), theory.sufficient_temperature(6, 0.1)
    claim = theory.approximation_ratio(tree, W.tolist(), tau, theory.dasgupta_cost(tree, W.tolist()))
    assert float(claim.bound) == pytest.approx(1.1, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_algorithm_1_on_the_depths_of_a_tree_returns_the_tree(n: int) -> None:
    for tree in all_trees(n):
        assert theory.decode_depths(theory.tree_depths(tree)) == tree


def test_without_mpmath_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpmath", None)
    monkeypatch.delitem(sys.modules, "hyphc.hyperbolic.high_precision")
    monkeypatch.delitem(sys.modules, "hyphc.hyperbolic.theory")
    monkeypatch.delitem(sys.modules, "hyphc.theory")
    with pytest.raises(ImportError, match=r"pip install 'hyphc\[dev\]'"):
        import_module("hyphc.theory")
