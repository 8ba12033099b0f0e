"""Leaves ask their neighbours, in whichever part these are, for nearer ones.

A row visits the parts near it, and misses neighbours in others: of those beyond its border every seventh, among the embeddings of
WordNet. Edges that are missing there make a border look cheaper than it is, and the tree keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
from ..similarity.knn.nn_descent import Lists, empty_lists, nearer_lists
from ..similarity.knn.row_preparation import large_exponent
from .borders import distances_to, tie_weights
from .npy_rows import Rows
from .problem import Problem

# A leaf is known everywhere by one number: that of its part, and in the lower bits its own there. Nobody is −1.
_BITS = 32
_OWN = (1 << _BITS) - 1


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
    places = nearer_lists(rows, _as_lists(circle.places, np.ldexp(known, -exponent)), circle.n_own, 1)[0]
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
