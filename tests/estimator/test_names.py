"""Names end to end: from the rows of a frame into trees, predictions, files, plots and pages; parts of trees; notebooks."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, Tree, describe
from hyphc._runtime import palette
from hyphc._runtime.abbreviate import abbreviate
from hyphc.io import read_tree
from hyphc.io.trees import write_tree
from hyphc.tree.notebook_repr import tree_html
from hypothesis import given
from hypothesis import strategies as st

import oracles
import strategies

pytestmark = pytest.mark.usefixtures("quick_certificate")

HOSTILE = "</text><script>window.hacked = 1</script>"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3)) + 6 * (np.arange(24) % 2)[:, None]
    return pd.DataFrame(X, columns=list("abc"), index=[f"sample {i}" for i in range(24)])


@pytest.fixture(scope="module")
def model(frame) -> HypHC:
    return HypHC(2, random_state=0).fit(frame)


def test_the_index_of_a_frame_names_the_leaves(frame, model):
    assert model.tree_.names == tuple(frame.index)
    assert "sample 7" in model.tree_.to_newick()
    assert HypHC(2, random_state=0).fit(frame.reset_index(drop=True)).tree_.names is None
    assert HypHC(2, random_state=0).fit(frame.to_numpy()).tree_.names is None


def test_an_index_of_other_numbers_or_of_several_levels_names_them_too(frame):
    odd = frame.set_index(pd.Index(range(100, 124)))
    assert HypHC(2, random_state=0).fit(odd).tree_.names[:2] == ("100", "101")
    levels = frame.set_index(pd.MultiIndex.from_product([["x", "y"], range(12)]))
    assert HypHC(2, random_state=0).fit(levels).tree_.names[-1] == "y, 11"


def test_new_points_bring_their_names_and_clusters_come_back_under_them(frame, model):
    grown = HypHC(2, random_state=0).fit(frame).partial_fit(frame.iloc[:2].set_index(pd.Index(["new", "newer"])))
    assert grown.tree_.names == (*frame.index, "new", "newer")
    unnamed = HypHC(2, random_state=0).fit(frame).partial_fit(frame.iloc[:1].reset_index(drop=True))
    assert unnamed.tree_.names[-1] == "24"
    table = model.to_pandas()
    assert list(table.index) == list(frame.index)
    assert table.cluster.tolist() == model.labels_.tolist()
    assert np.argsort(table.position).tolist() == model.tree_.leaf_order().tolist()
    assert model.to_pandas(frame.iloc[[3, 4]]).loc["sample 3", "cluster"] == model.labels_[3]


@given(strategies.trees(max_leaves=10), st.data())
def test_a_subtree_has_the_clusters_heights_and_weights_that_lie_below_its_node(tree, data):
    n = tree.n_leaves
    rng = np.random.default_rng(0)
    carried = {"split_weights": rng.random(n - 1), "support": rng.random(n - 1), "leaf_sizes": 1 + rng.random(n)}
    tree = Tree(tree.children, tree.heights, [f"leaf {i}" for i in range(n)], degrees=np.ones(n), **carried)
    node = data.draw(st.integers(0, 2 * n - 2))
    sets = oracles.leaf_sets(tree)
    members, part = tree.members(node), tree.subtree(node)
    assert members.tolist() == sorted(sets[node])
    assert part.names == tuple(f"leaf {i}" for i in members)
    assert part.degrees is None
    below = {sets[v]: v for v in range(n, 2 * n - 1) if sets[v] <= sets[node]}
    found = {frozenset(members[list(leaves)].tolist()): v for v, leaves in enumerate(oracles.leaf_sets(part))}
    assert {s for s in found if len(s) > 1} == below.keys()
    for leaves, v in below.items():
        t = found[leaves] - part.n_leaves
        assert part.heights[t] == tree.heights[v - n]
        assert part.split_weights[t] == tree.split_weights[v - n]
        assert part.support[t] == tree.support[v - n]


def test_leaves_of_a_subtree_without_names_are_called_by_their_numbers():
    assert Tree([[0, 3], [4, 1], [5, 2]]).subtree(5).names == ("0", "1", "3")


def test_a_tree_is_renamed_by_a_list_a_function_or_a_table_and_unknown_names_are_told():
    tree = Tree([[0, 1], [3, 2]], names="abc")
    assert tree.renamed(["x", "y", "z"]).names == ("x", "y", "z")
    assert tree.renamed(str.upper).names == ("A", "B", "C")
    assert tree.renamed({"b": "bee"}).names == ("a", "bee", "c")
    assert Tree([[0, 1], [3, 2]]).renamed({1: "one"}).names == ("0", "one", "2")
    with pytest.raises(ValueError, match="No leaf is called 'q'"):
        tree.renamed({"q": "r"})


def test_nodes_that_do_not_exist_are_told():
    for method in ("members", "subtree"):
        with pytest.raises(ValueError, match="Node 5 does not exist"):
            getattr(Tree([[0, 1], [3, 2]]), method)(5)


@given(st.lists(st.text("ab01", min_size=1, max_size=12), min_size=1, max_size=8), st.integers(3, 12))
def test_shortened_names_fit_and_tell_as_many_apart_as_cutting_the_end_would(names, length):
    short = abbreviate(names, length)
    assert all(len(name) <= length for name in short)
    assert [s for s, name in zip(short, names, strict=True) if len(name) <= length] == [
        name for name in names if len(name) <= length
    ]
    cut = [name if len(name) <= length else name[: length - 1] + "…" for name in names]
    assert len(set(short)) >= len(set(cut))


@pytest.mark.parametrize("n", [1, 2, 3, 40, 41, 500])
def test_a_notebook_shows_a_tree_as_a_drawing_in_which_names_are_text(n):
    tree = strategies.balanced(n).renamed(lambda i: f"{HOSTILE} \x00 {i}")
    text = tree._repr_html_()
    assert "<script" not in text
    assert "\x00" not in text
    assert text.count("<text") == min(n, 40)
    assert html.unescape(re.search(r"<text[^>]*>([^<]*)", text)[1])


def test_a_notebook_shows_a_model_with_the_colours_of_its_clusters_and_a_description_with_names_of_groups():
    X = np.repeat(9 * np.eye(3), 40, axis=0) + np.random.default_rng(0).normal(size=(120, 3))
    model = HypHC(random_state=0)
    assert "<svg" not in model._repr_html_()
    shown = model.fit(X)._repr_html_()
    assert "sk-" in shown.split("<div><p")[0]  # scikit-learn's parameters come first
    for colour in palette.hexes(palette.cluster_colors(3)):
        assert f'stroke="{colour}"' in shown
    found = describe(model, columns={"a": X[:, 0], "b": X[:, 1]})
    described = found._repr_html_()
    assert any(f">{found.names[node]} ({model.tree_.sizes[node]})<" in described for node in found.nodes)
    assert "<script" not in describe(model, columns={HOSTILE: X[:, 0]})._repr_html_()


def test_outliers_and_branches_above_clusters_have_no_colour_of_a_cluster_in_a_notebook():
    tree = Tree([[0, 1], [2, 3], [4, 5]])
    text = tree_html(tree, np.array([0, 0, 1, -1]))
    first, second = palette.hexes(palette.cluster_colors(2))
    lines = {stroke: path.count("M") for path, stroke in re.findall(r'<path d="([^"]*)" stroke="([^"]*)"', text)}
    assert lines == {first: 3, second: 1, "currentColor": 2}


def test_a_page_without_a_path_is_shown_in_a_frame_and_can_be_saved(model, frame, tmp_path):
    page = model.explore(X=frame)
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert page.save(tmp_path / "page.html").read_bytes() == page.content
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]).encode() == page.content
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', page.content.decode(), re.DOTALL)[1])
    assert data["names"] == list(frame.index)
    assert data["features"]["names"] == list("abc")
    assert model.explore(tmp_path / "other.html").read_bytes()


def test_a_model_draws_itself_and_mistakes_are_told(model, frame):
    plt = pytest.importorskip("matplotlib.pyplot")
    for kind in ("dendrogram", "condensed_tree", "disk", "similarity", "scores"):
        assert model.plot(kind).figure
    assert model.plot("clustermap", frame).get_xticklabels()
    plt.close("all")
    with pytest.raises(ValueError, match="kind='pie' is unknown; choose one of 'dendrogram'"):
        model.plot("pie")
    with pytest.raises(ValueError, match="kind='clustermap' needs the table"):
        model.plot("clustermap")
    with pytest.raises(ValueError, match="takes no table"):
        model.plot("disk", frame)


def test_files_count_rows_from_1_and_read_them_back(tmp_path):
    tree = Tree([[0, 2], [3, 1]])
    write_tree(tree, tmp_path / "tree.nwk")
    text = (tmp_path / "tree.nwk").read_text()
    assert re.findall(r"[(,](\d+):", text) == ["1", "3", "2"]
    assert read_tree(tmp_path / "tree.nwk") == tree
    assert read_tree(tmp_path / "tree.nwk").names is None
    assert Tree.from_newick(text).names == ("1", "2", "3")
    assert Tree.from_newick(text) == tree


def test_row_numbers_agree_in_every_file_of_a_fit(tmp_path, monkeypatch, capsys):
    from hyphc.cli import main

    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(12, 3)).round(3)
    X[:6] += 9
    pd.DataFrame(X, columns=list("abc")).to_csv("x.csv", index=False)
    assert not main(["fit", "x.csv", "--n-clusters", "2", "--output", "out"])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "clusters.csv").read_text())))
    first = {int(row["row"]) for row in rows if row["cluster"] == "0"}
    assert first == set(range(1, 7))
    tree = Tree.load(tmp_path / "out" / "tree.npz")
    node = int(tree.clusters(2)[0])
    named = Tree.from_newick((tmp_path / "out" / "tree.nwk").read_text())
    assert {int(named.names[leaf]) for leaf in named.members(node)} == first
    page = (tmp_path / "out" / "explorer.html").read_text()
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert data["rowsFrom"] == 1
    capsys.readouterr()
    assert not main(["cut", "out/tree.nwk", "--n-clusters", "2"])
    cut = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {int(row["row"]) for row in cut if row["cluster"] == "0"} == first
    assert "name" not in cut[0]
