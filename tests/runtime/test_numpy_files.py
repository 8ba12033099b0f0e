"""NPY files opened again and again are what NumPy reads, and stay as they are."""

from __future__ import annotations

import ast
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hyphc._runtime.numpy_files import MAX_READ, open_npy
from hyphc.out_of_core.array_sources import NpyRows
from numpy.testing import assert_array_equal

ARRAYS = {
    "numbers": np.arange(5),
    "empty": np.zeros((0, 3), dtype=np.float32),
    "scalar": np.array(3.5),
    "bools": np.array([True, False]),
    "mapped": np.arange(MAX_READ, dtype=np.int32).reshape(-1, 8),
    "in columns": np.asfortranarray(np.arange(MAX_READ, dtype=np.float64).reshape(-1, 8)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_it_is_what_was_saved_and_writing_to_it_changes_no_file(name, tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, ARRAYS[name])
    before = path.read_bytes()
    for _ in range(2):
        found = open_npy(str(path))
        assert found.dtype == ARRAYS[name].dtype
        assert_array_equal(found, ARRAYS[name])
        found[...] = 0
    assert path.read_bytes() == before


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "array.npy"
    for array in (np.arange(3), np.arange(4.0), np.zeros((2, 2))):
        np.save(path, array)
        assert_array_equal(open_npy(str(path)), array)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: whole[:-1], "length is greater"),
        (lambda whole: b"x" + whole, "magic string is not correct"),
        (lambda whole: b"", "EOF"),
    ],
    ids=["shorter", "shifted", "empty"],
)
def test_damage_is_a_value_error(damage, reason, tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, np.arange(10))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=reason):
        open_npy(str(path))


def test_objects_are_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="objects"):
        open_npy(str(tmp_path / "array.npy"))


@pytest.mark.parametrize("read", [open_npy, lambda path: NpyRows(path).open()], ids=["shard", "rows"])
def test_one_thread_at_a_time_parses_a_header(read, tmp_path, monkeypatch):
    # CPython before 3.13 raises SystemError now and then when threads build syntax trees at the same time
    inside, most, parse = [], [], ast.literal_eval

    def watched(text):
        inside.append(threading.get_ident())
        most.append(len(inside))
        time.sleep(0.005)
        inside.remove(threading.get_ident())
        return parse(text)

    monkeypatch.setattr(ast, "literal_eval", watched)
    paths = [str(tmp_path / f"{i}.npy") for i in range(12)]
    for i, path in enumerate(paths):
        np.save(path, np.full((2, 3), i))
    with ThreadPoolExecutor(4) as threads:
        arrays = list(threads.map(read, paths))
    assert [array[0, 0] for array in arrays] == list(range(12))
    assert len(most) == 12
    assert max(most) == 1
