"""Small files that claim, or unpack to, more than there is: refused in a sentence before they take time or memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hyphc import Tree
from hyphc.io import read_points, read_tree

ROOT = Path(__file__).resolve().parents[2]
GIGABYTE = 1 << 30
HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 2), }"

# Read in a process of its own, which may have no more than so much memory beyond what Python and the packages need.
READ = """
import sys, time
from benchmarks.harness.memory import peak_bytes
from hyphc.io import read_points, read_tree
import pyarrow.parquet, scipy.sparse
read, path = {"points": read_points, "tree": read_tree}[sys.argv[1]], sys.argv[2]
try:
    read_points(sys.argv[3])   # a small table, so that what is loaded only once is there
except ValueError:
    pass
before, begin = peak_bytes(), time.process_time()
try:
    read(path)
except (ValueError, MemoryError) as error:
    print(type(error).__name__, error)
print(peak_bytes() - before, time.process_time() - begin)
"""


def refused(what: str, path: Path) -> str:
    """What reading the file says; it takes less than 300 MB and 20 seconds of one processor, however busy that is."""
    table = path.parent / "small.csv"
    table.write_text("x,y\n1,2\n3,4\n")
    command = [sys.executable, "-c", READ, what, str(path), str(table)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    told, measured = done.stdout.splitlines()
    n_bytes, seconds = measured.split()
    assert int(n_bytes) < 300_000_000
    assert float(seconds) < 20
    assert told.startswith("ValueError")
    assert path.name in told
    return told


def npy(rows: int, content: bytes = b"") -> bytes:
    header = HEADER % rows
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def zeros(n_bytes: int, first: bytes = b"") -> bytes:
    """Many zeros behind a first piece, packed by gzip."""
    packer = zlib.compressobj(9, wbits=31)
    piece, parts = bytes(1 << 20), [packer.compress(first)]
    parts += [packer.compress(piece) for _ in range(n_bytes >> 20)]
    return b"".join(parts) + packer.flush()


def test_a_gzip_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(zeros(GIGABYTE // 4, b"x,y\n" + 20 * b"1,2\n"))
    assert "times its size" in refused("points", path)


def test_a_bzip2_bomb_of_kilobytes_that_holds_gigabytes_is_refused(tmp_path):
    path = tmp_path / "bomb.npy.bz2"
    block = bz2.compress(bytes(8 << 20))
    path.write_bytes(bz2.compress(npy(10**9)) + block * 1280)  # bzip2 streams follow each other: 10 GB
    assert path.stat().st_size < 80_000
    assert "times its size" in refused("points", path)


@pytest.mark.parametrize(("what", "name"), [("points", "X"), ("tree", "children")])
def test_an_npz_bomb_of_kilobytes_that_holds_gigabytes_is_refused(tmp_path, what, name):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive, archive.open(f"{name}.npy", "w") as member:
        member.write(npy(1 << 24))
        for _ in range(256):
            member.write(bytes(1 << 20))
    assert path.stat().st_size < 20_000
    assert "times its size" in refused(what, path)


@pytest.mark.parametrize("rows", [10**12, 10**9])
@pytest.mark.parametrize("suffix", [".npy", ".npy.gz"])
def test_an_npy_header_that_claims_a_billion_rows_is_refused(tmp_path, rows, suffix):
    path = tmp_path / f"claim{suffix}"
    content = npy(rows, bytes(160))
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert "cannot be read as NPY" in refused("points", path)


@pytest.mark.parametrize("size", [b"1000000000000 1000000000000 1", b"1000000000 1000000000 1", b"9 9 1000000000000"])
def test_a_matrix_market_header_that_claims_a_billion_rows_is_refused(tmp_path, size):
    path = tmp_path / "claim.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate real general\n" + size + b"\n1 2 3.0\n")
    assert "cannot be read as MatrixMarket" in refused("points", path)


def test_a_matrix_market_array_that_claims_a_billion_rows_is_refused(tmp_path):
    path = tmp_path / "claim.mtx"
    path.write_bytes(b"%%MatrixMarket matrix array real general\n1000000000 1000\n1\n2\n")
    assert "announced" in refused("points", path)


def test_a_sparse_npz_that_claims_a_trillion_rows_is_refused(tmp_path):
    path = tmp_path / "claim.npz"
    fields = {"format": np.array(b"coo"), "shape": np.array([10**12, 10**12]), "data": np.ones(1)}
    np.savez(path, row=np.zeros(1, dtype=np.int64), col=np.zeros(1, dtype=np.int64), **fields)
    assert "its shape is" in refused("points", path)


def test_a_sparse_npz_with_indices_out_of_bounds_is_refused(tmp_path):
    path = tmp_path / "outside.npz"
    fields = {
        "format": np.array(b"csr"),
        "shape": np.array([3, 3]),
        "data": np.ones(3),
        "indptr": np.array([0, 1, 2, 3]),
    }
    np.savez(path, indices=np.array([0, 1, 10**9]), **fields)
    with pytest.raises(ValueError, match=r"outside\.npz cannot be read as NPZ"):
        read_points(path)


def test_a_parquet_file_that_holds_a_thousand_times_its_size_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'hyphc[io]'")
    from pyarrow import parquet

    path = tmp_path / "claim.parquet"
    part = pyarrow.table(
        {name: pyarrow.DictionaryArray.from_arrays(np.zeros(10**6, np.int32), [1.0]) for name in "abcdefgh"}
    )
    with parquet.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(12):
            writer.write_table(part)
    assert 1_000 * path.stat().st_size < 8 * 96_000_000
    assert "values, more than" in refused("points", path)


def test_newick_nested_a_million_deep_is_read_like_any_other():
    depth = 1_000_000
    assert Tree.from_newick("(" * depth + "a,b" + ")" * depth + ";").n_leaves == 2
    chain = "(" * (depth // 10) + "a" + ",b)" * (depth // 10) + ";"
    assert Tree.from_newick(chain).n_leaves == depth // 10 + 1


@pytest.mark.parametrize(
    "text", ["(" * 1_000_000, "(" * 1_000_000 + "a", ")" * 1_000_000, "'" * 999_999, "[" * 1_000_000]
)
def test_newick_of_a_million_open_brackets_is_refused(text):
    with pytest.raises(ValueError, match="Newick"):
        Tree.from_newick(text)


@pytest.mark.parametrize("bracket", ["[", '{"children":', '{"children": [0, 1], "heights": ['])
def test_a_json_of_ten_million_brackets_is_refused(tmp_path, bracket):
    path = tmp_path / "deep.json"
    path.write_text('{"children": ' + bracket * (10_000_000 // len(bracket)))
    assert "is not a tree" in refused("tree", path)


def test_numbers_of_a_million_digits_are_refused_or_read_at_once(tmp_path):
    digits = "9" * 1_000_000
    (tmp_path / "tree.json").write_text(
        json.dumps({"children": [[0, 1]], "heights": [1]}).replace("1]}", f"{digits}]}}")
    )
    with pytest.raises(ValueError, match=r"tree\.json is not a tree"):
        read_tree(tmp_path / "tree.json")
    (tmp_path / "x.edges").write_text(f"0 {digits}\n1 2\n")
    assert read_points(tmp_path / "x.edges").n == 4


def test_the_bombs_of_these_tests_are_what_they_say():
    assert len(gzip.decompress(zeros(1 << 20, b"abc"))) == (1 << 20) + 3
    assert np.load(io.BytesIO(npy(10, bytes(160)))).shape == (10, 2)
