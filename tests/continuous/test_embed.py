"""`embed`: reproducible, keeps the best it saw, takes any kind of similarity, start and chart."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, baselines, dasgupta_cost, decode, embed
from hyphc._kernels.continuous.adam import BETA1, BETA2
from hyphc._runtime.progress import Progress
from hyphc._runtime.run_control import Clock
from hyphc.continuous.adam import RiemannianAdam
from hyphc.continuous.descent import Monitor
from hyphc.continuous.manifolds import Ball, Circle, Sphere
from hyphc.continuous.solver import EmbedResult
from hyphc.hyperbolic.geometry import distance
from hyphc.similarity import Features, Similarity
from hyphc.similarity.scaling import unit_rows
from numpy.testing import assert_allclose

from strategies import chain, similarity_of_kind, weight_matrix


def groups(n: int = 40, seed: int = 0) -> Features:
    """Four groups of points, two and two near each other."""
    rng = np.random.default_rng(seed)
    centres = np.array([[1, 0.3, 0], [1, -0.3, 0], [-1, 0, 0.3], [-1, 0, -0.3]])
    rows = centres[np.arange(n) % 4] + 0.1 * rng.normal(size=(n, 3))
    return Features(unit_rows(rows), offset=0.5, scale=0.5)


def knn_graph(n: int = 60, seed: int = 0) -> Similarity:
    W = groups(n, seed).to_dense()
    return as_similarity(sp.csr_array(np.where(np.quantile(W, 0.9) < W, W, 0.0)), "precomputed")


def same(a: EmbedResult, b: EmbedResult) -> bool:
    return np.array_equal(a.embedding, b.embedding) and np.array_equal(a.loss_curve, b.loss_curve) and a.tree == b.tree


@pytest.mark.parametrize("kind", ["features", "dense", "graph", "blend"])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_the_embedding_decodes_to_the_tree_and_the_cost_is_its_cost(kind, n):
    similarity = similarity_of_kind(kind, n, 7)
    result = embed(similarity, max_iter=20, random_state=0)
    assert result.tree.n_leaves == n
    assert decode(result.embedding) == result.tree
    assert result.cost == dasgupta_cost(result.tree, similarity)
    assert result.embedding.shape == (n, 2)
    assert len(result.loss_curve) == result.n_iter == (20 if n > 2 else 0)  # two points have one tree


def test_planted_groups_are_found_at_the_cost_of_a_good_tree():
    similarity = groups()
    result = embed(similarity, random_state=0)
    labels = result.tree.cut(4)
    assert all(len(set(labels[g::4])) == 1 for g in range(4))
    assert result.cost < dasgupta_cost(baselines.single_linkage(similarity), similarity)
    assert result.cost < 1.0001 * dasgupta_cost(baselines.average_linkage(similarity), similarity)


@pytest.mark.parametrize(
    ("similarity", "options"),
    [
        (groups(170), {"max_iter": 6}),  # one block whose rows are shared out
        (groups(60), {"block_size": 16, "max_iter": 6}),
        (knn_graph(), {"max_iter": 30}),
        (groups(30), {"preset": "paper", "max_iter": 2}),
        (groups(30), {"n_components": 3, "max_iter": 5}),
        (groups(30), {"normalized": False, "max_iter": 5}),
    ],
)
def test_same_seed_same_result_for_any_number_of_threads(similarity, options):
    first = embed(similarity, random_state=3, n_jobs=1, **options)
    assert same(first, embed(similarity, random_state=3, n_jobs=2, **options))
    assert not np.array_equal(first.embedding, embed(similarity, random_state=4, **options).embedding)


def test_the_callers_generator_is_used_and_global_state_is_not():
    similarity = groups(20)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    a = embed(similarity, max_iter=3, random_state=np.random.default_rng(1))
    b = embed(similarity, max_iter=3, random_state=np.random.default_rng(1))
    embed(similarity, max_iter=3, random_state=np.random.RandomState(1))
    assert same(a, b)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_the_best_is_kept_as_a_copy():
    """Parameters changed in place after a good tree was seen do not reach the result."""
    similarity = groups(12)
    watch = Monitor(similarity, Clock())
    params = np.sort(np.random.default_rng(0).uniform(0, 6, 12))
    run = watch.begin(Circle(), params, 2.0, 10, 10**9)
    kept = run.embedding.copy()
    params[:] = 0.0
    assert np.array_equal(run.embedding, kept)
    points = np.tanh(np.random.default_rng(1).normal(size=(12, 2)) / 4)
    run = watch.begin(Ball(), points, 2.0, 10, 10**9)
    kept = run.embedding.copy()
    points[:] = 0.0
    assert np.array_equal(run.embedding, kept)


def test_the_tree_is_the_best_decoded_one_not_the_last():
    seen: list[float] = []
    result = embed(
        groups(30, 1), random_state=0, max_iter=60, callback=lambda progress: seen.append(progress.decoded_cost)
    )
    assert len(seen) == 60
    assert_allclose(result.cost, min(seen), rtol=1e-12)
    assert min(seen) < seen[-1]  # this seed's last tree is not its best


def test_a_callback_can_stop_the_run_and_sees_every_iteration():
    seen: list[Progress] = []

    def stop_at_five(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration == 4

    result = embed(groups(), random_state=0, callback=stop_at_five)
    assert [p.iteration for p in seen] == [0, 1, 2, 3, 4]
    assert result.n_iter == 5
    assert seen[0].embedding.shape == (40, 2)
    assert seen[-1].best_cost == min(p.best_cost for p in seen)


def test_an_interrupt_keeps_the_best_so_far():
    seen: list[float] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress.best_cost)
        if progress.iteration == 30:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="Interrupted"):
        result = embed(groups(), random_state=0, callback=interrupt)
    assert len(seen) == 31
    assert_allclose(result.cost, seen[-1], rtol=1e-12)


@pytest.mark.parametrize("options", [{"n_init": 3}, {"preset": "paper"}])
def test_a_stop_or_an_interrupt_ends_all_runs(options):
    for end in ("stop", "interrupt"):
        seen: list[int] = []

        def callback(progress: Progress, end: str = end, seen: list[int] = seen) -> bool:
            seen.append(progress.iteration)
            if end == "interrupt" and progress.iteration == 2:
                raise KeyboardInterrupt
            return progress.iteration == 2

        with pytest.warns(UserWarning, match="Interrupted") if end == "interrupt" else nullcontext():
            result = embed(groups(20), random_state=0, callback=callback, **options)
        # the nine runs of the grid go on together
        assert list(dict.fromkeys(seen)) == [0, 1, 2]
        assert seen.count(2) == 1
        assert result.n_iter == 3


def test_patience_ends_a_run_without_progress():
    assert embed(groups(), random_state=0, patience=5).n_iter < embed(groups(), random_state=0).n_iter == 600


@pytest.mark.parametrize("init", ["random", "pca", "spectral"])
def test_starts_differ_by_seed_and_work_for_features_and_matrices(init):
    for similarity in (groups(), as_similarity(groups().to_dense(), "precomputed")):
        results = [embed(similarity, init=init, max_iter=0, random_state=seed) for seed in (0, 1)]
        assert not np.array_equal(results[0].embedding, results[1].embedding)
        assert results[0].n_iter == 0
    if init != "pca":
        embed(knn_graph(), init=init, max_iter=0, random_state=0)


def test_principal_and_spectral_starts_separate_the_two_halves():
    for init in ("pca", "spectral"):
        angles = embed(groups(), init=init, max_iter=0, random_state=0).embedding
        right = angles[(np.arange(40) % 4) < 2].mean(axis=0)
        left = angles[(np.arange(40) % 4) >= 2].mean(axis=0)
        assert np.linalg.norm(right - left) > 0.3 * np.linalg.norm(angles[0])


def test_points_as_a_start_keep_their_directions():
    points = np.random.default_rng(0).normal(size=(40, 2))
    result = embed(groups(), init=points, max_iter=0)
    assert_allclose(np.arctan2(*result.embedding.T), np.arctan2(*points.T), atol=1e-12)


def test_a_tree_as_a_start_is_never_made_worse():
    similarity = groups()
    for tree in (baselines.average_linkage(similarity), chain(40)):
        cost = dasgupta_cost(tree, similarity)
        result = embed(similarity, init=tree, random_state=0)
        assert result.cost <= cost * (1 + 1e-12)
    assert result.cost < cost  # a chain leaves much to gain


def test_more_starts_are_never_worse():
    similarity = groups(30, 2)
    one = embed(similarity, max_iter=15, random_state=0)
    three = embed(similarity, max_iter=15, random_state=0, n_init=3)
    assert three.cost <= one.cost
    assert three.n_triplets == 3 * one.n_triplets


def test_a_budget_of_triplets_is_kept():
    for budget in (1_000, 100_000, 10_000_000):
        result = embed(groups(200), max_triplets=budget, random_state=0)
        one_pass = 200 * 16**2 // 6
        assert result.n_triplets <= max(budget, one_pass)
        assert result.n_iter >= 1


@pytest.mark.parametrize(
    "options", [{"n_components": 3}, {"normalized": False}, {"normalized": False, "n_components": 4}]
)
def test_higher_dimensions_and_free_points_improve_on_their_start(options):
    similarity = groups(24)
    start = embed(similarity, max_iter=0, random_state=0, **options)
    result = embed(similarity, max_iter=60, random_state=0, **options)
    assert result.cost < start.cost
    assert (np.linalg.norm(result.embedding, axis=1) < 1).all()
    assert decode(result.embedding) == result.tree
    if "normalized" not in options:
        assert np.ptp(np.linalg.norm(result.embedding, axis=1)) < 1e-12


def test_a_learned_radius_grows_within_its_bound():
    radii: list[float] = []
    embed(groups(), radius="learned", random_state=0, callback=lambda progress: radii.append(progress.radius))
    assert radii[0] == pytest.approx(1.0)
    assert 2.0 < radii[-1] <= 2 * np.arctanh(0.999) + 1e-9


def test_the_spread_penalty_spreads():
    """With a large penalty the depths of a triplet's LCAs differ more."""

    def mean_spread(penalty: float) -> float:
        from hyphc.hyperbolic.geometry import lca_depth

        result = embed(groups(12), radius=2.0, spread_penalty=penalty, random_state=0, max_iter=150)
        points = result.embedding
        rng = np.random.default_rng(0)
        ijk = np.array([rng.permutation(12)[:3] for _ in range(300)])
        depths = np.stack([lca_depth(points[ijk[:, a]], points[ijk[:, b]]) for a, b in ((0, 1), (0, 2), (1, 2))])
        return float(np.minimum(np.ptp(depths, axis=0), 1.0).mean())

    assert mean_spread(30.0) > mean_spread(0.0)


def test_the_loss_curve_estimates_the_continuous_cost():
    similarity = groups(30)
    start = np.random.default_rng(0).normal(size=(30, 2))
    exact = embed(similarity, max_iter=1, init=start).loss_curve[0]
    seen = [
        embed(similarity, max_iter=1, random_state=seed, init=start, block_size=10).loss_curve[0] for seed in range(100)
    ]
    error = np.std(seen) / np.sqrt(len(seen))
    assert error < 0.01 * exact
    assert abs(np.mean(seen) - exact) < 4 * error


def test_riemannian_adam_on_the_circle_is_adam_on_angles():
    rng = np.random.default_rng(0)
    params, adam = rng.normal(size=5), None
    adam, expected, m, v = RiemannianAdam(Circle(), params), params.copy(), np.zeros(5), np.zeros(5)
    for t in range(1, 8):
        grad = rng.normal(size=5)
        params = adam.step(params, grad, 0.1)
        m, v = BETA1 * m + (1 - BETA1) * grad, BETA2 * v + (1 - BETA2) * grad**2
        expected = expected - 0.1 * (m / (1 - BETA1**t)) / np.sqrt(v / (1 - BETA2**t))
    assert_allclose(params, expected, rtol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_first_step_of_riemannian_adam_has_the_length_of_the_learning_rate(dim):
    rng = np.random.default_rng(dim)
    Z = 0.4 * rng.normal(size=(6, dim)) / np.sqrt(dim)
    moved = RiemannianAdam(Ball(), Z).step(Z, rng.normal(size=Z.shape), 0.01)
    assert_allclose(distance(Z, moved), 0.01, rtol=1e-4)
    u = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    moved = RiemannianAdam(Sphere(), u).step(u, rng.normal(size=u.shape), 0.01)
    assert_allclose(np.linalg.norm(moved, axis=1), 1.0, rtol=1e-14)
    assert_allclose(np.linalg.norm(moved - u, axis=1), 0.01, rtol=1e-3)


def test_progress_is_shown_on_request_only(capsys):
    embed(groups(12), max_iter=3, random_state=0)
    assert capsys.readouterr().err == ""
    result = embed(groups(12), max_iter=3, random_state=0, verbose=1)
    assert capsys.readouterr().err == f"done after 0:00  cost {result.cost:.8g}\n"


def test_a_graph_of_two_parts_gets_one_tree():
    W = np.zeros((8, 8))
    W[:4, :4] = W[4:, 4:] = 1.0
    result = embed(as_similarity(sp.csr_array(W), "precomputed"), random_state=0, max_iter=300)
    assert len(set(result.tree.cut(2)[:4])) == 1
    assert embed(as_similarity(sp.csr_array((5, 5)), "precomputed"), random_state=0).n_iter == 0


def test_weighted_leaves_are_scored_by_their_sizes():
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(10, 3)), rng.integers(1, 5, 10).astype(float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    similarity = Features(X * sizes[:, None], offset=0.5, scale=0.5, sizes=sizes)
    costs: list[float] = []
    result = embed(similarity, random_state=0, max_iter=50, callback=lambda progress: costs.append(progress.best_cost))
    assert_allclose(costs[-1], dasgupta_cost(result.tree, similarity), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "psa"}, "init='psa'"),
        ({"init": np.zeros((3, 2))}, r"\(40, 2\)"),
        ({"init": Tree([[0, 1]])}, "2 leaves"),
        ({"n_init": 0}, "n_init=0"),
        ({"n_components": 0}, "n_components=0"),
        ({"block_size": 2}, "block_size=2"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"max_triplets": 0}, "max_triplets=0"),
        ({"temperature": 0.0}, "temperature=0.0"),
        ({"radius": -1.0}, "radius=-1.0"),
        ({"radius": "grown"}, "radius='grown'"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"spread_penalty": -1.0}, "spread_penalty"),
        ({"preset": "ours"}, "preset='ours'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        embed(groups(), **options)


def test_pca_of_a_graph_names_the_remedy():
    with pytest.raises(ValueError, match="spectral"):
        embed(knn_graph(), init="pca")


def test_the_callers_arrays_are_not_changed():
    W = weight_matrix(12, 0, "real")
    points = np.random.default_rng(0).normal(size=(12, 2))
    before = W.copy(), points.copy()
    embed(W, init=points, max_iter=5, random_state=0)
    assert np.array_equal(before[0], W)
    assert np.array_equal(before[1], points)
