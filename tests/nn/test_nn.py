"""The torch side: agrees with NumPy and numba, its gradients are slopes, it survives the boundary, dtypes, compilation."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import as_similarity, dasgupta_cost, datasets, decode, geometry
from hyphc.continuous import objective
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="needs the extra torch")
geoopt = pytest.importorskip("geoopt", reason="needs the extra torch")

from hyphc import nn  # noqa: E402
from hyphc.nn import blocks  # noqa: E402
from hyphc.nn.logistic import hyperbolic_scores  # noqa: E402

from strategies import weight_matrix  # noqa: E402

DTYPES = (torch.float32, torch.float64)


def points(n: int, dim: int, radius: float, seed: int, *, one_radius: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, dim))
    share = 1.0 if one_radius else rng.uniform(0.4, 1.0, size=(n, 1))
    return np.tanh(0.5 * radius * share) * z / np.linalg.norm(z, axis=1, keepdims=True)


def all_triplets(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ijk = np.array(list(combinations(range(len(W)), 3)))
    i, j, k = ijk.T
    return ijk, np.column_stack([W[i, j], W[i, k], W[j, k]])


def gradcheck(function, *inputs) -> bool:
    return torch.autograd.gradcheck(function, [x.requires_grad_() for x in inputs], eps=1e-6, atol=1e-5, rtol=1e-4)


# --- geometry


@pytest.mark.parametrize("radius", [0.5, 3.0, 8.0, 15.0])
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_depth_and_its_gradient_equal_the_numpy_reference(dim, radius):
    z = points(40, dim, radius, 0)
    x, y = (torch.tensor(part, requires_grad=True) for part in (z[:20], z[20:]))
    depth = nn.lca_depth(x, y)
    depth.sum().backward()
    value, by_x, by_y = geometry.lca_depth_and_grad(z[:20], z[20:])
    assert_allclose(depth.detach(), value, rtol=1e-12)
    for grad, reference, at in ((x.grad, by_x, z[:20]), (y.grad, by_y, z[20:])):
        alpha = 1 - np.sum(at**2, axis=1, keepdims=True)
        assert_allclose(grad.numpy() * alpha, reference * alpha, atol=1e-12)
    assert_allclose(nn.lca_point(x, y).detach(), geometry.lca_point(z[:20], z[20:]), atol=1e-13)


def test_float32_depths_are_right_for_the_rounded_points():
    z = points(60, 2, 10.0, 3, one_radius=True).astype(np.float32)
    depth = nn.lca_depth(torch.tensor(z[:30]), torch.tensor(z[30:]))
    assert depth.dtype == torch.float32
    assert_allclose(depth, geometry.lca_depth(z[:30], z[30:]), rtol=2e-5)


def test_where_there_is_no_derivative_the_gradient_is_the_documented_one():
    x = torch.tensor([[0.5, 0.0], [0.3, 0.0], [0.0, 0.0], [0.2, 0.0]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0.5, 0.0], [-0.3, 0.0], [0.4, 0.1], [0.6, 0.0]], dtype=torch.float64, requires_grad=True)
    depth = nn.lca_depth(x, y)
    depth.sum().backward()
    assert_allclose(depth.detach(), [2 * np.arctanh(0.5), 0, 0, 2 * np.arctanh(0.2)], atol=1e-15)
    assert_allclose(x.grad, [[1 / 0.75, 0], [0, 0], [0, 0], [2 / 0.96, 0]], atol=1e-14)
    assert_allclose(y.grad, [[1 / 0.75, 0], [0, 0], [0, 0], [0, 0]], atol=1e-14)


@pytest.mark.parametrize("dim", [2, 4])
def test_gradcheck_of_the_geometry(dim):
    x, y = (torch.tensor(points(6, dim, 2.0, seed)) for seed in (1, 2))
    assert gradcheck(nn.lca_depth, x, y)
    assert gradcheck(lambda a, b: nn.lca_depth(a[:, None], b[None]), x, y)
    assert gradcheck(nn.lca_point, x, y)


def test_a_second_derivative_is_an_error_not_a_wrong_number():
    x = torch.tensor([[0.5, 0.1]], requires_grad=True)
    (slope,) = torch.autograd.grad(nn.lca_depth(x, x.detach().flip(1)).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"once_differentiable|does not require grad"):
        slope.sum().backward()


def test_shapes_and_dtypes_of_points_are_checked():
    with pytest.raises(ValueError, match="one dimension"):
        nn.lca_depth(torch.zeros(3, 2), torch.zeros(3, 3))
    with pytest.raises(TypeError, match="floating-point"):
        nn.lca_depth(torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3, 2, dtype=torch.int64))


# --- loss


@pytest.mark.parametrize(("radius", "tau"), [(0.7, 0.3), (4.0, 0.5), (7.6, 0.05), (7.6, 0.01), (10.0, 0.5)])
@pytest.mark.parametrize("dim", [2, 3])
def test_triplets_blocks_numpy_and_numba_agree(dim, radius, tau):
    n = 12
    Z, W = points(n, dim, radius, 4, one_radius=True), weight_matrix(n, 5, "real")
    ijk, w = all_triplets(W)
    value, grad = objective.triplet_objective(Z, ijk, w, tau)  # NumPy
    compiled, by_point = objective.ball_block_objective(Z, W, tau)  # numba
    assert_allclose(compiled, value, rtol=1e-11)
    scale = np.abs(grad).max()
    loose = 1e-13 * np.exp(radius) / tau  # rounded coordinates place points no better
    for loss in (
        lambda z: nn.HypHCLoss(tau)(z, torch.tensor(ijk), torch.tensor(w)),
        lambda z: nn.HypHCLoss(tau).block(z, torch.tensor(W)),
    ):
        z = torch.tensor(Z, requires_grad=True)
        found = loss(z)
        found.backward()
        assert_allclose(found.item() * comb(n, 3), value, rtol=1e-11)
        assert_allclose(z.grad * comb(n, 3), grad, atol=loose * scale)
        assert_allclose(z.grad * comb(n, 3), by_point, atol=loose * scale)


def test_the_gradient_is_the_slope_of_differences():
    Z, W = points(7, 2, 3.0, 6), weight_matrix(7, 7, "real")
    z = torch.tensor(Z, requires_grad=True)
    nn.block_loss(z, torch.tensor(W), 0.4).backward()
    for index in np.ndindex(*Z.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = torch.tensor(Z)
            moved[index] += step
            ends.append(nn.block_loss(moved, torch.tensor(W), 0.4).item())
        assert_allclose(z.grad[index], (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("tau", [0.5, 0.004])  # the second needs exponentials relative to each triplet
def test_gradcheck_of_the_losses(tau):
    W = torch.tensor(weight_matrix(6, 8, "real"))
    z = torch.tensor(points(6, 2, 2.0 if tau > 0.1 else 5.0, 9))
    ijk, w = (torch.tensor(part) for part in all_triplets(W.numpy()))
    if tau > 0.1:
        assert gradcheck(lambda a, b: nn.triplet_loss(a, ijk, b, tau), z, w.clone())
        assert gradcheck(lambda a, b: nn.block_loss(a, b, tau), z, W.clone())
    else:  # differences across so sharp a softmax see nothing; its slopes are those of the triplets
        grads = []
        for loss in (lambda a: nn.triplet_loss(a, ijk, w, tau), lambda a: nn.block_loss(a, W, tau)):
            a = z.clone().requires_grad_()
            loss(a).backward()
            grads.append(a.grad)
        assert_allclose(grads[1], grads[0], rtol=1e-3, atol=1e-5 * grads[0].abs().max())


@settings(max_examples=30)
@given(st.integers(3, 9), st.integers(0, 1000), st.sampled_from([1.0, 0.1, 0.02, 0.005]), st.sampled_from(DTYPES))
def test_every_path_of_the_block_equals_the_definition(n, seed, tau, dtype):
    rng = np.random.default_rng(seed)
    depths = rng.uniform(0, 8, size=(n, n))
    depths, W = depths + depths.T, weight_matrix(n, seed, "real")
    value, slopes = objective.block_objective(depths, W, tau)
    d = torch.tensor(depths, dtype=dtype)[None].requires_grad_()
    w = torch.tensor(W, dtype=dtype)[None].requires_grad_()
    found = blocks.block_terms(d, w, tau)
    found.sum().backward()
    rtol = 1e-10 if dtype == torch.float64 else 2e-4
    assert_allclose(found.item(), value, rtol=rtol, atol=rtol)
    total = (d.grad + d.grad.mT)[0]  # both triangles stand for one depth
    assert_allclose(np.triu(total, 1), slopes, atol=rtol / tau * (1 + n))
    assert_allclose((w.grad * w).sum().item(), value, rtol=10 * rtol, atol=rtol)  # linear in the weights


def test_several_blocks_are_the_mean_of_each_and_chunks_change_nothing(monkeypatch):
    z = torch.tensor(np.stack([points(8, 2, 4.0, seed) for seed in range(5)]))
    W = torch.tensor(np.stack([weight_matrix(8, seed, "real") for seed in range(5)]))
    together = nn.block_loss(z, W, 0.3)
    each = torch.stack([nn.block_loss(z[b], W[b], 0.3) for b in range(5)]).mean()
    assert_allclose(together, each, rtol=1e-13)
    monkeypatch.setattr(blocks, "CHUNK", 130)
    assert_allclose(nn.block_loss(z, W, 0.3), each, rtol=1e-13)


def test_bad_input_of_the_loss_is_named():
    loss, z = nn.HypHCLoss(0.1), torch.zeros(4, 2)
    with pytest.raises(ValueError, match="temperature=0"):
        nn.HypHCLoss(0.0)
    with pytest.raises(ValueError, match="must agree"):
        loss(z, torch.zeros(5, 3, dtype=torch.int64), torch.zeros(4, 3))
    with pytest.raises(ValueError, match=r"pass \(T, 3\)"):
        loss(z, torch.zeros(5, 2, dtype=torch.int64), torch.zeros(5, 2))
    with pytest.raises(TypeError, match="integer"):
        loss(z, torch.zeros(5, 3), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="m >= 3"):
        loss.block(z[:2], torch.zeros(2, 2))


def calls(z: torch.Tensor) -> dict:
    """Everything that takes points of the ball, on z with its row 2 in use."""
    loss, W = nn.HypHCLoss(0.1), torch.ones(len(z), len(z), dtype=z.dtype)
    triplets, w = torch.tensor([[0, 1, 2]]), torch.ones(1, 3, dtype=z.dtype)
    head = nn.HyperbolicLogisticRegression(z.shape[1], 3, dtype=z.dtype, generator=torch.Generator().manual_seed(0))
    return {
        "triplet_loss": lambda a: loss(a, triplets, w),
        "block_loss": lambda a: loss.block(a, W),
        "lca_depth": lambda a: nn.lca_depth(a, torch.zeros_like(a)).sum(),
        "lca_point": lambda a: nn.lca_point(a, 0.5 * a.flip(0)).sum(),
        "logistic regression": lambda a: head(a).sum(),
    }


def with_a_point_of_norm(norm: float, dtype: torch.dtype) -> torch.Tensor:
    z = torch.tensor(points(4, 2, 1.0, 0), dtype=dtype)
    z[2] = torch.tensor([norm, 0.0], dtype=dtype)
    return z


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", [1.0, 1.2, 50.0, float("inf"), float("nan")])
def test_points_outside_the_ball_are_refused_with_their_index_and_norm(norm, dtype):
    z = with_a_point_of_norm(norm, dtype)
    for call in calls(z).values():
        with pytest.raises(ValueError, match=rf"[xz]\[2\] has norm {norm:g}\d* .*ToBall"):
            call(z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_points_just_inside_the_ball_are_taken(dtype):
    z = with_a_point_of_norm(float(np.nextafter(np.ones(1, dtype=str(dtype)[6:]), 0)[0]), dtype)
    for name, call in calls(z).items():
        assert torch.isfinite(call(z)), name


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it traces a torch.autograd.Function
@pytest.mark.parametrize("norm", [1.0, 1.2, float("nan")])
def test_compiled_losses_of_points_outside_the_ball_are_nan_and_so_are_their_gradients(norm):
    z = with_a_point_of_norm(norm, torch.float64)
    for name, call in calls(z).items():
        leaf = z.clone().requires_grad_()
        value = torch.compile(call, backend="eager")(leaf)
        assert torch.isnan(value), name
        assert torch.isnan(torch.autograd.grad(value, leaf)[0][2]).any(), name


def test_a_point_outside_the_ball_is_nan_in_vmap_and_others_are_not_touched():
    z = with_a_point_of_norm(1.2, torch.float64)
    found = torch.vmap(nn.lca_point)(z, 0.5 * torch.roll(z, 1, 0))
    assert torch.isnan(found).all(dim=1).tolist() == [False, False, True, False]


def test_half_precision_is_computed_in_float32():
    z = torch.tensor(points(6, 2, 1.0, 1)).to(torch.float16)
    W = torch.tensor(weight_matrix(6, 1, "real"))
    assert_allclose(nn.block_loss(z, W, 0.5), nn.block_loss(z.float(), W, 0.5), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it traces a torch.autograd.Function
@pytest.mark.skipif(shutil.which("c++") is None and shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_the_losses_compile_without_graph_breaks(backend):
    z = torch.tensor(points(8, 2, 3.0, 2), requires_grad=True)
    W = torch.tensor(weight_matrix(8, 3, "real"))
    ijk, w = (torch.tensor(part) for part in all_triplets(W.numpy()))
    loss = nn.HypHCLoss(0.3)
    for function in (lambda a: loss(a, ijk, w), lambda a: loss.block(a, W)):
        expected = torch.autograd.grad(function(z), z)[0]
        compiled = torch.compile(function, fullgraph=True, backend=backend)
        found = torch.autograd.grad(compiled(z), z)[0]
        assert_allclose(found, expected, atol=1e-11)


# --- embeddings


@pytest.mark.parametrize("mode", ["normalised", "learned", "free"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_leaves_round_trip_through_state_dict_and_decode(mode, dtype):
    made = [
        nn.LeafEmbedding(9, mode=mode, radius=4.0, dtype=dtype, generator=torch.Generator().manual_seed(seed))
        for seed in (0, 1)
    ]
    assert not torch.equal(made[0](), made[1]())
    made[1].load_state_dict(made[0].state_dict())
    assert torch.equal(made[0](), made[1]())
    assert made[0]().dtype == dtype
    assert made[0].decode() == made[1].decode() == decode(made[0].positions())
    assert_allclose(made[0].positions(), made[0]().detach(), atol=1e-6)


@pytest.mark.parametrize("mode", ["normalised", "learned", "free"])
def test_every_map_to_the_ball_stays_inside_and_passes_gradcheck(mode):
    to_ball = nn.ToBall(mode, radius=3.0).double()
    v = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert gradcheck(to_ball, v)
    far = to_ball(1e6 * v.detach())
    assert (torch.linalg.vector_norm(far, dim=1) <= np.tanh(1.5) + 1e-6).all()
    assert torch.equal(to_ball(torch.zeros(1, 3, dtype=torch.float64)), torch.zeros(1, 3, dtype=torch.float64))


def test_a_radius_that_is_assigned_is_checked_like_the_first():
    for radius in (0.0, -1.0, 31.0, float("nan")):
        with pytest.raises(ValueError, match=rf"radius={radius} must lie in \(0, 30\]"):
            nn.ToBall().set_radius(radius)


def test_bad_settings_of_embeddings_are_named():
    with pytest.raises(ValueError, match="mode='round'"):
        nn.ToBall("round")
    with pytest.raises(ValueError, match="radius=31"):
        nn.ToBall(radius=31.0)
    with pytest.raises(ValueError, match="dim=1"):
        nn.LeafEmbedding(5, 1)


def test_an_encoder_places_unseen_points_and_keeps_its_mode():
    torch.manual_seed(0)
    encoder = nn.BallEncoder(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)))
    features = torch.randn(7, 4)
    assert encoder.decode(features) == encoder.decode(features)
    assert encoder.training
    assert encoder(features).shape == (7, 2)


@pytest.mark.parametrize("n_steps", [100, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_training_at_the_largest_radius_stays_finite(dtype, n_steps):
    n = 6
    W = torch.tensor(weight_matrix(n, 3, "real"), dtype=dtype)
    bound = nn.MAX_RADIUS[dtype]
    leaves = nn.LeafEmbedding(n, radius=bound, dtype=dtype, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        leaves.leaves[1] = leaves.leaves[0]  # coincident leaves, where the depth has a kink
    optimiser = geoopt.optim.RiemannianAdam([leaves.leaves], lr=0.05)
    finite = torch.tensor(True)
    widest = torch.tensor(0.0, dtype=dtype)
    for _ in range(n_steps):
        z = leaves()
        widest = torch.maximum(widest, torch.linalg.vector_norm(z.detach(), dim=1).max())
        optimiser.zero_grad()
        nn.block_loss(z, W, 0.5).backward()
        finite &= torch.isfinite(leaves.leaves.grad).all()
        optimiser.step()
    assert finite
    assert widest < 1.0
    assert torch.isfinite(leaves()).all()
    assert leaves.decode().n_leaves == n


# --- hyperbolic logistic regression


def test_scores_equal_the_formula_with_the_mobius_sum():
    ball = geoopt.PoincareBall()
    x, p = (torch.tensor(points(4, 3, 2.0, seed)) for seed in (1, 2))
    a = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moved = ball.mobius_add(-p[None].expand(4, 4, 3), x[:, None].expand(4, 4, 3))
    norm = a.norm(dim=1)
    expected = 2 * norm * torch.asinh(2 * (moved * a).sum(-1) / ((1 - moved.square().sum(-1)) * norm))
    assert_allclose(hyperbolic_scores(x, p, a), expected, rtol=1e-11)
    assert gradcheck(hyperbolic_scores, x, p, a)


def test_scores_are_distances_to_the_hyperplane_also_at_the_boundary():
    # through the origin with normal e_1 the signed distance of (tanh(ρ/2), 0) is ρ
    p, a = torch.zeros(1, 2, dtype=torch.float64), torch.tensor([[0.5, 0.0]], dtype=torch.float64)
    for rho in (0.1, 5.0, 20.0, 30.0):
        x = torch.tensor([[np.tanh(rho / 2), 0.0]])
        exact = geometry.distance_to_origin(x.numpy())[0]  # of the rounded point
        assert_allclose(hyperbolic_scores(x, p, a).item(), exact, rtol=1e-12)
    p = torch.tensor([[np.tanh(10.0), 0.0]])
    assert_allclose(hyperbolic_scores(p.clone(), p, a).item(), 0.0, atol=1e-12)


def test_a_regression_learns_arcs_and_round_trips():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    z = torch.tensor(0.99 * np.column_stack([np.cos(angles), np.sin(angles)]))
    y = torch.tensor((np.arange(60) // 20) % 3)
    head = nn.HyperbolicLogisticRegression(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    optimiser = geoopt.optim.RiemannianAdam(head.parameters(), lr=0.1)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(head(z), y).backward()
        optimiser.step()
    assert (head(z).argmax(1) == y).double().mean() > 0.95
    other = nn.HyperbolicLogisticRegression(2, 3, dtype=torch.float64)
    other.load_state_dict(head.state_dict())
    assert torch.equal(head(z), other(z))
    with pytest.raises(ValueError, match="2 coordinates"):
        head(torch.zeros(3, 5))


# --- samplers


@settings(max_examples=30)
@given(st.integers(3, 30), st.integers(0, 100))
def test_no_triplet_repeats_a_point(n, seed):
    W = weight_matrix(n, seed, "real")
    triplets, similarities = nn.TripletSampler(W, random_state=seed)(200)
    graph = sp.csr_array(W)
    edges, _ = nn.EdgeSampler(as_similarity(graph, "precomputed"), random_state=seed)(200)
    for ijk in (triplets, edges):
        assert ijk.min() >= 0
        assert ijk.max() < n
        assert ((ijk[:, 0] != ijk[:, 1]) & (ijk[:, 0] != ijk[:, 2]) & (ijk[:, 1] != ijk[:, 2])).all()
    i, j, k = triplets.numpy().T
    assert_allclose(similarities, np.column_stack([W[i, j], W[i, k], W[j, k]]), rtol=1e-6)


@settings(max_examples=30)
@given(st.integers(3, 25), st.integers(0, 50), st.sampled_from([7, 64]))
def test_an_epoch_of_pairs_visits_each_pair_once(n, seed, batch):
    sampler = nn.PairSampler(weight_matrix(n, seed, "real"), random_state=seed)
    ijk = torch.cat([triplets for triplets, _ in sampler.epoch(batch)])
    assert len(ijk) == comb(n, 2)
    assert {tuple(row) for row in ijk[:, :2].tolist()} == set(combinations(range(n), 2))
    assert ((ijk[:, 2] != ijk[:, 0]) & (ijk[:, 2] != ijk[:, 1])).all()


def test_third_points_and_triplets_are_uniform():
    triplets, _ = nn.TripletSampler(np.ones((5, 5)), random_state=0)(60_000)
    counts = np.unique(np.sort(triplets.numpy(), axis=1), axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert_allclose(counts, 6000, rtol=0.06)


def test_edges_and_blocks_estimate_the_mean_over_all_triplets():
    n, tau = 12, 0.3
    W = weight_matrix(n, 11, "sparse")
    z = torch.tensor(points(n, 2, 3.0, 12, one_radius=True))
    exact = nn.block_loss(z, torch.tensor(W), tau).item()
    edges, weights = nn.EdgeSampler(sp.csr_array(W), random_state=1, dtype=torch.float64)(200_000)
    assert_allclose(nn.triplet_loss(z, edges, weights, tau).item(), exact, rtol=0.02)
    sampler = nn.BlockSampler(W, 5, random_state=2, dtype=torch.float64)
    found = []
    for _ in range(300):
        index, block = sampler()
        found.append(nn.block_loss(z[index], block, tau).item())
    assert index.shape == (3, 4)
    assert_allclose(np.mean(found), exact, rtol=0.08)


def test_samplers_of_a_million_points_hold_no_pairs():
    X = np.ones((1_000_000, 1))
    sampler = nn.PairSampler(as_similarity(X, "cosine"), random_state=0)
    triplets, similarities = next(sampler.epoch(256))
    assert triplets.shape == similarities.shape == (256, 3)
    assert triplets.max() < 1_000_000


def test_bad_input_of_samplers_is_named():
    with pytest.raises(ValueError, match="no triplets"):
        nn.TripletSampler(np.ones((2, 2)))
    with pytest.raises(ValueError, match="takes a graph"):
        nn.EdgeSampler(np.ones((4, 4)))
    with pytest.raises(ValueError, match="no edges"):
        nn.EdgeSampler(sp.csr_array((4, 4)))
    with pytest.raises(ValueError, match="block_size=2"):
        nn.BlockSampler(np.ones((4, 4)), 2)


# --- training and importing


@pytest.mark.slow
def test_the_papers_settings_reach_its_cost_on_zoo(needs_data):
    """50 epochs of all pairs, a learned radius, a rate and a temperature of its grid; it does not state its batches."""
    similarity = datasets.paper_similarity("zoo")
    generator = torch.Generator().manual_seed(0)
    leaves = nn.LeafEmbedding(101, mode="learned", radius=7.6, dtype=torch.float64, generator=generator)
    sampler = nn.PairSampler(similarity, random_state=0, dtype=torch.float64)
    loss = nn.HypHCLoss(temperature=0.01)
    optimiser = geoopt.optim.RiemannianAdam(leaves.parameters(), lr=1e-3)
    best = np.inf
    for _ in range(50):
        for triplets, similarities in sampler.epoch(64):
            optimiser.zero_grad()
            loss(leaves(), triplets, similarities).backward()
            optimiser.step()
        best = min(best, dasgupta_cost(leaves.decode(), similarity, units="ordered"))
    assert best <= 2.810e5


def test_without_torch_the_import_says_what_to_install():
    code = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'")
sys.meta_path.insert(0, Missing())
import hyphc
hyphc.HypHC
try:
    import hyphc.nn
except ImportError as error:
    print(error)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install hyphc[torch]" in printed
