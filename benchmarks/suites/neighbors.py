"""Nearest-neighbour graphs: time, recall and memory, with peers.

Peers are pynndescent and faiss, all on as many threads.

The 15 nearest others of each point. Recall is on 1 000 exact rows. "cold" is the first search of a new process with
an empty cache, in which kernels are compiled; "seconds" is the second. faiss is an inverted file of 4·√n cells, of which as many
are searched as reach a recall of 0.95; it is no dependency of the suite, and left out where it is not installed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
from hyphc import datasets

from ..harness.markdown import spaced, table
from ..harness.points import WORDNET, points
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task

SOURCES = ("_runtime", "_kernels/similarity", "similarity")
K, N_ROWS, RECALL = 15, 1_000, 0.95
SIZES = (100_000, 300_000, 1_000_000)
METHODS = ("hyphc", "pynndescent-16", "pynndescent-31", "faiss")
CASES = (WORDNET, *(f"planted-{n}" for n in SIZES))


def tasks() -> list[Task]:
    return [Task("neighbors", case, "euclidean", method, limit=30 * MINUTE) for case in CASES for method in METHODS]


def records(task: Task) -> Iterator[Record]:
    """Seconds and processor time of a search, its recall, and the seconds of the first search of a process."""
    X = _points(task.case)
    yield {"n": len(X)}
    search = SEARCHES[task.method]
    with tempfile.TemporaryDirectory() as empty:
        _use_cache(empty)
        begin = time.perf_counter()
        search(X)
        cold = time.perf_counter() - begin
        begin, busy = time.perf_counter(), time.process_time()
        neighbours = search(X)
        yield {
            "cold": cold,
            "seconds": time.perf_counter() - begin,
            "processor": time.process_time() - busy,
            "recall": _recall(X, neighbours),
        }


def _points(case: str) -> np.ndarray:
    if case == WORDNET:
        return points(WORDNET).rows.astype(np.float32)
    return datasets.planted(int(case.removeprefix("planted-")), 32, random_state=0).data


def _use_cache(folder: str) -> None:
    """Compiled kernels of this process are sought and kept there."""
    from numba import config

    config.CACHE_DIR = folder


def _hyphc(X: np.ndarray) -> np.ndarray:
    from hyphc.similarity.knn.ivf_index import InvertedFile

    return InvertedFile(X, K, 0, -1).neighbours()[0]


def _pynndescent(X: np.ndarray, n_neighbors: int) -> np.ndarray:
    from pynndescent import NNDescent

    return np.asarray(NNDescent(X, n_neighbors=n_neighbors, random_state=0, n_jobs=-1).neighbor_graph[0])


def _faiss(X: np.ndarray) -> np.ndarray:
    import faiss

    n_cells = int(4 * np.sqrt(len(X)))
    index = faiss.index_factory(X.shape[1], f"IVF{n_cells},Flat")
    index.train(X)
    index.add(X)
    rows = _sample(len(X))
    for n_probes in (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256):
        index.nprobe = min(n_probes, n_cells)
        if _share(index.search(X[rows], K + 1)[1], rows, _truth(X)) >= RECALL:
            break
    return np.asarray(index.search(X, K + 1)[1])


def _sample(n: int) -> np.ndarray:
    return np.random.default_rng(1).choice(n, min(N_ROWS, n), replace=False)


def _truth(X: np.ndarray) -> np.ndarray:
    from sklearn.neighbors import NearestNeighbors

    centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    search = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(centred)
    return np.asarray(search.kneighbors(centred[_sample(len(X))], return_distance=False))


def _recall(X: np.ndarray, neighbours: np.ndarray) -> float:
    rows = _sample(len(X))
    return _share(neighbours[rows], rows, _truth(X))


def _share(found: np.ndarray, rows: np.ndarray, truth: np.ndarray) -> float:
    """Of the K true others, those found among the first K others."""
    pairs = zip(rows, found, truth, strict=True)
    return float(np.mean([len(np.intersect1d(a[a != i][:K], b[b != i][:K])) / K for i, a, b in pairs]))


SEARCHES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "hyphc": _hyphc,
    "pynndescent-16": lambda X: _pynndescent(X, 16),
    "pynndescent-31": lambda X: _pynndescent(X, 31),
    "faiss": _faiss,
}


def searches_table(store: Store) -> str:
    """Ratios are to ours, without compilation and with it; growth is from the next smaller planted set."""
    rows, before = [], {}
    for case in CASES:
        ours = _record(store, case, "hyphc")
        for method in METHODS:
            result = store.get("neighbors", case, "euclidean", method)
            record = _record(store, case, method)
            if result is None or record is None or ours is None:
                continue
            ratio = record["processor"] / ours["processor"]
            cold = record["cold"] / ours["cold"]
            growth = f"{record['processor'] / before[method]:.1f}" if method in before and case != WORDNET else "–"
            if case != WORDNET:
                before[method] = record["processor"]
            memory = f"{(result['peak_mb'] - result['base_mb']) / 1000:.1f}"
            figures = [f"{record['seconds']:.1f}", f"{record['processor']:.1f}", f"{ratio:.1f}", f"{cold:.1f}"]
            rows.append([case, spaced(result["n"]), method, f"{record['recall']:.3f}", *figures, growth, memory])
    header = ["data", "points", "search", "recall", "seconds", "CPU seconds", "ratio", "ratio, cold", "growth", "GB"]
    return table(header, rows, "neighbors")


def _record(store: Store, case: str, method: str) -> Record | None:
    result = store.get("neighbors", case, "euclidean", method)
    return result["records"][0] if result is not None and result["records"] else None


TABLES: dict[str, Callable[[Store], str]] = {"neighbour-searches": searches_table}
