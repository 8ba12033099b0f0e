"""The paper's protocol: its epochs, and its compiled loop against the same steps in plain NumPy."""

from itertools import combinations

import numpy as np
import pytest
from hyphc import as_similarity, embed
from hyphc.continuous import objective, paper_presets
from hyphc.continuous.adam import RiemannianAdam
from hyphc.continuous.descent import LearnedNorm
from hyphc.continuous.manifolds import Ball
from hyphc.similarity import Dense
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose


def random_similarity(n, seed):
    W = np.random.default_rng(seed).uniform(size=(n, n))
    return Dense(W + W.T)


class PlainLeaves:
    """The loop as the definitions have it: gradients through the angles, Riemannian Adam in the disk, Adam on the norm."""

    def __init__(self, start):
        self.z, self.norm, self.adam = start.copy(), LearnedNorm(1e-3), RiemannianAdam(Ball(), start)

    def step(self, triplets, multiplicity, batch, tau, rate):
        total = 0.0
        for start in range(0, len(triplets.ijk), batch):
            ijk, w, penalties = (part[start : start + batch] for part in triplets)
            penalties = penalties if len(penalties) else 0.0
            scale = multiplicity / len(ijk)
            angles = np.arctan2(self.z[:, 1], self.z[:, 0])
            value, by_angle, by_radius = objective.circle_triplet_objective(
                angles, self.norm.radius, ijk, w, tau, spread_penalty=penalties
            )
            turning = np.column_stack([-self.z[:, 1], self.z[:, 0]]) / np.sum(self.z**2, axis=1, keepdims=True)
            self.z = self.adam.step(self.z, scale * by_angle[:, None] * turning, rate)
            self.norm.step(scale * by_radius, rate)
            total += scale * value
        return total


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize(("spread", "rate"), [(1e-3, 1e-3), (0.3, 1e-2), (0.9999, 1e-2)])
def test_the_compiled_loop_takes_the_steps_of_the_plain_one(spread, rate, penalty):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(13, 2))
    start *= spread / np.linalg.norm(start, axis=1, keepdims=True)
    pairs = paper_presets.Pairs(random_similarity(13, 1), penalty, map)
    leaves, plain = paper_presets.LearnedLeaves(start), PlainLeaves(start)
    for _ in range(6):
        for chunk in pairs.epoch(rng):
            step = chunk, pairs.multiplicity, 7, 0.1, rate
            assert_allclose(leaves.step(*step), plain.step(*step), rtol=1e-9)
    turns = np.angle(np.exp(1j * (leaves.angles - np.arctan2(plain.z[:, 1], plain.z[:, 0]))))
    assert_allclose(turns, 0.0, atol=1e-8)
    assert_allclose(leaves.radius, plain.norm.radius, rtol=1e-9)


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


def test_the_preset_runs_its_grid_and_finds_the_groups():
    X = np.repeat([[1.0, 0.1], [0.1, 1.0]], 12, axis=0) + 0.05 * np.random.default_rng(0).normal(size=(24, 2))
    result = embed(as_similarity(X, "cosine"), preset="paper", random_state=0)
    assert result.n_iter == 50
    assert result.n_triplets == 9 * 50 * 24 * 23 // 2
    assert result.tree.cut(2).tolist() == [0] * 12 + [1] * 12


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs, monkeypatch):
    monkeypatch.setattr(paper_presets, "CHUNK", 256)
    similarity = random_similarity(60, 0)
    options = {"preset": "paper", "max_iter": 3, "random_state": 1}
    one, more = embed(similarity, **options), embed(similarity, n_jobs=n_jobs, **options)
    assert np.array_equal(one.embedding, more.embedding)
    assert np.array_equal(one.loss_curve, more.loss_curve)
