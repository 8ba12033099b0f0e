"""The graph of neighbours: directed edges, each leaf's own opinion, joined with the other direction once both ends have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from .._runtime.arrays import Floats
from .._runtime.shard_store import Arrays
from .assignment import sums_of_leaves
from .problem import Problem

Matrix: TypeAlias = "sp.csr_array[np.float64]"  # as text: older SciPy cannot evaluate it


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
