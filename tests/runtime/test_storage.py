"""Addresses of fsspec are as good as folders: the same files and tree, and what is finished there stays, whatever fails."""

from __future__ import annotations

import pickle
from threading import Lock
from typing import ClassVar

import numpy as np
import pytest
from hyphc import HypHC, Tree, datasets
from hyphc._runtime import storage
from hyphc._runtime.shard_store import ShardStore
from hyphc._runtime.storage import LocalFolder, RemoteFolder, as_storage_folder
from hyphc.out_of_core.row_sources import open_rows

fsspec = pytest.importorskip("fsspec")
da = pytest.importorskip("dask.array")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402
from hyphc.dask import DaskHypHC  # noqa: E402

pytestmark = pytest.mark.usefixtures("quick_certificate")

SMALL = {"part_size": 120, "sample_size": 100, "effort": 0.1}
KINDS = ["memory://{}", "dir::file://{}", "asyncwrapper::file://{}"]


class Failing(MemoryFileSystem):
    """A store that takes so many files, and then nothing more."""

    protocol = "failing"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]
    sent: ClassVar = []
    left, lock = float("inf"), Lock()

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("failing://", "memory://"))

    def put_file(self, lpath, rpath, **options):
        with self.lock:
            Failing.left -= 1
            if self.left < 0:
                raise RuntimeError("the bucket is gone.\nSee the manual")
            self.sent.append(rpath)
        super().put_file(lpath, rpath, **options)


@pytest.fixture
def failing():
    fsspec.register_implementation("failing", Failing, clobber=True)
    yield Failing
    Failing.store.clear()
    Failing.pseudo_dirs[:] = [""]
    Failing.sent.clear()
    Failing.left = float("inf")


@pytest.fixture(autouse=True)
def no_memory():
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def elsewhere(monkeypatch):
    """What another machine has of an object: what was pickled, and none of the copies."""

    def moved(thing):
        monkeypatch.setattr(storage, "_FOLDERS", {})
        return pickle.loads(pickle.dumps(thing))

    return moved


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    return request.param.format(tmp_path / "store")


@pytest.fixture(scope="module")
def rows():
    return datasets.planted(400, 5, decay=0.95, random_state=0).data


def blocks_of(rows):
    return da.from_array(rows, chunks=(150, 5))


def fitted(storage, rows, n_clusters=3, metric="auto"):
    return DaskHypHC(n_clusters, metric=metric, storage=storage, **SMALL).fit(blocks_of(rows))


@pytest.fixture(scope="module")
def here(rows, tmp_path_factory):
    """The fit in a folder, and all of its files."""
    folder = tmp_path_factory.mktemp("here") / "store"
    return fitted(folder, rows), {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("**/*.*")
    }


def files_at(address):
    place = as_storage_folder(address)
    stages = [stage for stage in place.names() if "." not in stage]
    names = ["manifest.json", *(f"{stage}/{name}" for stage in stages for name in place.names(stage))]
    return {name: place.read(name) for name in names}


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_fit_at_an_address_leaves_the_same_files_as_in_a_folder(kind, here, rows, tmp_path):
    address = kind.format(tmp_path / "store")
    model = fitted(address, rows)
    assert files_at(address) == here[1]
    assert model.storage_ == address
    assert model.cost_ == here[0].cost_
    np.testing.assert_array_equal(model.tree_.children, here[0].tree_.children)
    np.testing.assert_array_equal(model.labels_.compute(), here[0].labels_.compute())
    np.testing.assert_array_equal(model.predict(rows[:20]), here[0].predict(rows[:20]))


def test_a_tree_is_opened_at_an_address(here, tmp_path):
    here[0].tree_.save("memory://trees/one", mapped=True)
    np.testing.assert_array_equal(Tree.load("memory://trees/one").heights, here[0].tree_.heights)
    with pytest.raises(ValueError, match="'memory://trees/two' is no folder of a saved tree"):
        Tree.load("memory://trees/two")


def test_an_address_of_a_file_is_the_folder(tmp_path):
    assert as_storage_folder(f"file://{tmp_path}/store") == LocalFolder(tmp_path / "store")
    HypHC(2, metric="cosine", checkpoint=f"file://{tmp_path}/kept").fit(np.eye(4))
    assert (tmp_path / "kept" / "manifest.json").exists()


def test_what_is_written_is_read_on_another_machine_and_fetched_once(address, elsewhere, monkeypatch):
    store = ShardStore.open(address, {"seed": 0})
    array = np.arange(20_000.0).reshape(-1, 4)
    store.write("stage", 3, {"array": array, "number": np.array(2.5)})
    there = elsewhere(store)
    assert there.has("stage", 3)
    assert there.digest("stage", 3) == store.digest("stage", 3)
    np.testing.assert_array_equal(there.one("stage", 3, "array"), array)
    there.one("stage", 3, "array")[:] = 0.0
    monkeypatch.setattr(RemoteFolder, "_asked", None)  # nothing is asked for any more
    np.testing.assert_array_equal(there.read("stage", 3)["array"], array)
    assert float(there.read("stage", 3)["number"]) == 2.5


def test_a_damaged_or_unfinished_piece_at_an_address_is_not_there(elsewhere):
    store = ShardStore.open("memory://store", {})
    store.write("stage", 0, {"array": np.arange(3)})
    whole = MemoryFileSystem.store["/store/stage/000000.array.npy"].getvalue()
    for content in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1])):
        fsspec.filesystem("memory").pipe_file("/store/stage/000000.array.npy", content)
        assert not elsewhere(store).has("stage", 0)
    fsspec.filesystem("memory").rm_file("/store/stage/000000.json")
    assert not store.has("stage", 0)
    with pytest.raises(FileNotFoundError, match="resume"):
        elsewhere(store).read("stage", 0)


def test_a_released_stage_is_gone_at_an_address_and_said_to_be(address, elsewhere):
    store = ShardStore.open(address, {})
    store.write("stage", 0, {"array": np.arange(3)})
    assert not store.is_released("stage")
    elsewhere(store).release("stage")
    assert store.is_released("stage")
    assert store.place.names("stage") == ["released.json"]
    with pytest.raises(ValueError, match="were removed when the stage was finished"):
        elsewhere(store).one("stage", 0, "array")


def test_an_address_with_another_fit_or_other_things_is_refused(rows, here):
    fitted("memory://fit", rows, metric="cosine")
    with pytest.raises(ValueError, match=r"'memory://fit' holds a fit of other data"):
        fitted("memory://fit", rows + 1, metric="cosine")
    fsspec.filesystem("memory").pipe_file("/mine/thesis.tex", b"mine")
    with pytest.raises(ValueError, match=r"'memory://mine' holds 'thesis\.tex' and no manifest"):
        fitted("memory://mine", rows)


@pytest.mark.parametrize("taken", [0, 1, 40, 100])
def test_a_storage_that_fails_ends_the_fit_with_a_sentence_and_it_goes_on_later(taken, failing, rows, here):
    failing.left = taken
    with pytest.raises(
        OSError, match=r"^\[Errno 5\] The storage 'failing://fit' failed: the bucket is gone\. Finished"
    ) as told:
        fitted("failing://fit", rows)
    assert "\n" not in str(told.value)
    assert len(failing.sent) == taken
    finished = {name.removesuffix(".json") for name in failing.sent if name.endswith(".json")}
    failing.left = float("inf")
    failing.sent.clear()
    model = fitted("failing://fit", rows)
    assert not [
        name for name in failing.sent if name.rpartition("/")[0] + "/" + name.rpartition("/")[2][:6] in finished
    ]
    assert len(set(failing.sent)) == len(failing.sent)
    assert files_at("failing://fit") == here[1]
    assert model.cost_ == here[0].cost_


def test_what_is_finished_is_not_sent_again(failing, rows):
    fitted("failing://fit", rows, 3, "cosine")
    failing.sent.clear()
    fitted("failing://fit", rows, 3, "cosine")
    assert failing.sent == []
    fitted("failing://fit", rows, 5, "cosine")
    assert {name.split("/")[2].partition("-")[0] for name in failing.sent} == {"labels"}


def test_copies_are_kept_of_few_addresses_only():
    stores = [ShardStore.open(f"memory://{number}", {}) for number in range(storage.ADDRESSES + 2)]
    assert len(storage._FOLDERS) == storage.ADDRESSES
    stores[0].write("stage", 0, {"array": np.arange(3)})  # a place whose copies are gone begins anew
    assert stores[0].has("stage", 0)
    folders = list(storage._FOLDERS.values())
    storage._remove_copies(0)
    assert not [folder for folder in folders if folder.exists()]


def test_a_package_that_is_missing_is_named_and_an_unknown_protocol_told():
    fsspec.register_implementation(
        "absent", "no_such_package.Store", errtxt="Install absentfs to access it", clobber=True
    )
    with pytest.raises(
        ImportError, match="'absent://x' cannot be opened: Install absentfs to access it, here and on all"
    ):
        as_storage_folder("absent://x")
    with pytest.raises(ValueError, match="Protocol not known: nowhere"):
        as_storage_folder("nowhere://x")


def test_a_fit_at_once_keeps_its_states_in_a_folder_only():
    with pytest.raises(ValueError, match="checkpoint='memory://x' is an address; give a folder"):
        HypHC(2, metric="cosine", checkpoint="memory://x").fit(np.eye(4))


@pytest.fixture
def table(rows, tmp_path):
    """Rows in all formats, in a folder that fsspec takes for a distant one."""
    pandas, zarr = pytest.importorskip("pandas"), pytest.importorskip("zarr")
    filesystem, home = fsspec.core.url_to_fs("memory://data")
    np.save(tmp_path / "x.npy", rows)
    frame = pandas.DataFrame(rows, columns=list("abcde"))
    for name, part in {"x.parquet": frame, "many/1.parquet": frame[:150], "many/2.parquet": frame[150:]}.items():
        part.to_parquet(tmp_path / "part")
        filesystem.put_file(str(tmp_path / "part"), f"{home}/{name}")
    filesystem.put_file(str(tmp_path / "x.npy"), f"{home}/x.npy")
    zarr.save_array("memory://data/x.zarr", rows)
    return "memory://data"


def test_rows_at_an_address_are_those_of_the_file(table, rows, tmp_path):
    for name in ("x.npy", "x.parquet", "many", "x.zarr"):
        source = pickle.loads(pickle.dumps(open_rows(f"{table}/{name}")))
        assert (source.shape, source.dtype) == (rows.shape, rows.dtype)
        np.testing.assert_array_equal(source.read(140, 170), rows[140:170])
    assert open_rows(f"file://{tmp_path}/x.npy") == open_rows(tmp_path / "x.npy")
    model = DaskHypHC(3, metric="cosine", **SMALL).fit(f"{table}/x.npy")
    other = DaskHypHC(3, metric="cosine", **SMALL).fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(model.tree_.children, other.tree_.children)


@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        ("x.csv", np.eye(3), "cannot be read block by block"),
        ("x.npy", np.asfortranarray(np.arange(6.0).reshape(2, 3)), "has its columns one after the other"),
        ("x.npy", np.arange(3.0), r"has shape \(3,\); a table"),
        ("x.npy", np.array([["a", "b"]]), "does not hold numbers"),
        ("y.npy", np.eye(3), "does not exist"),
    ],
)
def test_rows_at_an_address_that_cannot_be_read_are_refused(name, array, told, tmp_path):
    np.save(tmp_path / "x.npy", array)
    fsspec.filesystem("memory").put_file(str(tmp_path / "x.npy"), "/data/x.npy")
    with pytest.raises((ValueError, FileNotFoundError), match=told):
        assert open_rows(f"memory://data/{name}").shape


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_command_line_takes_addresses(here, rows, table, tmp_path, capsys, monkeypatch):
    import distributed
    from hyphc.cli import main

    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    monkeypatch.setattr(distributed, "LocalCluster", lambda cls=distributed.LocalCluster, **_: cls(**options))
    command = ["fit", f"{table}/x.npy", "--metric", "cosine", "--n-clusters", "3", "--effort", "0.1", "--workers", "1"]
    assert not main([*command, "--checkpoint", "memory://cli/fit", "--output", str(tmp_path / "out")])
    assert "is memory://cli/fit" in capsys.readouterr().out
    labels = np.load(tmp_path / "out" / "labels.npy")
    np.testing.assert_array_equal(Tree.load("memory://cli/fit/tree").cut(3), labels)
    np.save(tmp_path / "new.npy", rows)
    assert not main(
        ["predict", str(tmp_path / "out"), str(tmp_path / "new.npy"), "--output", str(tmp_path / "new.csv")]
    )
    predicted = np.loadtxt(tmp_path / "new.csv", delimiter=",", skiprows=1, usecols=1, dtype=int)
    assert np.mean(predicted == labels) > 0.9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_worker_processes_meet_at_an_address(here, rows, tmp_path):
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        assert fitted(f"dir::file://{tmp_path}/store", rows).cost_ == here[0].cost_
        with pytest.raises(OSError, match="'memory://fit' is not seen by tcp"):
            fitted("memory://fit", rows)
