"""The graph of k nearest neighbours across all parts.

Neighbours of a row may be in its own part and in the parts near it. Each part is searched for the nearest leaves of its own
leaves, and of *queries*: rows of other parts that are near. Each leaf then keeps the nearest of all candidates.

Parts that are not near are missed: among embeddings of WordNet, one neighbour in seven beyond a border. Edges that are missing
there make a border look cheaper than it is, and the tree keeps it. So an NN-descent step follows: neighbours of neighbours and
reverse neighbours are tested, in whichever part they are.

Edges are directed, and symmetrised once both ends have theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.validation import row_chunks
from ..similarity.knn.edge_weights import many_memberships
from ..similarity.knn.nn_descent import Lists, empty_lists, nn_descent_step
from ..similarity.knn.row_preparation import large_exponent
from ..similarity.knn.search import NeighborIndex, nearest, query_rows
from .array_sources import Rows
from .job import Job
from .partition import count_rows_before, sum_leaves
from .records import AdjacentParts, Candidates, DirectedEdges, Leaves, Neighbors, PartGraph, ShuffledRows
from .sample import build_index

Matrix: TypeAlias = "sp.csr_array[np.float64]"  # as text: older SciPy cannot evaluate it
# The name of a leaf over all parts: the number of its part, and in the lower bits its own there; −1 is none.
_BITS = 32
_OWN = (1 << _BITS) - 1


def search_candidates(job: Job, part: int, round_number: int) -> Candidates:
    """Return the nearest leaves of a part to each of them, and to each query from another part."""
    rows = np.array(job.shard(Leaves, part, round_number).rows)
    k = job.settings.n_neighbors
    index = build_index(rows, k)
    neighbors, distances = _nearest(rows, None, k, index)
    query_part, query_row, queries = _load_queries(job, part, round_number)
    query_neighbors, query_distances = _nearest(rows, queries, k, index)
    return Candidates(
        neighbors=neighbors.astype(np.int32),
        distances=distances,
        query_part=query_part,
        query_row=query_row,
        query_neighbors=query_neighbors.astype(np.int32),
        query_distances=query_distances,
    )


def _nearest(rows: Rows, queries: Rows | None, k: int, index: NeighborIndex | None) -> tuple[Ints, Floats]:
    """Return the k nearest leaves of each query, or of each leaf among the others, and distances; −1 if there are fewer."""
    points = rows if queries is None else queries
    kept = min(k, len(rows) - (queries is None))
    neighbors, distances = np.full((len(points), k), -1), np.full((len(points), k), np.inf)
    if kept == 0 or len(points) == 0:
        return neighbors, distances
    if queries is None:
        found = nearest(rows, kept)[0] if index is None else index.neighbors()
    else:
        found = query_rows(rows, queries, kept, "euclidean", index)[0]
    found_distances = compute_distances(points, rows, found)
    order = np.argsort(found_distances, axis=1, kind="stable")
    neighbors[:, :kept] = np.take_along_axis(found, order, axis=1)
    distances[:, :kept] = np.take_along_axis(found_distances, order, axis=1)
    return neighbors, distances


def compute_distances(queries: Rows, rows: Rows, neighbors: Ints) -> Floats:
    """Return distances (m, k) from differences in double precision: the same for a pair from both of its ends."""
    distances = np.empty(neighbors.shape)
    for some in row_chunks(len(neighbors), 8 * neighbors.shape[1] * max(1, rows.shape[1])):
        difference = queries[some, None, :].astype(np.float64) - rows[neighbors[some]]
        distances[some] = np.sqrt(np.einsum("rcd,rcd->rc", difference, difference))
    return distances


def _load_queries(job: Job, part: int, round_number: int) -> tuple[Ints, Ints, Rows]:
    """Return the queries of a part, sorted: the part of each row, its position among the rows of that, and the row."""
    before, found = count_rows_before(job, round_number), []
    for number, shard in enumerate(job.shards(ShuffledRows, job.n_blocks, round_number)):
        queries = shard.queries[shard.query_starts[part] : shard.query_starts[part + 1]]
        own = np.searchsorted(shard.starts, queries, side="right") - 1
        position = queries - shard.starts[own] + before[number, own]
        found.append((own, position, np.array(shard.rows[queries])))
    parts, positions, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    order = np.lexsort((positions, parts))
    return parts[order], positions[order], rows[order]


def find_target_parts(job: Job, part: int, round_number: int) -> Ints:
    """Return the other parts in which rows of a part search for neighbours."""
    found = []
    for shard in job.shards(ShuffledRows, job.n_blocks, round_number):
        found.append(shard.targets[slice(*shard.target_starts[part : part + 2])])
    return np.unique(np.concatenate(found))


def merge_candidates(job: Job, part: int, round_number: int) -> Neighbors:
    """Return the k nearest candidates of each leaf of a part, and for each row the parts of these and that of most weight."""
    leaf = np.array(job.shard(Leaves, part, round_number).leaf)
    neighbors, parts, distances = _merge_lists(job, part, round_number, leaf)
    missing = np.isinf(distances)  # fewer than k candidates
    neighbors[missing], parts[missing] = -1, part
    best_part = _heaviest_part(parts, compute_edge_weights(job, distances), part)
    return Neighbors(
        neighbors=neighbors.astype(np.int32),
        neighbor_parts=parts.astype(np.int32),
        distances=distances,
        best_part=best_part[leaf],
        row_neighbor_parts=parts[leaf].astype(np.int32),
    )


def compute_edge_weights(job: Job, distances: Floats) -> Floats:
    """Return the weights of directed edges from distances (m, k); 0 where there is no neighbour."""
    missing, weights = np.isinf(distances), np.ones_like(distances)
    if job.settings.edge_weights == "fuzzy":
        weights = many_memberships(np.where(missing, distances[~missing].max(initial=1.0), distances))
    weights[missing] = 0.0
    return weights


def _merge_lists(job: Job, part: int, round_number: int, leaf: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the nearest candidates of each leaf: leaves, their parts, and distances, (m, k) each."""
    own = job.shard(Candidates, part, round_number)
    lists = np.array(own.neighbors).astype(np.int64), np.full(own.neighbors.shape, part), np.array(own.distances)
    first = np.unique(leaf, return_index=True)[1]  # duplicates have the same candidates: the first is used
    for target in find_target_parts(job, part, round_number).tolist():
        shard = job.shard(Candidates, target, round_number)
        queries = slice(*np.searchsorted(shard.query_part, [part, part + 1]))
        row = np.array(shard.query_row[queries])
        is_first = first[leaf[row]] == row
        found, distances = shard.query_neighbors[queries][is_first], shard.query_distances[queries][is_first]
        _keep_nearest(lists, leaf[row[is_first]], target, found, distances)
    return lists


def _heaviest_part(parts: Ints, weights: Floats, own: int) -> Ints:
    """Return the part of most weight in each row (m, k); its own unless another has more."""
    best, most = np.full(len(parts), own), (weights * (parts == own)).sum(axis=1)
    for column in range(parts.shape[1]):
        part = parts[:, column]
        weight = (weights * (parts == part[:, None])).sum(axis=1)
        more = weight > most
        best[more], most[more] = part[more], weight[more]
    return best


def _keep_nearest(
    lists: tuple[Ints, Ints, Floats], rows: Ints, target: int, found: Ints, found_distances: Floats
) -> None:
    """Replace the lists of these rows by the nearest of old and new, of equal distances the old."""
    neighbors, parts, distances = lists
    both = np.hstack([distances[rows], found_distances])
    order = np.argsort(both, axis=1, kind="stable")[:, : neighbors.shape[1]]
    new_parts = np.full(found.shape, target)
    for kept, new in ((neighbors, found), (parts, new_parts), (distances, found_distances)):
        kept[rows] = np.take_along_axis(np.hstack([kept[rows], new]), order, axis=1)


def refine_neighbors(job: Job, part: int) -> DirectedEdges:
    """Return the directed edges of the leaves of a part to their neighbours after an NN-descent step, sorted by part."""
    own = _load_neighbor_names(job, part)
    neighborhood = _load_neighborhood(job, part, own)
    names, distances = _search_neighborhood(neighborhood, job.shard(Neighbors, part).distances)
    weights, kept = compute_edge_weights(job, distances), names >= 0
    leaf = np.broadcast_to(np.arange(len(own))[:, None], names.shape)[kept]
    order = np.argsort(names[kept] >> _BITS, kind="stable")
    other_part = (names[kept] >> _BITS)[order]
    return DirectedEdges(
        leaf=leaf[order],
        other_part=other_part,
        other_leaf=(names[kept] & _OWN)[order],
        weight=weights[kept][order],
        target_parts=np.unique(other_part),
    )


class _Neighborhood(NamedTuple):
    """Leaves of a part, then all leaves of other parts that may be their neighbours.

    Names (h,), rows (h, d), and the positions of the neighbours of each in this neighbourhood (h, k), −1 for none.
    """

    n_own: int
    names: Ints
    rows: Rows
    positions: Ints


def _load_neighborhood(job: Job, part: int, own: Ints) -> _Neighborhood:
    """Return the leaves of a part, their neighbours and reverse neighbours in other parts, and the neighbours of these."""
    forward = own[(own >= 0) & (own >> _BITS != part)]
    first = np.union1d(forward, _find_reverse_neighbors(job, part))
    theirs = _load_leaves(job, first, _load_neighbor_names) if len(first) else own[:0]
    second = np.setdiff1d(theirs[(theirs >= 0) & (theirs >> _BITS != part)], first)
    names = np.concatenate([(part << _BITS) + np.arange(len(own)), first, second])
    lists = np.concatenate([own, theirs, np.full((len(second), own.shape[1]), -1)])
    rows = [_load_leaves(job, some, _load_rows) for some in (first, second) if len(some)]
    return _Neighborhood(len(own), names, np.concatenate([_load_rows(job, part), *rows]), _find_positions(names, lists))


def _find_reverse_neighbors(job: Job, part: int) -> Ints:
    """Return the names of leaves of other parts that have a neighbour in a part: only queries of it can."""
    found = [np.empty(0, dtype=np.int64)]
    for other in np.unique(job.shard(Candidates, part, None).query_part).tolist():
        lists = job.shard(Neighbors, other)
        rows = np.flatnonzero(((lists.neighbor_parts == part) & (lists.neighbors >= 0)).any(axis=1))
        found.append((other << _BITS) + rows)
    return np.concatenate(found)


def _load_neighbor_names(job: Job, part: int, rows: Ints | slice = slice(None)) -> Ints:
    """Return the names of the neighbours of some leaves of a part: (m, k), −1 for none."""
    lists = job.shard(Neighbors, part)
    neighbors, parts = lists.neighbors[rows].astype(np.int64), lists.neighbor_parts[rows].astype(np.int64)
    return np.where(neighbors >= 0, (parts << _BITS) + neighbors, -1)


def _load_rows(job: Job, part: int, rows: Ints | slice = slice(None)) -> Rows:
    return np.array(job.shard(Leaves, part).rows[rows])


def _load_leaves(job: Job, names: Ints, load: Callable[[Job, int, Ints | slice], Any]) -> Any:
    """Return what ``load`` returns for leaves of several parts, whose names are sorted."""
    parts, starts = np.unique(names >> _BITS, return_index=True)
    runs = np.split(names & _OWN, starts[1:])
    return np.concatenate([load(job, part, run) for part, run in zip(parts.tolist(), runs, strict=True)])


def _find_positions(names: Ints, lists: Ints) -> Ints:
    """Return the positions in ``names`` of the names in lists, −1 for none."""
    order = np.argsort(names)
    return np.where(lists >= 0, order[np.searchsorted(names[order], np.maximum(lists, names.min()))], -1)


def _search_neighborhood(neighborhood: _Neighborhood, distances_before: Floats) -> tuple[Ints, Floats]:
    """Return the names and distances (m, k) of the nearest leaves of each of a part's, nearest first; −1 and infinity for none.

    ``distances_before`` are those of their neighbours before the step."""
    all_rows, n_own = neighborhood.rows, neighborhood.n_own
    exponent = large_exponent(all_rows)
    rows = np.ldexp(all_rows, -exponent) if exponent else all_rows
    lists = _make_lists(neighborhood.positions, np.ldexp(distances_before, -exponent))
    positions = nn_descent_step(rows, lists, n_own, 1)[0]
    missing = positions < 0
    distances = compute_distances(all_rows[:n_own], all_rows, np.where(missing, 0, positions))
    distances[missing] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, : distances_before.shape[1]]
    positions, distances = np.take_along_axis(positions, order, axis=1), np.take_along_axis(distances, order, axis=1)
    return np.where(positions >= 0, neighborhood.names[positions], -1), distances


def _make_lists(positions: Ints, distances: Floats) -> Lists:
    """Return neighbour lists for NN-descent; only the first leaves, those of the part, need distances."""
    (n, k), m = positions.shape, len(distances)
    neighbors, half_squares = empty_lists(n, k)
    neighbors[:, :k], half_squares[:m, :k] = positions, 0.5 * distances**2
    return neighbors, half_squares


def find_adjacent_parts(job: Job, _: int = 0) -> AdjacentParts:
    """Return the parts that share an edge with each part, in either direction."""
    targets = [shard.target_parts for shard in job.shards(DirectedEdges, job.n_parts())]
    one, other = np.repeat(np.arange(len(targets)), [len(parts) for parts in targets]), np.concatenate(targets)
    pairs = np.unique(np.column_stack([np.append(one, other), np.append(other, one)]), axis=0)
    return AdjacentParts(parts=pairs[:, 1], starts=np.searchsorted(pairs[:, 0], np.arange(len(targets) + 1)))


def symmetrize_edges(job: Job, part: int) -> PartGraph:
    """Return the undirected edges of a part, within and across, weighted by the points of both leaves."""
    sizes = _load_sizes(job, part)
    counted = sp.diags_array(sizes)
    inner = sp.csr_array(counted @ _symmetrize(job, part, part) @ counted)
    adjacent = job.shard(AdjacentParts)
    others = [q for q in adjacent.parts[slice(*adjacent.starts[part : part + 2])].tolist() if q != part]
    across = [_symmetrize(job, part, q).tocoo() for q in others]
    ends = [sizes[edges.row] * _load_sizes(job, q)[edges.col] for q, edges in zip(others, across, strict=True)]
    empty = np.empty(0, dtype=np.int64)
    weight = np.concatenate([np.empty(0), *(e.data * s for e, s in zip(across, ends, strict=True))])
    sums, squares = sum_leaves(job.shard(Leaves, part).rows, sizes)
    total = float(inner.data.sum() + weight.sum()) / 2
    return PartGraph(
        indptr=inner.indptr,
        indices=inner.indices,
        data=inner.data,
        other_part=np.repeat(np.array(others, dtype=np.int64), [edges.nnz for edges in across]),
        leaf=np.concatenate([empty, *(edges.row for edges in across)]),
        other_leaf=np.concatenate([empty, *(edges.col for edges in across)]),
        pair_weight=np.concatenate([np.empty(0), *(edges.data for edges in across)]),
        weight=weight,
        row_sum=sums.sum(axis=0),
        totals=np.array([total, sizes.sum(), sizes @ sizes, squares.sum()]),
    )


def _load_sizes(job: Job, part: int) -> Floats:
    return np.array(job.shard(Leaves, part).sizes)


def _symmetrize(job: Job, part: int, other: int) -> Matrix:
    """Return the probability that one or the other edge of two leaves exists, a + b − ab, as for a graph in memory."""
    forward, reverse = _load_edges(job, part, other), sp.csr_array(_load_edges(job, other, part).T)
    return sp.csr_array(forward + reverse - forward * reverse)


def _load_edges(job: Job, part: int, other: int) -> Matrix:
    """Return the weights of directed edges from the leaves of a part to those of another, (leaves, leaves there)."""
    edges = job.shard(DirectedEdges, part)
    run = slice(*np.searchsorted(edges.other_part, [other, other + 1]))
    shape = len(_load_sizes(job, part)), len(_load_sizes(job, other))
    return sp.csr_array((edges.weight[run], (edges.leaf[run], edges.other_leaf[run])), shape=shape)
