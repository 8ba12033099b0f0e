"""The similarity of all rows in memory, from the shards of an out-of-core fit."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Ints
from .._runtime.validation import require_memory
from ..similarity import Blend, Similarity
from ..similarity.metrics import Cosine
from ..similarity.neighbor_metrics import Auto, ScaledRows, repeat_leaves
from .job import Job
from .partition import sum_leaves
from .partition_trees import build_similarity
from .records import Leaves, PartGraph
from .sample import load_sample


def load_similarity(job: Job) -> Similarity:
    """Return the similarity of all rows, with the nearest neighbours that were found out of core."""
    n, d = job.source.shape
    require_memory(40.0 * n * d, f"A model of {n} rows in memory", "stay with the one fitted out of core")
    if not job.has_edges:
        return Cosine().similarity(job.source.read(0, n))
    shards = list(job.shards(Leaves, job.n_parts()))
    sizes = np.concatenate([leaves.sizes for leaves in shards])
    first = np.cumsum([0, *(len(leaves.sizes) for leaves in shards)])
    rows, group = np.concatenate([leaves.rows for leaves in shards]).astype(np.float64), np.empty(n, dtype=np.int64)
    for start, leaves in zip(first.tolist(), shards, strict=False):
        group[leaves.ids] = start + leaves.leaf
    blend = build_similarity(job, *sum_leaves(rows, sizes), sizes, _load_graph(job, first))
    assert isinstance(blend, Blend)
    settings = job.settings
    blend.metric = Auto(settings.n_neighbors, settings.edge_weights, settings.scale, settings.background)
    blend.source = ScaledRows(load_sample(job).columns, None, rows)
    return repeat_leaves(blend, group, np.ones(n))


def _load_graph(job: Job, first: Ints) -> sp.csr_array[np.float64]:
    """Return the graph of all leaves; ``first`` is the number of the first leaf of each part, and that of all leaves."""
    ends = []
    for part, shard in enumerate(job.shards(PartGraph, job.n_parts())):
        own = np.repeat(np.arange(len(shard.indptr) - 1), np.diff(shard.indptr))
        ends.append((first[part] + own, first[part] + shard.indices, shard.data))
        ends.append((first[part] + shard.leaf, first[shard.other_part] + shard.other_leaf, shard.weight))
    i, j, weight = (np.concatenate(values) for values in zip(*ends, strict=True))
    return sp.csr_array((weight, (i, j)), shape=(first[-1], first[-1]))
