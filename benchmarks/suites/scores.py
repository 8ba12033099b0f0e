"""Time and memory of exact scores, relative to reading the array.

Costs, decoding and purity, as multiples of reading or sorting the same array once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from hyphc import Tree, as_similarity, baselines, dasgupta_cost, dendrogram_purity
from hyphc.hyperbolic.decode import decode_angles
from hyphc.similarity import Features

from ..harness.markdown import spaced, table
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Record, Task
from ..harness.timing import best_seconds

SOURCES = METHOD
SIZES = (10_000, 100_000, 1_000_000)
COLUMNS = 64


def tasks() -> list[Task]:
    return [Task("scores", str(n), kind, "score") for kind in KINDS for n in SIZES]


def records(task: Task) -> Iterator[Record]:
    """Seconds of the score, seconds of its unit, and the size of the input."""
    yield {"n": int(task.case)}
    unit, seconds, size = KINDS[task.kind][0](int(task.case))
    yield {"seconds": seconds, "unit_seconds": unit, "input_mb": size / 2**20}


def _features(n: int) -> tuple[float, float, int]:
    """Cost of a tree never seen before against one pass over X."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    similarity = Features(X, offset=0.5, scale=0.5)
    tree = baselines.random_tree(n, random_state=0)
    # a new Tree each time: an old one remembers the order of its walk
    cost = best_seconds(lambda fresh: dasgupta_cost(fresh, similarity), setup=lambda: (Tree(tree.children),))
    return best_seconds(lambda: X.sum()), cost, X.nbytes


def _graph(n_edges: int) -> tuple[float, float, int]:
    """Cost of a random tree on a random graph against sorting the edges once."""
    rng = np.random.default_rng(0)
    n = n_edges // 3
    i, j = rng.integers(n, size=(2, n_edges))
    half = sp.coo_array((rng.random(n_edges), (i, j)), shape=(n, n)).tocsr()
    similarity = as_similarity(half + half.T, "precomputed")
    tree = baselines.random_tree(n, random_state=0)
    sort = best_seconds(lambda: np.sort(similarity.data))
    cost = best_seconds(lambda: dasgupta_cost(tree, similarity))
    return sort, cost, similarity.data.nbytes + similarity.indices.nbytes


def _decoding(n: int) -> tuple[float, float, int]:
    """Decoding angles to a tree against NumPy's sort of the same array."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, n)
    return best_seconds(lambda: np.sort(angles)), best_seconds(lambda: decode_angles(angles)), angles.nbytes


def _purity(n: int) -> tuple[float, float, int]:
    """Dendrogram purity with ten classes against sorting the labels."""
    labels = np.random.default_rng(0).integers(10, size=n)
    tree = baselines.random_tree(n, random_state=0)
    return best_seconds(lambda: np.sort(labels)), best_seconds(lambda: dendrogram_purity(tree, labels)), labels.nbytes


KINDS: dict[str, tuple[Callable[[int], tuple[float, float, int]], str, str]] = {
    "features": (_features, f"cost, features n × {COLUMNS} in float32", "one pass over X"),
    "graph": (_graph, "cost, graph with n edges", "sort of the weights"),
    "decoding": (_decoding, "circle decoding of n points", "sort of the angles"),
    "purity": (_purity, "dendrogram purity of n leaves", "sort of the labels"),
}


def scores_table(store: Store) -> str:
    rows = []
    for kind, (_, what, unit) in KINDS.items():
        for n in SIZES:
            result = store.get("scores", str(n), kind, "score")
            for record in (result or {}).get("records", []):
                times = f"{record['seconds'] / record['unit_seconds']:.1f} × {unit}"
                memory = f"{record['input_mb']:.1f}, {result['peak_mb']:.0f}"
                rows.append([what, spaced(n), f"{record['seconds']:.2g}", times, memory])
    return table(["what", "n", "seconds", "ratio", "MB of the input, and of the process at its peak"], rows, "scores")


TABLES: dict[str, Callable[[Store], str]] = {"scores": scores_table}
