"""Lower bound on the cost of every tree of a graph, by spreading metrics: sharp on sparse graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._kernels.scores import spreading_metrics as kernels
from .._runtime.arrays import Floats, Ints, Records, zero_record
from .._runtime.parallel import thread_map
from .._runtime.run_control import Clock
from .._runtime.validation import check_effort
from ..similarity import Graph
from .path_packing import Packing, sums_above

# Each level is a packing of its own; they stand this factor apart and the convex curves of their worth fill the gaps.
FACTOR = 1.5
# Packings are made with ever smaller steps ε, and in each stage the logarithm of the threshold grows by so much. Trees packed
# with large steps are poor, and few beside those that follow: a stage packs about growth / ε times each edge's weight.
STAGES = ((0.4, 3.0), (0.2, 2.0), (0.1, 3.0), (0.05, 3.0), (0.025, 3.0))
STEP = 0.3  # the threshold's; smaller ones visit all roots more often and gain 1 %
CLOSE = 0.99  # of what the roots at hand could prove at best: enough
WORK = 4e9  # arcs that a call with effort 1 looks at; about 10^8 a second and core
FEWEST_ARCS = 1e5  # that a stage may always look at, however small its share of the work
# Arcs between two looks at the clock, and entries of the records that the kernel fills between two returns.
_CHUNK, _TREES, _FLOWS = 1e7, 1 << 14, 1 << 20
_CELLS = 1 << 20  # of the sum over levels; beyond, or where sizes are no integers, coarse ones

_LEAST = 1e-300  # edges below this share of the largest weight are closed: their lengths would overflow
_MARGIN = 1e-9  # packings are scaled down by so much more than needed, lest rounding use an edge beyond its weight


@dataclass(frozen=True, eq=False)
class SpreadingBound:
    """Lower bound on the cost of every tree of a graph, level by level.

    Attributes
    ----------
    lower : float
        C(T) ≥ lower for every tree, for certain.
    levels : array (c + 1,)
        Numbers of points, from 0 to all.
    cuts : array (c,)
        For t from levels[i] up to levels[i + 1], the clusters of at most t points of any tree leave edges of a weight of at
        least cuts[i] between them.
    packings : tuple of Packing
        The proof; with their flows if they were kept, for ``verify``.
    """

    lower: float
    levels: Floats
    cuts: Floats
    packings: tuple[Packing, ...]


def spreading_bound(
    graph: Graph,
    *,
    effort: float = 1.0,
    time_budget: float | None = None,
    keep: bool = False,
    n_jobs: int | None = None,
) -> SpreadingBound:
    """Return a lower bound on Dasgupta's cost of every tree of a graph, level by level, from packings of trees of paths.

    With P_t the maximal clusters of at most t points, C(T) = ∫ cut(P_t) dt over t ≥ 0. A partition into parts of at most t
    points, as a metric d that is 0 inside parts and 1 between them, obeys Σ_{u ∈ S} d(v, u) ≥ |S| − t for all v and all S that
    contain v. The least Σ w_e·ℓ_e of all lengths ℓ whose distances do so bounds cut(P_t) from below, and so does every
    packing of its dual: see ``Packing`` and ``docs/notes/certificate.md``.

    Parameters
    ----------
    graph : Graph
        Any weights, leaf sizes and number of components.
    effort : float
        1 is about half a minute on two cores for large graphs, less for small ones. 10 may use ten times as many arcs.
    time_budget : float, optional
        Seconds after which the packings are taken as they are. Without it, the same call gives the same bound.
    keep : bool
        Keep the flows of the packings, so that ``verify`` can check them: some 20 bytes for each root and arc that it uses.
    n_jobs : int or None
        Threads; the result does not depend on it, unless time runs out.

    Notes
    -----
    Few roots matter at high levels: those that a level used are the candidates of the next, so that all levels take about the
    same time. O(n + m) memory for each level without flows.

    Examples
    --------
    A path of four points, whose best tree costs 2 + 2 + 4:

    >>> path = Graph([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> spreading_bound(path).lower
    8.0
    """
    check_effort(effort)
    clock, network = Clock(time_budget), network_of(graph)
    makers = _first_stage(network, level_grid(graph), effort * WORK, keep, clock)
    _later_stages(makers, effort * WORK, clock, n_jobs)
    packings = tuple(maker.packing(_exponent(graph)) for maker in makers)
    levels, left_ends = _cells(graph.sizes)
    at = levels[:-1] if left_ends else levels[1:]
    cuts = _lone_pairs_cut(graph, at)
    for packing in packings:
        cuts = np.maximum(cuts, packing.worth(at))
    if _integral(graph.data):  # so is every cut
        cuts = np.ceil(cuts * (1 - _MARGIN))
    return SpreadingBound(float(cuts @ np.diff(levels)), levels, cuts, packings)


def network_of(graph: Graph) -> kernels.Network:
    """Return the graph as arrays of the kernels, its weights divided by a power of two, so that the largest is about 1."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    heads = graph.indices.astype(np.int64)
    pairs = np.minimum(tails, heads) * graph.n + np.maximum(tails, heads)
    _, arcs, edges = np.unique(pairs, return_index=True, return_inverse=True)
    weights = np.ldexp(graph.data[arcs], -_exponent(graph))
    return kernels.Network(graph.indptr, tails, heads, edges.astype(np.int64), weights, graph.sizes)


def _exponent(graph: Graph) -> int:
    return int(np.frexp(graph.data.max(initial=0.0))[1])


def level_grid(graph: Graph) -> list[float]:
    """Return levels for packings: a geometric sequence from two of the smallest leaves up to most of the largest component."""
    _, component = connected_components(graph.to_csr(), directed=False)
    top = 0.8 * float(np.bincount(component, graph.sizes).max())
    t, levels = 2 * float(graph.sizes.min()), list[float]()
    whole = _integral(graph.sizes)
    while t < top:
        levels.append(t)
        t = max(t + 1, np.floor(t * FACTOR)) if whole else t * FACTOR
    return levels


def _integral(values: Floats) -> bool:
    return bool((values == np.round(values)).all())


def _cells(sizes: Floats) -> tuple[Floats, bool]:
    """Return the ends of cells of levels, and whether what holds at the left end of a cell holds in all of it.

    Clusters of integers change at integers only. Otherwise what holds at the right end holds for smaller t too.
    """
    total = float(sizes.sum())
    if _integral(sizes) and total <= _CELLS:
        return np.arange(total + 1), True
    return np.linspace(0.0, total, _CELLS // 16 + 1), False


def _lone_pairs_cut(graph: Graph, t: Floats) -> Floats:
    """Return the weight of edges between leaves of together more than t points: no cluster of t points contains both."""
    i, j, weights = graph.edges()
    return sums_above(graph.sizes[i] + graph.sizes[j], weights, t)


class _Maker:
    """Builder of a packing for one level."""

    def __init__(self, network: kernels.Network, t: float, roots: Ints, keep: bool) -> None:
        n, m = len(network.sizes), len(network.capacities)
        self.network, self.roots = network, roots
        self.trees: Records = np.empty(_TREES, dtype=kernels.TREE)
        self.flows: Records = np.empty(max(_FLOWS, 2 * n) if keep else 0, dtype=kernels.FLOW)
        self.open = network.capacities >= _LEAST
        lengths = np.divide(1.0, network.capacities, out=np.full(m, np.inf), where=self.open)
        self.packed = kernels.Packed(lengths, np.zeros(m), np.zeros(n), self.trees, self.flows)
        self.nodes: Records = np.zeros(n, dtype=kernels.NODE)
        self.nodes["place"] = kernels.UNSEEN
        self.run = zero_record(kernels.RUN)
        self.run.t = t
        self.sums = np.zeros((3, 0))  # root sizes, points and amounts of the trees so far
        self.used = np.zeros(n, dtype=bool)
        self.flow_sums = sp.csr_array((n, len(network.heads)))

    def probe(self, work: float, late: Callable[[], bool]) -> bool:
        """Find the least ratio of the roots, as far as the work allows; return False if none has a tree."""
        run = self.run
        run.probing, run.threshold = 1, np.inf
        while run.turn < len(self.roots) and run.work < work and not late():
            run.pause = min(work, run.work + _CHUNK)
            kernels.pack_trees(self.network, self.packed, self.roots, self.nodes, run)
        run.probing, run.threshold = 0, self.packed.floors[self.roots[: run.turn]].min(initial=np.inf)
        run.turn = len(self.roots)
        return bool(np.isfinite(run.threshold))

    def advance(self, epsilon: float, growth: float, work: float, late: Callable[[], bool]) -> None:
        """Pack until the logarithm of the threshold has grown enough, or as much as the work and the clock allow."""
        run, end = self.run, self.run.work + max(work, FEWEST_ARCS)
        run.epsilon = epsilon
        goal = log(run.threshold) + growth
        while run.work < end and not late():
            if run.turn == len(self.roots):
                if log(run.threshold) >= goal or self._close():
                    break
                run.threshold *= 1 + STEP
                run.turn = 0
            run.pause = min(end, run.work + _CHUNK)
            kernels.pack_trees(self.network, self.packed, self.roots, self.nodes, run)
            if run.turn < len(self.roots):  # a record may be full
                self._collect()
        self._collect()

    def narrow(self) -> None:
        """Keep only the roots that were used: what the others could add is less than they cost."""
        self.roots = self.roots[self.used[self.roots]]
        self.run.turn = len(self.roots)

    def packing(self, exponent: int) -> Packing:
        """Return the trees so far, scaled so that no edge is used beyond its weight; weights were divided by 2^exponent."""
        scale = float(np.ldexp(1.0 / ((1 + _MARGIN) * self._congestion()), exponent))
        root_sizes, points, amounts = self.sums
        packing = Packing(float(self.run.t), root_sizes, points, scale * amounts)
        if not len(self.flows):
            return packing
        roots = np.flatnonzero(self.used)
        flows = sp.csr_array(scale * self.flow_sums[roots])
        return replace(packing, roots=roots, flows=flows, delivered=self._delivered(roots, flows))

    def _delivered(self, roots: Ints, flows: sp.csr_array[np.float64]) -> sp.csr_array[np.float64]:
        tails, heads = self.network.tails, self.network.heads
        ends = np.tile(np.arange(len(heads)), 2), np.append(heads, tails)
        signs = np.repeat([1.0, -1.0], len(heads))
        arriving = sp.coo_array(flows @ sp.csr_array((signs, ends), shape=(len(heads), len(self.network.sizes))))
        kept = (arriving.col != roots[arriving.row]) & (arriving.data > 0)
        places = arriving.row[kept], arriving.col[kept]
        return sp.csr_array((arriving.data[kept], places), shape=arriving.shape)

    def _congestion(self) -> float:
        return float((self.packed.usage[self.open] / self.network.capacities[self.open]).max())

    def _close(self) -> bool:
        # lengths over the threshold satisfy all inequalities of the roots at hand: what no packing of theirs exceeds
        volume = float(self.network.capacities[self.open] @ self.packed.lengths[self.open])
        best = volume / self.run.threshold
        return bool(self.run.worth > CLOSE * best * self._congestion())

    def _collect(self) -> None:
        """Move trees and flows out of the kernel's records, and add up equal ones."""
        new, self.run.n_trees = self.trees[: self.run.n_trees], 0
        sizes = self.network.sizes[new["root"]]
        self.used[new["root"]] = True
        entries = np.concatenate([self.sums, [sizes, new["points"], new["amount"]]], axis=1)
        keys, which = np.unique(entries[:2], axis=1, return_inverse=True)
        self.sums = np.vstack([keys, np.bincount(which.ravel(), entries[2], minlength=keys.shape[1])])
        sent, self.run.n_flows = self.flows[: self.run.n_flows], 0
        if len(sent):
            new_flows = sp.csr_array((sent["amount"], (sent["root"], sent["arc"])), shape=self.flow_sums.shape)
            self.flow_sums = sp.csr_array(self.flow_sums + new_flows)


def _first_stage(network: kernels.Network, levels: list[float], work: float, keep: bool, clock: Clock) -> list[_Maker]:
    """Return coarse packings, one level after the other: the roots that one used are the candidates of the next.

    All of them may use half of the work, and each as much of what is left as the others.
    """
    epsilon, growth = STAGES[0]
    makers: list[_Maker] = []
    # those that can send most come first: they serve at many levels, and all that is seen where the work ends early
    degrees = np.bincount(network.tails, network.capacities[network.edges], minlength=len(network.sizes))
    roots, left = np.argsort(-degrees, kind="stable"), work / 2
    for k, t in enumerate(levels):
        maker, share = _Maker(network, t, roots, keep), left / (len(levels) - k)
        if not maker.probe(share, clock.should_stop):
            break
        maker.advance(epsilon, growth, share - maker.run.work, clock.should_stop)
        if not maker.used.any():
            break
        maker.narrow()
        makers.append(maker)
        roots, left = maker.roots, left - maker.run.work
    return makers


def _later_stages(makers: list[_Maker], work: float, clock: Clock, n_jobs: int | None) -> None:
    """Refine the packings, all levels at the same time; each level's share of the work is what it took so far."""
    for epsilon, growth in STAGES[1:]:
        done = np.array([float(maker.run.work) for maker in makers])
        left = work - float(done.sum())
        if left <= 0 or clock.should_stop():
            return
        shares = left * done / done.sum()
        jobs = sorted(zip(makers, shares, strict=True), key=lambda job: -job[1])  # the longest first

        def advance(job: tuple[_Maker, float], epsilon: float = epsilon, growth: float = growth) -> None:
            job[0].advance(epsilon, growth, job[1], clock.should_stop)

        thread_map(advance, jobs, n_jobs, clock.stop)
