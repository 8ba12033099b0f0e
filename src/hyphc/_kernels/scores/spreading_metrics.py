"""Kernels that pack trees of shortest paths into a graph by the multiplicative weights of Garg, Könemann and Fleischer.

A root v sends, along shortest paths, the same flow to each point of the nearest points S around it. Edges grow longer with what
they carry. A tree is cheap if its ratio Σ_{u ∈ S} dist(v, u) / (|S| − t) is small; those below a threshold are packed, and the
threshold grows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

NODE = record_dtype(
    ("distance", np.float64),
    ("load", np.float64),  # points at and below the node in the tree of paths
    ("via", np.int64),  # the arc by which the path arrives
    ("place", np.int64),  # in the heap, or one of the two below
    ("heap", np.int64),  # entry k of this column is the node at place k
    ("settled", np.int64),  # entry k is the k-th nearest node
)
UNSEEN, SETTLED = -1, -2

TREE = record_dtype(
    ("root", np.int64),
    ("points", np.float64),  # of S, the root's own among them
    ("amount", np.float64),  # flow to each point
)
FLOW = record_dtype(("root", np.int64), ("arc", np.int64), ("amount", np.float64))

RUN = record_dtype(
    ("t", np.float64),
    ("threshold", np.float64),
    ("epsilon", np.float64),  # an edge grows by this share when a tree fills it
    ("probing", np.int64),  # 1: find the ratios of the roots and pack nothing
    ("turn", np.int64),  # index of the current root
    ("n_trees", np.int64),
    ("n_flows", np.int64),
    ("worth", np.float64),  # of all trees so far, at t
    ("work", np.float64),  # arcs looked at so far
    ("pause", np.float64),  # work after which the sweep returns
    ("n_settled", np.int64),  # the last ball: its nodes, points and ratio
    ("points", np.float64),
    ("ratio", np.float64),
)

# Balls are searched this much beyond the threshold: the ratio that is found saves visits until the threshold gets there.
REACH = 1.2


class Network(NamedTuple):
    """A graph as arcs: first[v] … first[v + 1] − 1 leave v; both arcs of an edge carry its number and share its capacity."""

    first: Ints
    tails: Ints
    heads: Ints
    edges: Ints
    capacities: Floats
    sizes: Floats


class Packed(NamedTuple):
    """A packing: length and usage of each edge, a lower bound on each root's ratio, the trees and, if kept, their flows."""

    lengths: Floats
    usage: Floats
    floors: Floats
    trees: Records
    flows: Records


@kernel
def pack_trees(network: Network, packed: Packed, roots: Ints, nodes: Records, run: Records) -> None:
    """Pack trees of each root, in turn, while their ratio is below the threshold.

    Return early when a record is full or the work is done, with ``run.turn`` at the root to continue with.
    """
    # without flows the number of flows stays 0
    most_flows = max(packed.flows.shape[0] - network.sizes.shape[0], 0)
    while run.turn < roots.shape[0]:
        v = roots[run.turn]
        while packed.floors[v] < run.threshold:
            if run.n_trees == packed.trees.shape[0] or run.n_flows > most_flows or run.work >= run.pause:
                return
            _grow_ball(network, packed.lengths, v, nodes, run)
            packed.floors[v] = min(run.ratio, REACH * run.threshold)
            if run.probing:
                break
            if run.ratio < run.threshold:
                _pack_tree(network, packed, v, nodes, run)
        run.turn += 1


@part
def _grow_ball(network: Network, lengths: Floats, v: int, nodes: Records, run: Records) -> None:
    """Run Dijkstra from v until the ratio of the nearest points is least: a point further away than it would raise it."""
    limit = REACH * run.threshold
    outside = max(run.t, network.sizes[v])
    run.n_settled, run.points, run.ratio = 0, 0.0, np.inf
    nodes[v].distance, nodes[v].place, nodes[v].via, nodes[0].heap = 0.0, 0, -1, v
    n_waiting, total = 1, 0.0
    while n_waiting > 0:
        u = nodes[0].heap
        if nodes[u].distance >= limit:
            break
        n_waiting -= 1
        _remove_first(nodes, n_waiting)
        nodes[u].place = SETTLED
        nodes[run.n_settled].settled = u
        run.n_settled += 1
        run.points += network.sizes[u]
        total += network.sizes[u] * nodes[u].distance
        if run.points > outside:
            run.ratio = total / (run.points - outside)
            limit = min(limit, run.ratio)
        run.work += network.first[u + 1] - network.first[u]
        n_waiting = _reach_neighbours(network, lengths, u, limit, n_waiting, nodes)
    for k in range(n_waiting):
        nodes[nodes[k].heap].place = UNSEEN
    for k in range(run.n_settled):
        nodes[nodes[k].settled].place = UNSEEN


@part
def _reach_neighbours(network: Network, lengths: Floats, u: int, limit: float, n_waiting: int, nodes: Records) -> int:
    for arc in range(network.first[u], network.first[u + 1]):
        h = network.heads[arc]
        distance = nodes[u].distance + lengths[network.edges[arc]]
        if nodes[h].place == SETTLED or distance >= limit:
            continue
        if nodes[h].place == UNSEEN:
            nodes[h].place = n_waiting
            n_waiting += 1
        elif distance >= nodes[h].distance:
            continue
        nodes[h].distance, nodes[h].via = distance, arc
        _sift_up(nodes, h)
    return n_waiting


@part
def _sift_up(nodes: Records, u: int) -> None:
    place, distance = nodes[u].place, nodes[u].distance
    while place > 0:
        above = nodes[(place - 1) >> 1].heap
        if nodes[above].distance <= distance:
            break
        nodes[place].heap, nodes[above].place = above, place
        place = (place - 1) >> 1
    nodes[place].heap, nodes[u].place = u, place


@part
def _remove_first(nodes: Records, n_waiting: int) -> None:
    """Remove the top of the heap: its last node, at place n_waiting, sinks from there."""
    u = nodes[n_waiting].heap
    place = 0
    while 2 * place + 1 < n_waiting:
        below = 2 * place + 1
        if below + 1 < n_waiting and nodes[nodes[below + 1].heap].distance < nodes[nodes[below].heap].distance:
            below += 1
        child = nodes[below].heap
        if nodes[child].distance >= nodes[u].distance:
            break
        nodes[place].heap, nodes[child].place = child, place
        place = below
    nodes[place].heap, nodes[u].place = u, place


@part
def _pack_tree(network: Network, packed: Packed, v: int, nodes: Records, run: Records) -> None:
    """Send as much flow along the last ball's paths as its narrowest edge allows."""
    for k in range(run.n_settled):
        u = nodes[k].settled
        nodes[u].load = network.sizes[u]
    amount = np.inf
    for k in range(run.n_settled - 1, 0, -1):  # far nodes before those that their paths pass
        u = nodes[k].settled
        amount = min(amount, network.capacities[network.edges[nodes[u].via]] / nodes[u].load)
        nodes[network.tails[nodes[u].via]].load += nodes[u].load
    for k in range(1, run.n_settled):
        u = nodes[k].settled
        edge, flow = network.edges[nodes[u].via], amount * nodes[u].load
        packed.usage[edge] += flow
        packed.lengths[edge] *= 1.0 + run.epsilon * flow / network.capacities[edge]
        if packed.flows.shape[0] > 0:
            entry = packed.flows[run.n_flows]
            entry.root, entry.arc, entry.amount = v, nodes[u].via, flow
            run.n_flows += 1
    tree = packed.trees[run.n_trees]
    tree.root, tree.points, tree.amount = v, run.points, amount
    run.n_trees += 1
    run.worth += amount * (run.points - max(run.t, network.sizes[v]))
