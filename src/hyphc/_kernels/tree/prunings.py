"""Best prunings of a tree into k clusters, for every k at once: a knapsack over the merges, children before parents.

``most[v]`` is the largest number of clusters that node v can be pruned into, and no more than asked for; 0 where v itself is
too small to be one. Every number from 1 to ``most[v]`` is possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part
from .passes import Shape, larger_first

Choices = npt.NDArray[np.int16] | npt.NDArray[np.int32]  # by how many clusters are asked for
Bools = npt.NDArray[np.bool_]


def most_clusters(children: Ints, points: Floats, least: float) -> Ints:
    """Return into how many clusters of at least ``least`` points each node can be pruned: (2n − 1,)."""
    most = (points >= least).astype(np.int64)
    _count_clusters(children, most)
    return most


@kernel
def _count_clusters(children: Ints, most: Ints) -> None:
    n = children.shape[0] + 1
    for t in range(n - 1):
        a, b = most[children[t, 0]], most[children[t, 1]]
        if a > 0 and b > 0:
            most[n + t] = a + b


def best_scores(tree: Shape, node_scores: Floats, most: Ints, starts: Ints) -> tuple[Floats, Choices]:
    """Return the best scores of prunings into 1 … most[root] clusters, and how many of j clusters lie below the smaller child.

    A node's table takes the place of its leaves in depth-first order: the tables that are open never need more than n
    numbers. Of equal scores the one with fewer clusters below the smaller child is kept. Choices of merge t, for j = 2, 3, …,
    begin at ``starts[t]``; where a child stays one cluster there is nothing to choose, and nothing is stored.
    """
    n = len(tree.order)
    table, joined = np.empty(n), np.empty(max(most.max(), 1))
    choices = np.empty(starts[n - 1], dtype=np.int16 if most[-1] < 1 << 15 else np.int32)
    table[tree.first[:n]] = node_scores[:n]
    _fill_tables(tree, node_scores, most, starts, table, joined, choices)
    return table[: most[-1]].copy(), choices


@kernel
def _fill_tables(
    tree: Shape, node_scores: Floats, most: Ints, starts: Ints, table: Floats, joined: Floats, choices: Choices
) -> None:
    n, first = tree.order.shape[0], tree.first
    for t in range(n - 1):
        large, small = larger_first(tree.children, tree.sizes, t)
        for j in range(1, most[n + t]):
            joined[j] = -np.inf
        for b in range(1, most[small] + 1):
            room = most[n + t] - b
            wide = most[large] if most[large] < room else room
            below = table[first[large] : first[large] + wide]
            if starts[t + 1] > starts[t]:
                chosen = choices[starts[t] + b - 1 : starts[t] + b - 1 + wide]
                _offer(below, table[first[small] + b - 1], choices.dtype.type(b), joined[b : b + wide], chosen)
            else:  # one of the children stays one cluster: each number arises once
                for a in range(wide):
                    joined[b + a] = table[first[small] + b - 1] + below[a]
        joined[0] = node_scores[n + t]
        for j in range(most[n + t]):
            table[first[n + t] + j] = joined[j]


@part
def _offer(below: Floats, score: float, b: Any, joined: Floats, chosen: Choices) -> None:
    """Replace scores by ``score`` plus those of the larger child where that is better, and their choices by b.

    Both stores are unconditional: only so is the loop compiled to vector instructions, and most of a cut's time is here.
    """
    for a in range(below.shape[0]):
        value, before = score + below[a], joined[a]
        better = value > before
        joined[a] = value if better else before
        chosen[a] = b if better else chosen[a]


def pruning(tree: Shape, most: Ints, starts: Ints, choices: Choices, k: int) -> Ints:
    """Return the nodes of the best pruning into k clusters, in ascending order: (k,)."""
    n_below = np.zeros(len(tree.sizes), dtype=np.int64)  # clusters at or below a node that lies above them or is one
    n_below[-1] = k
    _hand_down(tree, most, starts, choices, n_below)
    return np.flatnonzero(n_below == 1)


@kernel
def _hand_down(tree: Shape, most: Ints, starts: Ints, choices: Choices, n_below: Ints) -> None:
    n = tree.order.shape[0]
    for t in range(n - 2, -1, -1):
        j = n_below[n + t]
        if j < 2:
            continue
        large, small = larger_first(tree.children, tree.sizes, t)
        if most[small] == 1:
            n_below[small] = 1
        elif most[large] == 1:
            n_below[small] = j - 1
        else:
            n_below[small] = choices[starts[t] + j - 2]
        n_below[large] = j - n_below[small]


def best_pruning(children: Ints, scores: Floats, possible: Bools, forced: Bools) -> tuple[Bools, float]:
    """Return which merges to undo so that the scores of the clusters have the largest sum, and that sum.

    Only possible merges may be undone, and forced ones must be. A node that contains no possible merge scores the sum of its
    leaves. O(n) time.
    """
    best, undone = scores.copy(), np.zeros(len(children), dtype=np.bool_)
    _choose(children, possible, forced, best, undone)
    return undone, float(best[-1])


@kernel
def _choose(children: Ints, possible: Bools, forced: Bools, best: Floats, undone: Bools) -> None:
    n = children.shape[0] + 1
    for t in range(n - 1):
        apart = best[children[t, 0]] + best[children[t, 1]]
        undone[t] = possible[t] and (forced[t] or apart > best[n + t])
        if undone[t] or not possible[t]:
            best[n + t] = apart
    kept = np.zeros(2 * n - 1, dtype=np.bool_)
    for t in range(n - 2, -1, -1):
        below = kept[n + t] or (possible[t] and not undone[t])
        undone[t] = undone[t] and not below
        kept[children[t, 0]] = kept[children[t, 1]] = below
