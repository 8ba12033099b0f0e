"""Out-of-core fits and fits in memory: cost, purity, time, memory.

Each stage is timed, too.

Both trees are scored under the similarity of the fit at once. "above" is the difference of costs as a share of the cost of the
graph's part (of all of it for cosines): the level of a background is arbitrary, and so is a share of a cost that includes it.
"Above on its graph" is the same under the similarity that the parts made, beside a fit at once of that one. Planted data
have a decay of 0.95. All is done several times, each time with the rows in another order and with another seed: the purity of one
tree is more chance than what is compared. ``billion`` puts measured seconds of tasks on many machines and adds up.
"""

from __future__ import annotations

import heapq
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from hyphc import HypHC, Tree, as_similarity, dasgupta_cost, datasets, dendrogram_purity

from ..harness.markdown import spaced, table
from ..harness.points import WORDNET, points
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = ("_runtime", "_kernels", "similarity", "search", "fit", "out_of_core", "dask")
SIZES = (20_000, 100_000, 200_000, 1_000_000)
METRICS = ("cosine", "auto")
CASES = (*(f"planted-{n}" for n in SIZES), WORDNET)
REPEATS = 3
SMALL_PARTS = {20_000: {"part_size": 4_000, "sample_size": 2_500}}  # so that there are several
MACHINES, CORES = 100, 16


def tasks() -> list[Task]:
    kinds = [(case, metric) for case in CASES for metric in METRICS]
    return [Task("parts", case, metric, "by parts", limit=120 * MINUTE) for case, metric in kinds]


def records(task: Task) -> Iterator[Record]:
    """Both fits, their costs under one similarity, their purities, and the seconds of each stage with its number of tasks.

    The first record is of the rows as they come."""
    X, labels = _points(task.case)
    yield {"n": len(X)}
    for repeat in range(REPEATS):
        order = np.random.default_rng(repeat).permutation(len(X)) if repeat else np.arange(len(X))
        yield _compared(X[order], labels[order], task.kind, repeat)


def _compared(X: np.ndarray, labels: np.ndarray, metric: str, seed: int) -> Record:
    begin = time.perf_counter()
    alone = HypHC(len(np.unique(labels)), metric=metric, random_state=seed).fit(X)
    seconds = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        stages, tree, own, same = _by_parts(X, metric, seed, Path(folder))
    similarity = alone.similarity_ if metric == "auto" else as_similarity(X, metric)
    whole, parts = alone.cost_, dasgupta_cost(tree, similarity)
    return {
        "seconds": seconds,
        "seconds by parts": sum(spent for _, _, spent in stages),
        "above": (parts - whole) / dasgupta_cost(alone.tree_, similarity.local_part),
        "cost": whole,
        "cost by parts": parts,
        "own cost": own,
        "above on its graph": same,
        "recall": similarity.recall_,
        "purity": dendrogram_purity(alone.tree_, labels),
        "purity by parts": dendrogram_purity(tree, labels),
        "stages": stages,
    }


def _points(case: str) -> tuple[np.ndarray, np.ndarray]:
    if case == WORDNET:
        found = points(WORDNET)
        return found.rows.astype(np.float32), np.asarray(found.labels)
    found = datasets.planted(int(case.removeprefix("planted-")), 32, decay=0.95, random_state=0)
    return found.data, found.labels


def _by_parts(
    X: np.ndarray, metric: str, seed: int, folder: Path
) -> tuple[list[tuple[str, int, float]], Tree, float, float]:
    from hyphc.out_of_core.job import Job, JobSettings
    from hyphc.out_of_core.labels import load_tree
    from hyphc.out_of_core.records import FinishedTree
    from hyphc.out_of_core.row_sources import open_rows
    from hyphc.out_of_core.stages import make_thread_executor, run_task, stages
    from hyphc.out_of_core.to_memory import load_similarity

    np.save(folder / "x.npy", X)
    settings = JobSettings(metric=metric, seed=seed, **SMALL_PARTS.get(len(X), {}))
    job = Job(open_rows(folder / "x.npy"), settings, str(folder / "store"))
    job.open()
    spent = []
    for stage in stages(job):
        begin, count = time.perf_counter(), stage.count(job)
        make_thread_executor(-1)(partial(run_task, job, stage), count, stage)
        spent.append((stage.name, count, time.perf_counter() - begin))
    cost, similarity = float(job.shard(FinishedTree).cost), load_similarity(job)
    alone = HypHC(2, random_state=0).fit(similarity)
    above = (cost - alone.cost_) / dasgupta_cost(alone.tree_, similarity.local_part)
    return spent, Tree(np.array(load_tree(job).children)), cost, above  # the folder goes


def cost_table(store: Store) -> str:
    """Costs, purities and times side by side: means and ranges, medians of times."""
    rows = []
    for task in tasks():
        result = store.get(task.suite, task.case, task.kind, task.method)
        if result is None or not result["records"]:
            continue
        found = {name: [record[name] for record in result["records"]] for name in result["records"][0]}
        figures = [_percent(found["above"]), f"{100 * np.mean(found['above on its graph']):.4f} %"]
        figures += [f"{np.mean(found['recall']):.3f}"]
        figures += [_mean_and_range(found[name]) for name in ("purity", "purity by parts")]
        times = [float(np.median(found[name])) for name in ("seconds", "seconds by parts")]
        figures += [f"{times[0]:.1f} → {times[1]:.1f} ({times[1] / times[0]:.1f} ×)"]
        rows.append([task.case, spaced(result["n"]), task.kind, *figures])
    header = ["data", "points", "similarity", "above", "above on its graph", "recall in memory"]
    header += ["purity in memory", "purity out of core", "seconds"]
    return table(header, rows, "parts")


def _mean_and_range(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def _percent(shares: list[float]) -> str:
    return f"{100 * np.mean(shares):.4f} % ({100 * min(shares):.4f} to {100 * max(shares):.4f})"


def simulated(costs: list[tuple[str, int, float]], workers: int) -> list[tuple[str, int, float]]:
    """Stages one after the other, each a list of equal tasks that free workers take: (name, tasks, seconds of the stage)."""
    wait_for = []
    for name, count, seconds in costs:
        free = [0.0] * workers
        for _ in range(count):
            heapq.heappush(free, heapq.heappop(free) + seconds)
        wait_for.append((name, count, max(free)))
    return wait_for


# Names of stages in results that were measured before they were renamed.
FORMER_NAMES = {
    "survey": "statistics",
    "parts": "partition",
    "answers": "candidates",
    "lists": "neighbors",
    "borders": "adjacent-parts",
    "weights": "background",
    "fits": "part-trees",
    "coarse": "coarse-edges",
    "top": "top-tree",
    "settled": "degrees",
}


def billion(stages: list[tuple[str, int, float]], n: int) -> list[tuple[str, int, float]]:
    """Tasks of a fit of 10⁹ rows and the seconds of each, from those of a fit of n rows on two cores.

    There are 1 000 blocks and 50 000 parts of 20 000 rows; a task's seconds are in proportion to its rows. The sample has 400 000
    rows, and the tree of the frontier as many leaves as at some 10⁶ rows. What one task does with the whole tree grows with n.
    """
    costs = []
    for measured, count, spent in stages:
        processor = 2 * spent if count > 1 else spent
        kind, dash, number = measured.partition("-") if measured[-1].isdigit() else (measured, "", "")
        kind = FORMER_NAMES.get(kind, kind)
        name = f"{kind}{dash}{number}"
        if kind in ("statistics", "assignment", "shuffle"):
            costs.append((name, 1_000, processor * 1e6 / n))
        elif kind in ("sample", "top-tree"):
            costs.append((name, 1, processor * 20))
        elif kind in ("partition", "adjacent-parts", "background", "tree"):
            costs.append((name, 1, processor * 1e9 / n))
        else:
            costs.append((name, 50_000, processor * 2e4 / n))
    return costs


def billion_table(store: Store) -> str:
    """The stages of 10⁹ rows on 100 machines of 16 cores, simulated with measured seconds."""
    rows = []
    for metric in METRICS:
        result = store.get("parts", "planted-100000", metric, "by parts")
        if result is None or not result["records"]:
            continue
        costs = billion([tuple(stage) for stage in result["records"][0]["stages"]], result["n"])
        for (name, count, task), (_, _, wall) in zip(costs, simulated(costs, MACHINES * CORES), strict=True):
            rows.append([metric, name, spaced(count), f"{task:.2f}", f"{wall:.0f}"])
        total = sum(wall for _, _, wall in simulated(costs, MACHINES * CORES))
        rows.append([metric, "all", spaced(sum(count for _, count, _ in costs)), "", f"{total:.0f}"])
    return table(["similarity", "stage", "tasks", "seconds a task", "seconds of the stage"], rows, "parts")


TABLES: dict[str, Callable[[Store], str]] = {"parts-costs": cost_table, "parts-billion": billion_table}
