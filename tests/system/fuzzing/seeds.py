"""Small whole files to begin from, a list a format; what is mutated is mostly still of the format."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from hyphc import HypHC, Tree

_RNG_SEED = 20


@cache
def table() -> np.ndarray:
    """Six rows and three columns."""
    return np.round(np.random.default_rng(_RNG_SEED).normal(size=(6, 3)), 3)


@cache
def tree() -> Tree:
    """Six named leaves; names that need quotes among them."""
    merges = [[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]]
    names = ["a", "it's", "c d", "(e)", "Ζεύς", "f;"]
    return Tree(merges, [0.5, 0.75, 1.0, 1.25, 2.0], names=names)


@cache
def model() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        HypHC(n_clusters=2, random_state=0).fit(table()).save(path)
        return [path.read_bytes()]


def csv() -> list[bytes]:
    lines = [",".join(map(str, row)) for row in table().tolist()]
    named = [f'"row {k}, no",{line},{"ab"[k % 2]}' for k, line in enumerate(lines)]
    texts = [
        "x,y,z\n" + "\n".join(lines),
        "\n".join(lines),
        "name,x,y,z,label\r\n" + "\r\n".join(named),
        "\ufeffid;x;y\n" + "".join(f"{k};1,{k};2.000,5\n" for k in range(6)),
        "x\ty\n1e10\tnan\n-0.5\t\n",
        'a,b\n"1,234",2\n"5,678.5",3\n',
    ]
    return [text.encode() for text in texts]


def edges() -> list[bytes]:
    texts = ["a,b,0.5\nb,c,2\nc,a,1e-3\n", "# comment\n0 1\n1 2\n2 0\n", "source\ttarget\tweight\nx\ty\t1\ny\tx\t1\n"]
    return [text.encode() for text in texts]


def matrix_market() -> list[bytes]:
    head = "%%MatrixMarket matrix"
    texts = [
        f"{head} coordinate real general\n% comment\n3 3 2\n1 2 0.5\n3 1 2e-1\n",
        f"{head} coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n",
        f"{head} coordinate integer skew-symmetric\n3 3 1\n2 1 4\n",
        f"{head} array real general\n2 2\n1\n2\n3\n4\n",
        f"{head} array complex hermitian\n2 2\n1 0\n2 1\n3 0\n",
    ]
    return [text.encode() for text in texts]


def npy_of(array: np.ndarray) -> bytes:
    """The bytes of an NPY file."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def npy() -> list[bytes]:
    kinds = ("<f8", "<f4", "<f2", ">i4", "u1", "?", "<c16", "<U3", "<M8[s]")
    arrays = [table().astype(kind) for kind in kinds]
    return [npy_of(array) for array in (*arrays, np.asfortranarray(table()), table().ravel(), np.array(3.0))]


def linkage() -> list[bytes]:
    return [npy_of(tree().to_linkage())]


def npz_of(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive, whole, of members that need not be."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def npz() -> list[bytes]:
    labels = np.array(list("aabbab"))
    sparse = io.BytesIO()
    sp.save_npz(sparse, sp.csr_array(np.eye(3)))
    plain = {"X": npy_of(table()), "y": npy_of(labels)}
    return [npz_of(plain), npz_of(plain, zipfile.ZIP_STORED), npz_of(plain, zipfile.ZIP_BZIP2), sparse.getvalue()]


def sparse_members() -> dict[str, bytes]:
    """The members of a sparse matrix as SciPy writes it."""
    matrix = sp.csr_array(np.eye(3))
    fields = {"format": np.array(b"csr"), "shape": np.array([3, 3]), "data": matrix.data}
    return {
        name: npy_of(array) for name, array in {**fields, "indices": matrix.indices, "indptr": matrix.indptr}.items()
    }


def indices() -> list[bytes]:
    return [
        npy_of(np.array(numbers, dtype=kind))
        for numbers in ([0, 1, 2], [0, 1, 2, 3], [3, 3])
        for kind in ("<i4", "<i8")
    ]


def parquet() -> list[bytes]:
    import pyarrow
    import pyarrow.parquet

    columns = {name: table()[:, j] for j, name in enumerate("xyz")}
    others = {"name": [f"row {k}" for k in range(6)], "label": list("aabbab"), "n": [1, 2, None, 4, 5, 6]}
    files = []
    for fields, packing in (({**columns, **others}, "snappy"), (columns, "none"), (columns, "zstd")):
        file = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(fields), file, compression=packing)
        files.append(file.getvalue())
    return files


def feather() -> list[bytes]:
    import pyarrow.feather

    fields = {"x": table()[:, 0], "n": [1, 2, None, 4, 5, 6], "name": [f"row {k}" for k in range(6)]}
    files = []
    for packing in ("uncompressed", "lz4", "zstd"):
        file = io.BytesIO()
        pyarrow.feather.write_feather(pyarrow.table(fields), file, compression=packing)
        files.append(file.getvalue())
    return files


@cache
def _book() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["name", "x", "y"])
    for k, row in enumerate(table()[:, :2].tolist()):
        book.active.append([f"row {k}", *row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


_SHEET = "xl/worksheets/sheet1.xml"


def excel() -> list[bytes]:
    return [_book()]


def sheet() -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(_book())) as archive:
        return [archive.read(_SHEET)]


def excel_of(content: bytes) -> bytes:
    """A workbook, whole but for what its sheet holds."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_book())) as whole, zipfile.ZipFile(file, "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, content if name == _SHEET else whole.read(name))
    return file.getvalue()


def json_lines() -> list[bytes]:
    keyed = [{"name": f"row {k}", "x": x, "y": y, "on": k > 2} for k, (x, y, _) in enumerate(table().tolist())]
    return ["\n".join(map(json.dumps, rows)).encode() for rows in (keyed, table().tolist(), [{"x": 1}, {"y": None}])]


def gexf() -> list[bytes]:
    import networkx

    return ["\n".join(networkx.generate_gexf(networkx.path_graph(4))).encode()]


def gml() -> list[bytes]:
    import networkx

    return ["\n".join(networkx.generate_gml(networkx.path_graph(4))).encode()]


def graphml() -> list[bytes]:
    import networkx

    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 0.5), ("b", "c", 2.0), ("c", "a", 1.0)])
    graph.add_node("alone")
    return ["\n".join(networkx.generate_graphml(one)).encode() for one in (graph, networkx.path_graph(4).to_directed())]


def fasta() -> list[bytes]:
    texts = [">a one\nACGT\nAC\n>b\nACGAAC\n>c\nA-GTNC\n", ">p\nMKV*\n>q\nMKLX\n"]
    return [text.encode() for text in texts]


def phylip() -> list[bytes]:
    texts = ["3\na 0 1 2\nb 1 0 3\nc 2 3 0\n", "3\na\nb 1\nc 2 3.5\n"]
    return [text.encode() for text in texts]


def zstandard(contents: list[bytes]) -> list[bytes]:
    """The same, packed by Zstandard."""
    import zstandard as packer

    return [packer.compress(content) for content in contents]


def newick() -> list[bytes]:
    texts = [tree().to_newick(), "((A,B)0.9:1,C,D);", "(a:1,(b:2,c:3):4)[comment];", "('it''s',b);", "A;"]
    return [text.encode() for text in texts]


def json_tree() -> list[bytes]:
    plain = json.loads(tree().to_json())
    weighted = {**plain, "split_weights": [1.0] * 5, "degrees": [2.0] * 6, "leaf_sizes": [1, 2, 1, 1, 1, 1]}
    return [json.dumps(fields).encode() for fields in (plain, {**weighted, "support": [None, 0.5, 1, 0, 1]})]


def npz_tree() -> list[bytes]:
    with TemporaryDirectory() as folder:
        tree().save(f"{folder}/tree.npz")
        with open(f"{folder}/tree.npz", "rb") as file:
            return [file.read()]


def packed(contents: list[bytes]) -> list[bytes]:
    """The same, packed by gzip."""
    return [gzip.compress(content, mtime=0) for content in contents]
