"""A graph with a background, against the matrix of all pairs; and what a constant on all pairs must not change."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity, dasgupta_cost, split_weights
from hyphc.scores.cluster_number import number_of_clusters
from hyphc.scores.heights import with_similarity_heights
from hyphc.similarity import Background, Blend, Graph
from hyphc.similarity.blend import BlendRows
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons

import oracles
from strategies import random_tree, weight_matrix

seeds = st.integers(0, 2**31)


def blend_of_points(seed: int, n_points: int) -> tuple[Blend, np.ndarray]:
    """A blend whose leaves are single points, and its matrix by definition."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, rng.integers(1, 4))) * rng.choice([0.1, 1.0, 10.0]) + rng.choice([0.0, 3.0])
    edges = weight_matrix(n_points, seed, "zeros")
    slope = float(rng.choice([0.0, 0.001, 0.1, 5.0]))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    pairs = np.triu_indices(n_points, 1)
    level = squared[pairs].mean() if n_points > 1 else 0.0
    W = edges + slope * (level - squared)
    np.fill_diagonal(W, 0.0)
    return Blend(Graph(sp.csr_array(edges)), Background(X, slope=slope)), W


def blend_of_groups(seed: int, n: int) -> tuple[Blend, np.ndarray, np.ndarray]:
    """A blend whose leaves stand for one to three points each, its matrix by definition, and the sizes of the leaves."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n)
    blend, W = blend_of_points(seed, int(sizes.sum()))
    member = np.repeat(np.eye(n), sizes, axis=1)
    summed = member @ W @ member.T
    np.fill_diagonal(summed, 0.0)
    return blend.combined(sp.csr_array(member), sizes.astype(float)), summed, sizes


def close(found, expected, W) -> None:
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(W).sum()))


@given(st.booleans(), st.integers(1, 12), seeds)
@settings(max_examples=50)
def test_every_view_is_that_of_the_matrix(of_groups, n, seed):
    blend, W = blend_of_groups(seed, n)[:2] if of_groups else blend_of_points(seed, n)
    rng = np.random.default_rng(seed)
    close(blend.to_dense(), W, W)
    i, j = rng.integers(n, size=(2, 30))
    close(blend.pairs(i, j), W[i, j], W)
    close(blend.pairs(*np.indices((n, n))), W, W)
    close(blend.rows(i), W[i], W)
    close(blend.degrees(), W.sum(axis=1), W)
    close(blend.total(), W.sum() / 2, W)
    v = rng.normal(size=n)
    close(blend.product(v), W @ v, W)
    index = rng.permutation(n)[: (n + 1) // 2]
    close(blend.subset(index).to_dense(), W[np.ix_(index, index)], W)
    close(blend.block(index), W[np.ix_(index, index)], W)
    assert isinstance(blend.subset(index), Blend)


@given(st.integers(2, 12), seeds)
@settings(max_examples=50)
def test_blocks_are_those_of_the_matrix_off_their_diagonals(n, seed):
    blend, W, _ = blend_of_groups(seed, n)
    parts = np.array([np.random.default_rng(seed + k).permutation(n)[:2] for k in range(5)])
    for part, block in zip(parts, blend.blocks(parts), strict=True):
        close(block[0, 1], W[part[0], part[1]], W)
        close(block[1, 0], W[part[1], part[0]], W)


@given(st.integers(2, 12), seeds)
@settings(max_examples=50)
def test_the_largest_similarity_of_two_points_is_not_above_the_bound(n, seed):
    blend, W = blend_of_points(seed, n)
    assert blend.maximum() >= W[~np.eye(n, dtype=bool)].max() - 1e-9 * (1 + np.abs(W).max())


@given(st.booleans(), st.integers(2, 10), seeds)
@settings(max_examples=50)
def test_leaves_combined_in_any_mix_are_sums(of_groups, n, seed):
    blend, W = blend_of_groups(seed, n)[:2] if of_groups else blend_of_points(seed, n)
    rng = np.random.default_rng(seed)
    group = np.concatenate([[0, 1], rng.integers(3, size=n - 2)])
    _, group = np.unique(group, return_inverse=True)
    mix = np.zeros((group.max() + 1, n))
    mix[group, np.arange(n)] = rng.choice([0.5, 1.0, 2.0, 3.0], size=n)
    combined = blend.combined(sp.csr_array(mix), mix @ blend.sizes)
    expected = mix @ W @ mix.T
    np.fill_diagonal(expected, 0.0)
    close(combined.to_dense(), expected, W)
    close(combined.degrees(), expected.sum(axis=1), W)
    assert_allclose(combined.sizes, mix @ blend.sizes)


@given(st.integers(2, 10), st.integers(1, 4), seeds)
@settings(max_examples=50)
def test_groups_are_summed_over_ordered_pairs(n, n_groups, seed):
    blend, W, _ = blend_of_groups(seed, n)
    group = np.random.default_rng(seed).integers(n_groups, size=n)
    member = (group == np.arange(n_groups)[:, None]).astype(float)
    close(blend.group_sums(group, n_groups), member @ W @ member.T, W)


@given(st.integers(1, 8), st.integers(1, 3), seeds)
@settings(max_examples=50)
def test_new_points_have_their_edges_and_the_background_to_all(n, m, seed):
    blend, W, _ = blend_of_groups(seed, n)
    rng = np.random.default_rng(seed)
    new, edges = rng.normal(size=(m, blend.n_columns)), rng.random((m, n)) * (rng.random((m, n)) < 0.5)
    whole = blend.extended(BlendRows(sp.csr_array(edges), new))
    background = blend.background
    sums, squares, sizes = background.X, background.squares, background.sizes
    # Σ over the points of a leaf of level − ‖x − y‖²
    across = background.slope * (
        background.level * sizes - squares - sizes * (new**2).sum(axis=1)[:, None] + 2 * new @ sums.T
    )
    among = background.slope * (background.level - ((new[:, None] - new[None]) ** 2).sum(axis=2))
    np.fill_diagonal(among, 0.0)
    to_leaves = across + edges * sizes
    expected = np.block([[W, to_leaves.T], [to_leaves, among]])
    close(whole.to_dense(), expected, expected)
    assert_array_equal(whole.sizes, np.append(sizes, np.ones(m)))
    some = BlendRows(sp.csr_array(edges), new)[:1]
    assert some.shape == (1, blend.n_columns)
    close(blend.extended(some).to_dense(), expected[: n + 1, : n + 1], expected)


@given(st.booleans(), st.integers(2, 10), seeds)
@settings(max_examples=50)
def test_split_weights_and_cost_are_sums_over_all_pairs(of_groups, n, seed):
    blend, W, sizes = blend_of_groups(seed, n) if of_groups else (*blend_of_points(seed, n), np.ones(n))
    tree = random_tree(n, seed)
    sets = oracles.leaf_sets(tree)
    expected = [W[np.ix_(sorted(sets[a]), sorted(sets[b]))].sum() for a, b in tree.children.tolist()]
    close(split_weights(tree, blend), expected, W)
    assert_allclose(
        dasgupta_cost(tree, blend),
        oracles.dasgupta_cost(tree, W, sizes),
        rtol=1e-9,
        atol=1e-8 * (1 + np.abs(W).sum() * sizes.sum()),
    )


@given(st.integers(2, 15), seeds)
@settings(max_examples=50)
def test_a_background_of_points_sums_to_nothing(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3)) + 5
    background = Background(X, slope=2.0)
    W = background.to_dense()
    assert_allclose(background.total(), 0.0, atol=1e-12 * n * (X**2).sum())
    assert (W[~np.eye(n, dtype=bool)] + background.shift() >= -1e-9).all()
    weighted = Background(X * 2, slope=2.0, squares=2 * (X**2).sum(axis=1), sizes=np.full(n, 2.0))
    assert_allclose(weighted.to_dense(), 4 * W, atol=1e-9)


@given(st.integers(2, 10), seeds)
@settings(max_examples=50)
def test_no_similarity_is_negative_once_the_shift_is_added(n, seed):
    blend, W, sizes = blend_of_groups(seed, n)
    shifted = blend.background.to_dense() + blend.background.shift() * np.outer(sizes, sizes)
    assert shifted[~np.eye(n, dtype=bool)].min() >= -1e-9 * (1 + np.abs(W).sum())


def test_the_slope_must_be_a_number_that_is_not_negative():
    for slope in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"slope={slope} must be a finite number of at least 0"):
            Background([[0.0], [1.0]], slope=slope)
    with pytest.raises(ValueError, match="The graph has 2 leaves and the background 3"):
        Blend(Graph(sp.csr_array((2, 2))), Background(np.zeros((3, 1)), slope=1.0))


# --- a constant on all pairs -----------------------------------------------------------------------------------------


def raised(blend: Blend, factor: float) -> Blend:
    """The same blend, the level of its background so many times as high: a constant added to all pairs of points."""
    old = blend.background
    new = Background(old.X, slope=old.slope, level=factor * old.level, squares=old.squares, sizes=old.sizes)
    other = Blend(blend.graph, new)
    other.metric, other.source = blend.metric, blend.source
    return other


@given(st.integers(2, 12), seeds)
@settings(max_examples=50)
def test_a_constant_costs_every_tree_the_same(n, seed):
    blend, W = blend_of_points(seed, n)
    tree, added = random_tree(n, seed), 9 * blend.background.slope * blend.background.level
    change = dasgupta_cost(tree, raised(blend, 10.0)) - dasgupta_cost(tree, blend)
    assert_allclose(change, added * (n**3 - n) / 3, rtol=1e-9, atol=1e-9 * n * np.abs(W).sum())


DATA = {
    "moons": make_moons(150, noise=0.05, random_state=0)[0],
    "blobs": make_blobs(120, centers=4, n_features=3, random_state=1)[0],
    "two far groups": np.concatenate([np.random.default_rng(s).normal(100 * s, 1, size=(40, 2)) for s in (0, 1)]),
    "repeated rows": np.round(np.random.default_rng(2).normal(size=(100, 2)) * 2),
}


@pytest.mark.parametrize("factor", [0.0, 10.0])
@pytest.mark.parametrize("name", DATA)
def test_raising_the_constant_tenfold_changes_no_label_of_a_fit(name, factor):
    blend = as_similarity(DATA[name], background=0.01)
    first, second = (HypHC(random_state=0).fit(similarity) for similarity in (blend, raised(blend, factor)))
    assert_array_equal(first.labels_, second.labels_)
    assert first.n_clusters_ == second.n_clusters_
    assert repr(first.plan_) == repr(second.plan_)
    # rounding may lead the search along another path, to a tree that seeds of one fit may end with too
    assert_allclose(dasgupta_cost(second.tree_, blend), first.cost_, rtol=1e-2)
    assert_array_equal(first.predict(DATA[name] + 0.01), second.predict(DATA[name] + 0.01))


@pytest.mark.parametrize("factor", [0.0, 10.0])
@pytest.mark.parametrize("name", DATA)
def test_raising_the_constant_tenfold_changes_no_figure_of_a_tree(name, factor):
    blend = as_similarity(DATA[name], background=0.01)
    fitted = HypHC(random_state=0).fit(blend).tree_
    other = with_similarity_heights(fitted, raised(blend, factor))
    assert_allclose(other.heights, fitted.heights, rtol=1e-9, atol=1e-9)
    # merges of one height may be numbered otherwise
    assert_allclose(np.sort(other.split_weights), np.sort(fitted.split_weights), rtol=1e-9)
    assert_array_equal(other.degrees, fitted.degrees)
    found, again = (number_of_clusters(similarity, fitted) for similarity in (blend, raised(blend, factor)))
    assert (found.n_clusters, found.why, found.runners_up) == (again.n_clusters, again.why, again.runners_up)
    for criterion in ("dasgupta", "height", "modularity", "ncut"):
        for k in range(1, 9):
            assert_array_equal(other.cut(k, criterion=criterion), fitted.cut(k, criterion=criterion))


def test_the_tree_of_least_cost_is_the_same_whatever_the_constant():
    from hyphc import exact_tree

    for seed in range(10):
        blend, _ = blend_of_points(seed, 9)
        tree, other = exact_tree(blend), exact_tree(raised(blend, 10.0))
        assert_allclose(dasgupta_cost(tree, blend), dasgupta_cost(other, blend), rtol=1e-9, atol=1e-9)


def test_heights_do_not_depend_on_the_constant():
    blend = as_similarity(DATA["moons"])
    tree = Tree(random_tree(150, 0).children)
    expected = with_similarity_heights(tree, blend).heights
    for factor in (0.0, 0.5, 10.0, 1000.0):
        assert_allclose(with_similarity_heights(tree, raised(blend, factor)).heights, expected, rtol=1e-8)
