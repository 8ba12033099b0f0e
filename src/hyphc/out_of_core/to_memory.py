"""The similarity of all rows at once, from what a fit by parts left: for trees that fit into memory after all."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._runtime.validation import require_memory
from ..similarity import Background, Blend, Graph, Similarity
from ..similarity.metrics import Cosine
from ..similarity.neighbor_metrics import Auto, ScaledRows, repeat_leaves
from .job import Problem
from .partition_trees import ground
from .sample import sample_of


def whole_similarity(problem: Problem) -> Similarity:
    """What ``HypHC`` would have clustered, with the neighbours that the parts found."""
    n, d = problem.source.shape
    require_memory(40.0 * n * d, f"A model of {n} rows in memory", "stay with the one fitted by parts")
    if not problem.has_edges:
        return Cosine().similarity(problem.source.read(0, n))
    first, group, pieces = [], np.empty(n, dtype=np.int64), problem.pieces(problem.stage("leaves"), problem.n_parts())
    made, rows, sizes = 0, [], []
    for leaves in pieces:
        group[leaves["ids"]] = made + leaves["leaf"]
        first.append(made)
        rows.append(leaves["rows"].astype(np.float64))
        sizes.append(np.array(leaves["sizes"]))
        made += len(sizes[-1])
    return _blend(problem, np.concatenate(rows), np.concatenate(sizes), _graph(problem, np.array(first), made), group)


def _graph(problem: Problem, first: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> sp.csr_array[np.float64]:
    ends = []
    for part, piece in enumerate(problem.pieces("graph", problem.n_parts())):
        own = np.repeat(np.arange(len(piece["indptr"]) - 1), np.diff(piece["indptr"]))
        ends.append((first[part] + own, first[part] + piece["indices"], piece["data"]))
        ends.append((first[part] + piece["leaf"], first[piece["part"]] + piece["other"], piece["weight"]))
    i, j, weight = (np.concatenate(values) for values in zip(*ends, strict=True))
    return sp.csr_array((weight, (i, j)), shape=(n, n))


def _blend(
    problem: Problem,
    rows: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    sizes: np.ndarray[tuple[int], np.dtype[np.float64]],
    graph: sp.csr_array[np.float64],
    group: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Blend:
    """The blend of all rows; leaves are in the order of the parts."""
    recipe, strength = problem.recipe, ground(problem)
    assert strength is not None
    squares = np.einsum("ij,ij->i", rows, rows) * sizes
    background = Background(
        rows * sizes[:, None], slope=strength.slope, level=strength.level, squares=squares, sizes=sizes
    )
    blend = Blend(Graph(graph, sizes=sizes), background)
    blend.metric = Auto(recipe.n_neighbors, recipe.edge_weights, recipe.scale, recipe.background)
    blend.source = ScaledRows(sample_of(problem).columns, None, rows)
    return repeat_leaves(blend, group, np.ones(len(group)))
