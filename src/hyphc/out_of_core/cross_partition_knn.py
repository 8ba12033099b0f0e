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
from ..similarity.knn.nn_descent import Lists, empty_lists, nn_descent_step
from ..similarity.knn.row_preparation import large_exponent
from ..similarity.knn.search import NeighborIndex, nearest, query_rows
from .job import Problem
from .npy_source import Rows
from .partition import rows_before, sums_of_leaves
from .sample import index_of

Matrix: TypeAlias = "sp.csr_array[np.float64]"  # as text: older SciPy cannot evaluate it
# A leaf is known everywhere by one number: that of its part, and in the lower bits its own there. Nobody is −1.
_BITS = 32
_OWN = (1 << _BITS) - 1


def answer(problem: Problem, part: int, turn: int) -> Arrays:
    """The nearest of a part's leaves to each of them, and to each visitor, who is known by part and place of its row there."""
    rows = np.array(problem.store.one(problem.stage("leaves", turn), part, "rows"))
    k = problem.recipe.n_neighbors
    index = index_of(rows, k)
    near, distances = _nearest(rows, None, k, index)
    home, place, guests = _visitors(problem, part, turn)
    found, far = _nearest(rows, guests, k, index)
    told: Arrays = {"near": near.astype(np.int32), "distances": distances, "home": home, "place": place}
    return {**told, "found": found.astype(np.int32), "far": far}


def _nearest(rows: Rows, guests: Rows | None, k: int, index: NeighborIndex | None) -> tuple[Ints, Floats]:
    """The k leaves nearest to each guest, or to each leaf among the others: (m, k), −1 at infinity where there are fewer."""
    queries = rows if guests is None else guests
    kept = min(k, len(rows) - (guests is None))
    near, distances = np.full((len(queries), k), -1), np.full((len(queries), k), np.inf)
    if kept == 0 or len(queries) == 0:
        return near, distances
    if guests is None:
        found = nearest(rows, kept)[0] if index is None else index.neighbors()
    else:
        found = query_rows(rows, guests, kept, "euclidean", index)[0]
    far = distances_to(queries, rows, found)
    order = np.argsort(far, axis=1, kind="stable")
    near[:, :kept], distances[:, :kept] = (np.take_along_axis(values, order, axis=1) for values in (found, far))
    return near, distances


def distances_to(queries: Rows, rows: Rows, near: Ints) -> Floats:
    """From differences in double precision: the same for one pair, whichever part asks."""
    distances = np.empty(near.shape)
    step = max(1, CHUNK_BYTES // (8 * near.shape[1] * max(1, rows.shape[1])))
    for at in range(0, len(near), step):
        some = slice(at, at + step)
        difference = queries[some, None, :].astype(np.float64) - rows[near[some]]
        distances[some] = np.sqrt(np.einsum("rcd,rcd->rc", difference, difference))
    return distances


def _visitors(problem: Problem, part: int, turn: int) -> tuple[Ints, Ints, Rows]:
    """Of all rows that visit a part: their own part, their place among its rows, and the rows; by part and place."""
    before, found = rows_before(problem, turn), []
    shuffle, names = problem.stage("shuffle", turn), ("visitor", "visited", "starts", "rows")
    for number, piece in enumerate(problem.pieces(shuffle, problem.n_blocks, *names)):
        guests = piece["visitor"][piece["visited"][part] : piece["visited"][part + 1]]
        home = np.searchsorted(piece["starts"], guests, side="right") - 1
        place = guests - piece["starts"][home] + before[number, home]
        found.append((home, place, np.array(piece["rows"][guests])))
    homes, places, rows = (np.concatenate(values) for values in zip(*found, strict=True))
    order = np.lexsort((places, homes))
    return homes[order], places[order], rows[order]


def hosts(problem: Problem, part: int, turn: int) -> Ints:
    """The parts that a part's rows have visited."""
    pieces = problem.pieces(problem.stage("shuffle", turn), problem.n_blocks, "hosts", "hosted")
    found = [piece["hosts"][slice(*piece["hosted"][part : part + 2])] for piece in pieces]
    return np.unique(np.concatenate(found))


def choose(problem: Problem, part: int, turn: int) -> Arrays:
    """The list of each of a part's leaves, (m, k): the nearest of all answers, the parts they are in, and distances.

    And where each of its rows belongs: the part of most of its weight (``home``), and those of its neighbours (``around``).
    """
    leaf = np.array(problem.store.one(problem.stage("leaves", turn), part, "leaf"))
    near, where, distances = _nearest_of_all(problem, part, turn, leaf)
    missing = np.isinf(distances)  # so few leaves were met
    near[missing], where[missing] = -1, part
    home = _heaviest(where, tie_weights(problem, distances), part)
    told = {"home": home[leaf], "around": where[leaf].astype(np.int32)}
    return {**told, "near": near.astype(np.int32), "where": where.astype(np.int32), "distances": distances}


def tie_weights(problem: Problem, distances: Floats) -> Floats:
    """Weights of each leaf's own edges, from the distances of its list; 0 where that has nobody."""
    missing, weights = np.isinf(distances), np.ones_like(distances)
    if problem.recipe.edge_weights == "fuzzy":
        weights = many_memberships(np.where(missing, distances[~missing].max(initial=1.0), distances))
    weights[missing] = 0.0
    return weights


def _nearest_of_all(problem: Problem, part: int, turn: int, leaf: Ints) -> tuple[Ints, Ints, Floats]:
    """The nearest of all answers to each leaf: its number there, the part that gave it, and the distance, (m, k)."""
    answers = problem.stage("answers", turn)
    own = problem.store.read(answers, part, "near", "distances")
    lists = np.array(own["near"]).astype(np.int64), np.full(own["near"].shape, part), np.array(own["distances"])
    first = np.unique(leaf, return_index=True)[1]  # one row speaks for its copies
    for host in hosts(problem, part, turn).tolist():
        piece = problem.store.read(answers, host, "home", "place", "found", "far")
        guests = slice(*np.searchsorted(piece["home"], [part, part + 1]))
        place = np.array(piece["place"][guests])
        speaks = first[leaf[place]] == place
        _keep_nearest(lists, leaf[place[speaks]], host, piece["found"][guests][speaks], piece["far"][guests][speaks])
    return lists


def _heaviest(where: Ints, weights: Floats, own: int) -> Ints:
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


def ask(problem: Problem, part: int) -> Arrays:
    """Directed edges of a part's leaves to the nearest they know of: leaf, part and leaf there, and weight, sorted by part.

    ``hosts`` are the parts that they lead to.
    """
    own = _names(problem, part)
    near, distances = _asked(_circle(problem, part, own), problem.store.one(problem.stage("lists"), part, "distances"))
    weights, kept = tie_weights(problem, distances), near >= 0
    leaf = np.broadcast_to(np.arange(len(own))[:, None], near.shape)[kept]
    order = np.argsort(near[kept] >> _BITS, kind="stable")
    where = (near[kept] >> _BITS)[order]
    edges = {"leaf": leaf[order], "part": where, "other": (near[kept] & _OWN)[order], "weight": weights[kept][order]}
    return {**edges, "hosts": np.unique(where)}


class _Circle(NamedTuple):
    """A part's leaves, and after them all of other parts whom these may meet: names, rows, and whom each lists, by place."""

    n_own: int
    names: Ints
    rows: Rows
    places: Ints


def _circle(problem: Problem, part: int, own: Ints) -> _Circle:
    """Of other parts: the leaves that own ones list or that list own ones, with their lists, and those whom these list."""
    listed = own[(own >= 0) & (own >> _BITS != part)]
    friends = np.union1d(listed, _listing(problem, part))
    theirs = _gathered(problem, friends, _names) if len(friends) else own[:0]
    strangers = np.setdiff1d(theirs[(theirs >= 0) & (theirs >> _BITS != part)], friends)
    names = np.concatenate([(part << _BITS) + np.arange(len(own)), friends, strangers])
    lists = np.concatenate([own, theirs, np.full((len(strangers), own.shape[1]), -1)])
    rows = [_gathered(problem, some, _rows) for some in (friends, strangers) if len(some)]
    return _Circle(len(own), names, np.concatenate([_rows(problem, part), *rows]), _places(names, lists))


def _listing(problem: Problem, part: int) -> Ints:
    """Leaves of other parts that list some of a part's: only rows that visited it can."""
    found = [np.empty(0, dtype=np.int64)]
    for other in np.unique(problem.store.one(problem.stage("answers"), part, "home")).tolist():
        lists = problem.store.read(problem.stage("lists"), other, "near", "where")
        rows = np.flatnonzero(((lists["where"] == part) & (lists["near"] >= 0)).any(axis=1))
        found.append((other << _BITS) + rows)
    return np.concatenate(found)


def _names(problem: Problem, part: int, rows: Ints | slice = slice(None)) -> Ints:
    """Whom some of a part's leaves list, (m, k)."""
    lists = problem.store.read(problem.stage("lists"), part, "near", "where")
    near, where = lists["near"][rows].astype(np.int64), lists["where"][rows].astype(np.int64)
    return np.where(near >= 0, (where << _BITS) + near, -1)


def _rows(problem: Problem, part: int, rows: Ints | slice = slice(None)) -> Rows:
    return np.array(problem.store.one(problem.stage("leaves"), part, "rows")[rows])


def _gathered(problem: Problem, names: Ints, read: Callable[[Problem, int, Ints | slice], Any]) -> Any:
    """What ``read`` gives of leaves of several parts, whose names come sorted."""
    parts, starts = np.unique(names >> _BITS, return_index=True)
    runs = np.split(names & _OWN, starts[1:])
    return np.concatenate([read(problem, part, run) for part, run in zip(parts.tolist(), runs, strict=True)])


def _places(names: Ints, lists: Ints) -> Ints:
    """Names in lists as places among ``names``, which has them all; of nobody −1."""
    order = np.argsort(names)
    return np.where(lists >= 0, order[np.searchsorted(names[order], np.maximum(lists, names.min()))], -1)


def _asked(circle: _Circle, known: Floats) -> tuple[Ints, Floats]:
    """The k nearest to each of a part's leaves, by name, and their distances: (m, k), nearest first; −1 at infinity.

    ``known`` are the distances of those that they list before."""
    exponent = large_exponent(circle.rows)
    rows = np.ldexp(circle.rows, -exponent) if exponent else circle.rows
    places = nn_descent_step(rows, _as_lists(circle.places, np.ldexp(known, -exponent)), circle.n_own, 1)[0]
    missing = places < 0
    distances = distances_to(circle.rows[: circle.n_own], circle.rows, np.where(missing, 0, places))
    distances[missing] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, : known.shape[1]]
    places, distances = np.take_along_axis(places, order, axis=1), np.take_along_axis(distances, order, axis=1)
    return np.where(places >= 0, circle.names[places], -1), distances


def _as_lists(places: Ints, distances: Floats) -> Lists:
    """Lists of places, of which the first have distances: nobody else asks."""
    (n, k), m = places.shape, len(distances)
    near, far = empty_lists(n, k)
    near[:, :k], far[:m, :k] = places, 0.5 * distances**2
    return near, far


def meet(problem: Problem, _: int = 0) -> Arrays:
    """The parts that each has edges with, in either direction: ``other``, those of a part where ``starts`` says."""
    hosts = [piece["hosts"] for piece in problem.pieces("edges", problem.n_parts(), "hosts")]
    one, other = np.repeat(np.arange(len(hosts)), [len(parts) for parts in hosts]), np.concatenate(hosts)
    pairs = np.unique(np.column_stack([np.append(one, other), np.append(other, one)]), axis=0)
    return {"other": pairs[:, 1], "starts": np.searchsorted(pairs[:, 0], np.arange(len(hosts) + 1))}


def weigh(problem: Problem, part: int) -> Arrays:
    """Undirected edges of a part's leaves, all points counted: within, as CSR, and across, sorted by the other part.

    ``single`` is the weight across of two points, whatever number of copies they have."""
    sizes, own = _sizes(problem, part), _directed(problem, part)
    counted = sp.diags_array(sizes)
    inner = sp.csr_array(counted @ _undirected(own(part), own(part)) @ counted)
    others = [q for q in _joined_parts(problem, part) if q != part]
    across = [_undirected(own(other), _directed(problem, other)(part)).tocoo() for other in others]
    empty = np.empty(0, dtype=np.int64)
    told: Arrays = {"indptr": inner.indptr, "indices": inner.indices, "data": inner.data}
    told["part"] = np.repeat(np.array(others, dtype=np.int64), [edges.nnz for edges in across])
    told["leaf"] = np.concatenate([empty, *(edges.row for edges in across)])
    told["other"] = np.concatenate([empty, *(edges.col for edges in across)])
    ends = [sizes[edges.row] * _sizes(problem, q)[edges.col] for q, edges in zip(others, across, strict=True)]
    told["single"] = np.concatenate([np.empty(0), *(edges.data for edges in across)])
    told["weight"] = np.concatenate([np.empty(0), *(e.data * s for e, s in zip(across, ends, strict=True))])
    return {**told, **_totals(problem, part, sizes, float(inner.data.sum() + told["weight"].sum()) / 2)}


def _totals(problem: Problem, part: int, sizes: Floats, edges: float) -> Arrays:
    """Of a part: Σ x; and the weight of its edges, half of those across, Σ s and Σ s² of its leaves' sizes, and Σ ‖x‖²."""
    sums, squares = sums_of_leaves(problem.store.one(problem.stage("leaves"), part, "rows"), sizes)
    return {"total": sums.sum(axis=0), "sums": np.array([edges, sizes.sum(), sizes @ sizes, squares.sum()])}


def _joined_parts(problem: Problem, part: int) -> list[int]:
    """Parts with an edge to or from a part."""
    told = problem.store.read("borders")
    found: list[int] = told["other"][slice(*told["starts"][part : part + 2])].tolist()
    return found


def _sizes(problem: Problem, part: int) -> Floats:
    return np.array(problem.store.one(problem.stage("leaves"), part, "sizes"))


def _directed(problem: Problem, part: int) -> Callable[[int], Matrix]:
    """Other part → the matrix of directed edges to its leaves."""
    piece = problem.store.read("edges", part, "leaf", "part", "other", "weight")

    def towards(other: int) -> Matrix:
        run = slice(*np.searchsorted(piece["part"], [other, other + 1]))
        shape = len(_sizes(problem, part)), len(_sizes(problem, other))
        return sp.csr_array((piece["weight"][run], (piece["leaf"][run], piece["other"][run])), shape=shape)

    return towards


def _undirected(there: Matrix, back: Matrix) -> Matrix:
    """The probability that one or the other edge exists: a + b − ab, as in a graph made at once."""
    reverse = sp.csr_array(back.T)
    return sp.csr_array(there + reverse - there * reverse)
