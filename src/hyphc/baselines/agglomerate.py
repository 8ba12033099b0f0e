"""A tree for a sparse graph without any n² step: agglomeration along its edges."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from .._kernels.baselines import agglomerate as kernels
from .._runtime.arrays import Records
from .._runtime.parallel import thread_map
from ..scores.heights import with_similarity_heights
from ..similarity import Background, Blend, Graph, Similarity
from ..similarity.group_sums import indicator
from ..tree import Tree
from .bisection import bisecting_kmeans
from .linkage import average_linkage

# How much a neighbour in common counts beside an edge. Edges without weights are all alike; triangles tell which of them
# lie within groups. Between 0.1 and 0.3 costs were lowest or nearly so on six graphs; at 1 citation graphs lose some per cent.
TRIANGLES = 0.25
# Components that average linkage joins in a moment.
FEW = 2_000
ROWS = 1 << 15  # whose triangles one thread counts at a time


def graph_agglomeration(similarity: Similarity) -> Tree:
    """Merge the two clusters that are closest along the graph's edges, again and again: no n² step.

    The closeness of A and B is w'(A, B) / (|A|·|B|): average linkage, absent edges being 0. w' adds to each edge the neighbours
    that its ends have in common, each in proportion to both edges,

        w'_ij = w_ij + ¼·Σ_k w_ik·w_kj / (|k|·w̄)    where w_ij > 0,

    with w̄ the mean weight of an edge. Parts that no edge connects are joined last, the smallest first. Ties go to the clusters
    whose last leaves come first; there is nothing random.

    Parameters
    ----------
    similarity : Graph or Blend
        It need not be connected; leaves may stand for several points. The parts of a blend's graph are joined by its background.

    Notes
    -----
    The closest pair is not searched for: chains of nearest neighbours, with a heap of neighbours for each cluster, merge the same
    pairs in another order. Moving entries between heaps takes O(m log² n) for m edges; how often one must be brought up to date
    has no proven bound, but hubs and paths of 100 000 nodes take less than a second. Triangles take
    O(Σ min(deg i, deg j)·log n) over all edges, at most O(m^1.5 log n).
    Heights are w_max − (mean similarity across the split), made non-decreasing.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> path = sp.diags_array([[1.0, 3.0, 1.0, 2.0]], offsets=[1], shape=(5, 5))
    >>> graph_agglomeration(Graph(path + path.T)).cut(n_clusters=2)
    array([0, 0, 0, 1, 1])
    """
    if not similarity.has_edges:
        raise ValueError(
            f"graph_agglomeration merges along edges; got {similarity!r}: pass a sparse matrix through as_similarity, "
            "or as_similarity(X)."
        )
    return with_similarity_heights(agglomerated_tree(similarity), similarity)


def agglomerated_tree(similarity: Similarity) -> Tree:
    """Return the tree of ``graph_agglomeration`` without heights, for a search to start from."""
    graph = similarity.local_part
    assert isinstance(graph, Graph)
    state = _initial_state(graph)
    children = np.empty((graph.n - 1, 2), dtype=np.int64)
    made = _merge_neighbours(state, graph, children)
    leaders = np.flatnonzero(state.clusters["leader"] == np.arange(graph.n))
    parts = state.clusters[leaders]
    if isinstance(similarity, Blend) and len(parts) > 2:
        top = _join_components(similarity.background, connected_components(graph.to_csr(), directed=False)[1], leaders)
        nodes = np.append(parts["node"], graph.n + made + np.arange(len(parts) - 1))
        children[made:] = nodes[top.children]
    elif len(parts) > 1:
        children[made:] = _smallest_first(parts, graph.n + made)
    return Tree(children)


def _join_components(background: Background, component: npt.NDArray[np.int32], leaders: npt.NDArray[np.int64]) -> Tree:
    """A tree of the components, each known by one of its leaves, by how far apart they lie."""
    number = np.empty(len(leaders), dtype=np.int64)
    number[component[leaders]] = np.arange(len(leaders))
    members = indicator(number[component], len(leaders))
    grouped = background.combined(members, np.asarray(members @ background.sizes))
    return average_linkage(grouped) if len(leaders) <= FEW else bisecting_kmeans(grouped)


def _smallest_first(parts: Records, first: int) -> npt.NDArray[np.int64]:
    """Merges, numbered from ``first`` on, of parts that no edge connects: always the two with the fewest points.

    So the tree is balanced there. Of as many points, the part whose last leaf comes first, and parts before their joins.
    """
    waiting = [(points, label, node) for points, label, node in parts[["points", "label", "node"]].tolist()]
    heapify(waiting)
    merges: list[tuple[int, int]] = []
    last = max(label for _, label, _ in waiting)
    while len(waiting) > 1:
        (one, _, left), (two, _, right) = heappop(waiting), heappop(waiting)
        heappush(waiting, (one + two, last + 1 + len(merges), first + len(merges)))
        merges.append((left, right))
    return np.array(merges, dtype=np.int64)


def _initial_state(graph: Graph) -> kernels.Clusters:
    """Room for one cluster for each leaf."""
    clusters = np.zeros(graph.n, dtype=kernels.CLUSTER)
    clusters["points"] = graph.sizes
    entries = np.zeros(len(graph.data), dtype=kernels.ENTRY)
    # a power of two of slots, at most half of them taken
    pairs = np.zeros(1 << (2 * graph.n_edges).bit_length(), dtype=kernels.PAIR)
    pairs["code"] = -1
    return kernels.Clusters(clusters, entries, pairs)


def _merge_neighbours(state: kernels.Clusters, graph: Graph, children: npt.NDArray[np.int64]) -> int:
    """How many merges were made and written to ``children``."""
    indices = graph.indices.astype(np.int64)
    edges = graph.indptr, indices, _closeness(graph, indices)
    chain, stack = np.empty(graph.n + 1, dtype=np.int64), np.empty(len(indices) + 1, dtype=np.int64)
    made: int = kernels.merge_neighbours(state, *edges, children, chain, stack)
    return made


def _closeness(graph: Graph, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """w' of each stored edge, times the sum of all weights: exact for whole numbers, so that ties stay ties."""
    weights = np.ldexp(graph.data, -np.frexp(graph.maximum())[1])  # near 1, so that no product under- or overflows
    shared = np.zeros(len(weights))
    edges = graph.indptr, indices, weights, graph.sizes, shared
    begins = range(0, graph.n, ROWS)
    thread_map(
        lambda begin: kernels.add_shared_neighbours(*edges, begin, min(begin + ROWS, graph.n)), begins, n_jobs=-1
    )
    rows = np.repeat(graph.sizes, np.diff(graph.indptr))
    n_pairs = rows @ graph.sizes[indices]
    return np.asarray(weights * weights.sum() + TRIANGLES * n_pairs * shared)
