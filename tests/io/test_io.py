"""Files in and out: tables of text, arrays, matrices and graphs to points, and trees to files and back."""

from __future__ import annotations

import csv
import gc
import io
import re
import sys
import tracemalloc
from pathlib import Path

import hyphc
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hyphc import Tree, as_similarity
from hyphc.io import ColumnsError, match_leaves, read_points, read_tree, unique_names, write_tree
from hyphc.similarity.inputs.input_warnings import names_nuisance, nuisance_columns
from hypothesis import given
from hypothesis import strategies as st

from strategies import trees

X = np.array([[1.0, 2.5], [3.0, -4.0], [0.5, 1e-3]])
W = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.5], [1.0, 0.5, 0.0]])


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "separator"), [("x.csv", ","), ("x.tsv", "\t"), ("x.txt", ";"), ("x", "\t")])
def test_tables_of_text_are_read_whatever_their_separator(write, name, separator):
    path = write(name, "\n".join(separator.join(map(str, row)) for row in [("a", "b"), *X.tolist()]))
    points = read_points(path)
    np.testing.assert_array_equal(points.data, X)
    assert points.columns == ("a", "b")
    assert points.kind == "features"


def test_a_table_without_header_calls_its_columns_by_number(write):
    points = read_points(write("x.csv", "p,1,2\nq,3,4\n"))
    assert points.columns == ("2", "3")
    assert points.names == ("p", "q")
    assert points.notes[0].startswith("header: none")


def test_numbers_are_features_and_the_first_telling_text_names_the_rows(write):
    points = read_points(write("x.csv", "kind,id,a,b\ncat,Tom,1,2\ncat,Kit,3,4\ndog,Rex,5,6\ndog,Bo,7,8\n"))
    assert points.columns == ("a", "b")
    assert points.names == ("Tom", "Kit", "Rex", "Bo")
    assert points.labels is None
    assert any("kind" in note and "choose it as labels" in note for note in points.notes)


def test_years_and_codes_among_measurements_are_pointed_out(write):
    rng = np.random.default_rng(0)
    values = [f"{a:.3f},{b:.3f},{2007 + i % 3},{i % 2}" for i, (a, b) in enumerate(rng.normal(size=(90, 2)))]
    path = write("x.csv", "\n".join(["mass,length,year,alive", *values]) + "\n")
    check = "check: year has few different numbers; exclude codes and years"
    assert check in read_points(path).notes
    without = read_points(path, exclude=["year"])
    assert without.columns == ("mass", "length", "alive")
    assert without.notes[0] == "features: mass, length, alive (the columns with numbers, without those excluded)"
    assert "not used: year (not to be clustered by, as requested)" in without.notes
    assert not any(note.startswith("check") for note in read_points(path, features=["mass", "year"]).notes)
    only_codes = write("y.csv", "a,b\n" + "".join(f"{i % 4},{i % 5}\n" for i in range(100)))
    assert not any(note.startswith("check") for note in read_points(only_codes).notes)


TEXTS = ["red apple pie", "apple pie crust", "rocket to the moon", "moon rocket launch", "", "the apple"]


def test_texts_without_numbers_are_clustered_by_their_words(write):
    rows = "".join(f"{i + 1},{text}\n" for i, text in enumerate(TEXTS))
    path = write("x.csv", f"id,note\n{rows}")
    points = read_points(path, known={"texts": "note"})
    assert points.names == ("1", "2", "3", "4", "5", "6")
    assert points.data.shape == (6, 4)  # apple, moon, pie, rocket
    assert points.notes[0].startswith("features: TF-IDF of the 4 words that occur in two or more texts of note")
    assert not any(note.startswith("texts:") for note in points.notes)
    similar = (points.data @ points.data.T).toarray()
    assert similar[0, 1] > 0.99
    assert similar[0, 2] == similar[4].sum() == 0
    by_number = read_points(path, features=["id"], known={"texts": "note"})
    assert by_number.data.tolist() == [[1], [2], [3], [4], [5], [6]]


def test_a_column_that_only_numbers_the_rows_is_not_clustered_by(write):
    path = write("x.csv", "id,note\n" + "".join(f"{i + 1},{text}\n" for i, text in enumerate(TEXTS)))
    with pytest.raises(ColumnsError, match="no column of numbers to cluster by but id, which only numbers the rows"):
        read_points(path)
    assert read_points(path, features=["id"]).columns == ("id",)
    alone = write("y.csv", "id,note\n" + "".join(f"{i + 1},word{'abcdefgh'[i]}\n" for i in range(8)))
    with pytest.raises(ColumnsError, match="no two texts in note have a word in common"):
        read_points(alone, known={"texts": "note"})


def test_columns_are_chosen_by_name_or_number(write):
    path = write("x.csv", "id,a,b,c\nu,1,2,0\nv,3,4,1\n")
    points = read_points(path, features=["b", "2"], labels="c", names="id")
    np.testing.assert_array_equal(points.data, [[2, 1], [4, 3]])
    assert points.labels == ("0", "1")
    assert points.names == ("u", "v")


def test_a_label_column_of_numbers_is_no_feature(write):
    assert read_points(write("x.csv", "a,b\n1,0\n2,0\n3,1\n"), labels="b").columns == ("a",)


def test_quotes_byte_order_marks_and_blank_lines_are_understood(write):
    points = read_points(write("x.csv", '\ufeff"the name",a\r\n"x, ""y""\nz",1\r\n\r\nw,2\r\n'))
    assert points.names == ('x, "y"\nz', "w")
    np.testing.assert_array_equal(points.data, [[1], [2]])


def test_an_empty_column_is_left_out_and_named(write):
    points = read_points(write("x.csv", "a,b,\n1,2,\n3,4,\n"))
    assert points.columns == ("a", "b")
    assert any("empty" in note for note in points.notes)


def test_a_table_longer_than_a_block_is_read_whole(write):
    table = np.arange(3 * 10_000).reshape(-1, 3)
    points = read_points(write("x.csv", "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in table.tolist())))
    np.testing.assert_array_equal(points.data, table)


@given(st.lists(st.lists(st.floats(-1e99, 1e99), min_size=2, max_size=2), min_size=2, max_size=6))
def test_numbers_survive_text_exactly(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("text") / "x.csv"
    path.write_text("a,b\n" + "\n".join(",".join(map(repr, row)) for row in table))
    np.testing.assert_array_equal(read_points(path).data, table)


def test_standard_input_is_read_by_content(monkeypatch):
    buffer = io.BytesIO()
    np.save(buffer, X)
    for content in (b"a,b\n1.0,2.5\n3,-4\n0.5,1e-3\n", buffer.getvalue()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        points = read_points("-")
        np.testing.assert_array_equal(points.data, X)
        assert points.source == "standard input"


def test_parquet_keeps_names_labels_and_single_precision(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"id": ["p", "q", "r"], "a": X[:, 0].astype(np.float32), "b": X[:, 1].astype(np.float32), "k": [1, 1, 2]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    points = read_points(tmp_path / "x.parquet", labels="k")
    np.testing.assert_array_equal(points.data, X.astype(np.float32))
    assert points.data.dtype == np.float32
    assert points.names == ("p", "q", "r")
    assert points.labels == ("1", "1", "2")
    assert read_points(tmp_path / "x.parquet").columns == ("a", "b", "k")


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_npy_is_memory_mapped_and_reading_copies_nothing(tmp_path):
    rows = np.random.default_rng(0).random((50_000, 32), dtype=np.float32)
    np.save(tmp_path / "x.npy", rows)
    gc.collect()
    tracemalloc.start()
    points = read_points(tmp_path / "x.npy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(points.data, np.memmap)
    assert points.data.dtype == np.float32
    assert peak < rows.nbytes / 10
    similarity = as_similarity(points.data, "linear")
    assert np.shares_memory(similarity.X, points.data)


def test_columns_of_npy_are_called_by_number(tmp_path):
    np.save(tmp_path / "x.npy", np.column_stack([X, [7, 7, 8]]))
    points = read_points(tmp_path / "x.npy", labels="3")
    np.testing.assert_array_equal(points.data, X)
    assert points.labels == ("7", "7", "8")


def test_npz_finds_its_table_and_takes_labels_and_names_by_array(tmp_path):
    np.savez(tmp_path / "x.npz", points=X, y=[0, 0, 1], who=["p", "q", "r"])
    points = read_points(tmp_path / "x.npz", labels="y", names="who")
    np.testing.assert_array_equal(points.data, X)
    assert points.labels == ("0", "0", "1")
    assert points.names == ("p", "q", "r")
    np.savez(tmp_path / "two.npz", train=X, test=2 * X)
    np.testing.assert_array_equal(read_points(tmp_path / "two.npz", features=["test"]).data, 2 * X)


# --- similarities and graphs -----------------------------------------------------------------------------------------


def test_a_square_table_is_similarities_when_the_caller_says_so(write):
    path = write("w.csv", ",p,q,r\np,0,2,1\nq,2,0,.5\nr,1,.5,0\n")
    points = read_points(path, precomputed=True)
    assert points.kind == "similarities"
    assert points.names == ("p", "q", "r")
    np.testing.assert_array_equal(points.data, W)


def sparse_files(tmp_path):
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(W))
    scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_array(W))
    (tmp_path / "g.edges").write_text("# comment, with a comma\n0 1 2\n2 0 1\n1 2 0.5\n")
    (tmp_path / "g.csv").write_text("source,target,weight\n0,1,2\n0,2,1\n1,2,.5\n")
    return [tmp_path / name for name in ("g.npz", "g.mtx", "g.edges", "g.csv")]


def test_every_format_of_a_graph_gives_the_same_graph(tmp_path):
    for path in sparse_files(tmp_path):
        points = read_points(path, graph=path.suffix == ".csv")
        assert points.kind == "graph"
        assert points.names is None
        np.testing.assert_array_equal(points.data.toarray(), W)


def test_nodes_keep_their_names_and_numbers_their_order(write):
    assert read_points(write("g.edges", "b a\nc b\n")).names == ("b", "a", "c")
    assert read_points(write("g.edges", "10 9\n9 2\n")).names == ("2", "9", "10")


def test_loops_are_left_out_and_repeated_edges_added_up(write):
    points = read_points(write("g.edges", "0 0\n0 1 2\n0 1 3\n1 2\n"))
    assert points.data[0, 1] == points.data[1, 0] == 5
    assert points.data[0, 0] == 0
    assert any("1 edge from a node to itself" in note for note in points.notes)
    assert any("1 edge listed again" in note for note in points.notes)


def test_a_sparse_table_that_is_not_square_is_features(tmp_path):
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    assert read_points(tmp_path / "x.npz").kind == "features"


# --- names and oddities ----------------------------------------------------------------------------------------------


def test_a_column_that_only_numbers_the_rows_is_no_feature_and_names_them(write):
    path = write("x.csv", ",a\n" + "".join(f"{i},{i * i}\n" for i in range(6)))
    points = read_points(path)
    assert points.columns == ("a",)
    assert points.names == ("0", "1", "2", "3", "4", "5")
    assert any("only numbers the rows" in note for note in points.notes)
    assert read_points(path, features=["1", "a"]).columns == ("", "a")


@pytest.mark.parametrize(
    ("name", "is_feature"), [("sample_id", False), ("ID", False), ("height", True), ("humid", True)]
)
def test_whole_numbers_that_differ_are_left_out_where_they_are_called_an_id(name, is_feature, write):
    path = write("x.csv", f"{name},a,b\n" + "".join(f"{7 * i % 11},{i * i},0.5\n" for i in range(1, 9)))
    assert (name in read_points(path).columns) == is_feature


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *(
            (name, True)
            for name in ["batch", "Batch", "plate_no", "PlateID", "sequencing run", "site2", "DONOR", "run date"]
        ),
        *((name, False) for name in ["donor_age", "run_time", "rundown", "website", "update", "count", "", "id", "2"]),
    ],
)
def test_a_nuisance_column_is_recognised_by_the_last_word_of_its_name(name, is_one):
    assert names_nuisance(name) is is_one


def test_only_a_few_whole_numbers_are_codes_of_a_batch():
    few, many, measured = np.repeat([1.0, 2.0, np.nan], 4), np.arange(12.0), np.linspace(0, 1, 12)
    names = ["batch", "batch", "batch", "age"]
    assert nuisance_columns(names, np.column_stack([few, many, measured, few])) == [0]


def test_a_table_of_nothing_but_counters_keeps_them(write):
    path = write("x.csv", "id\n" + "".join(f"{i}\n" for i in range(9)))
    assert read_points(path).columns == ("id",)


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_decimal_commas_are_read(separator, write):
    quote = '"' if separator == "," else ""
    rows = [("a", "0,5", "1.234,25"), ("b", "-1,5e3", "2"), ("c", "3,125", "1.000")]
    lines = [separator.join(quote + cell + quote for cell in row) for row in rows]
    points = read_points(write("x.csv", separator.join(["name", "x", "y"]) + "\n" + "\n".join(lines) + "\n"))
    assert points.data.tolist() == [[0.5, 1234.25], [-1500.0, 2.0], [3.125, 1000.0]]
    assert points.names == ("a", "b", "c")
    assert points.notes[0] == "numbers: with decimal commas"


def test_commas_between_thousands_are_read_and_said(write):
    points = read_points(write("x.csv", "x;y\n1,234.5;1\n12,345,678;2\n999;3\n"))
    assert points.data[:, 0].tolist() == [1234.5, 12345678.0, 999.0]
    assert points.notes[0].startswith("numbers: with commas that separate thousands")


def test_a_comma_that_may_be_either_is_refused(write):
    with pytest.raises(ValueError, match=r"column 'x': '1,234' may be 1\.234 or 1234; write numbers"):
        read_points(write("x.csv", "x;y\n1,234;1\n2,345;2\n"))
    with pytest.raises(ValueError, match=r"one thing in '0,5' and another in '1,234\.5'"):
        read_points(write("x.csv", "x;y\n0,5;1\n1,234.5;2\n"))


def test_text_with_commas_stays_text(write):
    points = read_points(write("x.csv", 'name;x\n1,2-dichloroethane;1\nbenzene;2\n"Oslo, Norway";4\n'))
    assert points.names == ("1,2-dichloroethane", "benzene", "Oslo, Norway")


def test_repeated_names_are_pointed_out(write):
    points = read_points(write("x.csv", "id,a\nfrog,1\ntoad,2\nfrog,3\n"), names="id")
    assert any(note.startswith("repeated: 1 of the names") for note in points.notes)
    assert points.names == ("frog", "toad", "frog")


@given(st.lists(st.sampled_from(["", "a", "b", "a (2)", "a (3)", "row 1", "row 2"]), max_size=12))
def test_unique_names_differ_and_keep_the_first_of_each(names):
    unique = unique_names(names)
    assert len(set(unique)) == len(names)
    for name in set(names) - {""}:
        assert unique[names.index(name)] == name or name.startswith("row")


def test_matched_leaves_keep_their_degrees_and_the_tree_its_weights():
    tree = Tree([[0, 1], [3, 2]], names="abc", split_weights=[1.0, 2.0], degrees=[3.0, 4.0, 5.0])
    matched, _ = match_leaves(tree, ("c", "a", "b"), source="t", by_order=True)
    assert matched.degrees.tolist() == [5.0, 3.0, 4.0]
    assert matched.split_weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "content", "columns", "arguments"),
    [
        ("x.csv", "a,b\nx,y\nz,w\n", {}, ("features",)),
        ("x.edges", "a b\nb c\n", {"labels": "1", "names": "2"}, ("labels", "names")),
    ],
)
def test_a_wrong_choice_of_columns_says_which_arguments_mend_it(write, name, content, columns, arguments):
    with pytest.raises(ColumnsError, match="column") as error:
        read_points(write(name, content), **columns)
    assert error.value.arguments == arguments


def test_no_message_of_the_readers_speaks_of_options():
    for path in Path(hyphc.io.__file__).parent.glob("*.py"):
        assert not re.search(r"(?<!-)--[a-z]", path.read_text(encoding="utf-8")), path.name


def test_leaves_are_matched_by_name(tmp_path):
    tree = Tree([[0, 1], [3, 2]], names=["r", "p", "q"])
    matched, how = match_leaves(tree, ("p", "q", "r"), source="t", by_order=True)
    assert how == "by name"
    assert matched == Tree([[2, 0], [3, 1]])
    assert match_leaves(tree, None, source="t", by_order=True) == (tree, "by order")


# --- trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".nwk", ".newick", ".json", ".npy"])
@given(tree=trees())
def test_trees_survive_every_format(tmp_path_factory, suffix, tree):
    path = tmp_path_factory.mktemp("trees") / f"tree{suffix}"
    if tree.n_leaves < 2:
        return
    write_tree(tree, path)
    found = read_tree(path)
    assert found == tree
    np.testing.assert_allclose(found.heights, tree.heights, rtol=1e-9, atol=1e-9)


def test_names_survive_the_formats_that_hold_them(tmp_path):
    tree = Tree([[0, 2], [3, 1]], names=["it's", "naïve (1)", ""])
    for name in ("t.npz", "t.json", "t.nwk"):
        write_tree(tree, tmp_path / name)
        assert sorted(read_tree(tmp_path / name).names) == sorted(tree.names)


def test_a_chain_of_many_leaves_survives_newick(tmp_path):
    n = 20_000
    chain = Tree(np.column_stack([np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n)]))
    write_tree(chain, tmp_path / "chain.nwk")
    assert read_tree(tmp_path / "chain.nwk") == chain


def test_a_failed_write_leaves_the_old_tree(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    write_tree(Tree([[0, 1]]), path)
    before = path.read_bytes()
    monkeypatch.setattr(Tree, "to_json", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_tree(Tree([[0, 1], [2, 3]]), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.json"]


def test_a_table_written_by_the_csv_module_is_read_back(tmp_path):
    with (tmp_path / "x.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *X.tolist()])
    np.testing.assert_array_equal(read_points(tmp_path / "x.csv").data, X)


@pytest.mark.parametrize("header", ["source,target,weight", "From,To", "u,v,w"])
def test_a_list_of_edges_is_not_taken_for_a_table(header, write):
    cells = ["a,b,3", "b,c,1", "c,d,2"] if header.count(",") == 2 else ["1,2", "2,3", "3,4"]
    path = write("x.csv", "\n".join([header, *cells]) + "\n")
    with pytest.raises(ValueError, match="looks like a list of edges"):
        read_points(path)
    assert read_points(path, graph=True).kind == "graph"
    if header.count(",") == 2:
        assert read_points(path, features=["3"]).data.shape == (3, 1)


def test_a_square_table_with_the_same_names_on_both_sides_is_not_taken_for_features(write):
    path = write("x.csv", ",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n")
    with pytest.raises(ValueError, match="the same names for rows and columns"):
        read_points(path)
    assert read_points(path, precomputed=True).kind == "similarities"
    assert read_points(path, features=["a", "b"]).data.shape == (3, 2)


@pytest.mark.parametrize(
    ("features", "exclude", "expected"),
    [
        (["g*"], None, ["g1", "g2", "g3"]),
        (["2-3"], None, ["g1", "g2"]),
        (["g*", "2"], ["g3"], ["g1", "g2"]),
        (None, ["g?"], ["age"]),
        (None, ["age"], ["g1", "g2", "g3"]),
    ],
)
def test_columns_are_chosen_by_range_and_pattern(features, exclude, expected, write):
    path = write("x.csv", "age,g1,g2,g3\n" + "".join(f"{i * i},{i},{i % 3},7\n" for i in (3, 1, 2, 5, 9)))
    assert list(read_points(path, features=features, exclude=exclude).columns) == expected
