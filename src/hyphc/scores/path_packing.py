"""Packings of trees of paths: what they prove of every partition into small parts, how to verify, save and load them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._runtime.arrays import Floats, Ints
from .._runtime.atomic_write import atomic_write
from ..similarity import Graph

# Sums of a few million flows, in another order, differ by less than this share of a root's whole flow.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Packing:
    """Trees of paths, packed into the edges of a graph: a proof that partitions into small parts cut many edges.

    A tree sends, from its root v, a flow of ``amounts`` to each point of a set S of leaves that holds v; all together use no
    edge beyond its weight. If no part of a partition has more than t points (or is a single leaf), at most max(t, s_v) of
    the points of S are in the part of v, and the flow to all others crosses edges that are cut: their weight is at least

        worth(t) = Σ over trees of amount · max(0, |S| − max(t, s_v)).

    Attributes
    ----------
    t : float
        The level that the packing was made for; it proves something for all others too.
    root_sizes, points, amounts : arrays (K,)
        s_v and |S| in points, and the flow to each point; trees that agree in the first two are one.
    roots : array (R,), optional
    flows : sparse array (R, arcs), optional
        The flow from each root over each arc; arcs are in the order of ``graph.to_csr()``. None unless asked for.
    delivered : sparse array (R, n), optional
        What arrives at each leaf.
    """

    t: float
    root_sizes: Floats
    points: Floats
    amounts: Floats
    roots: Ints | None = None
    flows: sp.csr_array[np.float64] | None = None
    delivered: sp.csr_array[np.float64] | None = None

    def worth(self, t: npt.ArrayLike) -> Floats:
        """Return what a partition into parts of at most t points cuts at least, for an array of t: O((K + len(t)) log K)."""
        t = np.asarray(t, dtype=np.float64)
        # max(0, |S| − max(t, s)) = (|S| − t)⁺ − (s − t)⁺ as s ≤ |S|, and Σ a·(s − t)⁺ = Σ a·s − t·Σ a over s > t
        of_points, of_roots = (
            sums_above(values, self.amounts * values, t) - t * sums_above(values, self.amounts, t)
            for values in (self.points, self.root_sizes)
        )
        return np.asarray(of_points - of_roots)


def sums_above(values: Floats, weights: Floats, t: Floats) -> Floats:
    """Return the sum of the weights of all values above t, for an array of t."""
    order = np.argsort(values)
    above = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(values[order], t, side="right")])


def verify(packing: Packing, graph: Graph) -> None:
    """Check a packing against the graph, from its flows alone; raise ValueError with the reason if it proves less than it says.

    Nothing of the solver is used, only three sums over the flows. (1) No edge carries more than its weight. (2) At each leaf
    but the root arrives what the packing says, and nothing negative. (3) The leaves that get at least θ for each of their
    points are a set S_θ, so the flow contains trees of these sets, and they are worth what the packing says.

    Examples
    --------
    >>> from hyphc.scores.spreading_metrics import spreading_bound
    >>> graph = Graph([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> verify(spreading_bound(graph, keep=True).packings[0], graph)
    """
    if packing.flows is None or packing.delivered is None or packing.roots is None:
        raise ValueError("The packing has no flows to check; make it with spreading_bound(..., keep=True).")
    weights, flows, roots = graph.to_csr(), packing.flows, packing.roots
    tails, heads = np.repeat(np.arange(graph.n), np.diff(weights.indptr)), weights.indices
    if flows.nnz and flows.data.min() < 0:
        raise ValueError("A flow is negative.")
    along = sp.csr_array((np.asarray(flows.sum(axis=0)), weights.indices, weights.indptr), shape=weights.shape)
    if (sp.csr_array(along + along.T - (1 + ROUNDING) * weights).data > 0).any():
        raise ValueError("An edge carries more than its weight.")
    arcs, ones = np.arange(len(tails)), np.ones(len(tails))
    into = sp.csr_array((ones, (arcs, heads)), shape=(len(tails), graph.n))
    out_of = sp.csr_array((ones, (arcs, tails)), shape=(len(tails), graph.n))
    arriving = (flows @ into - flows @ out_of).tocoo()
    elsewhere = arriving.col != roots[arriving.row]
    entries = arriving.data[elsewhere], (arriving.row[elsewhere], arriving.col[elsewhere])
    error = abs(sp.csr_array(entries, shape=arriving.shape) - packing.delivered).max(axis=1).toarray().ravel()
    if (error > ROUNDING * np.asarray(flows.sum(axis=1))).any() or (packing.delivered.data < 0).any():
        raise ValueError("At some leaf arrives another flow than the packing says.")
    proven = _nested(packing.t, packing.delivered, roots, graph.sizes)
    levels = np.unique(np.append(packing.points, packing.t))
    if (packing.worth(levels) > (1 + ROUNDING) * proven.worth(levels) + ROUNDING * weights.sum()).any():
        raise ValueError("The flows are worth less than the packing says.")


def _nested(t: float, delivered: sp.csr_array[np.float64], roots: Ints, sizes: Floats) -> Packing:
    """Return the trees whose sets are the leaves that get at least θ a point, for all θ."""
    trees = [np.zeros((3, 0))]
    for row, root in enumerate(roots):
        some = slice(delivered.indptr[row], delivered.indptr[row + 1])
        leaves, per_point = delivered.indices[some], delivered.data[some] / sizes[delivered.indices[some]]
        order = np.argsort(-per_point, kind="stable")
        points = sizes[root] + np.cumsum(sizes[leaves[order]])
        amounts = -np.diff(np.append(per_point[order], 0.0))
        trees.append(np.stack([np.full(len(leaves), sizes[root]), points, amounts]))
    root_sizes, points, amounts = np.concatenate(trees, axis=1)
    return Packing(t, root_sizes, points, amounts)


def save_packings(packings: tuple[Packing, ...], path: str | os.PathLike[str]) -> None:
    """Write packings with their flows to one npz archive."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for k, packing in enumerate(packings):
        if packing.flows is None or packing.delivered is None or packing.roots is None:
            raise ValueError("A packing without flows proves nothing to others; make it with keep=True.")
        plain = {"t": np.array(packing.t), "roots": packing.roots, "root_sizes": packing.root_sizes}
        plain |= {"points": packing.points, "amounts": packing.amounts}
        for name, matrix in (("flows", packing.flows), ("delivered", packing.delivered)):
            plain |= {f"{name}_{field}": getattr(matrix, field) for field in ("data", "indices", "indptr")}
            plain[f"{name}_shape"] = np.array(matrix.shape)
        arrays |= {f"{k}_{name}": values for name, values in plain.items()}
    with atomic_write(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_packings(path: str | os.PathLike[str]) -> tuple[Packing, ...]:
    """Return the packings that ``save_packings`` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        return tuple(_loaded(k, stored) for k in range(sum(name.endswith("_t") for name in stored)))


def _loaded(k: int, stored: np.lib.npyio.NpzFile) -> Packing:
    def matrix(name: str) -> sp.csr_array[np.float64]:
        parts = tuple(stored[f"{k}_{name}_{field}"] for field in ("data", "indices", "indptr"))
        return sp.csr_array(parts, shape=tuple(stored[f"{k}_{name}_shape"]))

    plain = {name: stored[f"{k}_{name}"] for name in ("root_sizes", "points", "amounts", "roots")}
    return Packing(float(stored[f"{k}_t"]), **plain, flows=matrix("flows"), delivered=matrix("delivered"))
