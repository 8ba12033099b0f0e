"""The graph of k nearest neighbours over all partitions.

A row's neighbours may be in its own part and in those that hold the sample's rows nearest to it: it *visits* them. Each part
answers its own leaves and its visitors with their nearest of its leaves; each leaf then keeps the nearest of all answers.

A row visits the parts near it, and misses neighbours in others: of those beyond its border every seventh, among the embeddings of
WordNet. Edges that are missing there make a border look cheaper than it is, and the tree keeps it. So leaves ask their
neighbours, in whichever part these are, for nearer ones.

Edges are directed, each leaf's own opinion, and joined with the other direction once both ends have one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
from .._runtime.validation import CHUNK_BYTES
from ..similarity.knn.edge_weights import many_memberships
from ..similarity.knn.nn_descent import Lists, empty_lists, nearer_lists
from ..similarity.knn.row_preparation import large_exponent
from ..similarity.knn.search import Index, closest_of, nearest
from .job import Job
from .npy_source import Rows
from .partition import count_rows_before, sum_leaves
from .sample import build_index

Matrix: TypeAlias = "sp.csr_array[np.float64]"  # as text: older SciPy cannot evaluate it
# A leaf is known everywhere by one number: that of its part, and in the lower bits its own there. Nobody is −1.
_BITS = 32
_OWN = (1 << _BITS) - 1


def search_candidates(job: Job, part: int, round_number: int) -> Arrays:
    """The nearest of a part's leaves to each of them, and to each visitor, who is known by part and place of its row there."""
    rows = np.array(job.store.one(job.stage("leaves", round_number), part, "rows"))
    k = job.settings.n_neighbors
    index = build_index(rows, k)
    near, distances = _nearest(rows, None, k, index)
    home, place, guests = _load_queries(job, part, round_number)
    found, far = _nearest(rows, guests, k, index)
    told: Arrays = {"near": near.astype(np.int32), "distances": distances, "home": home, "place": place}
    return {**told, "found": found.astype(np.int32), "far": far}


def _nearest(rows: Rows, guests: Rows | None, k: int, index: Index | None) -> tuple[Ints, Floats]:
    """The k leaves nearest to each guest, or to each leaf among the others: (m, k), −1 at infinity where there are fewer."""
    queries = rows if guests is None else guests
    kept = min(k, len(rows) - (guests is None))
    near, distances = np.full((len(queries), k), -1), np.full((len(queries), k), np.inf)
    if kept == 0 or len(queries) == 0:
        return near, distances
    if guests is None:
        found = nearest(rows, kept)[0] if index is None else index.among()
    else:
        found = closest_of(rows, guests, kept, "euclidean", index)[0]
    far = compute_distances(queries, rows, found)
    order = np.argsort(far, axis=1, kind="stable")
    near[:, :kept], distances[:, :kept] = (np.take_along_axis(values, order, axis=1) for values in (found, far))
    return near, distances


def compute_distances(queries: Rows, rows: Rows, near: Ints) -> Floats:
    """From differences in double precision: the same for one pair, whichever part asks."""
    distances = np.empty(near.shape)
    step = max(1, CHUNK_BYTES // (8 * near.shape[1] * max(1, rows.shape[1])))
    for at in range(0, len(near), step):
        some = slice(at, at + step)
        difference = queries[some, None, :].astype(np.float64) - rows[near[some]]
        distances[some] = np.sqrt(np.einsum("rcd,rcd->rc", difference, difference))
    return distances


def _load_queries(job: Job, part: int, round_number: int) -> tuple[Ints, Ints, Rows]:
    """Of all rows that visit a part: their own part, their place among its rows, and the rows; by part and place."""
    before, found = count_rows_before(job, round_number), []
    shuffle, names = job.stage("shuffle", round_number), ("visitor", "visited", "starts", "rows")
    for number, shard in enumerate(job.shards(shuffle, job.n_blocks, *names)):
        guests = shard["visitor"][shard["visited"][part] : shard["visited"][part + 1]]
        home = np.searchsorted(shard["starts"], guests, side="right") - 1
        place = guests - shard["starts"][home] + before[number, home]
        found.append((home, place, np.array(shard["rows"][guests])))
    homes, places, rows = (np.concatenate(values) for values in zip(*found, strict=True))
    order = np.lexsort((places, homes))
    return homes[order], places[order], rows[order]


def find_target_parts(job: Job, part: int, round_number: int) -> Ints:
    """The parts that a part's rows have visited."""
    shards = job.shards(job.stage("shuffle", round_number), job.n_blocks, "hosts", "hosted")
    found = [shard["hosts"][slice(*shard["hosted"][part : part + 2])] for shard in shards]
    return np.unique(np.concatenate(found))


def merge_candidates(job: Job, part: int, round_number: int) -> Arrays:
    """The list of each of a part's leaves, (m, k): the nearest of all answers, the parts they are in, and distances.

    And where each of its rows belongs: the part of most of its weight (``home``), and those of its neighbours (``around``).
    """
    leaf = np.array(job.store.one(job.stage("leaves", round_number), part, "leaf"))
    near, where, distances = _merge_lists(job, part, round_number, leaf)
    missing = np.isinf(distances)  # so few leaves were met
    near[missing], where[missing] = -1, part
    home = _heaviest_part(where, compute_edge_weights(job, distances), part)
    told = {"home": home[leaf], "around": where[leaf].astype(np.int32)}
    return {**told, "near": near.astype(np.int32), "where": where.astype(np.int32), "distances": distances}


def compute_edge_weights(job: Job, distances: Floats) -> Floats:
    """Weights of each leaf's own edges, from the distances of its list; 0 where that has nobody."""
    missing, weights = np.isinf(distances), np.ones_like(distances)
    if job.settings.edge_weights == "fuzzy":
        weights = many_memberships(np.where(missing, distances[~missing].max(initial=1.0), distances))
    weights[missing] = 0.0
    return weights


def _merge_lists(job: Job, part: int, round_number: int, leaf: Ints) -> tuple[Ints, Ints, Floats]:
    """The nearest of all answers to each leaf: its number there, the part that gave it, and the distance, (m, k)."""
    answers = job.stage("answers", round_number)
    own = job.store.read(answers, part, "near", "distances")
    lists = np.array(own["near"]).astype(np.int64), np.full(own["near"].shape, part), np.array(own["distances"])
    first = np.unique(leaf, return_index=True)[1]  # one row speaks for its copies
    for host in find_target_parts(job, part, round_number).tolist():
        shard = job.store.read(answers, host, "home", "place", "found", "far")
        guests = slice(*np.searchsorted(shard["home"], [part, part + 1]))
        place = np.array(shard["place"][guests])
        speaks = first[leaf[place]] == place
        _keep_nearest(lists, leaf[place[speaks]], host, shard["found"][guests][speaks], shard["far"][guests][speaks])
    return lists


def _heaviest_part(where: Ints, weights: Floats, own: int) -> Ints:
    """The part of most weight in each row; its own unless another has more."""
    best, most = np.full(len(where), own), (weights * (where == own)).sum(axis=1)
    for column in range(where.shape[1]):
        part = where[:, column]
        weight = (weights * (where == part[:, None])).sum(axis=1)
        more = weight > most
        best[more], most[more] = part[more], weight[more]
    return best


def _keep_nearest(lists: tuple[Ints, Ints, Floats], rows: Ints, host: int, found: Ints, far: Floats) -> None:
    """Keep in the lists of these rows the nearest of old and new, and of those at one distance the old."""
    near, where, distances = lists
    both = np.hstack([distances[rows], far])
    order = np.argsort(both, axis=1, kind="stable")[:, : near.shape[1]]
    for kept, new in ((near, found), (where, np.full(found.shape, host)), (distances, far)):
        kept[rows] = np.take_along_axis(np.hstack([kept[rows], new]), order, axis=1)


def refine_neighbors(job: Job, part: int) -> Arrays:
    """Directed edges of a part's leaves to the nearest they know of: leaf, part and leaf there, and weight, sorted by part.

    ``hosts`` are the parts that they lead to.
    """
    own = _load_neighbor_names(job, part)
    near, distances = _search_neighborhood(
        _load_neighborhood(job, part, own), job.store.one(job.stage("lists"), part, "distances")
    )
    weights, kept = compute_edge_weights(job, distances), near >= 0
    leaf = np.broadcast_to(np.arange(len(own))[:, None], near.shape)[kept]
    order = np.argsort(near[kept] >> _BITS, kind="stable")
    where = (near[kept] >> _BITS)[order]
    edges = {"leaf": leaf[order], "part": where, "other": (near[kept] & _OWN)[order], "weight": weights[kept][order]}
    return {**edges, "hosts": np.unique(where)}


class _Neighborhood(NamedTuple):
    """A part's leaves, and after them all of other parts whom these may meet: names, rows, and whom each lists, by place."""

    n_own: int
    names: Ints
    rows: Rows
    places: Ints


def _load_neighborhood(job: Job, part: int, own: Ints) -> _Neighborhood:
    """Of other parts: the leaves that own ones list or that list own ones, with their lists, and those whom these list."""
    listed = own[(own >= 0) & (own >> _BITS != part)]
    friends = np.union1d(listed, _find_reverse_neighbors(job, part))
    theirs = _load_leaves(job, friends, _load_neighbor_names) if len(friends) else own[:0]
    strangers = np.setdiff1d(theirs[(theirs >= 0) & (theirs >> _BITS != part)], friends)
    names = np.concatenate([(part << _BITS) + np.arange(len(own)), friends, strangers])
    lists = np.concatenate([own, theirs, np.full((len(strangers), own.shape[1]), -1)])
    rows = [_load_leaves(job, some, _rows) for some in (friends, strangers) if len(some)]
    return _Neighborhood(len(own), names, np.concatenate([_rows(job, part), *rows]), _places(names, lists))


def _find_reverse_neighbors(job: Job, part: int) -> Ints:
    """Leaves of other parts that list some of a part's: only rows that visited it can."""
    found = [np.empty(0, dtype=np.int64)]
    for other in np.unique(job.store.one(job.stage("answers"), part, "home")).tolist():
        lists = job.store.read(job.stage("lists"), other, "near", "where")
        rows = np.flatnonzero(((lists["where"] == part) & (lists["near"] >= 0)).any(axis=1))
        found.append((other << _BITS) + rows)
    return np.concatenate(found)


def _load_neighbor_names(job: Job, part: int, rows: Ints | slice = slice(None)) -> Ints:
    """Whom some of a part's leaves list, (m, k)."""
    lists = job.store.read(job.stage("lists"), part, "near", "where")
    near, where = lists["near"][rows].astype(np.int64), lists["where"][rows].astype(np.int64)
    return np.where(near >= 0, (where << _BITS) + near, -1)


def _rows(job: Job, part: int, rows: Ints | slice = slice(None)) -> Rows:
    return np.array(job.store.one(job.stage("leaves"), part, "rows")[rows])


def _load_leaves(job: Job, names: Ints, read: Callable[[Job, int, Ints | slice], Any]) -> Any:
    """What ``read`` gives of leaves of several parts, whose names come sorted."""
    parts, starts = np.unique(names >> _BITS, return_index=True)
    runs = np.split(names & _OWN, starts[1:])
    return np.concatenate([read(job, part, run) for part, run in zip(parts.tolist(), runs, strict=True)])


def _places(names: Ints, lists: Ints) -> Ints:
    """Names in lists as places among ``names``, which has them all; of nobody −1."""
    order = np.argsort(names)
    return np.where(lists >= 0, order[np.searchsorted(names[order], np.maximum(lists, names.min()))], -1)


def _search_neighborhood(neighborhood: _Neighborhood, known: Floats) -> tuple[Ints, Floats]:
    """The k nearest to each of a part's leaves, by name, and their distances: (m, k), nearest first; −1 at infinity.

    ``known`` are the distances of those that they list before."""
    exponent = large_exponent(neighborhood.rows)
    rows = np.ldexp(neighborhood.rows, -exponent) if exponent else neighborhood.rows
    places = nearer_lists(rows, _as_lists(neighborhood.places, np.ldexp(known, -exponent)), neighborhood.n_own, 1)[0]
    missing = places < 0
    distances = compute_distances(
        neighborhood.rows[: neighborhood.n_own], neighborhood.rows, np.where(missing, 0, places)
    )
    distances[missing] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, : known.shape[1]]
    places, distances = np.take_along_axis(places, order, axis=1), np.take_along_axis(distances, order, axis=1)
    return np.where(places >= 0, neighborhood.names[places], -1), distances


def _as_lists(places: Ints, distances: Floats) -> Lists:
    """Lists of places, of which the first have distances: nobody else asks."""
    (n, k), m = places.shape, len(distances)
    near, far = empty_lists(n, k)
    near[:, :k], far[:m, :k] = places, 0.5 * distances**2
    return near, far


def find_adjacent_parts(job: Job, _: int = 0) -> Arrays:
    """The parts that each has edges with, in either direction: ``other``, those of a part where ``starts`` says."""
    targets = [shard["hosts"] for shard in job.shards("edges", job.n_parts(), "hosts")]
    one, other = (
        np.repeat(np.arange(len(targets)), [len(parts) for parts in targets]),
        np.concatenate(targets),
    )
    pairs = np.unique(np.column_stack([np.append(one, other), np.append(other, one)]), axis=0)
    return {"other": pairs[:, 1], "starts": np.searchsorted(pairs[:, 0], np.arange(len(targets) + 1))}


def symmetrize_edges(job: Job, part: int) -> Arrays:
    """Undirected edges of a part's leaves, all points counted: within, as CSR, and across, sorted by the other part.

    ``single`` is the weight across of two points, whatever number of copies they have."""
    sizes, own = _sizes(job, part), _directed(job, part)
    counted = sp.diags_array(sizes)
    inner = sp.csr_array(counted @ _undirected(own(part), own(part)) @ counted)
    others = [q for q in _adjacent_parts(job, part) if q != part]
    across = [_undirected(own(other), _directed(job, other)(part)).tocoo() for other in others]
    empty = np.empty(0, dtype=np.int64)
    told: Arrays = {"indptr": inner.indptr, "indices": inner.indices, "data": inner.data}
    told["part"] = np.repeat(np.array(others, dtype=np.int64), [edges.nnz for edges in across])
    told["leaf"] = np.concatenate([empty, *(edges.row for edges in across)])
    told["other"] = np.concatenate([empty, *(edges.col for edges in across)])
    ends = [sizes[edges.row] * _sizes(job, q)[edges.col] for q, edges in zip(others, across, strict=True)]
    told["single"] = np.concatenate([np.empty(0), *(edges.data for edges in across)])
    told["weight"] = np.concatenate([np.empty(0), *(e.data * s for e, s in zip(across, ends, strict=True))])
    return {**told, **_totals(job, part, sizes, float(inner.data.sum() + told["weight"].sum()) / 2)}


def _totals(job: Job, part: int, sizes: Floats, edges: float) -> Arrays:
    """Of a part: Σ x; and the weight of its edges, half of those across, Σ s and Σ s² of its leaves' sizes, and Σ ‖x‖²."""
    sums, squares = sum_leaves(job.store.one(job.stage("leaves"), part, "rows"), sizes)
    return {"total": sums.sum(axis=0), "sums": np.array([edges, sizes.sum(), sizes @ sizes, squares.sum()])}


def _adjacent_parts(job: Job, part: int) -> list[int]:
    """Parts with an edge to or from a part."""
    told = job.store.read("borders")
    found: list[int] = told["other"][slice(*told["starts"][part : part + 2])].tolist()
    return found


def _sizes(job: Job, part: int) -> Floats:
    return np.array(job.store.one(job.stage("leaves"), part, "sizes"))


def _directed(job: Job, part: int) -> Callable[[int], Matrix]:
    """Other part → the matrix of directed edges to its leaves."""
    shard = job.store.read("edges", part, "leaf", "part", "other", "weight")

    def towards(other: int) -> Matrix:
        run = slice(*np.searchsorted(shard["part"], [other, other + 1]))
        shape = len(_sizes(job, part)), len(_sizes(job, other))
        return sp.csr_array((shard["weight"][run], (shard["leaf"][run], shard["other"][run])), shape=shape)

    return towards


def _undirected(there: Matrix, back: Matrix) -> Matrix:
    """The probability that one or the other edge exists: a + b − ab, as in a graph made at once."""
    reverse = sp.csr_array(back.T)
    return sp.csr_array(there + reverse - there * reverse)
