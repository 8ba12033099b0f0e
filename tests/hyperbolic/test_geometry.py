"""Laws of the Poincaré ball, and every digit against arbitrary precision on the same float coordinates."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hyphc import geometry
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(1, 5)


def cloud(seed: int, n: int, dim: int, rho_max: float = 6.0) -> np.ndarray:
    """n points in all directions, of radius up to rho_max."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((n, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.tanh(rng.uniform(0.0, rho_max, (n, 1)) / 2) * directions


# Definitions in 120 digits, in a context of their own, by the textbook formulas that cancel.
mp = mpmath.MPContext()
mp.dps = 120


def exact(z: np.ndarray) -> mp.matrix:
    return mp.matrix([mp.mpf(float(c)) for c in z])


def inner(a: mp.matrix, b: mp.matrix) -> mp.mpf:
    return mp.fsum(p * q for p, q in zip(a, b, strict=True))


def exact_radius(a: mp.matrix) -> mp.mpf:
    return 2 * mp.atanh(mp.sqrt(inner(a, a)))


def exact_distance(a: mp.matrix, b: mp.matrix) -> mp.mpf:
    return mp.acosh(1 + 2 * inner(a - b, a - b) / ((1 - inner(a, a)) * (1 - inner(b, b))))


def exact_gromov(a: mp.matrix, b: mp.matrix) -> mp.mpf:
    return (exact_radius(a) + exact_radius(b) - exact_distance(a, b)) / 2


def exact_depth(a: mp.matrix, b: mp.matrix) -> mp.mpf:
    """In the Klein model geodesics are chords: drop the perpendicular, but stay on the chord."""
    k, m = (2 * c / (1 + inner(c, c)) for c in (a, b))
    chord = inner(m - k, m - k)
    t = min(max(inner(k, k - m) / chord, mp.mpf(0)), mp.mpf(1)) if chord else mp.mpf(0)
    foot = k + t * (m - k)
    return mp.atanh(mp.sqrt(inner(foot, foot)))


def hard_pairs(dim: int, rho: float, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs with a point at radius rho: generic, nearly equal, nearly aligned, nearly opposite, near the origin."""
    rng = np.random.default_rng(seed)

    def at(radius: float, v: np.ndarray) -> np.ndarray:
        return np.tanh(radius / 2) * v / np.linalg.norm(v)

    u = rng.standard_normal(dim)
    pairs = [(at(rho, u), at(r, rng.standard_normal(dim))) for r in (1e-9, 0.3, rho / 2, rho)]
    for exponent in (-16, -12, -8, -4, -1):
        noise = 10.0**exponent * rng.standard_normal(dim)
        for sign in (1.0, -1.0):
            pairs += [(at(rho, u), at(r, sign * u + noise)) for r in (1e-9, rho / 2, rho)]
        pairs.append((at(rho, u), at(rho, u) * (1.0 - 10.0**exponent)))
    return pairs


@pytest.mark.parametrize("dim", [2, 3, 10])
@pytest.mark.parametrize("rho", [1e-200, 1e-6, 1.0, 7.6, 15.0, 25.0, 33.0])
def test_distances_depths_and_gromov_products_keep_twelve_digits(dim: int, rho: float) -> None:
    for x, y in hard_pairs(dim, rho, seed=dim):
        a, b = exact(x), exact(y)
        for computed, true, rtol in (
            (geometry.distance_to_origin(x), exact_radius(a), 1e-15),
            (geometry.distance(x, y), exact_distance(a, b), 1e-15),
            (geometry.lca_depth(x, y), exact_depth(a, b), 2e-15),
            (geometry.gromov_product(x, y), exact_gromov(a, b), 1e-13),
        ):
            # acosh(1 + u) of the oracle resolves sqrt(1e-120); e² ≈ 1e-32 is the stated floor of depths
            assert abs(mp.mpf(float(computed)) - true) <= rtol * abs(true) + mp.mpf(10) ** -32, (x, y)


@pytest.mark.parametrize("rho", [1e-3, 1.0, 15.0, 100.0, 700.0])
@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-17, 1e-8, 1e-3, 1.0, 3.0, np.pi - 1e-9, np.pi])
def test_depth_at_one_radius_keeps_twelve_digits_at_both_ends(angle: float, rho: float) -> None:
    with mp.workdps(700):
        true = mp.atanh(mp.tanh(mp.mpf(rho)) * mp.cos(mp.mpf(angle) / 2))
    assert abs(mp.mpf(float(geometry.depth_at_radius(angle, rho))) - true) <= 1e-15 * true


@settings(max_examples=50)
@given(seeds, dims)
def test_lca_depth_is_the_least_distance_to_the_origin_along_the_segment(seed: int, dim: int) -> None:
    x, y = cloud(seed, 2, dim)
    found = minimize_scalar(
        lambda t: geometry.distance_to_origin(geometry.geodesic(x, y, t)),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-12},
    )
    ends = geometry.distance_to_origin([x, y])
    # a minimum at an end, or the tip of a cone at the origin, is found to about the tolerance in t times D
    assert_allclose(geometry.lca_depth(x, y), min(found.fun, *ends), atol=1e-7)


@given(seeds, dims)
def test_lca_point_lies_on_the_segment_at_the_lca_depth(seed: int, dim: int) -> None:
    x, y = cloud(seed, 2, dim)
    p = geometry.lca_point(x, y)
    assert_allclose(geometry.distance(x, p) + geometry.distance(p, y), geometry.distance(x, y), rtol=1e-10)
    assert_allclose(geometry.distance_to_origin(p), geometry.lca_depth(x, y), rtol=1e-10, atol=1e-14)


def lemma_depth(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """The paper's Lemma, as printed: depth of the foot on the whole geodesic, alpha and theta."""
    r, s = np.linalg.norm(x), np.linalg.norm(y)
    theta = np.arccos(x @ y / (r * s))
    alpha = np.arctan((r * (s**2 + 1) / (s * (r**2 + 1)) - np.cos(theta)) / np.sin(theta))
    R = np.sqrt(((r**2 + 1) / (2 * r * np.cos(alpha))) ** 2 - 1)
    return 2 * np.arctanh(np.sqrt(R**2 + 1) - R), alpha, theta


@given(seeds)
def test_lca_depth_is_the_lemma_of_the_paper_where_the_foot_lies_inside_and_exceeds_it_elsewhere(
    seed: int,
) -> None:
    x, y = cloud(seed, 2, 2, rho_max=3.0)
    line, alpha, theta = lemma_depth(x, y)
    depth = geometry.lca_depth(x, y)
    if 0.0 <= alpha <= theta:
        assert_allclose(depth, line, rtol=1e-6)
    else:
        assert depth > line
        assert depth == min(geometry.distance_to_origin([x, y]))


@given(seeds, dims)
def test_lca_depth_agrees_with_the_klein_model(seed: int, dim: int) -> None:
    x, y = cloud(seed, 2, dim, rho_max=3.0)
    k, m = (2 * z / (1 + z @ z) for z in (x, y))
    if k @ (k - m) >= 0 and m @ (m - k) >= 0:
        wedge = max((k @ k) * (m @ m) - (k @ m) ** 2, 0.0)
        assert_allclose(np.tanh(geometry.lca_depth(x, y)), np.sqrt(wedge) / np.linalg.norm(k - m), rtol=1e-6, atol=1e-7)
    else:
        assert geometry.lca_depth(x, y) == min(geometry.distance_to_origin([x, y]))


@given(seeds, dims, st.floats(0.01, 6.0))
def test_points_of_one_radius_have_the_depth_of_their_angle(seed: int, dim: int, rho: float) -> None:
    x, y = np.tanh(rho / 2) * np.array([z / np.linalg.norm(z) for z in cloud(seed, 2, dim)])
    angle = 2 * np.arctan2(np.linalg.norm(x - y), np.linalg.norm(x + y))
    assert_allclose(geometry.lca_depth(x, y), geometry.depth_at_radius(angle, rho), rtol=1e-9, atol=1e-12)


def central_difference(f: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> np.ndarray:
    steps = 1e-6 * (1 - z @ z) * np.eye(len(z))
    ahead, behind = z + steps, z - steps
    return (f(ahead) - f(behind)) / np.diag(ahead - behind)  # near the boundary steps are visibly rounded


@pytest.mark.parametrize("name", ["distance", "lca_depth"])
@given(seeds, st.integers(2, 5), st.sampled_from([1.0, 6.0, 12.0]))
def test_gradients_agree_with_central_differences(name: str, seed: int, dim: int, rho_max: float) -> None:
    f = getattr(geometry, name)
    x, y = cloud(seed, 2, dim, rho_max)
    value, grad_x, grad_y = getattr(geometry, f"{name}_and_grad")(x, y)
    assert value == f(x, y)
    for z, grad, slice_of_f in ((x, grad_x, lambda z: f(z, y)), (y, grad_y, lambda z: f(x, z))):
        assert_allclose(grad, central_difference(slice_of_f, z), atol=1e-5 * 2 / (1 - z @ z))


def test_the_gradient_of_the_depth_covers_a_foot_inside_and_both_ends() -> None:
    inner_x, outer_y = np.array([0.3, 0.0]), np.array([0.9, 0.1])
    _, grad_x, grad_y = geometry.lca_depth_and_grad([inner_x, outer_y], [outer_y, inner_x])
    assert_allclose(grad_x[0], [2 / (1 - 0.09), 0.0], rtol=1e-15)
    assert_array_equal(grad_x[1], [0.0, 0.0])
    assert_array_equal(grad_y, grad_x[::-1])
    _, grad_x, grad_y = geometry.lca_depth_and_grad([0.3, 0.5], [-0.3, 0.5])
    assert (grad_x != 0).all()
    assert_allclose(grad_y, grad_x * [-1, 1], rtol=1e-14)


def test_gradients_where_there_is_none_are_the_documented_ones() -> None:
    x = np.array([0.3, 0.4])
    for grad in geometry.distance_and_grad(x, x)[1:]:
        assert_array_equal(grad, [0.0, 0.0])
    for grad in geometry.lca_depth_and_grad(x, x)[1:]:
        assert_allclose(grad, x / np.linalg.norm(x) / (1 - x @ x), rtol=1e-14)
    for y in (-x, 0 * x):
        for grad in geometry.lca_depth_and_grad(x, y)[1:]:
            assert_array_equal(grad, [0.0, 0.0])


@given(seeds, dims)
def test_mobius_translations_are_isometries_with_an_inverse(seed: int, dim: int) -> None:
    a, x, y = cloud(seed, 3, dim, rho_max=4.0)
    moved = geometry.mobius_add(a, [x, y])
    assert_allclose(geometry.distance(*moved), geometry.distance(x, y), rtol=1e-10, atol=1e-12)
    assert_allclose(geometry.mobius_add(-a, moved), [x, y], atol=1e-12)
    assert_allclose(geometry.distance_to_origin(moved), geometry.distance(-a, [x, y]), rtol=1e-10)
    assert_array_equal(geometry.mobius_add(a, -a), np.zeros(dim))


@given(seeds, dims)
def test_rotations_change_no_depth(seed: int, dim: int) -> None:
    x, y = cloud(seed, 2, dim)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
    for f in (geometry.distance, geometry.lca_depth, geometry.gromov_product):
        assert_allclose(f(Q @ x, Q @ y), f(x, y), rtol=1e-9, atol=1e-12)


@given(seeds, dims)
def test_exponential_and_logarithm_at_the_origin_are_inverse_and_double_the_norm(seed: int, dim: int) -> None:
    v = np.random.default_rng(seed).standard_normal((4, dim))
    assert_allclose(geometry.log_origin(geometry.exp_origin(v)), v, rtol=1e-10)
    assert_allclose(geometry.distance_to_origin(geometry.exp_origin(v)), 2 * np.linalg.norm(v, axis=1), rtol=1e-10)


@given(seeds, dims, st.sampled_from([0.1, 3.0, 20.0]))
def test_the_gromov_product_lies_between_the_depth_minus_log_2_and_the_depth(
    seed: int, dim: int, rho_max: float
) -> None:
    x, y = cloud(seed, 2, dim, rho_max)
    product, depth = geometry.gromov_product(x, y), geometry.lca_depth(x, y)
    assert product - 1e-13 <= depth <= product + np.log(2) + 1e-13


@given(seeds, dims, st.floats(0, 1))
def test_geodesic_points_divide_the_distance(seed: int, dim: int, t: float) -> None:
    x, y = cloud(seed, 2, dim)
    p, length = geometry.geodesic(x, y, t), geometry.distance(x, y)
    assert_allclose(geometry.distance([x, y], p), [t * length, (1 - t) * length], atol=1e-9)
    assert_allclose(geometry.geodesic(x, y, [0, 1]), [x, y], atol=1e-15)


@given(seeds, dims)
def test_distance_and_depth_are_symmetric(seed: int, dim: int) -> None:
    x, y = cloud(seed, 2, dim, rho_max=30.0)
    assert geometry.distance(x, y) == geometry.distance(y, x)
    assert_allclose(geometry.lca_depth(x, y), geometry.lca_depth(y, x), rtol=1e-15, atol=1e-31)
    assert_allclose(geometry.lca_point(x, y), geometry.lca_point(y, x), atol=1e-15)


@pytest.mark.parametrize("rho", [0.0, 1e-200, 1.0, 30.0])
def test_a_point_with_itself_and_with_the_origin(rho: float) -> None:
    x, o = np.tanh(rho / 2) * np.array([0.6, -0.8]), np.zeros(2)
    radius = geometry.distance_to_origin(x)
    assert geometry.distance(x, x) == 0.0
    assert geometry.distance(x, o) == radius
    assert geometry.lca_depth(x, x) == radius
    assert_allclose(geometry.gromov_product(x, x), radius, rtol=1e-14)
    assert geometry.lca_depth(x, o) == geometry.lca_depth(o, x) == geometry.gromov_product(x, o) == 0.0
    assert_array_equal(geometry.lca_point([x, x, o], [x, o, x]), [x, o, o])
    assert_allclose(geometry.geodesic(x, x, 0.3), x, rtol=1e-15)
    assert_allclose(geometry.exp_origin(geometry.log_origin(x)), x, rtol=1e-15)


def test_near_the_origin_the_ball_is_euclidean_and_does_not_underflow() -> None:
    x, y = np.array([3e-200, 0.0]), np.array([0.0, 4e-200])
    assert_allclose(geometry.distance(x, y), 1e-199, rtol=1e-15)
    assert_allclose(geometry.lca_depth(x, y), 4.8e-200, rtol=1e-15)
    assert_allclose(geometry.gromov_product(x, y), 2e-200, rtol=1e-14)


def test_leading_axes_broadcast_and_results_are_those_of_single_pairs() -> None:
    X, y = cloud(0, 12, 3).reshape(4, 3, 3), cloud(1, 3, 3)
    for f in (geometry.distance, geometry.lca_depth, geometry.gromov_product):
        assert_array_equal(f(X, y), [[f(X[i, j], y[j]) for j in range(3)] for i in range(4)])
    for f in (geometry.lca_point, geometry.mobius_add):
        assert_array_equal(f(X, y), [[f(X[i, j], y[j]) for j in range(3)] for i in range(4)])
    for f in (geometry.distance_and_grad, geometry.lca_depth_and_grad):
        assert [a.shape for a in f(X, y)] == [(4, 3), (4, 3, 3), (4, 3, 3)]
    assert geometry.geodesic(X, y, np.zeros((5, 1, 1))).shape == (5, 4, 3, 3)


def test_float32_points_are_computed_in_float64_and_left_alone() -> None:
    X = cloud(0, 6, 2).astype(np.float32)
    before = X.copy()
    depth = geometry.lca_depth(X[:3], X[3:])
    assert depth.dtype == np.float64
    assert_array_equal(depth, geometry.lca_depth(X[:3].astype(np.float64), X[3:].astype(np.float64)))
    assert_array_equal(X, before)


@pytest.mark.parametrize("bad", [[1.0, 0.0], [0.8, 0.7], [np.nan, 0.0], [0.0, np.inf], [1e300, 0.0]])
def test_the_first_point_outside_the_ball_is_named(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"y\[1, 0\] = .* is not a finite point of norm below 1"):
        geometry.lca_depth(np.zeros(2), [[[0.0, 0.0]], [bad], [bad]])
    with pytest.raises(ValueError, match=r"^x = "):
        geometry.distance_to_origin(bad)


def test_the_edge_of_the_ball_is_found_to_the_last_bit() -> None:
    inside, outside = [0.6, np.nextafter(0.8, 0)], [np.nextafter(0.6, 1), np.nextafter(0.8, 1)]
    assert geometry.distance_to_origin(inside) > 35
    with pytest.raises(ValueError, match="norm below 1"):
        geometry.distance_to_origin(outside)


def test_arguments_outside_their_domain_get_an_error() -> None:
    x = [0.5, 0.0]
    with pytest.raises(ValueError, match=r"shape \(\)"):
        geometry.distance_to_origin(0.5)
    with pytest.raises(ValueError, match=r"shape \(3, 0\)"):
        geometry.distance_to_origin(np.empty((3, 0)))
    with pytest.raises(ValueError, match="x has 2 coordinates and y 3"):
        geometry.distance(x, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="t must lie between 0 and 1"):
        geometry.geodesic(x, x, [0.5, 1.5])
    with pytest.raises(ValueError, match="angle must lie"):
        geometry.depth_at_radius(3.2, 1.0)
    with pytest.raises(ValueError, match="rho must lie"):
        geometry.depth_at_radius(1.0, np.nan)
    with pytest.raises(ValueError, match="result of exp_origin"):
        geometry.exp_origin([40.0, 0.0])
    with pytest.raises(ValueError, match=r"v\[0\] is inf"):
        geometry.exp_origin([np.inf, 0.0])
    with pytest.raises(ValueError, match="result of mobius_add"):
        geometry.mobius_add([1 - 1e-10, 0.0], [1 - 1e-10, 0.0])
