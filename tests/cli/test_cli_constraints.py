"""What is known beforehand, given to the command line: every file that it writes respects it."""

from __future__ import annotations

import base64
import csv
import json
import re

import numpy as np
import pytest
from hyphc import Tree
from hyphc.cli import main
from hyphc.io import read_points
from hyphc.tree.condense import undo

import oracles

pytestmark = pytest.mark.usefixtures("quick_certificate")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Twenty rows in four clear groups, with columns of what is known that go against them."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(20, 4)) + 8 * np.repeat(np.eye(4), 5, axis=0)
    header = "name,a,b,c,d,cage,pair,kind,bad,when"
    rows = []
    for i, x in enumerate(X):
        cage = {0: "k", 7: "k", 12: "m ", 13: "m"}.get(i, "NA" if i % 2 else "")
        pair = {2: "p", 3: "p", 4: "p"}.get(i, "")
        kind = {15: "x", 16: "y"}.get(i, "?")
        bad = {0: "x", 7: "y"}.get(i, "")
        name = 'it\'s "nr" 0' if i == 0 else f"r{i}"
        quoted = '"' + name.replace('"', '""') + '"'
        rows.append(",".join([quoted, *map(str, x), cage, pair, kind, bad, f"2024-01-{20 - i:02d}"]))
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]) + "\n")
    return tmp_path


FEATURES = ("fit", "t.csv", "--features", "a,b,c,d", "--output", "out")


def rows_of(folder) -> list[dict[str, str]]:
    with open(folder / "out" / "clusters.csv", newline="") as file:
        return list(csv.DictReader(file))


def page_of(folder) -> dict:
    text = (folder / "out" / "explorer.html").read_text()
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1])


def labels_on_page(data: dict, tree: Tree, k: int) -> list[frozenset[int]]:
    turns = np.frombuffer(base64.b64decode(data["turns"]), dtype="<i4")
    labels = undo(tree, np.flatnonzero(turns < k - 1)).labels
    return [frozenset(np.flatnonzero(labels == c).tolist()) for c in range(k)]


def test_columns_of_what_is_known_are_respected_by_every_file_and_by_later_commands(table, capsys):
    known = ["--must-link", "cage", "--cannot-link", "pair", "--classes", "kind"]
    assert main([*FEATURES, *known, "--support", "4", "--resample", "rows"]) == 0
    told = capsys.readouterr().out
    assert "must-link   cage (as requested, not clustered by)" in told
    assert "2 groups of rows that stay together; 1 group of rows that are kept apart; 2 rows of 2 classes" in " ".join(
        told.split()
    )
    rows = rows_of(table)
    labels = np.array([int(row["cluster"]) for row in rows])
    assert labels[0] == labels[7]
    assert labels[12] == labels[13]
    assert len(set(labels[2:5])) == 3
    assert labels[15] != labels[16]
    assert rows[0]["name"] == 'it\'s "nr" 0'
    tree = Tree.load(table / "out" / "tree.npz")
    assert {frozenset([0, 7]), frozenset([12, 13])} <= oracles.clusters(tree)
    k = labels.max() + 1
    assert np.array_equal(tree.cut(), labels)
    clusters = [frozenset(np.flatnonzero(labels == c).tolist()) for c in range(k)]
    data = page_of(table)
    assert data["opening"] == k
    assert set(labels_on_page(data, tree, k)) == set(clusters)
    assert data["fewest"] >= 3
    assert data["most"] == 18
    nodes = tree.clusters()
    support = np.append(np.ones(20), tree.support)[nodes][labels]
    shown = [float(row["support"] or "nan") for row in rows]
    assert np.allclose(shown, support, rtol=1e-3, equal_nan=True)
    report = (table / "out" / "report.md").read_text()
    assert "2 groups of rows that stay together" in report
    assert re.search(rf"\| stable \| \d+ of {k} \|", report)
    assert main(["cut", "out/tree.npz", "--output", "cut.csv"]) == 0
    cut = list(csv.DictReader((table / "cut.csv").read_text().splitlines()))
    assert [int(row["cluster"]) for row in cut] == labels.tolist()


def test_contradictions_name_the_rows_as_the_file_does(table, capsys):
    assert main([*FEATURES, "--must-link", "cage", "--classes", "bad"]) == 1
    assert "'it\\'s \"nr\" 0' (row 1) and 'r7' (row 8) must be together" in capsys.readouterr().err.replace(
        "\\'", "\\'"
    )
    assert main([*FEATURES, "--classes", "kind", "--n-clusters", "1"]) == 1
    assert "--n-clusters 1 contradicts the constraints, which allow 2 to 20" in capsys.readouterr().err
    assert main([*FEATURES, "--must-link", "cages"]) == 1
    assert "has no column 'cages' (did you mean 'cage'?)" in capsys.readouterr().err
    assert not (table / "out").exists()


def test_a_constraint_tree_with_many_children_and_without_some_rows_is_in_the_tree(table, capsys):
    (table / "c.nwk").write_text("((r1,r8,r15)0.9,(r2,r9),'it''s \"nr\" 0');")
    assert main([*FEATURES, "--constraint-tree", "c.nwk", "--n-clusters", "2"]) == 0
    found = oracles.clusters(Tree.load(table / "out" / "tree.npz"))
    required = {frozenset([1, 8, 15]), frozenset([2, 9]), frozenset([0, 1, 2, 8, 9, 15])}
    assert required <= found
    assert main(["fit", "t.csv", "--features", "a,b", "--constraint-tree", "out/tree.npz", "--output", "again"]) == 0
    assert Tree.load(table / "again" / "tree.npz") == Tree.load(table / "out" / "tree.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((r1,zebra),r2);", "a leaf 'zebra' that the data does not name"),
        ("((r1,r2),r1);", "two leaves called 'r1'"),
        ("((r1,r2);", "never closed"),
        ("hello", "is not a tree"),
    ],
)
def test_constraint_trees_that_do_not_fit_are_refused(table, capsys, text, message):
    (table / "c.nwk").write_text(text)
    assert main([*FEATURES, "--constraint-tree", "c.nwk"]) == 1
    assert message in capsys.readouterr().err


def test_an_order_by_dates_makes_all_clusters_runs(table, capsys):
    assert main([*FEATURES, "--order", "when"]) == 0
    tree = Tree.load(table / "out" / "tree.npz")
    assert tree.leaf_order().tolist() == list(range(19, -1, -1))
    assert "an order of the rows that all clusters keep" in " ".join(capsys.readouterr().out.split())
    assert main([*FEATURES, "--order", "name"]) == 1
    assert "a column of numbers or of dates" in capsys.readouterr().err
    assert main([*FEATURES, "--order", "pair"]) == 1
    assert "row 1: the cell of --order is empty" in capsys.readouterr().err
    assert main([*FEATURES, "--order", "when", "--must-link", "cage"]) == 1
    assert "lies between" in capsys.readouterr().err


def test_graphs_have_no_columns_but_may_have_a_constraint_tree(table, capsys):
    edges = [f"r{i} r{j}" for i in range(8) for j in range(i) if (i < 4) == (j < 4)]
    (table / "g.edges").write_text("\n".join(edges) + "\n")
    (table / "c.nwk").write_text("((r0,r7),r3);")
    assert main(["fit", "g.edges", "--graph", "--constraint-tree", "c.nwk", "--output", "out"]) == 0
    tree = Tree.load(table / "out" / "tree.npz")
    at = [tree.names.index(name) for name in ("r0", "r7", "r3")]
    assert {frozenset(at[:2]), frozenset(at)} <= oracles.clusters(tree)
    assert main(["fit", "g.edges", "--graph", "--must-link", "2"]) == 1
    assert "has no columns to choose; leave the choice out (--must-link)" in capsys.readouterr().err


def test_columns_of_what_is_known_come_from_arrays_too(tmp_path):
    X = np.column_stack([np.arange(6.0)[::-1] ** 2, np.ones(6) + np.arange(6) % 2, [1, 1, 2, 2, np.nan, 3]])
    np.save(tmp_path / "x.npy", X)
    assert read_points(tmp_path / "x.npy", known={"must-link": "3"}).known["must-link"][0] == "1"
    np.savez(tmp_path / "x.npz", X=X[:, :2], group=np.array([*"aabb", "", "c"]))
    found = read_points(tmp_path / "x.npz", known={"classes": "group"})
    assert found.known == {"classes": ("a", "a", "b", "b", "", "c")}
    assert found.data.shape == (6, 2)
