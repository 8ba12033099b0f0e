"""Fits on a Dask cluster of two workers, and Spark's bisecting k-means.

Time, memory, growth with n, and what killed workers cost.

``workers`` fits rows from an NPY file on two workers of one thread and 2 GB each. ``one kill`` does the same and kills a worker
without warning. ``worker kills`` kills one in each stage, at a random moment; ``client kills`` kills the program that fits, with
its cluster, up to twenty times, and starts it again: the tree must be that of an undisturbed fit, and no finished piece may be
written twice. ``spark`` compares the tree above 1 000 clusters with that of pyspark's BisectingKMeans: pairs within a cluster
cost as much as its size.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hyphc import Tree, datasets

from ..harness.markdown import spaced, table
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = ("_runtime", "_kernels", "similarity", "search", "fit", "out_of_core", "dask")
KILLED_AFTER = 900.0  # seconds of the fit of ten million rows
CLIENT_KILLS = 20
MOMENTS = (4.0, 14.0)  # seconds after its start at which a client is killed
N_LEAVES = 1_000  # of the trees compared with Spark's

TASKS = (
    ("planted-1000000", "auto", "workers"),
    ("planted-10000000", "auto", "one kill"),
    ("planted-300000", "auto", "workers"),
    ("planted-300000", "auto", "worker kills"),
    ("planted-300000", "auto", "client kills"),
    ("planted-1000000", "cosine", "workers"),
    ("planted-1000000", "cosine", "spark"),
)


def tasks() -> list[Task]:
    return [Task("cluster", *names, limit=120 * MINUTE) for names in TASKS]


def records(task: Task) -> Iterator[Record]:
    n = int(task.case.removeprefix("planted-"))
    with tempfile.TemporaryDirectory() as folder:
        rows, storage = Path(folder) / "rows.npy", Path(folder) / "storage"
        np.save(rows, datasets.planted(n, 32, decay=0.95, random_state=0).data)
        yield {"n": n}
        if task.method == "spark":
            yield {"leaves": N_LEAVES, **_beside_spark(rows, storage)}
        elif task.method == "client kills":
            yield _killed_again_and_again(rows, storage, task.kind)
        else:
            plan = {"workers": "none", "one kill": str(KILLED_AFTER), "worker kills": "stages"}[task.method]
            yield {**_fitted(rows, storage, task.kind, plan), **_left(storage)}


def _command(rows: Path, storage: Path, metric: str, kills: str) -> list[str]:
    program = [sys.executable, "-m", "benchmarks.harness.cluster_client"]
    return [*program, str(rows), str(storage), metric, "2", "2GB", kills]


def _fitted(rows: Path, storage: Path, metric: str, kills: str) -> Record:
    """What the client printed."""
    done = subprocess.run(_command(rows, storage, metric, kills), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the client ended with {done.returncode}: {done.stderr[-2_000:]}")
    told: Record = json.loads(done.stdout)
    return told


def _left(storage: Path) -> Record:
    """A checksum of the tree, and what the storage takes in the end."""
    children = np.ascontiguousarray(Tree.load(storage / "tree").children)
    size = sum(path.stat().st_size for path in storage.rglob("*") if path.is_file())
    return {"tree": hashlib.sha256(children.tobytes()).hexdigest()[:16], "storage_mb": round(size / 2**20)}


def _killed_again_and_again(rows: Path, storage: Path, metric: str) -> Record:
    """The client is killed without warning at random moments; what it had finished must be as it was.

    A fit that ends is compared, and the next begins anew, until there were enough kills.
    """
    moments, kills, twice, trees = random.Random(0), 0, 0, []
    begin = time.perf_counter()
    while kills < CLIENT_KILLS:
        written = dict[Path, int]()
        while kills < CLIENT_KILLS and _killed(_command(rows, storage, metric, "none"), moments.uniform(*MOMENTS)):
            kills += 1
            now = {path: path.stat().st_mtime_ns for path in storage.glob("*/*.json")}
            twice += sum(now.get(path, stamp) != stamp for path, stamp in written.items())
            written |= now
        told = _fitted(rows, storage, metric, "none")
        trees.append(_left(storage))
        shutil.rmtree(storage)
    told["seconds"] = time.perf_counter() - begin
    same = all(tree == trees[0] for tree in trees)
    return {**told, **trees[0], "kills": kills, "written twice": twice, "fits": len(trees), "same": same}


def _killed(command: list[str], seconds: float) -> bool:
    """Kill a program and those that it started after some time, unless it has ended before."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        program.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        return True
    return False


def _beside_spark(rows: Path, storage: Path) -> Record:
    from ..peers.spark import bisecting_kmeans, cost_above

    begin = time.perf_counter()
    labels, tree = bisecting_kmeans(rows, N_LEAVES)
    seconds = time.perf_counter() - begin
    ours = _fitted(rows, storage, "cosine", "none")
    whole = Tree.load(storage / "tree")
    return {
        "seconds of Spark": seconds,
        "cost of Spark": cost_above(rows, labels, tree),
        "seconds": ours["seconds"],
        "cost": cost_above(rows, *_above(whole, N_LEAVES)),
        "whole cost": ours["cost"],
    }


def _above(tree: Tree, k: int) -> tuple[Any, Tree]:
    """The labels of the cut into k clusters above which the tree costs least, and the tree there."""
    from hyphc._kernels.tree.passes import sums_of_merges
    from hyphc.fit.weighted_leaves import collapsed

    children, sizes = np.array(tree.children), np.asarray(tree.sizes)
    within = sums_of_merges(children, np.array(tree.split_weights))
    cost = sums_of_merges(children, np.array(tree.split_weights) * sizes[tree.n_leaves :])
    labels = tree.cut(k, criterion=lambda _: cost - sizes * within)
    return labels, collapsed(Tree(children), labels)


def cluster_table(store: Store) -> str:
    """Each fit with its time, the most memory of a worker, and what was killed."""
    rows = []
    for task in tasks():
        result = store.get(task.suite, task.case, task.kind, task.method)
        if result is None or not result["records"] or task.method == "spark":
            continue
        found = result["records"][0]
        killed = found.get("kills") or len(found.get("killed", ()))
        rows.append(
            [
                spaced(result["n"]),
                task.kind,
                {"client kills": "client"}.get(task.method, "worker") if killed else "–",
                str(killed),
                f"{found['seconds'] / 60:.1f}",
                f"{max(found['peaks']):.0f}",
                f"{found['storage_mb'] / 1024:.1f}",
                found["tree"],
            ]
        )
    header = ["rows", "similarity", "killed", "times", "minutes", "MB of a worker at most", "GB of storage", "tree"]
    return table(header, rows, "cluster")


def spark_table(store: Store) -> str:
    """Both trees of 1 000 leaves."""
    result = store.get("cluster", "planted-1000000", "cosine", "spark")
    found = result["records"][0] if result is not None and result["records"] else None
    rows = []
    if found is not None:
        cost = found["cost"]
        rows = [
            ["hyphc, the whole tree, cut at 1 000", f"{found['seconds']:.0f}", f"{cost:.6g}", ""],
            [
                "pyspark BisectingKMeans",
                f"{found['seconds of Spark']:.0f}",
                f"{found['cost of Spark']:.6g}",
                f"{100 * (found['cost of Spark'] / cost - 1):+.3f} %",
            ],
        ]
    return table(["method", "seconds", "cost of 1 000 leaves", "above"], rows, "cluster")


TABLES: dict[str, Callable[[Store], str]] = {"cluster-fits": cluster_table, "cluster-spark": spark_table}
