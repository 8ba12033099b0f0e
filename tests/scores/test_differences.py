"""What distinguishes a group: effect sizes and marks against their definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, Tree, describe, differences
from hyphc.scores.differences import LeafMeans
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

import oracles
import strategies


def definition(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Hedges' g and Welch's p-value of two groups, from all their values."""
    one, other = one[np.isfinite(one)], other[np.isfinite(other)]
    freedom = len(one) + len(other) - 2
    if freedom < 2 or not len(one) or not len(other):
        return np.nan, np.nan
    away = one.mean() - other.mean()
    scatter = ((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()
    if scatter < 1e-20:
        g = 0.0 if abs(away) < 1e-10 else np.copysign(np.inf, away)
    else:
        g = (1 - 3 / (4 * freedom - 1)) * away / np.sqrt(scatter / freedom)
    if min(len(one), len(other)) < 2:
        return g, np.nan
    if scatter < 1e-20:
        return g, float(g == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one group is constant
        return g, ttest_ind(one, other, equal_var=False).pvalue


def groups(tree: Tree, node: int, compare: str) -> tuple[list[int], list[int]]:
    leaves = oracles.leaf_sets(tree)
    if compare == "rest":
        return sorted(leaves[node]), sorted(set(range(tree.n_leaves)) - leaves[node])
    return tuple(sorted(leaves[child]) for child in tree.children[node - tree.n_leaves])


@given(
    strategies.trees(max_leaves=14),
    st.integers(0, 2**31),
    st.sampled_from(["parts", "rest"]),
    st.sampled_from(["real", "ties", "missing", "far"]),
)
def test_effects_and_p_values_are_those_of_the_definition(tree, seed, compare, values):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(tree.n_leaves, 3))
    X = {"real": X, "ties": np.round(X / 2), "far": X + 1e6, "missing": np.where(rng.random(X.shape) < 0.3, np.nan, X)}[
        values
    ]
    found = differences(tree, X, compare=compare, top=3)
    for node in range(tree.n_leaves, 2 * tree.n_leaves - 1):
        one, other = groups(tree, node, compare)
        expected = {f"feature {j}": definition(X[one, j], X[other, j]) for j in range(3)}
        expected = {name: pair for name, pair in expected.items() if not np.isnan(pair[0])}
        listed = {row.column: (row.effect, row.p_value) for row in found.of(node)}
        assert listed.keys() == expected.keys()
        sizes = [abs(row.effect) for row in found.of(node)]
        assert sizes == sorted(sizes, reverse=True)
        for name, pair in listed.items():
            np.testing.assert_allclose(pair, expected[name], rtol=1e-6, atol=1e-9)
        for row in found.of(node):
            j = int(row.column.removeprefix("feature "))
            means = [np.nanmean(X[group, j]) for group in (one, other)]
            np.testing.assert_allclose((row.mean, row.other_mean), means, rtol=1e-9, atol=1e-12)


@given(strategies.trees(min_leaves=4), st.integers(0, 2**31), st.integers(1, 4))
def test_the_columns_kept_are_the_largest_of_all(tree, seed, top):
    X = np.random.default_rng(seed).normal(size=(tree.n_leaves, 6))
    few, every = differences(tree, X, top=top), differences(tree, X, top=6)
    np.testing.assert_array_equal(few.columns, every.columns[:, :top])
    np.testing.assert_array_equal(few.effects, every.effects[:, :top])


def test_a_leaf_that_stands_for_two_points_counts_like_two():
    X = np.array([[1.0], [1.5], [4.0], [4.4], [4.4]])
    twice = differences(Tree([[0, 1], [3, 4], [6, 2], [5, 7]]), X)
    once = differences(Tree([[0, 1], [2, 3], [4, 5]], leaf_sizes=[1, 1, 1, 2]), X[:4])
    assert once.of(6)[0][1:5] == pytest.approx(twice.of(8)[0][1:5])


def test_the_mark_is_bonferronis_over_every_merge_and_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[:20, 2] += 4
    found = differences(Tree(_two_chains(20)), X)
    assert found.n_tests == 39 * 5
    first = found.of(2 * 40 - 2)[0]
    assert (first.column, first.sure) == ("feature 2", True)
    np.testing.assert_array_equal(found.sure, found.p_values * found.n_tests <= 0.05)


def _two_chains(m: int) -> np.ndarray:
    """Merges of 2m leaves: the first m in one chain, the others in another, and both joined."""
    merges, n = [], 2 * m
    for start in (0, m):
        top = start
        for leaf in range(start + 1, start + m):
            merges.append((top, leaf))
            top = n + len(merges) - 1
    return np.array([*merges, (n + m - 2, n + 2 * m - 3)])


def test_noise_alone_is_marked_about_as_often_as_alpha_allows():
    rng = np.random.default_rng(1)
    tree = Tree(_two_chains(15))  # made without looking at the values
    marked = sum(differences(tree, rng.normal(size=(30, 4))).sure.any() for _ in range(200))
    assert marked <= 0.05 * 200 + 3 * np.sqrt(200 * 0.05)


def test_text_and_booleans_are_compared_class_by_class():
    table = pd.DataFrame({"kind": ["a"] * 4 + ["b"] * 4, "wild": [True, False] * 4, "x": np.arange(8.0)})
    found = differences(strategies.balanced(8), table, top=9)
    rows = {row.column: row for row in found.of(14)}
    assert rows.keys() == {"kind = a", "kind = b", "wild", "x"}
    assert rows["kind = a"].effect == np.inf
    assert rows["kind = a"].sure
    assert rows["wild"].effect == 0


def test_the_table_has_a_row_for_each_node_and_column_and_a_model_has_the_method():
    X = np.random.default_rng(0).normal(size=(30, 4)) + 5 * (np.arange(30) < 15)[:, None]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = HypHC(random_state=0).fit(frame)
    table = model.differences(frame, top=2).to_pandas()
    assert list(table.columns) == ["node", "rank", "column", "effect", "mean", "other_mean", "p_value", "sure"]
    assert table.node.iloc[0] == 58
    assert set(table.column) <= set("abcd")
    assert len(model.differences(frame).to_pandas([58])) == 4


@pytest.mark.parametrize("n", [1, 2, 3])
def test_so_few_leaves_tell_nothing(n):
    found = differences(strategies.balanced(n), np.arange(n, dtype=float)[:, None])
    assert list(found.rows()) == []


def test_a_chain_of_200_000_leaves_takes_no_recursion():
    n = 200_000
    found = differences(strategies.chain(n), np.random.default_rng(0).normal(size=(n, 2)), compare="rest")
    assert len(found.of(n + 5)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compare": "all"}, "compare='all' is unknown"),
        ({"top": 0}, "top=0 keeps no column"),
        ({"alpha": 5}, "alpha=5 is no level"),
        ({"X": np.ones((3, 2))}, r"has shape \(3,\); pass \(4,\)"),
        ({"X": np.ones((4, 0))}, "X has no columns"),
    ],
)
def test_mistakes_name_the_value_and_the_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        differences(strategies.balanced(4), **{"X": np.ones((4, 2)), **options})


@pytest.mark.parametrize("compare", ["parts", "rest"])
def test_means_and_scatter_of_groups_give_the_effects_of_their_points(compare):
    rng = np.random.default_rng(0)
    X, of = rng.normal(size=(60, 3)) + np.repeat(np.arange(4), 15)[:, None], np.repeat(np.arange(4), 15)
    groups = [X[of == group] for group in range(4)]
    means = LeafMeans(
        ("a", "b", "c"),
        np.array([rows.mean(axis=0) for rows in groups]),
        np.array([((rows - rows.mean(axis=0)) ** 2).sum(axis=0) for rows in groups]),
    )
    top = Tree([[0, 1], [2, 3], [4, 5]], leaf_sizes=[15.0] * 4)
    chains = [
        np.column_stack([[15 * g, *range(60 + 14 * g, 73 + 14 * g)], range(15 * g + 1, 15 * g + 15)]) for g in range(4)
    ]
    whole = Tree(np.vstack([*chains, [[73, 87], [101, 115], [116, 117]]]))
    found = differences(top, means, compare=compare, top=3)
    wanted = differences(whole, {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, compare=compare, top=3)
    for field in ("effects", "means", "other_means", "p_values"):
        np.testing.assert_allclose(getattr(found, field), getattr(wanted, field)[-3:], rtol=1e-9)
    np.testing.assert_array_equal(found.columns, wanted.columns[-3:])
    named = describe(whole, columns={"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, min_size=15)
    assert describe(top, columns=means, min_size=15).names[-3:] == named.names[-3:]
