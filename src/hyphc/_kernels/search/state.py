"""Data of the tree search: the tree with its weights, scratch space and an agenda, each a tuple of few arrays.

Nodes 0 … n − 1 are leaves, n … 2n − 2 inner nodes in any order, and node 2n − 1 is a sentinel above the root: its left child is
the root. A *region* is the subtree below one side of one node, its region parent; the whole tree is the region
left below the sentinel. A search inside a region reads and writes nothing above or beside it, so disjoint regions can be searched
in parallel on the same arrays.

Nodes are records: what is known of a node shares a cache line, and functions of few arrays compile faster. Each kind of
similarity has a state of its own with just what it needs, and kernels are compiled for each kind that is used. Numbers of nodes
are int64 throughout, so that this happens once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import part

_LINKS = (
    ("parent", np.int64),
    ("left", np.int64),  # −1 for leaves
    ("right", np.int64),
    ("waiting", np.int64),  # 1 while the node is queued
    ("points", np.float64),  # |v|
    ("cut", np.float64),  # similarity across the split, x(v)
)
_INTERVAL = (
    ("first", np.int64),  # the keys of the leaves below v, and of no other leaf, lie in first … last
    ("last", np.int64),
)
_RUN = (
    ("first", np.int64),  # the leaves below v stand at positions first … last − 1
    ("last", np.int64),
    ("order", np.int64),  # entry k of this column is the leaf at position k
)
_SPREAD = (
    ("smaller", np.float64),  # points of the smaller child
    ("scatter", np.float64),  # Σ |l|·‖mean of l − mean of v‖² over the leaves below v
    ("loosest", np.float64),  # at most the lowest mean similarity across a split strictly below v
)
_PARTS = (
    ("edges", np.float64),  # the graph's part of the cut
    ("square", np.float64),  # Σ ‖x‖² over the points of v
    ("disparity", np.float64),  # Σ |l|·(mean square of l − mean square of v)² over the leaves below v
)
FEATURE_NODE = record_dtype(*_LINKS, *_SPREAD)
DENSE_NODE = record_dtype(*_LINKS, *_RUN)
GRAPH_NODE = record_dtype(*_LINKS, *_INTERVAL)
BLEND_NODE = record_dtype(*_LINKS, *_INTERVAL, *_SPREAD, *_PARTS)

WORK = record_dtype(
    ("node", np.int64),  # branch and bound: the stack
    ("acc", np.float64),
    ("weight", np.float64),
)

AGENDA_ROW = record_dtype(
    ("ring", np.int64),  # queue of nodes to try
    ("moved", np.int64),  # log of moves: the subtree, and the sibling it was taken from
    ("beside", np.int64),
    ("leaf", np.int64),  # leaves of the region
)

COUNTS = record_dtype(
    ("trials", np.int64),  # so far
    ("visits", np.int64),  # edges read and positions compared so far
    ("neighbours", np.int64),  # graphs: entries of ``keys``
    ("low", np.int64),  # graphs: keys of the region that is searched lie in low … high − 1
    ("high", np.int64),
)

AGENDA_STATE = record_dtype(
    ("head", np.int64),  # where the queue begins in the ring
    ("waiting", np.int64),  # nodes in the queue
    ("logged", np.int64),  # moves in the log
    ("random", np.int64),  # state of the generator
    ("low", np.int64),  # graphs: keys of the region lie in low … high − 1
    ("high", np.int64),
)


class Terms(NamedTuple):
    """Constants of a search by which positions are compared."""

    offset: float  # features: w = offset·|l|·|m| + scale·⟨x_l, x_m⟩
    scale: float
    longest: float  # features: the longest of x_l / |l|
    least: float  # fewest points of a leaf
    tolerance: float  # gains below this share of the terms compared may be rounding
    opened: float  # maximum nodes that a trial expands below one node
    climbed: float  # maximum levels that it climbs
    hidden: float = 0.0  # blends: the background has terms of up to this times |l|·|m|, which may cancel
    tilt: float = 0.0  # blends: w has −tilt·(|l|·‖m‖² + |m|·‖l‖²) more, ‖l‖² the sum of squares of l's points


class FeatureState(NamedTuple):
    """A tree over features."""

    nodes: Records  # (2n,) of FEATURE_NODE
    terms: Terms
    sums: npt.NDArray[Any]  # of rows, (2n, d)


class DenseState(NamedTuple):
    """A tree over a matrix."""

    nodes: Records  # (2n,) of DENSE_NODE
    terms: Terms
    matrix: Floats  # w, (n, n)
    sums: Floats  # row sums of inner nodes, (n, n)


class GraphState(NamedTuple):
    """A tree over a graph."""

    nodes: Records  # (2n,) of GRAPH_NODE
    terms: Terms
    indptr: Ints
    indices: npt.NDArray[np.int32]
    weights: Floats  # of the edges


class BlendState(NamedTuple):
    """A tree over a graph and a background."""

    nodes: Records  # (2n,) of BLEND_NODE
    terms: Terms
    indptr: Ints
    indices: npt.NDArray[np.int32]
    weights: Floats
    sums: Floats  # of the background's rows, (2n, d)


State = FeatureState | DenseState | GraphState | BlendState


class Scratch(NamedTuple):
    """Working space of one thread."""

    work: Records  # (2n,) of WORK
    counts: Records  # one of COUNTS
    keys: Ints  # graphs: keys of the neighbours of A, in ascending order
    leaves: Ints  # graphs: those neighbours
    flows: Floats  # graphs: w(A, leaf) while neighbours are gathered, else 0
    sums: Floats  # sums[k] is w(A, ·) of all before: of entry k of ``keys`` (graphs), of leaf position k (matrices)


class Agenda(NamedTuple):
    """Nodes to try in one region, the moves made there, and its random state."""

    plan: Records  # of AGENDA_ROW
    now: Records  # one of AGENDA_STATE
    n_leaves: int


KEY_SPACE = 1 << 62  # keys of leaves lie in 0 … KEY_SPACE − 1; unconnected leaves have the key −1


@part
def push(nodes: Records, agenda: Agenda, v: int) -> None:
    """Queue node v unless it is queued already."""
    if nodes[v].waiting == 0:
        nodes[v].waiting = 1
        agenda.plan[(agenda.now.head + agenda.now.waiting) % agenda.plan.shape[0]].ring = v
        agenda.now.waiting += 1


@part
def pop(nodes: Records, agenda: Agenda) -> int:
    """Remove the oldest node from the queue and return it."""
    v = agenda.plan[agenda.now.head].ring
    agenda.now.head = (agenda.now.head + 1) % agenda.plan.shape[0]
    agenda.now.waiting -= 1
    nodes[v].waiting = 0
    return v  # type: ignore[no-any-return]


@part
def draw_below(agenda: Agenda, bound: int | np.int64) -> int:
    """Return a random integer in [0, bound), bound < 2³¹, by the minimal standard generator (x ← 48 271 x mod 2³¹ − 1).

    Constants are given as np.int64: for each plain one the function would be compiled again.
    """
    agenda.now.random = agenda.now.random * 48_271 % 2_147_483_647
    return agenda.now.random * bound // 2_147_483_647  # type: ignore[no-any-return]


@part
def sibling(nodes: Records, v: int) -> int:
    """Return the other child of v's parent."""
    p = nodes[v].parent
    left = nodes[p].left
    return nodes[p].right if left == v else left  # type: ignore[no-any-return]


@part
def child(nodes: Records, v: int, side: int) -> int:
    """Return the left (0) or right (1) child of v."""
    return nodes[v].left if side == 0 else nodes[v].right  # type: ignore[no-any-return]
