"""The first pass over the rows: column statistics, a sample chosen by hash, and the tree of the sample.

The sample are the rows with the smallest hashes of row number and seed.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.duplicate_rows import mix_bits
from ..scores.cluster_number import number_of_clusters
from ..scores.heights import with_similarity_heights
from ..similarity import Background, Blend, Features, Graph, Similarity, unit_rows
from ..similarity.blend import BlendRows
from ..similarity.group_sums import indicator
from ..similarity.knn.edge_weights import fuzzy_memberships
from ..similarity.knn.search import EXACT_LIMIT, NeighborIndex, query_rows
from ..similarity.neighbor_metrics import Auto
from ..similarity.scaling import ColumnScaling, Moments, compute_moments, scaling_from_moments
from ..tree import Tree
from .array_sources import Rows
from .job import Job
from .records import SampleTree, Statistics
from .row_sources import StoredRows
from .search_settings import search_tree

CELL = 8  # leaves of the sample's tree at most, in the smallest subtree that a row is assigned to
# Candidates of a sample of m rows: so many standard deviations above m, so that hardly ever too few are kept.
SURPLUS = 6.0
EXACT_UP_TO = 2_000  # rows of a sample or a part that are compared one by one with others
NEARBY = 16  # cells near a row, in whose parts neighbours are searched: 99.9 % were there in a planted set of 100 000
MOMENTS = ("centre", "squares", "smallest", "largest", "binary")


def collect_statistics(job: Job, number: int) -> Statistics:
    """Return the moments of a block's columns, and its candidates for the sample."""
    rows, start = job.block(number)
    moments = compute_moments(rows)
    ids = np.arange(start, start + len(rows))
    hashes = hash_ids(ids, job.settings.seed)
    m, n = job.sample_size, job.n
    chosen = np.flatnonzero(hashes <= min(1.0, (m + SURPLUS * np.sqrt(m)) / n) * float(np.iinfo(np.uint64).max))
    columns = {name: getattr(moments, name) for name in MOMENTS}
    return Statistics(
        **columns, ids=ids[chosen], hashes=hashes[chosen], rows=rows[chosen], digest=_compute_digest(rows)
    )


def require_same_rows(job: Job, number: int) -> None:
    """Raise if the rows of a block differ from those that the stored statistics are of."""
    if isinstance(job.source, StoredRows):
        return  # in the storage itself, with checksums
    rows, start = job.block(number)
    if not np.array_equal(_compute_digest(rows), job.shard(Statistics, number).digest):
        raise ValueError(
            f"{str(job.store.place)!r} holds a fit of other data: not all rows from {start} to {start + len(rows) - 1} are "
            "the same; choose another folder, or remove it to start again."
        )


def _compute_digest(rows: Rows) -> npt.NDArray[np.uint8]:
    content = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    return np.frombuffer(hashlib.sha256(content.data).digest(), dtype=np.uint8)


def hash_ids(ids: Ints, seed: int) -> npt.NDArray[np.uint64]:
    """Return a pseudorandom number in [0, 2^64) for each row.

    Examples
    --------
    >>> len(np.unique(hash_ids(np.arange(1000), 0) >> np.uint64(32)))
    1000
    """
    golden = 0x9E3779B97F4A7C15
    # seeds far apart: the numbers of one must not be those of the next, moved by a row
    mixed = (ids.astype(np.uint64) + np.uint64((seed * 0xD1342543DE82EF95 + 1) % 2**64)) * np.uint64(golden)
    return mix_bits(mixed)


def compute_scaling(job: Job) -> ColumnScaling:
    """Return the column scaling, decided from all rows."""
    found = []
    for number, shard in enumerate(job.shards(Statistics, job.n_blocks)):
        start = number * job.block_rows
        columns = {name: getattr(shard, name) for name in MOMENTS}
        found.append(Moments(float(min(job.block_rows, job.n - start)), **columns))
    return scaling_from_moments(reduce(Moments.merge, found), job.settings.scale)


def fit_sample(job: Job, _: int = 0) -> SampleTree:
    """Return the sample, its similarity and its tree, and the cells: its subtrees of a few leaves."""
    shards = list(job.shards(Statistics, job.n_blocks))
    hashes = np.concatenate([shard.hashes for shard in shards])
    ids, raw = np.concatenate([shard.ids for shard in shards]), np.concatenate([shard.rows for shard in shards])
    chosen = np.sort(np.argsort(hashes, kind="stable")[: job.sample_size])
    columns = compute_scaling(job) if job.has_edges else None
    rows = scale_rows(raw[chosen], columns)
    if rows.shape[1] == 0:
        raise ValueError("No column varies: all rows are equal, and every tree of them is as good.")
    similarity = _compute_similarity(job, rows)
    tree = with_similarity_heights(search_tree(job, similarity, job.settings.seed, -1), similarity)
    cells = tree.cut(max_size=CELL)
    sample = SampleTree(
        ids=ids[chosen],
        rows=rows,
        children=tree.children,
        cells=cells,
        n_clusters=np.array(number_of_clusters(similarity, tree).n_clusters),
    )
    if columns is not None and isinstance(similarity, Blend):
        graph, background = similarity.parts
        sample.centre, sample.factor = columns.centre, columns.factor
        sample.indptr, sample.indices, sample.data = graph.indptr, graph.indices, graph.data
        sample.slope, sample.level = np.array(background.slope), np.array(background.level)
    return sample


def scale_rows(rows: Rows, columns: ColumnScaling | None) -> Rows:
    """Return the rows with columns scaled, or without a scaling as unit vectors, in the precision given."""
    return unit_rows(rows) if columns is None else columns(rows).astype(rows.dtype)


def _compute_similarity(job: Job, rows: Rows) -> Similarity:
    settings = job.settings
    if not job.has_edges:
        return Features(rows, offset=0.5, scale=0.5)
    n_jobs = -1 if len(rows) > EXACT_LIMIT else None  # few rows are searched by scikit-learn, which has threads
    metric = Auto(settings.n_neighbors, settings.edge_weights, False, settings.background, n_jobs, settings.seed)
    return metric.build(rows)


class Sample:
    """The sample's tree, with what is needed to insert other rows."""

    def __init__(self, job: Job) -> None:
        shard = job.shard(SampleTree)
        self.tree, self.rows, self.cells = Tree(np.array(shard.children)), np.array(shard.rows), np.array(shard.cells)
        members = indicator(self.cells)
        self.centres = np.asarray(members @ self.rows.astype(np.float64)) / np.bincount(self.cells)[:, None]
        self._edge_weights = job.settings.edge_weights
        self.columns: ColumnScaling | None = None
        if not job.has_edges:
            self.similarity: Similarity = Features(self.rows, offset=0.5, scale=0.5)
            return
        self.columns = ColumnScaling(np.array(shard.centre), np.array(shard.factor), "")
        graph = sp.csr_array((shard.data, shard.indices, shard.indptr), shape=(len(self.rows), len(self.rows)))
        background = Background(self.rows, slope=float(shard.slope), level=float(shard.level))
        self.similarity = Blend(Graph(graph), background)
        self._index = build_index(self.rows, job.settings.n_neighbors)
        self._centre_index = build_index(self.centres, NEARBY)

    def extend(self, rows: Rows, neighbors: Ints | None, distances: Floats | None) -> Similarity:
        """Return the similarity of the sample and further rows, whose nearest sampled rows are ``neighbors``."""
        if neighbors is None or distances is None:
            return self.similarity.extended(rows)
        edges = self.weight_edges(neighbors, distances, len(self.rows))
        return self.similarity.extended(BlendRows(edges, rows.astype(np.float64)))

    def weight_edges(self, ends: Ints, distances: Floats, n_ends: int) -> sp.csr_array[np.float64]:
        """Return the directed edges of new rows to their nearest neighbours, as a matrix (m, n_ends)."""
        weights = np.ones_like(distances) if self._edge_weights == "binary" else fuzzy_memberships(distances)
        starts = np.arange(0, weights.size + 1, weights.shape[1])
        return sp.csr_array((weights.ravel(), ends.ravel(), starts), shape=(len(ends), n_ends))

    def find_nearby_cells(self, rows: Rows, k: int) -> npt.NDArray[np.int32]:
        """Return the k cells whose sampled rows have the nearest means: (m, k).

        Fewer misses than with the cells of the nearest sampled rows: a mean has less noise than a row.
        """
        k = min(k, len(self.centres))
        return query_rows(self.centres, rows.astype(np.float64), k, "euclidean", self._centre_index)[0].astype(np.int32)

    def find_neighbors(self, rows: Rows, k: int) -> tuple[Ints, Floats]:
        """Return the nearest sampled rows of each row, and their distances: (m, k)."""
        return query_rows(self.rows, rows, min(k, len(self.rows)), "euclidean", self._index)


def load_sample(job: Job) -> Sample:
    """Return the sample with its search indices; cached, since a process has many tasks."""
    return _load_sample(job.store.digest(SampleTree.stage), job)


@lru_cache(maxsize=1)
def _load_sample(digest: str, job: Job) -> Sample:
    return Sample(job)


def build_index(rows: Rows, k: int) -> NeighborIndex | None:
    """Return an index for the k nearest neighbours, to be searched by one thread; None for few rows, which need none."""
    return NeighborIndex(rows, k, "euclidean", 1) if len(rows) > max(EXACT_UP_TO, k) else None
