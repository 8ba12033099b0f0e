"""The continuous cost: its three implementations agree, its gradients are slopes, its estimators are unbiased."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import as_similarity, dasgupta_cost, decode
from hyphc._kernels.continuous import edge_steps
from hyphc._kernels.continuous import objective as kernels
from hyphc.continuous import objective, sampling
from hyphc.continuous.manifolds import Ball, Circle, Sphere
from hyphc.similarity import Dense
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from strategies import weight_matrix


def on_circle(angles: np.ndarray, radius: float) -> np.ndarray:
    return np.tanh(radius / 2) * np.column_stack([np.cos(angles), np.sin(angles)])


def all_triplets(W: np.ndarray, sizes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    ijk = np.array(list(combinations(range(len(W)), 3)))
    s = np.ones(len(W)) if sizes is None else sizes
    i, j, k = ijk.T
    return ijk, np.column_stack([W[i, j] * s[k], W[i, k] * s[j], W[j, k] * s[i]])


def angle_sets(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    free = rng.uniform(-10, 10, n)
    close = free.copy()
    close[1], close[2] = close[0] + 1e-9, close[0] + 1e-5
    opposite = free.copy()
    opposite[1], opposite[2] = opposite[0] + np.pi, opposite[0] + np.pi * (1 + 1e-9)
    return {"random": free, "equal": np.repeat(free[: (n + 1) // 2], 2)[:n], "close": close, "opposite": opposite}


def differences(function, params: np.ndarray, step: float = 1e-6) -> np.ndarray:
    grad = np.zeros_like(params)
    for index in np.ndindex(*params.shape):
        moved = params.copy()
        moved[index] += step
        up = function(moved)
        moved[index] -= 2 * step
        grad[index] = (up - function(moved)) / (2 * step)
    return grad


@pytest.mark.parametrize("kind", ["random", "equal", "close", "opposite"])
@pytest.mark.parametrize(("radius", "tau"), [(0.5, 0.5), (3.0, 0.1), (7.6, 0.01), (10.0, 0.55), (15.0, 0.01)])
def test_block_kernel_triplet_kernel_and_reference_agree(kind, radius, tau):
    n = 9
    angles = angle_sets(n, 1)[kind]
    W = weight_matrix(n, 2, "real")
    ijk, w = all_triplets(W)
    value, grad, by_radius = objective.circle_block_objective(angles, radius, W, tau)
    value2, grad2, by_radius2 = objective.circle_triplet_objective(angles, radius, ijk, w, tau)
    assert_allclose(value2, value, rtol=1e-12)
    scale = np.abs(grad).max() + 1e-30
    assert_allclose(grad2, grad, atol=1e-11 * scale)
    assert_allclose(by_radius2, by_radius, atol=1e-10 * (abs(by_radius) + 1))
    if radius < 10:  # rounded coordinates place points no better than this allows
        Z = on_circle(angles, radius)
        reference, by_point = objective.triplet_objective(Z, ijk, w, tau)
        along = np.sum(by_point * np.tanh(radius / 2) * np.column_stack([-np.sin(angles), np.cos(angles)]), axis=1)
        loose = 1e-14 * np.exp(radius) / tau**2
        assert_allclose(reference, value, rtol=loose)
        if kind in ("random", "close"):  # at equal or opposite points the depth has a kink
            assert_allclose(along, grad, atol=loose * max(1.0, scale))


@pytest.mark.parametrize("kind", ["random", "close"])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize(("radius", "tau"), [(0.7, 0.3), (4.0, 0.5)])
def test_circle_gradients_are_slopes(kind, penalty, radius, tau):
    n = 7
    angles = np.random.default_rng(3).uniform(0, 6, n)
    if kind == "close":
        angles[1] = angles[0] + 1e-3
    W = weight_matrix(n, 4, "real")
    _, grad, by_radius = objective.circle_block_objective(angles, radius, W, tau, spread_penalty=penalty)

    def value(theta, rho=radius):
        return objective.circle_block_objective(theta, rho, W, tau, spread_penalty=penalty)[0]

    assert_allclose(grad, differences(value, angles, 1e-7), rtol=1e-5, atol=1e-6)
    slope = (value(angles, radius + 1e-6) - value(angles, radius - 1e-6)) / 2e-6
    assert_allclose(by_radius, slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_ball_gradients_are_slopes_for_free_points_of_any_dimension(dim, penalty):
    rng = np.random.default_rng(dim)
    Z = rng.normal(size=(6, dim))
    Z *= rng.uniform(0.1, 0.97, (6, 1)) / np.linalg.norm(Z, axis=1, keepdims=True)
    W = weight_matrix(6, 5, "real")
    ijk, w = all_triplets(W)
    value, grad = objective.triplet_objective(Z, ijk, w, 0.3, spread_penalty=penalty)
    assert_allclose(
        grad,
        differences(lambda z: objective.triplet_objective(z, ijk, w, 0.3, spread_penalty=penalty)[0], Z, 1e-7),
        rtol=1e-5,
        atol=1e-5,
    )
    value2, grad2 = objective.ball_block_objective(Z, W, 0.3, spread_penalty=penalty)
    assert_allclose(value2, value, rtol=1e-12)
    assert_allclose(grad2, grad, rtol=1e-9, atol=1e-12 * np.abs(grad).max())


def test_equal_and_opposite_points_have_finite_gradients():
    for angles in angle_sets(8, 0).values():
        for radius in (1e-3, 1.0, 10.0, 20.0):
            _, grad, by_radius = objective.circle_block_objective(angles, radius, weight_matrix(8, 1, "real"), 0.05)
            assert np.isfinite(grad).all()
            assert np.isfinite(by_radius)


@given(st.integers(3, 20), st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 0.55, 3.0]), st.floats(0.1, 12.0))
def test_fast_rows_and_rows_in_logs_agree(n, seed, tau, radius):
    rng = np.random.default_rng(seed)
    W = weight_matrix(n, seed, "zeros")
    depth, _ = kernels.circle_depths(rng.uniform(0, 6.3, n), radius)
    depth *= min(1.0, 0.99 * kernels.MAX_SPAN * tau / max(np.ptp(depth), 1e-9))
    grad, rows = np.zeros((n, n)), np.zeros(n)
    kernels.block_rows_in_logs(depth, W, np.ones(n), tau, 0, 1, grad, rows)
    value, fast = objective.block_objective(depth, W, tau)
    assert_allclose(fast, grad, atol=1e-12 * (np.abs(grad).max() + 1e-300))
    assert_allclose(value, (n - 2) * np.triu(W).sum() - rows.sum(), rtol=1e-9, atol=1e-12)


def test_a_block_far_beyond_the_range_of_float64_is_exact():
    depths = np.array([[0, 900.0, 0.0, 3.0], [0, 0, 0.0, 3.2], [0, 0, 0, 3.1], [0, 0, 0, 0]])
    W = weight_matrix(4, 0, "real")
    ijk, w = all_triplets(W)
    three = np.column_stack([depths[ijk[:, a], ijk[:, b]] for a, b in ((0, 1), (0, 2), (1, 2))])
    values, slopes = objective.triplet_terms(three, w, 0.5, np.zeros(4))
    value, grad = objective.block_objective(depths, W, 0.5)
    expected = np.zeros((4, 4))
    for t, (i, j, k) in enumerate(ijk):
        expected[i, j] += slopes[t, 0]
        expected[i, k] += slopes[t, 1]
        expected[j, k] += slopes[t, 2]
    assert_allclose(value, values.sum(), rtol=1e-12)
    assert_allclose(grad, expected, atol=1e-13)


def test_float32_input_gives_the_value_of_its_float64_copy():
    angles = np.random.default_rng(0).uniform(0, 6, 12).astype(np.float32)
    W = weight_matrix(12, 0, "real").astype(np.float32)
    for tau in (0.5, 0.01):
        low = objective.circle_block_objective(angles, 8.0, W, tau)
        high = objective.circle_block_objective(angles.astype(np.float64), 8.0, W.astype(np.float64), tau)
        assert low[0] == high[0]
        assert np.array_equal(low[1], high[1])
    Z = on_circle(angles, 2.0).astype(np.float32)
    ijk, w = all_triplets(W)
    assert (
        objective.triplet_objective(Z, ijk, w, 0.1)[0] == objective.triplet_objective(Z.astype(float), ijk, w, 0.1)[0]
    )


def test_threads_do_not_change_a_bit():
    from concurrent.futures import ThreadPoolExecutor

    n = objective.MIN_SHARED_BLOCK
    angles, W = np.random.default_rng(0).uniform(0, 6, n), weight_matrix(n, 0, "real")
    alone = objective.circle_block_objective(angles, 5.0, W, 0.5)
    with ThreadPoolExecutor(2) as pool:
        together = objective.circle_block_objective(angles, 5.0, W, 0.5, mapping=pool.map)
    assert alone[0] == together[0]
    assert np.array_equal(alone[1], together[1])


@pytest.mark.parametrize("angles", [4.0 ** -np.arange(8), [0.0, 1.0, 0.1, 1.1, 0.01, 1.01, 0.11, 1.11]])
def test_as_the_temperature_falls_the_cost_of_a_tree_like_embedding_becomes_that_of_its_tree(angles):
    angles = np.array(angles)
    W = weight_matrix(8, 0, "real")
    value, _, _ = objective.circle_block_objective(angles, 12.0, W, 1e-3)
    expected = dasgupta_cost(decode(on_circle(angles, 12.0)), W)
    assert_allclose(value + 2 * np.triu(W).sum(), expected, rtol=1e-12)


def test_a_leaf_of_size_two_counts_as_two_points_in_one_place():
    rng = np.random.default_rng(1)
    angles, W = rng.uniform(0, 6, 6), weight_matrix(6, 0, "real")
    W[0, 5] = W[5, 0] = 0.0  # leaves 0 and 5 are one place
    W[5, 1:5] = W[1:5, 5] = W[0, 1:5]
    angles[5] = angles[0]
    merged = W[:5, :5].copy()
    merged[0] *= 2
    merged[:, 0] *= 2
    sizes = np.array([2.0, 1, 1, 1, 1])
    _, apart, _ = objective.circle_block_objective(angles, 9.0, W, 0.02)
    _, together, _ = objective.circle_block_objective(angles[:5], 9.0, merged, 0.02, sizes=sizes)
    # triplets with both copies hold no information on the others while the copies lie together
    inner_ijk, inner_w = zip(*[((0, 5, k), (0.0, W[0, k], W[5, k])) for k in range(1, 5)], strict=True)
    _, inner, _ = objective.circle_triplet_objective(angles, 9.0, inner_ijk, inner_w, 0.02)
    assert_allclose(together[1:], (apart - inner)[1:5], atol=1e-12 * np.abs(apart).max())
    assert_allclose(together[0], (apart - inner)[0] + (apart - inner)[5], atol=1e-12 * np.abs(apart).max())


@pytest.mark.parametrize("sizes", [None, np.arange(1.0, 8.0)])
def test_mean_over_all_blocks_is_the_full_loss_and_gradient(sizes):
    n, b = 7, 4
    angles, W = np.random.default_rng(2).uniform(0, 6, n), weight_matrix(n, 3, "real")
    full, grad, slope = objective.circle_block_objective(angles, 3.0, W, 0.4, sizes=sizes)
    value, mean, by_radius = 0.0, np.zeros(n), 0.0
    for block in combinations(range(n), b):
        at = np.array(block)
        s = None if sizes is None else sizes[at]
        v, g, r = objective.circle_block_objective(angles[at], 3.0, W[np.ix_(at, at)], 0.4, sizes=s)
        scale = comb(n, 3) / comb(b, 3) / comb(n, b)
        value, by_radius = value + scale * v, by_radius + scale * r
        mean[at] += scale * g
    assert_allclose(value, full, rtol=1e-12)
    assert_allclose(mean, grad, atol=1e-12 * np.abs(grad).max())
    assert_allclose(by_radius, slope, rtol=1e-11)


class EveryPermutation:
    """Stands for a random generator that goes through all permutations."""

    def __init__(self, n: int) -> None:
        from itertools import permutations

        self.left = [np.array(p) for p in permutations(range(n))]

    def permutation(self, n: int) -> np.ndarray:
        return self.left.pop()


def test_mean_over_all_partitions_is_the_full_loss_and_gradient():
    n = 7
    angles, W = np.random.default_rng(2).uniform(0, 6, n), weight_matrix(n, 3, "real")
    full, grad, _ = objective.circle_block_objective(angles, 3.0, W, 0.4)
    blocks, rng = sampling.Blocks(Dense(W), 4, 0.0, map), EveryPermutation(n)
    seen = [blocks(Circle(), angles, 3.0, 0.4, rng) for _ in range(len(rng.left))]
    assert_allclose(np.mean([e.value for e in seen]), full, rtol=1e-11)
    assert_allclose(np.mean([e.grad for e in seen], axis=0), grad, atol=1e-11 * np.abs(grad).max())


@pytest.mark.parametrize("n", [3, 4, 7, 8, 21])
def test_weights_of_third_points_are_inverse_expected_draws(n):
    """Each k ≠ i, j is drawn 1/weight times a step on average, by the far and the near draw together."""
    m = 200_000
    order = np.random.default_rng(n).permutation(n)
    circular = edge_steps.Circular(order, np.argsort(order), *sampling.near_probabilities(n))
    i, j = np.full(m, order[0]), np.full(m, order[n // 3])
    thirds, weights = edge_steps.weighted_third_points(i, j, circular, 12345)
    assert ((weights == 0) == ((thirds == i[0]) | (thirds == j[0]))).all()
    for k in set(range(n)) - {int(i[0]), int(j[0])}:
        weight = np.unique(weights[thirds == k])
        assert len(weight) == 1
        assert_allclose(np.sum(thirds == k) / m * weight[0], 1.0, rtol=0.03)


def test_edge_estimator_is_unbiased():
    """Averaged over many draws, the edges' triplets give the exact loss and gradient."""
    n = 6
    W = weight_matrix(n, 1, "zeros") + weight_matrix(n, 2, "zeros")
    angles, rng = np.random.default_rng(0).uniform(0, 6, n), np.random.default_rng(1)
    full, grad, _ = objective.circle_block_objective(angles, 2.0, W, 0.5)
    edges = sampling.Edges(as_similarity(sp.csr_array(W), "precomputed"), 0.0, map)
    seen = [edges(Circle(), angles, 2.0, 0.5, rng) for _ in range(3000)]
    assert_allclose(np.mean([e.value for e in seen]), full, rtol=2e-2)
    assert_allclose(np.mean([e.grad for e in seen], axis=0), grad, atol=5e-2 * np.abs(grad).max())


def test_edges_with_every_third_point_sum_to_the_exact_loss():
    """The identity behind the edge estimator: C = Σ_{edges} w Σ_k (1 − p)."""
    n = 7
    W = weight_matrix(n, 2, "zeros") + weight_matrix(n, 5, "zeros")
    angles = np.random.default_rng(0).uniform(0, 6, n)
    full, grad, slope = objective.circle_block_objective(angles, 2.0, W, 0.5)
    ijk = np.array([(i, j, k) for i, j in combinations(range(n), 2) if W[i, j] for k in range(n) if k not in (i, j)])
    w = np.zeros((len(ijk), 3))
    w[:, 0] = W[ijk[:, 0], ijk[:, 1]]
    value, mean, by_radius = objective.circle_triplet_objective(angles, 2.0, ijk, w, 0.5)
    assert_allclose(value, full, rtol=1e-12)
    assert_allclose(mean, grad, atol=1e-12 * np.abs(grad).max())
    assert_allclose(by_radius, slope, rtol=1e-11)


def test_pair_numbers_are_right_where_square_roots_round():
    j = np.array([2, 3, 94906267, 2**31 + 11])
    for extra in (0, 1):
        i = np.where(extra, j - 1, 0)
        assert [x.tolist() for x in sampling.pair_of_number(j * (j - 1) // 2 + i)] == [i.tolist(), j.tolist()]


@pytest.mark.parametrize("chart", [Circle(), Sphere(), Ball()])
def test_every_chart_returns_the_slopes_of_its_loss(chart):
    rng = np.random.default_rng(0)
    n, dim = 6, 3 if isinstance(chart, Sphere) else 2
    params = rng.uniform(0, 6, n) if isinstance(chart, Circle) else 0.3 * rng.normal(size=(n, dim))
    if isinstance(chart, Sphere):
        params /= np.linalg.norm(params, axis=1, keepdims=True)
    W = weight_matrix(n, 1, "real")
    ijk, w = all_triplets(W)
    value, grad, slope = chart.block(params, 2.0, W, 0.5, None, 0.0, map)
    for v, g, r in [chart.triplets(params, 2.0, ijk, w, 0.5, np.zeros(len(ijk)), map)]:
        assert_allclose(v, value, rtol=1e-11)
        assert_allclose(g, grad, atol=1e-10 * np.abs(grad).max())
        assert_allclose(r, slope, rtol=1e-9)

    def at(moved, radius=2.0):
        return chart.block(chart.move(params, moved - params), radius, W, 0.5, None, 0.0, map)[0]

    if isinstance(chart, Sphere):  # only tangent directions mean anything
        tangent = chart.gradient(params, rng.normal(size=params.shape))
        slopes = (at(params + 1e-6 * tangent) - at(params - 1e-6 * tangent)) / 2e-6
        assert_allclose(np.sum(grad * tangent), slopes, rtol=1e-6)
    else:
        # the exponential map of the ball has the derivative 1 (up to the factor that keeps steps inside it)
        assert_allclose(grad, differences(at, params), rtol=1e-4, atol=1e-5)
    if chart.has_radius:
        assert_allclose(slope, (at(params, 2.0 + 1e-6) - at(params, 2.0 - 1e-6)) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: objective.circle_block_objective([0, 1, 2], 1.0, np.ones((3, 3)), 0.0), "temperature=0.0"),
        (lambda: objective.circle_block_objective([0, 1, 2], -1.0, np.ones((3, 3)), 0.5), "radius=-1.0"),
        (lambda: objective.circle_block_objective([0, np.nan, 2], 1.0, np.ones((3, 3)), 0.5), "angles"),
        (lambda: objective.block_objective(np.ones((3, 3)), np.ones((2, 2)), 0.5), r"weights \(2, 2\)"),
        (lambda: objective.circle_triplet_objective([0, 1, 2], 1.0, [[0, 1, 1]], np.ones((1, 3)), 0.5), "repeats"),
        (lambda: objective.circle_triplet_objective([0, 1, 2], 1.0, [[0, 1, 3]], np.ones((1, 3)), 0.5), "0 to 2"),
        (lambda: objective.triplet_objective(np.zeros((3, 2)), [[0, 1, 2]], np.ones((2, 3)), 0.5), "weights for 2"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
