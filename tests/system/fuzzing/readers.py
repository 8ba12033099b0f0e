"""All readers of the package: a new one is a line of ``READERS``."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from hyphc import HypHC, Tree, describe
from hyphc._runtime.shard_store import ShardStore
from hyphc.cli.saved_fit import SavedFit, load_top, save_top
from hyphc.fit.flat_cut import FlatCut
from hyphc.io import read_points, read_tree
from hyphc.io.points import LARGEST, dense_values
from hyphc.out_of_core.job import JobSettings
from hyphc.out_of_core.labels import labels_stage
from hyphc.out_of_core.records import Labels
from hyphc.out_of_core.row_sources import fingerprint, open_rows
from hyphc.scores.differences import LeafMeans
from hyphc.tree.storage import save_mapped

from . import h5ad, seeds

Read = Callable[[Path, bytes], None]


@dataclass(frozen=True)
class Reader:
    """A function that reads, valid files to start from, tokens of the format, and the name that errors must give the input."""

    read: Read
    seeds: Callable[[], list[bytes]]
    tokens: tuple[bytes, ...] = ()
    calls_it: str = "input"
    needs: str = "numpy"  # the package that reads it
    costs: int = 1  # times that of other readers: it is given so many times fewer inputs


def points_reader(suffix: str, **options: Any) -> Read:
    """Return a reader of points in files with this extension."""

    def read(folder: Path, content: bytes) -> None:
        found = read_points(_write(folder, f"input{suffix}", content), **options)
        values = found.data.data if sp.issparse(found.data) else dense_values(found.data)
        assert len(found.data.shape) == 2
        assert found.n >= 2
        with np.errstate(invalid="ignore"):  # NaN is missing, of the signalling kind too
            assert not (np.abs(values.astype(np.float64)) > LARGEST).any()
        assert all(texts is None or len(texts) == found.n for texts in (found.names, found.labels))

    return read


def tree_reader(suffix: str) -> Read:
    """Return a reader of trees in files with this extension, which also writes and reads the tree again."""

    def read(folder: Path, content: bytes) -> None:
        found = read_tree(_write(folder, f"input{suffix}", content))
        assert Tree.from_json(found.to_json()) == found
        assert Tree.from_newick(found.to_newick()).n_leaves == found.n_leaves

    return read


def member_reader(suffix: str, read: Callable[[str], Read], others: Callable[[], dict[str, bytes]], name: str) -> Read:
    """Return a reader of archives that are valid but for the content of one member."""
    inner = read(suffix)

    def read_member(folder: Path, content: bytes) -> None:
        inner(folder, seeds.npz_of({**others(), name: content}))

    return read_member


def read_sheet(folder: Path, content: bytes) -> None:
    """Read a workbook that is valid but for its first sheet."""
    points_reader(".xlsx")(folder, seeds.excel_of(content))


def read_h5ad(folder: Path, content: bytes) -> None:
    """Read an AnnData file that is valid HDF5 with unexpected content."""
    points_reader(".h5ad")(folder, h5ad.build_h5ad(content))


def read_h5ad_embedding(folder: Path, content: bytes) -> None:
    """Read an embedding and labels of such a file."""
    points_reader(".h5ad", embedding="X_pca", labels="type")(folder, h5ad.build_h5ad(content))


def read_rows(folder: Path, content: bytes) -> None:
    """Read blocks of rows, as out-of-core fits do."""
    found = open_rows(_write(folder, "input.npy", content))
    assert found.read(0, min(2, found.shape[0])).dtype == found.dtype
    fingerprint(found)


def read_mapped_tree(folder: Path, content: bytes) -> None:
    """Read the description of a tree that is a folder of arrays."""
    home = folder / "input"
    if not home.exists():
        whole = seeds.tree()
        save_mapped(home, {"children": whole.children, "heights": whole.heights, "names": whole.names})
    _write(home, "tree.json", content)
    Tree.load(home)


def read_model(folder: Path, content: bytes) -> None:
    """Read a fitted model, and use it."""
    model = HypHC.load(_write(folder, "input.npz", content))
    assert model.predict(seeds.table()).shape == (6,)


def read_model_text(folder: Path, content: bytes) -> None:
    """Read a fitted model that is valid but for its text."""
    with zipfile.ZipFile(io.BytesIO(seeds.model()[0])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, member in (members | {"values.json": content}).items():
            archive.writestr(name, member)
    HypHC.load(_write(folder, "input.npz", changed.getvalue()))


def _model_text() -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(seeds.model()[0])) as archive:
        return [archive.read("values.json")]


def read_manifest(folder: Path, content: bytes) -> None:
    """Read the manifest of a checkpoint."""
    home = folder / "input"
    home.mkdir(exist_ok=True)
    _write(home, "manifest.json", content)
    ShardStore.open(home, {"seed": 1})


def read_record(folder: Path, content: bytes) -> None:
    """Read the record of a shard; a damaged shard counts as missing."""
    home = folder / "input"
    store = ShardStore(home)
    if not home.exists():
        home.mkdir()
        store.write("stage", 0, {"x": np.arange(3.0)})
    _write(home / "stage", "000000.json", content)
    if store.has("stage"):
        store.read("stage")


def read_top_columns(folder: Path, content: bytes) -> None:
    """Read the means of columns beside the top of a tree, and use them."""
    home = folder / "input"
    if not home.exists():
        home.mkdir()
        save_top(home, seeds.tree(), _means())
    _write(home, "top_columns.npz", content)
    found = load_top(home)
    assert found is not None
    with np.errstate(all="ignore"):  # squares of numbers that are large and legal
        describe(found[0], columns=found[1], n_words=1)


def read_top_columns_member(folder: Path, content: bytes) -> None:
    """Read such means that are valid but for one array."""
    means = _means()
    others = {"columns": seeds.npy_of(np.array(means.columns)), "scatter": seeds.npy_of(means.scatter)}
    read_top_columns(folder, seeds.npz_of({**others, "means": content}))


def read_fit(folder: Path, content: bytes) -> None:
    """Read the description of an out-of-core fit, whose checkpoint is there."""
    home = folder / "input"
    if not home.exists():
        home.mkdir()
        store = ShardStore.open(home / "checkpoint", {"data": "rows", **asdict(JobSettings())})
        labels = Labels(labels=np.array([0, 0, 0, 1, 1, 1]), n_clusters=np.array(2))
        store.write(labels_stage(FlatCut(n_clusters=2)).name, 0, labels.to_arrays())
    _write(home, "fit.json", content)
    found = SavedFit.load(home)
    assert found.n_clusters == 2
    assert found.cluster_names is None or len(found.cluster_names) == 2
    assert found.columns is not None


def _means() -> LeafMeans:
    return LeafMeans(("x", "y", "z"), seeds.table(), seeds.table() ** 2)


def _top_columns() -> list[bytes]:
    means = _means()
    arrays = {"columns": np.array(means.columns), "means": means.means, "scatter": means.scatter}
    return [seeds.npz_of({name: seeds.npy_of(array) for name, array in arrays.items()})]


def _fit() -> list[bytes]:
    common = {"format": 1, "storage": "checkpoint", "cut": asdict(FlatCut(n_clusters=2)), "n_columns": 3}
    rows = {"path": "/rows.npy", "columns": [0, 2]}, {"path": "/rows.parquet", "columns": ["x", "z"]}
    texts = (None, None, ["x high", "x low"]), (["x", "z"], ["y"], None)
    named = ("names", "others", "cluster_names")
    facts = [
        {**common, "file": file, **dict(zip(named, text, strict=True))} for file, text in zip(rows, texts, strict=True)
    ]
    return [json.dumps(fact).encode() for fact in facts]


def _record() -> list[bytes]:
    files = {"x": {"bytes": 152, "sha256": "0" * 64}}
    return [json.dumps({"format": 1, "files": files}).encode()]


def _manifest() -> list[bytes]:
    return [json.dumps({"format": 1, "package": "hyphc 0.1.0", "seed": 1}).encode()]


def _mapped() -> list[bytes]:
    return [json.dumps({"format": 1, "arrays": ["children", "heights"], "names": list("abcdef")}).encode()]


def _heights() -> dict[str, bytes]:
    whole = seeds.tree()
    names = np.frombuffer(json.dumps(whole.names).encode(), dtype=np.uint8)
    return {"heights": seeds.npy_of(whole.heights), "names": seeds.npy_of(names)}


def _write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


_NPY = (b"'descr': '|O'", b"'fortran_order': True", b"'shape': (1000000000000, 3)", b"'shape': ()", b"<f8", b">i2")
_MTX = (b"coordinate", b"array", b"complex", b"pattern", b"1000000000000 1000000000000 1\n", b"hermitian")
_XML = (
    b'<!DOCTYPE x [<!ENTITY a "b">]>',
    b"&a;",
    b'r="XFD1048576"',
    b't="s"',
    b"<v>1e400</v>",
    b"<node id='0'/>",
    b"<graph>",
)
_JSON = (b'"children"', b'"heights"', b'"names"', b'"n_clusters"', b"[" * 2000, b"NaN", b"Infinity", b"1e400")

READERS: dict[str, Reader] = {
    "csv": Reader(points_reader(".csv"), seeds.csv),
    "csv as similarities": Reader(points_reader(".csv", precomputed=True), seeds.csv),
    "csv with columns": Reader(points_reader(".csv", features=["2-3"], labels="1"), seeds.csv),
    "csv.gz": Reader(points_reader(".csv.gz"), lambda: seeds.packed(seeds.csv())),
    "edges": Reader(points_reader(".edges"), seeds.edges),
    "mtx": Reader(points_reader(".mtx"), seeds.matrix_market, _MTX),
    "npy": Reader(points_reader(".npy"), seeds.npy, _NPY),
    "npy rows": Reader(read_rows, seeds.npy, _NPY),
    "npy.gz": Reader(points_reader(".npy.gz"), lambda: seeds.packed(seeds.npy())),
    "npz": Reader(points_reader(".npz"), seeds.npz),
    "npz member": Reader(member_reader(".npz", points_reader, dict, "X"), seeds.npy, _NPY),
    "npz sparse indices": Reader(
        member_reader(".npz", points_reader, seeds.sparse_members, "indices"), seeds.indices, _NPY
    ),
    "npz sparse pointers": Reader(
        member_reader(".npz", points_reader, seeds.sparse_members, "indptr"), seeds.indices, _NPY
    ),
    "npz sparse shape": Reader(
        member_reader(".npz", points_reader, seeds.sparse_members, "shape"), seeds.indices, _NPY
    ),
    "parquet": Reader(points_reader(".parquet"), seeds.parquet),
    "feather": Reader(points_reader(".feather"), seeds.feather),
    "excel": Reader(points_reader(".xlsx"), seeds.excel, needs="openpyxl"),
    "excel sheet": Reader(read_sheet, seeds.sheet, _XML, needs="openpyxl", costs=10),
    "json lines": Reader(points_reader(".jsonl"), seeds.json_lines, _JSON),
    "graphml": Reader(points_reader(".graphml"), seeds.graphml, _XML),
    "gexf": Reader(points_reader(".gexf"), seeds.gexf, _XML),
    "gml": Reader(points_reader(".gml"), seeds.gml, (b"graph [", b"node [", b"id 1e400", b"&#0;", b"]", b"[" * 2000)),
    "fasta": Reader(points_reader(".fasta"), seeds.fasta),
    "phylip": Reader(points_reader(".phy"), seeds.phylip),
    "h5ad": Reader(read_h5ad, h5ad.seeds, needs="anndata", costs=10),
    "h5ad embedding": Reader(read_h5ad_embedding, h5ad.seeds, needs="anndata", costs=10),
    "csv with categories": Reader(points_reader(".csv", categories=["3"]), seeds.csv),
    "csv.zst": Reader(points_reader(".csv.zst"), lambda: seeds.zstandard(seeds.csv()), needs="zstandard"),
    "newick": Reader(tree_reader(".nwk"), seeds.newick),
    "json tree": Reader(tree_reader(".json"), seeds.json_tree, _JSON),
    "npz tree": Reader(tree_reader(".npz"), seeds.npz_tree),
    "npz tree member": Reader(member_reader(".npz", tree_reader, _heights, "children"), seeds.npy, _NPY),
    "model": Reader(read_model, seeds.model, costs=10),
    "model text": Reader(read_model_text, _model_text, (*_JSON, b'"array"', b'"tuple"', b'"Tree"'), costs=10),
    "linkage": Reader(tree_reader(".npy"), seeds.linkage, _NPY),
    "mapped tree": Reader(read_mapped_tree, _mapped, _JSON),
    "top columns": Reader(read_top_columns, _top_columns, calls_it="top_columns.npz"),
    "top columns member": Reader(
        read_top_columns_member, lambda: [seeds.npy_of(seeds.table())], _NPY, "top_columns.npz"
    ),
    "out-of-core fit": Reader(read_fit, _fit, (*_JSON, b'"storage"', b'".."', b'"columns"', b"null"), "fit.json"),
    "checkpoint manifest": Reader(read_manifest, _manifest, _JSON),
    "checkpoint record": Reader(read_record, _record, _JSON),
}
