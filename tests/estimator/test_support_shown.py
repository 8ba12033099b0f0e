"""Support where people see it: pictures, the explorer's data, files of the command line."""

from __future__ import annotations

import csv
import json
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hyphc import Tree, collapsed, explore, plot
from hyphc.cli import main
from sklearn.datasets import load_iris

from strategies import balanced

pytestmark = pytest.mark.usefixtures("quick_certificate")


@pytest.fixture
def carrying():
    """Eight leaves; of each third merge nothing is known."""
    values = np.array([1.0, 0.9, np.nan, 0.3, 0.95, np.nan, 1.0])
    return balanced(8).with_support(values)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def fills(ax) -> list[tuple[float, ...]]:
    """Fills of the marks with an edge: leaves of the disk have none."""
    marks = [part for part in ax.collections if part.get_edgecolors().size and len(part.get_offsets())]
    return [
        tuple(part.get_facecolors()[0][:3])
        for part in marks
        for _ in part.get_offsets()
        if part.get_linewidths()[0] == 0.7
    ]


@pytest.mark.parametrize("draw", [plot.dendrogram, plot.disk])
def test_pictures_mark_what_is_sure_what_is_fair_and_what_is_not(draw, carrying):
    black, grey, white = (0.0,) * 3, (0.6,) * 3, (1.0,) * 3
    each_its_own = np.arange(8)
    assert sorted(fills(draw(carrying, labels=each_its_own))) == sorted([black, black, grey, white])
    assert fills(draw(carrying, support=False)) == fills(draw(balanced(8))) == []


@pytest.mark.parametrize("draw", [plot.dendrogram, plot.disk])
def test_pictures_leave_out_doubtful_splits_within_a_group(draw, carrying):
    assert sorted(fills(draw(carrying, labels=np.zeros(8)))) == sorted([(0.0,) * 3, (0.0,) * 3, (0.6,) * 3])


def test_a_dendrogram_of_a_collapsed_tree_marks_only_what_is_left(carrying):
    left = collapsed(carrying, 0.8)
    assert len(fills(plot.dendrogram(left.to_tree()))) == left.n_inner - 1


def data_of(page) -> dict:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.S)[1])


def test_the_explorer_holds_the_support_of_a_tree_that_carries_it(tmp_path, carrying):
    import base64

    found = data_of(explore(carrying, tmp_path / "sure.html"))["support"]
    values = np.frombuffer(base64.b64decode(found), dtype="<f4")
    assert np.allclose(values, carrying.support, equal_nan=True)
    assert data_of(explore(balanced(8), tmp_path / "plain.html"))["support"] is None


def test_fit_writes_support_everywhere(tmp_path, capsys):
    X, y = load_iris(return_X_y=True)
    rows = ["a,b,c,d,label", *(",".join(map(str, [*row, f"kind {k}"])) for row, k in zip(X[::5], y[::5], strict=True))]
    (tmp_path / "iris.csv").write_text("\n".join(rows))
    out = tmp_path / "out"
    command = ["fit", str(tmp_path / "iris.csv"), "--labels", "label", "--support", "6", "--output", str(out)]
    assert main([*command, "--resample", "rows", "--n-clusters", "2"]) == 0
    told = capsys.readouterr().out
    assert re.search(
        r"stable +\d of 2 +flat clusters with a transfer support of at least 0.8; 6 refits, rows drawn", told
    )
    tree = Tree.load(out / "tree.npz")
    assert tree.support is not None
    table = list(csv.DictReader((out / "clusters.csv").read_text().splitlines()))
    nodes = tree.clusters(2)
    expected = {str(k): np.append(np.ones(30), tree.support)[v] for k, v in enumerate(nodes)}
    assert all(float(row["support"]) == pytest.approx(expected[row["cluster"]], rel=1e-3) for row in table)
    assert Tree.from_newick((out / "tree.nwk").read_text()).support is not None
    assert "| stable |" in (out / "report.md").read_text()
    assert data_of(out / "explorer.html")["support"] is not None


def test_resample_without_support_is_a_mistake(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "x.csv", "--resample", "rows"])
    assert "--resample is about --support" in capsys.readouterr().err
