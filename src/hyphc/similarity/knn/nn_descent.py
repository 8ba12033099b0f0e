"""One NN-descent pass over k-nearest-neighbour lists: neighbours of neighbours and of reverse neighbours are tested."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._kernels.similarity import nearest as kernels
from ..._runtime.parallel import thread_map
from .ivf_cells import Places, Rows, tasks

Singles = npt.NDArray[np.float32]
Lists = tuple[Places, Singles]  # the places of those nearest to each point, and half their squared distances

# Half of a point's list is expanded, within these limits, and as many reverse neighbours.
MIN_TESTED, MAX_TESTED = 4, 16
SPARE = 2  # candidates beyond k: single precision may take the k-th for the next
LISTS_A_TASK = 1 << 15


def empty_lists(n: int, k: int) -> Lists:
    """Return empty lists of positions and half squared distances, to be filled nearest first."""
    return np.full((n, k + SPARE), -1, np.int32), np.full((n, k + SPARE), np.inf, np.float32)


def nn_descent_step(points: Rows, lists: Lists, n_rows: int, n_jobs: int | None) -> Lists:
    """Return improved neighbour lists of the first ``n_rows`` points.

    Candidates are the neighbours of neighbours and of reverse neighbours. Reverse neighbours help points that searched
    the wrong cells: these still occur in the lists of their true neighbours.
    """
    (n, width), (places, far) = lists[0].shape, lists
    nearer = np.empty_like(places[:n_rows]), np.empty_like(far[:n_rows])
    back = np.full((n, min(MAX_TESTED, max(MIN_TESTED, width // 2))), -1, np.int32)
    kernels.reverse_neighbors(places, back)

    def look(block: range) -> None:
        seen = np.zeros(n, np.int32)
        kernels.nn_descent_step(points, places, far, back, block.start, block.stop, seen, *nearer)

    thread_map(look, tasks(n_rows, LISTS_A_TASK), n_jobs)
    return nearer
