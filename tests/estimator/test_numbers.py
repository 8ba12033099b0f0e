"""Numbers at the ends of their range: the same tree as at an ordinary scale, or a sentence; and how many digits sums keep."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity, dasgupta_cost, split_weights
from hyphc.baselines import random_tree
from hyphc.similarity import Features
from hyphc.tree.distances import exact_count, triplet_distance

EPSILON = float(np.finfo(np.float64).eps)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(20)
    return np.vstack([rng.normal(size=(10, 3)) + centre for centre in (0.0, 8.0, 16.0)])


def matrix(rows: np.ndarray) -> np.ndarray:
    W = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2) / 10)
    np.fill_diagonal(W, 0.0)
    return W


def fitted(X, metric: str = "auto") -> HypHC:
    return HypHC(3, metric=metric, random_state=0).fit(X)


# Powers of two, which change no digit.
@pytest.mark.parametrize("power", [-330, -100, 100, 320])
def test_the_tree_does_not_depend_on_the_unit_of_the_rows(rows, power):
    assert fitted(np.ldexp(rows, power)).tree_ == fitted(rows).tree_


@pytest.mark.parametrize("power", [-1040, -900, 900, 1015])
@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_directions_do_not_depend_on_the_unit_even_among_denormals(rows, metric, power):
    assert fitted(np.ldexp(rows, power), metric).tree_ == fitted(rows, metric).tree_


@pytest.mark.parametrize("power", [-1000, -500, 500, 980])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_tree_does_not_depend_on_the_unit_of_the_similarities(rows, kind, power):
    W = matrix(rows)
    model, other = fitted(kind(W), "precomputed"), fitted(kind(np.ldexp(W, power)), "precomputed")
    assert other.tree_ == model.tree_
    assert np.ldexp(other.cost_, -power) == pytest.approx(model.cost_, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 5e-324, 1e150, 1e300])
@pytest.mark.parametrize("metric", ["auto", "rbf"])
def test_rows_whose_squares_are_no_numbers_are_refused(rows, metric, scale):
    with np.errstate(under="ignore"), pytest.raises(ValueError, match="rescale it"):
        fitted(rows * scale if scale > 1e-323 else (rows > 8) * scale, metric)


@pytest.mark.parametrize("metric", ["auto", "rbf"])
def test_a_new_row_far_beyond_all_others_is_refused_not_placed_by_chance(rows, metric):
    model = fitted(rows, metric)
    assert set(model.predict(np.full((2, 3), 1e90)).tolist()) <= {0, 1, 2}
    with pytest.raises(ValueError, match="rescale it"):
        model.predict(np.full((2, 3), 1e160))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_similarities_whose_sums_are_infinite_are_refused(rows, kind):
    W = matrix(rows)
    W[0, 1] = W[1, 0] = 1e308
    with pytest.raises(ValueError, match="divide all of them alike"):
        fitted(kind(W), "precomputed")


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 0.0, 1e300, 1e-300])
def test_weights_that_are_no_numbers_of_points_are_refused(rows, weight):
    weights = np.ones(len(rows))
    weights[3] = weight
    with pytest.raises(ValueError, match="weight"):
        HypHC(random_state=0).fit(rows, sample_weight=weights)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_similarities_that_are_no_numbers_are_refused(rows, kind, weight):
    W = matrix(rows)
    W[3, 4] = W[4, 3] = weight
    with pytest.raises(ValueError, match=r"X\[3, 4\] is (nan|inf)|negative|>= 0"):
        fitted(kind(W), "precomputed")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, np.longdouble])
def test_every_type_of_numbers_gives_the_tree_of_the_same_numbers_in_float64(rows, dtype):
    numbers = np.round(rows)
    assert fitted(np.abs(numbers).astype(dtype)).tree_ == fitted(np.abs(numbers)).tree_


def test_complex_numbers_are_refused(rows):
    with pytest.raises(ValueError, match="Complex data not supported: X holds complex128"):
        as_similarity(rows + 1j)


def test_equal_rows_and_equal_similarities_are_one_cluster():
    assert HypHC(random_state=0).fit(np.ones((50, 3))).n_clusters_ == 1
    for value in (0.0, 1.0):
        assert HypHC(metric="precomputed", random_state=0).fit(np.full((50, 50), value)).n_clusters_ == 1


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # beside 1e60 "rbf" takes all others for one point
@pytest.mark.parametrize("far", [1e3, 1e12, 1e60, 1e99])
@pytest.mark.parametrize("metric", ["auto", "cosine", "rbf"])
def test_one_row_far_from_all_others_leaves_costs_and_heights_finite(rows, far, metric):
    model = fitted(np.vstack([rows, np.full(3, far)]), metric)
    assert np.isfinite(model.cost_)
    assert np.isfinite(model.tree_.heights).all()
    assert model.cost_ == pytest.approx(dasgupta_cost(model.tree_, model.similarity_), rel=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("metric", ["auto", "rbf"])
def test_columns_far_from_zero_keep_their_digits(rows, metric, offset):
    numbers = np.round(rows * 1024) / 1024  # so that the offset rounds nothing away
    near, far = fitted(numbers, metric), fitted(numbers + offset, metric)
    assert far.tree_ == near.tree_
    assert far.cost_ == pytest.approx(near.cost_, rel=1e-9)


def test_a_clock_in_nanoseconds_is_no_constant_column(rows):
    clock = np.column_stack([1.7e18 + 1e9 * rows[:, 0], rows[:, 1]])
    assert as_similarity(clock).source.scaling.factor.all()


def exact_splits(tree: Tree, W: list[list[Fraction]]) -> list[Fraction]:
    """x(v) of every merge, in fractions."""
    leaves = [[i] for i in range(tree.n_leaves)]
    found = []
    for a, b in tree.children.tolist():
        found.append(sum((W[i][j] for i in leaves[a] for j in leaves[b]), Fraction(0)))
        leaves.append(leaves[a] + leaves[b])
    return found


def exact_cost(tree: Tree, splits: list[Fraction]) -> Fraction:
    return sum((int(size) * x for size, x in zip(tree.sizes[tree.n_leaves :], splits, strict=True)), Fraction(0))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_costs_of_matrices_and_graphs_lose_at_most_n_roundings_whatever_the_range_of_the_weights(kind, seed):
    rng = np.random.default_rng(seed)
    n = 30
    W = np.triu(10.0 ** rng.uniform(-290, 290, size=(n, n)), 1)
    W += W.T
    similarity = as_similarity(kind(W), "precomputed")
    tree = random_tree(similarity, random_state=seed)
    fractions = [[Fraction(x) for x in row] for row in W.tolist()]
    splits = exact_splits(tree, fractions)
    for found, x in zip(split_weights(tree, similarity).tolist(), splits, strict=True):
        assert abs(Fraction(found) - x) <= Fraction(n * n * EPSILON) * x
    cost = exact_cost(tree, splits)
    assert abs(Fraction(dasgupta_cost(tree, similarity)) - cost) <= Fraction((n * n + n) * EPSILON) * cost


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
def test_costs_of_features_lose_at_most_so_many_roundings_of_what_cancels(spread):
    rng = np.random.default_rng(3)
    n, d = 24, 4
    X = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None] * (np.ones(d) + spread * rng.normal(size=(n, d)))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * (1 + 1e-12)
    similarity = Features(X, offset=0.5, scale=0.5)
    tree = random_tree(similarity, random_state=0)
    rows = [[Fraction(x) for x in row] for row in similarity.X.tolist()]
    half = Fraction(1, 2)
    W = [[half + half * sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0)) for q in rows] for p in rows]
    for found, x, (a, b) in zip(
        split_weights(tree, similarity).tolist(), exact_splits(tree, W), tree.children, strict=True
    ):
        cancelled = float(tree.sizes[a] * tree.sizes[b])  # a·n_l·n_r + |b|·|s_l|·|s_r| at the most
        assert abs(found - float(x)) <= (n + d) * EPSILON * cancelled


def test_numbers_beyond_sixty_four_bits_are_counted_exactly():
    for count in (0, 1, 2**63 - 1, 2**63, 2**64 + 17, 3 * 2**64 - 1, 333_333_233_333_340_000_000):
        low = (count + 2**63) % 2**64 - 2**63  # as an int64 that has wrapped around
        for about in (float(count), float(count) * (1 + 1e-9), float(count) * (1 - 1e-9)):
            assert exact_count(low, about) == count


@pytest.mark.slow
def test_the_triplets_of_four_million_leaves_exceed_sixty_four_bits_and_are_counted():
    n = 1 << 22
    levels, begin, merges = n, 0, []
    while levels > 1:
        nodes = np.arange(begin, begin + levels)
        merges.append(nodes.reshape(-1, 2))
        begin, levels = begin + levels, levels // 2
    tree = Tree(np.vstack(merges))
    assert triplet_distance(tree, tree, normalized=False) == 0.0
