"""hyphc.dask: one tree whatever the workers, lost workers and clients cost only their tasks, and nothing large is sent."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from hyphc import HypHC, datasets

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402
from distributed.utils_test import gen_cluster  # noqa: E402
from hyphc._shared.warn import warn  # noqa: E402
from hyphc.dask import DaskHypHC, scheduling, waiting  # noqa: E402
from hyphc.pipeline.blocks import open_rows  # noqa: E402
from hyphc.pipeline.flat import Cut  # noqa: E402
from hyphc.pipeline.parts import fit_by_parts, on_threads, stages  # noqa: E402
from hyphc.pipeline.problem import Problem, Recipe  # noqa: E402

SMALL = {"part_size": 120, "sample_size": 100, "effort": 0.1}

# Dask's own threads and sockets may outlive a cluster for a moment.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def rows():
    X = datasets.planted(400, 5, decay=0.95, random_state=0).data
    X[20:30] = X[20]
    return X


@pytest.fixture(scope="module")
def file(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    np.save(path, rows)
    return path


def cluster(n_workers, *, processes=False):
    host = {"host": "127.0.0.1"} if processes else {}  # threads of this process need no address
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address="127.0.0.1:0", **host
    )


@pytest.fixture(scope="module", params=["auto", "cosine"])
def alone(request, file):
    """A fit on Dask's threads, without a cluster."""
    return DaskHypHC(3, metric=request.param, **SMALL).fit(file)


def assert_same(model, other):
    np.testing.assert_array_equal(model.tree_.children, other.tree_.children)
    np.testing.assert_array_equal(model.tree_.heights, other.tree_.heights)
    assert model.cost_ == other.cost_


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_tree_is_the_same_for_any_number_of_workers(n_workers, alone, file):
    with cluster(n_workers) as workers, Client(workers) as client:
        assert_same(DaskHypHC(3, metric=alone.metric, client=client, **SMALL).fit(file), alone)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_tree_is_the_same_in_processes(n_workers, alone, file):
    with cluster(n_workers, processes=True) as workers, Client(workers) as client:
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
    monkeypatch.setattr("hyphc.pipeline.checkpoint.Checkpoint.write", _writing(done))
    second = DaskHypHC(5, metric="cosine", storage=tmp_path / "store", **SMALL).fit(file)
    assert {stage for stage, _ in done} == {Cut(5).stage().name}
    assert (first.n_clusters_, second.n_clusters_) == (3, 5)


def _writing(done):
    from hyphc.pipeline.checkpoint import Checkpoint

    write = Checkpoint.write

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
        (da.zeros((5, 2)), {"metric": "rbf"}, "cannot be fitted by parts"),
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
        scheduling.require_seen(Blind(), "/shared/store")


def test_an_error_of_a_task_ends_the_fit_with_its_own_words(rows):
    broken = rows.copy()
    broken[77, 1] = np.inf
    with cluster(2) as workers, Client(workers) as client, pytest.raises(ValueError, match=r"X\[77, 1\] is inf"):
        DaskHypHC(metric="cosine", client=client, **SMALL).fit(da.from_array(broken, chunks=(100, 5)))


def stage_names(metric, file, tmp_path):
    problem = Problem(open_rows(file), Recipe(metric=metric, **SMALL), str(tmp_path))
    return [stage.name for stage in stages(problem)]


@gen_cluster(client=True, nthreads=[("127.0.0.1", 1)] * 3, timeout=900)
async def test_a_worker_lost_in_any_stage_costs_only_its_tasks(c, s, *workers):
    """Each stage loses a worker while it runs, and another comes in its place."""
    import asyncio
    import tempfile

    from distributed import Worker, wait
    from hyphc.pipeline.flat import tree_of
    from hyphc.pipeline.parts import perform

    X = datasets.planted(400, 5, decay=0.95, random_state=0).data
    alive = list(workers)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", X)
        trees = []
        for name, kills in (("quiet", False), ("killed", True)):
            problem = Problem(open_rows(f"{folder}/x.npy"), Recipe(**SMALL), f"{folder}/{name}")
            problem.open()
            for stage in stages(problem):
                keys = [f"{name}-{stage.name}-{k}" for k in range(stage.count(problem))]
                futures = c.map(partial(perform, problem, stage), range(len(keys)), key=keys, pure=False)
                if kills:
                    await asyncio.sleep(0.01)
                    await alive.pop(0).close()
                    alive.append(await Worker(s.address, nthreads=1))
                await wait(futures)
                assert [future.status for future in futures] == ["finished"] * len(futures)
            trees.append(np.array(tree_of(problem).children))
        for worker in alive:
            await worker.close()
    np.testing.assert_array_equal(*trees)


def killing(execute, folder, wanted):
    """An executor whose first task of each stage wanted is killed without warning, with the process that runs it."""

    def deadly(task, marker, number):
        try:
            open(marker, "x").close()
        except FileExistsError:
            task(number)
        else:
            os.kill(os.getpid(), signal.SIGKILL)

    def executed(task, count, stage):
        execute(partial(deadly, task, f"{folder}/{stage}") if stage in wanted else task, count, stage)

    return executed


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [{"fits"}, None])
def test_a_worker_that_is_killed_costs_only_its_tasks(wanted, file, tmp_path):
    """By SIGKILL in the midst of a task of the stages wanted, or of all."""
    costs, wanted = [], wanted or set(stage_names("auto", file, tmp_path))
    with cluster(2, processes=True) as workers, Client(workers) as client:
        for name, stages_killed in (("quiet", set()), ("killed", wanted)):
            problem = Problem(open_rows(file), Recipe(**SMALL), str(tmp_path / name))
            problem.open()
            execute = scheduling.on_dask(client, lambda stage, done, count: None)
            fit_by_parts(problem, killing(execute, tmp_path, stages_killed))
            costs.append(float(problem.store.one("tree", 0, "cost")))
    assert costs[0] == costs[1]
    assert all((tmp_path / stage).exists() for stage in wanted)


def deadly_once(marker, number):
    """A task whose process is killed without warning, the first time."""
    try:
        open(marker, "x").close()
    except FileExistsError:
        return number
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_its_cluster_has_given_up_is_asked_for_again(tmp_path, monkeypatch):
    """So it does with one that is not back soon enough: here at once, otherwise if it is lost twice within 15 seconds."""
    monkeypatch.setattr(waiting, "LOOK", 0.1)
    soon = dask.config.set({"distributed.deploy.lost-worker-timeout": "10ms"})
    with soon, cluster(1, processes=True) as workers, Client(workers) as client:
        given_up = dict(workers.workers)
        futures = client.map(partial(deadly_once, tmp_path / "marker"), range(3), pure=False)
        waiting.finished(client, futures, lambda done: None)
        assert client.gather(futures) == [0, 1, 2]
        assert workers.workers != given_up


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


def always_deadly(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("setting", "n_workers", "told"),
    [
        ({"no-workers-timeout": "200ms"}, 0, r"without a worker for too long: .* What is finished stays"),
        ({"allowed-failures": 0}, 1, r"ended several workers: .* choose a smaller part_size. What is finished stays"),
    ],
)
def test_what_a_cluster_cannot_do_ends_the_fit_in_one_sentence(setting, n_workers, told, monkeypatch):
    monkeypatch.setattr(waiting, "LOOK", 0.05)
    configured = dask.config.set({f"distributed.scheduler.{name}": value for name, value in setting.items()})
    with configured, cluster(n_workers, processes=True) as workers, Client(workers) as client:
        futures = client.map(always_deadly, range(1), pure=False)
        with pytest.raises(OSError, match=told):
            waiting.finished(client, futures, lambda done: None)


def test_a_client_that_loses_its_scheduler_ends_the_fit_in_one_sentence():
    with cluster(1) as workers, Client(workers) as client:
        futures = client.map(time.sleep, [3], pure=False)
        threading.Timer(0.5, workers.close).start()
        with pytest.raises(ConnectionError, match=r"connection to the scheduler was lost .* What is finished stays"):
            waiting.finished(client, futures, lambda done: None)


def test_the_command_line_tells_what_ended_the_cluster(file, tmp_path, capsys, monkeypatch):
    from hyphc.cli import main

    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: cluster(0))
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "200ms"}):
        assert main(["fit", str(file), "--workers", "1", "--output", str(tmp_path / "out")]) == 1
    assert "hyphc: The cluster has been without a worker for too long" in capsys.readouterr().err


def too_large_once(marker, number):
    """A task that takes memory until its worker is ended for that, the first time."""
    try:
        open(marker, "x").close()
    except FileExistsError:
        return number
    taken = []
    while True:
        taken.append(np.ones(1 << 21))
        time.sleep(0.05)


@pytest.mark.slow
def test_a_worker_that_is_restarted_for_its_memory_costs_only_its_tasks(tmp_path):
    limit = {"host": "127.0.0.1", "memory_limit": "500MB", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **limit) as workers, Client(workers) as client:
        futures = client.map(partial(too_large_once, tmp_path / "marker"), range(3), pure=False)
        waiting.finished(client, futures, lambda done: None)
        assert client.gather(futures) == [0, 1, 2]


CLIENT = """
import sys
from hyphc.dask import DaskHypHC
if __name__ == "__main__":
    model = DaskHypHC(3, metric=sys.argv[3], part_size=120, sample_size=100, effort=0.1, storage=sys.argv[2]).fit(sys.argv[1])
    print(repr(model.cost_))
"""


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auto", "cosine"])
def test_a_client_that_is_killed_goes_on_where_it_stopped(file, tmp_path, metric):
    """Killed without warning at moments of all stages; pieces that were there are not written again."""
    whole = DaskHypHC(3, metric=metric, **SMALL).fit(file)
    store, written = tmp_path / "store", {}
    command = [sys.executable, "-c", CLIENT, str(file), str(store), metric]
    for stage in stage_names(metric, file, tmp_path):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (store / stage).exists():
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        records = {path: path.stat().st_mtime_ns for path in store.glob("*/*.json")}
        # those of stages that nothing reads again are gone, the others as they were
        assert all(records.get(path, time_written) == time_written for path, time_written in written.items())
        written = records
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(out) == whole.cost_


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
    problem = Problem(open_rows(file), Recipe(metric=alone.metric, **SMALL), str(tmp_path / "store"))
    problem.open()
    fit_by_parts(problem, on_threads(2))
    assert float(problem.store.one("tree", 0, "cost")) == alone.cost_


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
