"""Names of groups: class-based TF-IDF by its definition, and laws of names."""

from __future__ import annotations

import re

import hyphc
import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, describe
from hyphc.scores.node_keywords import LARGEST_LOG_RATIO, PRIOR_WORDS
from hypothesis import given
from hypothesis import strategies as st

WORDS = ["owl", "bird", "wing", "red", "wine", "grape", "white", "river", "stone"]
TEXTS = ["grey owl bird", "snowy owl bird", "red wine", "white wine"]
PAIRS = Tree([[0, 1], [2, 3], [4, 5]])


def score_by_definition(tree: Tree, texts: list[str], node: int) -> dict[str, float]:
    """Return the class-based TF-IDF of each word, each set of leaves counted from scratch."""
    points = np.ones(tree.n_leaves) if tree.leaf_sizes is None else tree.leaf_sizes

    def counts(leaves: set[int]) -> dict[str, float]:
        return {w: sum(points[i] for i in leaves if w in texts[i].split()) for w in WORDS}

    everything = set(range(tree.n_leaves))
    own = set(tree.members(node).tolist())
    parent = int(tree.parents[node])
    f, q = counts(own), counts(everything)
    if sum(f.values()) == 0:
        return {}
    share = {w: f[w] / sum(f.values()) for w in WORDS}
    if parent < 0:
        return {w: s for w, s in share.items() if s > 0}
    scores = dict.fromkeys(WORDS, 0.0)
    total = sum(points)
    idf = {w: 1 + np.log(total / sum(points[i] for i in everything if w in texts[i].split())) for w in WORDS if q[w]}
    for other in (counts(everything - own), counts(set(tree.members(parent).tolist()) - own)):
        for w in WORDS:
            prior = PRIOR_WORDS * q[w] / sum(q.values())
            if f[w]:
                ours = (f[w] + prior) / (sum(f.values()) + PRIOR_WORDS)
                theirs = (other[w] + prior) / (sum(other.values()) + PRIOR_WORDS)
                scores[w] += share[w] * idf[w] * min(max(np.log(ours / theirs), 0.0), LARGEST_LOG_RATIO) / 2
    return {w: s for w, s in scores.items() if s > 1e-12}


@st.composite
def described_trees(draw):
    n = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tree = hyphc.baselines.random_tree(n, random_state=draw(st.integers(0, 1000)))
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 5))) for _ in range(n)]
    texts[0] = texts[0] or "owl"
    sizes = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return Tree(tree.children, tree.heights, leaf_sizes=sizes), texts


@given(described_trees())
def test_keywords_follow_the_definition(case):
    tree, texts = case
    found = describe(tree, texts=texts, min_size=1, stop_words=None)
    scanned = dict(found._evidence.scan(1, 100))
    for node in range(2 * tree.n_leaves - 1):
        expected = score_by_definition(tree, texts, node)
        for keywords in (found.keywords(node, 100), scanned[node]):
            assert {k.term: k.score for k in keywords if k.score > 1e-12} == pytest.approx(expected)


@given(described_trees())
def test_names_differ_from_the_parent_and_the_sibling(case):
    tree, texts = case
    names, n = describe(tree, texts=texts, min_size=2, stop_words=None).names, tree.n_leaves
    for t, (a, b) in enumerate(tree.children.tolist()):
        for child, other in ((a, b), (b, a)):
            if child >= n:
                assert names[child] not in ("", names[n + t], names[other])


@given(described_trees(), st.randoms(use_true_random=False))
def test_keywords_do_not_depend_on_the_order_of_rows(case, random):
    tree, texts = case
    number = list(range(tree.n_leaves))
    random.shuffle(number)
    moved = tree.with_leaves_numbered(number)
    before = describe(tree, texts=texts, stop_words=None)
    after = describe(moved, texts=[texts[i] for i in np.argsort(number)], stop_words=None)
    for node in range(tree.n_leaves, 2 * tree.n_leaves - 1):
        members = np.sort(np.asarray(number)[tree.members(node)])
        same = next(v for v in range(2 * tree.n_leaves - 1) if np.array_equal(moved.members(v), members))
        assert [k.term for k in before.keywords(node)] == [k.term for k in after.keywords(same)]


def test_a_leaf_of_two_points_counts_as_two_equal_leaves():
    weighted = Tree([[0, 1], [3, 2]], leaf_sizes=[2.0, 1.0, 1.0])
    single = Tree([[0, 1], [4, 2], [5, 3]])
    one = describe(weighted, texts=["owl", "bird", "wine"]).keywords(3)
    other = describe(single, texts=["owl", "owl", "bird", "wine"]).keywords(5)
    assert [k.term for k in one] == [k.term for k in other]
    assert [k.score for k in one] == pytest.approx([k.score for k in other])


def test_sparse_counts_are_described_like_the_texts_they_come_from():
    found = describe(PAIRS, texts=TEXTS)
    counts, words = found._evidence.counts, found._evidence.words
    assert describe(PAIRS, sparse=counts, columns=words).names == found.names


def test_columns_are_described_by_effect_sizes():
    table = {"mass": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2], "noise": [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]}
    tree = Tree([[0, 1], [6, 2], [3, 4], [8, 5], [7, 9]])
    found = describe(tree, columns=table, n_words=1)
    assert (found.names[7], found.names[9]) == ("mass low", "mass high")
    assert found.representatives(7, 1).tolist() == [1]


def test_representatives_are_close_to_the_mean():
    assert describe(PAIRS, texts=["owl bird", "owl", "red wine", "white wine"]).representatives(6, 2).shape == (2,)


def test_a_namer_gets_the_facts_of_each_node_and_its_names_are_made_distinct():
    seen = []
    found = describe(PAIRS, texts=TEXTS, namer=lambda node: seen.append(node) or "group")
    assert sorted(found.names[4:]) == ["group", "group (2)", "group (3)"]
    assert [node.parent_name for node in seen] == [None, "group", "group"]
    assert seen[0].size == 4
    assert set(seen[1].examples) <= set(TEXTS)
    assert seen[1].keywords
    with pytest.raises(TypeError, match="namer returned None for node 6"):
        describe(PAIRS, texts=TEXTS, namer=lambda node: None)


def test_equal_texts_get_numbers():
    assert sorted(describe(PAIRS, texts=["owl"] * 4).names[4:]) == ["other", "other (2)", "owl"]


def test_one_and_two_leaves_are_described():
    assert describe(Tree(np.empty((0, 2), dtype=int)), texts=["owl"]).names == ("0",)
    found = describe(Tree([[0, 1]]), texts=["owl", None])
    assert found.names == ("0", "1", "owl")
    assert found.to_pandas().name.tolist() == ["owl"]
    assert "1 nodes" in repr(found)


def test_a_fitted_model_is_described():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert len(describe(hyphc.HypHC().fit(X), columns=X).names) == 59


@pytest.mark.parametrize(
    ("given_data", "message"),
    [
        ({"texts": TEXTS[:3]}, "texts has 3 entries; pass 4"),
        ({"texts": ["a", 5, "b", "c"]}, "texts[1] is 5, a int"),
        ({"texts": "owl"}, "texts is one string"),
        ({"texts": [None, float("nan"), "", None]}, "all empty or missing"),
        ({"texts": ["the", "of", "and", "a"]}, "no words but stop words"),
        ({"texts": TEXTS, "columns": np.ones((4, 1))}, "texts and columns were given"),
        ({}, "nothing to describe nodes by"),
        ({"sparse": sp.csr_array(np.ones((3, 2)))}, "sparse has 3 rows; pass 4"),
        ({"sparse": sp.csr_array(-np.ones((4, 2)))}, "sparse holds -1"),
        ({"sparse": sp.csr_array(np.ones((4, 2))), "columns": ["a"]}, "columns has 1 names; pass 2"),
        ({"sparse": sp.csr_array((4, 2))}, "no count above 0"),
        ({"texts": TEXTS, "n_words": 0}, "n_words=0"),
        ({"texts": TEXTS, "min_size": 0}, "min_size=0"),
    ],
)
def test_errors_name_the_value_and_the_remedy(given_data, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        describe(PAIRS, **given_data)
