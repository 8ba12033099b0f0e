"""The similarity of all rows in memory, from the shards of an out-of-core fit."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._runtime.validation import require_memory
from ..similarity import Background, Blend, Graph, Similarity
from ..similarity.metrics import Cosine
from ..similarity.neighbor_metrics import Auto, ScaledRows, repeat_leaves
from .job import Job
from .partition_trees import load_background
from .records import Leaves, PartGraph
from .sample import load_sample


def load_similarity(job: Job) -> Similarity:
    """Return the similarity of all rows, with the nearest neighbours that were found out of core."""
    n, d = job.source.shape
    require_memory(40.0 * n * d, f"A model of {n} rows in memory", "stay with the one fitted out of core")
    if not job.has_edges:
        return Cosine().similarity(job.source.read(0, n))
    first, group = [], np.empty(n, dtype=np.int64)
    made, rows, sizes = 0, [], []
    for leaves in job.shards(Leaves, job.n_parts()):
        group[leaves.ids] = made + leaves.leaf
        first.append(made)
        rows.append(leaves.rows.astype(np.float64))
        sizes.append(np.array(leaves.sizes))
        made += len(sizes[-1])
    return _blend(job, np.concatenate(rows), np.concatenate(sizes), _load_graph(job, np.array(first), made), group)


def _load_graph(job: Job, first: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> sp.csr_array[np.float64]:
    ends = []
    for part, shard in enumerate(job.shards(PartGraph, job.n_parts())):
        own = np.repeat(np.arange(len(shard.indptr) - 1), np.diff(shard.indptr))
        ends.append((first[part] + own, first[part] + shard.indices, shard.data))
        ends.append((first[part] + shard.leaf, first[shard.other_part] + shard.other_leaf, shard.weight))
    i, j, weight = (np.concatenate(values) for values in zip(*ends, strict=True))
    return sp.csr_array((weight, (i, j)), shape=(n, n))


def _blend(
    job: Job,
    rows: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    sizes: np.ndarray[tuple[int], np.dtype[np.float64]],
    graph: sp.csr_array[np.float64],
    group: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Blend:
    """Return the blend of all rows; leaves are in the order of the parts."""
    settings, strength = job.settings, load_background(job)
    assert strength is not None
    squares = np.einsum("ij,ij->i", rows, rows) * sizes
    background = Background(
        rows * sizes[:, None], slope=strength.slope, level=strength.level, squares=squares, sizes=sizes
    )
    blend = Blend(Graph(graph, sizes=sizes), background)
    blend.metric = Auto(settings.n_neighbors, settings.edge_weights, settings.scale, settings.background)
    blend.source = ScaledRows(load_sample(job).columns, None, rows)
    return repeat_leaves(blend, group, np.ones(len(group)))
