"""A checkpoint holds whole pieces or none, tells one fit from another, and says what is wrong with its folder."""

from __future__ import annotations

import errno
import json

import numpy as np
import pytest
from hyphc import HypHC
from hyphc._runtime import atomic_write
from hyphc._runtime.shard_store import ShardStore

from killing import killed_and_resumed


@pytest.fixture
def store(tmp_path):
    return ShardStore.open(tmp_path / "store", {"data": "abc", "seed": 0})


@pytest.mark.parametrize(
    "array", [np.arange(12.0).reshape(3, 4), np.array(2.5), np.empty((0, 3)), np.arange(6, dtype=np.int32)[::2]]
)
def test_what_is_written_is_read_again(store, array):
    store.write("stage", 3, {"array": array})
    found = store.read("stage", 3)["array"]
    assert found.shape == array.shape
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert store.has("stage", 3)


def test_a_large_array_is_mapped_and_not_changed_on_disk_by_its_reader(store):
    store.write("stage", 0, {"array": np.zeros(100_000)})
    store.one("stage", 0, "array")[:] = 1.0
    assert store.one("stage", 0, "array").max() == 0.0


def test_nothing_is_pickled(store):
    with pytest.raises(TypeError):
        store.write("stage", 0, {"array": np.array([{"a": 1}, None], dtype=object)})
    assert not store.has("stage", 0)


def test_a_piece_without_its_record_is_not_there(store):
    store.write("stage", 0, {"array": np.arange(3)})
    (store.place.path / "stage" / "000000.json").unlink()
    assert not store.has("stage", 0)
    with pytest.raises(FileNotFoundError, match="to resume"):
        store.read("stage", 0)


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:-1] + bytes([b[-1] ^ 1])])
def test_a_damaged_piece_is_not_there(store, damage):
    store.write("stage", 0, {"array": np.arange(3)})
    path = store.place.path / "stage" / "000000.array.npy"
    path.write_bytes(damage(path.read_bytes()))
    assert not store.has("stage", 0)


def test_the_same_fit_opens_it_again_and_another_is_told_the_difference(store):
    assert ShardStore.open(store.place.path, {"data": "abc", "seed": 0}).place == store.place
    with pytest.raises(ValueError, match=r"a fit with seed=0, not 1"):
        ShardStore.open(store.place.path, {"data": "abc", "seed": 1})
    with pytest.raises(ValueError, match="a fit of other data"):
        ShardStore.open(store.place.path, {"data": "xyz", "seed": 0})


def test_a_fit_of_another_version_is_not_mixed_with_this_one(store):
    manifest = store.place.path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "package": "hyphc 0.0.1"}))
    with pytest.raises(ValueError, match=r"package='hyphc 0\.0\.1'"):
        ShardStore.open(store.place.path, {"data": "abc", "seed": 0})


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"holds 'thesis\.tex' and no manifest"):
        ShardStore.open(tmp_path, {})
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_manifest_is_told(store):
    (store.place.path / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        ShardStore.open(store.place.path, {})


def test_a_storage_that_is_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"The storage .* failed"):
        ShardStore.open(tmp_path / "file" / "store", {})


def test_a_full_disk_leaves_what_is_finished_and_nothing_half_written(store, monkeypatch):
    store.write("stage", 0, {"array": np.arange(3)})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic_write.os, "replace", full)
        with pytest.raises(OSError, match=r"No space left on device\. Finished results are kept") as told:
            store.write("stage", 1, {"array": np.arange(3)})
    assert told.value.errno == errno.ENOSPC
    assert store.has("stage", 0)
    assert not store.has("stage", 1)
    assert sorted(path.name for path in (store.place.path / "stage").iterdir()) == ["000000.array.npy", "000000.json"]


@pytest.mark.parametrize("after", [1, 4])
def test_a_killed_fit_goes_on_and_ends_with_the_same_tree(after, tmp_path, monkeypatch):
    """At all moments and with all kinds of input: tests/system/test_resuming.py."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    resumed = killed_and_resumed(HypHC(3, random_state=0), X, tmp_path / "killed", after, monkeypatch)
    assert resumed.tree_ == HypHC(3, random_state=0).fit(X).tree_
