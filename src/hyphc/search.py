"""Any tree in, a tree of lower Dasgupta cost out: subtree prune-and-regraft with branch and bound, from many starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ._kernels import spr_batch, spr_local
from ._kernels.spr_state import Agenda, Ints, Scratch, State
from ._parallel import n_threads, thread_map
from ._search_state import agenda_of, cost_of, depth_first, scratch_of, state_of, tree_of
from .kinds import Similarity
from .metrics import dasgupta_cost
from .similarity import SimilarityLike, check_similarity
from .tree import Tree, TreeLike, as_tree

CHUNK = 8_192  # at most so many subtrees are tried on one version of the tree
SLICE = 256  # and so many by one thread at a time: neither depends on the number of threads
PIECE = 1_024  # trials between two looks at the clock
RESTART_UP_TO = 50_000  # leaves: above this one tree takes long enough
NEGLIGIBLE = 1e-6  # above that many leaves sweeps end when one gains less than this share of the cost
FIRST_LEVEL, GROWTH = 100, 3  # a fresh tree starts with about so many leaves and grows by this factor
FRESH, FIELD = 8, 80_000  # fresh trees: at most so many, with so many leaves together, but at least two
EFFORT = 100, 5_000, 300_000  # trials of the iterated search: per leaf, at least, at most


@dataclass(frozen=True)
class Progress:
    """What a callback of ``refine`` is told: the best cost so far (unordered pairs), the stage that reached it, and the time."""

    stage: str
    cost: float
    seconds: float

    @property
    def best_cost(self) -> float:
        """The cost, under the name that the continuous stage gives it."""
        return self.cost


@dataclass
class _Run:
    """What all stages share: who listens, when to stop, how many threads, which random numbers."""

    n_jobs: int | None
    rng: np.random.RandomState
    callback: Callable[[Progress], object] | None
    deadline: float
    started: float = field(default_factory=time.perf_counter)
    stopped: bool = False

    def late(self) -> bool:
        return self.stopped or time.perf_counter() >= self.deadline

    def report(self, stage: str, cost: float) -> None:
        if self.callback is not None:
            self.stopped |= self.callback(Progress(stage, cost, time.perf_counter() - self.started)) is True

    def seeds(self, count: int) -> list[int]:
        return [int(seed) for seed in self.rng.randint(2**31 - 1, size=count)]


def refine(
    tree: TreeLike,
    similarity: SimilarityLike,
    *,
    max_sweeps: int | None = None,
    time_budget: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Tree:
    """A tree of lower Dasgupta cost, never worse than the one given.

    1. Sweeps: each subtree is pruned and regrafted where the cost is least, until none gains (above 50 000 points: until a
       sweep gains less than a millionth).
    2. Fresh trees (up to 50 000 points): the tree of a small random subset is searched, grows threefold by points inserted at
       their cheapest places, is searched again, and so on up to all points. The best of several is kept.
    3. Iterated search on the best tree: random moves in one part of the tree, repaired by sweeps, kept unless the cost rose.

    Parameters
    ----------
    tree : Tree or linkage matrix, n leaves
    similarity : Similarity, dense matrix or sparse matrix of n points
    max_sweeps : int, optional
        Only stage 1, with at most so many sweeps.
    time_budget : float, optional
        Seconds. Stages 2 and 3 take turns until they are over; the search also stops earlier than by default if it must.
    random_state : int, RandomState or None
        Seeds stages 2 and 3. Without a time budget, one seed gives one tree, whatever ``n_jobs`` is.
    n_jobs : int or None
        Threads (None is 1, −1 is all cores).
    callback : callable, optional
        Called with a ``Progress`` after each step; the search stops if it returns True.

    Notes
    -----
    An interrupt (Ctrl-C) ends the search with the best tree so far. Trying a subtree costs O(d) per place looked at with
    features, O(n) with a matrix, and with a graph the union of the paths above its neighbours. Of 40 000 places in a good
    tree about 150 are looked at.

    Examples
    --------
    >>> W = [[0, 1, 5, 0], [1, 0, 0, 5], [5, 0, 0, 1], [0, 5, 1, 0]]
    >>> refine([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 2.0, 4]], W, random_state=0).cut(n_clusters=2)
    array([0, 1, 0, 1])
    """
    tree, similarity = as_tree(tree), check_similarity(similarity)
    _check_arguments(tree, similarity, max_sweeps, time_budget)
    if tree.n_leaves < 3 or max_sweeps == 0 or time_budget == 0:
        return tree
    deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
    run = _Run(n_jobs, check_random_state(random_state), callback, deadline)
    best = _Best(tree, similarity)
    try:
        for stage, found in _stages(tree, similarity, run, max_sweeps, time_budget is not None, best):
            best.offer(found)
            run.report(stage, best.cost)
    except KeyboardInterrupt:
        pass
    return best.tree


class _Best:
    """The best tree so far, by its exact cost."""

    def __init__(self, tree: Tree, similarity: Similarity) -> None:
        self.similarity = similarity
        self.tree, self.cost = tree, dasgupta_cost(tree, similarity)

    def offer(self, tree: Tree) -> None:
        cost = dasgupta_cost(tree, self.similarity)
        if cost < self.cost:
            self.tree, self.cost = tree, cost


def _check_arguments(tree: Tree, similarity: Similarity, max_sweeps: int | None, time_budget: float | None) -> None:
    if tree.n_leaves != similarity.n:
        raise ValueError(
            f"The tree has {tree.n_leaves} leaves but the similarity {similarity.n} points; they must be the same."
        )
    if max_sweeps is not None and max_sweeps < 0:
        raise ValueError(f"max_sweeps={max_sweeps} is negative; choose max_sweeps >= 0.")
    if time_budget is not None and not time_budget >= 0:
        raise ValueError(f"time_budget={time_budget} is not a number of seconds >= 0.")


def _stages(
    tree: Tree, similarity: Similarity, run: _Run, max_sweeps: int | None, on_the_clock: bool, best: _Best
) -> Iterator[tuple[str, Tree]]:
    """The trees found, with the name of the stage."""
    yield "sweeps", _swept(tree, similarity, run, max_sweeps)
    if max_sweeps is not None:
        return
    effort = int(np.clip(EFFORT[0] * similarity.n, *EFFORT[1:]))
    while not run.late():
        if similarity.n <= RESTART_UP_TO:
            winner = _fresh(similarity, run)
            if winner is not None:
                yield "fresh trees", Tree(winner.children, winner.heights, tree.names)
        yield "iterated", _iterated(best.tree, similarity, run, effort)
        if not on_the_clock:
            return


# --- stage 1: sweeps -------------------------------------------------------------------------------------------------


def _swept(tree: Tree, similarity: Similarity, run: _Run, max_sweeps: int | None) -> Tree:
    """Try all subtrees, then again those near which something changed, until nothing does."""
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = _ScratchPool(state, run.n_jobs)
    tried = np.arange(2 * similarity.n - 1)
    sweep, cost, before = 0, cost_of(state), np.inf
    # in float32 moves that gain next to nothing could go on for ever: a sweep that gains no more than that is the last
    enough = NEGLIGIBLE if similarity.n > RESTART_UP_TO else 0.0
    while (
        len(tried) and before - cost > enough * cost and not run.late() and (max_sweeps is None or sweep < max_sweeps)
    ):
        tried = _sweep(state, pool, tried, run)
        sweep, cost, before = sweep + 1, cost_of(state), cost
        run.report(f"sweep {sweep}", cost)
    return tree_of(state, leaves, similarity.maximum(), tree.names)


def _sweep(state: State, pool: _ScratchPool, tried: Ints, run: _Run) -> Ints:
    """Try the subtrees, many at once on the same tree, and make the moves one by one; the subtrees to try next."""
    woken = np.zeros(len(state.nodes), dtype=bool)
    agenda = agenda_of(np.arange(len(state.nodes) // 2), 0)
    begin, length = 0, SLICE  # short chunks first: where trials are slow, moves come early
    while begin < len(tried) and not run.late():
        chunk = tried[begin : begin + length]
        begin, length = begin + length, min(2 * length, CHUNK)
        gains = np.zeros(len(chunk))
        slices = [slice(k, k + SLICE) for k in range(0, len(chunk), SLICE)]
        pool.map(lambda s, scratch: _propose(state, scratch, chunk[s], gains[s], run), slices)  # noqa: B023
        hopeful = chunk[gains > 0]
        agenda.plan["ring"][: len(hopeful)] = hopeful
        state.nodes["waiting"][hopeful] = 1
        agenda.state[:2] = 0, len(hopeful)
        pool.map(lambda effort, scratch: _drain(state, scratch, agenda, effort, run), [len(hopeful)])
        left = (agenda.state[0] + np.arange(agenda.state[1])) % len(agenda.plan)
        again = agenda.plan["ring"][left]
        woken[again] = True
        state.nodes["waiting"][again] = 0
    return np.flatnonzero(woken)


def _propose(state: State, scratch: Scratch, tried: Ints, gains: npt.NDArray[np.float64], run: _Run) -> None:
    if not run.late():
        spr_batch.propose(state, scratch, tried, gains)


def _drain(state: State, scratch: Scratch, agenda: Agenda, effort: int, run: _Run) -> None:
    """Try the first ``effort`` subtrees that wait, in pieces."""
    for done in range(0, effort, PIECE):
        if not run.late():
            spr_local.search(state, scratch, agenda, len(state.nodes) - 1, np.inf, min(PIECE, effort - done))


class _ScratchPool:
    """As many working spaces as threads, handed out to whichever task runs."""

    def __init__(self, state: State, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self.free: SimpleQueue[Scratch] = SimpleQueue()
        for _ in range(n_threads(n_jobs)):
            self.free.put(scratch_of(state))

    def map(self, function: Callable[[Any, Scratch], object], items: Sequence[Any]) -> None:
        """Call function(item, scratch) for all items."""

        def call(item: Any) -> None:
            scratch = self.free.get()
            try:
                function(item, scratch)
            finally:
                self.free.put(scratch)

        thread_map(call, items, self.n_jobs if len(items) > 1 else 1)


# --- stage 2: fresh trees --------------------------------------------------------------------------------------------


def _fresh(similarity: Similarity, run: _Run) -> Tree | None:
    """The best of several trees, each grown from its own random subset of the points; None if time ran out."""
    count = int(np.clip(FIELD // similarity.n, 2, FRESH))
    grown = thread_map(lambda seed: _grown(similarity, seed, run), run.seeds(count), run.n_jobs)
    complete = [pair for pair in grown if pair is not None]
    return min(complete, key=lambda pair: pair[1])[0] if complete else None


def _grown(similarity: Similarity, seed: int, run: _Run) -> tuple[Tree, float] | None:
    """A tree that is searched while it has few leaves, and again each time it has grown, and its cost; None if time ran out."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(similarity.n)
    tree, cost = Tree(np.empty((0, 2), dtype=np.int64)), 0.0
    for m in _levels(similarity.n):
        if run.late():
            return None
        tree, cost = _grow(tree, similarity.subset(order[:m]), int(rng.integers(2**31 - 1)), run)
    return _renamed(tree, order), cost


def _levels(n: int) -> list[int]:
    """Numbers of leaves, each about three times the one before, up to n."""
    levels = [n]
    while levels[0] > FIRST_LEVEL * GROWTH:
        levels.insert(0, levels[0] // GROWTH)
    return levels


def _grow(tree: Tree, similarity: Similarity, seed: int, run: _Run) -> tuple[Tree, float]:
    """Insert the points that the tree lacks at their cheapest places and search; the new tree and its cost."""
    state, n, m = state_of(tree, similarity), similarity.n, tree.n_leaves
    scratch, agenda = scratch_of(state), agenda_of(np.arange(n), seed)
    spr_batch.grow(state, scratch, np.arange(m, n), np.arange(n + m - 1, 2 * n - 1))
    spr_batch.wake_all(state.nodes, scratch, agenda, state.nodes["left"][-1])
    _search(state, scratch, agenda, 2 * n - 1, 0.0, min(50 * n, 30_000), run)
    return tree_of(state, np.arange(n), similarity.maximum(), None), cost_of(state)


def _renamed(tree: Tree, leaves: npt.NDArray[np.int64]) -> Tree:
    """The tree with leaf i called leaves[i]."""
    number = np.append(leaves, np.arange(len(leaves), 2 * len(leaves) - 1))
    return Tree(number[tree.children], tree.heights)


# --- stage 3: iterated search ----------------------------------------------------------------------------------------


def _iterated(tree: Tree, similarity: Similarity, run: _Run, effort: int) -> Tree:
    """Half the effort within subtrees of at most an eighth of the leaves, at the same time; half above them."""
    n = similarity.n
    ordered, permuted, leaves = depth_first(tree, similarity)
    state = state_of(ordered, permuted)
    pool = _ScratchPool(state, run.n_jobs)
    limit = n // 8
    if limit >= 50:
        _search_regions(state, pool, limit, effort // 2, run)
    smallest = limit * float(similarity.sizes.mean()) if limit >= 50 else 0.0
    agenda = agenda_of(np.arange(n), run.seeds(1)[0])
    pool.map(
        lambda share, scratch: _search(state, scratch, agenda, 2 * n - 1, smallest, share, run),
        [effort // 2 if limit >= 50 else effort],
    )
    return tree_of(state, leaves, similarity.maximum(), tree.names)


def _search_regions(state: State, pool: _ScratchPool, limit: int, effort: int, run: _Run) -> None:
    """Search the largest subtrees of at most ``limit`` leaves, each on its own: no move of one concerns another."""
    n = len(state.nodes) // 2
    scratch = scratch_of(state)
    counts = spr_batch.count_leaves(state.nodes)
    roots = spr_batch.largest_subtrees(state.nodes, scratch, counts, limit)
    roots = roots[counts[roots] > 2]
    tasks = []
    for number, (root, seed) in enumerate(zip(roots, run.seeds(len(roots)), strict=True)):
        leaves = spr_batch.leaves_below(state.nodes, scratch, root, counts[root])
        state.nodes["region"][leaves] = number + 1
        tasks.append((agenda_of(leaves, seed), int(state.nodes["parent"][root]), int(effort * counts[root] / n)))
    pool.map(lambda task, scratch: _search(state, scratch, task[0], task[1], 0.0, task[2], run), tasks)
    state.nodes["region"] = 0


def _search(
    state: State, scratch: Scratch, agenda: Agenda, ceiling: int, smallest: float, effort: int, run: _Run
) -> None:
    """``spr_local.search`` in pieces, with a look at the clock between them. What waits is tried first, beyond the effort."""
    while agenda.state[1] > 0 and not run.late():
        spr_local.search(state, scratch, agenda, ceiling, np.inf, PIECE)
    while effort > 0 and not run.late():
        spr_local.search(state, scratch, agenda, ceiling, smallest, min(effort, PIECE))
        effort -= PIECE


# --- new points ------------------------------------------------------------------------------------------------------


def insert(tree: TreeLike, similarity: SimilarityLike, new: npt.ArrayLike | None = None) -> Tree:
    """Add points to a tree, one after the other, each at the place where the cost rises least.

    Parameters
    ----------
    tree : Tree or linkage matrix of the first m points
    similarity : Similarity, dense matrix or sparse matrix of all n points
    new : array of int, optional
        The points m … n − 1 in the order to insert them. Default: ascending.

    Notes
    -----
    The place of each point is the best of all, found by the same branch and bound as in ``refine``; milliseconds in a tree of
    100 000. The order matters when points are many: ``refine`` afterwards.

    Examples
    --------
    >>> W = [[0, 1, 5, 0], [1, 0, 0, 5], [5, 0, 0, 1], [0, 5, 1, 0]]
    >>> insert(Tree([[0, 1]]), W).cut(n_clusters=2)
    array([0, 1, 0, 1])
    """
    tree, similarity = as_tree(tree), check_similarity(similarity)
    m, n = tree.n_leaves, similarity.n
    if m > n:
        raise ValueError(f"The tree has {m} leaves but the similarity only {n} points; it must hold old and new ones.")
    order = np.arange(m, n) if new is None else np.asarray(new)
    if order.shape != (n - m,) or not np.array_equal(np.sort(order), np.arange(m, n)):
        raise ValueError(f"new must hold each of the points {m} to {n - 1} once, in the order to insert them.")
    if m == n:
        return tree
    state = state_of(tree, similarity)
    spr_batch.grow(state, scratch_of(state), order.astype(np.int64), np.arange(n + m - 1, 2 * n - 1))
    return tree_of(state, np.arange(n), similarity.maximum(), None)
