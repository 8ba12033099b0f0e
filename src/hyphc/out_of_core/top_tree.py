"""The tree above the parts: first of parts as weighted leaves, then of small subtrees of all parts, which may change places.

A subtree of many points is a leaf that carries the sum of their rows and of their edges, so that similarities between subtrees
are exact, and what a move gains for this tree it gains for the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.shard_store import Arrays
from ..fit.weighted_leaves import expanded, grouped
from ..scores.costs import splits
from ..similarity import Similarity
from ..tree import Tree
from .job import Problem
from .partition_trees import ground, similarity_of
from .search_settings import refined, searched, swept_above


def coarsen(problem: Problem, part: int) -> Arrays:
    """Edges of a part between subtrees of the frontier, summed, each pair of subtrees once: subtree, part, subtree, weight."""
    graph, own = problem.store.read("graph", part), np.array(problem.store.one("fits", part, "frontier"))
    inner = sp.csr_array((graph["data"], graph["indices"], graph["indptr"]), shape=(len(own), len(own))).tocoo()
    once = inner.row < inner.col
    edges = [_summed(own[inner.row[once]], own[inner.col[once]], inner.data[once])]
    parts = [np.full(len(edges[0].weight), part)]
    for other in np.unique(graph["part"][graph["part"] > part]).tolist():
        run = slice(*np.searchsorted(graph["part"], [other, other + 1]))
        theirs = np.array(problem.store.one("fits", other, "frontier"))
        edges.append(_summed(own[graph["leaf"][run]], theirs[graph["other"][run]], graph["weight"][run]))
        parts.append(np.full(len(edges[-1].weight), other))
    told = {name: np.concatenate(values) for name, values in zip(_Edges._fields, zip(*edges, strict=True), strict=True)}
    return {**told, "part": np.concatenate(parts)}


class _Edges(NamedTuple):
    one: Ints
    other: Ints
    weight: Floats


def _summed(one: Ints, other: Ints, weight: Floats) -> _Edges:
    """Edges of the same two ends as one."""
    if len(one) == 0:
        return _Edges(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    summed = sp.csr_array(sp.coo_array((weight, (one, other)))).tocoo()
    return _Edges(summed.row.astype(np.int64), summed.col.astype(np.int64), summed.data)


class Frontier(NamedTuple):
    """Small subtrees of all parts as weighted leaves, the part of each, and where each part's begin."""

    similarity: Similarity
    part: Ints
    starts: Ints


def frontier_of(problem: Problem) -> Frontier:
    """The leaves of the tree above, with their exact similarities."""
    fits = list(problem.pieces("fits", problem.n_parts(), "sums", "squares", "sizes"))
    sums, squares, sizes = (np.concatenate([piece[name] for piece in fits]) for name in ("sums", "squares", "sizes"))
    counts = [len(piece["sizes"]) for piece in fits]
    starts = np.append(0, np.cumsum(counts))
    graph = _graph(problem, starts) if problem.has_edges else None
    similarity = similarity_of(sums, squares, sizes, graph, ground(problem))
    return Frontier(similarity, np.repeat(np.arange(len(counts)), counts), starts)


def _graph(problem: Problem, starts: Ints) -> sp.csr_array[np.float64]:
    ends = []
    for part, piece in enumerate(problem.pieces("coarse", problem.n_parts())):
        ends.append((starts[part] + piece["one"], starts[piece["part"]] + piece["other"], piece["weight"]))
    i, j, weight = (np.concatenate(values) for values in zip(*ends, strict=True))
    different = i != j  # what lies within a subtree stays there
    edges = (weight[different], (i[different], j[different]))
    upper = sp.csr_array(edges, shape=(starts[-1], starts[-1]))
    return sp.csr_array(upper + upper.T)


def top_tree(problem: Problem, _: int = 0) -> Arrays:
    """The tree of the frontier, and similarities across its merges."""
    frontier = frontier_of(problem)
    similarity = frontier.similarity
    tree = _repaired(problem, frontier) if problem.has_edges else _bisected(problem, similarity)
    told = {"children": tree.children, "near": splits(similarity.local_part, tree), "whole": splits(similarity, tree)}
    total = np.asarray(similarity.features()).sum(axis=0, dtype=np.float64)
    return {**told, "sizes": similarity.sizes, "starts": frontier.starts, "total": total}


def _repaired(problem: Problem, frontier: Frontier) -> Tree:
    """The tree of the parts, with theirs above the frontier, improved by moves across borders.

    Parts know more than what is left of their edges between subtrees: this costs less than a tree made of those.
    """
    seed = problem.recipe.seed
    parts = grouped(frontier.similarity, frontier.part)
    uppers = [Tree(np.array(piece["upper"])) for piece in problem.pieces("fits", problem.n_parts(), "upper")]
    start = expanded(searched(problem, parts, seed, -1), frontier.part, uppers)
    return refined(problem, start, frontier.similarity, seed, -1)


def _bisected(problem: Problem, similarity: Similarity) -> Tree:
    """A tree made as of all rows at once: without edges sums tell all, and where the sample drew borders has no meaning."""
    seed = problem.recipe.seed
    return swept_above(problem, searched(problem, similarity, seed, -1), similarity, seed, -1)
