"""Kernel that restricts a tree to some of its leaves."""

from __future__ import annotations

import numpy as np

from ..._runtime.arrays import Ints
from ..._runtime.jit import kernel


def restrict(children: Ints, number: Ints, m: int) -> tuple[Ints, Ints]:
    """Return the merges (m − 1, 2) of the m leaves whose ``number`` is not −1, and the new number of each node or −1."""
    node = np.append(number, np.full(len(children), -1))
    merges = np.empty((m - 1, 2), dtype=np.int64)
    _restrict(children, node, merges)
    return merges, node


@kernel
def _restrict(children: Ints, node: Ints, merges: Ints) -> None:
    n, m, count = children.shape[0] + 1, merges.shape[0] + 1, 0
    for t in range(n - 1):
        one, two = node[children[t, 0]], node[children[t, 1]]
        if one >= 0 and two >= 0:
            merges[count, 0], merges[count, 1] = one, two
            node[n + t] = m + count
            count += 1
        else:
            node[n + t] = one if one >= 0 else two
