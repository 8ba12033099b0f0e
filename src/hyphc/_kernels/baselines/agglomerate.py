"""Agglomeration of a sparse graph by nearest-neighbour chains, made so that hubs do not cost their degree at each merge.

The likeness of two clusters is w(A, B) / (|A|·|B|): average linkage with 0 for absent edges. Ties go to the pair whose larger
label is smaller, then to the smaller other label; a cluster's label is its last leaf. Neither likeness nor rank can rise when
clusters merge: the pair (A ∪ B, C) never comes before both (A, C) and (B, C). Hence any two clusters that are each other's first
choice can be merged at once, in any order, and the tree is that of always merging the first pair of all.

Each cluster A keeps its neighbours C in a heap by (w(A, C) / |C|, label of C): |A| is the same for all and left out, so that a
hub may grow without touching its heap. When C and C' merge, the entries of both stay: w(A, C ∪ C') / |C ∪ C'| is at most the
larger of their keys, and an entry is brought up to date when it comes to the top. When A and B merge, the entries of the one with
fewer move to the other; weights of pairs lie in one hash table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._runtime.arrays import Floats, Ints, Records, record_dtype
from ..._runtime.jit import kernel, part

CLUSTER = record_dtype(
    ("leader", np.int64),  # union–find: a cluster goes by one of its leaves
    ("heap", np.int64),  # the first of its entries, −1 if none
    ("count", np.int64),  # entries in the heap
    ("label", np.int64),  # last leaf
    ("node", np.int64),  # of the tree
    ("points", np.float64),
)
ENTRY = record_dtype(
    ("key", np.float64),
    ("label", np.int64),
    ("partner", np.int64),  # a leaf of the neighbour
    ("left", np.int64),
    ("right", np.int64),
)
PAIR = record_dtype(("code", np.int64), ("weight", np.float64))


class Clusters(NamedTuple):
    """The present clusters, their neighbours and the weights between them."""

    clusters: Records  # (n,) of CLUSTER
    entries: Records  # (stored edges,) of ENTRY
    pairs: Records  # a power of two of PAIR, open addressing, code −1 where free


@part
def find_cluster(clusters: Records, v: int) -> int:
    """The leaf that the cluster of leaf v goes by."""
    root = v
    while clusters[root].leader != root:
        root = clusters[root].leader
    while clusters[v].leader != root:
        following = clusters[v].leader
        clusters[v].leader = root
        v = following
    return root


@part
def _lower_bound(indices: Ints, wanted: int, low: int, end: int) -> int:
    """The first place in the sorted indices[low : end] that is not below the one wanted: near ``low`` it is found at once."""
    step = 1
    while low + step < end and indices[low + step - 1] < wanted:
        low += step
        step += step
    end = min(end, low + step)
    while low < end:
        middle = (low + end) >> 1
        if indices[middle] < wanted:
            low = middle + 1
        else:
            end = middle
    return low


@kernel
def add_shared_neighbours(
    indptr: Ints, indices: Ints, weights: Floats, points: Floats, shared: Floats, begin: int, end: int
) -> None:
    """Σ_k w_ik·w_kj / |k| for each edge i < j of the rows begin ≤ i < end, in both places where it is stored.

    O(Σ min(deg i, deg j)·log(deg)) for sorted indices, no n² for hubs. Edges of different rows may be tried at the same time.
    """
    for i in range(begin, end):
        for e in range(_lower_bound(indices, i, indptr[i], indptr[i + 1]), indptr[i + 1]):
            few, many = i, indices[e]
            if indptr[few + 1] - indptr[few] > indptr[many + 1] - indptr[many]:
                few, many = many, few
            total, low, last = 0.0, indptr[many], indptr[many + 1]
            for f in range(indptr[few], indptr[few + 1]):
                low = _lower_bound(indices, indices[f], low, last)
                if low == last:
                    break
                if indices[low] == indices[f]:
                    total += weights[f] * weights[low] / points[indices[f]]
            shared[e] = total
            shared[_lower_bound(indices, i, indptr[indices[e]], indptr[indices[e] + 1])] = total


@part
def _code(A: int, B: int) -> int:
    """One number for a pair of leaves, both below 2³¹."""
    return (A << 31) | B if A < B else (B << 31) | A


@part
def _home(pairs: Records, code: int) -> int:
    """Where the search for a pair begins. Products stay below 2⁶³."""
    mixed = (code & 0x7FFFFFFF) * 1_597_334_677 + (code >> 31) * 1_640_531_527
    return (mixed ^ (mixed >> 29)) & (pairs.shape[0] - 1)  # type: ignore[no-any-return]


@part
def _slot(pairs: Records, A: int, B: int) -> int:
    """The slot that holds the pair, or the free one where it belongs."""
    code = _code(A, B)
    slot = _home(pairs, code)
    while pairs[slot].code >= 0 and pairs[slot].code != code:
        slot = (slot + 1) & (pairs.shape[0] - 1)
    return slot


@part
def weight_between(pairs: Records, A: int, B: int) -> float:
    """w(A, B); 0 if there is no edge."""
    return pairs[_slot(pairs, A, B)].weight  # type: ignore[no-any-return]


@part
def add_weight(pairs: Records, A: int, B: int, weight: float) -> float:
    """Add to w(A, B); the new weight."""
    slot = _slot(pairs, A, B)
    pairs[slot].code = _code(A, B)
    pairs[slot].weight += weight
    return pairs[slot].weight  # type: ignore[no-any-return]


@part
def pop_weight(pairs: Records, A: int, B: int) -> float:
    """w(A, B), and forget it; 0 if there is none."""
    hole = _slot(pairs, A, B)
    weight = pairs[hole].weight
    mask = pairs.shape[0] - 1
    slot = hole
    while pairs[slot].code >= 0:  # close the hole with what would no longer be found behind it
        slot = (slot + 1) & mask
        if pairs[slot].code >= 0 and ((slot - _home(pairs, pairs[slot].code)) & mask) >= ((slot - hole) & mask):
            pairs[hole].code = pairs[slot].code
            pairs[hole].weight = pairs[slot].weight
            hole = slot
    pairs[hole].code = -1
    pairs[hole].weight = 0.0
    return weight  # type: ignore[no-any-return]


@part
def meld(entries: Records, one: int, two: int) -> int:
    """Join two skew heaps, the largest key first, among equals the smallest label; the first entry."""
    if one < 0 or two < 0:
        return two if one < 0 else one
    first = -1
    last = -1  # the end of the path along which they are joined
    while two >= 0:
        if entries[two].key > entries[one].key or (
            entries[two].key == entries[one].key and entries[two].label < entries[one].label
        ):
            one, two = two, one
        if last < 0:
            first = one
        else:
            entries[last].left = one
        last = one
        one, entries[last].right = entries[last].right, entries[last].left
        if one < 0:
            one, two = two, one
            entries[last].left = one
    return first


@part
def nearest_cluster(state: Clusters, A: int) -> int:
    """The first choice of cluster A; −1 if it has no neighbour. Entries that come to the top are brought up to date."""
    clusters, entries, pairs = state.clusters, state.entries, state.pairs
    while clusters[A].heap >= 0:
        top = clusters[A].heap
        C = find_cluster(clusters, entries[top].partner)
        key, label = weight_between(pairs, A, C) / clusters[C].points, clusters[C].label
        if C != A and entries[top].key <= key and entries[top].label == label:
            return C
        rest = meld(entries, entries[top].left, entries[top].right)
        if C == A:
            clusters[A].count -= 1
        else:
            rest = meld(entries, rest, _new_entry(entries, top, C, key, label))
        clusters[A].heap = rest
    return -1


@part
def _new_entry(entries: Records, e: int, C: int, key: float, label: int) -> int:
    """Entry e as a heap of its own."""
    entries[e].partner = C
    entries[e].key = key
    entries[e].label = label
    entries[e].left = -1
    entries[e].right = -1
    return e


@part
def merge(state: Clusters, A: int, B: int, node: int, stack: Ints) -> None:
    """Join clusters A and B as ``node`` of the tree; the entries of the one that has fewer are moved."""
    clusters, entries, pairs = state.clusters, state.entries, state.pairs
    if clusters[A].count > clusters[B].count:
        A, B = B, A
    pop_weight(pairs, A, B)
    top = 0
    if clusters[A].heap >= 0:
        stack[0] = clusters[A].heap
        top = 1
    while top > 0:
        top -= 1
        e = stack[top]
        stack[top], top = entries[e].left, top + (entries[e].left >= 0)
        stack[top], top = entries[e].right, top + (entries[e].right >= 0)
        C = find_cluster(clusters, entries[e].partner)
        weight = pop_weight(pairs, A, C)
        if weight > 0.0:  # else an entry of B, or a second one of C
            key = add_weight(pairs, B, C, weight) / clusters[C].points
            clusters[B].heap = meld(entries, clusters[B].heap, _new_entry(entries, e, C, key, clusters[C].label))
            clusters[B].count += 1
    clusters[A].leader = B
    if clusters[A].label > clusters[B].label:
        clusters[B].label = clusters[A].label
    clusters[B].points += clusters[A].points
    clusters[B].node = node


@part
def load_graph(state: Clusters, indptr: Ints, indices: Ints, weights: Floats) -> None:
    """One cluster for each leaf, and their edges."""
    clusters, entries = state.clusters, state.entries
    for i in range(clusters.shape[0]):
        clusters[i].leader = i
        clusters[i].label = i
        clusters[i].node = i
        clusters[i].count = indptr[i + 1] - indptr[i]
        clusters[i].heap = -1
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            entry = _new_entry(entries, e, j, weights[e] / clusters[j].points, j)
            clusters[i].heap = meld(entries, clusters[i].heap, entry)
            if i < j:
                add_weight(state.pairs, i, j, weights[e])


@part
def _likeness(state: Clusters, A: int, B: int) -> float:
    """w(A, B) / (|A|·|B|)."""
    return weight_between(state.pairs, A, B) / (state.clusters[A].points * state.clusters[B].points)  # type: ignore[no-any-return]


@part
def _prefers(state: Clusters, A: int, B: int, P: int) -> bool:
    """Does A rather join B than P? Rounding is the same seen from either side, so that no chain runs in a circle."""
    with_B, with_P = _likeness(state, A, B), _likeness(state, A, P)
    return with_B > with_P or (with_B == with_P and state.clusters[B].label < state.clusters[P].label)


@kernel
def merge_neighbours(
    state: Clusters, indptr: Ints, indices: Ints, weights: Floats, children: Ints, chain: Ints, stack: Ints
) -> int:
    """Merge until no two clusters are neighbours; how many merges were made and written to ``children``.

    Walk from a cluster to its first choice, and on from there, until two are each other's: a ``chain`` of up to n + 1. The
    ``stack`` has room for all entries.
    """
    clusters = state.clusters
    n = clusters.shape[0]
    load_graph(state, indptr, indices, weights)
    made = 0
    for leaf in range(n):
        length = 0
        while True:
            if length == 0:
                chain[0] = find_cluster(clusters, leaf)
                length = 1
            A = chain[length - 1]
            B = nearest_cluster(state, A)
            if B < 0:
                break
            if length == 1 or _prefers(state, A, B, chain[length - 2]):
                chain[length] = B
                length += 1
                continue
            P = chain[length - 2]
            children[made, 0], children[made, 1] = clusters[P].node, clusters[A].node
            merge(state, A, P, n + made, stack)
            made += 1
            length -= 2
    return made
