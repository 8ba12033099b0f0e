"""Mistakes end with one sentence that names file, line and column, exit code 1, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree
from hyphc.cli import main

GOOD = "id,a,b\np,1,2\nq,2,1\nr,3,5\ns,4,4\n"


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD)
    Tree([[0, 1], [2, 3], [4, 5]]).save("good.npz")


def fails(capsys, *words: str) -> str:
    """The one sentence with which a command fails; what lies in the folder stays as it was."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert main(words) == 1
    captured = capsys.readouterr()
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    assert not [path for path in Path().iterdir() if path.is_dir() and not any(path.iterdir())]
    assert captured.err.startswith("hyphc: ")
    assert captured.err.count("\n") == 1
    assert captured.err.rstrip()[-1] in ".?"
    assert "Traceback" not in captured.err
    return captured.err


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


def parquet(content: dict[str, list[object]], keep: float = 1.0) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(content), path)
        path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])

    return write


def truncated(write: Callable[[Path], object]) -> Callable[[Path], object]:
    def cut(path: Path) -> None:
        write(path)
        path.write_bytes(path.read_bytes()[:-40])

    return cut


NEGATIVE = np.array([[0, 1, 2], [1, 0, -0.5], [2, -0.5, 0]])
ASYMMETRIC = np.array([[0, 1, 2], [1, 0, 3], [2, 4, 0.0]])
BAD_FILES = {
    "empty": ("x.csv", text(""), [], ["x.csv is empty"]),
    "only blank lines": ("x.csv", text("\n\n"), [], ["x.csv holds only blank lines"]),
    "header only": ("x.csv", text("a,b\n"), [], ["x.csv has a header and no rows"]),
    "one row": ("x.csv", text("a,b\n1,2\n"), [], ["x.csv holds one row"]),
    "ragged": ("x.csv", text("a,b\n1,2\n3\n4,5\n"), [], ["x.csv, line 3", "1 cell", "first line has 2"]),
    "too many cells": ("x.csv", text("a,b\n1,2\n3,4,5\n"), [], ["x.csv, line 3", "3 cells"]),
    "text in a numeric column": (
        "x.csv",
        text("a,b\n1,2\n3,x4\n5,6\n"),
        [],
        ["x.csv, line 3, column 'b'", "'x4' is not a number"],
    ),
    "text late in a long file": (
        "x.csv",
        text("a,b\n" + "1,2\n" * 9000 + "3,no\n"),
        [],
        ["x.csv, line 9002, column 'b'", "'no' is not a number"],
    ),
    "NaN": (
        "x.csv",
        text("a,b\n1,2\nnan,4\n"),
        ["--metric", "cosine"],
        ["x.csv, line 3, column 'a'", "'nan' means that the value is missing", "--drop-missing, --impute"],
    ),
    "missing cell": (
        "x.csv",
        text("a,b\n1,2\n3,\n"),
        ["--metric", "cosine"],
        ["x.csv, line 3, column 'b'", "the cell is empty"],
    ),
    "missing distance": ("x.csv", text("a,b\n0,2\n,0\n"), ["--distances"], ["x.csv, line 3, column 'a'"]),
    "a row without any value": ("x.csv", text("a,b\n1,2\nNA,\n3,4\n"), [], ["x.csv, row 2 has no value at all"]),
    "too few rows without gaps": (
        "x.csv",
        text("a,b\n1,2\nNA,2\n3,\n"),
        ["--drop-missing"],
        ["1 of 3 rows have all values", "--impute"],
    ),
    "infinity": ("x.csv", text("a,b\n1,2\n3,-inf\n"), [], ["x.csv, line 3, column 'b'", "too large"]),
    "huge number": ("x.csv", text("a,b\n1,2\n3,1e300\n"), [], ["x.csv, line 3, column 'b'", "'1e300' is too large"]),
    "number beyond floats": ("x.csv", text("a,b\n1,2\n3,1e999\n"), [], ["x.csv, line 3, column 'b'", "too large"]),
    "no numbers": ("x.csv", text("a,b\nx,y\nz,w\n"), [], ["x.csv has no column of numbers", "a, b", "--features"]),
    "wrong encoding": (
        "x.csv",
        lambda path: path.write_bytes(b"a,b\n1,2\n\x81,3\n"),
        [],
        ["x.csv is not UTF-8 text (byte 0x81 on line 3)"],
    ),
    "NUL bytes": ("x.csv", lambda path: path.write_bytes(b"a,b\n1,\x002\n3,4\n"), [], ["x.csv"]),
    "damaged packing": (
        "x.csv.gz",
        lambda path: path.write_bytes(b"\x1f\x8b\x08rest"),
        [],
        ["x.csv.gz cannot be decompressed", "write it again"],
    ),
    "spreadsheet": ("x.xlsx", lambda path: path.write_bytes(b"PK\x03\x04rest"), [], ["x.xlsx", "Excel"]),
    "unknown feature": (
        "x.csv",
        text(GOOD),
        ["--features", "a,bb"],
        ["x.csv has no column 'bb'", "did you mean 'b'?", "id, a, b"],
    ),
    "unknown label": ("x.csv", text(GOOD), ["--labels", "class"], ["x.csv has no column 'class'"]),
    "unknown name": ("x.csv", text(GOOD), ["--names", "9"], ["x.csv has no column '9'"]),
    "text feature": (
        "x.csv",
        text(GOOD),
        ["--features", "id,a"],
        ["x.csv, line 2, column 'id'", "'p' is not a number"],
    ),
    "repeated column": ("x.csv", text("a,a\n1,2\n3,4\n"), ["--features", "a"], ["x.csv has 2 columns 'a'", "number"]),
    "labels all different": ("x.csv", text(GOOD), ["--labels", "id"], ["x.csv: no two rows have the same label"]),
    "too many clusters": ("x.csv", text(GOOD), ["--n-clusters", "5"], ["--n-clusters 5 is more than the 4 rows"]),
    "too many neighbours": ("x.csv", text(GOOD), ["--n-neighbors", "4"], ["x.csv: --n-neighbors 4", "at most 3"]),
    "constant columns": (
        "x.csv",
        text("a,b\n1,2\n1,2\n"),
        ["--standardize", "--metric", "rbf"],
        ["x.csv: every column is constant"],
    ),
    "clusters too large": ("x.csv", text(GOOD), ["--min-size", "5"], ["--min-size 5 is too large for 1 cluster of 4"]),
    "too many large clusters": (
        "x.csv",
        text(GOOD),
        ["--n-clusters", "2", "--min-size", "3"],
        ["--min-size 3 is too large for 2 clusters of 4 rows; give at most 2"],
    ),
    "negative distance": ("w.npy", lambda path: np.save(path, NEGATIVE), ["--distances"], ["w.npy: ", "negative"]),
    "negative similarity": (
        "w.npy",
        lambda path: np.save(path, NEGATIVE),
        ["--precomputed"],
        ["w.npy, row 2, column 3: -0.5 is negative"],
    ),
    "asymmetric similarities": (
        "w.npy",
        lambda path: np.save(path, ASYMMETRIC),
        ["--precomputed"],
        ["w.npy: row 2, column 3 is 3 but row 3, column 2 is 4"],
    ),
    "similarities not square": (
        "w.csv",
        text("1,2\n2,1\n3,3\n"),
        ["--precomputed"],
        ["w.csv has 3 rows and 2 columns", "square"],
    ),
    "negative edge": ("g.csv", text("a,b,1\nb,c,-2\n"), ["--graph"], ["g.csv, line 2: weight -2 is negative"]),
    "edge in two weights": (
        "g.csv",
        text("a,b,1\nb,c,1\nb,a,2\n"),
        ["--graph"],
        ["g.csv, lines 1 and 3", "--directed"],
    ),
    "edge of one node": ("g.edges", text("a b\nc\n"), [], ["g.edges, line 2: 'c' is not an edge"]),
    "edge with a bad weight": (
        "g.csv",
        text("a,b,1\nb,c,x\n"),
        ["--graph"],
        ["g.csv, line 2: weight 'x' is not a number"],
    ),
    "edge with a missing weight": (
        "g.csv",
        text("a,b,1\nb,c,nan\n"),
        ["--graph"],
        ["g.csv, line 2: weight nan is missing"],
    ),
    "no edges": ("g.edges", text("# nothing\n"), [], ["g.edges lists no edge"]),
    "columns of a graph": ("g.edges", text("a b\n"), ["--labels", "1"], ["g.edges is a list of edges", "--labels"]),
    "negative weight in a graph": (
        "g.mtx",
        text("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.0\n3 1 -2.0\n"),
        [],
        ["g.mtx, row 1, column 3: -2 is negative"],
    ),
    "asymmetric graph": (
        "g.mtx",
        text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1.0\n"),
        [],
        ["g.mtx: row 1, column 2 is 1 but row 2, column 1 is 0"],
    ),
    "damaged MatrixMarket": (
        "g.mtx",
        text("%%MatrixMarket matrix coordinate real general\n2 2 5\n1 2 1.0\n"),
        [],
        ["g.mtx cannot be read as MatrixMarket"],
    ),
    "truncated NPY": (
        "x.npy",
        truncated(lambda path: np.save(path, np.ones((9, 9)))),
        [],
        ["x.npy cannot be read as NPY"],
    ),
    "truncated NPZ": (
        "x.npz",
        truncated(lambda path: np.savez(path, x=np.ones((9, 9)))),
        [],
        ["x.npz cannot be read as NPZ"],
    ),
    "truncated Parquet": (
        "x.parquet",
        parquet({"a": [1, 2], "b": [2, 3]}, keep=0.7),
        [],
        ["x.parquet cannot be read as Parquet"],
    ),
    "missing value in Parquet": (
        "x.parquet",
        parquet({"a": [1, None], "b": [2, 3]}),
        ["--metric", "cosine"],
        ["x.parquet, row 2, column 'a'", "missing"],
    ),
    "NaN in Parquet": (
        "x.parquet",
        parquet({"a": [1.0, float("nan")]}),
        ["--metric", "cosine"],
        ["x.parquet, row 2, column 'a': the value is missing (nan)"],
    ),
    "text as a feature in Parquet": (
        "x.parquet",
        parquet({"a": ["u", "v"], "b": [2, 3]}),
        ["--features", "a"],
        ["x.parquet, column 'a'"],
    ),
    "not what its extension says": ("x.parquet", text(GOOD), [], ["x.parquet does not begin as a Parquet file"]),
    "NaN in NPY": (
        "x.npy",
        lambda path: np.save(path, [[1, 2], [3, np.nan]]),
        ["--metric", "cosine"],
        ["x.npy, row 2, column 2: the value is missing (nan)"],
    ),
    "one-dimensional NPY": (
        "x.npy",
        lambda path: np.save(path, np.ones(4)),
        [],
        ["x.npy holds an array of shape (4,)"],
    ),
    "objects in NPY": (
        "x.npy",
        lambda path: np.save(path, np.array([["a"], ["b"]])),
        [],
        ["x.npy does not hold numbers"],
    ),
    "a tree as data": ("x.npz", lambda path: Tree([[0, 1]]).save(path), [], ["x.npz holds a tree and no points"]),
    "two tables": (
        "x.npz",
        lambda path: np.savez(path, u=np.ones((3, 2)), v=np.ones((3, 2))),
        [],
        ["x.npz has 2 tables", "u, v"],
    ),
    "labels of another length": (
        "x.npz",
        lambda path: np.savez(path, u=np.ones((3, 2)), y=np.ones(2)),
        ["--labels", "y"],
        ["x.npz, array y: its shape is (2,)", "3 rows"],
    ),
    "sparse features": (
        "x.npz",
        lambda path: sp.save_npz(path, sp.csr_array(np.ones((3, 2)))),
        ["--metric", "cosine"],
        ["x.npz: a sparse table of features takes --metric auto, or --n-neighbors"],
    ),
    "columns of a sparse matrix": (
        "x.npz",
        lambda path: sp.save_npz(path, sp.csr_array(np.ones((3, 3)))),
        ["--labels", "1"],
        ["x.npz is a sparse matrix", "--labels"],
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_told_in_one_sentence_and_leaves_nothing(capsys, case):
    name, write, options, parts = BAD_FILES[case]
    write(Path(name))
    message = fails(capsys, "fit", name, *options)
    for part in parts:
        assert part in message, message


def test_a_missing_file_a_folder_and_a_locked_file_are_told_apart(capsys, monkeypatch):
    assert "none.csv does not exist" in fails(capsys, "fit", "none.csv")
    assert "none.npz does not exist" in fails(capsys, "cut", "none.npz")
    Path("folder").mkdir()
    (Path("folder") / "x").write_text("")
    assert "folder is a folder" in fails(capsys, "fit", "folder")

    def locked(*_):
        raise PermissionError

    monkeypatch.setattr("hyphc.io.sources.InputFile.head", locked)
    assert "good.csv may not be read" in fails(capsys, "fit", "good.csv")


def test_without_pyarrow_parquet_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    Path("x.parquet").write_bytes(b"PAR1rest")
    assert "pip install 'hyphc[io]'" in fails(capsys, "fit", "x.parquet")


def test_without_matplotlib_plot_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'hyphc[plot]'" in fails(capsys, "plot", "good.npz")


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.nwk", "((a,b),(c,d);", "t.nwk is not a tree: Newick: 1 '(' are never closed"),
        ("t.nwk", "hello", "t.nwk is not a tree; expected"),
        ("t.json", "{}", "t.json is not a tree: Not a tree in JSON"),
        ("t.json", '{"children": [[0, 9]], "heights": [1]}', "t.json is not a tree: Merge 0 joins [0, 9]"),
        ("t.json", '{"children": [["a", 1]], "heights": [1]}', "t.json is not a tree"),
        ("t.npz", b"PK\x03\x04rest", "t.npz"),
        ("t.npy", b"\x93NUMPYrest", "t.npy is not a tree"),
        ("t.nwk", "(é,b);".encode("latin-1"), "not UTF-8"),
    ],
)
def test_a_bad_tree_is_told_in_one_sentence(capsys, name, content, part):
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    for words in (["cut", name], ["convert", name, "new.json"], ["score", name, "good.csv"], ["explore", name]):
        assert part in fails(capsys, *words)


def test_a_tree_and_data_that_do_not_fit_are_told(capsys):
    Tree([[0, 1]]).save("small.npz")
    assert "small.npz has 2 leaves and good.csv 4 rows" in fails(capsys, "score", "small.npz", "good.csv")
    Path("other.nwk").write_text("((p,q),(r,x));")
    assert "other.nwk has a leaf 'x' that the data does not name" in fails(capsys, "score", "other.nwk", "good.csv")
    Path("named.nwk").write_text("((p,q),(r,s));")
    np.save("x.npy", np.ones((4, 2)))
    assert "named.nwk calls its leaves by names and the data has none" in fails(capsys, "score", "named.nwk", "x.npy")
    Path("twice.nwk").write_text("((p,q),(r,r));")
    assert "twice.nwk has 4 leaves with 3 different names" in fails(capsys, "score", "twice.nwk", "good.csv")


def test_cuts_that_cannot_be_are_told(capsys):
    words = ["cut", "good.npz", "--n-clusters", "2"]
    assert "good.npz holds no split weights, which --criterion ncut needs" in fails(
        capsys, *words, "--criterion", "ncut"
    )
    assert "at most 1 such clusters" in fails(capsys, *words, "--min-size", "3")
    assert "min_size=5 is more than the 4 points" in fails(capsys, *words, "--min-size", "5")


def test_outputs_that_cannot_be_are_told_before_the_work(capsys, monkeypatch):
    monkeypatch.setattr("hyphc.cli.fit.HypHC", None)
    assert "good.csv is a file and no folder" in fails(capsys, "fit", "good.csv", "--output", "good.csv/inside")
    assert "good.csv is a file and no folder" in fails(capsys, "demo", "--output", "good.csv")
    assert "new.txt ends in .txt" in fails(capsys, "convert", "good.npz", "new.txt")
    assert "the folder none does not exist" in fails(capsys, "convert", "good.npz", "none/new.json")
    assert "new.bmp ends in .bmp" in fails(capsys, "plot", "good.npz", "--output", "new.bmp")
    assert "none does not exist" in fails(capsys, "explore", "good.npz", "--output", "none/new.html")
    assert "x.txt ends in .txt" in fails(capsys, "datasets", "--write", "iris", "x.txt")


def test_a_failure_while_writing_leaves_nothing(capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "explorer.html")

    monkeypatch.setattr("hyphc.cli.fit_files.write_explorer", full)
    assert fails(capsys, "fit", "good.csv", "--output", "new/out") == "hyphc: explorer.html: No space left on device.\n"
    assert not Path("new").exists()


def test_an_unknown_data_set_and_one_that_is_not_there_are_told(capsys, monkeypatch):
    monkeypatch.delenv("HYPHC_DATA", raising=False)
    assert "did you mean 'iris'?" in fails(capsys, "datasets", "--write", "irsi", "x.csv")
    message = fails(capsys, "datasets", "--write", "polblogs", "x.csv")
    assert "set HYPHC_DATA to a folder with graphs/polblogs.npz" in message


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["nothing"], "invalid choice: 'nothing'"),
        (["fit"], "FILE"),
        (["fit", "good.csv", "--n-clusters", "0"], "0 is too small; give a whole number of at least 1"),
        (["fit", "good.csv", "--n-clusters", "two"], "invalid whole number value: 'two'"),
        (["fit", "good.csv", "--time-budget", "-1"], "not a positive number of seconds"),
        (["fit", "good.csv", "--metric", "cosin"], "invalid choice: 'cosin'"),
        (["fit", "good.csv", "--metric", "euclidean"], "add --n-neighbors"),
        (
            ["fit", "good.csv", "--metric", "rbf", "--n-neighbors", "2"],
            "--n-neighbors goes with --metric auto or cosine",
        ),
        (["fit", "good.csv", "--metric", "rbf", "--scale", "yes"], "for rbf give --standardize"),
        (["fit", "good.csv", "--metric", "rbf", "--background", "1"], "--background goes with --metric auto, not rbf"),
        (["fit", "good.csv", "--scale", "no", "--standardize"], "--standardize and --scale no contradict each other"),
        (["fit", "good.csv", "--scale", "maybe"], "invalid choice: 'maybe'"),
        (["fit", "good.csv", "--background", "-1"], "-1 is not a number of at least 0"),
        (["fit", "good.csv", "--distances", "--scale", "yes"], "--distances distances are taken as they are"),
        (["fit", "good.csv", "--precomputed", "--distances"], "give one of them"),
        (["fit", "good.csv", "--precomputed", "--graph"], "give one of them"),
        (["fit", "good.csv", "--precomputed", "--standardize"], "leave out --standardize"),
        (["score", "good.npz", "good.csv", "--graph", "--metric", "cosine"], "leave out --metric"),
        (["cut", "good.npz", "--n-clusters", "2", "--height", "1"], "not allowed with argument"),
        (["cut", "good.npz", "--criterion", "best"], "invalid choice: 'best'"),
        (["cut", "good.npz", "--height", "1", "--criterion", "ncut"], "leave out --height"),
        (["cut", "good.npz", "--max-size", "2", "--min-size", "2"], "leave out --max-size"),
        (["plot", "good.npz", "--labels", "a"], "--labels is about DATA"),
        (["fit", "good.csv", "--stand"], "unrecognized arguments: --stand"),
    ],
)
def test_a_command_line_that_cannot_be_understood_ends_with_2(capsys, words, part):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert part in capsys.readouterr().err


def test_the_exit_code_reaches_the_shell():
    done = subprocess.run([sys.executable, "-m", "hyphc", "cut", "none"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "hyphc: none does not exist; check the path.\n")
