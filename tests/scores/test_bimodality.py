"""The test for two modes along a line: intervals by brute force, valid p-values, curved shapes, copies and order of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import HypHC
from hyphc.scores.bimodality import (
    LENGTHS,
    N_FOLDS,
    N_STARTS,
    TAIL,
    bimodality_p_value,
    choose_intervals,
    discriminant,
    project_held_out,
    valley_p_value,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score


def two_groups(rng, apart, n=300, d=10):
    rows = rng.normal(size=(n, d))
    is_left = np.arange(n) < n // 2
    rows[is_left, 0] += apart
    return rows, is_left


def halves(rows):
    return rows[:, 0] > np.median(rows[:, 0])


def clearest_valley(values):
    """The largest (s − m) / √(s + m) over all triples of disjoint intervals, from their definition."""
    values = np.sort(values)
    cut_off = int(TAIL * len(values))
    low, high = values[cut_off], values[-1 - cut_off]
    best = 0.0
    for length in (high - low) * np.array(LENGTHS):
        starts = np.linspace(low, high - length, N_STARTS)
        counts = [int(((values >= start) & (values < start + length)).sum()) for start in starts]
        for i, middle in enumerate(counts):
            left = [c for c, start in zip(counts, starts, strict=True) if start <= starts[i] - length]
            right = [c for c, start in zip(counts, starts, strict=True) if start >= starts[i] + length]
            if left and right and (s := min(max(left), max(right))) > middle:
                best = max(best, (s - middle) / np.sqrt(s + middle))
    return best


@given(st.integers(0, 2**31), st.integers(20, 120), st.floats(0.0, 6.0))
@settings(max_examples=40)
def test_the_intervals_are_disjoint_and_have_the_clearest_valley(seed, n, apart):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) + apart * (rng.random(n) < 0.4)
    chosen, best = choose_intervals(values), clearest_valley(values)
    if chosen is None:
        assert best == 0.0
        return
    assert chosen.left + chosen.length <= chosen.middle + 1e-12
    assert chosen.middle + chosen.length <= chosen.right + 1e-12
    left, middle, right = (
        int(((values >= start) & (values < start + chosen.length)).sum())
        for start in (chosen.left, chosen.middle, chosen.right)
    )
    smaller = min(left, right)
    assert_allclose((smaller - middle) / np.sqrt(smaller + middle), best)


def test_the_direction_is_fishers_discriminant():
    rows, is_left = two_groups(np.random.default_rng(0), 3.0, n=4_000, d=4)
    rows = rows @ np.random.default_rng(1).normal(size=(4, 4))
    direction, middle = discriminant(rows, is_left)
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(rows, is_left).coef_[0]
    assert_allclose(direction / np.linalg.norm(direction), expected / np.linalg.norm(expected), atol=0.02)
    places = rows @ direction - middle
    assert_allclose(places[is_left].mean(), -places[~is_left].mean(), rtol=1e-6)
    assert_allclose(np.sqrt((places[is_left].var() + places[~is_left].var()) / 2), 1.0, rtol=0.01)


def test_the_p_value_is_that_of_the_counts_on_rows_that_did_not_choose():
    rows, is_left = two_groups(np.random.default_rng(2), 4.0)
    fold = np.random.default_rng(3).permutation(len(rows)) % N_FOLDS
    places = project_held_out(rows, is_left, fold)
    for k in range(N_FOLDS):
        direction, middle = discriminant(rows[fold != k], is_left[fold != k])
        assert_allclose(places[fold == k], rows[fold == k] @ direction - middle)
    counts = np.zeros(3, dtype=int)
    for k in range(N_FOLDS):
        chosen, held_out = choose_intervals(places[fold != k]), places[fold == k]
        starts = np.array([chosen.left, chosen.middle, chosen.right])
        counts += ((held_out[:, None] >= starts) & (held_out[:, None] < starts + chosen.length)).sum(axis=0)
    left, middle, right = counts
    expected = max(binom.cdf(middle, middle + side, 0.5) for side in (left, right))
    assert_allclose(valley_p_value(places, fold), expected)


@pytest.mark.parametrize("d", [3, 10, 30])
def test_groups_that_touch_are_two_modes_and_the_halves_of_one_group_are_not(d):
    rng = np.random.default_rng(d)
    assert bimodality_p_value(*two_groups(rng, 5.0, d=d)) < 1e-6
    nulls = [rng.normal(size=(200, d)) * np.append(6.0, np.ones(d - 1)) for _ in range(20)]
    nulls += [rng.exponential(size=(200, d)) for _ in range(20)] + [rng.random((200, d)) for _ in range(20)]
    p_values = np.array([bimodality_p_value(X, halves(X)) for X in nulls])
    assert (p_values < 0.05).sum() <= 3


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_ring_is_curved_and_no_two_groups(d):
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 2 * np.pi, 800)
    rows = 0.3 * rng.normal(size=(800, d))
    rows[:, :2] += 5 * np.column_stack([np.cos(turn), np.sin(turn)])
    assert bimodality_p_value(rows, rows[:, 0] > 0) == 1.0


def test_neither_order_nor_copies_nor_linear_maps_of_rows_matter():
    rng = np.random.default_rng(4)
    rows, is_left = two_groups(rng, 3.5, d=5)
    p = bimodality_p_value(rows, is_left)
    order = rng.permutation(len(rows))
    assert bimodality_p_value(rows[order], is_left[order]) == p
    assert bimodality_p_value(np.repeat(rows, 2, axis=0), np.repeat(is_left, 2)) == p
    assert bimodality_p_value(8.0 * rows, is_left) == p
    is_left[-1] = True  # sides of different sizes
    assert bimodality_p_value(rows, ~is_left) == bimodality_p_value(rows, is_left)
    assert_allclose(bimodality_p_value(rows @ rng.normal(size=(5, 5)), is_left), p, rtol=10.0)


@pytest.mark.parametrize("rows", [np.zeros((40, 3)), np.repeat(np.eye(2), 20, axis=0), np.arange(14.0)[:, None]])
def test_few_different_rows_are_no_evidence(rows):
    assert bimodality_p_value(rows, np.arange(len(rows)) < len(rows) // 2) == 1.0


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_classes_that_touch_in_many_columns_are_found(load):
    data = load()
    model = HypHC(random_state=0).fit(data.data)
    assert model.n_clusters_ == len(data.target_names)
    assert adjusted_rand_score(data.target, model.labels_) > 0.75
