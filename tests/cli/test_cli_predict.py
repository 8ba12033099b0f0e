"""`hyphc predict`: the clusters of new rows by the model that `hyphc fit` wrote, with columns matched by name."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC
from hyphc.cli import main
from numpy.testing import assert_array_equal

pytestmark = pytest.mark.usefixtures("quick_certificate")

RNG = np.random.default_rng(0)
N = 45
GROUP = np.repeat([0, 1, 2], N // 3)
X = RNG.normal(size=(N, 3)) * [1, 100, 1] + np.outer(GROUP, [8, 800, 8])
TABLE = pd.DataFrame(X, columns=["length", "grams", "width"])
TABLE["id"] = [f"flower {k}" for k in range(N)]
TABLE["colour"] = np.array(["red", "blue", "white"])[GROUP]
TABLE["plot"] = RNG.integers(0, 5, N)
NEW = TABLE.iloc[::4].drop(columns=["plot"]).reset_index(drop=True)
EXPECTED = GROUP[::4]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("table.csv", index=False)
    return tmp_path


def fit(*words: str, file: str = "table.csv") -> None:
    assert main(["fit", file, *words, "--output", "out"]) == 0


def predict(capsys, *words: str) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["predict", "out/model.npz", *words]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def refused(capsys, *words: str) -> str:
    capsys.readouterr()
    assert main(["predict", "out/model.npz", *words]) == 1
    return " ".join(capsys.readouterr().err.split())


def numbers(rows: list[dict[str, str]]) -> list[int]:
    return [int(row["cluster"]) for row in rows]


OPTIONS = {
    "default": ["--exclude", "plot"],
    "scaled": ["--exclude", "plot", "--scale", "yes"],
    "standardised cosine": ["--exclude", "plot", "--metric", "cosine", "--standardize"],
    "standardised rbf": ["--exclude", "plot", "--metric", "rbf", "--standardize"],
    "neighbours": ["--exclude", "plot", "--metric", "euclidean", "--n-neighbors", "5"],
    "categories": ["--exclude", "plot", "--categories", "colour"],
    "chosen columns": ["--features", "grams,length"],
}


@pytest.mark.parametrize("case", OPTIONS)
def test_new_rows_get_the_clusters_of_their_groups_whatever_the_order_of_columns(case, capsys):
    fit(*OPTIONS[case], "--n-clusters", "3")
    NEW[["id", "width", "colour", "grams", "length"]].to_csv("new.csv", index=False)
    rows = predict(capsys, "new.csv")
    assert numbers(rows) == pd.read_csv("out/clusters.csv")["cluster"].tolist()[::4]
    assert [row["name"] for row in rows] == NEW["id"].tolist()
    assert [row["row"] for row in rows] == [str(k + 1) for k in range(len(NEW))]
    assert list(rows[0]) == ["row", "name", "cluster", "cluster_name"]


@pytest.mark.parametrize("case", ["default", "standardised cosine", "categories"])
def test_the_model_of_a_file_is_that_of_python(case, capsys):
    fit(*OPTIONS[case], "--n-clusters", "3")
    NEW.to_csv("new.csv", index=False)
    model = HypHC.load("out/model.npz")
    columns = list(model.feature_names_in_)
    assert_array_equal(model.predict(NEW[columns]), numbers(predict(capsys, "new.csv")))
    clusters = pd.read_csv("out/clusters.csv")["cluster"]
    assert_array_equal(model.labels_, clusters)
    assert model.checkpoint is None
    assert model.tree_.names == tuple(TABLE["id"])


def test_standardised_rows_are_scaled_as_in_the_fit_and_not_by_themselves(capsys):
    fit(*OPTIONS["standardised rbf"], "--n-clusters", "3")
    NEW.iloc[:1].to_csv("one.csv", index=False)
    assert numbers(predict(capsys, "one.csv")) == [0]
    NEW.iloc[-1:].to_csv("one.csv", index=False)
    assert numbers(predict(capsys, "one.csv")) == [2]


def test_a_folder_is_a_model_and_a_file_is_written(capsys):
    fit("--exclude", "plot", "--n-clusters", "3")
    NEW.to_csv("new.csv", index=False)
    assert main(["predict", "out", "new.csv", "--output", "result.csv"]) == 0
    assert "wrote result.csv: 12 rows in 3 of 3 clusters" in capsys.readouterr().out
    assert_array_equal(pd.read_csv("result.csv")["cluster"], EXPECTED)


def test_names_of_clusters_are_written(capsys):
    words = np.array(["iris petal", "rose thorn", "lily pond"])[GROUP]
    TABLE.assign(text=words).to_csv("texts.csv", index=False)
    fit("--exclude", "plot", "--texts", "text", "--n-clusters", "3", file="texts.csv")
    NEW.to_csv("new.csv", index=False)
    rows = predict(capsys, "new.csv")
    expected = pd.read_csv("out/clusters.csv").drop_duplicates("cluster").set_index("cluster")["cluster_name"]
    assert [row["cluster_name"] for row in rows] == [expected[k] for k in EXPECTED]


def test_missing_columns_are_named_all_together_with_the_close_one(capsys):
    fit("--exclude", "plot")
    NEW.rename(columns={"length": "lenght"}).drop(columns="grams").to_csv("new.csv", index=False)
    message = refused(capsys, "new.csv")
    assert "new.csv has no columns length, grams (is it 'lenght'?), which the model was fitted to" in message
    assert "its columns are lenght, width, id, colour" in message


def test_columns_of_numbers_that_the_fitted_file_did_not_have_are_refused_until_excluded(capsys):
    fit("--exclude", "plot", "--n-clusters", "3")
    NEW.assign(depth=1.0, plot=2, note="text").to_csv("new.csv", index=False)
    assert "new.csv has the column depth, which the fitted table did not have" in refused(capsys, "new.csv")
    assert "(--exclude)" in refused(capsys, "new.csv")
    assert numbers(predict(capsys, "new.csv", "--exclude", "depth")) == EXPECTED.tolist()


def test_values_of_categories_that_no_fitted_row_has_are_refused(capsys):
    fit(*OPTIONS["categories"])
    NEW.assign(colour="green").to_csv("new.csv", index=False)
    assert "column 'colour' has the value 'green', which no fitted row has" in refused(capsys, "new.csv")


def test_missing_values_are_skipped_by_the_default_metric_and_refused_by_others(capsys):
    holes = NEW.copy()
    holes.loc[0, "width"] = np.nan
    holes.to_csv("new.csv", index=False)
    fit("--exclude", "plot", "--n-clusters", "3")
    assert numbers(predict(capsys, "new.csv")) == EXPECTED.tolist()
    fit("--exclude", "plot", "--metric", "cosine")
    message = refused(capsys, "new.csv")
    assert "column 'width': the cell is empty; fill it in" in message
    assert "--impute" not in message


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet", ".jsonl", ".csv.gz"])
def test_other_formats_are_matched_by_name_too(suffix, capsys):
    fit("--exclude", "plot", "--n-clusters", "3")
    new, path = NEW[["width", "length", "id", "grams"]], f"new{suffix}"
    write = {".xlsx": new.to_excel, ".parquet": new.to_parquet, ".csv.gz": new.to_csv}.get(suffix)
    if write is None:
        new.to_json(path, orient="records", lines=True)
    else:
        write(path, index=False)
    assert numbers(predict(capsys, path)) == EXPECTED.tolist()


def test_arrays_are_matched_by_their_number_of_columns(capsys):
    np.save("table.npy", X)
    fit("--n-clusters", "3", file="table.npy")
    np.save("new.npy", X[::4])
    assert numbers(predict(capsys, "new.npy")) == EXPECTED.tolist()
    np.save("new.npy", X[::4, :2])
    assert "new.npy has 2 columns of numbers, and the model was fitted to 3" in refused(capsys, "new.npy")


def test_a_table_without_header_does_not_fit_one_with_names(capsys):
    fit("--exclude", "plot")
    np.savetxt("new.csv", X[:5], delimiter=",")
    assert "new.csv has no columns length, grams, width, which the model was fitted to" in refused(capsys, "new.csv")


def test_new_nodes_join_the_community_of_their_edges(capsys):
    edges = [(f"{c}{i}", f"{c}{j}") for c in "ab" for i in range(8) for j in range(i)] + [("a0", "b0")]
    with open("graph.edges", "w") as file:
        file.writelines(f"{a},{b}\n" for a, b in edges)
    fit("--n-clusters", "2", file="graph.edges")
    with open("new.edges", "w") as file:
        file.write("new,a1\nnew,a2\nother,b3\nother,b5\nnew,other\na1,a2\n")
    rows = predict(capsys, "new.edges")
    clusters = pd.read_csv("out/clusters.csv").set_index("name")["cluster"]
    assert {row["name"]: int(row["cluster"]) for row in rows} == {"new": clusters["a1"], "other": clusters["b3"]}
    with open("new.edges", "w") as file:
        file.write("a1,a2\n")
    assert "has no node that the fitted graph did not have" in refused(capsys, "new.edges")
    with open("new.edges", "w") as file:
        file.write("new,a1\nlost,found\n")
    assert main(["predict", "out", "new.edges"]) == 0
    assert "2 of 3 new nodes have no edge to a fitted one, for instance lost" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["predict", "out", "new.edges", "--names", "1"])


@pytest.mark.parametrize("option", ["--distances", "--precomputed"])
def test_distances_and_similarities_to_fitted_rows_are_matched_by_name(option, capsys):
    scaled = X / X.std(axis=0)
    names = [f"r{k}" for k in range(N)]
    square = np.sqrt(((scaled[:, None] - scaled) ** 2).sum(axis=2))
    square = square if option == "--distances" else np.exp(-square)
    pd.DataFrame(square, index=names, columns=names).to_csv("square.csv", index_label="name")
    fit(option, "--n-clusters", "3", file="square.csv")
    shuffled = RNG.permutation(N)
    new = pd.DataFrame(square[::4][:, shuffled], columns=[names[k] for k in shuffled])
    new.to_csv("new.csv", index=False)
    assert numbers(predict(capsys, "new.csv")) == EXPECTED.tolist()
    new.drop(columns="r7").to_csv("new.csv", index=False)
    assert "new.csv has no column r7" in refused(capsys, "new.csv")


def test_files_that_are_no_models_are_refused(capsys):
    fit("--exclude", "plot")
    NEW.to_csv("new.csv", index=False)
    assert main(["predict", "out/tree.npz", "new.csv"]) == 1
    assert "tree.npz' is not a saved model" in capsys.readouterr().err
    assert main(["predict", "nothing.npz", "new.csv"]) == 1
    assert re.search(r"nothing\.npz: No such file", capsys.readouterr().err)
    with open("new.edges", "w") as file:
        file.write("a,b\n")
    assert "new.edges holds no table, and the model was fitted to rows" in refused(capsys, "new.edges")
