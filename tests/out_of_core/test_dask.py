"""hyphc.dask: the same tree for any workers, chunks and frames; predictions, storage, messages; nothing large is sent."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hyphc import HypHC

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
from distributed import Client  # noqa: E402
from hyphc._runtime.user_warnings import warn  # noqa: E402
from hyphc.dask import DaskHypHC, scheduling, waiting  # noqa: E402
from hyphc.fit.flat_cut import FlatCut  # noqa: E402
from hyphc.out_of_core.job import Job, JobSettings  # noqa: E402
from hyphc.out_of_core.labels import labels_stage  # noqa: E402
from hyphc.out_of_core.records import FinishedTree  # noqa: E402
from hyphc.out_of_core.row_sources import open_rows  # noqa: E402
from hyphc.out_of_core.stages import make_thread_executor, run_stages  # noqa: E402

from dask_clusters import SMALL, assert_same, cluster, planted_rows  # noqa: E402

# Dask's own threads and sockets may outlive a cluster for a moment.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def rows():
    return planted_rows()


@pytest.fixture(scope="module")
def file(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    np.save(path, rows)
    return path


@pytest.fixture(scope="module", params=["auto", "cosine"])
def alone(request, file):
    """A fit on Dask's threads, without a cluster."""
    return DaskHypHC(3, metric=request.param, **SMALL).fit(file)


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_tree_is_the_same_for_any_number_of_workers(n_workers, alone, file):
    with cluster(n_workers) as workers, Client(workers) as client:
        assert_same(DaskHypHC(3, metric=alone.metric, client=client, **SMALL).fit(file), alone)


def test_the_tree_does_not_depend_on_the_chunks(alone, rows):
    for chunks in ((100, 5), (33, 2)):
        model = DaskHypHC(3, metric=alone.metric, **SMALL).fit(da.from_array(rows, chunks=chunks))
        assert_same(model, alone)
    labels = model.labels_
    assert isinstance(labels, da.Array)
    np.testing.assert_array_equal(labels.compute(), model.tree_.cut(3))


def test_frames_are_taken(alone, rows):
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pandas.DataFrame(rows, columns=list("abcde")), npartitions=3)
    assert_same(DaskHypHC(3, metric=alone.metric, **SMALL).fit(frame), alone)


def test_a_local_model_is_the_same_and_can_be_kept(alone, rows):
    local = pickle.loads(pickle.dumps(alone.to_local()))
    assert isinstance(local, HypHC)
    assert local.tree_ == alone.tree_
    assert local.cost_ == pytest.approx(alone.cost_, rel=1e-9)
    np.testing.assert_array_equal(local.labels_, alone.labels_.compute())
    assert (local.predict(rows[:50]) == local.labels_[:50]).mean() > 0.9


def test_new_rows_are_placed_block_by_block(alone, rows, file):
    there = alone.predict(rows)
    assert (there == alone.labels_.compute()).mean() > 0.9
    for X in (da.from_array(rows, chunks=(150, 5)), file):
        blocks = alone.predict(X)
        assert isinstance(blocks, da.Array)
        np.testing.assert_array_equal(blocks.compute(), there)


def test_another_cut_of_the_same_storage_is_made_without_a_fit(file, tmp_path, monkeypatch):
    first = DaskHypHC(3, metric="cosine", storage=tmp_path / "store", **SMALL).fit(file)
    done = []
    monkeypatch.setattr("hyphc._runtime.shard_store.ShardStore.write", _writing(done))
    second = DaskHypHC(5, metric="cosine", storage=tmp_path / "store", **SMALL).fit(file)
    assert {stage for stage, _ in done} == {labels_stage(FlatCut(5)).name}
    assert (first.n_clusters_, second.n_clusters_) == (3, 5)


def _writing(done):
    from hyphc._runtime.shard_store import ShardStore

    write = ShardStore.write

    def written(self, stage, number, arrays):
        done.append((stage, number))
        write(self, stage, number, arrays)

    return written


def test_nothing_large_is_sent(file, tmp_path, monkeypatch):
    sent = []
    client_map = Client.map

    def weighed(self, function, *arguments, **options):
        sent.append(len(distributed.protocol.pickle.dumps(function)))
        return client_map(self, function, *arguments, **options)

    monkeypatch.setattr(Client, "map", weighed)
    with cluster(1) as workers, Client(workers) as client:
        model = DaskHypHC(3, metric="auto", client=client, storage=tmp_path / "store", **SMALL).fit(file)
        assert len(sent) > 10
        assert max(sent) < 4_000
        graph = model.labels_.__dask_graph__()
        assert len(pickle.dumps(dict(graph))) < 10_000


def test_other_rows_in_one_storage_are_an_error(file, rows, tmp_path):
    DaskHypHC(3, metric="cosine", storage=tmp_path / "store", **SMALL).fit(file)
    with pytest.raises(ValueError, match="holds a fit of other data"):
        DaskHypHC(3, metric="cosine", storage=tmp_path / "store", **SMALL).fit(da.from_array(rows + 1, chunks=(100, 5)))


@pytest.mark.parametrize(
    ("X", "parameters", "told"),
    [
        (np.zeros((5, 2)), {}, "pass a Dask array or frame"),
        ("nothing.npy", {}, "does not exist"),
        ("table.csv", {}, "cannot be read block by block"),
        (da.zeros((5,)), {}, "a table .n, d. of rows is needed"),
        (da.zeros((5, 2)), {"n_clusters": 9}, "n_clusters=9 is not between 1 and the 5 points"),
        (da.zeros((5, 2)), {"storage": "nowhere://fit"}, "cannot be opened: Protocol not known: nowhere"),
        (da.zeros((5, 2)), {"metric": "rbf"}, "cannot be fitted out of core"),
    ],
)
def test_mistakes_are_told_before_the_work(X, parameters, told):
    with pytest.raises((ValueError, TypeError, OSError), match=told):
        DaskHypHC(**parameters).fit(X)


def test_workers_that_do_not_see_the_storage_are_named(file, monkeypatch):
    class Blind:
        def run(self, function, path):
            return {"tcp://10.0.0.1:1": True, "tcp://10.0.0.2:1": False}

    with pytest.raises(OSError, match=r"is not seen by tcp://10\.0\.0\.2:1; give a folder"):
        scheduling.require_visible(Blind(), "/shared/store")


def test_an_error_of_a_task_ends_the_fit_with_its_own_words(rows):
    broken = rows.copy()
    broken[77, 1] = np.inf
    with cluster(2) as workers, Client(workers) as client, pytest.raises(ValueError, match=r"X\[77, 1\] is inf"):
        DaskHypHC(metric="cosine", client=client, **SMALL).fit(da.from_array(broken, chunks=(100, 5)))


def test_a_fit_without_workers_says_that_it_waits_and_goes_on_with_the_first(file, monkeypatch):
    monkeypatch.setattr(waiting, "LOOK", 0.05)
    monkeypatch.setattr(waiting, "ALONE", 0.1)
    with cluster(0) as workers, Client(workers) as client:

        def warn_and_scale(*warning, **options):
            warn(*warning, **options)
            workers.scale(1)

        monkeypatch.setattr(waiting, "warn", warn_and_scale)
        with pytest.warns(RuntimeWarning, match=r"has had no worker for \d+ s; the fit waits for one. Start workers"):
            model = DaskHypHC(3, metric="cosine", client=client, **SMALL).fit(file)
    assert model.n_clusters_ == 3


def test_a_client_that_loses_its_scheduler_ends_the_fit_in_one_sentence():
    with cluster(1) as workers, Client(workers) as client:
        futures = client.map(time.sleep, [3], pure=False)
        threading.Timer(0.5, workers.close).start()
        with pytest.raises(ConnectionError, match=r"connection to the scheduler was lost .* Finished results are kept"):
            waiting.wait_for(client, futures, lambda done: None)


def test_the_command_line_tells_what_ended_the_cluster(file, tmp_path, capsys, monkeypatch):
    from hyphc.cli import main

    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: cluster(0))
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "200ms"}):
        assert main(["fit", str(file), "--workers", "1", "--output", str(tmp_path / "out")]) == 1
    assert "hyphc: The cluster has been without a worker for too long" in capsys.readouterr().err


def test_without_dask_the_rest_works_and_says_what_to_install():
    code = """
import sys
sys.modules["dask"] = None
sys.modules["distributed"] = None
import numpy as np
import hyphc
hyphc.HypHC(2, metric="cosine").fit(np.eye(4))
try:
    import hyphc.dask
except ImportError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'hyphc[dask]'" in told


def test_a_fit_on_threads_of_the_pipeline_is_the_same(alone, file, tmp_path):
    job = Job(open_rows(file), JobSettings(metric=alone.metric, **SMALL), str(tmp_path / "store"))
    job.open()
    run_stages(job, make_thread_executor(2))
    assert float(job.shard(FinishedTree).cost) == alone.cost_


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_command_line_fits_by_parts_and_goes_on(processes, file, tmp_path, capsys, monkeypatch):
    from hyphc import Tree
    from hyphc.cli import main

    if not processes:
        monkeypatch.setattr(distributed, "LocalCluster", lambda **options: cluster(options["n_workers"]))
    command = ["fit", str(file), "--metric", "cosine", "--n-clusters", "3", "--effort", "0.1", "--workers", "1"]
    command += ["--memory", "1GB", "--output", str(tmp_path / "out")]
    assert not main(command)
    told = capsys.readouterr().out
    assert "400 rows, 3 clusters" in told
    tree, labels = Tree.load(tmp_path / "out" / "checkpoint" / "tree"), np.load(tmp_path / "out" / "labels.npy")
    np.testing.assert_array_equal(tree.cut(3), labels)
    pieces = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "checkpoint").glob("*/*.json")}
    assert not main(command)
    assert {path: path.stat().st_mtime_ns for path in pieces} == pieces


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "--scheduler brings workers of its own"),
        (["--workers", "2", "--time-budget", "3"], "--time-budget cannot be used with an out-of-core fit"),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(options, told, file, tmp_path, capsys):
    from hyphc.cli import main

    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(file), "--output", str(tmp_path / "out"), *options])
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "2", "--labels", "a"], "has no column 'a'; its columns are 1, 2, 3, 4, 5"),
        (["--memory", "lots"], "memory_limit='lots' is no amount of memory"),
    ],
)
def test_an_option_with_an_impossible_value_ends_in_one_sentence(options, told, file, tmp_path, capsys):
    from hyphc.cli import main

    assert main(["fit", str(file), "--output", str(tmp_path / "out"), *options]) == 1
    assert told in capsys.readouterr().err
