"""Neighbours of neighbours: lists of nearest points that become nearer by asking those whom they name, and who name them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._kernels.similarity import nearest as kernels
from ..._runtime.parallel import thread_map
from .ivf_cells import Places, Rows, tasks

Singles = npt.NDArray[np.float32]
Lists = tuple[Places, Singles]  # the places of those nearest to each point, and half their squared distances

# A point asks half of its list, between so many, and as many of those that list it.
FEWEST_ASKED, MOST_ASKED = 4, 16
SPARE = 2  # candidates beyond k: single precision may take the k-th for the next
LISTS_A_TASK = 1 << 15


def empty_lists(n: int, k: int) -> Lists:
    """Lists to be filled with places and half squared distances, nearest first."""
    return np.full((n, k + SPARE), -1, np.int32), np.full((n, k + SPARE), np.inf, np.float32)


def nearer_lists(points: Rows, lists: Lists, n_asking: int, n_jobs: int | None) -> Lists:
    """Lists of the first ``n_asking`` points, at least as near.

    Each point looks at those whom its neighbours know, and who know it. Who lists a point finds what the point itself cannot:
    one that sought in the wrong place is known to its neighbours.
    """
    (n, width), (places, far) = lists[0].shape, lists
    nearer = np.empty_like(places[:n_asking]), np.empty_like(far[:n_asking])
    back = np.full((n, min(MOST_ASKED, max(FEWEST_ASKED, width // 2))), -1, np.int32)
    kernels.reverse_neighbors(places, back)

    def look(block: range) -> None:
        seen = np.zeros(n, np.int32)
        kernels.nn_descent_step(points, places, far, back, block.start, block.stop, seen, *nearer)

    thread_map(look, tasks(n_asking, LISTS_A_TASK), n_jobs)
    return nearer
