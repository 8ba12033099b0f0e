"""Long runs in one process: memory and results over time.

A million points are added in batches, a thousand fits made, and fits run in 32 threads.

"insertions": planted rows (8 columns, cosine) are added by `partial_fit`, 10 000 at a time; at some sizes the same rows are
fitted anew, and the cost of the grown tree is compared with that. "fits": one small fit after the other, each another table.
"threads": 32 fits at once, and predictions of one model from many threads, against the same alone. Memory is the resident memory
of the process, as Linux reports it. Seconds are CPU time: they do not count what other processes do.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness.markdown import NOTHING, spaced, table
from benchmarks.harness.sources import METHOD
from benchmarks.harness.store import Store
from benchmarks.harness.task import MINUTE, Record, Task
from hyphc import HypHC, datasets

SOURCES = METHOD
N_POINTS, BATCH, COLUMNS = 1_000_000, 10_000, 8
COMPARED = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)  # sizes at which the rows are fitted anew
N_FITS, EVERY, WARM = 1_000, 25, 25
N_THREADS, N_ASKED = 32, 256
INSERTIONS = Task("soak", "planted", "cosine", "insertions", 180 * MINUTE)
FITS = Task("soak", "small", "auto", "fits", 60 * MINUTE)
THREADS = Task("soak", "small", "auto", "threads", 20 * MINUTE)


def tasks() -> list[Task]:
    return [THREADS, FITS, INSERTIONS]


def records(task: Task) -> Iterator[Record]:
    return {"insertions": _insertions, "fits": _fits, "threads": _threads}[task.method]()


def _resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def _insertions() -> Iterator[Record]:
    rows = datasets.planted(N_POINTS, COLUMNS, random_state=0).data
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    yield {"n": len(rows)}
    model = HypHC(metric="cosine", n_clusters=10, random_state=0).fit(rows[:BATCH])
    for begin in range(BATCH, len(rows), BATCH):
        start = time.process_time()
        model.partial_fit(rows[begin : begin + BATCH])
        n, spent = model.n_leaves_, time.process_time() - start
        record = {"size": n, "seconds": spent, "memory_mb": _resident_mb(), "cost": model.cost_}
        if n in COMPARED:
            record["fresh_cost"] = _fresh_cost(rows[:n])
        yield record


def _fresh_cost(rows: np.ndarray) -> float:
    return float(HypHC(metric="cosine", n_clusters=10, random_state=0).fit(rows).cost_)


def _small(seed: int) -> HypHC:
    rng = np.random.default_rng(seed)
    return HypHC(random_state=seed).fit(rng.normal(size=(50 + seed % 50, 4)))


def _fits() -> Iterator[Record]:
    yield {"n": 100}
    for k in range(WARM):
        _small(k)
    yield {"fits": 0, "memory_mb": _resident_mb()}
    for k in range(1, N_FITS + 1):
        _small(k)
        if k % EVERY == 0:
            yield {"fits": k, "memory_mb": _resident_mb()}


def _threads() -> Iterator[Record]:
    yield {"n": 100}
    alone = [_small(k) for k in range(N_THREADS)]
    with ThreadPoolExecutor(N_THREADS) as pool:
        together = list(pool.map(_small, range(N_THREADS)))
    same = sum(
        a.tree_ == b.tree_ and bool((a.labels_ == b.labels_).all()) for a, b in zip(alone, together, strict=True)
    )
    model, new = alone[0], np.random.default_rng(1).normal(size=(200, 4))
    answer = model.predict(new)
    with ThreadPoolExecutor(N_THREADS) as pool:
        asked = list(pool.map(lambda _: bool((model.predict(new) == answer).all()), range(N_ASKED)))
    yield {"fits": N_THREADS, "same_fits": same, "asked": N_ASKED, "same_answers": sum(asked)}


def memory_growth(records: list[Record]) -> float:
    """Return by which share the memory of the last record exceeds that of the first."""
    return float(records[-1]["memory_mb"] / records[0]["memory_mb"] - 1)


def soak_table(store: Store) -> str:
    """Return a row for each kind of run."""
    found = {task: (store.of(task) or {}).get("records", []) for task in tasks()}
    rows: list[list[str]] = []
    for record in found[THREADS]:
        rows.append(["fits in 32 threads", spaced(record["fits"]), f"{record['same_fits']} as alone"])
        rows.append(
            ["`predict` of one model from 32 threads", spaced(record["asked"]), f"{record['same_answers']} as alone"]
        )
    if found[FITS]:
        last, growth = found[FITS][-1], memory_growth(found[FITS])
        rows.append(
            ["fits in one process", spaced(last["fits"]), f"memory {100 * growth:+.1f} % ({last['memory_mb']:.0f} MB)"]
        )
    if found[INSERTIONS]:
        rows.append(_insertion_row(found[INSERTIONS]))
    return table(["what", "how often", "what came of it"], rows, "soak")


def _insertion_row(records: list[Record]) -> list[str]:
    first, last = records[0], records[-1]
    a_point = 1e6 * (last["memory_mb"] - first["memory_mb"]) / max(1, last["size"] - first["size"])
    return [
        f"points added by `partial_fit`, {spaced(BATCH)} at a time",
        spaced(last["size"]),
        f"{a_point:.0f} bytes a point, {1e3 * sum(r['seconds'] for r in records) / last['size']:.2f} ms a point",
    ]


def grown_table(store: Store) -> str:
    """Return the cost of the tree that grew beside that of a new fit of the same rows."""
    records = (store.of(INSERTIONS) or {}).get("records", [])
    rows = [_grown_row(record) for record in records if "fresh_cost" in record]
    return table(["points", "cost, grown", "cost of a new fit", "more by", "memory, MB"], rows, "soak insertions")


def _grown_row(record: dict[str, Any]) -> list[str]:
    fresh = record["fresh_cost"]
    more = f"{100 * (record['cost'] / fresh - 1):.3f} %" if fresh else NOTHING
    return [spaced(record["size"]), f"{record['cost']:.6g}", f"{fresh:.6g}", more, f"{record['memory_mb']:.0f}"]


TABLES: Mapping[str, Callable[[Store], str]] = {"soak": soak_table, "grown": grown_table}
