"""Folders that fits leave, out of core and in memory: their files, and the commands that take them."""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hyphc import HypHC, Tree, datasets
from hyphc.cli import fit_out_of_core, main
from hyphc.cli.saved_fit import SavedFit, load_top
from hyphc.io import read_tree

pytest.importorskip("distributed")

X = datasets.planted(900, 5, random_state=1).data
FILES = {"tree.npz", "top.npz", "top_columns.npz", "top.nwk", "labels.npy", "differences.csv", "explorer.html"}
FILES |= {"fit.json", "report.md", "checkpoint"}


@contextmanager
def threads(arguments):
    yield None  # Dask's threads in this process


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What two fits leave: of NPY (columns without names) and of Parquet; only copies may be changed."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    place = tmp_path_factory.mktemp("fits")
    np.save(place / "x.npy", X)
    kinds = ["u" if value > 0 else "v" for value in X[:, 0]]
    columns = {"id": np.arange(900), **{name: X[:, c] for c, name in enumerate("abcde")}, "kind": kinds}
    parquet.write_table(pyarrow.table(columns), place / "x.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_out_of_core, "_client", threads)
        patch.chdir(place)
        common = ["--workers", "1", "--effort", "0.1", "--n-clusters", "4"]
        assert not main(["fit", "x.npy", *common, "--exclude", "5", "--output", "npy"])
        assert not main(["fit", "x.parquet", *common, "--labels", "kind", "--output", "parquet"])
    return place


def clusters(path):
    return np.array([int(row["cluster"]) for row in csv.DictReader(path.read_text().splitlines())])


def page_data(path):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def test_an_out_of_core_fit_leaves_all_results(folder):
    there = {path.name for path in (folder / "npy").iterdir()}
    assert there - {"tree.png"} == {*FILES, "clusters.csv"}
    assert {path.name for path in (folder / "parquet").iterdir()} - {"tree.png"} == {*FILES, "clusters.parquet"}
    labels = np.load(folder / "npy" / "labels.npy")
    np.testing.assert_array_equal(clusters(folder / "npy" / "clusters.csv"), labels)
    tree = read_tree(folder / "npy")
    assert tree == Tree.load(folder / "npy" / "checkpoint" / "tree")
    np.testing.assert_array_equal(tree.cut(4), labels)
    report = (folder / "npy" / "report.md").read_text()
    assert "- 900 rows" in report
    for name in re.findall(r"^- \[([^]]+)\]", report, re.MULTILINE):
        assert (folder / "npy" / name).is_file()
    sizes = [int(count) for count in re.findall(r"^\| \d+ \| (\d+) \|", report, re.MULTILINE)]
    assert sorted(sizes) == sorted(np.bincount(labels).tolist())


def test_pictures_have_the_sizes_and_formats_of_the_options(folder, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(fit_out_of_core, "_client", threads)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / "npy" / "checkpoint", "out/checkpoint")
    shutil.copy(folder / "x.npy", "x.npy")
    command = [
        "fit",
        "x.npy",
        "--workers",
        "1",
        "--effort",
        "0.1",
        "--n-clusters",
        "4",
        "--exclude",
        "5",
        "--output",
        "out",
    ]
    assert not main([*command, "--width", "360pt", "--height", "288pt", "--format", "svg,pdf"])
    assert {path.name for path in Path("out").glob("tree.*")} == {"tree.npz", "tree.svg", "tree.pdf"}
    assert 'width="360pt" height="288pt"' in Path("out/tree.svg").read_text()
    assert "![The tree](tree.svg)" in Path("out/report.md").read_text()


def test_clusters_of_parquet_are_parquet_with_names(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(folder / "parquet" / "clusters.parquet")
    assert table.column_names == ["row", "cluster", "cluster_name"]
    np.testing.assert_array_equal(table["row"], np.arange(1, 901))
    np.testing.assert_array_equal(table["cluster"], np.load(folder / "parquet" / "labels.npy"))
    assert len(set(zip(table["cluster"].to_pylist(), table["cluster_name"].to_pylist(), strict=True))) == 4
    assert "agreement" in (folder / "parquet" / "report.md").read_text()


def test_the_top_counts_all_rows_and_has_the_cost_of_the_whole(folder):
    top, features = load_top(folder / "npy")
    assert top.leaf_sizes is None or top.leaf_sizes.sum() == 900
    assert top.cost == Tree.load(folder / "npy" / "checkpoint" / "tree").cost
    assert features.columns == ("column 1", "column 2", "column 3", "column 4")
    newick = read_tree(folder / "npy" / "top.nwk")
    assert set(newick.names) == set(top.names)
    data = page_data(folder / "npy" / "explorer.html")
    assert data["points"] == 900
    assert data["opening"] == 4


def test_the_page_of_a_top_shows_groups_with_their_sizes(folder, tmp_path, monkeypatch):
    from hyphc.out_of_core import overview

    monkeypatch.setattr(overview, "GROUPS", 40)
    monkeypatch.setattr(fit_out_of_core, "_client", threads)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / "npy" / "checkpoint", "small/checkpoint")
    shutil.copy(folder / "x.npy", "x.npy")
    command = ["fit", "x.npy", "--workers", "1", "--effort", "0.1", "--n-clusters", "4", "--exclude", "5"]
    assert not main([*command, "--output", "small"])
    data = page_data(Path("small/explorer.html"))
    weights = np.frombuffer(base64.b64decode(data["weights"]), "<f8")
    assert data["points"] == weights.sum() == 900
    assert data["n"] == len(weights) <= 40
    first = [int(re.match(r"row (\d+)", name)[1]) - 1 for name in data["names"]]
    more = [re.search(r"and (\d+) more", name) for name in data["names"]]
    assert [1 + (int(found[1]) if found else 0) for found in more] == weights.tolist()
    top, features = load_top("small")
    np.testing.assert_array_equal(top.cut(4), np.load("small/labels.npy")[first])
    names = re.findall(r"^\| (\d+) \| \d+ \| ([^|]+) \|", Path("small/report.md").read_text(), re.MULTILINE)
    assert {int(k): name for k, name in names} == {
        k: data["nodeNames"][node - top.n_leaves] for k, node in enumerate(top.clusters(4).tolist())
    }
    of = np.empty(900, dtype=int)  # the group of each row, from the whole tree
    tree = read_tree("small")
    for group, row in enumerate(first):
        node = row
        while tree.sizes[node] < weights[group]:
            node = tree.parents[node]
        of[tree.members(node)] = group
    means = np.array([X[of == group, :4].mean(axis=0) for group in range(len(first))])
    np.testing.assert_allclose(features.means, means, atol=1e-6)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_commands_take_the_folder_of_an_out_of_core_fit(folder, kind, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / kind, kind)
    labels = np.load(f"{kind}/labels.npy")
    assert not main(["cut", kind, "--output", "cut.csv"])
    np.testing.assert_array_equal(clusters(Path("cut.csv")), labels)
    assert not main(["plot", kind])
    assert Path(f"{kind}.png").stat().st_size > 10_000
    assert not main(["explore", f"{kind}/", "--output", "page.html"])
    data, own = page_data(Path("page.html")), page_data(Path(kind) / "explorer.html")
    for field in ("children", "weights", "features", "nodeNames", "opening", "differences"):
        assert data[field] == own[field]
    capsys.readouterr()
    assert not main(["predict", kind, str(folder / f"x.{kind}")])
    table = csv.DictReader(capsys.readouterr().out.splitlines())
    assert np.mean([int(row["cluster"]) for row in table] == labels) > 0.9


def test_commands_take_the_folder_of_a_fit_in_memory(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X[:80])
    assert not main(["fit", "x.npy", "--n-clusters", "3", "--output", "out"])
    assert not main(["plot", "out"])
    assert Path("out.png").stat().st_size > 10_000
    assert not main(["explore", "out"])
    assert not main(["explore", "out/tree.npz", "--output", "of_file.html"])
    assert page_data(Path("out.html")) == page_data(Path("of_file.html"))
    assert not main(["cut", "out", "--output", "cut.csv"])
    np.testing.assert_array_equal(clusters(Path("cut.csv")), clusters(Path("out/clusters.csv")))
    assert not main(["predict", "out", "x.npy", "--output", "new.csv"])
    np.testing.assert_array_equal(clusters(Path("new.csv")), HypHC.load("out/model.npz").predict(X[:80]))


def test_columns_of_new_rows_are_those_of_the_fit(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("new.csv", X[:20, ::-1], delimiter=",", header="e,d,c,b,a", comments="")
    assert not main(["predict", str(folder / "parquet"), "new.csv", "--output", "out.csv"])  # in another order
    fit = SavedFit.load(folder / "parquet")
    np.testing.assert_array_equal(clusters(Path("out.csv")), fit.predict(X[:20]))
    np.savetxt("few.csv", X[:20, :3], delimiter=",", header="a,b,c", comments="")
    assert main(["predict", str(folder / "parquet"), "few.csv"]) == 1
    assert "few.csv has no columns d, e, which the model was fitted to" in capsys.readouterr().err
    np.save("few.npy", X[:20, :4])
    assert main(["predict", str(folder / "npy"), "few.npy"]) == 1
    assert "4 columns of numbers, and the model was fitted to 5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "command", "message"),
    [
        (
            lambda out: shutil.rmtree(out / "checkpoint"),
            ["predict", "out", "x.npy"],
            "checkpoint, which is gone; fit again",
        ),
        (lambda out: (out / "fit.json").write_text("{"), ["predict", "out", "x.npy"], "fit.json is damaged"),
        (
            lambda out: (out / "fit.json").unlink(),
            ["predict", "out", "x.npy"],
            "out holds no model.npz; give the folder",
        ),
        (lambda out: (out / "tree.npz").unlink(), ["cut", "out"], "out is a folder without tree.npz"),
        (lambda out: (out / "top_columns.npz").write_bytes(b"PK"), ["explore", "out"], "top_columns.npz is damaged"),
        (
            lambda out: np.savez(
                out / "top_columns.npz", columns=["a"], means=np.zeros((2, 1)), scatter=np.zeros((2, 1))
            ),
            ["plot", "out"],
            r"top_columns.npz is damaged \(its arrays are of shapes \(2, 1\)",
        ),
    ],
)
def test_damaged_folders_are_named_with_the_remedy(folder, tmp_path, monkeypatch, capsys, damage, command, message):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / "npy", "out")
    shutil.copy(folder / "x.npy", "x.npy")
    damage(Path("out"))
    assert main(command) == 1
    assert re.search(message, capsys.readouterr().err)


def test_clusters_in_csv_have_the_names_of_the_report(folder):
    rows = list(csv.DictReader((folder / "npy" / "clusters.csv").read_text().splitlines()))
    assert list(rows[0]) == ["row", "cluster", "cluster_name"]
    names = {(int(row["cluster"]), row["cluster_name"]) for row in rows}
    saved = json.loads((folder / "npy" / "fit.json").read_text())["cluster_names"]
    assert names == set(enumerate(saved))
    assert all(name.startswith("column ") for name in saved)


def test_outliers_have_no_cluster_in_the_files(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_out_of_core, "_client", threads)
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.vstack([X, np.full((3, 5), 40.0) * np.arange(1, 4)[:, None]]))
    command = ["fit", "x.npy", "--workers", "1", "--effort", "0.1", "--n-clusters", "7", "--outliers", "label"]
    assert not main([*command, "--output", "out"])
    labels = np.load("out/labels.npy")
    np.testing.assert_array_equal(clusters(Path("out/clusters.csv")), labels)
    rows = list(csv.DictReader(Path("out/clusters.csv").read_text().splitlines()))
    assert [row["cluster_name"] == "" for row in rows] == (labels < 0).tolist()
    report = Path("out/report.md").read_text()
    sizes = [int(count) for count in re.findall(r"^\| \d+ \| (\d+) \|", report, re.MULTILINE)]
    assert sum(sizes) == (labels >= 0).sum()
