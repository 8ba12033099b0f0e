"""Neighbours within a part and across its borders, and the graph that follows.

A row's neighbours may be in its own part and in those that hold the sample's rows nearest to it: it *visits* them. Each part
answers its own leaves and its visitors with their nearest of its leaves; each leaf then keeps the nearest of all answers.
Edges are directed first, each row's own opinion, and joined with the other direction once both ends have spoken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from .._shared.arrays import Floats, Ints
from .._shared.checks import CHUNK_BYTES
from ..similarity.edge_weights import many_memberships
from ..similarity.neighbors import Index, closest_of, nearest
from .assignment import rows_before, sums_of_leaves
from .checkpoint import Arrays
from .npy_rows import Rows
from .problem import Problem
from .sampling import index_of

Matrix: TypeAlias = "sp.csr_array[np.float64]"  # as text: older SciPy cannot evaluate it


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
    far = _distances(queries, rows, found)
    order = np.argsort(far, axis=1, kind="stable")
    near[:, :kept], distances[:, :kept] = (np.take_along_axis(values, order, axis=1) for values in (found, far))
    return near, distances


def _distances(queries: Rows, rows: Rows, near: Ints) -> Floats:
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
    """Directed edges of a part's leaves to the nearest of all answers: leaf, part and leaf there, and weight.

    And where each of its rows belongs: the part of most of its weight (``home``), and those of its neighbours (``around``).
    """
    leaf = np.array(problem.store.one(problem.stage("leaves", turn), part, "leaf"))
    near, where, distances = _nearest_of_all(problem, part, turn, leaf)
    kept = np.isfinite(distances)
    weights = np.ones_like(distances)
    if problem.recipe.edge_weights == "fuzzy":
        weights = many_memberships(np.where(kept, distances, distances[kept].max(initial=1.0)))
    weights[~kept] = 0.0
    where[~kept] = part
    home = _heaviest(where, weights, part)
    i = np.broadcast_to(np.arange(len(near))[:, None], near.shape)[kept]
    order = np.argsort(where[kept], kind="stable")
    edges = {"leaf": i, "part": where[kept], "other": near[kept], "weight": weights[kept]}
    told = {"home": home[leaf], "around": where[leaf].astype(np.int32)}
    return {**told, **{name: values[order] for name, values in edges.items()}}


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


def weigh(problem: Problem, part: int) -> Arrays:
    """Undirected edges of a part's leaves, all points counted: within, as CSR, and across, sorted by the other part.

    ``single`` is the weight across of two points, whatever number of copies they have."""
    sizes, own = _sizes(problem, part), _directed(problem, part)
    counted = sp.diags_array(sizes)
    inner = sp.csr_array(counted @ _undirected(own(part), own(part)) @ counted)
    others = [q for q in _neighbouring(problem, part) if q != part]
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


def _neighbouring(problem: Problem, part: int) -> list[int]:
    """Parts with an edge to or from a part, as far as visits allow one."""
    towards = problem.store.one(problem.stage("answers"), part, "home")
    found: list[int] = np.unique(np.concatenate([hosts(problem, part, problem.n_turns), towards])).tolist()
    return found


def _sizes(problem: Problem, part: int) -> Floats:
    return np.array(problem.store.one(problem.stage("leaves"), part, "sizes"))


def _directed(problem: Problem, part: int) -> Callable[[int], Matrix]:
    """Other part → the matrix of directed edges to its leaves."""
    piece = problem.store.read(problem.stage("edges"), part, "leaf", "part", "other", "weight")

    def towards(other: int) -> Matrix:
        run = slice(*np.searchsorted(piece["part"], [other, other + 1]))
        shape = len(_sizes(problem, part)), len(_sizes(problem, other))
        return sp.csr_array((piece["weight"][run], (piece["leaf"][run], piece["other"][run])), shape=shape)

    return towards


def _undirected(there: Matrix, back: Matrix) -> Matrix:
    """The probability that one or the other edge exists: a + b − ab, as in a graph made at once."""
    reverse = sp.csr_array(back.T)
    return sp.csr_array(there + reverse - there * reverse)
