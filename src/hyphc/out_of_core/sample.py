"""The first pass over the rows: what columns are like, a sample chosen by hash, and the tree of the sample.

Whether a row is in the sample depends on its number and the seed alone: the rows with the smallest hashes are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
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
from .job import Problem
from .npy_source import Rows
from .row_sources import StoredRows
from .search_settings import searched

CELL = 8  # leaves of the sample's tree at most, in the smallest subtree that a row is assigned to
# Candidates of a sample of m rows: so many standard deviations above m, so that hardly ever too few are kept.
SURPLUS = 6.0
EXACT_UP_TO = 2_000  # rows of a sample or a part that are compared one by one with others
NEAR = 16  # cells near a row, in whose parts its neighbours may be: 99.9 % were, in one planted set of 100 000
MOMENTS = ("centre", "squares", "smallest", "largest", "binary")


def survey(problem: Problem, number: int) -> Arrays:
    """A block's columns, and its candidates for the sample."""
    rows, start = problem.block(number)
    moments = compute_moments(rows)
    ids = np.arange(start, start + len(rows))
    hashes = hashed(ids, problem.recipe.seed)
    m, n = problem.sample_size, problem.n
    chosen = np.flatnonzero(hashes <= min(1.0, (m + SURPLUS * np.sqrt(m)) / n) * float(np.iinfo(np.uint64).max))
    told = {name: getattr(moments, name) for name in MOMENTS}
    return {**told, "ids": ids[chosen], "hashes": hashes[chosen], "rows": rows[chosen], "digest": _digest(rows)}


def require_same_rows(problem: Problem, number: int) -> None:
    """Raise if the rows of a block are not those that were surveyed when the fit began."""
    if isinstance(problem.source, StoredRows):
        return  # in the storage itself, with checksums
    rows, start = problem.block(number)
    if not np.array_equal(_digest(rows), problem.store.one("survey", number, "digest")):
        raise ValueError(
            f"{str(problem.store.place)!r} holds a fit of other data: not all rows from {start} to {start + len(rows) - 1} are "
            "the same; choose another folder, or remove it to begin anew."
        )


def _digest(rows: Rows) -> npt.NDArray[np.uint8]:
    content = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    return np.frombuffer(hashlib.sha256(content.data).digest(), dtype=np.uint8)


def hashed(ids: Ints, seed: int) -> npt.NDArray[np.uint64]:
    """A number between 0 and 2^64 for each row, as good as random (the finaliser of SplitMix64).

    Examples
    --------
    >>> len(np.unique(hashed(np.arange(1000), 0) >> np.uint64(32)))
    1000
    """
    golden = 0x9E3779B97F4A7C15
    # seeds far apart: the numbers of one must not be those of the next, moved by a row
    mixed = (ids.astype(np.uint64) + np.uint64((seed * 0xD1342543DE82EF95 + 1) % 2**64)) * np.uint64(golden)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def scaling(problem: Problem) -> ColumnScaling:
    """What is done to columns, decided from all rows."""
    found = []
    for number, piece in enumerate(problem.pieces("survey", problem.n_blocks, *MOMENTS)):
        start = number * problem.block_rows
        found.append(Moments(float(min(problem.block_rows, problem.n - start)), **piece))
    return scaling_from_moments(reduce(Moments.merge, found), problem.recipe.scale)


def sample_tree(problem: Problem, _: int = 0) -> Arrays:
    """The sample, its similarity and its tree, and the cells in which rows are gathered: its subtrees of a few leaves."""
    pieces = list(problem.pieces("survey", problem.n_blocks, "ids", "hashes", "rows"))
    hashes, ids, raw = (np.concatenate([piece[name] for piece in pieces]) for name in ("hashes", "ids", "rows"))
    chosen = np.sort(np.argsort(hashes, kind="stable")[: problem.sample_size])
    columns = scaling(problem) if problem.has_edges else None
    rows = placed(raw[chosen], columns)
    if rows.shape[1] == 0:
        raise ValueError("No column varies: all rows are equal, and every tree of them is as good.")
    similarity = _similarity(problem, rows)
    tree = with_similarity_heights(searched(problem, similarity, problem.recipe.seed, -1), similarity)
    cells = tree.cut(max_size=CELL)
    told: Arrays = {"ids": ids[chosen], "rows": rows, "children": tree.children, "cells": cells}
    told["n_clusters"] = np.array(number_of_clusters(similarity, tree).n_clusters)
    if columns is not None:
        told |= {"centre": columns.centre, "factor": columns.factor}
    if isinstance(similarity, Blend):
        graph, background = similarity.parts
        told |= {"indptr": graph.indptr, "indices": graph.indices, "data": graph.data}
        told |= {"slope": np.array(background.slope), "level": np.array(background.level)}
    return told


def placed(rows: Rows, columns: ColumnScaling | None) -> Rows:
    """Rows as the similarity sees them, in the precision in which they came: columns scaled, or of unit length."""
    return unit_rows(rows) if columns is None else columns(rows).astype(rows.dtype)


def _similarity(problem: Problem, rows: Rows) -> Similarity:
    recipe = problem.recipe
    if not problem.has_edges:
        return Features(rows, offset=0.5, scale=0.5)
    n_jobs = (
        -1 if len(rows) > EXACT_LIMIT else None
    )  # few rows are searched by scikit-learn, which has threads of its own
    metric = Auto(recipe.n_neighbors, recipe.edge_weights, False, recipe.background, n_jobs, recipe.seed)
    return metric.build(rows)


@dataclass(frozen=True, eq=False)
class Sample:
    """The sample's tree, with what is needed to place other rows in it."""

    tree: Tree
    cells: Ints
    columns: ColumnScaling | None
    similarity: Similarity
    rows: Rows
    index: NeighborIndex | None
    centres: Floats
    centre_index: NeighborIndex | None
    edge_weights: str

    def beside(self, rows: Rows, near: Ints | None, distances: Floats | None) -> Similarity:
        """The sample and further rows; ``near`` are the sample's rows nearest to each."""
        if near is None or distances is None:
            return self.similarity.extended(rows)
        return self.similarity.extended(BlendRows(self.ties(near, distances, len(self.rows)), rows.astype(np.float64)))

    def ties(self, ends: Ints, distances: Floats, n_ends: int) -> sp.csr_array[np.float64]:
        """Edges of new rows to their nearest, as the new rows weigh them."""
        weights = np.ones_like(distances) if self.edge_weights == "binary" else fuzzy_memberships(distances)
        starts = np.arange(0, weights.size + 1, weights.shape[1])
        return sp.csr_array((weights.ravel(), ends.ravel(), starts), shape=(len(ends), n_ends))

    def near_cells(self, rows: Rows, k: int) -> npt.NDArray[np.int32]:
        """The k cells whose sampled rows have the nearest means: (m, k).

        Fewer misses than with the cells of the nearest sampled rows: a mean has less noise than a row.
        """
        k = min(k, len(self.centres))
        return query_rows(self.centres, rows.astype(np.float64), k, "euclidean", self.centre_index)[0].astype(np.int32)

    def nearest(self, rows: Rows, k: int) -> tuple[Ints, Floats]:
        """The sample's rows nearest to each, and their distances."""
        return query_rows(self.rows, rows, min(k, len(self.rows)), "euclidean", self.index)


def sample_of(problem: Problem) -> Sample:
    """What ``sample_tree`` left, made ready; a process that has many tasks does that once."""
    return _sample_of(problem.store.digest("sample"), problem)


@lru_cache(maxsize=1)
def _sample_of(digest: str, problem: Problem) -> Sample:
    piece, recipe = problem.store.read("sample"), problem.recipe
    rows, tree = np.array(piece["rows"]), Tree(np.array(piece["children"]))
    cells = np.array(piece["cells"])
    members = indicator(cells)
    centres = np.asarray(members @ rows.astype(np.float64)) / np.bincount(cells)[:, None]
    if not problem.has_edges:
        features = Features(rows, offset=0.5, scale=0.5)
        return Sample(tree, cells, None, features, rows, None, centres, None, recipe.edge_weights)
    shape = (len(rows), len(rows))
    graph = Graph(sp.csr_array((piece["data"], piece["indices"], piece["indptr"]), shape=shape))
    background = Background(rows, slope=float(piece["slope"]), level=float(piece["level"]))
    columns = ColumnScaling(np.array(piece["centre"]), np.array(piece["factor"]), "")
    index, centre_index = index_of(rows, recipe.n_neighbors), index_of(centres, NEAR)
    similarity = Blend(graph, background)
    return Sample(tree, cells, columns, similarity, rows, index, centres, centre_index, recipe.edge_weights)


def index_of(rows: Rows, k: int) -> NeighborIndex | None:
    """Rows made ready to be searched by one thread for the k nearest; None of few, which are compared one by one."""
    return NeighborIndex(rows, k, "euclidean", 1) if len(rows) > max(EXACT_UP_TO, k) else None
