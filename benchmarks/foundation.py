"""Exact costs and decoding against the hardware's own pace: ``python benchmarks/foundation.py``.

Every row is a ratio of two things timed in the same process: machines differ, ratios less so.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from _measure import best_seconds, in_own_process, peak_bytes
from hyphc import Tree, as_similarity, baselines, dasgupta_cost, dendrogram_purity
from hyphc.hyperbolic.decode import decode_angles
from hyphc.similarity import Features


def features(n: int, d: int) -> tuple[float, float, float]:
    """Cost of a tree never seen before against one pass over X; peak memory in units of X."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    similarity = Features(X, offset=0.5, scale=0.5)
    tree = baselines.random_tree(n, random_state=0)
    read = best_seconds(lambda: X.sum())
    # a new Tree each time: an old one remembers the order of its walk
    cost = best_seconds(lambda fresh: dasgupta_cost(fresh, similarity), setup=lambda: (Tree(tree.children),))
    return read, cost, peak_bytes() / X.nbytes


def graph(n_edges: int) -> tuple[float, float, float]:
    """Cost of a random tree on a random graph against sorting the edges once; peak memory in units of the graph."""
    rng = np.random.default_rng(0)
    n = n_edges // 3
    i, j = rng.integers(n, size=(2, n_edges))
    half = sp.coo_array((rng.random(n_edges), (i, j)), shape=(n, n)).tocsr()
    similarity = as_similarity(half + half.T, "precomputed")
    tree = baselines.random_tree(n, random_state=0)
    sort = best_seconds(lambda: np.sort(similarity.data))
    cost = best_seconds(lambda: dasgupta_cost(tree, similarity))
    return sort, cost, peak_bytes() / (similarity.data.nbytes + similarity.indices.nbytes)


def decoding(n: int) -> tuple[float, float, float]:
    """Decoding angles to a tree against NumPy's sort of the same array; peak memory in units of the angles."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, n)
    sort = best_seconds(lambda: np.sort(angles))
    decode = best_seconds(lambda: decode_angles(angles))
    return sort, decode, peak_bytes() / angles.nbytes


def purity(n: int) -> tuple[float, float, float]:
    """Dendrogram purity with ten classes against sorting the labels."""
    labels = np.random.default_rng(0).integers(10, size=n)
    tree = baselines.random_tree(n, random_state=0)
    sort = best_seconds(lambda: np.sort(labels))
    return sort, best_seconds(lambda: dendrogram_purity(tree, labels)), peak_bytes() / labels.nbytes


CASES = [
    ("cost, features n x 64 float32", "one pass over X", features, [(10_000, 64), (100_000, 64), (1_000_000, 64)]),
    ("cost, graph with n edges", "sort of the weights", graph, [(10_000,), (100_000,), (1_000_000,)]),
    ("circle decoding of n points", "np.sort of the angles", decoding, [(10_000,), (100_000,), (1_000_000,)]),
    ("dendrogram purity of n leaves", "np.sort of the labels", purity, [(10_000,), (100_000,), (1_000_000,)]),
]


def main() -> None:
    print(f"{'what':<32} {'n':>9} {'seconds':>9}  {'times':>6} {'of':<22} {'peak / input':>12}")
    for what, unit, function, sizes in CASES:
        for size in sizes:
            base, seconds, memory = in_own_process(function, *size)
            print(
                f"{what:<32} {size[0]:>9} {seconds:>9.4f}  {seconds / base:>6.1f} {unit:<22} {memory:>12.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
