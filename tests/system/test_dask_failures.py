"""hyphc.dask with worker processes: the same tree, and workers and clients that are lost or killed cost only their tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from hyphc import datasets

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

import dask
from distributed import Client, LocalCluster
from distributed.utils_test import gen_cluster
from hyphc.dask import DaskHypHC, scheduling, waiting
from hyphc.out_of_core.job import Job, JobSettings
from hyphc.out_of_core.records import FinishedTree
from hyphc.out_of_core.row_sources import open_rows
from hyphc.out_of_core.stages import run_stages, stages

from dask_clusters import SMALL, assert_same, cluster, planted_rows

# Dask's own threads and sockets may outlive a cluster for a moment.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    np.save(path, planted_rows())
    return path


@pytest.fixture(scope="module", params=["auto", "cosine"])
def alone(request, file):
    """A fit on Dask's threads, without a cluster."""
    return DaskHypHC(3, metric=request.param, **SMALL).fit(file)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_tree_is_the_same_in_processes(n_workers, alone, file):
    with cluster(n_workers, processes=True) as workers, Client(workers) as client:
        assert_same(DaskHypHC(3, metric=alone.metric, client=client, **SMALL).fit(file), alone)


def stage_names(metric, file, tmp_path):
    job = Job(open_rows(file), JobSettings(metric=metric, **SMALL), str(tmp_path))
    return [stage.name for stage in stages(job)]


@gen_cluster(client=True, nthreads=[("127.0.0.1", 1)] * 3, timeout=900)
async def test_a_worker_lost_in_any_stage_costs_only_its_tasks(c, s, *workers):
    """Each stage loses a worker while it runs, and another comes in its place."""
    import asyncio
    import tempfile

    from distributed import Worker, wait
    from hyphc.out_of_core.labels import load_tree
    from hyphc.out_of_core.stages import run_task

    X = datasets.planted(400, 5, decay=0.95, random_state=0).data
    alive = list(workers)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", X)
        trees = []
        for name, kills in (("quiet", False), ("killed", True)):
            job = Job(open_rows(f"{folder}/x.npy"), JobSettings(**SMALL), f"{folder}/{name}")
            job.open()
            for stage in stages(job):
                keys = [f"{name}-{stage.name}-{k}" for k in range(stage.count(job))]
                futures = c.map(partial(run_task, job, stage), range(len(keys)), key=keys, pure=False)
                if kills:
                    await asyncio.sleep(0.01)
                    await alive.pop(0).close()
                    alive.append(await Worker(s.address, nthreads=1))
                await wait(futures)
                assert [future.status for future in futures] == ["finished"] * len(futures)
            trees.append(np.array(load_tree(job).children))
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
        execute(partial(deadly, task, f"{folder}/{stage.name}") if stage.name in wanted else task, count, stage)

    return executed


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [{"part-trees"}, None])
def test_a_worker_that_is_killed_costs_only_its_tasks(wanted, file, tmp_path):
    """By SIGKILL in the midst of a task of the stages wanted, or of all."""
    costs, wanted = [], wanted or set(stage_names("auto", file, tmp_path))
    with cluster(2, processes=True) as workers, Client(workers) as client:
        for name, stages_killed in (("quiet", set()), ("killed", wanted)):
            job = Job(open_rows(file), JobSettings(**SMALL), str(tmp_path / name))
            job.open()
            execute = scheduling.make_dask_executor(client, lambda stage, done, count, share: None)
            run_stages(job, killing(execute, tmp_path, stages_killed))
            costs.append(float(job.shard(FinishedTree).cost))
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
        waiting.wait_for(client, futures, lambda done: None)
        assert client.gather(futures) == [0, 1, 2]
        assert workers.workers != given_up


def always_deadly(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("setting", "n_workers", "told"),
    [
        ({"no-workers-timeout": "200ms"}, 0, r"without a worker for too long: .* Finished results are kept"),
        (
            {"allowed-failures": 0},
            1,
            r"ended several workers: .* choose a smaller part_size. Finished results are kept",
        ),
    ],
)
def test_what_a_cluster_cannot_do_ends_the_fit_in_one_sentence(setting, n_workers, told, monkeypatch):
    monkeypatch.setattr(waiting, "LOOK", 0.05)
    configured = dask.config.set({f"distributed.scheduler.{name}": value for name, value in setting.items()})
    with configured, cluster(n_workers, processes=True) as workers, Client(workers) as client:
        futures = client.map(always_deadly, range(1), pure=False)
        with pytest.raises(OSError, match=told):
            waiting.wait_for(client, futures, lambda done: None)


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
        waiting.wait_for(client, futures, lambda done: None)
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
