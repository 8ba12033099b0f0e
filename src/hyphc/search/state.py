"""Conversion of trees and similarities to the arrays of the search kernels, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._kernels.search import tree_passes
from .._kernels.search.state import (
    AGENDA_ROW,
    AGENDA_STATE,
    BLEND_NODE,
    COUNTS,
    DENSE_NODE,
    FEATURE_NODE,
    GRAPH_NODE,
    KEY_SPACE,
    WORK,
    Agenda,
    BlendState,
    DenseState,
    FeatureState,
    GraphState,
    Scratch,
    State,
    Terms,
)
from .._kernels.tree.passes import lifted_heights, subtree_sums
from .._runtime.arrays import Ints, Records, zero_record
from ..scores.costs import split_weights
from ..similarity import Background, Blend, Dense, Features, Graph, Similarity
from ..similarity.base import by_kind
from ..similarity.blend import BlendRows
from ..tree import Tree

# Rounding error of sums over many rows, relative to the terms compared: moves that gain less are not made.
_TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-11}
# From so many entries on, subtree sums of float32 features stay in float32: the search is bound by memory access then.
_LARGE = 1 << 24

# Maximum levels that a subtree climbs in one move, so that a trial in a deep tree does not take time in proportion to its depth.
_CLIMB = 1_000.0


@by_kind
def empty_state(similarity: Similarity) -> State:
    """Return a state of unconnected leaves; the last node is the sentinel above the root."""
    raise TypeError(f"There is no search for {similarity!r}.")


@empty_state.register
def _(similarity: Features) -> State:
    X, n = similarity.X, similarity.n
    large = X.size > _LARGE and X.dtype == np.float32
    sums = np.zeros((2 * n, X.shape[1]), dtype=np.float32 if large else np.float64)
    sums[:n] = X
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64)) / similarity.sizes
    terms = _terms(similarity)._replace(
        offset=similarity.offset, scale=similarity.scale, longest=float(lengths.max()), tolerance=_TOLERANCE[sums.dtype]
    )
    return FeatureState(_leaves(similarity, FEATURE_NODE), terms, sums)


@empty_state.register
def _(similarity: Dense) -> State:
    return DenseState(_leaves(similarity, DENSE_NODE), _terms(similarity), similarity.W, np.zeros_like(similarity.W))


@empty_state.register
def _(similarity: Graph) -> State:
    edges = similarity.indptr, similarity.indices, similarity.data
    return GraphState(_leaves(similarity, GRAPH_NODE), _terms(similarity), *edges)


@empty_state.register
def _(similarity: Blend) -> State:
    graph, background = similarity.parts
    sums = np.zeros((2 * similarity.n, background.n_columns))
    sums[: similarity.n] = background.X
    nodes, slope = _leaves(similarity, BLEND_NODE), background.slope
    nodes["square"][: similarity.n] = background.squares
    level = slope * background.level
    terms = _terms(similarity)._replace(offset=level, scale=2.0 * slope, hidden=level, tilt=slope)
    return BlendState(nodes, terms, graph.indptr, graph.indices, graph.data, sums)


@empty_state.register
def _(similarity: Background) -> State:
    return empty_state(Blend(Graph(sp.csr_array((similarity.n, similarity.n))), similarity))


def _leaves(similarity: Similarity, node: np.dtype[Any]) -> Records:
    nodes = np.zeros(2 * similarity.n, dtype=node)
    for link in ("parent", "left", "right"):
        nodes[link] = -1
    nodes["points"][: similarity.n] = similarity.sizes
    nodes["points"][-1] = np.inf
    return nodes


def _terms(similarity: Similarity) -> Terms:
    least, tolerance = float(similarity.sizes.min()), _TOLERANCE[np.dtype(np.float64)]
    return Terms(0.0, 0.0, 0.0, least, tolerance, opened=np.inf, climbed=_CLIMB)


def node_numbers(m: int, n: int) -> Ints:
    """Return the numbers that the nodes of a tree of m leaves have in a state of n leaves."""
    return np.append(np.arange(m), n + np.arange(m - 1))


def build_state(tree: Tree, similarity: Similarity) -> State:
    """Return the state of a tree; leaves of the similarity beyond those of the tree stay unconnected, to be inserted."""
    state = empty_state(similarity)
    nodes, n, m = state.nodes, similarity.n, tree.n_leaves
    number = node_numbers(m, n)
    inner, root = number[m:], number[-1]
    nodes["left"][inner], nodes["right"][inner] = number[tree.children].T
    nodes["parent"][nodes["left"][inner]] = nodes["parent"][nodes["right"][inner]] = inner
    nodes["left"][-1], nodes["parent"][root] = root, 2 * n - 1
    nodes["points"][number] = subtree_sums(np.array(tree.children), similarity.sizes[:m])
    if isinstance(state, (GraphState, BlendState)):
        nodes["first"][m:n] = nodes["last"][m:n] = -1
        set_keys(nodes, tree, number)
    if not isinstance(state, FeatureState):
        joined = similarity if m == n else similarity.subset(np.arange(m))
        nodes["edges" if isinstance(state, BlendState) else "cut"][inner] = split_weights(tree, joined.local_part)
    if isinstance(state, DenseState):
        nodes["order"][:m] = tree.leaf_order()
        nodes["first"][number] = tree._first
        nodes["last"][number] = tree._first + tree.sizes
    if not isinstance(state, GraphState):
        tree_passes.update_all_sums(state, inner)
    return state


def with_empty_leaves(similarity: Features | Graph | Blend, count: int) -> Similarity:
    """Return the similarity with so many further leaves, similar to none: room for ``write_leaves``."""
    if isinstance(similarity, Features):
        return similarity.extended(np.zeros((count, similarity.n_columns)))
    edges = sp.csr_array((count, similarity.n))
    if isinstance(similarity, Graph):
        return similarity.extended(edges)
    return similarity.extended(BlendRows(edges, np.zeros((count, similarity.n_columns))))


def write_leaves(state: Any, similarity: Features | Graph | Blend, rows: Any, first: int) -> State:
    """Return the state with unconnected leaves from number ``first`` on that have these rows; arrays of nodes are shared.

    Other leaves have no edges in it: enough for inserting new ones, not for moving old ones.
    """
    count = rows.shape[0]
    new = slice(first, first + count)
    if isinstance(similarity, Features):
        state.sums[new] = rows
        return state  # type: ignore[no-any-return]
    edges = rows
    if isinstance(similarity, Blend):
        edges, features = rows.edges, rows.features
        state.sums[new] = features
        state.nodes["square"][new] = np.einsum("ij,ij->i", features, features)
    graph = similarity.graph if isinstance(similarity, Blend) else similarity
    across = graph.edges_of_new(edges)
    indptr = np.full(len(state.indptr), across.nnz, dtype=np.int64)
    indptr[:first] = 0
    indptr[first : first + count + 1] = across.indptr
    return state._replace(indptr=indptr, indices=across.indices.astype(np.int32), weights=across.data)  # type: ignore[no-any-return]


def set_keys(nodes: Records, tree: Tree, number: Ints) -> None:
    """Spread the keys of the leaves evenly in tree order, and set the intervals of all nodes."""
    spacing = KEY_SPACE // (len(nodes) // 2 + 1)
    nodes["first"][number] = tree._first * spacing
    nodes["last"][number] = (tree._first + tree.sizes - 1) * spacing


def renumber_depth_first(tree: Tree, similarity: Similarity) -> tuple[Tree, Similarity, npt.NDArray[np.int64]]:
    """Return the problem with leaves and merges renumbered in depth-first order, and the old numbers of the leaves.

    A search then accesses memory in order. A matrix keeps its leaves: copying it would cost more than it gains.
    """
    n = tree.n_leaves
    sizes = np.asarray(tree.sizes[n:])
    merges = np.lexsort((sizes, tree._first[n:] + sizes))  # children before parents, left before right
    permuted, leaves = similarity.reordered(tree.leaf_order())
    number = np.empty(2 * n - 1, dtype=np.int64)
    number[leaves] = np.arange(n)
    number[n + merges] = n + np.arange(n - 1)
    return Tree(number[tree.children[merges]]), permuted, leaves


def new_scratch(state: State) -> Scratch:
    """Return working space for one thread."""
    n = len(state.nodes) // 2
    by_leaf = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.zeros(n), np.empty(n + 1)
    return Scratch(np.zeros(len(state.nodes), dtype=WORK), zero_record(COUNTS), *by_leaf)


def state_cost(state: State) -> float:
    """Return the cost of the tree, Σ_v |v|·x(v)."""
    n = len(state.nodes) // 2
    return float(state.nodes["points"][n:-1] @ state.nodes["cut"][n:-1])


def cost_scale(state: State) -> float:
    """Return the normaliser of relative gains: the cost, of a blend the graph's part, as the background has a free constant."""
    n = len(state.nodes) // 2
    crossing = state.nodes["edges" if isinstance(state, BlendState) else "cut"][n:-1]
    return abs(float(state.nodes["points"][n:-1] @ crossing))


def new_agenda(leaves: Ints, seed: int) -> Agenda:
    """Return an empty agenda for the region of these leaves."""
    # the queue holds each node of the region at most once; the log has room for the largest perturbation and its repair
    plan = np.zeros(4 * len(leaves) + 256, dtype=AGENDA_ROW)
    plan["leaf"][: len(leaves)] = leaves
    now = zero_record(AGENDA_STATE)
    now.random = 1 + seed % 2_147_483_646
    now.high = KEY_SPACE
    return Agenda(plan, now, len(leaves))


def tree_from_state(state: State, leaves: npt.NDArray[np.int64], highest: float, names: tuple[str, ...] | None) -> Tree:
    """Return the tree of a state whose leaf i is number leaves[i].

    Heights are ``highest`` − (mean similarity across the split), lifted so that none lies below a child's.
    """
    n = len(leaves)
    order = tree_passes.merge_order(state.nodes, new_scratch(state))
    left, right = state.nodes["left"][order], state.nodes["right"][order]
    means = state.nodes["cut"][order] / (state.nodes["points"][left] * state.nodes["points"][right])
    number = np.empty(2 * n - 1, dtype=np.int64)
    number[:n] = leaves
    number[order] = n + np.arange(n - 1)
    children = number[np.column_stack([left, right])]
    return Tree(children, lifted_heights(children, np.maximum(highest - means, 0.0)), names)
