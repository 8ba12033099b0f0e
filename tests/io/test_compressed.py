"""Packed files: read like the files in them, and never further than they may hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hyphc import Tree
from hyphc.io import read_points, read_tree

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
packings = pytest.mark.parametrize("packing", PACK)
X = np.arange(12.0).reshape(6, 2) ** 2


def matrix_market() -> bytes:
    written = io.BytesIO()
    scipy.io.mmwrite(written, sp.csr_array(np.eye(4)[::-1]))
    return written.getvalue()


def npy() -> bytes:
    written = io.BytesIO()
    np.save(written, X)
    return written.getvalue()


@packings
@pytest.mark.parametrize(
    ("name", "content"),
    [("x.csv", b"a,b\n1,2\n3,5\n"), ("x.tsv", b"a\tb\n1\t2\n3\t5\n"), ("x.npy", npy()), ("x.mtx", matrix_market())],
    ids=["csv", "tsv", "npy", "mtx"],
)
def test_what_is_packed_is_read_like_what_is_not(packing, name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    packed = tmp_path / (name + packing)
    packed.write_bytes(PACK[packing](content))
    plain, found = read_points(tmp_path / name), read_points(packed)
    assert found.kind == plain.kind
    assert found.columns == plain.columns
    dense = [p.data.toarray() if sp.issparse(p.data) else p.data for p in (plain, found)]
    assert np.array_equal(*dense)


@packings
def test_packed_trees_are_read(packing, tmp_path):
    path = tmp_path / f"tree.nwk{packing}"
    path.write_bytes(PACK[packing](b"((a,b),c);"))
    assert read_tree(path) == Tree([[0, 1], [3, 2]])


@packings
def test_a_file_that_is_cut_short_is_named(packing, tmp_path):
    path = tmp_path / f"x.csv{packing}"
    path.write_bytes(PACK[packing](np.random.default_rng(0).bytes(4_000).hex().encode())[:-600])
    with pytest.raises(ValueError, match=r"cannot be decompressed .* write it again"):
        read_points(path)


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path):
    path = tmp_path / "x.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(100):
            file.write(b"0" * (1 << 20))
    with pytest.raises(ValueError, match="more than 100 times its size"):
        read_points(path)


def test_nothing_packed_is_no_data(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match="holds nothing once decompressed"):
        read_points(path)
