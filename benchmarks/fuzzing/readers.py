"""All readers of the package: a new one is a line of ``READERS``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from hyphc import Tree
from hyphc._runtime.shard_store import ShardStore
from hyphc.io import read_points, read_tree
from hyphc.io.delimited import LARGEST
from hyphc.io.missing import values_of
from hyphc.out_of_core.row_sources import fingerprint, open_rows
from hyphc.tree.storage import save_mapped

from . import h5ad, seeds

Read = Callable[[Path, bytes], None]


@dataclass(frozen=True)
class Reader:
    """What reads, whole files to begin from, words of the format, and what refusals must call the input."""

    read: Read
    seeds: Callable[[], list[bytes]]
    tokens: tuple[bytes, ...] = ()
    calls_it: str = "input"
    needs: str = "numpy"  # the package that reads it
    costs: int = 1  # times that of other readers: it is given so many times fewer inputs


def points(suffix: str, **options: Any) -> Read:
    """``read_points`` of a file with this extension."""

    def read(folder: Path, content: bytes) -> None:
        found = read_points(_written(folder, f"input{suffix}", content), **options)
        values = found.data.data if sp.issparse(found.data) else values_of(found.data)
        assert len(found.data.shape) == 2
        assert found.n >= 2
        with np.errstate(invalid="ignore"):  # NaN is missing, of the signalling kind too
            assert not (np.abs(values.astype(np.float64)) > LARGEST).any()
        assert all(texts is None or len(texts) == found.n for texts in (found.names, found.labels))

    return read


def tree(suffix: str) -> Read:
    """``read_tree`` of a file with this extension, and there and back again."""

    def read(folder: Path, content: bytes) -> None:
        found = read_tree(_written(folder, f"input{suffix}", content))
        assert Tree.from_json(found.to_json()) == found
        assert Tree.from_newick(found.to_newick()).n_leaves == found.n_leaves

    return read


def member(suffix: str, read: Callable[[str], Read], others: Callable[[], dict[str, bytes]], name: str) -> Read:
    """An archive that is whole but for what is in one of its members."""
    inner = read(suffix)

    def read_member(folder: Path, content: bytes) -> None:
        inner(folder, seeds.npz_of({**others(), name: content}))

    return read_member


def sheet(folder: Path, content: bytes) -> None:
    """A workbook that is whole but for its first sheet."""
    points(".xlsx")(folder, seeds.excel_of(content))


def annotated(folder: Path, content: bytes) -> None:
    """An AnnData file that is whole HDF5, whatever it holds."""
    points(".h5ad")(folder, h5ad.h5ad_of(content))


def annotated_embedding(folder: Path, content: bytes) -> None:
    """The same, of which an embedding and labels are asked for."""
    points(".h5ad", embedding="X_pca", labels="type")(folder, h5ad.h5ad_of(content))


def rows(folder: Path, content: bytes) -> None:
    """Blocks of rows from a file, as fits by parts take them."""
    found = open_rows(_written(folder, "input.npy", content))
    assert found.read(0, min(2, found.shape[0])).dtype == found.dtype
    fingerprint(found)


def mapped_tree(folder: Path, content: bytes) -> None:
    """The description of a tree in a folder of arrays."""
    home = folder / "input"
    if not home.exists():
        whole = seeds.tree()
        save_mapped(home, {"children": whole.children, "heights": whole.heights, "names": whole.names})
    _written(home, "tree.json", content)
    Tree.load(home)


def checkpoint_manifest(folder: Path, content: bytes) -> None:
    """What a folder says about the fit in it."""
    home = folder / "input"
    home.mkdir(exist_ok=True)
    _written(home, "manifest.json", content)
    ShardStore.open(home, {"seed": 1})


def checkpoint_record(folder: Path, content: bytes) -> None:
    """What a folder says about a piece in it: a damaged piece is not there."""
    home = folder / "input"
    store = ShardStore(home)
    if not home.exists():
        home.mkdir()
        store.write("stage", 0, {"x": np.arange(3.0)})
    _written(home / "stage", "000000.json", content)
    if store.has("stage"):
        store.read("stage")


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


def _written(folder: Path, name: str, content: bytes) -> Path:
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
    "csv": Reader(points(".csv"), seeds.csv),
    "csv as similarities": Reader(points(".csv", precomputed=True), seeds.csv),
    "csv with columns": Reader(points(".csv", features=["2-3"], labels="1"), seeds.csv),
    "csv.gz": Reader(points(".csv.gz"), lambda: seeds.packed(seeds.csv())),
    "edges": Reader(points(".edges"), seeds.edges),
    "mtx": Reader(points(".mtx"), seeds.matrix_market, _MTX),
    "npy": Reader(points(".npy"), seeds.npy, _NPY),
    "npy rows": Reader(rows, seeds.npy, _NPY),
    "npy.gz": Reader(points(".npy.gz"), lambda: seeds.packed(seeds.npy())),
    "npz": Reader(points(".npz"), seeds.npz),
    "npz member": Reader(member(".npz", points, dict, "X"), seeds.npy, _NPY),
    "npz sparse indices": Reader(member(".npz", points, seeds.sparse_members, "indices"), seeds.indices, _NPY),
    "npz sparse pointers": Reader(member(".npz", points, seeds.sparse_members, "indptr"), seeds.indices, _NPY),
    "npz sparse shape": Reader(member(".npz", points, seeds.sparse_members, "shape"), seeds.indices, _NPY),
    "parquet": Reader(points(".parquet"), seeds.parquet),
    "feather": Reader(points(".feather"), seeds.feather),
    "excel": Reader(points(".xlsx"), seeds.excel, needs="openpyxl"),
    "excel sheet": Reader(sheet, seeds.sheet, _XML, needs="openpyxl", costs=10),
    "json lines": Reader(points(".jsonl"), seeds.json_lines, _JSON),
    "graphml": Reader(points(".graphml"), seeds.graphml, _XML),
    "fasta": Reader(points(".fasta"), seeds.fasta),
    "phylip": Reader(points(".phy"), seeds.phylip),
    "h5ad": Reader(annotated, h5ad.seeds, needs="anndata", costs=10),
    "h5ad embedding": Reader(annotated_embedding, h5ad.seeds, needs="anndata", costs=10),
    "csv with categories": Reader(points(".csv", categories=["3"]), seeds.csv),
    "csv.zst": Reader(points(".csv.zst"), lambda: seeds.zstandard(seeds.csv()), needs="zstandard"),
    "newick": Reader(tree(".nwk"), seeds.newick),
    "json tree": Reader(tree(".json"), seeds.json_tree, _JSON),
    "npz tree": Reader(tree(".npz"), seeds.npz_tree),
    "npz tree member": Reader(member(".npz", tree, _heights, "children"), seeds.npy, _NPY),
    "linkage": Reader(tree(".npy"), seeds.linkage, _NPY),
    "mapped tree": Reader(mapped_tree, _mapped, _JSON),
    "checkpoint manifest": Reader(checkpoint_manifest, _manifest, _JSON),
    "checkpoint record": Reader(checkpoint_record, _record, _JSON),
}
