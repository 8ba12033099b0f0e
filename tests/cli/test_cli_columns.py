"""Columns of files as people have them: missing labels, batches, titles above the header, numbers with units."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hyphc import HypHC, Tree, describe
from hyphc._runtime.sanitize import MISSING
from hyphc._runtime.table_columns import as_column
from hyphc.cli import main
from hyphc.cli.differences import describe_difference
from hyphc.cli.parsers import build_parser
from hyphc.cli.pictures import as_classes, cluster_names, read_annotations
from hyphc.cli.report import agreement_rows, compute_purity
from hyphc.io import ColumnsError, read_points
from hyphc.plot.common import groups_of
from hyphc.scores.costs import dendrogram_purity
from sklearn.metrics import adjusted_rand_score

pytestmark = pytest.mark.usefixtures("quick_certificate")

WORDS = sorted({word.upper() for word in MISSING} | MISSING - {""})


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name: str, header: str, rows: list[str]) -> str:
    Path(name).write_text("\n".join([header, *rows]) + "\n")
    return name


# --- missing values: one rule for all columns ------------------------------------------------------------------------


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_says_missing_says_so_in_numbers_labels_annotations_and_categories(word):
    rows = [f"{i},{i * i % 5},{'uv'[i % 2]},{i % 3 + 0.5}" for i in range(5)]
    file = write("x.csv", "a,b,kind,age", [*rows, f"7,{word},{word},{word}"])
    points = read_points(file, labels="kind")
    assert np.isnan(points.data[5]).tolist() == [False, True, True]
    assert points.labels == ("u", "v", "u", "v", "u", "")
    table = read_points(file, categories=["kind"]).data
    assert table.categories[2] == ("u", "v")
    assert np.isnan(table.values[5, 2])
    arguments = build_parser().parse_args(["fit", file, "--annotate", "kind,age"])
    beside = read_annotations(arguments, file)
    assert as_column("kind", beside["kind"], 6, "annotations").codes.tolist() == [0, 1, 0, 1, 0, -1]
    assert np.isnan(beside["age"]).tolist() == [False] * 5 + [True]


def test_missing_words_in_parquet_and_npz_are_no_labels_and_no_categories():
    pyarrow = pytest.importorskip("pyarrow")
    kinds = ["u", "v", "NA", None, "u", "v"]
    content = {"a": [1.0, 2, 4, 8, 9, 1], "b": [0.5, 1, 0, 2, 7, 9], "kind": kinds}
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(content), "x.parquet")
    assert read_points("x.parquet", labels="kind").labels == ("u", "v", "", "", "u", "v")
    assert read_points("x.parquet", categories=["kind"]).data.categories[2] == ("u", "v")
    np.savez("x.npz", X=np.arange(8.0).reshape(4, 2) ** 2, y=np.array([1, 2, np.nan, 1]))
    assert read_points("x.npz", labels="y").labels == ("1", "2", "", "1")


def test_rows_without_a_label_are_left_out_of_purity_and_agreement():
    tree = Tree([[0, 1], [2, 3], [6, 4], [7, 5], [8, 9]])
    labels, clusters = ["u", "u", "v", "v", "", ""], np.array([0, 0, 1, 1, 0, 1])
    assert compute_purity(tree, labels) == 1.0
    assert dendrogram_purity(tree, np.array(labels)) < 1.0
    [(_, value, text)] = agreement_rows(clusters, labels)
    assert float(value) == adjusted_rand_score(labels[:4], clusters[:4]) == 1.0
    assert "2 rows without a label are left out" in text


def test_a_fit_says_how_many_rows_have_no_label_and_draws_them_in_grey():
    rows = [f"{i % 2 * 9 + i / 10},{i % 2 * 9 - i / 7},{'NA' if i in (3, 8) else 'uv'[i % 2]}" for i in range(14)]
    file = write("x.csv", "a,b,kind", rows)
    assert main(["fit", file, "--labels", "kind", "--annotate", "kind", "--n-clusters", "2", "--output", "out"]) == 0
    report = Path("out/report.md").read_text()
    assert "2 of 14 rows have no label; purity and agreement are those of the others" in report
    assert "NA (" not in report
    page = Path("out/explorer.html").read_text()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])
    [strip] = data["annotations"]
    assert strip["names"] == ["u", "v"]
    assert (np.frombuffer(base64.b64decode(strip["codes"]), dtype="<i4") == -1).sum() == 2
    assert "NA" not in data["labels"]["names"]
    tree = Tree.load("out/tree.npz")
    groups = groups_of(tree, tree, as_classes(read_points(file, labels="kind").labels))
    assert groups.names == ("u", "v")
    assert (groups.codes == -1).sum() == 2


def test_a_column_of_nothing_but_missing_labels_is_refused(capsys):
    file = write("x.csv", "a,b,kind", ["1,2,NA", "2,1,?", "3,5,"])
    assert main(["fit", file, "--labels", "kind"]) == 1
    assert "no row has a label" in capsys.readouterr().err


# --- batches ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--exclude", "run"], ["--annotate", "run"], ["--features", "a,run"]])
def test_a_batch_that_was_decided_on_is_not_pointed_out(capsys, words):
    file = write("x.csv", "a,b,run", [f"{i * 7 % 11},{i * i % 13 / 2},{i % 3}" for i in range(12)])
    assert main(["fit", file, "--output", "out", *words]) == 0
    assert "batch?" not in capsys.readouterr().out


# --- titles above the header --------------------------------------------------------------------------------------------

TITLED = {
    "alone": ("Weights of mice\na,b,c\n", 2),
    "padded": ("Weights of mice,,\na,b,c\n", 2),
    "with a line between": ("Weights of mice,,\n\na,b,c\n", 3),
    "two lines": ("Weights of mice\nspring\na,b,c\n", 3),
    "semicolons": ("Weights of mice\na;b;c\n", 2),
    "above two columns": ("Weights\na,b\n", 2),
}


@pytest.mark.parametrize("case", TITLED)
def test_a_title_above_the_header_is_recognised_and_the_header_can_be_said(case, capsys):
    top, line = TITLED[case]
    separator, width = (";" if ";" in top else ","), len(top.splitlines()[-1]) // 2 + 1
    body = "".join(separator.join(str(i * (c + 2) % 7) for c in range(width)) + "\n" for i in range(6))
    Path("x.csv").write_text(top + body)
    with pytest.raises(ColumnsError, match=f"if line {line} is the header, pass its number"):
        read_points("x.csv")
    assert main(["fit", "x.csv", "--output", "out"]) == 1
    assert "(--header)" in capsys.readouterr().err
    points = read_points("x.csv", header=line)
    assert points.columns == tuple("abc"[:width])
    assert points.n == 6


def test_a_title_above_the_header_of_a_sheet_is_recognised():
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["Weights of mice"], [], ["id", "a", "b"], *([f"m{i}", i * 3 % 7, i * i % 5] for i in range(6))):
        book.active.append(row)
    book.save("x.xlsx")
    with pytest.raises(ColumnsError, match=r"'Weights of mice' is alone in its line.*if line 3 is the header"):
        read_points("x.xlsx")
    points = read_points("x.xlsx", header=3)
    assert points.columns == ("a", "b")
    assert points.names == tuple(f"m{i}" for i in range(6))


@pytest.mark.parametrize(
    "text",
    [
        '"height" "weight"\n"ann" NA 70\n"bob" 1.8 80\n"cid" 1.7 75\n',  # R's write.table
        ",height\nann,NA\nbob,1.8\ncid,1.7\n",
        "a\n1\n2\n3\n",
        "a,b\nx,\ny,2\nz,3\n",
    ],
)
def test_what_is_no_title_is_read_as_ever(text):
    Path("x.csv").write_text(text)
    assert read_points("x.csv", missing="drop").n >= 2


def test_a_header_of_years_can_be_said():
    Path("x.csv").write_text("2019,2020\n1,2\n3,5\n4,4\n")
    assert read_points("x.csv").columns == ("1", "2")
    assert read_points("x.csv", header=1).columns == ("2019", "2020")


# --- numbers with units -------------------------------------------------------------------------------------------------


def test_numbers_followed_by_a_unit_do_not_name_the_rows():
    file = write("x.csv", "a,weight", [f"{i * i % 7},{60 + i}.3 kg" for i in range(6)])
    assert read_points(file).names is None


def test_a_column_with_a_unit_asked_for_as_a_feature_names_the_unit():
    file = write("x.csv", "a,weight", [f"{i * i % 7},{60 + i} kg" for i in range(6)])
    with pytest.raises(ValueError, match="'60 kg' is a number followed by a unit; remove 'kg'"):
        read_points(file, features=["weight"])
    only = write("y.csv", "weight,kind", [f"{60 + i}%,x" for i in range(6)])
    with pytest.raises(ValueError, match=r"weight has numbers followed by '%': remove the unit"):
        read_points(only)


# --- names of clusters -----------------------------------------------------------------------------------------------


def test_clusters_of_one_name_get_further_words():
    """Two pairs of groups, the parts of each of which differ from their sibling in the same column."""
    rng, corners = np.random.default_rng(0), np.array([(0, 0, 0), (0, 0, 5), (20, 20, 0), (20, 20, 5)])
    rows = np.repeat(corners, [40, 30, 40, 30], axis=0) + 0.3 * rng.normal(size=(140, 3))
    tree = HypHC(random_state=0).fit(rows).tree_
    found = describe(tree, columns=dict(zip("abc", rows.T, strict=True)), min_size=10, n_words=1)
    nodes = tree.clusters(4).tolist()
    assert len({found.names[node] for node in nodes}) < 4
    names = cluster_names(found, nodes)
    assert len(set(names)) == 4
    largest = max(nodes, key=lambda node: tree.sizes[node])
    assert names[nodes.index(largest)] == found.names[largest]


@pytest.mark.parametrize(
    ("mean", "other", "expected"),
    [
        (2007.03, 2008.34, "year low (2007, others 2008)"),
        (38.712, 47.64, "year low (38.7, others 47.6)"),
        (3.5e8, 4.5e8, "year low (3.5e+08, others 4.5e+08)"),
        (0.25, np.nan, "year low (0.25, others nan)"),
        (5.0, 5.0, "year low (5, others 5)"),
    ],
)
def test_means_are_written_with_as_many_digits_as_they_differ_in(mean, other, expected):
    found = SimpleNamespace(column="year", effect=-1.0, mean=mean, other_mean=other, sure=False)
    assert describe_difference(found) == expected
