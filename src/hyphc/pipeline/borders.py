"""Neighbours within a part and across its borders.

A row's neighbours may be in its own part and in those that hold the sample's rows nearest to it: it *visits* them. Each part
answers its own leaves and its visitors with their nearest of its leaves; each leaf then keeps the nearest of all answers.
"""

from __future__ import annotations

import numpy as np

from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
from .._runtime.validation import CHUNK_BYTES
from ..similarity.knn.edge_weights import many_memberships
from ..similarity.knn.search import Index, closest_of, nearest
from .assignment import rows_before
from .npy_rows import Rows
from .problem import Problem
from .sampling import index_of


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
