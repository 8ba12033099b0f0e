"""Heavy paths: from each node down to the child with more leaves. Any way to the root meets at most log2(n) + 1 of them."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints, Records, record_dtype
from ..._runtime.jit import kernel

# The highest node of a node's path, how many steps below it the node stands, and where the path ends.
PLACE = record_dtype(("top", np.int64), ("step", np.int64), ("leaf", np.int64))


def heavy_paths(children: Ints, sizes: Ints) -> Records:
    """A ``PLACE`` for each of the 2n − 1 nodes; O(n)."""
    places = np.zeros(len(sizes), dtype=PLACE)
    places["leaf"][: len(children) + 1] = np.arange(len(children) + 1)
    places["top"] = np.arange(len(sizes))
    _place_nodes(children, sizes, places)
    return places


@kernel
def _place_nodes(children: Ints, sizes: Ints, places: Records) -> None:
    n = children.shape[0] + 1
    for t in range(n - 1):
        heavy = children[t, 0] if sizes[children[t, 0]] >= sizes[children[t, 1]] else children[t, 1]
        places[n + t].leaf = places[heavy].leaf
    for t in range(n - 2, -1, -1):
        heavy = children[t, 0] if sizes[children[t, 0]] >= sizes[children[t, 1]] else children[t, 1]
        places[heavy].top = places[n + t].top
        places[heavy].step = places[n + t].step + 1
