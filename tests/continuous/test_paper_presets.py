"""The paper's protocol: its epochs, and its compiled loop against the same steps in plain NumPy."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hyphc import HypHC, as_similarity, dasgupta_cost, embed
from hyphc.continuous import objective, paper_presets
from hyphc.continuous.paper_presets import PROTOCOLS, RELEASED
from hyphc.similarity import Dense
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose


def random_similarity(n, seed):
    W = np.random.default_rng(seed).uniform(size=(n, n))
    return Dense(W + W.T)


def moebius_sum(x, y):
    """x ⊕ y of the Poincaré ball."""
    dot, x2, y2 = (np.sum(a * b, axis=-1, keepdims=True) for a, b in ((x, y), (x, x), (y, y)))
    return ((1 + 2 * dot + y2) * x + (1 - x2) * y) / (1 + 2 * dot + x2 * y2)


class PlainAdam:
    """Riemannian Adam in the Poincaré ball of any dimension, by its formulas: points (n, d), one second moment a point."""

    def __init__(self, points, protocol):
        self.points, self.first, self.second = points.copy(), np.zeros_like(points), np.zeros((len(points), 1))
        self.protocol, self.count = protocol, 0

    def step(self, grad, rate, eps):
        beta1, beta2 = 0.9, self.protocol.beta2
        self.count += self.protocol.counted
        x = self.points
        conformal = 2 / (1 - np.sum(x * x, axis=1, keepdims=True))
        tangent = grad / conformal**2
        self.first = beta1 * self.first + (1 - beta1) * tangent
        self.second = beta2 * self.second + (1 - beta2) * conformal**2 * np.sum(tangent**2, axis=1, keepdims=True)
        usual = np.sqrt(self.second / (1 - beta2**self.count)) + eps
        v = -rate * self.first / (1 - beta1**self.count) / np.where(usual > 0, usual, 1.0)
        length = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
        reach = 1.0 if x.shape[1] == 1 else paper_presets.MAX_NORM  # Ball.move keeps the summand in the open ball
        moved = moebius_sum(x, reach * np.tanh(conformal * length / 2) * v / length)
        norms = np.linalg.norm(moved, axis=1, keepdims=True)
        self.points = moved * np.minimum(1.0, paper_presets.MAX_NORM / norms)
        # vectors are carried by the ratio of the conformal factors, as in RiemannianAdam
        self.first *= (1 - np.sum(self.points**2, axis=1, keepdims=True)) * conformal / 2


class PlainScale:
    """The scale as a number moved by Adam, within bounds."""

    def __init__(self, start, protocol):
        self.points, self.first, self.second, self.protocol, self.count = start, 0.0, 0.0, protocol, 0

    def step(self, grad, rate, eps):
        beta2 = self.protocol.beta2
        self.count += self.protocol.counted
        self.first, self.second = 0.9 * self.first + 0.1 * grad, beta2 * self.second + (1 - beta2) * grad**2
        usual = np.sqrt(self.second / (1 - beta2**self.count)) + eps
        moved = self.points - rate * self.first / (1 - 0.9**self.count) / usual
        self.points = np.clip(moved, *paper_presets.NORM_BOUNDS)


class PlainLeaves:
    """The loop as the definitions have it: gradients through the angles, Adam for leaves and for the scale."""

    def __init__(self, start, protocol):
        scale = np.array([[protocol.init_scale]])
        self.leaves, self.protocol = PlainAdam(start, protocol), protocol
        self.scale = (PlainAdam if protocol.scale == "riemannian" else PlainScale)(scale, protocol)

    @property
    def radius(self):
        return 2 * np.arctanh(np.clip(self.scale.points[0, 0], *paper_presets.NORM_BOUNDS))

    @property
    def angles(self):
        return np.arctan2(self.leaves.points[:, 1], self.leaves.points[:, 0])

    def step(self, triplets, multiplicity, batch, tau, rate):
        total, eps = 0.0, self.protocol.eps * multiplicity
        for start in range(0, len(triplets.ijk), batch):
            ijk, w, penalties = (part[start : start + batch] for part in triplets)
            penalties = penalties if len(penalties) else 0.0
            scale = multiplicity / len(ijk)
            value, by_angle, by_radius = objective.circle_triplet_objective(
                self.angles, self.radius, ijk, w, tau, spread_penalty=penalties
            )
            z, s = self.leaves.points, self.scale.points
            turning = np.column_stack([-z[:, 1], z[:, 0]]) / np.sum(z**2, axis=1, keepdims=True)
            low, high = paper_presets.NORM_BOUNDS
            by_scale = scale * by_radius * 2 / (1 - s**2) * (low <= s[0, 0] <= high)
            self.leaves.step(scale * by_angle[:, None] * turning, rate, eps)
            self.scale.step(by_scale, rate, eps)
            total += scale * value
        return total


OPTIONS = [{}, {"beta2": 0.99, "eps": 0.0}, {"eps": 1e-2}, {"counted": 4}, {"scale": "euclidean"}, {"init_scale": 0.9}]


@pytest.mark.parametrize("options", OPTIONS)
def test_each_option_of_the_optimiser_is_that_of_the_formulas(options):
    protocol, rng = replace(PROTOCOLS["paper"], **options), np.random.default_rng(0)
    start = protocol.initial_leaves(13, rng)
    pairs = paper_presets.Pairs(random_similarity(13, 1), 0.0, map)
    leaves, plain = paper_presets.LearnedLeaves(start, protocol), PlainLeaves(start, protocol)
    for _ in range(6):
        for chunk in pairs.epoch(rng):
            step = chunk, pairs.multiplicity, 7, 0.1, 1e-2
            assert_allclose(leaves.step(*step), plain.step(*step), rtol=1e-9)
    assert_allclose(np.exp(1j * leaves.angles), np.exp(1j * plain.angles), atol=1e-8)
    assert_allclose(leaves.radius, plain.radius, rtol=1e-9)
    assert abs(leaves.radius - 2 * np.arctanh(protocol.init_scale)) > 1e-5  # it was moved


def test_a_scale_outside_its_bounds_is_not_moved():
    protocol = replace(PROTOCOLS["paper"], init_scale=0.001)
    rng = np.random.default_rng(0)
    leaves = paper_presets.LearnedLeaves(protocol.initial_leaves(9, rng), protocol)
    pairs = paper_presets.Pairs(random_similarity(9, 1), 0.0, map)
    for chunk in pairs.epoch(rng):
        leaves.step(chunk, pairs.multiplicity, 7, 0.1, 1e-2)
    assert leaves.radius == 2 * np.arctanh(paper_presets.NORM_BOUNDS[0])


def test_starts_are_uniform_or_normal():
    uniform = PROTOCOLS["paper"].initial_leaves(4_000, np.random.default_rng(0))
    normal = replace(PROTOCOLS["paper"], start="normal").initial_leaves(4_000, np.random.default_rng(0))
    assert 0.0499 < np.abs(uniform).max() <= 0.05
    assert_allclose(uniform.std(), 0.05 / np.sqrt(3), rtol=0.05)
    assert_allclose(normal.std(), 0.05, rtol=0.05)
    assert np.abs(normal).max() > 0.1


def test_annealing_halves_the_temperature_and_the_released_settings_the_rate_too():
    setting = RELEASED["glass"]
    assert PROTOCOLS["released"].at(setting, 9) == (0.05, 1e-4)
    assert PROTOCOLS["released"].at(setting, 25) == (0.05 / 4, 1e-4 / 4)
    assert replace(PROTOCOLS["released"], anneal_rate=False).at(setting, 25) == (0.05 / 4, 1e-4)
    assert PROTOCOLS["released"].at(RELEASED["zoo"], 49) == (0.1, 1e-3)  # its halving comes after the last epoch
    assert PROTOCOLS["released"].at(RELEASED["iris"], 30) == (0.025, 2.5e-4)


def triplets_of(pairs, rng):
    return np.concatenate([chunk.ijk for chunk in pairs.epoch(rng)])


@pytest.mark.parametrize("n_triplets", [30, 45, 100])
def test_triplets_are_drawn_once_and_reshuffled_unless_they_are_redrawn(n_triplets):
    similarity, rng = random_similarity(10, 0), np.random.default_rng(0)
    once = paper_presets.Pairs(similarity, 0.0, map, n_triplets)
    one, two = triplets_of(once, rng), triplets_of(once, rng)
    assert len(one) == n_triplets
    assert sorted(map(tuple, one)) == sorted(map(tuple, two))
    assert one.tolist() != two.tolist()
    redrawn = paper_presets.Pairs(similarity, 0.0, map, n_triplets, redraw=True)
    assert sorted(map(tuple, triplets_of(redrawn, rng))) != sorted(map(tuple, triplets_of(redrawn, rng)))


def test_a_third_point_may_repeat_one_of_the_pair_with_the_similarity_of_a_point_to_itself():
    X = np.random.default_rng(0).normal(size=(6, 3))
    pairs = paper_presets.Pairs(as_similarity(X, "cosine"), 0.0, map, 400, third_may_repeat=True)
    chunk = next(iter(pairs.epoch(np.random.default_rng(0))))
    (i, j, k), w = chunk.ijk.T, chunk.weights
    assert (i < j).all()
    assert np.isin([0, 5], k).all()
    assert (k == i).any()
    assert (k == j).any()
    assert_allclose(w[k == i, 1], 1.0)
    assert_allclose(w[k == i, 0], w[k == i, 2])
    assert_allclose(w[k == j, 2], 1.0)


def test_a_preset_has_as_many_third_points_a_pair_as_its_settings_say():
    similarity = random_similarity(21, 0)
    for name, setting in RELEASED.items():
        result = embed(similarity, preset=f"released-{name}", max_iter=2, random_state=0)
        assert result.n_triplets == 2 * round(setting.thirds_per_pair * 210)


@pytest.mark.parametrize(
    "options", [{"scale": "flat"}, {"start": "pca"}, {"beta2": 1.0}, {"eps": -1.0}, {"init_size": 1.0}, {"counted": 0}]
)
def test_impossible_options_raise(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        replace(PROTOCOLS["paper"], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.3},
        {"init": "pca"},
        {"n_components": 3},
        {"block_size": 99},
        {"radius": 2.0},
        {"normalized": False},
    ],
)
def test_a_setting_that_a_preset_fixes_raises(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}=.* is fixed by preset='paper'"):
        embed(random_similarity(9, 0), preset="paper", **options)


def test_the_estimator_runs_a_preset_alone_or_before_the_search():
    similarity = random_similarity(20, 0)
    options = {"preset": "released-iris", "max_iter": 3, "random_state": 0}
    alone, searched = HypHC(refine=False, **options).fit(similarity), HypHC(**options).fit(similarity)
    assert np.array_equal(alone.embedding_, embed(similarity, **options).embedding)
    assert searched.plan_.embed.max_triplets is None
    assert len(searched.loss_curve_) == 3
    assert dasgupta_cost(searched.tree_, similarity) <= alone.cost_
    with pytest.raises(ValueError, match=r"temperature=0\.3 is fixed by preset"):
        HypHC(temperature=0.3, **options).fit(similarity)
    with pytest.raises(ValueError, match="preset="):
        HypHC(preset="ours").fit(similarity)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize(("spread", "rate"), [(1e-3, 1e-3), (0.3, 1e-2), (0.9999, 1e-2)])
def test_the_compiled_loop_takes_the_steps_of_the_plain_one(spread, rate, penalty):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(13, 2))
    start *= spread / np.linalg.norm(start, axis=1, keepdims=True)
    pairs = paper_presets.Pairs(random_similarity(13, 1), penalty, map)
    protocol = PROTOCOLS["paper"]
    leaves, plain = paper_presets.LearnedLeaves(start, protocol), PlainLeaves(start, protocol)
    for _ in range(6):
        for chunk in pairs.epoch(rng):
            step = chunk, pairs.multiplicity, 7, 0.1, rate
            assert_allclose(leaves.step(*step), plain.step(*step), rtol=1e-9)
    assert_allclose(np.exp(1j * leaves.angles), np.exp(1j * plain.angles), atol=1e-8)
    assert_allclose(leaves.radius, plain.radius, rtol=1e-9)


def test_pairs_with_every_third_point_average_to_the_exact_loss():
    n = 6
    similarity = random_similarity(n, 2)
    angles = np.random.default_rng(0).uniform(0, 6, n)
    full, grad, _ = objective.circle_block_objective(angles, 2.0, similarity.W, 0.5)
    every = np.array([(i, j, k) for i, j in combinations(range(n), 2) for k in range(n) if k not in (i, j)])
    pairs = paper_presets.Pairs(similarity, 0.0, map)
    ijk, w, _ = pairs.weighted(every)
    value, seen, _ = objective.circle_triplet_objective(angles, 2.0, ijk, w, 0.5)
    scale = pairs.multiplicity / len(every)
    assert_allclose(scale * value, full, rtol=1e-12)
    assert_allclose(scale * seen, grad, atol=1e-12 * np.abs(grad).max())


@given(st.integers(3, 30), st.integers(0, 1000))
def test_an_epoch_takes_every_pair_once_with_a_third_point_outside_it(n, seed):
    epoch = paper_presets.Pairs(Dense(np.ones((n, n))), 0.0, map).epoch(np.random.default_rng(seed))
    i, j, k = np.concatenate([chunk.ijk for chunk in epoch]).T
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == list(combinations(range(n), 2))
    assert ((k != i) & (k != j) & (k >= 0) & (k < n)).all()


def test_the_preset_runs_its_grid_and_lowers_the_cost():
    X = np.repeat([[1.0, 0.1], [0.1, 1.0]], 12, axis=0) + 0.05 * np.random.default_rng(0).normal(size=(24, 2))
    result = embed(as_similarity(X, "cosine"), preset="paper", random_state=0)
    assert result.n_iter == 50
    assert result.n_triplets == 9 * 50 * 24 * 23 // 2
    assert result.cost < embed(as_similarity(X, "cosine"), preset="paper", max_iter=0, random_state=0).cost


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs, monkeypatch):
    monkeypatch.setattr(paper_presets, "CHUNK", 256)
    similarity = random_similarity(60, 0)
    options = {"preset": "paper", "max_iter": 3, "random_state": 1}
    one, more = embed(similarity, **options), embed(similarity, n_jobs=n_jobs, **options)
    assert np.array_equal(one.embedding, more.embedding)
    assert np.array_equal(one.loss_curve, more.loss_curve)
