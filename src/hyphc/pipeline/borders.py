"""Neighbours within a part and across its borders, and the graph that follows.

A row's neighbours may be in its own part and in those that hold the sample's rows nearest to it: it *visits* them. Each part
answers its own leaves and its visitors with their nearest of its leaves; each leaf then keeps the nearest of all answers.
Edges are directed first, each row's own opinion, and joined with the other direction once both ends have spoken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._shared.arrays import Floats, Ints
from .._shared.checks import CHUNK_BYTES
from ..similarity.neighbors import Index, closest_of, many_memberships, nearest
from .assignment import block_counts
from .checkpoint import Arrays
from .problem import Problem

Matrix = sp.csr_array[np.float64]
EXACT_UP_TO = 2_000  # leaves of a part that are compared one by one


def answer(problem: Problem, part: int) -> Arrays:
    """The nearest of a part's leaves to each of them, and to each visitor, who is known by part and place of its row there."""
    rows, k = np.array(problem.store.one("leaves", part, "rows")), problem.recipe.n_neighbors
    near, distances = _nearest(rows, None, k)
    home, place, guests = _visitors(problem, part)
    found, far = _nearest(rows, guests, k)
    told = {"near": near.astype(np.int32), "distances": distances, "home": home, "place": place}
    return {**told, "found": found.astype(np.int32), "far": far}


def _nearest(rows: npt.NDArray[Any], guests: npt.NDArray[Any] | None, k: int) -> tuple[Ints, Floats]:
    """The k leaves nearest to each guest, or to each leaf among the others: (m, k), −1 at infinity where there are fewer."""
    queries = rows if guests is None else guests
    kept = min(k, len(rows) - (guests is None))
    near, distances = np.full((len(queries), k), -1), np.full((len(queries), k), np.inf)
    if kept == 0 or len(queries) == 0:
        return near, distances
    index = Index(rows, kept, "euclidean", 1) if len(rows) > EXACT_UP_TO else None
    if guests is None:
        found = nearest(rows, kept)[0] if index is None else index.among()
    else:
        found = closest_of(rows, guests, kept, "euclidean", index)[0]
    far = _distances(queries, rows, found)
    order = np.argsort(far, axis=1, kind="stable")
    near[:, :kept], distances[:, :kept] = (np.take_along_axis(values, order, axis=1) for values in (found, far))
    return near, distances


def _distances(queries: npt.NDArray[Any], rows: npt.NDArray[Any], near: Ints) -> Floats:
    """From differences in double precision: the same for one pair, whichever part asks."""
    distances = np.empty(near.shape)
    step = max(1, CHUNK_BYTES // (8 * near.shape[1] * max(1, rows.shape[1])))
    for at in range(0, len(near), step):
        some = slice(at, at + step)
        difference = queries[some, None, :].astype(np.float64) - rows[near[some]]
        distances[some] = np.sqrt(np.einsum("rcd,rcd->rc", difference, difference))
    return distances


def _visitors(problem: Problem, part: int) -> tuple[Ints, Ints, npt.NDArray[Any]]:
    """Of all rows that visit a part: their own part, their place among its rows, and the rows; by part and place."""
    before = np.cumsum(block_counts(problem), axis=0) - block_counts(problem)
    homes, places, rows = [], [], []
    for number, piece in enumerate(problem.pieces("shuffle", problem.n_blocks)):
        guests = piece["visitor"][piece["visited"][part] : piece["visited"][part + 1]]
        home = np.searchsorted(piece["starts"], guests, side="right") - 1
        homes.append(home)
        places.append(guests - piece["starts"][home] + before[number, home])
        rows.append(np.array(piece["rows"][guests]))
    home, place, guest_rows = np.concatenate(homes), np.concatenate(places), np.concatenate(rows)
    order = np.lexsort((place, home))
    return home[order], place[order], guest_rows[order]


def hosts(problem: Problem, part: int) -> Ints:
    """The parts that a part's rows have visited."""
    found: list[Ints] = []
    for piece in problem.pieces("shuffle", problem.n_blocks, "starts", "visitor", "visited"):
        visited = np.repeat(np.arange(problem.n_parts), np.diff(piece["visited"]))
        own = (piece["visitor"] >= piece["starts"][part]) & (piece["visitor"] < piece["starts"][part + 1])
        found.append(np.unique(visited[own]))
    return np.unique(np.concatenate(found))


def choose(problem: Problem, part: int) -> Arrays:
    """Directed edges of a part's leaves to the nearest of all answers: leaf, part and leaf there, and weight."""
    own, leaf = problem.store.read("answers", part, "near", "distances"), problem.store.one("leaves", part, "leaf")
    near, distances = np.array(own["near"]).astype(np.int64), np.array(own["distances"])
    where = np.full(near.shape, part)
    first = np.unique(leaf, return_index=True)[1]  # one row speaks for its copies
    for host in hosts(problem, part).tolist():
        piece = problem.store.read("answers", host, "home", "place", "found", "far")
        guests = slice(*np.searchsorted(piece["home"], [part, part + 1]))
        speaks = first[leaf[piece["place"][guests]]] == piece["place"][guests]
        rows = leaf[piece["place"][guests]][speaks]
        answers = piece["found"][guests][speaks], piece["far"][guests][speaks]
        _keep_nearest((near, where, distances), rows, host, *answers)
    kept = np.isfinite(distances)
    weights = np.ones_like(distances)
    if problem.recipe.edge_weights == "fuzzy":
        weights = many_memberships(np.where(kept, distances, distances[kept].max(initial=1.0)))
    i = np.broadcast_to(np.arange(len(near))[:, None], near.shape)[kept]
    order = np.argsort(where[kept], kind="stable")
    edges = {"leaf": i, "part": where[kept], "other": near[kept], "weight": weights[kept]}
    return {name: values[order] for name, values in edges.items()}


def _keep_nearest(lists: tuple[Ints, Ints, Floats], rows: Ints, host: int, found: Ints, far: Floats) -> None:
    """Keep in the lists of these rows the nearest of old and new, and of those at one distance the old."""
    near, where, distances = lists
    both = np.hstack([distances[rows], far])
    order = np.argsort(both, axis=1, kind="stable")[:, : near.shape[1]]
    for kept, new in ((near, found), (where, np.full(found.shape, host)), (distances, far)):
        kept[rows] = np.take_along_axis(np.hstack([kept[rows], new]), order, axis=1)


def weigh(problem: Problem, part: int) -> Arrays:
    """Undirected edges of a part's leaves, all points counted: within, as CSR, and across, sorted by the other part."""
    sizes, own = np.array(problem.store.one("leaves", part, "sizes")), _directed(problem, part)
    found = _undirected(own(part), own(part)) @ sp.diags_array(sizes)
    inner = sp.csr_array(sp.diags_array(sizes) @ found)
    across: list[sp.coo_array[np.float64]] = []
    others = [q for q in neighbouring(problem, part) if q != part]
    for other in others:
        theirs = np.array(problem.store.one("leaves", other, "sizes"))
        joined = _undirected(own(other), _directed(problem, other)(part))
        across.append(sp.coo_array(sp.diags_array(sizes) @ joined @ sp.diags_array(theirs)))
    told = {"indptr": inner.indptr, "indices": inner.indices, "data": inner.data}
    empty = np.empty(0, dtype=np.int64)
    told["part"] = np.repeat(np.array(others, dtype=np.int64), [edges.nnz for edges in across])
    told["leaf"] = np.concatenate([empty, *(edges.coords[0] for edges in across)])
    told["other"] = np.concatenate([empty, *(edges.coords[1] for edges in across)])
    told["weight"] = np.concatenate([np.empty(0), *(edges.data for edges in across)])
    return told


def neighbouring(problem: Problem, part: int) -> list[int]:
    """Parts with an edge to or from a part, as far as visits allow one."""
    towards = problem.store.one("answers", part, "home")
    return np.unique(np.concatenate([hosts(problem, part), towards])).tolist()  # type: ignore[no-any-return]


def _directed(problem: Problem, part: int) -> Any:
    """Other part → the matrix of directed edges to its leaves."""
    piece = {name: np.array(values) for name, values in problem.store.read("edges", part).items()}
    m = len(problem.store.one("leaves", part, "sizes"))

    def towards(other: int) -> Matrix:
        run = slice(*np.searchsorted(piece["part"], [other, other + 1]))
        shape = (m, len(problem.store.one("leaves", other, "sizes")))
        return sp.csr_array((piece["weight"][run], (piece["leaf"][run], piece["other"][run])), shape=shape)

    return towards


def _undirected(there: Matrix, back: Matrix) -> Matrix:
    """The probability that one or the other edge exists: a + b − ab, as in a graph made at once."""
    reverse = sp.csr_array(back.T)
    return sp.csr_array(there + reverse - there * reverse)
