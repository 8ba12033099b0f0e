"""Probabilities and outlier scores against their definitions, and outliers of estimators and commands."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hyphc import Constraints, HypHC, Tree, estimator
from hyphc.cli import main
from hyphc.tree.criteria import SCORES
from hyphc.tree.membership import outlier_scores, probabilities
from hyphc.tree.prunings import flat_clusters, most_clusters
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from strategies import random_tree, trees


@st.composite
def sized_trees(draw: st.DrawFn, max_leaves: int = 10) -> Tree:
    """A tree whose leaves stand for one or several points."""
    tree = draw(trees(max_leaves=max_leaves))
    sizes = draw(st.none() | st.lists(st.integers(1, 4), min_size=tree.n_leaves, max_size=tree.n_leaves))
    return Tree(tree.children, tree.heights, leaf_sizes=sizes)


def way_down(tree: Tree, leaf: int, start: int, min_size: float) -> float:
    """The height at which a leaf below a node falls out on the way down from there."""
    n, sets = tree.n_leaves, oracles.leaf_sets(tree)
    sizes = np.ones(n) if tree.leaf_sizes is None else tree.leaf_sizes
    points = [sizes[sorted(leaves)].sum() for leaves in sets]
    v, up = start, tree.parents[start]
    height = tree.heights[up - n] if up >= 0 else 0.0
    while v >= n:
        height = tree.heights[v - n]
        a, b = tree.children[v - n].tolist()
        side, other = (a, b) if leaf in sets[a] else (b, a)
        is_larger = points[side] > points[other] or (points[side] == points[other] and side == a)
        if min(points[a], points[b]) >= min_size or (is_larger and points[side] >= min_size):
            v = side
        else:
            break
    return float(height)


def probabilities_by_definition(tree: Tree, clusters, min_size: float) -> list[float]:
    n, top = tree.n_leaves, 2 * tree.n_leaves - 2
    core = clusters.nodes[clusters.labels]
    leave = [way_down(tree, i, core[i], min_size) if not clusters.joined[i] else np.inf for i in range(n)]
    found = []
    for i in range(n):
        birth = tree.heights[tree.parents[core[i]] - n] if core[i] != top else tree.heights[-1] if n > 1 else 0.0
        death = min(leave[j] for j in range(n) if core[j] == core[i])
        found.append(0.0 if clusters.joined[i] else (birth - leave[i]) / (birth - death) if birth > death else 1.0)
    return found


def scores_by_definition(tree: Tree, clusters, min_size: float) -> list[float]:
    n, labels = tree.n_leaves, clusters.labels
    leave = [way_down(tree, i, 2 * n - 2, min_size) for i in range(n)]
    top = tree.heights[-1] if n > 1 else 0.0
    death = [min(leave[j] for j in range(n) if labels[j] == labels[i]) for i in range(n)]
    return [(high - low) / (top - low) if top > low else 0.0 for high, low in zip(leave, death, strict=True)]


@given(sized_trees(), st.integers(1, 4), st.sampled_from(["condensed", "height"]))
def test_probabilities_are_those_of_the_definition(tree, min_size, criterion):
    for k in range(1, most_clusters(tree, criterion) + 1):
        clusters = flat_clusters(tree, k, criterion)
        found = probabilities(tree, clusters, min_size)
        assert_allclose(found, probabilities_by_definition(tree, clusters, min_size), atol=1e-12)
        assert ((found >= 0) & (found <= 1)).all()
        assert (found[clusters.joined] == 0).all()
        for c in range(k):
            assert found[clusters.labels == c].max() == 1


@given(sized_trees(), st.integers(1, 4))
def test_outlier_scores_are_those_of_the_definition(tree, min_size):
    for k in range(1, tree.n_leaves + 1):
        clusters = flat_clusters(tree, k)
        found = outlier_scores(tree, clusters, min_size)
        assert_allclose(found, scores_by_definition(tree, clusters, min_size), atol=1e-12)
        assert ((found >= 0) & (found <= 1)).all()


@given(sized_trees(), st.none() | st.integers(1, 4), st.integers(0, 2**31))
def test_neither_the_numbers_of_leaves_nor_the_unit_and_zero_of_heights_matter(tree, min_size, seed):
    assume(tree.n_leaves > 1)
    rng = np.random.default_rng(seed)
    number, k = rng.permutation(tree.n_leaves), int(rng.integers(1, tree.n_leaves + 1))
    turned = tree.with_leaves_numbered(number)
    scaled = Tree(tree.children, 4.0 * tree.heights + 3.0, leaf_sizes=tree.leaf_sizes)
    for measure in (probabilities, outlier_scores):
        one = measure(tree, flat_clusters(tree, k), min_size)
        assert_allclose(measure(turned, flat_clusters(turned, k), min_size)[number], one, atol=1e-12)
        assert_allclose(measure(scaled, flat_clusters(scaled, k), min_size), one, atol=1e-9)


@pytest.mark.parametrize("heights", [np.zeros(59), np.full(59, 1e308), np.geomspace(1e-308, 1e308, 59)])
def test_extreme_heights_give_finite_numbers(heights):
    tree = Tree(random_tree(60, 0).children, heights)
    for k in (1, 4, 60):
        for measure in (probabilities, outlier_scores):
            found = measure(tree, flat_clusters(tree, k))
            assert np.isfinite(found).all()
            assert ((found >= 0) & (found <= 1)).all()


# --- estimators ------------------------------------------------------------------------------------------------------


rng = np.random.default_rng(0)
BLOBS = np.vstack([rng.normal(centre, 0.3, size=(60, 2)) for centre in ((0, 0), (8, 0), (0, 8))])
FAR = np.array([[30.0, 30.0], [-25.0, 20.0], [25.0, -30.0]])
X = np.vstack([BLOBS, FAR])


def test_scores_by_density_are_those_of_the_definition():
    model = HypHC(3, random_state=0).fit(X)
    crowding, labels = model.similarity_.graph.local_density, model._clusters_.labels
    radius = np.exp(-crowding.density / crowding.dimension)
    expected = []
    for i, label in enumerate(labels):
        inside = np.sort(radius[labels == label])
        expected.append(max(0.0, 1 - inside[int(0.1 * (len(inside) - 1))] / radius[i]))
    assert_allclose(model.outlier_scores_, expected, atol=1e-12)
    assert set(np.argsort(-model.outlier_scores_)[:3]) == {180, 181, 182}
    assert model.outlier_scores_[180:].min() > 0.9


def test_noise_around_groups_has_high_scores_by_default():
    rng = np.random.default_rng(3)
    noise = rng.uniform(-8, 16, size=(20, 2))
    away = np.abs(noise[:, None] - np.array([(0, 0), (8, 0), (0, 8)])).max(axis=2).min(axis=1) > 2
    model = HypHC(random_state=0).fit(np.vstack([BLOBS, noise[away]]))
    assert np.quantile(model.outlier_scores_[180:], 0.1) > np.quantile(model.outlier_scores_[:180], 0.9)


def test_far_points_are_outliers_and_have_the_highest_scores():
    model = HypHC(3, metric="rbf", random_state=0).fit(X)
    assert set(np.argsort(-model.outlier_scores_)[:3]) == {180, 181, 182}
    assert_array_equal(np.flatnonzero(model._clusters_.joined), [180, 181, 182])
    labelled = HypHC(3, metric="rbf", outliers="label", random_state=0).fit(X)
    assert (model.labels_ >= 0).all()
    assert labelled.n_clusters_ == model.n_clusters_ == 3
    assert_array_equal(labelled.probabilities_, model.probabilities_)
    assert_array_equal(labelled.labels_ < 0, model._clusters_.joined)
    kept = labelled.labels_ >= 0
    assert_array_equal(labelled.labels_[kept], model.labels_[kept])
    assert (model.probabilities_[~kept] == 0).all()
    assert model.probabilities_[:180].mean() > model.probabilities_[180:].mean()
    assert_array_equal(labelled.predict(FAR), model.predict(FAR))
    assert (labelled.predict(FAR) >= 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_clusters": 5},
        {"n_clusters": 100},
        {"min_size": 20},
        {"distance_threshold": 3.0},
        {"distance_threshold": 3.0, "outliers": "label"},
        *({"n_clusters": 4, "criterion": criterion} for criterion in SCORES),
        {"constraints": Constraints(must_link=[[0, 60]], cannot_link=[(1, 2)])},
        {"metric": "cosine"},
    ],
)
def test_every_fit_has_both_in_range(options):
    model = HypHC(random_state=0, **options).fit(X)
    for values in (model.probabilities_, model.outlier_scores_):
        assert values.shape == (len(X),)
        assert ((values >= 0) & (values <= 1)).all()
    largest = np.zeros(model.n_clusters_)
    np.maximum.at(largest, model._clusters_.labels, model.probabilities_)
    assert (largest == 1).all()
    if options.get("criterion", "condensed") != "condensed" or "distance_threshold" in options:
        assert not model._clusters_.joined.any()
        assert (model.labels_ >= 0).all()


def test_equal_rows_have_equal_numbers():
    repeated = np.repeat(X[::4], 3, axis=0)
    model = HypHC(3, random_state=0).fit(repeated)
    for values in (model.probabilities_, model.outlier_scores_):
        assert_array_equal(values, np.repeat(values[::3], 3))


@pytest.mark.parametrize("n", [1, 2])
def test_few_points_belong_and_are_no_outliers(n):
    model = HypHC(random_state=0, outliers="label").fit(X[:n])
    assert_array_equal(model.labels_, np.zeros(n))
    assert_array_equal(model.outlier_scores_, np.zeros(n))
    assert model.probabilities_.shape == (n,)


def test_points_that_are_added_have_them_too():
    model = HypHC(3, metric="rbf", outliers="label", random_state=0).fit(BLOBS)
    model.partial_fit(FAR)
    clusters = flat_clusters(model.tree_, 3)
    assert_array_equal(model.probabilities_, probabilities(model.tree_, clusters))
    assert_array_equal(model.outlier_scores_, outlier_scores(model.tree_, clusters))
    assert_array_equal(model.labels_, np.where(clusters.joined, -1, clusters.labels))
    assert (model.outlier_scores_[180:] > np.median(model.outlier_scores_)).all()


def test_a_fit_by_parts_labels_outliers_and_has_neither(tmp_path, monkeypatch):
    angles = np.radians(np.append(rng.normal(np.array([0, 60, 120]), size=(200, 3)), [260, 275]))
    np.save(tmp_path / "x.npy", np.column_stack([np.cos(angles), np.sin(angles)]))
    monkeypatch.setattr(estimator, "is_too_large", lambda source, limit: True)
    model = HypHC(3, metric="cosine", outliers="label", random_state=0).fit(tmp_path / "x.npy")
    assert not hasattr(model, "probabilities_")
    assert not hasattr(model, "outlier_scores_")
    clusters = flat_clusters(model.tree_, 3)
    assert_array_equal(model.labels_, np.where(clusters.joined, -1, clusters.labels))
    assert model.labels_[600] == -1
    assert set(model.predict(np.array([[1.0, 0.0], [0.1, -1.0]]))) <= {0, 1, 2}


def test_the_command_line_writes_both_and_says_how_many_joined(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("x.csv", X, delimiter=",", header="a,b", comments="")
    for fate, words in (("join", "joined them"), ("label", "have the cluster -1")):
        assert main(["fit", "x.csv", "--metric", "rbf", "--n-clusters", "3", "--outliers", fate, "--output", fate]) == 0
        model = HypHC(3, metric="rbf", outliers=fate, random_state=0).fit(X)
        told = f"{model._clusters_.joined.sum()} points outside the cores of clusters {words}"
        assert told in " ".join(capsys.readouterr().out.split())
        assert told in (tmp_path / fate / "report.md").read_text().replace("\\", "")
        with open(tmp_path / fate / "clusters.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
        assert_allclose([float(row["probability"]) for row in rows], model.probabilities_, atol=1e-3)
        assert_allclose([float(row["outlier_score"]) for row in rows], model.outlier_scores_, atol=1e-3)
