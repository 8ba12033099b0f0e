"""Kernel of dendrogram purity: each leaf is counted once for each lighter subtree that holds it, O(n log n)."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints
from ..._runtime.jit import kernel
from ..tree.passes import Shape, light_sibling


@kernel
def purity_sum(tree: Shape, classes: Ints, n_classes: int) -> float:
    """Return Σ over pairs of one class of the class's share in the smallest cluster that holds both.

    ``classes`` (n,) are 0 … n_classes − 1, in leaf order.
    """
    first, sizes = tree.first, tree.sizes
    counts, light_counts = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    total = 0.0
    for leaf in range(classes.shape[0]):
        counts[classes[first[leaf]]] += 1
        node, light = leaf, light_sibling(tree, leaf)
        while light >= 0:
            node = tree.parents[node]
            for p in range(first[light], first[light] + sizes[light]):
                light_counts[classes[p]] += 1
            for p in range(first[light], first[light] + sizes[light]):
                c = classes[p]
                if light_counts[c] > 0:
                    both = counts[c] + light_counts[c]
                    total += float(counts[c]) * light_counts[c] * both / sizes[node]
                    counts[c] = both
                    light_counts[c] = 0
            light = light_sibling(tree, node)
        for p in range(first[node], first[node] + sizes[node]):
            counts[classes[p]] = 0
    return total
