"""Support of clusters by refits: against its definition, seeds, threads, interrupts and budgets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity, support
from hyphc.bootstrap_support import Support, _compare, _summarize
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import random_tree, trees


def two_groups(n: int = 16, d: int = 24, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[: n // 2] -= 1.5
    X[n // 2 :] += 1.5
    return X


def two_cliques(n: int = 12) -> sp.csr_array:
    W = np.kron(np.eye(2), np.ones((n // 2, n // 2))) - np.eye(n)
    W[0, n - 1] = W[n - 1, 0] = 1.0
    return sp.csr_array(W)


def halves(tree: Tree) -> np.ndarray:
    """The merges that are the two clusters of a cut in two."""
    return tree.clusters(2) - tree.n_leaves


@st.composite
def a_tree_and_refits(draw):
    """A tree, and trees of some of its leaves each, in any order."""
    tree = draw(trees(1, 9))
    n, rng = tree.n_leaves, np.random.default_rng(draw(st.integers(0, 2**31)))
    refits = []
    for _ in range(draw(st.integers(1, 4))):
        points = rng.permutation(n)[: rng.integers(1, n + 1)]
        refits.append((random_tree(len(points), int(rng.integers(2**31))), points))
    return tree, refits


@given(a_tree_and_refits())
def test_support_is_the_mean_over_refits_that_can_tell(tree_and_refits):
    tree, refits = tree_and_refits
    found = _summarize(tree, [_compare(tree, *refit, False) for refit in refits], "rows", False)
    for t, cluster in enumerate(oracles.leaf_sets(tree)[tree.n_leaves : -1]):
        shares, transfers = [], []
        for refit, points in refits:
            left = frozenset(np.flatnonzero(np.isin(points, list(cluster))).tolist())
            if 2 <= len(left) < len(points):
                sets = oracles.clusters(refit)
                shares.append(left in sets)
                worst = min(len(left) - 1, len(points) - len(left))
                transfers.append(1 - min(len(left ^ other) for other in sets) / worst)
        assert found.n_refits[t] == len(shares)
        if shares:
            assert found.share[t] == pytest.approx(np.mean(shares))
            assert found.transfer[t] == pytest.approx(np.mean(transfers))
        else:
            assert np.isnan(found.share[t])
            assert np.isnan(found.transfer[t])
    assert (found.share[-1:] == 1).all()


def test_support_of_columns_is_a_count_over_the_refits_that_were_kept():
    X = two_groups()
    tree = HypHC(random_state=0).fit(X).tree_
    found = support(tree, X, n_resamples=7, random_state=3, keep_trees=True)
    assert len(found.trees) == found.n_resamples == 7
    clusters = [oracles.clusters(refit) for refit in found.trees]
    expected = [np.mean([A in sets for sets in clusters]) for A in oracles.leaf_sets(tree)[16:]]
    assert found.share == pytest.approx(np.array(expected))
    assert (found.transfer >= found.share - 1e-12).all()


@pytest.mark.parametrize(
    ("resample", "X", "parameters"),
    [
        ("columns", two_groups(), {}),
        ("columns", sp.csr_array(two_groups()), {}),
        ("columns", two_groups(), {"metric": "cosine"}),
        ("rows", two_groups(), {}),
        ("rows", two_cliques(), {"metric": "precomputed"}),
        ("rows", two_cliques().toarray(), {"metric": "precomputed"}),
        ("rows", as_similarity(two_groups(), "cosine"), {}),
        ("edges", two_groups(), {"n_neighbors": 5}),
        ("edges", two_cliques(), {"metric": "precomputed"}),
    ],
)
def test_groups_that_are_there_are_sure_for_every_way_of_drawing_and_every_number_of_threads(resample, X, parameters):
    tree = HypHC(random_state=0, **parameters).fit(X).tree_
    one, two = (
        support(tree, X, resample=resample, n_resamples=12, random_state=1, n_jobs=jobs, **parameters)
        for jobs in (1, 2)
    )
    assert np.array_equal(one.share, two.share, equal_nan=True)
    assert np.array_equal(one.transfer, two.transfer, equal_nan=True)
    assert (one.transfer[halves(tree)] > 0.85).all()
    assert one.resample == resample


def test_splits_of_equal_points_have_the_support_of_chance():
    X = np.repeat(np.array([[0.0, 1.0], [5.0, 2.0]]), 6, axis=0) + np.zeros((12, 2))
    tree = HypHC(random_state=0).fit(X).tree_
    found = support(tree, X, n_resamples=40, random_state=0)
    inside = np.setdiff1d(np.arange(10), halves(tree))
    assert found.share[halves(tree)].tolist() == [1.0, 1.0]
    assert (found.share[inside] < 0.6).all()


def test_the_data_given_are_left_as_they_were():
    X = two_groups()
    before = X.copy()
    tree = HypHC(random_state=0).fit(X).tree_
    for resample in ("columns", "rows", "edges"):
        support(tree, X, resample=resample, n_resamples=2, random_state=0)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_trees_have_support(n):
    X = two_groups(n)
    tree = random_tree(n, 0)
    for resample in ("columns", "rows", "edges"):
        found = support(tree, X, resample=resample, n_resamples=3, random_state=0)
        assert found.share.shape == found.transfer.shape == (n - 1,)
        assert (found.share[-1:] == 1).all()
        assert str(found).startswith("3 refits")


def test_a_listener_can_end_it_and_the_refits_done_until_then_count():
    X, heard = two_groups(), []
    tree = HypHC(random_state=0).fit(X).tree_
    found = support(
        tree, X, n_resamples=20, random_state=0, callback=lambda news: heard.append(news) or len(heard) == 4
    )
    assert found.n_resamples in (3, 4)
    assert [news.stage for news in heard] == [f"refit {k} of 20" for k in (1, 2, 3, 4)]
    assert heard[1].share == pytest.approx(0.1)
    assert heard[0].tree().n_leaves == 16


def test_an_interrupt_leaves_the_refits_done_until_then():
    def interrupt(news):
        if news.stage == "refit 3 of 20":
            raise KeyboardInterrupt

    X = two_groups()
    tree = HypHC(random_state=0).fit(X).tree_
    with pytest.warns(UserWarning, match=r"Interrupted .* of the refits done until then"):
        found = support(tree, X, n_resamples=20, random_state=0, callback=interrupt)
    assert found.interrupted
    assert found.n_resamples in (2, 3)


def test_a_time_budget_that_is_over_leaves_no_refit_and_nothing_known():
    X = two_groups()
    found = support(random_tree(16, 0), X, n_resamples=5, time_budget=1e-9)
    assert found.n_resamples == 0
    assert np.isnan(found.share[:-1]).all()


def test_intervals_hold_the_share_and_narrow_with_refits_and_are_wilsons():
    tree = random_tree(4, 0)
    few, many = (
        Support(tree, np.array([0.0, 0.8, 1.0]), np.array([0.2, 0.9, 1.0]), np.full(3, n), "columns", n)
        for n in (10, 1000)
    )
    for found in (few, many):
        low, high = found.interval().T
        assert ((low <= found.share + 1e-12) & (found.share - 1e-12 <= high)).all()
    assert (np.ptp(many.interval(), axis=1) < np.ptp(few.interval(), axis=1)).all()
    assert few.interval()[1] == pytest.approx([0.4902, 0.9433], abs=1e-4)  # 8 of 10
    with pytest.raises(ValueError, match="confidence=1 "):
        few.interval(confidence=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resample": "cells"}, "'cells' is unknown"),
        ({"n_resamples": 0}, "n_resamples=0"),
        ({"resample": "rows", "row_share": 1.0}, "row_share=1.0"),
        ({"resample": "edges", "metric": "cosine"}, "needs a graph"),
        ({"metric": "unheard"}, "'unheard' is unknown"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        support(random_tree(16, 0), two_groups(), **arguments)


def test_columns_of_similarities_and_other_numbers_of_points_are_refused():
    with pytest.raises(ValueError, match="X holds similarities"):
        support(random_tree(12, 0), two_cliques(), metric="precomputed")
    with pytest.raises(ValueError, match="5 leaves and X 16 points"):
        support(random_tree(5, 0), two_groups())


def test_refits_on_threads_leave_the_filters_of_warnings_alone():
    X = two_groups(20, 4)
    tree = HypHC(random_state=0).fit(X).tree_
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        support(tree, X, resample="rows", n_resamples=20, random_state=0, n_jobs=4)
    assert warnings.filters == before


@pytest.mark.parametrize("resample", ["columns", "rows", "edges"])
def test_weights_of_rows_count_in_every_refit(resample):
    X = two_groups()
    weights = np.where(np.arange(16) % 2, 1.0, 5.0)
    tree = HypHC(random_state=0).fit(X, sample_weight=weights).tree_
    asked = {"resample": resample, "n_resamples": 4, "random_state": 0}
    found, equal = (support(tree, X, sample_weight=w, **asked) for w in (weights, np.full(16, 3.0)))
    assert found.n_resamples == 4
    assert not np.array_equal(found.transfer, equal.transfer, equal_nan=True)
    with pytest.raises(ValueError, match="weight"):
        support(tree, X, sample_weight=-weights, **asked)
