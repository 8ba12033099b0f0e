"""Newick in and out: round trips, names of any kind, unusual and damaged text."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import Tree
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from strategies import trees


@given(trees(), st.booleans())
def test_round_trip_keeps_the_tree(tree, branch_lengths):
    copy = Tree.from_newick(tree.to_newick(branch_lengths=branch_lengths))
    assert copy == tree
    assert copy.names is None
    if branch_lengths:
        assert_allclose(copy.heights, tree.heights, rtol=1e-12)


@given(trees(1, 6), st.lists(st.text(), min_size=6, max_size=6, unique=True))
def test_any_names_survive(tree, names):
    names = names[: tree.n_leaves]
    copy = Tree.from_newick(tree.to_newick(names), names=names)
    assert copy == tree
    assert list(copy.names) == names


def test_names_are_kept_in_order_of_appearance():
    tree = Tree.from_newick("((A:1,'B''s dog':1):2,C_c:3);")
    assert tree.names == ("A", "B's dog", "C_c")
    assert tree.children.tolist() == [[0, 1], [3, 2]]
    assert tree.heights.tolist() == [1.0, 3.0]
    assert tree.to_newick() == "((A:1.0,'B''s dog':1.0):2.0,'C_c':3.0);"


def test_comments_blanks_labels_and_a_missing_semicolon_are_read():
    tree = Tree.from_newick(" ( [a comment] A , ( B , C ) inner : 0.5 ) root ")
    assert tree.names == ("A", "B", "C")
    assert tree == Tree([[1, 2], [0, 3]])


def test_many_children_become_merges_at_one_height():
    tree = Tree.from_newick("(A:2,B:2,C:2,D:2);")
    assert tree.heights.tolist() == [2.0, 2.0, 2.0]
    assert tree.cut(height=1.9).tolist() == [0, 1, 2, 3]


def test_single_children_vanish_and_their_lengths_add_up():
    tree = Tree.from_newick("(((A:1):1):1,B:3);")
    assert tree.n_leaves == 2
    assert tree.heights.tolist() == [3.0]


def test_unequal_depths_take_the_longest_way_down():
    assert Tree.from_newick("((A:1,B:4):1,C:1);").heights.tolist() == [4.0, 5.0]


def test_negative_lengths_do_not_put_a_parent_below_its_child():
    assert Tree.from_newick("((A:2,B:2):-1,C:0.5);").heights.tolist() == [2.0, 2.0]


def test_lengths_may_be_missing_here_and_there():
    assert Tree.from_newick("((A,B):1,C:2);").heights.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("((A,B);", "never closed"),
        ("(A,B));", "no '\\(' before"),
        ("(A,B),(C,D);", "several subtrees"),
        ("(A,B); (C,D);", "pass one tree"),
        ("(A:x,B);", "'x' is not a number"),
        ("(A B,C);", "'B' follows another name"),
        ("(A(B,C));", "comma missing"),
        ("(A,'B);", "cannot read"),
    ],
)
def test_broken_text_is_explained(text, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_newick(text)


@pytest.mark.parametrize("names", [["A"], ["A", "A"], ["A", "X"], ["A", "B", "C"]])
def test_names_that_do_not_match_are_refused(names):
    with pytest.raises(ValueError, match="names must list each of the 2 leaves once"):
        Tree.from_newick("(A,B);", names=names)


def test_numbers_as_names_are_leaf_numbers_whatever_their_order():
    tree = Tree.from_newick("((2,0),1);")
    assert tree == Tree([[0, 2], [3, 1]])
    assert np.array_equal(tree.cut(n_clusters=2), [0, 1, 0])


def test_inner_nodes_are_named_in_newick():
    tree = Tree([[0, 1], [3, 2]], names=["a", "b", "c"])
    assert tree.to_newick(branch_lengths=False, node_names=["", "", "", "it's", ""]) == "((a,b)'it''s',c);"
    assert Tree.from_newick(tree.to_newick(node_names=["", "", "", "owl, bird", "all"])) == tree
    with pytest.raises(ValueError, match="node_names has 2 entries; pass 5"):
        tree.to_newick(node_names=["x", "y"])
