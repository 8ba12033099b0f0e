"""What the tree search works on: the tree with its weights, scratch space and an agenda, each a tuple of few arrays.

Nodes 0 … n − 1 are leaves, n … 2n − 2 inner nodes in any order, and node 2n − 1 is a sentinel above the root: its left child is
the root. A *region* is the subtree below one side of one node, its ceiling; the whole tree lies left below the sentinel. A search
inside a region reads and writes nothing above or beside it, so disjoint regions can be searched at the same time on the
same arrays.

Nodes are records: what is known of a node shares a cache line, and functions of few arrays compile faster. Numbers of nodes
are int64 throughout, so that each function is compiled once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from ..._shared.arrays import Ints, Records, record

FEATURES, DENSE, GRAPH = 0, 1, 2

NODE = record(
    ("parent", np.int64),
    ("left", np.int64),  # −1 for leaves
    ("right", np.int64),
    ("first", np.int64),  # matrices: the leaves below v stand at positions first … last − 1
    ("last", np.int64),
    ("order", np.int64),  # matrices: entry k of this column is the leaf at position k
    ("waiting", np.int32),  # 1 while the node is queued
    ("region", np.int32),  # graphs: leaves with one number see each other's edges
    ("points", np.float64),  # |v|
    ("cut", np.float64),  # similarity across the split, x(v)
    ("smaller", np.float64),  # features: points of the smaller child
    ("scatter", np.float64),  # features: Σ |l|·‖mean of l − mean of v‖² over the leaves below v
    ("loosest", np.float64),  # features: at most the lowest mean similarity across a split strictly below v
)

WORK = record(
    ("node", np.int64),  # branch and bound: the stack
    ("path", np.int64),  # graphs: nodes above neighbours of A, walk by walk
    ("start", np.int64),  # graphs: where each walk starts
    ("seen", np.int64),  # graphs: 1 for nodes in path
    ("acc", np.float64),
    ("weight", np.float64),
    ("flow", np.float64),  # graphs: w(A, v), zero but above neighbours; matrices: prefix sums of w(A, ·)
)

PLAN = record(
    ("ring", np.int64),  # queue of nodes to try
    ("moved", np.int64),  # log of moves: the subtree, and the sibling it was taken from
    ("beside", np.int64),
    ("leaf", np.int64),  # leaves of the region
)

COUNTS = record(
    ("reached", np.int64),  # graphs: length of path
    ("trials", np.int64),  # so far
)

NOW = record(
    ("head", np.int64),  # where the queue begins in the ring
    ("waiting", np.int64),  # nodes in the queue
    ("logged", np.int64),  # moves in the log
    ("random", np.int64),  # state of the generator
)


class Terms(NamedTuple):
    """Numbers on whose terms places are compared; they do not change during a search."""

    offset: float  # features: w = offset·|l|·|m| + scale·⟨x_l, x_m⟩
    scale: float
    longest: float  # features: the longest of x_l / |l|
    least: float  # fewest points of a leaf
    tolerance: float  # gains below this share of the terms compared may be rounding
    opened: float  # the most nodes that a trial opens below one node
    climbed: float  # the most levels that it climbs


class State(NamedTuple):
    """Tree and similarity; arrays that a kind does not need are empty."""

    kind: int
    nodes: Records  # (2n,) of NODE
    sums: npt.NDArray[Any]  # features: sums of rows, (2n, d); matrices: row sums of inner nodes, (n, n)
    matrix: npt.NDArray[Any]  # matrices: w, (n, n); graphs: weights of the edges, (1, stored entries)
    indptr: Ints
    indices: npt.NDArray[np.int32]
    terms: Terms


class Scratch(NamedTuple):
    """Working space of one thread."""

    work: Records  # (2n,) of WORK
    counts: Records  # one of COUNTS


class Agenda(NamedTuple):
    """Nodes to try in one region, the moves made there, and its random state."""

    plan: Records  # of PLAN
    now: Records  # one of NOW
    n_leaves: int


@njit(cache=True, nogil=True)
def push(nodes: Records, agenda: Agenda, v: int) -> None:
    """Queue node v unless it is queued."""
    if nodes[v].waiting == 0:
        nodes[v].waiting = 1
        agenda.plan[(agenda.now.head + agenda.now.waiting) % agenda.plan.shape[0]].ring = v
        agenda.now.waiting += 1


@njit(cache=True, nogil=True)
def pop(nodes: Records, agenda: Agenda) -> int:
    """Take the oldest node from the queue."""
    v = agenda.plan[agenda.now.head].ring
    agenda.now.head = (agenda.now.head + 1) % agenda.plan.shape[0]
    agenda.now.waiting -= 1
    nodes[v].waiting = 0
    return v  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def draw(agenda: Agenda, bound: int) -> int:
    """A random integer in [0, bound), bound < 2³¹, by the minimal standard generator (x ← 48 271 x mod 2³¹ − 1)."""
    agenda.now.random = agenda.now.random * 48_271 % 2_147_483_647
    return agenda.now.random * bound // 2_147_483_647  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def sibling(nodes: Records, v: int) -> int:
    """The other child of v's parent."""
    p = nodes[v].parent
    left = nodes[p].left
    return nodes[p].right if left == v else left  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def child(nodes: Records, v: int, side: int) -> int:
    """The left (0) or right (1) child of v."""
    return nodes[v].left if side == 0 else nodes[v].right  # type: ignore[no-any-return]
