"""The files that people have: what is read of each, or the one sentence that says why not."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc.cli import main
from hyphc.io import ColumnsError, read_points
from hyphc.io.formats import _FOREIGN
from hyphc.similarity.inputs.mixed_types import MixedTable
from scipy.spatial.distance import pdist, squareform

pytestmark = pytest.mark.usefixtures("quick_certificate")

TABLE = pd.DataFrame({"name": ["p", "q", "r", "s"], "a": [1.0, 2.5, -3.0, 4.0], "b": [2, 1, 5, 4]})
NUMBERS = TABLE[["a", "b"]].to_numpy(float)


def assert_the_table(points, rows=4):
    np.testing.assert_array_equal(points.data, NUMBERS[:rows])
    assert points.columns == ("a", "b")
    assert points.names == ("p", "q", "r", "s")[:rows]
    assert points.kind == "features"


# --- text ------------------------------------------------------------------------------------------------------------


def test_r_write_table_has_a_header_one_cell_short(write):
    lines = ['"a" "b"', '"p" 1 2', '"q" 2.5 1', '"r" -3 5', '"s" 4 4']
    assert_the_table(read_points(write("x.txt", "\n".join(lines))))
    assert_the_table(read_points(write("x.tsv", "\n".join(line.replace(" ", "\t") for line in lines))))
    assert_the_table(read_points(write("x.csv", "\n".join(line.replace(" ", ",") for line in lines))))


def test_names_that_r_gives_to_rows_are_their_numbers(write):
    lines = ['"a" "b"', *(f'"{i}" {a} {b}' for i, (a, b) in enumerate(np.random.default_rng(0).normal(size=(6, 2)), 1))]
    points = read_points(write("x.txt", "\n".join(lines)))
    assert points.names == ("1", "2", "3", "4", "5", "6")
    assert points.columns == ("a", "b")


def test_blanks_separate_where_nothing_else_does(write):
    text = "  name   a    b\n  p      1.0  2\n  q      2.5  1  \n  r     -3    5\n  s      4    4\n"
    assert_the_table(read_points(write("x.txt", text)))
    points = read_points(write("y.txt", "petal length\n1\n2\n3.5\n"))  # a header of two words above one column
    assert points.columns == ("petal length",)


@pytest.mark.parametrize("header", ["name,a,b", "#name,a,b", "# name,a,b"])
def test_comment_lines_are_passed_over_and_errors_count_them(write, header):
    text = f"# made by a machine\n# on a day, in a place\n{header}\np,1,2\nq,2.5,1\nr,-3,5\n# halfway\ns,4,4\n"
    assert_the_table(read_points(write("x.csv", text)))
    with pytest.raises(ValueError, match="line 5, column 'b'"):
        read_points(write("y.csv", text.replace("2.5,1", "2.5,one")))


@pytest.mark.parametrize(("encoding", "said"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-8-sig", None)])
def test_other_encodings_are_read_and_told(write, encoding, said):
    points = read_points(write("x.csv", "naïve,größe\né,1\nü,2\n".encode(encoding)))
    assert points.names == ("é", "ü")
    assert points.columns == ("größe",)
    assert [note for note in points.notes if note.startswith("encoding:")] == (
        [] if said is None else [points.notes[0]]
    )
    assert said is None or said in points.notes[0]


def test_edges_are_read_in_other_encodings_too(write):
    assert read_points(write("x.edges", "é ü\nü a\n".encode("cp1252"))).names == ("é", "ü", "a")


def test_decimal_commas_thousands_identifiers_and_ranges(write):
    lines = ["id;a;b", *(f"{k};{k % 9},5;1.234,{k % 7}" for k in range(100, 120))]
    points = read_points(write("x.csv", "\n".join(lines)))
    assert points.columns == ("a", "b")
    assert points.data[0].tolist() == [1.5, 1234.2]
    assert points.names[0] == "100"


# --- missing values and categories ------------------------------------------------------------------------------------

GAPS = "name,kind,a,b\np,x,1,2\nq,y,NA,1\nr,x,-3,\ns,?,4,4\n"


def test_missing_values_are_kept_and_counted(write):
    points = read_points(write("x.csv", GAPS))
    np.testing.assert_array_equal(points.data, [[1, 2], [np.nan, 1], [-3, np.nan], [4, 4]])
    assert "missing: 2 of 8 values (25 %), in a (1), b (1)" in points.notes


def test_missing_values_are_dropped_with_their_rows_which_keep_their_numbers(write):
    points = read_points(write("x.csv", GAPS), missing="drop")
    np.testing.assert_array_equal(points.data, [[1, 2], [4, 4]])
    assert (points.rows, points.names) == ((1, 4), ("p", "s"))
    assert any("2 rows left out" in note for note in points.notes)
    unnamed = read_points(write("y.csv", "a,b\n1,2\n,3\n4,5\n"), missing="drop")
    assert unnamed.names == ("row 1", "row 3")


def test_missing_values_are_filled_in(write):
    points = read_points(write("x.csv", GAPS), missing="impute", categories=["kind"])
    assert points.data.values.tolist() == [[0, 1, 2], [1, 2 / 3, 1], [0, -3, 7 / 3], [0, 4, 4]]


def test_missing_values_are_refused_with_their_place(write):
    with pytest.raises(ColumnsError, match=r"line 3, column 'a': 'NA' means that the value is missing") as caught:
        read_points(write("x.csv", GAPS), missing="refuse")
    assert caught.value.arguments == ("drop-missing", "impute")


def test_columns_of_text_are_categories_when_asked_for(write):
    points = read_points(write("x.csv", GAPS), categories=["kind"])
    assert isinstance(points.data, MixedTable)
    assert points.columns == ("kind", "a", "b")
    assert points.data.categories == (("x", "y"), None, None)
    np.testing.assert_array_equal(points.data.values[:, 0], [0, 1, 0, np.nan])
    only = read_points(write("y.csv", "kind,sort\nu,1\nv,2\nu,1\n"), categories=["*"])
    assert only.data.categories == (("u", "v"), ("1", "2"))


def test_categories_of_parquet_and_feather(tmp_path):
    pytest.importorskip("pyarrow")
    frame = TABLE.assign(kind=["u", None, "v", "u"], a=[1.0, None, -3.0, 4.0])
    for name, save in (("x.parquet", frame.to_parquet), ("x.feather", frame.to_feather)):
        save(tmp_path / name)
        points = read_points(tmp_path / name, categories=["kind"])
        np.testing.assert_array_equal(points.data.values[:, 0], [1, np.nan, -3, 4])
        assert points.data.categories[-1] == ("u", "v")


# --- tables that are not text -----------------------------------------------------------------------------------------


def excel(sheets: dict[str, pd.DataFrame]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, frame in sheets.items():
        sheet = book.create_sheet(title)
        sheet.append(list(frame.columns))
        for row in frame.itertuples(index=False):
            sheet.append([None if pd.isna(cell) else cell for cell in row])
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def test_excel_sheets_are_read_by_name_or_number(write):
    path = write("x.xlsx", excel({"notes": pd.DataFrame({"a": [1, 2], "b": [3, 4]}), "data": TABLE}))
    for sheet in ("data", "2"):
        assert_the_table(read_points(path, sheet=sheet))
    first = read_points(path)
    assert first.data.tolist() == [[1, 3], [2, 4]]
    assert "sheet: notes (the first of 2)" in first.notes
    with pytest.raises(ValueError, match="no column 'dat'"):
        read_points(path, sheet="dat")
    with pytest.raises(ValueError, match="no Excel file"):
        read_points(write("x.csv", "a,b\n1,2\n3,4\n"), sheet="1")


def test_empty_cells_of_excel_are_missing_and_empty_margins_are_no_columns(write):
    frame = TABLE.assign(a=[1.0, None, -3.0, 4.0], z=[None] * 4)
    points = read_points(write("x.xlsx", excel({"s": frame})))
    np.testing.assert_array_equal(points.data[:, 0], [1, np.nan, -3, 4])
    assert points.columns == ("a", "b")


def test_a_cell_far_down_costs_nothing(write):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2], [3, 4]]:
        book.active.append(row)
    book.active["B1048576"] = 6
    book.active["A1048576"] = 5
    written = io.BytesIO()
    book.save(written)
    assert read_points(write("x.xlsx", written.getvalue())).data.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_workbook_that_unpacks_to_gigabytes_is_refused(write):
    pytest.importorskip("openpyxl")
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (100 << 20))
    with pytest.raises(ValueError, match="more than 100 times its size"):
        read_points(write("x.xlsx", written.getvalue()))


def test_lines_of_json_are_rows(write):
    lines = [json.dumps(row) for row in TABLE.to_dict("records")]
    assert_the_table(read_points(write("x.jsonl", "\n".join(lines))))
    assert_the_table(read_points(write("x", "\n".join(lines))))
    missing = read_points(write("y.ndjson", '{"a": 1, "b": null}\n\n{"b": 2, "a": 3, "c": true}\n{"a": 0.5}\n'))
    np.testing.assert_array_equal(missing.data, [[1, np.nan, np.nan], [3, 2, 1], [0.5, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": }\n', "line 2: not JSON"),
        ('{"a": 1}\n{"a": [1, 2]}\n', "line 2: not an object of plain values"),
        ('{"a": 1}\n[2]\n', "line 2: not an object of plain values"),
        ('{"a": 1}\n' + "[" * 200_000 + "\n", "line 2: not JSON"),
    ],
)
def test_what_is_no_row_of_json_is_named(write, text, message):
    with pytest.raises(ValueError, match=message):
        read_points(write("x.jsonl", text))


def test_feather_is_read_like_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    TABLE.to_feather(tmp_path / "x.feather")
    assert_the_table(read_points(tmp_path / "x.feather"))


def test_zstandard_is_unpacked_no_further_than_a_table_of_its_size_may_hold(write):
    zstandard = pytest.importorskip("zstandard")
    text = TABLE.to_csv(index=False).encode()
    assert_the_table(read_points(write("x.csv.zst", zstandard.compress(text))))
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read_points(write("y.csv.zst", zstandard.compress(np.random.default_rng(0).bytes(4000).hex().encode())[:-600]))
    with pytest.raises(ValueError, match="more than 100 times its size"):
        read_points(write("z.csv.zst", zstandard.compress(b"0" * (100 << 20))))


# --- single cells -----------------------------------------------------------------------------------------------------


def cells(path, sparse=False):
    anndata = pytest.importorskip("anndata")
    X = np.random.default_rng(0).poisson(2.0, (30, 8)).astype(np.float32)
    X[:15, :3] += 9
    data = anndata.AnnData(
        sp.csr_matrix(X) if sparse else X,
        obs=pd.DataFrame({"type": ["T"] * 15 + ["B"] * 15}, index=[f"cell{i}" for i in range(30)]),
        var=pd.DataFrame(index=[f"gene{i}" for i in range(8)]),
    )
    data.obsm["X_pca"] = X[:, :3] * 2.0
    data.write_h5ad(path)
    return X


@pytest.mark.parametrize("sparse", [False, True])
def test_annotated_data_has_names_labels_and_embeddings(tmp_path, sparse):
    X = cells(tmp_path / "x.h5ad", sparse)
    points = read_points(tmp_path / "x.h5ad", labels="type")
    found = points.data.toarray() if sparse else points.data
    np.testing.assert_array_equal(found, X)
    assert points.names[:2] == ("cell0", "cell1")
    assert points.labels == ("T",) * 15 + ("B",) * 15
    assert points.columns[0] == "gene0"
    embedded = read_points(tmp_path / "x.h5ad", embedding="X_pca")
    np.testing.assert_allclose(embedded.data, X[:, :3] * 2.0)
    assert read_points(tmp_path / "x.h5ad", features=["gene[0-2]"]).columns == ("gene0", "gene1", "gene2")


def test_annotated_data_without_what_is_asked_for(tmp_path):
    cells(tmp_path / "x.h5ad")
    with pytest.raises(ColumnsError, match="no embedding 'X_umap' in obsm; it has X_pca"):
        read_points(tmp_path / "x.h5ad", embedding="X_umap")
    with pytest.raises(ValueError, match=r"\(obs\) has no column 'typ'.*did you mean 'type'"):
        read_points(tmp_path / "x.h5ad", labels="typ")


def test_results_are_written_back_into_a_copy(tmp_path, capsys, monkeypatch):
    anndata = pytest.importorskip("anndata")
    cells(tmp_path / "x.h5ad")
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "x.h5ad", "--labels", "type", "--n-clusters", "2", "--h5ad", "y.h5ad"]) == 0
    assert "obs['hyphc']" in capsys.readouterr().out
    data = anndata.read_h5ad("y.h5ad")
    clusters = pd.read_csv("x-hyphc/clusters.csv")
    assert data.obs["hyphc"].astype(int).tolist() == clusters["cluster"].tolist()
    np.testing.assert_array_equal(data.uns["hyphc"]["linkage"], np.load("x-hyphc/linkage.npy"))
    assert sorted(data.uns["hyphc"]["leaf_order"]) == list(range(30))
    assert "hyphc" not in anndata.read_h5ad("x.h5ad").obs
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x-hyphc", "x.h5ad", "y.h5ad"]


# --- sequences and distances ------------------------------------------------------------------------------------------

FASTA = ">one first\nACGTACGT\nACGT\n>two\nACGTACGTACGA\n>three\nAC-TACGTTTTT\n"


def test_aligned_sequences_are_compared_site_by_site(write):
    points = read_points(write("x.fasta", FASTA))
    assert points.kind == "distances"
    assert points.names == ("one", "two", "three")
    np.testing.assert_allclose(points.data, squareform([1 / 12, 3 / 11, 4 / 11]))
    corrected = read_points(write("x", FASTA), sequence_distance="jukes-cantor")
    np.testing.assert_allclose(corrected.data[0, 1], -0.75 * np.log(1 - 4 / 3 / 12))


def test_sequences_without_a_common_site_are_furthest_apart(write):
    points = read_points(write("x.fa", ">a\nAC--\n>b\n--GT\n>c\nAGGT\n"))
    np.testing.assert_allclose(points.data, squareform([0.5, 0.5, 0.0]))
    assert any("1 pairs without a common site" in note for note in points.notes)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (">a\nACGT\n>b\nACG\n", {}, "sequences of 3 to 4 letters; align them first"),
        ("ACGT\n>b\nACG\n", {}, "line 1: a sequence before the first"),
        (">a\nAAAA\n>b\nTTTT\n", {"sequence_distance": "jukes-cantor"}, "a and b differ in 100% of their sites"),
        (">a\nAAAA\n>b\nTTTT\n", {"features": ["1"]}, "holds sequences and has no columns to choose"),
    ],
)
def test_sequences_that_cannot_be_compared_are_named(write, text, options, message):
    with pytest.raises(ValueError, match=message):
        read_points(write("x.fasta", text), **options)


@pytest.mark.parametrize(
    "text",
    [
        "3\none 0 1 2\ntwo 1 0 3\nthree 2 3 0\n",
        "  3\none\ntwo   1\nthree 2 3\n",
        "3\none 0\ntwo 1 0\nthree 2 3 0\n",
        "3\none 0 1\n 2\ntwo 1 0\n 3\nthree 2 3\n 0\n",
    ],
    ids=["square", "lower", "lower with diagonal", "wrapped"],
)
def test_phylip_distances_are_read_in_all_their_shapes(write, text):
    points = read_points(write("x.phy", text))
    np.testing.assert_array_equal(points.data, squareform([1.0, 2.0, 3.0]))
    assert points.names == ("one", "two", "three")
    assert points.kind == "distances"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 12\none ACGTACGTACGT\n", "an alignment in PHYLIP's format; save it as FASTA"),
        ("3\none 0 1 2\ntwo 1 0 3\n", "says that it has 3 rows and has 2"),
        ("2\none 0 x\ntwo 1 0\n", "'x' is no distance"),
        ("a b\n1 2\n", "does not begin with the number of rows"),
    ],
)
def test_what_is_no_phylip_matrix_is_named(write, text, message):
    with pytest.raises(ValueError, match=message):
        read_points(write("x.phy", text))


@pytest.mark.parametrize("form", ["square npy", "condensed npy", "square csv", "condensed csv", "one line"])
def test_distances_are_taken_square_and_condensed(write, tmp_path, form):
    condensed = pdist(NUMBERS)
    square = squareform(condensed)
    if form.endswith("npy"):
        path = tmp_path / "d.npy"
        np.save(path, square if form.startswith("square") else condensed)
    elif form == "square csv":
        path = write("d.csv", pd.DataFrame(square, index=list("pqrs"), columns=list("pqrs")).to_csv())
    else:
        separator = "," if form == "one line" else "\n"
        path = write("d.csv", separator.join(map(repr, condensed.tolist())) + "\n")
    points = read_points(path, distances=True)
    np.testing.assert_allclose(points.data, square)
    assert points.kind == "distances"
    assert points.names == (tuple("pqrs") if form == "square csv" else None)


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_graphml_keeps_weights_names_and_lonely_nodes(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 0.5), ("c", "c", 1.0)])
    graph.add_edge("a", "c")
    graph.add_node("alone")
    networkx.write_graphml(graph, tmp_path / "g.graphml")
    points = read_points(tmp_path / "g.graphml")
    assert points.kind == "graph"
    assert set(points.names) == {"a", "b", "c", "alone"}
    at = {name: i for i, name in enumerate(points.names)}
    dense = points.data.toarray()
    assert dense[at["a"], at["b"]] == dense[at["b"], at["a"]] == 2.0
    assert dense[at["a"], at["c"]] == 1.0
    assert dense[at["alone"]].sum() == 0
    assert np.diag(dense).sum() == 0


def test_a_graphml_file_that_grows_without_end_is_refused(write):
    pytest.importorskip("networkx")
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    text = f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY e0 "hahaha">{entities}]><graphml><graph id="&e11;"/></graphml>'
    with pytest.raises(ValueError, match="cannot be read as GraphML"):
        read_points(write("g.graphml", text))


@pytest.mark.parametrize("weight", ["-1", "heavy"])
def test_graphml_with_a_wrong_weight_names_the_edge(tmp_path, weight):
    networkx = pytest.importorskip("networkx")
    networkx.write_graphml(networkx.Graph([("a", "b", {"weight": weight})]), tmp_path / "g.graphml")
    with pytest.raises(ValueError, match="edge a–b: weight"):
        read_points(tmp_path / "g.graphml")


# --- rows and columns -------------------------------------------------------------------------------------------------


def test_columns_are_clustered_when_transposed(write):
    points = read_points(write("x.csv", TABLE.to_csv(index=False)), transpose=True)
    np.testing.assert_array_equal(points.data, NUMBERS.T)
    assert (points.names, points.columns) == (("a", "b"), ("p", "q", "r", "s"))
    with pytest.raises(ColumnsError, match="labels are of rows"):
        read_points(write("x.csv", TABLE.to_csv(index=False)), transpose=True, labels="name")


# --- formats that are not read, and packages that are not there -------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "what", "remedy"),
    [(suffix, what, remedy) for what, remedy, _, suffixes in _FOREIGN for suffix in suffixes.split()],
)
def test_a_format_that_is_not_read_is_called_by_its_name(write, suffix, what, remedy):
    with pytest.raises(ValueError, match="not read by hyphc") as caught:
        read_points(write(f"x{suffix}", "a,b\n1,2\n3,4\n"))
    assert what in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(("head", "what"), [(head, what) for what, _, heads, _ in _FOREIGN for head in heads])
def test_a_format_that_is_not_read_is_known_by_its_first_bytes(write, head, what):
    with pytest.raises(ValueError, match=f"is {what} and not read by hyphc"):
        read_points(write("x.csv", head + b"\0" * 80))


def test_archives_and_other_bytes_are_named(write):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("x.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match="is a ZIP archive; unpack it"):
        read_points(write("x.zip", written.getvalue()))
    with pytest.raises(ValueError, match="is not text"):
        read_points(write("x.bin", bytes(range(64))))


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("x.xlsx", "openpyxl", "excel"),
        ("x.feather", "pyarrow", "io"),
        ("x.h5ad", "anndata", "anndata"),
        ("x.csv.zst", "zstandard", "zstd"),
        ("x.graphml", "networkx", "io"),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_extra(write, monkeypatch, name, package, extra):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    heads = {
        "openpyxl": written.getvalue(),
        "pyarrow": b"ARROW1" + b"\0" * 20,
        "anndata": b"\x89HDF\r\n\x1a\n",
        "zstandard": b"\x28\xb5\x2f\xfd" + b"\0" * 20,
        "networkx": b"<?xml version='1.0'?><graphml/>",
    }
    monkeypatch.setattr("hyphc.io.sources.find_spec", lambda _: None)
    with pytest.raises(ValueError, match=rf"needs {package}; run: pip install 'hyphc\[{extra}\]'"):
        read_points(write(name, heads[package]))


# --- the command line -------------------------------------------------------------------------------------------------


def run(capsys, *words):
    assert main(words) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_fit_tells_what_was_missing_and_keeps_the_numbers_of_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)).round(3), columns=["a", "b", "c"]).assign(kind=["u", "v"] * 10)
    frame.loc[3, "a"] = frame.loc[7, "b"] = np.nan
    frame.to_csv("x.csv", index=False)
    out = run(capsys, "fit", "x.csv", "--categories", "kind", "--output", "kept")
    assert "2 of 80 values (2.5 %), in a (1), b (1)" in out
    assert "1 of 4 hold categories" in out
    report = (tmp_path / "kept" / "report.md").read_text()
    assert "2 of 80 values" in report
    run(capsys, "fit", "x.csv", "--drop-missing", "--output", "dropped")
    rows = pd.read_csv("dropped/clusters.csv")
    assert rows["row"].tolist() == [i for i in range(1, 21) if i not in (4, 8)]
    assert rows["name"][3] == "row 5"
    run(capsys, "fit", "x.csv", "--impute", "--metric", "cosine", "--output", "filled")
    run(capsys, "score", "kept/tree.npz", "x.csv", "--categories", "kind")
    run(capsys, "fit", "x.csv", "--transpose", "--exclude", "kind", "--output", "columns")
    assert pd.read_csv("columns/clusters.csv")["name"].tolist() == ["a", "b", "c"]


def test_fit_takes_distances_of_sequences(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fasta").write_text(FASTA + ">four\nACGTTTTTTTTT\n")
    out = run(capsys, "fit", "x.fasta")
    assert "largest distance - distance" in out
    assert "three" in (tmp_path / "x-hyphc" / "tree.nwk").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["--distances", "--transpose"],
        ["--categories", "a", "--metric", "cosine"],
        ["--drop-missing", "--impute"],
        ["--h5ad", "y.h5ad"],
    ],
    ids=" ".join,
)
def test_options_that_contradict_each_other_end_with_code_2(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(SystemExit) as ended:
        main(["fit", "x.csv", *words])
    assert ended.value.code == 2


@pytest.mark.parametrize(("name", "text"), [("x.csv", "a,b\n1,2\n"), ("x.edges", "a a\n"), ("x.fasta", ">a\nAC\n")])
def test_one_row_is_no_tree_in_any_format(write, name, text):
    with pytest.raises(ValueError, match="holds one row; a tree needs at least two"):
        read_points(write(name, text))


def test_edges_are_no_distances(write):
    with pytest.raises(ValueError, match="absent entries are no distances"):
        read_points(write("x.edges", "a b 1\n"), distances=True)
