"""Dendrogram purity by heavy paths: each leaf is counted once for each smaller subtree it lies in, O(n log n)."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints
from ..._runtime.jit import kernel


@kernel
def purity_sum(children: Ints, parents: Ints, sizes: Ints, first: Ints, classes: Ints, n_classes: int) -> float:
    """Σ over pairs of one class of the class's share in the smallest cluster that holds both.

    ``classes`` are 0 … n_classes − 1 in the leaf order that ``first`` describes.
    """
    n = classes.shape[0]
    counts = np.zeros(n_classes, dtype=np.int64)
    light_counts = np.zeros(n_classes, dtype=np.int64)
    total = 0.0
    for leaf in range(n):
        counts[classes[first[leaf]]] += 1
        node = leaf
        while parents[node] >= 0:  # climb while `node` is its parent's heavy child
            parent = parents[node]
            light = children[parent - n, 0]
            if light == node:
                light = children[parent - n, 1]
            if sizes[light] > sizes[node] or (sizes[light] == sizes[node] and light < node):
                break
            begin, end = first[light], first[light] + sizes[light]
            for p in range(begin, end):
                light_counts[classes[p]] += 1
            for p in range(begin, end):
                c = classes[p]
                if light_counts[c] > 0:
                    both = counts[c] + light_counts[c]
                    total += float(counts[c]) * light_counts[c] * both / sizes[parent]
                    counts[c] = both
                    light_counts[c] = 0
            node = parent
        for p in range(first[node], first[node] + sizes[node]):
            counts[classes[p]] = 0
    return total
