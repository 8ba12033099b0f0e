"""Paris and Louvain of a similarity graph, by scikit-network, and Leiden, by leidenalg."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from hyphc import Tree
from hyphc.similarity import Graph, Similarity
from sknetwork.clustering import Louvain
from sknetwork.hierarchy import LouvainHierarchy, Paris


def paris(similarity: Similarity) -> Tree:
    """Paris (Bonald et al. 2018): agglomeration by the sampling ratio of pairs of clusters."""
    # its reordering numbers children after their parents where a graph has several parts; Tree sorts by height itself
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # it calls SciPy in a way that will change
        return _tree(Paris(reorder=False).fit_predict(_adjacency(similarity)))


def louvain(similarity: Similarity) -> Tree:
    """Louvain's successive aggregations, from the bottom up."""
    return _tree(LouvainHierarchy(random_state=0).fit_predict(_adjacency(similarity)))


def louvain_clusters(graph: Graph) -> npt.NDArray[np.int64]:
    """Louvain's clusters: those of largest modularity that it finds."""
    return np.asarray(Louvain(random_state=0).fit_predict(_adjacency(graph)), dtype=np.int64)


def leiden_clusters(graph: Graph) -> npt.NDArray[np.int64]:
    """Leiden's clusters by modularity."""
    import igraph
    import leidenalg

    i, j, weights = graph.edges()
    edges = igraph.Graph(graph.n, np.column_stack([i, j]).tolist())
    found = leidenalg.find_partition(edges, leidenalg.ModularityVertexPartition, weights=weights.tolist(), seed=0)
    return np.asarray(found.membership, dtype=np.int64)


def _adjacency(similarity: Similarity) -> sp.csr_matrix:
    """The graph; all pairs where the similarity is not one."""
    graph = sp.csr_matrix(similarity.to_csr() if isinstance(similarity, Graph) else similarity.to_dense())
    # scikit-network's compiled loops take 32-bit indices only
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return graph


def _tree(dendrogram: np.ndarray) -> Tree:
    # components are joined at height infinity
    finite = np.isfinite(dendrogram[:, 2])
    top = dendrogram[finite, 2].max(initial=0.0)
    heights = np.where(finite, dendrogram[:, 2], 2 * top + 1)
    return Tree.from_linkage(np.column_stack([dendrogram[:, :2], heights, dendrogram[:, 3]]))
