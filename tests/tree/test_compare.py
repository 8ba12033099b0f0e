"""Two trees side by side: every figure against its definition, and the command ``hyphc compare``."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hyphc import HypHC, Tree, compare, robinson_foulds_distance, triplet_distance
from hyphc.cli import main
from hyphc.tree import compare as module
from hypothesis import given
from sklearn.datasets import load_iris
from test_transfer_distance import two_trees

import oracles
from strategies import balanced, chain, random_tree


@given(two_trees())
def test_a_comparison_equals_its_definitions(pair):
    one, two = pair
    n, found = one.n_leaves, compare(one, two)
    both = [oracles.clusters(tree) for tree in (one, two)]
    assert found.n_common == max(0, sum(len(A) > 1 for A in both[0] & both[1]) - 1)
    assert found.robinson_foulds == robinson_foulds_distance(one, two)
    assert found.triplet == triplet_distance(one, two)
    shares = []
    for a, b in ((one, two), (two, one)):
        inner = [A for A in oracles.leaf_sets(a)[n:] if len(A) < n]
        nearest = [min(len(A ^ B) for B in oracles.clusters(b)) / min(len(A) - 1, n - len(A)) for A in inner]
        shares.append(1 - np.mean(nearest) if inner else 1.0)
    assert found.transfer == pytest.approx(np.mean(shares))


@given(two_trees())
def test_differences_are_the_largest_clusters_that_the_other_tree_lacks(pair):
    one, two = pair
    found = compare(one, two, n_differences=3)
    for tree, other, told in ((one, two, found.only_in_first), (two, one, found.only_in_second)):
        sets, clusters = oracles.leaf_sets(tree), oracles.clusters(other)
        missing = sorted((len(A) for A in sets if A not in clusters), reverse=True)
        assert [difference.size for difference in told] == missing[:3]
        for difference in told:
            A = sets[difference.node]
            assert (difference.size, difference.moves) == (len(A), min(len(A ^ B) for B in clusters))


@given(two_trees())
def test_the_cophenetic_correlation_is_that_of_the_heights_of_all_pairs(pair):
    one, two = pair
    joined = [
        [tree.heights[tree.lca(i, j) - tree.n_leaves] for i, j in combinations(range(tree.n_leaves), 2)]
        for tree in (one, two)
    ]
    found = compare(one, two).cophenetic
    if one.n_leaves < 2 or any(np.ptp(heights) == 0 for heights in joined):
        assert np.isnan(found)
    else:
        assert found == pytest.approx(np.corrcoef(joined)[0, 1])


def test_random_pairs_stand_for_all_of_a_large_tree(monkeypatch):
    one, two = random_tree(400, 0), balanced(400)
    exact = compare(one, two).cophenetic
    monkeypatch.setattr(module, "ALL_PAIRS_UP_TO", 10)
    assert compare(one, two).cophenetic == pytest.approx(exact, abs=0.01)
    assert compare(one, one).cophenetic == pytest.approx(1.0)


def test_leaves_are_matched_by_name():
    one = Tree([[0, 1], [3, 2]], names=["a", "b", "c"])
    same = Tree([[0, 2], [3, 1]], names=["b", "c", "a"])
    assert compare(one, same).robinson_foulds == 0
    with pytest.raises(ValueError, match="look at"):
        compare(one, same.with_names(["b", "c", "d"]))
    with pytest.raises(ValueError, match="3 and 4 leaves"):
        compare(one, chain(4))


def test_the_command_tells_and_draws_where_two_trees_differ(tmp_path, capsys):
    X = load_iris().data[::5]
    names = [f"flower {i}" for i in range(len(X))]
    HypHC(random_state=0).fit(X).tree_.with_names(names).save(tmp_path / "a.npz")
    other = HypHC(metric="cosine", random_state=0).fit(X - X.mean(axis=0)).tree_.with_names(names)
    (tmp_path / "b.nwk").write_text(other.to_newick())
    picture = tmp_path / "both.png"
    assert main(["compare", str(tmp_path / "a.npz"), str(tmp_path / "b.nwk"), "--output", str(picture)]) == 0
    told = capsys.readouterr().out
    assert "30 leaves, matched by name" in told
    assert "Robinson-Foulds" in told
    assert "would have to move: flower" in told
    assert picture.stat().st_size > 10_000
    assert main(["compare", str(tmp_path / "a.npz"), str(tmp_path / "a.npz"), "--differences", "2"]) == 0
    assert "28 of 28" in capsys.readouterr().out


def test_the_command_names_its_mistakes(tmp_path, capsys):
    chain(3).save(tmp_path / "a.npz")
    chain(4).save(tmp_path / "b.npz")
    assert main(["compare", str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]) == 1
    assert "3 and 4 leaves" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "a.npz"), str(tmp_path / "a.npz"), "--output", "x.txt"]) == 1
    assert "ends in .txt" in capsys.readouterr().err
